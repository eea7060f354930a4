//! Values that a line itself gives to variables, positions and substitutions: `D=~; cat $D/.ssh/config` opens
//! `~/.ssh/config`.
//!
//! A word that begins with an unknown part is checked as each name that it becomes by such a value, besides
//! the name with a mark for the unknown part. The values are collected before the commands of a line are
//! read, because a function may be called behind its text.
//!
//! | line | value |
//! | --- | --- |
//! | `D=..; cat $D/x`, `for D in ..; do cat $D/x; done` | `..` |
//! | `cat ${D:-..}/x`, `cat $(realpath ..)/x` | `..` |
//! | `set -- ..; cat $1/x`, `bash -c 'cat $0/x' ..`, `f() { cat $1/x; }; f ..` | `..` |
//! | `cat ${HOME%/}/x`, `cat ${PWD}y/x` | `~`, `.` |
//! | `pushd ..; cat ~1/x` | each folder that the line goes to |
//! | `cat $D/x`, with no value in the line | `~` and `.` |
//!
//! Such names count for guarded files alone, and not for rules.

use super::name_takers::takes_names;
use crate::commands::command_analysis::CommandAnalysis;
use crate::commands::command_analysis::lex::expand::ANYTHING;
use crate::commands::command_analysis::lex::inner_text::InnerKind;
use crate::commands::command_analysis::lex::word::Word;
use crate::commands::command_analysis::lex::{Lexed, lex};
use crate::commands::command_analysis::programs::indirect_programs::is_quiet;
use crate::commands::command_analysis::programs::wrapper_commands::{basename, is_assignment, is_shell};

/// Maximum number of values of one line. With more of them, a name may become any.
const MOST_VALUES: usize = 512;
/// Maximum number of lines of an input that count as values.
const MOST_LINES: usize = 64;
/// Maximum number of names of one line that values make. With more of them, a name may become any.
pub(super) const MOST_JOINED: usize = 1000;
/// Maximum length of a value and of a name, in bytes.
pub(super) const LONGEST: usize = 1000;
/// Maximum number of texts to keep for a search for guarded names.
const MOST_TEXTS: usize = 2000;

/// Folders that `XDG_CONFIG_HOME` and variables like it usually have.
const OF_XDG: &[&str] = &["~/.config", "~/.local/share", "~/.local/state"];

/// The values that a line gives to the unknown parts of its words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GivenValues {
    /// Variables and their values, with marks for the parts that are unknown.
    named: Vec<(String, String)>,
    /// Values that no variable names: positions, input, words of substitutions.
    loose: Vec<String>,
    /// The number of attempts to make a name by a value.
    pub(super) attempts: usize,
    /// Whether there are more values or names than are checked.
    pub(super) are_too_many: bool,
}

impl GivenValues {
    /// Adds a value of a variable, or of no certain one.
    fn add(&mut self, variable: Option<&str>, value: String) {
        if value.is_empty() || value.len() > LONGEST {
            // Long text is usually not a path, but a path can be padded.
            let is_path =
                value.starts_with(['~', '.', '/', ANYTHING]) && !value.contains(char::is_whitespace);
            self.are_too_many |= is_path;
            return;
        }
        if self.named.len() + self.loose.len() >= MOST_VALUES {
            self.are_too_many = true;
            return;
        }
        match variable {
            Some(name) => {
                let pair = (name.to_owned(), value);
                if !self.named.contains(&pair) {
                    self.named.push(pair);
                }
            }
            None if self.loose.contains(&value) => {}
            None => self.loose.push(value),
        }
    }

