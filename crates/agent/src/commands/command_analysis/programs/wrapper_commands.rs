//! Commands that run another one: `sudo`, `env`, `xargs`, `sh -c`. This module knows their own words, and so
//! the beginning of the other command.
//!
//! `CommandAnalysis::command` calls [`runs`] and continues with the result, until a command runs nothing but
//! itself. A wrapper that is missing here is treated like any other program:
//! [`super::indirect_programs::words_that_may_run`] checks its words.

use crate::commands::command_analysis::lex::word::Word;

/// The commands that a command runs besides itself.
///
/// | command | runs |
/// | --- | --- |
/// | `ls x` | `Nothing` |
/// | `sudo -u me ls x` | `From` the word `ls` |
/// | `find . -exec rm {} \;` | `Parts`: the words of `rm {}` |
/// | `sh -c 'ls x'` | `Lines`: `ls x`, known |
/// | `$X`, or `sh` alone | `Unknown` |
pub(crate) enum Runs<'a> {
    /// No readable command.
    Nothing,
    /// A command that cannot be known before it runs.
    Unknown,
    /// The command that begins at this word.
    From(usize),
    /// Other commands among its words.
    Parts(Vec<&'a [Word]>),
    /// Texts that a shell reads, and whether all of each is known.
    Lines(Vec<(String, bool)>),
}

/// A command that runs the one behind it, with the options that separate its own words from that one.
struct Wrapper {
    name: &'static str,
    /// Letters of options that take the next word.
    short: &'static str,
    /// Long options that take the next word.
    long: &'static [&'static str],
    /// The number of the wrapper's own words before the other command, such as the time of `timeout`.
    own: usize,
}

/// Returns a row of the table below.
const fn wrapper(
    name: &'static str,
    short: &'static str,
    long: &'static [&'static str],
    own: usize,
) -> Wrapper {
    Wrapper {
        name,
        short,
        long,
        own,
    }
}

/// The known wrappers.
const WRAPPERS: &[Wrapper] = &[
    wrapper(
        "sudo",
        "ughpCrtTUDR",
        &["user", "group", "host", "prompt", "chdir", "chroot"],
        0,
    ),
    wrapper("doas", "uC", &[], 0),
    wrapper("env", "uCS", &["unset", "chdir", "split-string"], 0),
    wrapper(
        "xargs",
        "nIPLsdEa",
        &["max-args", "max-procs", "max-lines", "delimiter", "arg-file"],
        0,
    ),
    wrapper("parallel", "jNIan", &["jobs", "max-args"], 0),
    wrapper("nice", "n", &["adjustment"], 0),
    wrapper("ionice", "cn", &["class", "classdata"], 0),
    wrapper("chrt", "TPD", &[], 1),
    wrapper("taskset", "", &[], 1),
    wrapper("timeout", "sk", &["signal", "kill-after"], 1),
    wrapper("stdbuf", "ioe", &["input", "output", "error"], 0),
    wrapper("time", "of", &["output", "format"], 0),
    wrapper("watch", "n", &["interval"], 0),
    wrapper("strace", "oepsEu", &["output", "trace"], 0),
    wrapper("exec", "a", &[], 0),
    wrapper("chroot", "", &["userspec", "groups"], 1),
    wrapper("flock", "wE", &["timeout", "wait"], 1),
    wrapper("ssh", "bceilmopBDEFIJLOQRSWw", &[], 1),
    wrapper("nohup", "", &[], 0),
    wrapper("setsid", "", &[], 0),
    wrapper("command", "", &[], 0),
    wrapper("builtin", "", &[], 0),
    wrapper("busybox", "", &[], 0),
    wrapper("unbuffer", "", &[], 0),
    wrapper("caffeinate", "tw", &[], 0),
];

/// Words after which a command begins.
const KEYWORDS: &[&str] = &[
    "!", "{", "if", "then", "elif", "else", "while", "until", "do", "coproc",
];

/// Shells. The text that they get is read here as `bash` would read it.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "mksh"];

/// Returns whether the program is a shell.
pub(crate) fn is_shell(program: &str) -> bool {
    SHELLS.contains(&program)
}

/// Returns whether the words of this program are checked in their own way.
pub(crate) fn is_wrapper(program: &str) -> bool {
    const OTHERS: &[&str] = &[
        "eval", "trap", "alias", "su", "runuser", "sg", "script", "function", "coproc",
    ];
    KEYWORDS.contains(&program)
        || OTHERS.contains(&program)
        || WRAPPERS.iter().any(|wrapper| wrapper.name == program)
}

