//! The forms of a command in the narrow reading, for `allow` rules: the command as it is written, without
//! redirections that keep nothing, and without wrappers and variables in front that change nothing about what
//! runs. Without these forms, a person who allowed `cargo test` would be asked about `timeout 60 cargo test`
//! again and again, and would learn to say yes.
//!
//! | command | also compared as |
//! | --- | --- |
//! | `cargo test 2>&1` | `cargo test` |
//! | `time timeout 60 cargo test` | `timeout 60 cargo test`, `cargo test` |
//! | `RUST_LOG=debug cargo test` | `cargo test` |
//! | `timeout $X cargo test`, `PATH=. cargo test` | – |
//! | `timeout 60 A=b/c make`, `timeout 60 source x` | –: it runs the file `A=b/c`, or a program named `source` |
//!
//! Only words that are listed here are removed. A wrapper stays if one of its words is not listed, or if a
//! shell would read the first word behind it as more than a program's name. A variable is listed only if no
//! program takes its value for the name of a program, a file or a setting. `CI` is not listed, for example,
//! because some programs publish or delete without a question if it is set. The wide reading, for `deny` and
//! `ask` rules, sees through far more (`command_analysis/command_forms.rs`). This applies from version 9 of
//! the rules.

/// The maximum number of wrappers and variables in front of a command.
const MOST_IN_FRONT: usize = 8;

/// Builtins of a shell that have no program of the same name on every system, as `echo` and `test` have. A
/// wrapper would run whatever program of that name is in `PATH`.
const BUILTINS: &str = ". : alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs \
    disown enable eval exec exit export fc fg getopts hash help history jobs let local logout mapfile popd pushd read \
    readarray readonly return set shift shopt source suspend times trap type typeset ulimit umask unalias unset wait";

/// Keywords of a shell for loops and conditions. After a variable or a wrapper, they are names of programs.
const KEYWORDS: &str =
    "[[ ]] case coproc do done elif else esac fi for function if in select then until while";

/// Characters by which a shell makes another word of one, or a variable or redirection.
const MORE_THAN_A_NAME: &[char] = &['=', '<', '>', '\'', '"', '\\', '$', '`', '*', '?', '['];

/// A command that runs the one behind it and changes neither what that does nor where its output goes.
struct TransparentWrapper {
    name: &'static str,
    /// Options without a value.
    alone: &'static [&'static str],
    /// Options with a value.
    valued: &'static [Valued],
}

/// An option with a value, attached or as the next word.
struct Valued {
    short: &'static str,
    long: &'static str,
    is_value: fn(&str) -> bool,
}

/// Returns an option of the table below.
const fn valued(short: &'static str, long: &'static str, is_value: fn(&str) -> bool) -> Valued {
    Valued {
        short,
        long,
        is_value,
    }
}

/// The wrappers. Not `nohup`, which writes a file, nor any that takes the command from a text.
const WRAPPERS: &[TransparentWrapper] = &[
    TransparentWrapper {
        name: "env",
        alone: &[],
        valued: &[],
    },
    TransparentWrapper {
        name: "nice",
        alone: &[],
        valued: &[valued("-n", "--adjustment", is_niceness)],
    },
    TransparentWrapper {
        name: "stdbuf",
        alone: &[],
        valued: &[
            valued("-i", "--input", is_buffer),
            valued("-o", "--output", is_buffer),
            valued("-e", "--error", is_buffer),
        ],
    },
    TransparentWrapper {
        name: "time",
        alone: &["-p"],
        valued: &[],
    },
    TransparentWrapper {
        name: "timeout",
        alone: &["--foreground", "--preserve-status", "--verbose", "-v"],
        valued: &[
            valued("-k", "--kill-after", is_duration),
            valued("-s", "--signal", is_signal),
        ],
    },
];

/// The forms of one command of a line that was split with certainty; the first is the command itself.
pub(crate) fn forms(command: &str) -> Vec<&str> {
    let mut forms = vec![command];
    for written in [command, without_redirections(command)] {
        let first = Inner {
            rest: written,
            takes_variables: true,
        };
        let steps = std::iter::successors(Some(first), Inner::behind_one);
        for Inner { rest, .. } in steps.take(MOST_IN_FRONT + 1) {
            if !rest.is_empty() && !forms.contains(&rest) {
                forms.push(rest);
            }
        }
    }
    forms
}

