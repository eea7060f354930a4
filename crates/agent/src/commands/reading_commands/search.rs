//! Programs that search folders, or compare them: `rg`, `grep`, `fd`, `diff`. The words behind the pattern
//! are places of the workspace. A search that shows the content of files nobody named is returned as a folder
//! in which the tool looks for files with secrets before it runs the line.
//!
//! An option by which a search follows links, reads a list of patterns or files, runs a program (`--pre`,
//! `-x`) or reads hidden and ignored files (`rg -u`) is not listed.

use super::{SearchedFolder, Workspace, read_words};
use crate::commands::command_split::{ReadWords, Reader};

/// The maximum number of places of one command.
const MANY: usize = 1000;

/// The words of `grep` and its relatives.
const GREP: Reader = Reader {
    name: "grep",
    flags: "EFGHLPUZabchilnoqrsvwxz",
    numbers: "ABCm",
    texts: "e",
    long: &[
        "--after-context=",
        "--before-context=",
        "--color",
        "--color=",
        "--context=",
        "--count",
        "--exclude-dir=",
        "--exclude=",
        "--extended-regexp",
        "--files-with-matches",
        "--files-without-match",
        "--fixed-strings",
        "--ignore-case",
        "--include=",
        "--invert-match",
        "--line-number",
        "--max-count=",
        "--no-filename",
        "--no-messages",
        "--only-matching",
        "--perl-regexp",
        "--quiet",
        "--recursive",
        "--regexp=",
        "--with-filename",
        "--word-regexp",
    ],
    counts: true,
    plain: (0, MANY),
};

/// The words of `rg`.
const RG: Reader = Reader {
    name: "rg",
    flags: "0FHINPSUVacilnopqsvwx",
    numbers: "ABCMdjm",
    texts: "Tegrt",
    long: &[
        "--after-context=",
        "--before-context=",
        "--color=",
        "--column",
        "--context=",
        "--count",
        "--count-matches",
        "--files",
        "--files-with-matches",
        "--files-without-match",
        "--fixed-strings",
        "--glob=",
        "--heading",
        "--ignore-case",
        "--invert-match",
        "--json",
        "--line-number",
        "--max-count=",
        "--max-depth=",
        "--multiline",
        "--no-filename",
        "--no-heading",
        "--no-line-number",
        "--no-messages",
        "--only-matching",
        "--pcre2",
        "--regexp=",
        "--replace=",
        "--smart-case",
        "--sort=",
        "--stats",
        "--trim",
        "--type-not=",
        "--type=",
        "--vimgrep",
        "--with-filename",
        "--word-regexp",
    ],
    counts: false,
    plain: (0, MANY),
};

/// The words of `fd`, which lists names.
const FD: Reader = Reader {
    name: "fd",
    flags: "01FHIagipqsu",
    numbers: "dj",
    texts: "ESet",
    long: &[
        "--absolute-path",
        "--exclude=",
        "--extension=",
        "--full-path",
        "--glob",
        "--hidden",
        "--max-depth=",
        "--no-ignore",
        "--type=",
    ],
    counts: false,
    plain: (0, MANY),
};

/// The words of `diff` for two files or folders.
const DIFF: Reader = Reader {
    name: "diff",
    flags: "BNabqsuwy",
    numbers: "CUW",
    texts: "",
    long: &[
        "--brief",
        "--color=",
        "--ignore-all-space",
        "--side-by-side",
        "--unified",
        "--unified=",
    ],
    counts: false,
    plain: (2, 2),
};

/// Returns the folders whose files the command shows; `None` if it may do more than read below the workspace.
pub(super) fn folders(
    program: &str,
    words: &[String],
    workspace: &Workspace<'_>,
) -> Option<Vec<SearchedFolder>> {
    let reader = match program {
        "rg" => &RG,
        "fd" | "fdfind" => &FD,
        "diff" => &DIFF,
        _ => &GREP,
    };
    let read = read_words(reader, words)?;
    if program == "diff" && read.plain.len() != 2 {
        return None;
    }
    let lists_names = matches!(program, "fd" | "fdfind");
    let gives_pattern = !lists_names && read.has(&["e", "--regexp", "--files"]);
    let patterns = usize::from(program != "diff" && !gives_pattern);
    let places = read.plain.get(patterns..).unwrap_or_default();
    if !places.iter().all(|place| workspace.has(place)) {
        return None;
    }
    let walks = match program {
        "rg" => !read.has(&["--files"]),
        "diff" => true,
        _ => !lists_names && read.has(&["r", "--recursive"]),
    };
    if !walks {
        return Some(Vec::new());
    }
    let named = if places.is_empty() { &["."][..] } else { places };
    let folder = |place: &&str| SearchedFolder {
        place: (*place).to_owned(),
        leaves_out_ignored: program == "rg",
        globs: read.globs(),
        follows_links: program == "diff",
    };
    Some(named.iter().map(folder).collect())
}

impl ReadWords<'_> {
    /// The patterns of files of `rg`, in order: a later one takes precedence.
    fn globs(&self) -> Vec<String> {
        let patterns = self
            .options
            .iter()
            .filter(|(name, _)| matches!(*name, "g" | "--glob"));
        patterns
            .filter_map(|(_, pattern)| pattern.map(str::to_owned))
            .collect()
    }
}
