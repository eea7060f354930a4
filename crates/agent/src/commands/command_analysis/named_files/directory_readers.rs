//! Programs that read the folder in which they run although no word names it: `grep -r x`, `rg x`,
//! `git log -p`.
//!
//! Beside a rule about files of that folder, such a command counts as one that names the folder. It also
//! knows the names that programs make from their input by a template (`xargs -I% cat %/k`), and names behind
//! `/proc` that lead to any folder.
//!
//! | command | counts as reading its folder |
//! | --- | --- |
//! | `grep -r x`, `rg x`, `ag x` | unless a path follows the pattern |
//! | `find -name x` | unless its first argument is a path |
//! | `git grep`, `git show`, `git diff`, `git archive` | unless an option asks for names alone, or paths behind `--` limit it: not `.`, a glob or `..` |
//! | `git log`, `git stash`, `git diff-tree` | with an option that shows contents (`-p`, `-U3`); `git stash show` without one, too |
//! | `git add`, `git commit`, `git status`, `git am` | with an option that shows contents (`-p`, `-i`, `-v`) |
//! | `hg diff`, `jj diff`, `svn export` | the commands of other version control that show or copy contents |
//! | `ruff check`, `mypy`, `biome check` | unless a path follows; a formatter that names folders is left to `whole_folders` |
//! | `git worktree add`, `git checkout-index`, `git bundle` | always: they copy files |
//!
//! An option that is not known here counts as one with a value. So a word behind it is neither a pattern nor
//! a folder, and the command counts as one that reads its folder. That costs a question if a rule is about a
//! file of that folder; a missed folder would show the file.
//!
//! Commands that are known to name their folders are handled by `whole_folders`. Programs that run other code
//! may read any folder; only a sandbox prevents that.
//!
//! Names behind `/proc/PID/cwd`, `/proc/PID/root` and `/dev/fd/N` lead to a folder that the line does not
//! show: the number may be that of any process, and any earlier command may have opened a descriptor. Rules
//! by path therefore ask about them, as they ask about a variable (`cat $X`). Other names below `/proc` and
//! `/dev` are taken literally.

use super::whole_folders::behind_printer;
use crate::commands::command_analysis::lex::expand::{ANYTHING, STAR};
use crate::commands::command_analysis::lex::word::Word;
use crate::commands::command_analysis::programs::wrapper_commands::basename;
use crate::commands::long_options::is_beginning_of;

/// Letters of options without a value of `grep` and `rg`.
const GREP_FLAGS: &str = "rRnilwvhHocsxEFGPIaqLzbTUZyS0u123456789";
/// Long options without a value of `grep` and `rg`.
#[rustfmt::skip]
const GREP_LONG_FLAGS: &[&str] = &[
    "--recursive", "--dereference-recursive", "--ignore-case", "--line-number", "--files-with-matches", "--count",
    "--files-without-match", "--word-regexp", "--line-regexp", "--invert-match", "--no-filename", "--with-filename",
    "--only-matching", "--no-messages", "--fixed-strings", "--extended-regexp", "--perl-regexp", "--hidden",
    "--no-ignore", "--json", "--no-heading", "--heading", "--follow", "--stats", "--vimgrep", "--pretty", "--null",
    "--smart-case", "--files", "--quiet", "--text", "--multiline", "--unrestricted",
];
/// Options that give the pattern of a search, or need none, so that each other word is a folder.
const PATTERN_GIVEN: &[&str] = &["-e", "-f", "--regexp", "--file", "--files"];

/// Commands of Git that show or copy the contents of files.
#[rustfmt::skip]
const GIT_READERS: &[&str] = &[
    "annotate", "archive", "bundle", "cat-file", "checkout-index", "clone", "diff", "diff-files", "diff-index",
    "diff-tree", "difftool", "fast-export", "format-patch", "grep", "log", "merge-tree", "range-diff", "reflog",
    "send-email", "show", "stash", "unpack-file", "whatchanged", "worktree",
];
/// The commands among them that show contents only with an option.
const GIT_WITH_PATCH: &[&str] = &["log", "reflog", "stash", "diff-tree", "diff-index", "diff-files"];
/// Commands of Git that show contents only with an option: its letter, or a beginning of its name.
const GIT_WITH_OPTION: &[(&str, &str, &[&str])] = &[
    ("add", "pie", &["--patch", "--interactive", "--edit"]),
    ("stage", "pie", &["--patch", "--interactive", "--edit"]),
    ("commit", "pv", &["--patch", "--interactive", "--verbose"]),
    ("status", "v", &["--verbose"]),
    ("checkout", "p", &["--patch"]),
    ("restore", "p", &["--patch"]),
    ("reset", "p", &["--patch"]),
    ("am", "", &["--show-current-patch"]),
    ("rebase", "", &["--show-current-patch"]),
];
/// Letters of these commands behind which a value follows in the same word: `-mprivate`.
const GIT_VALUE_LETTERS: &str = "mFCctSbB";
/// Options with which Git shows no contents.
#[rustfmt::skip]
const NO_CONTENTS: &[&str] = &[
    "--stat", "--name-only", "--name-status", "--no-patch", "-s", "--shortstat", "--numstat", "--summary", "--quiet",
    "--dirstat", "--raw", "--check", "-l", "--files-with-matches", "-c", "--count",
];