/// Returns whether a part of a line is only redirections that keep nothing, such as what follows `&` in
/// `x &>/dev/null`.
pub(crate) fn is_only_redirections(command: &str) -> bool {
    without_redirections(command).is_empty()
}

/// Returns the words in front of the command that `is_fit` accepts, and that command, if these words are only
/// variables and programs that run another one. Any variables and programs are accepted, because the result
/// only explains to a person why no rule applies.
///
/// `is_wrapper` says whether a program runs another one that its arguments name.
pub(crate) fn in_front(
    command: &str,
    is_wrapper: fn(&str) -> bool,
    is_fit: impl Fn(&str) -> bool,
) -> Option<(&str, &str)> {
    let first = command.split(' ').next()?;
    let is_name = |name: &str| {
        name.chars()
            .all(|c| c.is_ascii_alphanumeric() || "_+".contains(c))
    };
    let is_variable = first.split_once('=').is_some_and(|(name, _)| is_name(name));
    let mut borders = command.match_indices(' ').take(MOST_IN_FRONT * 2);
    if !is_variable && !is_wrapper(first) {
        return None;
    }
    borders.find_map(|(at, _)| {
        let (front, inner) = (&command[..at], &command[at + 1..]);
        (is_fit(inner) || is_fit(without_redirections(inner))).then_some((front, inner))
    })
}

/// The rest of a command, behind some wrappers and variables.
#[derive(Clone, Copy)]
struct Inner<'a> {
    rest: &'a str,
    /// Whether a shell reads `NAME=value` here as a variable. After `timeout 60` it would be a program, and
    /// after `time` as well in shells other than bash.
    takes_variables: bool,
}

impl Inner<'_> {
    /// The rest behind one more wrapper or variable; `None` if it begins with neither.
    fn behind_one(&self) -> Option<Self> {
        let (word, behind) = self.rest.split_once(' ')?;
        if self.takes_variables && is_harmless_variable(word) {
            return (!is_listed(KEYWORDS, first_word(behind))).then_some(Self {
                rest: behind,
                takes_variables: true,
            });
        }
        let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == word)?;
        let rest = wrapper.command(behind)?;
        is_program(first_word(rest)).then_some(Self {
            rest,
            takes_variables: false,
        })
    }
}

impl TransparentWrapper {
    /// The command behind the wrapper's own words; `None` if one of these is not known to be harmless.
    fn command<'a>(&self, words: &'a str) -> Option<&'a str> {
        let mut rest = words;
        while rest.starts_with('-') {
            let (word, behind) = rest.split_once(' ')?;
            rest = if self.alone.contains(&word) {
                behind
            } else {
                self.behind_value(word, behind)?
            };
        }
        match self.name {
            "timeout" => {
                let (duration, behind) = rest.split_once(' ')?;
                is_duration(duration).then_some(behind)
            }
            "env" => Some(behind_variables(rest)),
            _ => Some(rest),
        }
    }

    /// Returns the words after an option with a value; `None` if the option or its value is not listed.
    fn behind_value<'a>(&self, word: &str, behind: &'a str) -> Option<&'a str> {
        self.valued.iter().find_map(|option| {
            if word == option.short || word == option.long {
                let (value, behind) = behind.split_once(' ')?;
                return (option.is_value)(value).then_some(behind);
            }
            let after_long = word
                .strip_prefix(option.long)
                .and_then(|rest| rest.strip_prefix('='));
            let value = after_long.or_else(|| word.strip_prefix(option.short))?;
            (option.is_value)(value).then_some(behind)
        })
    }
}

/// Returns the words after the harmless variables that `env` sets.
fn behind_variables(words: &str) -> &str {
    let mut rest = words;
    while let Some((word, behind)) = rest.split_once(' ')
        && is_harmless_variable(word)
    {
        rest = behind;
    }
    rest
}

fn first_word(words: &str) -> &str {
    words.split(' ').next().unwrap_or_default()
}

fn is_listed(list: &str, word: &str) -> bool {
    list.split(' ').any(|known| known == word)
}

/// Returns whether the first word behind a wrapper names the same program as at the beginning of a line.
fn is_program(word: &str) -> bool {
    !word.contains(MORE_THAN_A_NAME) && !is_listed(BUILTINS, word) && !is_listed(KEYWORDS, word)
}

