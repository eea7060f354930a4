//! Variables that select programs or make them run others, and that a builtin sets: `printf -v PATH .`, `read
//! PATH`, `for PATH in .`. A builtin that evaluates a variable as a number also runs the substitutions in its
//! value. Variables that change the meaning of a path count if an assignment sets them, too.

use super::lex::word::Word;
use super::named_files::names::innermost;
use super::programs::indirect_programs::is_loader;
use super::programs::wrapper_commands::{basename, is_assignment};

/// Variables that decide where a path leads: `~`, `cd`, `~-`, `~+`.
const PLACES: &[&str] = &["HOME", "CDPATH", "OLDPWD", "PWD"];

/// Returns whether a variable decides where a path leads.
fn is_place(name: &str) -> bool {
    PLACES.contains(&name)
}

/// Returns whether a command sets such a variable, or one with an unknown name, in another way than by
/// `NAME=value`.
pub(super) fn sets_a_loader(words: &[Word]) -> bool {
    sets_by_builtin(words, is_loader)
}

/// Returns whether paths of later commands, or of the shell that it starts, lead elsewhere because it sets
/// `HOME` or a similar variable.
///
/// An assignment in front of another program (`HOME=x cargo test`) affects only that program, and changes no
/// path of the line.
pub(super) fn sets_a_place(words: &[Word]) -> bool {
    let is_set = |word: &Word| is_assignment(&word.text) && name_of(&word.text).is_some_and(is_place);
    let leads = || {
        let program = innermost(words).first().map(|word| basename(&word.text));
        program.is_none_or(|program| matches!(program, "cd" | "pushd" | "source" | "."))
    };
    sets_by_builtin(words, is_place) || (words.iter().any(is_set) && leads())
}

/// Returns whether a command sets a variable of a kind, or one with an unknown name, with a builtin.
fn sets_by_builtin(words: &[Word], is_one: fn(&str) -> bool) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    let named = |word: &Word| name_of(&word.text).is_some_and(is_one);
    match basename(&program.text) {
        "printf" | "wait" => {
            let letter = if program.text.ends_with("printf") {
                'v'
            } else {
                'p'
            };
            arguments.iter().enumerate().any(|(at, word)| {
                let behind = word
                    .text
                    .strip_prefix('-')
                    .and_then(|short| short.split_once(letter));
                match behind {
                    Some((_, "")) => arguments
                        .get(at + 1)
                        .is_some_and(|word| word.dynamic || named(word)),
                    Some((_, attached)) => word.dynamic || name_of(attached).is_some_and(is_one),
                    None => false,
                }
            })
        }
        "read" | "mapfile" | "readarray" | "getopts" => {
            let given = |word: &Word| {
                named(word) || word.text.strip_prefix("-a").and_then(name_of).is_some_and(is_one)
            };
            arguments.iter().any(given)
        }
        "declare" | "typeset" | "local" | "export" | "readonly" => {
            let refers = arguments
                .iter()
                .any(|word| word.text.starts_with('-') && word.text.contains('n'));
            let value = |word: &Word| word.text.split_once('=').is_some_and(|(_, value)| is_one(value));
            arguments.iter().any(|word| {
                (named(word) && word.text.contains('=')) || (refers && (value(word) || word.dynamic))
            })
        }
        "unset" | "let" => arguments.iter().any(named),
        "for" | "select" => arguments.first().is_some_and(named),
        _ => false,
    }
}

/// Returns whether the text between `${` and `}` sets such a variable or one that decides where a path leads:
/// `PATH:=.`.
pub(super) fn expansion_sets_a_loader(inside: &str) -> bool {
    let name = name_of(inside);
    let behind = name.map_or("", |name| &inside[name.len()..]);
    let is_one = |name| is_loader(name) || is_place(name);
    (behind.starts_with('=') || behind.starts_with(":=")) && name.is_some_and(is_one)
}

/// Returns the name at the beginning of a text.
fn name_of(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    Some(&text[..end.unwrap_or(text.len())]).filter(|name| !name.is_empty())
}

/// Returns whether a line has one command that reads a variable, and one that evaluates a variable as a
/// number: `read x; echo $((x))` runs the substitutions in the subscript that was read.
pub(super) fn evaluates_what_it_reads(line: &str, commands: &[Vec<Word>]) -> bool {
    let program = |words: &[Word]| {
        let mut words = words.iter().skip_while(|word| is_assignment(&word.text));
        words
            .next()
            .map(|word| basename(&word.text).to_owned())
            .unwrap_or_default()
    };
    let reads = |words: &Vec<Word>| {
        let first: Vec<&str> = words.iter().take(4).map(|word| word.text.as_str()).collect();
        first
            .iter()
            .any(|word| matches!(*word, "read" | "mapfile" | "readarray"))
    };
    let numbers = |words: &Vec<Word>| {
        let is_let = program(words) == "let";
        let compares = matches!(program(words).as_str(), "[[" | "declare" | "typeset" | "local")
            && words.iter().any(|word| {
                matches!(word.text.as_str(), "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge")
                    || (word.text.starts_with('-') && word.text.contains('i') && !word.text.contains(' '))
            });
        is_let || compares
    };
    let in_line = line.contains("((") || line.contains("$[");
    commands.iter().any(reads) && (in_line && has_a_name(line) || commands.iter().any(numbers))
}

/// Returns whether arithmetic contains a name, with or without a `$`: its value may be more than a number.
fn has_a_name(line: &str) -> bool {
    let mut parts = line.split("((").skip(1).chain(line.split("$[").skip(1));
    parts.any(|part| {
        let inside = part.split(['\n', ';']).next().unwrap_or_default();
        let inside = inside.split("))").next().unwrap_or_default();
        inside.contains(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '$')
    })
}
