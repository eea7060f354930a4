//! The forms of a command in the wide reading, for `deny` and `ask` rules: unchanged, without the directory
//! of its program, and without the options before its subcommand. The narrow reading, for `allow` rules, has
//! separate forms (`command_split/looked_through.rs`).

use super::lex::expand::ANYTHING;
use super::lex::word::{BLANK, Word};
use super::programs::npm::other_subcommands;
use super::programs::subcommands::{options_before_subcommand, other_starts};
use super::programs::wrapper_commands::basename;
use super::{CommandAnalysis, MOST_OPEN};

impl CommandAnalysis {
    /// Records the forms of one command. For `/usr/bin/git -C a push` these are `/usr/bin/git -C a push`,
    /// `git -C a push` and `git push`; rules are compared with each of them.
    pub(super) fn note(&mut self, words: &[Word]) {
        let Some((program, arguments)) = words.split_first() else {
            return;
        };
        let name = basename(&program.text);
        self.push(&program.text, arguments);
        if name != program.text {
            self.push(name, arguments);
        }
        let options = options_before_subcommand(words);
        if options > 0 {
            self.push(name, &arguments[options..]);
        }
        if self.expands_twice {
            for start in other_starts(words).into_iter().filter(|start| *start != options) {
                self.push(name, &arguments[start..]);
            }
        }
        if self.names {
            self.note_other_names(name, &arguments[options..]);
        }
        if self.expands_twice && name == "npm" {
            self.note_spellings_of_npm(words);
        }
        if self.closer && arguments.iter().any(|word| word.dynamic) {
            self.note_open(name, arguments);
            self.note_open(name, &arguments[options..]);
        }
    }

    /// Records a command of npm with each subcommand that npm may take its word for.
    fn note_spellings_of_npm(&mut self, words: &[Word]) {
        let Some((program, arguments)) = words.split_first() else {
            return;
        };
        let starts = std::iter::once(options_before_subcommand(words)).chain(other_starts(words));
        for start in starts {
            let Some((subcommand, rest)) = arguments.get(start..).and_then(<[Word]>::split_first) else {
                continue;
            };
            for other in other_subcommands(&subcommand.text) {
                let behind = rest.iter().map(|word| format!(" {}", word.text));
                let name = basename(&program.text);
                self.commands
                    .push(format!("{name} {other}{}", behind.collect::<String>()));
            }
        }
    }

    /// Records a command that is not known to the letter.
    pub(super) fn note_open(&mut self, program: &str, arguments: &[Word]) {
        if self.open.len() > MOST_OPEN {
            return;
        }
        let mut command = program.to_owned();
        for word in arguments {
            if word.is_anything() {
                command.push(ANYTHING);
            } else {
                command.push(' ');
                command.push_str(&word.open);
            }
        }
        self.open.push(command);
    }

    /// Records a form of a command: its words with one blank between them, as in patterns of rules.
    pub(super) fn push(&mut self, program: &str, arguments: &[Word]) {
        let (mut command, mut in_words) = (program.to_owned(), program.to_owned());
        for word in arguments {
            command.push(' ');
            command.push_str(&word.text);
            in_words.push(' ');
            in_words.extend(word.text.chars().map(|c| if c == ' ' { BLANK } else { c }));
        }
        self.commands.push(command);
        self.in_words.push(in_words);
    }
}