/// Returns whether a word sets a variable to a value by which no program runs or loads anything else.
fn is_harmless_variable(word: &str) -> bool {
    const TERMINALS: &str =
        "ansi dumb linux screen screen-256color tmux tmux-256color vt100 xterm xterm-color xterm-256color";
    const SWITCHES: &str = "0 1 2 3 true false yes no always never full";
    let Some((name, value)) = word.split_once('=') else {
        return false;
    };
    let is_one_of = |list: &str| is_listed(list, value);
    let is_of = |signs: &str| {
        let is_sign = |c: char| c.is_ascii_alphanumeric() || signs.contains(c);
        !value.is_empty() && value.chars().all(is_sign)
    };
    match name {
        "RUST_BACKTRACE"
        | "RUST_LIB_BACKTRACE"
        | "NO_COLOR"
        | "FORCE_COLOR"
        | "CLICOLOR"
        | "CLICOLOR_FORCE"
        | "PYTHONDONTWRITEBYTECODE"
        | "PYTHONUNBUFFERED"
        | "PYTHONFAULTHANDLER"
        | "PYTHONUTF8" => is_one_of(SWITCHES),
        "COLUMNS" | "LINES" | "PYTHONHASHSEED" | "RUST_TEST_THREADS" => is_number(value),
        "RUST_LOG" => is_of("_:=,-"),
        "TERM" => is_one_of(TERMINALS),
        // Others change the order of `sort` and `ls`, and in some encodings a part of a letter may be a
        // backslash.
        "LANG" | "LC_ALL" => is_one_of("C POSIX C.UTF-8 C.utf8"),
        // Another day may be another file that a script deletes.
        "TZ" => value == "UTC",
        // Any other value chooses the files with settings, and perhaps the database, of another environment.
        "NODE_ENV" => value == "test",
        _ => false,
    }
}

/// Removes redirections at the end of a command that keep nothing: `2>&1`, `>/dev/null`, `2> /dev/null`,
/// `</dev/null`.
///
/// None of them contains a quote, so in a line whose quotes are balanced they are outside of quotes.
pub(crate) fn without_redirections(command: &str) -> &str {
    let mut rest = command;
    while let Some(before) = before_redirection(rest) {
        rest = before;
    }
    rest
}

/// Returns the words before the redirection at the end of a command.
fn before_redirection(command: &str) -> Option<&str> {
    let before = match command.strip_suffix("/dev/null") {
        Some(before) => {
            let arrow = before.trim_end_matches([' ', '\t']);
            // `1<` and `0>` would make the output or input fail.
            let (before, descriptors): (_, &[char]) = match arrow.strip_suffix('<') {
                Some(before) => (before, &['0']),
                None => (
                    arrow.strip_suffix(">>").or_else(|| arrow.strip_suffix('>'))?,
                    &['1', '2'],
                ),
            };
            before.strip_suffix(descriptors).unwrap_or(before)
        }
        None => {
            let before = command.strip_suffix(['1', '2'])?.strip_suffix(">&")?;
            before.strip_suffix(['1', '2']).unwrap_or(before)
        }
    };
    let words = before.trim_end_matches(' ');
    // A blank behind a backslash is part of a word. So is a digit or an arrow that no blank precedes.
    let is_apart = before.is_empty() || (words.len() < before.len() && !words.ends_with('\\'));
    is_apart.then_some(words)
}

fn is_number(value: &str) -> bool {
    (1..=4).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_niceness(value: &str) -> bool {
    is_number(value.strip_prefix(['+', '-']).unwrap_or(value))
}

/// Returns whether a value is a time of a second or more: a shorter one ends a command in the middle of its
/// work.
fn is_duration(value: &str) -> bool {
    let number = value.strip_suffix(['s', 'm', 'h', 'd']).unwrap_or(value);
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let is_digits = |text: &str| text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit());
    whole.contains(|c| c != '0') && is_digits(whole) && is_digits(part)
}

/// Returns whether a value is a signal by which people end programs. Others stop them for good, or mean
/// something else.
fn is_signal(value: &str) -> bool {
    ["INT", "SIGINT", "TERM", "SIGTERM", "2", "15"].contains(&value)
}