/// Commands of other version control that show or copy the contents of files.
#[rustfmt::skip]
const VERSIONS_READERS: &[&str] = &[
    "annotate", "archive", "blame", "bundle", "cat", "clone", "diff", "export", "file", "grep", "interdiff", "share", "show",
];

/// Returns whether a command, without the commands before it, reads the folder in which it runs, and no word
/// says so.
pub(crate) fn reads_its_folder(words: &[Word]) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    match basename(&program.text) {
        "grep" | "egrep" | "fgrep" | "ggrep" | "zgrep" => is_recursive(&texts) && !names_folders(&texts),
        "rg" | "ripgrep" | "ag" | "ack" | "ugrep" | "ug" => !names_folders(&texts),
        "find" => {
            let named = texts.iter().find(|text| !matches!(**text, "-L" | "-H" | "-P"));
            named.is_none_or(|text| text.starts_with(['-', '(', '!', '\\']))
        }
        "git" => git_reads(&texts) || git_shows_by_option(&texts),
        "hg" | "jj" | "svn" | "bzr" | "fossil" => {
            texts.iter().any(|text| VERSIONS_READERS.contains(text))
                || texts.iter().any(|text| is_patch(text))
        }
        _ => behind_printer(words).is_some_and(|_| checks_its_folder(&texts)),
    }
}

/// Returns whether a checker certainly works without a word that names a folder. A word behind an option may
/// be its value.
fn checks_its_folder(texts: &[&str]) -> bool {
    let is_other = |text: &str| {
        matches!(
            text,
            "ruff" | "mypy" | "biome" | "check" | "format" | "lint" | "run" | "exec" | "tool"
        )
    };
    let is_named = |(at, text): (usize, &&str)| {
        let is_value = at > 0 && texts[at - 1].starts_with('-');
        !text.starts_with('-') && !is_value && !is_other(text)
    };
    !texts.iter().enumerate().any(is_named)
}

/// Returns whether an option makes a command of other version control show contents: `hg log -p`, `jj log
/// --git`. Without one, such a command shows names and messages.
fn is_patch(text: &str) -> bool {
    matches!(text, "-p" | "--patch" | "--git")
}

fn is_recursive(texts: &[&str]) -> bool {
    texts.iter().any(|text| {
        let letters = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        letters.is_some_and(|letters| letters.contains(['r', 'R']))
            || text.starts_with("--rec")
            || text.starts_with("--deref")
    })
}

/// Returns whether a search certainly names what it searches: it has a word behind its pattern. A word behind
/// an option that may take a value does not count.
fn names_folders(texts: &[&str]) -> bool {
    let mut takes_next = false;
    let mut certain = 0;
    let mut is_given = false;
    for text in texts {
        let is_value = std::mem::take(&mut takes_next);
        let Some(option) = text.strip_prefix('-').filter(|option| !option.is_empty()) else {
            certain += usize::from(!is_value);
            continue;
        };
        is_given |= PATTERN_GIVEN
            .iter()
            .any(|given| text == given || text.starts_with(&format!("{given}=")));
        let is_flag = match option.strip_prefix('-') {
            Some(long) => long.is_empty() || long.contains('=') || GREP_LONG_FLAGS.contains(text),
            None => option.chars().all(|letter| GREP_FLAGS.contains(letter)),
        };
        takes_next = !is_flag;
    }
    certain > usize::from(!is_given)
}

