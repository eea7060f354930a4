//! Programs that do not run a script by its name, but standard input, text in another language, or settings.
//! Their code cannot be read here. Version 1 of the rules asks about them if a rule asks or denies.
//!
//! | command line | counts as |
//! | --- | --- |
//! | `bash script.sh`, `python3 a.py` | a program of that name; the script itself is not read |
//! | `bash`, `bash -s`, `python3 -`, `sh /dev/stdin` | code from standard input |
//! | `python3 -c CODE`, `perl -e CODE` | code in the words |
//! | `LD_PRELOAD=x ls`, `PATH=. ls` | code of whatever the variable selects |
//! | `sed e`, `sed s/a/b/e` | a command in the script of `sed` |
//! | `env X ls -l`, a program that no list has | any of its words may begin a command |
//!
//! A program that is missing in a list of programs that run something lets commands pass; a program that is
//! missing in [`QUIET`] causes one question too many.

use super::git::git_runs;
use super::wrapper_commands::{basename, is_assignment, is_shell, is_wrapper, script_of};
use crate::commands::command_analysis::lex::word::Word;

/// Variables that make programs run others, or that select other programs.
const LOADERS: &[&str] = &[
    "PATH",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "DYLD_INSERT_LIBRARIES",
    "BASH_ENV",
    "ENV",
    "IFS",
    "PROMPT_COMMAND",
    "SHELLOPTS",
    "PS4",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "LESSOPEN",
    "PYTHONSTARTUP",
    "PYTHONPATH",
    "NODE_OPTIONS",
    "PERL5OPT",
    "RUBYOPT",
];

/// Returns whether a variable makes programs run others.
pub(crate) fn is_loader(name: &str) -> bool {
    LOADERS.contains(&name) || (name.starts_with("GIT_") && name.len() > 4)
}

/// Interpreters of other languages, and the letters of options whose value is code.
const INTERPRETERS: &[(&str, &str)] = &[
    ("python", "c"),
    ("pypy", "c"),
    ("node", "ep"),
    ("nodejs", "ep"),
    ("deno", "ep"),
    ("bun", "ep"),
    ("perl", "eE"),
    ("ruby", "e"),
    ("php", "rRBE"),
    ("lua", "e"),
    ("luajit", "e"),
    ("Rscript", "e"),
    ("R", "e"),
    ("tclsh", "c"),
    ("expect", "c"),
    ("osascript", "e"),
    ("pwsh", "cC"),
    ("powershell", "cC"),
    ("irb", "e"),
    ("elixir", "e"),
    ("groovy", "e"),
    ("guile", "c"),
    ("julia", "eE"),
    ("ghci", "e"),
];

/// Programs that run none of their words; `git` is checked below.
const QUIET: &[&str] = &[
    "echo",
    "printf",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "ag",
    "ls",
    "cat",
    "head",
    "tail",
    "wc",
    "sort",
    "uniq",
    "cut",
    "tr",
    "diff",
    "cmp",
    "comm",
    "test",
    "[",
    "[[",
    "which",
    "type",
    "man",
    "whatis",
    "mkdir",
    "rmdir",
    "touch",
    "rm",
    "cp",
    "mv",
    "ln",
    "chmod",
    "chown",
    "stat",
    "file",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "date",
    "sleep",
    "true",
    "false",
    "kill",
    "export",
    "unset",
    "set",
    "cd",
    "pushd",
    "popd",
    "read",
    "local",
    "declare",
    "return",
    "exit",
    "git",
    "cargo",
    "gh",
    "jq",
    "curl",
    "wget",
    "ps",
    "seq",
    "tee",
    "sed",
    "find",
    "fd",
    "pwd",
    "for",
    "case",
    "in",
    "select",
    "let",
    "pgrep",
    "id",
    "env",
    "du",
    "df",
    "tree",
    "less",
    "more",
    "nl",
    "paste",
    "join",
    "rev",
    "tac",
    "base64",
    "md5sum",
    "sha256sum",
];

/// Returns whether a command takes its code from a place that cannot be read.
pub(crate) fn has_indirect_program(words: &[Word]) -> bool {
    let Some((first, arguments)) = words.split_first() else {
        return false;
    };
    if is_assignment(&first.text) {
        let name = first.text.split(['=', '+', '[']).next().unwrap_or_default();
        return LOADERS.contains(&name) || name.starts_with("GIT_");
    }
    let program = basename(&first.text);
    let is = |names: &[&str]| names.contains(&program);
    if let Some(letters) = code_letters(program) {
        return takes_code(arguments, letters);
    }
    if is_shell(program) {
        return reads_elsewhere(words);
    }
    match program {
        "source" | "." => arguments.first().is_none_or(is_elsewhere),
        "export" | "declare" | "typeset" | "local" | "env" | "sudo" => arguments.iter().any(|word| {
            let name = word.text.split('=').next().unwrap_or_default();
            word.text.contains('=') && LOADERS.contains(&name)
        }),
        "alias" => arguments.iter().any(|word| word.text.contains('=')),
        "git" => git_runs(arguments),
        "make" | "gmake" => arguments.iter().any(is_elsewhere),
        "sed" | "gsed" => arguments.iter().any(|word| sed_runs(&word.text)),
        _ if is(&["awk", "gawk", "mawk", "nawk"]) => arguments.iter().any(|word| {
            ["system", "|", "getline"]
                .iter()
                .any(|sign| word.text.contains(sign))
        }),
        _ if is(&["vi", "vim", "nvim", "view", "emacs", "less", "more", "man"]) => {
            arguments.iter().any(|word| {
                ["!", "system(", "--eval", "-l"]
                    .iter()
                    .any(|sign| word.text.contains(sign))
            })
        }
        _ => is(&["ed", "ex", "at", "batch", "enable", "bind"]),
    }
}

