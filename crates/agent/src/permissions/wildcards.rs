//! Restricts the stars of a rule about command lines: they match neither other paths, nor variables with an
//! unknown value, nor further words in place of a variable's value.
//!
//! `CallSubject::covers_command` makes these checks for a pattern that fits a command, besides those of
//! `severity`. Each of them can only keep a rule from covering: if one fails, a person is asked.
//!
//! | pattern | command | covered |
//! | --- | --- | --- |
//! | `rm build/*` | `rm build/a` | yes |
//! | `rm build/*` | `rm build/a src` | no: `src` is another place |
//! | `rm build/*` | `rm build/../src` | no: it climbs out |
//! | `echo *` | `echo $TOKEN` | no: nobody saw the value |
//! | `echo $HOME *` | `echo $HOME x` | yes: the pattern names it |
//! | `PORT=* ./srv` | `PORT=1 ./evil ./srv` | no: the star is the value |

use agentx_types::since;

use crate::commands::command_analysis::is_wrapper;
use crate::pattern::fits;

/// Words behind which `NAME=value` sets a variable, or `env` may follow.
const BEFORE_VARIABLES: &[&str] = &[
    "command", "declare", "env", "exec", "export", "local", "nice", "nohup", "readonly", "setsid", "sudo",
    "time", "typeset",
];

/// Returns whether a pattern fits a command. From version 9 of the rules on, a star in a word in front that
/// sets a variable stands for a part of one word: not for further variables (`LD_PRELOAD=…`) or a program.
pub(crate) fn fits_command(pattern: &str, command: &str, version: u32) -> bool {
    fits(pattern, command) && (version < since::VALUES_ARE_ONE_WORD || keeps_values_apart(pattern, command))
}

/// Returns whether each word in front of the pattern, as far as variables are set there, fits one word of the
/// command, and the rest of the pattern the rest of the command. No star of these words stands for a quote or
/// `$`: both words have the same number of such characters.
fn keeps_values_apart(pattern: &str, command: &str) -> bool {
    let (mut pattern, mut command) = (pattern, command);
    loop {
        let (wanted, wanted_behind) = first_word(pattern);
        if !is_before_program(wanted) {
            return fits(pattern, command);
        }
        let (word, behind) = first_word(command);
        if !fits(wanted, word) || special_characters(&wanted.replace("\\*", "*")) != special_characters(word)
        {
            return false;
        }
        (pattern, command) = (wanted_behind, behind);
    }
}

/// Returns whether a word of a pattern sets a variable, or may stand before one that does.
fn is_before_program(word: &str) -> bool {
    let is_name = |name: &str| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "_*+[]'\"".contains(c);
        !name.is_empty() && name.chars().all(is_part)
    };
    let program = word.rsplit('/').next().unwrap_or(word);
    word.split_once('=').is_some_and(|(name, _)| is_name(name))
        || BEFORE_VARIABLES.contains(&program)
        || (word.starts_with('-') && !word.contains('*'))
}

/// Returns whether a pattern names the program that runs: its first word is literal, behind variables and
/// programs that run another one (`timeout 60 *` names none). A pattern without a star is a whole line.
pub(crate) fn names_program(pattern: &str) -> bool {
    let is_whole = !pattern.replace("\\*", "").contains('*');
    is_whole || begins_with_program(pattern)
}

fn begins_with_program(pattern: &str) -> bool {
    let (mut is_wrapped, mut may_be_value) = (false, false);
    for word in pattern.split_whitespace() {
        if word.contains(['*', '?', '$', '`']) && !sets_variable(word) {
            return false;
        }
        let is_number = word.starts_with(|c: char| c.is_ascii_digit());
        let is_option = word.starts_with('-');
        let is_front = sets_variable(word) || runs_another(word) || (is_wrapped && (is_option || is_number));
        if !is_front && !may_be_value {
            return true;
        }
        // `-u me`: the word behind an option may be its value, so the next one has to be literal, too.
        may_be_value = is_wrapped && is_option;
        is_wrapped |= is_front;
    }
    false
}