/// Returns whether a command of Git shows or copies files, and does not limit that to paths behind `--`.
fn git_reads(texts: &[&str]) -> bool {
    let Some(at) = texts.iter().position(|text| GIT_READERS.contains(text)) else {
        return false;
    };
    let (command, rest) = (texts[at], &texts[at + 1..]);
    let (options, paths) = match rest.iter().position(|text| *text == "--") {
        Some(end) => (&rest[..end], &rest[end + 1..]),
        None => (rest, &[][..]),
    };
    let has = |names: &[&str]| {
        options.iter().any(|text| {
            names
                .iter()
                .any(|name| text == name || text.starts_with(&format!("{name}=")))
        })
    };
    let shows_patch = options.iter().any(|text| {
        text.starts_with("-p")
            || text.starts_with("--patch")
            || text.starts_with("-U")
            || text.starts_with("-u")
            || text.starts_with("--unified")
            || text.starts_with("-L")
            || text.starts_with("--cc")
            || *text == "--dd"
            || text.starts_with("--remerge-diff")
            || *text == "-c"
            || text.starts_with("--word-diff")
            || text.starts_with("--color-words")
            || text.starts_with("--binary")
            || text.starts_with("--ext-diff")
            || text.starts_with("--full-index")
            || text.starts_with("--output")
    });
    let reads = match command {
        // `stash.showPatch` makes it show contents.
        "stash" if options.contains(&"show") => shows_patch || !has(NO_CONTENTS),
        _ if GIT_WITH_PATCH.contains(&command) => shows_patch,
        "worktree" => options.first() == Some(&"add"),
        "cat-file" => !options.iter().any(|text| matches!(*text, "-t" | "-s" | "-e")),
        _ => shows_patch || !has(NO_CONTENTS),
    };
    let is_limited = !paths.is_empty() && paths.iter().all(|path| is_limit(path));
    reads && !is_limited
}

/// Returns whether a path behind `--` leaves out a part of the folder: it is neither the folder itself nor a
/// glob, and leads nowhere else.
fn is_limit(path: &str) -> bool {
    let mut parts = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .peekable();
    let is_plain = !path.starts_with(':') && !path.contains(['*', '?', '[', '\\']);
    is_plain && parts.peek().is_some() && parts.all(|part| part != "..")
}

/// Returns whether a command of Git shows contents because of an option, and does not limit that to paths
/// behind `--`.
fn git_shows_by_option(texts: &[&str]) -> bool {
    let (texts, paths) = match texts.iter().position(|text| *text == "--") {
        Some(end) => (&texts[..end], &texts[end + 1..]),
        None => (texts, &[][..]),
    };
    let is_limited = !paths.is_empty() && paths.iter().all(|path| is_limit(path));
    let shows = |(name, letters, long): &(&str, &str, &[&str])| {
        let Some(at) = texts.iter().position(|text| text == name) else {
            return false;
        };
        texts[at + 1..].iter().any(|text| match text.strip_prefix('-') {
            Some(rest) if rest.starts_with('-') => long
                .iter()
                .any(|option| text.split('=').next() == Some(*option) || is_beginning_of(text, option)),
            Some(group) => group
                .chars()
                .take_while(|letter| !GIT_VALUE_LETTERS.contains(*letter))
                .any(|letter| letters.contains(letter)),
            None => false,
        })
    };
    !is_limited && GIT_WITH_OPTION.iter().any(shows)
}

/// The names that `xargs` and `parallel` make of their input by a template, with marks for the input.
pub(crate) fn names_of_templates(words: &[Word]) -> Vec<String> {
    let Some(at) = words
        .iter()
        .position(|word| matches!(basename(&word.text), "xargs" | "parallel"))
    else {
        return Vec::new();
    };
    let words: Vec<&str> = words[at..].iter().map(|word| word.text.as_str()).collect();
    let mut signs = vec!["{}"];
    for (at, word) in words.iter().enumerate() {
        match word.strip_prefix("-I") {
            Some("") => signs.extend(words.get(at + 1).copied()),
            Some(sign) => signs.push(sign),
            None => signs.extend(word.strip_prefix("--replace=")),
        }
        signs.extend(word.strip_prefix("-i").filter(|sign| !sign.is_empty()));
    }
    let is_parallel = basename(words[0]) == "parallel";
    let filled = |word: &&str| {
        let sign = signs
            .iter()
            .find(|sign| !sign.is_empty() && word.contains(**sign));
        match sign {
            Some(sign) => Some(word.replace(sign, &ANYTHING.to_string())),
            // `{.}`, `{/}` and `{1}` are parts of the input.
            None => (is_parallel && word.contains('{') && word.contains('}'))
                .then(|| ANYTHING.to_string() + "/" + &ANYTHING.to_string()),
        }
    };
    let is_sign = |word: &&&str| {
        ["-I", "-i", "--replace"]
            .iter()
            .any(|option| word.starts_with(option))
    };
    let known: Vec<String> = words
        .iter()
        .skip(1)
        .filter(|word| !is_sign(word))
        .filter_map(filled)
        .collect();
    // The input alone is known by its own words.
    known
        .into_iter()
        .filter(|name| name.chars().any(|c| c != ANYTHING))
        .collect()
}

