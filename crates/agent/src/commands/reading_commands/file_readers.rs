//! Programs that only show files which their words name, or names of files and programs. Only the words that
//! are listed count: `tail -f`, `sort -o`, `uniq IN OUT` and the like are not.

use super::{Workspace, is_name, read_words};
use crate::commands::command_split::Reader;

/// The maximum number of files that a command may name.
const MANY: usize = 1000;

/// The meaning of the words of a program that are not options.
#[derive(Clone, Copy)]
enum PlainWords {
    /// Files and folders of the workspace.
    Files,
    /// Names of programs.
    Programs,
}

/// Returns a row of the table below, of a program that takes files.
const fn files(
    name: &'static str,
    flags: &'static str,
    numbers: &'static str,
    texts: &'static str,
    long: &'static [&'static str],
) -> (Reader, PlainWords) {
    row(name, flags, numbers, texts, long, MANY, PlainWords::Files)
}

const fn row(
    name: &'static str,
    flags: &'static str,
    numbers: &'static str,
    texts: &'static str,
    long: &'static [&'static str],
    most: usize,
    words: PlainWords,
) -> (Reader, PlainWords) {
    let reader = Reader {
        name,
        flags,
        numbers,
        texts,
        long,
        counts: false,
        plain: (0, most),
    };
    (reader, words)
}

/// The programs.
#[rustfmt::skip]
const TABLE: &[(Reader, PlainWords)] = &[
    files("basename", "a", "", "s", &["--suffix="]),
    files("cat", "AbeEnstTuv", "", "", &["--number", "--number-nonblank", "--show-all", "--squeeze-blank"]),
    files("cksum", "", "", "", &[]),
    files("cmp", "bls", "n", "", &["--silent", "--quiet", "--verbose"]),
    files("column", "t", "", "s", &[]),
    files("comm", "123", "", "", &[]),
    files("cut", "s", "", "bcdf", &["--delimiter=", "--fields=", "--characters=", "--only-delimited", "--output-delimiter="]),
    files("dirname", "", "", "", &[]),
    files("du", "0abchHklmsSx", "d", "", &["--all", "--apparent-size", "--human-readable", "--max-depth=", "--summarize", "--total"]),
    files("expand", "i", "t", "", &[]),
    files("file", "bhiL", "", "", &["--brief", "--mime", "--mime-encoding", "--mime-type"]),
    files("fold", "bs", "w", "", &[]),
    files("ls", "1AaBCFGHLQRSUXcdfghiklmnopqrstuvx", "Tw", "I", &[
        "--all", "--almost-all", "--classify", "--color", "--color=", "--directory", "--file-type", "--format=", "--full-time",
        "--group-directories-first", "--hide=", "--human-readable", "--ignore=", "--inode", "--no-group", "--recursive", "--reverse",
        "--size", "--sort=", "--time=", "--time-style=",
    ]),
    files("md5sum", "b", "", "", &[]),
    files("nl", "", "ilvw", "bfhns", &["--body-numbering=", "--number-width="]),
    files("paste", "s", "", "d", &["--delimiters=", "--serial"]),
    files("readlink", "efmnqsvz", "", "", &["--canonicalize"]),
    files("realpath", "emqsz", "", "", &[]),
    files("rev", "", "", "", &[]),
    files("sha1sum", "b", "", "", &[]),
    files("sha256sum", "b", "", "", &[]),
    files("sha512sum", "b", "", "", &[]),
    files("sort", "MVbdfghinrsu", "", "kt", &[
        "--field-separator=", "--human-numeric-sort", "--ignore-case", "--key=", "--numeric-sort", "--reverse", "--stable", "--unique",
        "--version-sort",
    ]),
    files("stat", "Lt", "", "c", &["--format=", "--printf=", "--terse"]),
    files("tac", "", "", "", &[]),
    files("tree", "CDFNQSadfhinpstu", "L", "IP", &["--dirsfirst", "--du", "--gitignore", "--noreport", "--prune"]),
    files("wc", "Lclmw", "", "", &["--bytes", "--chars", "--lines", "--max-line-length", "--words"]),
    row("uniq", "Dcdiu", "fsw", "", &["--count", "--ignore-case", "--repeated", "--unique"], 1, PlainWords::Files),
    row("which", "a", "", "", &["--all"], MANY, PlainWords::Programs),
    row("pwd", "LP", "", "", &["--logical", "--physical"], 0, PlainWords::Files),
];

/// `head` and `tail`, which take `-20` as a number of lines.
const ENDS: &[Reader] = &[ends("head"), ends("tail")];

const fn ends(name: &'static str) -> Reader {
    Reader {
        name,
        flags: "qv",
        numbers: "cn",
        texts: "",
        long: &["--bytes=", "--lines=", "--quiet", "--verbose"],
        counts: true,
        plain: (0, MANY),
    }
}

/// Returns whether a program with these words only shows files of the workspace, or names.
pub(super) fn only_reads(program: &str, words: &[String], workspace: &Workspace<'_>) -> bool {
    let (reader, kind) = match TABLE.iter().find(|(reader, _)| reader.name == program) {
        Some((reader, kind)) => (reader, *kind),
        None => match ENDS.iter().find(|reader| reader.name == program) {
            Some(reader) => (reader, PlainWords::Files),
            None => return false,
        },
    };
    let Some(read) = read_words(reader, words) else {
        return false;
    };
    // `ls -LR` walks through links, which may lead anywhere.
    if program == "ls" && read.has(&["L"]) && read.has(&["R", "--recursive"]) {
        return false;
    }
    let plain = read.plain;
    (reader.plain.0..=reader.plain.1).contains(&plain.len())
        && plain.iter().all(|word| match kind {
            PlainWords::Files => workspace.has(word),
            PlainWords::Programs => is_name(word),
        })
}

/// Returns whether `sed` with these words prints lines by their numbers, and does nothing else:
/// `sed -n 10,20p a.rs`.
pub(super) fn sed_prints(words: &[String], workspace: &Workspace<'_>) -> bool {
    let [option, script, files @ ..] = words else {
        return false;
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_end = |text: &str| text == "$" || is_number(text);
    let is_print = |part: &str| {
        part.strip_suffix('p')
            .is_some_and(|range| match range.split_once(',') {
                Some((from, to)) => is_number(from) && is_end(to),
                None => is_end(range),
            })
    };
    option == "-n"
        && script.split(';').all(|part| is_print(part.trim()))
        && files.iter().all(|file| workspace.has(file))
}