/// Returns whether a word sets a variable whose name is known.
fn sets_variable(word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    word.split_once('=')
        .is_some_and(|(name, _)| !name.is_empty() && name.chars().all(is_part))
}

/// Returns whether a program runs another one on this machine.
fn runs_another(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    name != "ssh" && (is_wrapper(name) || BEFORE_VARIABLES.contains(&name))
}

/// The number of characters of a word that quote, or begin a substitution or redirection.
fn special_characters(word: &str) -> usize {
    word.chars().filter(|c| "'\"\\$`<>".contains(*c)).count()
}

/// A character of a line to which a shell may give a meaning.
struct Meaningful {
    /// Its position in the line, in bytes.
    at: usize,
    letter: char,
    /// Whether it is in double quotes.
    is_quoted: bool,
}

/// The characters of a line to which a shell may give a meaning: not quotes, what is in single quotes, and
/// what follows a backslash.
fn meaningful(line: &str) -> impl Iterator<Item = Meaningful> {
    let mut quote = None;
    let mut letters = line.char_indices();
    std::iter::from_fn(move || {
        loop {
            let (at, letter) = letters.next()?;
            match (quote, letter) {
                (Some('\''), '\'') | (Some('"'), '"') => quote = None,
                (Some('\''), _) => {}
                (None, '\'' | '"') => quote = Some(letter),
                (_, '\\') => {
                    letters.next();
                }
                _ => {
                    let is_quoted = quote.is_some();
                    return Some(Meaningful {
                        at,
                        letter,
                        is_quoted,
                    });
                }
            }
        }
    })
}

/// The first word of a line, with its quotes, and what follows the blank behind it.
fn first_word(line: &str) -> (&str, &str) {
    let end = meaningful(line).find(|found| found.letter == ' ' && !found.is_quoted);
    end.map_or((line, ""), |end| (&line[..end.at], &line[end.at + 1..]))
}

/// Returns whether each shell variable in the command is also in the pattern: nobody saw its value, so no
/// star matches it.
pub(crate) fn names_all_variables(pattern: &str, command: &str) -> bool {
    let named = variables(pattern);
    variables(command).iter().all(|name| named.contains(name))
}