/// Returns whether a name leads through `/proc` or `/dev/fd` to a folder that it does not name:
/// `/proc/self/cwd/x`.
pub(crate) fn leads_anywhere(name: &str) -> bool {
    let mut parts = name.split('/').filter(|part| !part.is_empty() && *part != ".");
    while let Some(part) = parts.next() {
        let rest = parts.clone();
        let is_unknown = |part: &str| part.contains([STAR, ANYTHING]);
        let found = match part {
            // The first part behind it is the number of a process.
            "proc" => rest
                .skip(1)
                .any(|part| matches!(part, "cwd" | "root" | "fd" | "map_files") || is_unknown(part)),
            "dev" => rest.clone().next() == Some("fd") && rest.count() > 2,
            _ => false,
        };
        if found {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::command_analysis::lex::lex;

    fn words(line: &str) -> Vec<Word> {
        lex(line, true).commands.remove(0)
    }

    #[test]
    fn programs_that_read_the_folder_around_them_are_known() {
        for line in [
            "grep -r TOP",
            "grep -rh TOP --include=k",
            "grep -rA 3 TOP",
            "grep -r -e TOP",
            "rg TOP",
            "rg -t py TOP",
            "rg --files",
            "ag TOP",
            "find -name k",
            "find",
            "git grep TOP",
            "git log -p",
            "git -C . log --patch",
            "git show",
            "git diff",
            "git diff HEAD~1",
            "git archive HEAD",
            "git checkout-index --prefix=o/ -a",
            "git stash show -p",
            "git stash show",
            "git log --dd",
            "git log -1 --remerge-diff",
            "git add -p",
            "git add -vi",
            "git add --patch",
            "git add -e",
            "git status -v",
            "git commit -v",
            "git commit -av",
            "git commit --verb",
            "git am --show-current-patch",
            "git am --show-current-patch=diff",
            "git rebase --show-current-patch",
            "git checkout -p",
            "git -C add checkout -p",
            "git reset -p HEAD~1",
            "git worktree add ../x",
            "git diff-tree -p HEAD",
            "git cat-file -p abc",
            "ruff check",
            "ruff check --diff",
            "mypy",
            "uv run ruff check",
            "git log -p -- ':(exclude)x'",
            "git log -p -- .",
            "git log -p -- '*'",
            "git show HEAD -- ./",
            "git grep TOP -- src/..",
            "git diff -- 'p*'",
            "git add -p -- .",
            "git unpack-file abc",
        ] {
            assert!(reads_its_folder(&words(line)), "{line}");
        }
    }

    #[test]
    fn programs_that_read_what_they_name_or_no_contents_are_told_from_them() {
        for line in [
            "grep TOP a",
            "grep -r TOP src",
            "grep -rn -e TOP src",
            "rg -n TOP src",
            "rg --files src",
            "find src -name k",
            "git log",
            "git log --stat",
            "git show --stat",
            "git diff --name-only",
            "git diff -- src",
            "git log -p -- src lib",
            "git stash",
            "git stash show --stat",
            "git add -A",
            "git add -p -- src",
            "git commit -am private",
            "git commit -mprivate -q",
            "git checkout -bprivate",
            "git reset --hard",
            "git rebase -i main",
            "git status",
            "git worktree list",
            "ruff check src",
            "mypy --strict src a.py",
            "cat a",
        ] {
            assert!(!reads_its_folder(&words(line)), "{line}");
        }
    }

    #[test]
    fn names_of_templates_have_marks() {
        assert_eq!(names_of_templates(&words("xargs -I% cat %/k")), ["\0/k"]);
        assert_eq!(names_of_templates(&words("xargs -I % cat priv/%")), ["priv/\0"]);
        assert_eq!(names_of_templates(&words("parallel cat {}/k ::: priv")), ["\0/k"]);
        assert_eq!(
            names_of_templates(&words("parallel cat {1}/{2} ::: priv ::: k")),
            ["\0/\0"]
        );
        assert!(names_of_templates(&words("xargs -I{} cat {}")).is_empty());
        assert!(names_of_templates(&words("xargs cat")).is_empty());
    }

    #[test]
    fn names_behind_processes_may_lead_anywhere() {
        for name in [
            "/proc/self/cwd/priv/k",
            "/proc/\0/cwd/priv/k",
            "/proc/1/root/etc/x",
            "/proc/self/\u{1}/priv/k",
            "/proc/self/fd/5/k",
            "//proc/./self/task/1/cwd",
            "/dev/fd/5/k",
        ] {
            assert!(leads_anywhere(name), "{name}");
        }
        for name in [
            "/proc/cpuinfo",
            "/proc/\0/status",
            "/proc/1/environ",
            "/dev/fd/3",
            "/dev/null",
            "a/proc",
        ] {
            assert!(!leads_anywhere(name), "{name}");
        }
    }
}