fn is_buffer(value: &str) -> bool {
    value == "0" || value == "L"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_compared_without_what_changes_nothing() {
        let cases: [(&str, &[&str]); 7] = [
            ("cargo test", &[]),
            (
                "timeout -k 5 1.5m nice -n -5 cargo test",
                &["nice -n -5 cargo test", "cargo test"],
            ),
            (
                "RUST_LOG=a::b=debug,c time x 2>&1",
                &[
                    "time x 2>&1",
                    "x 2>&1",
                    "RUST_LOG=a::b=debug,c time x",
                    "time x",
                    "x",
                ],
            ),
            ("env TZ=UTC LC_ALL=C.UTF-8 date", &["date"]),
            ("stdbuf -oL -e 0 x", &["x"]),
            ("timeout --signal=INT --kill-after 5 60s x", &["x"]),
            ("x </dev/null >> /dev/null 2>&1", &["x"]),
        ];
        for (command, others) in cases {
            assert_eq!(forms(command)[1..], *others, "{command}");
        }
    }

    #[test]
    fn what_is_not_known_to_the_letter_stays() {
        for command in [
            "env RUST_LOG=debug",
            "env -i x",
            "env -S x",
            "env -u A x",
            "env - x",
            "env PATH=. x",
            "nice -n x y",
            "nice --adj=5 x",
            "time -o y x",
            "time -v x",
            "timeout x",
            "timeout -k x 5 y",
            "timeout -f x",
            "timeout 'a' x",
            "timeout .5 x",
            "stdbuf -o../x y",
            "./time x",
            "/tmp/nice x",
            "PATH=. x",
            "CI=1 x",
            "RUST_LOG= x",
            "RUST_LOG=/x y",
            "TZ=:x y",
            "TZ=/x y",
            "TZ=../x y",
            "TZ=AAA-24 x",
            "TZ=Europe/Berlin x",
            "LANG=zh_TW.Big5 x",
            "LANG=/x.UTF-8 y",
            "LC_ALL=de_DE.UTF-8 x",
            "TERM=../x y",
            "NODE_ENV=production x",
            "COLUMNS=99999 x",
            r"x\ 2>&1",
            "x2>&1",
            "x 3>&1",
            "x >&x",
            "x <>/dev/null",
            "x >y/dev/null",
            "x '2>&1'",
            "x 1</dev/null",
            "x 2< /dev/null",
            "x 0>/dev/null",
            "x 0>>/dev/null",
            "timeout 0 x",
            "timeout 0.1 x",
            "timeout 00.9s x",
            "timeout -k 0 5 x",
            "timeout -s KILL 5 x",
            "timeout -sSTOP 5 x",
            "timeout --signal=HUP 5 x",
        ] {
            assert_eq!(forms(command), [command], "{command}");
        }
        assert!(is_only_redirections(">/dev/null 2>&1") && !is_only_redirections("x >/dev/null"));
    }

    #[test]
    fn what_a_wrapper_would_run_in_another_way_than_a_shell_stays() {
        for command in [
            "timeout 5 RUST_LOG=debug x",
            "timeout 5 A=b/c x",
            "nice A=b/c x",
            "stdbuf -oL A=b/c x",
            "time RUST_LOG=debug x",
            "time A=b/c x",
            "time -p A=b/c x",
            "env A=b/c x",
            "timeout 5 'A=b/c' x",
            "timeout 5 source x",
            "nice . x",
            "time cd x",
            "env export A=b",
            "timeout 5 \\eval x",
            "timeout 5 'exec' x",
            "timeout 5 [[ -f x ]]",
            "NO_COLOR=1 [[ -f x ]]",
            "NO_COLOR=1 if x",
            "env $X y",
            "timeout 5 >x y",
        ] {
            assert_eq!(forms(command), [command], "{command}");
        }
        assert_eq!(forms("env nice A=b/c x")[1..], ["nice A=b/c x"]);
        assert_eq!(forms("NO_COLOR=1 A=b/c x")[1..], ["A=b/c x"]);
        assert_eq!(forms("NO_COLOR=1 source x")[1..], ["source x"]);
        assert_eq!(forms("nice ./a=b x"), ["nice ./a=b x"]);
        assert_eq!(forms("nice ./a x=y")[1..], ["./a x=y"]);
    }

    #[test]
    fn few_wrappers_are_removed() {
        let line = format!("{}x", "nice ".repeat(20_000));
        assert_eq!(forms(&line).len(), MOST_IN_FRONT + 1);
    }
}