/// The names of the variables that a shell expands in a line, outside of single quotes; empty for special
/// ones such as `$?`.
fn variables(line: &str) -> Vec<String> {
    let name_behind = |at: usize| -> String {
        let letters = line[at + 1..].chars();
        letters.take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    meaningful(line)
        .filter(|found| found.letter == '$')
        .map(|found| name_behind(found.at))
        .collect()
}

/// Returns whether each word of the command is in the pattern or below a folder that it names, if all stars
/// of the pattern stand for files below a folder. `true` for patterns with other stars.
pub(crate) fn names_all_places(pattern: &str, command: &str) -> bool {
    let plain = pattern.replace("\\*", "");
    let below_only = plain.contains("/*") && plain.replace("/**", "").replace("/*", "").find('*').is_none();
    let folder = |word: &'_ str| word.find("/*").map(|at| word[..=at].to_owned());
    let folders: Vec<String> = pattern.split(' ').filter_map(folder).collect();
    !below_only
        || command.split(' ').all(|word| {
            pattern.split(' ').any(|part| part == word)
                || folders.iter().any(|folder| word.starts_with(folder.as_str()))
        })
}

/// Returns whether no word of the command climbs out of a folder, if a star of the pattern directly follows a
/// `/`. A variable may have any value, so it counts as climbing.
pub(crate) fn stays_below(pattern: &str, command: &str) -> bool {
    let starred = pattern.contains("/*");
    let climbs = |word: &str| {
        let plain: String = word.chars().filter(|c| !"'\"\\".contains(*c)).collect();
        plain.split('/').any(|part| {
            part.starts_with("..") || (part.starts_with('.') && part[1..].starts_with(['?', '*', '[']))
        }) || plain.contains('$')
    };
    !starred
        || !command
            .split(' ')
            .any(|word| climbs(word) && !pattern.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_in_a_value_stands_for_a_part_of_one_word() {
        for (pattern, command) in [
            ("PORT=* ./srv", "PORT=1 ./srv"),
            ("PORT=* ./srv *", "PORT=a/b ./srv"),
            ("PORT=* ./srv *", "PORT=1 ./srv -v PORT=2 ./srv"),
            ("A=\"*\" B=* make", "A=\"x y\" B=1 make"),
            ("A=$HOME/* make", "A=$HOME/x make"),
            ("A=\\* make", "A=* make"),
            ("env -i PORT=* ./srv", "env -i PORT=1 ./srv"),
            ("export PORT=*", "export PORT=1"),
            ("NODE_ENV=test *", "NODE_ENV=test npm run a"),
            ("NODE_ENV=test *", "NODE_ENV=test"),
            ("make PORT=* x", "make PORT=1 A=2 x"),
            ("env *", "env A=1 make"),
        ] {
            assert!(
                fits_command(pattern, command, since::VALUES_ARE_ONE_WORD),
                "{command}"
            );
        }
        for (pattern, command) in [
            ("PORT=* ./srv", "PORT=1 LD_PRELOAD=./x.so ./srv"),
            ("PORT=* ./srv", "PORT=1 ./evil ./srv"),
            ("PORT=* ./srv *", "PORT=1 ./evil PORT=1 ./srv x"),
            ("PORT=* ./srv", "PORT='1 2' ./srv"),
            ("PORT=* ./srv", "PORT=\"1\" ./srv"),
            ("PORT=* ./srv", r"PORT=1\ 2 ./srv"),
            ("PORT=* ./srv", "PORT=$X ./srv"),
            ("PORT=* ./srv", "PORT=1>/dev/null ./srv"),
            ("PORT+=* ./srv", "PORT+=1 ./evil ./srv"),
            ("A=1 PORT=* ./srv", "A=1 PORT=1 ./evil ./srv"),
            ("RUST_*=1 make", "RUST_A=x ./evil A=1 make"),
            ("A=\"x *\" make", "A=\"x y\" ./evil \"z\" make"),
            ("A=\"*\" make", "A=\"\" ./evil \"\" make"),
            ("env PORT=* ./srv", "env PORT=1 LD_PRELOAD=./x.so ./srv"),
            (
                "/usr/bin/env -i PORT=* ./srv",
                "/usr/bin/env -i PORT=1 ./evil ./srv",
            ),
            ("env \"PORT=*\" ./srv", "env \"PORT=1\" \"PATH=.\" ./srv"),
            ("export PORT=*", "export PORT=1 PATH=."),
        ] {
            assert!(
                fits_command(pattern, command, since::VALUES_ARE_ONE_WORD - 1),
                "{command}"
            );
            assert!(
                !fits_command(pattern, command, since::VALUES_ARE_ONE_WORD),
                "{command}"
            );
        }
    }

    #[test]
    fn a_program_is_named_by_a_first_word_without_a_star() {
        for pattern in [
            "cargo *",
            "./run.sh *",
            "PORT=* ./srv",
            "timeout 60 cargo test *",
            "nice -n 10 make *",
            "ssh *",
            "7z x *",
            "uname -r",
            r"\*.sh",
            r"ls \* *",
            "sudo -u me ls *",
            "FOO=$BAR make *",
        ] {
            assert!(names_program(pattern), "{pattern}");
        }
        for pattern in [
            "*",
            "**",
            "* *",
            "*h*",
            "?*",
            "* --version",
            "./bin/* x",
            "git* status",
            "$TOOL *",
            "timeout 60 *",
            "nice -n 10 *",
            "env A=b *",
            "sudo -u me *",
            "xargs -n 1 *",
            "PORT=1 *",
            "*=1 cargo test",
        ] {
            assert!(!names_program(pattern), "{pattern}");
        }
    }
}