/// Returns the file that a shell or another interpreter runs: its first word that is not an option.
pub(crate) fn script_of(words: &[Word]) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    let program = basename(&program.text);
    let interprets =
        is_shell(program) || ["python", "python3", "node", "perl", "ruby", "php"].contains(&program);
    let mut skip = false;
    let script = arguments.iter().filter(|_| interprets).find(|word| {
        let is_value = std::mem::take(&mut skip);
        let is_option = word.text.starts_with(['-', '+']);
        skip = is_shell(program) && is_option && word.text.len() > 1 && word.text.ends_with(['o', 'O']);
        !(is_value || is_option && word.text.len() > 1)
    });
    script.map(|word| word.text.clone())
}

/// Returns the commands that `words` run besides themselves. `closer`: whether version 1 of the rules or a
/// later one reads the line.
pub(crate) fn runs(words: &[Word], closer: bool) -> Runs<'_> {
    let Some(first) = words.first() else {
        return Runs::Nothing;
    };
    if is_assignment(&first.text) {
        return Runs::From(1);
    }
    if first.dynamic {
        return Runs::Unknown;
    }
    let program = basename(&first.text);
    let arguments = &words[1..];
    match program {
        _ if KEYWORDS.contains(&program) => Runs::From(1),
        "function" if closer => Runs::From(body(words, 2)),
        "coproc" if closer => Runs::From(body(words, 1)),
        _ if SHELLS.contains(&program) => shell(arguments),
        "su" | "runuser" | "sg" | "script" if closer => as_somebody(arguments),
        "eval" => Runs::Lines(vec![joined(arguments)]),
        "trap" => Runs::Lines(arguments.first().map(line).into_iter().collect()),
        "alias" => Runs::Lines(arguments.iter().filter_map(value).collect()),
        "su" | "runuser" | "script" => after_option(arguments, "-c"),
        "flock" if arguments.iter().any(|word| word.text == "-c") => after_option(arguments, "-c"),
        "find" => find(arguments, &["-exec", "-execdir", "-ok", "-okdir"]),
        "fd" | "fdfind" => find(arguments, &["-x", "-X", "--exec", "--exec-batch"]),
        "env" if split_string(arguments).is_some() => {
            Runs::Lines(split_string(arguments).into_iter().collect())
        }
        _ => match WRAPPERS.iter().find(|wrapper| wrapper.name == program) {
            Some(wrapper) => wrapped(wrapper, arguments),
            None => Runs::Nothing,
        },
    }
}

/// Returns the position at which the body of a function begins, with or without a brace: `function f { git
/// push; }`.
fn body(words: &[Word], start: usize) -> usize {
    let braces = |at: &usize| words.get(*at).is_some_and(|word| word.text == "{");
    (start..start + 2).find(braces).map_or(start, |brace| brace + 1)
}

/// Returns the command of `su me -c 'git push'`, `runuser -u me -- git push` or `script -qc 'git push' log`:
/// the option may be at any position, even among others.
fn as_somebody(arguments: &[Word]) -> Runs<'_> {
    for (at, word) in arguments.iter().enumerate() {
        let text = word.text.as_str();
        if let Some(command) = text.strip_prefix("--command=") {
            return Runs::Lines(vec![(command.to_owned(), !word.dynamic)]);
        }
        let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        let after = letters.and_then(|letters| letters.split_once('c'));
        match (text, after, arguments.get(at + 1)) {
            ("--command" | "--session-command", _, Some(next)) | (_, Some((_, "")), Some(next)) => {
                return Runs::Lines(vec![line(next)]);
            }
            (_, Some((_, attached)), _) if !attached.is_empty() => {
                return Runs::Lines(vec![(attached.to_owned(), !word.dynamic)]);
            }
            ("--", _, Some(_)) => return Runs::From(at + 2),
            _ => {}
        }
    }
    match arguments.iter().position(|word| word.text == "-u") {
        Some(at) if arguments.len() > at + 2 => Runs::From(at + 3),
        // A shell that reads its input.
        _ => Runs::Unknown,
    }
}

/// Returns the command that a wrapper runs: the words behind its own, or for `ssh` and `watch` one line of
/// them.
fn wrapped<'a>(wrapper: &Wrapper, arguments: &'a [Word]) -> Runs<'a> {
    let start = wrapper.skip_options(arguments).saturating_add(wrapper.own);
    let rest = arguments.get(start..).unwrap_or_default();
    match (rest.is_empty(), wrapper.name) {
        (true, _) => Runs::Nothing,
        // The shell of the other machine reads the words as one line.
        (_, "ssh" | "watch") => Runs::Lines(vec![joined(rest)]),
        _ => Runs::From(start + 1),
    }
}