/// Returns the letters of an interpreter's options that take code, ignoring a version in its name:
/// `python3.12`.
fn code_letters(program: &str) -> Option<&'static str> {
    let plain = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let found = INTERPRETERS.iter().find(|(name, _)| *name == plain);
    found.map(|(_, letters)| *letters)
}

/// Returns whether an interpreter has no script's name, or has code in its words.
fn takes_code(arguments: &[Word], letters: &str) -> bool {
    for word in arguments {
        let text = word.text.as_str();
        if is_elsewhere(word) || text == "eval" || text.starts_with("--eval") || text.starts_with("--print") {
            return true;
        }
        match text.strip_prefix('-') {
            Some(long) if long.starts_with('-') => {
                if matches!(long, "-version" | "-help") {
                    return false;
                }
            }
            // A module, or the option for the version.
            Some(short) if short.starts_with('m') || matches!(short, "V" | "v" | "h" | "i") => return false,
            Some(short) if short.contains(|c| letters.contains(c)) => return true,
            Some(_) => {}
            None if text.contains(['.', '/']) || matches!(text, "run" | "test" | "install") => return false,
            None => {}
        }
    }
    // Without a script, it reads standard input.
    arguments.iter().all(|word| word.text.starts_with('-'))
}

/// Returns whether a word is not the name of a file, or not a known one.
fn is_elsewhere(word: &Word) -> bool {
    let text = word.text.as_str();
    text == "-"
        || text.starts_with("/dev/")
        || text.starts_with("/proc/")
        || (word.dynamic && !text.starts_with('-'))
}

/// Returns whether a shell reads its commands from elsewhere: `bash -s -- a`, `bash -`, `bash <(…)`, `bash
/// /dev/stdin`.
fn reads_elsewhere(words: &[Word]) -> bool {
    let options = words[1..]
        .iter()
        .take_while(|word| word.text.starts_with(['-', '+']));
    let mut short = options.filter(|word| !word.text.starts_with("--"));
    short.any(|word| word.text == "-" || word.text.contains('s'))
        || script_word(words).is_some_and(is_elsewhere)
}

/// Returns the word that names the script of a shell or an interpreter.
fn script_word(words: &[Word]) -> Option<&Word> {
    let name = script_of(words)?;
    words[1..].iter().find(|word| word.text == name)
}

/// Returns whether a script may have the command `e` of GNU sed, alone or as a flag of `s`.
fn sed_runs(text: &str) -> bool {
    if text.starts_with('-') {
        return false;
    }
    text.split([';', '\n']).map(str::trim).any(|command| {
        let bare = command.trim_start_matches(|c: char| c.is_ascii_digit() || "$,".contains(c));
        let substitutes = bare.strip_prefix('s').and_then(|rest| rest.chars().next());
        let by_flag = substitutes
            .filter(|c| !c.is_alphanumeric())
            .is_some_and(|border| {
                let flags = bare.rsplit(border).next().unwrap_or_default();
                flags.contains('e') && flags.chars().all(|c| c.is_ascii_alphanumeric())
            });
        by_flag || bare == "e" || bare.starts_with("e ")
    })
}

/// Returns the positions at which a command may begin among the words of an unknown program.
pub(crate) fn words_that_may_run(words: &[Word]) -> impl Iterator<Item = usize> {
    const FOLLOWED: usize = 12;
    let known = words
        .first()
        .is_none_or(|word| word.dynamic || is_assignment(&word.text) || !may_run_words(basename(&word.text)));
    let count = if known { 0 } else { words.len().min(FOLLOWED) };
    1..count.max(1)
}

/// Returns the texts among the words of a program that may be command lines: words with blanks, values of
/// options.
pub(crate) fn texts_that_may_run(words: &[Word]) -> Vec<String> {
    let quiet = words
        .first()
        .is_none_or(|word| is_assignment(&word.text) || QUIET.contains(&basename(&word.text)));
    if quiet {
        return Vec::new();
    }
    let texts = words[1..]
        .iter()
        .filter(|word| word.text.contains([' ', '=']))
        .take(50);
    let texts = texts.flat_map(|word| {
        let text = word.text.as_str();
        let values = text.match_indices('=').map(|(at, _)| &text[at + 1..]).take(4);
        let spoken = ["spawn ", ":!", "!"]
            .into_iter()
            .filter_map(|start| text.strip_prefix(start));
        std::iter::once(text)
            .chain(values)
            .chain(spoken)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    });
    texts.filter(|text| text.contains(' ')).collect()
}

/// Returns whether a command runs none of its words, and nothing that they name.
pub(crate) fn is_quiet(words: &[Word]) -> bool {
    let program = words.first().map(|word| basename(&word.text));
    program.is_none_or(|program| QUIET.contains(&program))
}

/// Returns whether a program may run its words as a command because it is not known here.
fn may_run_words(program: &str) -> bool {
    !QUIET.contains(&program) && code_letters(program).is_none() && !is_shell(program) && !is_wrapper(program)
}