    /// Returns the values that may stand at the beginning of a word, as it is written.
    pub(super) fn of_beginning(&self, written: &str) -> Vec<String> {
        let Some(name) = variable_of(written) else {
            return self.loose.clone();
        };
        let of = |is_it: &dyn Fn(&str) -> bool| -> Vec<String> {
            let named = self.named.iter().filter(|(variable, _)| is_it(variable));
            named.map(|(_, value)| value.clone()).collect()
        };
        let mut values = of(&|variable| variable == name);
        if values.is_empty() {
            // The quotes of `"$D"x` are not in the text.
            values = of(&|variable| !variable.is_empty() && name.starts_with(variable));
        }
        match name {
            "HOME" => values.push("~".to_owned()),
            "PWD" | "OLDPWD" => values.push(".".to_owned()),
            _ if name.starts_with("XDG_") => values.extend(OF_XDG.iter().map(|folder| (*folder).to_owned())),
            _ if values.is_empty() => values.clone_from(&self.loose),
            _ => {}
        }
        values
    }
}

impl CommandAnalysis {
    /// Records the values that a line gives to variables, positions and substitutions.
    pub(crate) fn note_values(&mut self, lexed: &Lexed) {
        for inner in &lexed.inner {
            match inner.kind {
                InnerKind::Parameter => self.note_default(&inner.text),
                InnerKind::Command | InnerKind::ReadsCommand => {
                    for words in &lex(&inner.text, true).commands {
                        self.note_loose(words);
                        let shows_folder = |word: &Word| matches!(word.text.as_str(), "pwd" | "rev-parse");
                        if words.iter().take(4).any(shows_folder) {
                            self.given.add(None, ".".to_owned());
                        }
                    }
                }
                InnerKind::Quoted => {}
            }
        }
        let reads_input = lexed.commands.iter().any(|words| takes_names(words));
        for input in lexed.input.iter().filter(|_| reads_input) {
            for line in input.lines().take(MOST_LINES).filter(|line| leads(line)) {
                self.given.add(None, line.trim().to_owned());
            }
        }
        let writes_code = lexed.writes.contains(&true)
            && lexed
                .commands
                .iter()
                .any(|words| !is_quiet(words) || words.first().is_some_and(|word| word.text == "sed"));
        for words in &lexed.commands {
            self.note_assigned(words);
            if lexed.defines || gives_positions(words) {
                self.note_positions(words);
            }
            self.note_printed(words, writes_code);
        }
    }

    /// Records the value in a `${…}`: `${D:-..}`, and the text itself, which may be a part of a name.
    fn note_default(&mut self, inside: &str) {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = inside.find(|c| !is_name(c)).unwrap_or(inside.len());
        let (name, behind) = inside.split_at(end);
        let value = behind.trim_start_matches([':', '-', '=', '+', '?']);
        if value.len() < behind.len() {
            for words in &lex(value, true).commands {
                for word in words {
                    self.give_word(Some(name), &word.text, &spellings(word));
                }
            }
        }
        self.note_spoken(format!("{ANYTHING}{inside}"));
    }

    /// Records the words of a command as values of no certain variable, if they may lead to a folder.
    fn note_loose(&mut self, words: &[Word]) {
        for word in words {
            let names = spellings(word);
            if names.iter().any(|name| leads(name)) {
                self.give_word(None, &word.text, &names);
            }
        }
    }

    /// Records the values of assignments, and those of the variable of `for` and `select`.
    fn note_assigned(&mut self, words: &[Word]) {
        for word in words.iter().filter(|word| is_assignment(&word.text)) {
            let Some((name, written)) = word.text.split_once('=') else {
                continue;
            };
            let name = name.trim_end_matches('+').split('[').next().unwrap_or_default();
            let behind = |name: &String| name.split_once('=').map(|(_, value)| value.to_owned());
            let values: Vec<String> = spellings(word).iter().filter_map(behind).collect();
            self.give_word(Some(name), written, &values);
        }
        let is_loop = |word: &Word| matches!(word.text.as_str(), "for" | "select");
        let Some(at) = words.iter().take(4).position(is_loop) else {
            return;
        };
        if let Some((name, listed)) = words.get(at + 1..).and_then(<[Word]>::split_first) {
            for word in listed.iter().skip(1) {
                self.give_word(Some(&name.text), &word.text, &spellings(word));
            }
        }
    }