impl Wrapper {
    /// Returns the position of the first word that is neither an option nor the value of one.
    fn skip_options(&self, words: &[Word]) -> usize {
        let mut at = 0;
        while let Some(word) = words.get(at).map(|word| word.text.as_str()) {
            if word == "--" {
                return at + 1;
            }
            let Some(option) = word.strip_prefix('-').filter(|option| !option.is_empty()) else {
                return at;
            };
            let takes_next = match option.strip_prefix('-') {
                Some(long) => self.long.contains(&long),
                None => option.find(|c| self.short.contains(c)) == Some(option.len() - 1),
            };
            at += 1 + usize::from(takes_next);
        }
        at
    }
}

/// Returns the text that a shell runs: the text behind `-c`, or its input if it has neither that nor a
/// script. The content of a script is not read.
fn shell(arguments: &[Word]) -> Runs<'_> {
    let mut at = 0;
    let mut reads_argument = false;
    while let Some(word) = arguments.get(at) {
        match word.text.as_str() {
            "--version" | "--help" => return Runs::Nothing,
            "--rcfile" | "--init-file" => at += 1,
            option if option.starts_with("--") => {}
            option if option.starts_with(['-', '+']) && option.len() > 1 => {
                reads_argument |= option.starts_with('-') && option.contains('c');
                at += usize::from(option.ends_with(['o', 'O']));
            }
            _ if reads_argument => return Runs::Lines(vec![line(word)]),
            // A script: the work of a program after its start is not checked.
            _ => return Runs::Nothing,
        }
        at += 1;
    }
    // The shell reads standard input.
    Runs::Unknown
}

/// Returns the commands behind options such as `-exec`, each up to its `;` or `+`.
fn find<'a>(arguments: &'a [Word], options: &[&str]) -> Runs<'a> {
    let mut parts = Vec::new();
    let mut at = 0;
    while at < arguments.len() {
        if options.contains(&arguments[at].text.as_str()) {
            let rest = &arguments[at + 1..];
            let ends = |word: &Word| word.text == ";" || word.text == "+";
            let length = rest.iter().position(ends).unwrap_or(rest.len());
            parts.push(&rest[..length]);
            at += length;
        }
        at += 1;
    }
    Runs::Parts(parts)
}

/// Returns the line behind an option.
fn after_option<'a>(arguments: &'a [Word], option: &str) -> Runs<'a> {
    let at = arguments.iter().position(|word| word.text == option);
    match at.and_then(|at| arguments.get(at + 1)) {
        Some(word) => Runs::Lines(vec![line(word)]),
        None => Runs::Nothing,
    }
}

/// Returns the line that `env -S 'rm -rf x' y` runs; the letter may follow others, as in `env -vS`.
fn split_string(arguments: &[Word]) -> Option<(String, bool)> {
    /// Letters of options of `env` that take the text behind them.
    const VALUED: &str = "uC";
    let splits = |word: &Word| {
        let text = word.text.as_str();
        match text.strip_prefix('-')? {
            long if long.starts_with("-s") => {
                let (name, value) = text.split_once('=').unwrap_or((text, ""));
                "--split-string".starts_with(name).then(|| value.to_owned())
            }
            long if long.starts_with('-') => None,
            short => {
                let at = short.find('S')?;
                let is_value = short[..at].contains(|c| VALUED.contains(c));
                (!is_value).then(|| short[at + 1..].to_owned())
            }
        }
    };
    let found = arguments
        .iter()
        .enumerate()
        .find_map(|(at, word)| Some((at, splits(word)?)));
    let (at, attached) = found?;
    let (rest, known) = joined(&arguments[at + 1..]);
    Some((format!("{attached} {rest}"), known && !arguments[at].dynamic))
}

/// Returns a word as a line for a shell, and whether it is known.
fn line(word: &Word) -> (String, bool) {
    (word.text.clone(), !word.dynamic)
}

/// Returns the value of an assignment as a line, and whether it is known.
fn value(word: &Word) -> Option<(String, bool)> {
    let (_, value) = word.text.split_once('=')?;
    Some((value.to_owned(), !word.dynamic))
}

/// Returns the words as one line, and whether all of it is known.
fn joined(words: &[Word]) -> (String, bool) {
    let text: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    (text.join(" "), words.iter().all(|word| !word.dynamic))
}

/// Returns whether a word sets a variable: `x=1`, `x+=1`, `x[1]=2`.
pub(crate) fn is_assignment(word: &str) -> bool {
    let name = |name: &str| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    word.split_once('=')
        .is_some_and(|(before, _)| name(before.trim_end_matches('+').split('[').next().unwrap_or_default()))
}

/// Returns the program without its directory.
pub(crate) fn basename(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