    /// Records the words of a command as values of positions, and each two of them as one name:
    /// `bash -c 'cat $0/$1' a b`.
    fn note_positions(&mut self, words: &[Word]) {
        self.note_loose(words);
        for pair in words.windows(2).take(MOST_TEXTS) {
            self.note_spoken(format!("{ANYTHING}/{}/{}", pair[0].text, pair[1].text));
        }
    }

    /// Records the names that `printf` makes of its words, and texts of the line that become files which
    /// another command of it may run.
    fn note_printed(&mut self, words: &[Word], writes_code: bool) {
        let Some(at) = words
            .iter()
            .take(4)
            .position(|word| matches!(basename(&word.text), "echo" | "printf"))
        else {
            return;
        };
        for word in words[at + 1..].iter().filter(|word| word.text.contains('%')) {
            self.note_spoken(word.text.replace("%s", "\0").replace("%b", "\0"));
        }
        if let Some(printed) = words
            .get(at + 2..)
            .filter(|_| basename(&words[at].text) == "printf")
        {
            let texts: Vec<&str> = printed.iter().map(|word| word.text.as_str()).collect();
            self.note_spoken(format!("{ANYTHING}/{}", texts.concat()));
        }
        for word in words[at + 1..].iter().filter(|_| writes_code) {
            self.note_code(&word.text);
        }
    }

    /// Records the values that a word stands for, as it is written and with marks.
    fn give_word(&mut self, variable: Option<&str>, written: &str, names: &[String]) {
        for name in names.iter().take(MOST_VALUES) {
            let Some(rest) = name.strip_prefix(ANYTHING) else {
                self.given.add(variable, name.clone());
                continue;
            };
            let values = self.given.of_beginning(written);
            if values.is_empty() && !rest.is_empty() {
                self.given.add(variable, name.clone());
            }
            for value in values {
                self.given.add(variable, format!("{value}{rest}"));
            }
        }
    }

    /// Returns whether the line gives more values than are checked, so that its names may become any.
    pub(crate) fn has_too_many_values(&self) -> bool {
        self.given.are_too_many
    }

    /// Records a name with an unknown part that no command opens by itself. At most [`MOST_JOINED`].
    pub(crate) fn note_spoken(&mut self, name: String) {
        if self.spoken.len() >= MOST_JOINED {
            self.given.are_too_many = true;
        } else if name.len() <= 2 * LONGEST && name.contains('/') {
            self.spoken.push(name);
        }
    }

    /// Records a text that a program may run or read as code. At most [`MOST_TEXTS`].
    pub(crate) fn note_code(&mut self, text: &str) {
        if self.code.len() >= MOST_TEXTS {
            self.given.are_too_many = true;
        } else if text.contains(['/', '.']) {
            self.code.push(text.to_owned());
        }
    }
}

/// Returns the variable with which a word begins, as it is written: `$D/x`, `${D%/}/x`, `$1`.
fn variable_of(written: &str) -> Option<&str> {
    let behind = written.strip_prefix('$')?;
    let behind = behind
        .strip_prefix('{')
        .map_or(behind, |inside| inside.trim_start_matches(['!', '#']));
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = behind.find(|c| !is_name(c)).unwrap_or(behind.len());
    (end > 0).then(|| &behind[..end])
}

/// Returns the names that a word may become, or the word itself if it is known.
fn spellings(word: &Word) -> Vec<String> {
    match word.names() {
        names if names.is_empty() => vec![word.text.clone()],
        names => names,
    }
}

/// Returns whether a text may be a path to a folder.
fn leads(text: &str) -> bool {
    text.starts_with(['~', '.', ANYTHING]) || text.contains('/') || text.starts_with("$HOME")
}

/// Returns whether the words of a command become positions: those of `set` and of a shell with a text.
fn gives_positions(words: &[Word]) -> bool {
    let mut first = words.iter().take(8).map(|word| basename(&word.text));
    first.any(|name| name == "set" || is_shell(name))
}
