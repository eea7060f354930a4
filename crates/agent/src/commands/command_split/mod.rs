//! Splits a command line, far enough to decide whether a rule covers all of it.
//!
//! `allow` rules are compared with this reading, the narrow one of two: it splits a line only with certainty,
//! and a line that cannot be split is covered only by an `allow` rule for the whole line. The wide reading,
//! for rules that deny or ask, is [`crate::commands::command_analysis`] (decision 021 in `issues/`).
//!
//! | line | commands | certain |
//! | --- | --- | --- |
//! | `git status && ls` | `git status`, `ls` | yes |
//! | `ls > /dev/null` | `ls > /dev/null` | yes: it writes nowhere |
//! | `ls < /dev/null` | `ls < /dev/null` | yes, from version 9 of the rules on: it reads nothing |
//! | `ls > out` | `ls > out` | no: it writes a file |
//! | `echo $(date)` | the pieces | no: something else runs |

mod input_readers;
mod looked_through;
mod saying;

use agentx_types::since;

use crate::pattern::literal;
pub use input_readers::only_reads_input;
pub(crate) use input_readers::{ReadWords, Reader, known_words};
pub(crate) use looked_through::{forms, in_front, is_only_redirections, without_redirections};
pub(crate) use saying::{goes_to, only_says, only_waits_or_asks};

/// Characters that separate words and that `trim` removes at the ends of a line. To a shell, other white
/// space is part of a word.
pub(crate) const BLANKS: &[char] = &[' ', '\t', '\n', '\r'];

/// A command line without blanks at its ends. From version 7 of the rules on a carriage return is not a
/// blank, because to a shell it belongs to a word.
pub(crate) fn trimmed(line: &str, version: u32) -> &str {
    match version {
        since::CARRIAGE_RETURNS_ARE_WORDS.. => line.trim_matches([' ', '\t', '\n']),
        _ => line.trim_matches(BLANKS),
    }
}

/// A command line, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// The single commands, in order, with one blank for each run of blanks.
    pub commands: Vec<String>,
    /// The commands, by their place, that read the output of the one before.
    pub fed: Vec<usize>,
    /// Whether nothing but these commands can run or write: no substitution, redirection into a file,
    /// grouping or unbalanced quote.
    pub certain: bool,
}

/// Splits a command line at `;`, `&`, `|`, line ends and the borders of substitutions, outside of quotes.
///
/// ```
/// use agentx_agent::command_split::take_apart;
/// let line = take_apart("git status && rm -rf 'a;b'");
/// assert_eq!(line.commands, ["git status", "rm -rf 'a;b'"]);
/// assert!(line.certain);
/// assert!(!take_apart("echo $(reboot)").certain);
/// assert_eq!(take_apart("a || b | c").fed, [2]);
/// ```
pub fn take_apart(line: &str) -> CommandLine {
    split_line(line, false)
}

/// Splits a command line as [`take_apart`] does. From version 9 of the rules on, a command whose input is
/// `/dev/null` and one with a `#` within a word are certain, too.
pub(crate) fn take_apart_as(line: &str, version: u32) -> CommandLine {
    split_line(line, version >= since::EVERYDAY_FORMS)
}

/// Splits a command line. `everyday`: whether `< /dev/null` and `a#b` are certain.
fn split_line(line: &str, everyday: bool) -> CommandLine {
    let mut taken = CommandParts::default();
    let mut quote: Option<char> = None;
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let mut width = c.len_utf8();
        match (quote, c) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (_, '\\') => width += rest[width..].chars().next().map_or(0, char::len_utf8),
            (_, '`') => taken.split(false),
            (_, '$') if rest[1..].starts_with(['(', '{', '[', '\'', '"']) => taken.split(false),
            (None, '(' | ')' | '{' | '}') => taken.split(false),
            (None, '>') if harmless_redirection(rest) > 0 => width = harmless_redirection(rest),
            (None, '<') if everyday && taken.is_at_input() && empty_redirection(rest) > 0 => {
                width = empty_redirection(rest);
            }
            // Within a word it begins no comment.
            (None, '#') if everyday && taken.is_within_word() => {}
            (None, '<' | '>' | '#' | '!') => taken.uncertain = true,
            (None, '|') => taken.split_at_pipe(rest),
            (None, ';' | '&' | '\n' | '\r') => taken.split(true),
            _ => {}
        }
        let (piece, after) = rest.split_at(width);
        taken.push(piece, quote.is_none());
        rest = after;
    }
    taken.split(quote.is_none());
    CommandLine {
        commands: taken.commands,
        fed: taken.fed,
        certain: !taken.uncertain,
    }
}

/// The state of the splitter. `command` is the current command.
#[derive(Default)]
struct CommandParts {
    commands: Vec<String>,
    command: String,
    fed: Vec<usize>,
    /// Whether the next command reads from a pipe.
    is_fed: bool,
    uncertain: bool,
    /// Whether the next character is the second half of `||`.
    at_pipe_of_two: bool,
    /// Whether the next piece is the border itself.
    at_border: bool,
}

impl CommandParts {
    /// Ends the current command. `certain` is false if something may run that is not in the pieces.
    fn split(&mut self, certain: bool) {
        self.uncertain |= !certain;
        self.at_border = true;
        let command = std::mem::take(&mut self.command);
        let command = command.trim_matches(BLANKS);
        if !command.is_empty() {
            if std::mem::take(&mut self.is_fed) {
                self.fed.push(self.commands.len());
            }
            self.commands.push(command.to_owned());
        }
    }

    /// Ends the command at the `|` that `rest` begins with, which may be the first or second half of `||`:
    /// only a single `|` feeds the next command.
    fn split_at_pipe(&mut self, rest: &str) {
        let is_second = self.at_pipe_of_two;
        self.split(true);
        self.at_pipe_of_two = !is_second && rest.starts_with("||");
        self.is_fed = !is_second && !self.at_pipe_of_two;
    }

    /// Returns whether the next character continues a word that begins with a plain one.
    fn is_within_word(&self) -> bool {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-=./:".contains(c);
        !self.at_border && self.command.ends_with(is_plain)
    }

    /// Returns whether a `<` here is about the input: in `1</dev/null` it would make the output fail.
    fn is_at_input(&self) -> bool {
        let word = self.command.rsplit(' ').next().unwrap_or_default();
        let is_descriptor = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        word == "0" || !is_descriptor
    }

    /// Adds a piece to the current command: blanks outside of quotes become one, without the border itself.
    fn push(&mut self, piece: &str, unquoted: bool) {
        if std::mem::take(&mut self.at_border) {
            return;
        }
        if !(unquoted && matches!(piece, " " | "\t")) {
            self.command.push_str(piece);
        } else if !self.command.ends_with(' ') {
            self.command.push(' ');
        }
    }
}

/// The length of a redirection that writes nowhere, to another descriptor or to `/dev/null`; 0 if it may
/// write a file.
fn harmless_redirection(rest: &str) -> usize {
    let arrows = rest.bytes().take(3).take_while(|byte| *byte == b'>').count();
    let target = &rest[arrows..];
    let descriptor = target
        .strip_prefix('&')
        .and_then(|t| t.strip_prefix(|c: char| c.is_ascii_digit()));
    let after = match descriptor {
        Some(after) if arrows == 1 => after,
        _ => match target.trim_start_matches([' ', '\t']).strip_prefix("/dev/null") {
            Some(after) if arrows <= 2 => after,
            _ => return 0,
        },
    };
    width_until(rest, after)
}

/// The length of a redirection that gives a command no input; 0 if it may give it some.
fn empty_redirection(rest: &str) -> usize {
    let target = rest[1..].trim_start_matches([' ', '\t']);
    target
        .strip_prefix("/dev/null")
        .map_or(0, |after| width_until(rest, after))
}

/// The length of `rest` before `after`; 0 if the word continues there.
fn width_until(rest: &str, after: &str) -> usize {
    let ends = after.is_empty() || after.starts_with([' ', '\t', '\n', '\r', ';', '&', '|']);
    if ends { rest.len() - after.len() } else { 0 }
}

/// Programs after which the rule that "always" keeps would be too wide.
const NEVER_WIDENED: &[&str] = &[
    "rm", "mv", "cp", "ln", "tee", "sed", "tar", "rsync", "scp", "dd", "mkfs", "chmod", "chown", "sudo",
    "su", "doas", "kill", "killall", "shutdown", "reboot", "eval", "exec", "command", "builtin", "source",
    ".", "sh", "bash", "dash", "zsh", "ksh", "fish", "busybox", "env", "xargs", "parallel", "watch",
    "python", "python3", "node", "deno", "bun", "npx", "perl", "ruby", "php", "lua", "ssh", "curl", "wget",
    "find", "awk", "nohup", "timeout", "time", "nice", "ionice", "setsid", "stdbuf", "chroot", "strace",
    "flock", "trap", "alias", "fd", "install", "truncate", "shred", "unlink", "pwsh", "bunx", "uvx", "pipx",
];

/// Subcommands after which a rule for similar commands would be too wide, because their effects are hard to
/// undo.
const NEVER_WIDENED_SUB: &[&str] = &[
    "push", "reset", "clean", "rm", "rebase", "restore", "checkout", "publish", "delete", "exec", "apply",
];

/// Programs whose second word is a subcommand.
const WITH_SUBCOMMAND: &[&str] = &[
    "git",
    "cargo",
    "npm",
    "pnpm",
    "yarn",
    "go",
    "docker",
    "kubectl",
    "pip",
    "apt",
    "apt-get",
    "systemctl",
    "make",
    "just",
    "gh",
];

/// The pattern for this and similar commands: the program, or program and subcommand, with any arguments; the
/// command itself if that would be too wide.
///
/// ```
/// use agentx_agent::command_split::similar_commands;
/// assert_eq!(similar_commands("uname -a"), "uname *");
/// assert_eq!(similar_commands("git status -s"), "git status *");
/// assert_eq!(similar_commands("rm -r build"), "rm -r build");
/// ```
pub fn similar_commands(line: &str) -> String {
    let apart = take_apart(line);
    let single = apart.certain && apart.commands.len() == 1;
    let mut words = line.split_whitespace();
    let Some(program) = words.next().filter(|word| single && is_plain(word)) else {
        return literal(line);
    };
    if NEVER_WIDENED.contains(&basename(program)) {
        return literal(line);
    }
    if !WITH_SUBCOMMAND.contains(&basename(program)) {
        return format!("{program} *");
    }
    match words
        .next()
        .filter(|word| is_plain(word) && !word.starts_with('-'))
    {
        Some(subcommand) if !NEVER_WIDENED_SUB.contains(&subcommand) => format!("{program} {subcommand} *"),
        _ => literal(line),
    }
}

/// The program without its directory.
fn basename(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Returns whether a word has nothing in it that a shell or a pattern reads as more than letters.
fn is_plain(word: &str) -> bool {
    word.chars()
        .all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_split_outside_of_quotes() {
        let cases: [(&str, &[&str], bool); 21] = [
            ("ls", &["ls"], true),
            ("a; b", &["a", "b"], true),
            ("a && b || c | d & e", &["a", "b", "c", "d", "e"], true),
            ("a\nb\r\nc", &["a", "b", "c"], true),
            ("echo 'a; b'", &["echo 'a; b'"], true),
            ("echo \"a | b\"", &["echo \"a | b\""], true),
            ("echo \"$(reboot)\"", &["echo \"", "(reboot)\""], false),
            ("echo `reboot`", &["echo", "reboot"], false),
            ("echo ${x}", &["echo", "x"], false),
            ("echo $[1]", &["echo", "[1]"], false),
            ("cat > /etc/passwd", &["cat > /etc/passwd"], false),
            ("echo 'open", &["echo 'open"], false),
            ("a \\; b", &["a \\; b"], true),
            ("rm \t  -rf\t'a  b'", &["rm -rf 'a  b'"], true),
            ("make 2>&1 | tail -5", &["make 2>&1", "tail -5"], true),
            (
                "make >/dev/null 2> /dev/null; ls",
                &["make >/dev/null 2> /dev/null", "ls"],
                true,
            ),
            ("make >&2x", &["make >", "2x"], false),
            ("make > /dev/nullx", &["make > /dev/nullx"], false),
            ("a # b", &["a # b"], false),
            ("trailing \\", &["trailing \\"], true),
            ("", &[], true),
        ];
        for (line, commands, certain) in cases {
            let apart = take_apart(line);
            assert_eq!(apart.commands, commands, "{line:?}");
            assert_eq!(apart.certain, certain, "{line:?}");
        }
    }

    #[test]
    fn a_line_that_reads_nothing_is_certain_from_version_nine_on() {
        for line in [
            "a < /dev/null",
            "a 2>&1 </dev/null | b",
            "a </dev/null; b",
            "a 0</dev/null",
        ] {
            assert!(take_apart_as(line, since::EVERYDAY_FORMS).certain, "{line}");
            assert!(
                !take_apart_as(line, 8).certain && !take_apart(line).certain,
                "{line}"
            );
        }
        for line in [
            "a < x",
            "a </dev/nullx",
            "a </dev/null/x",
            "a << /dev/null",
            "a <>/dev/null",
            "a <(b)",
            "a 1</dev/null",
            "a 2< /dev/null",
            "1</dev/null a",
        ] {
            assert!(!take_apart_as(line, since::EVERYDAY_FORMS).certain, "{line}");
        }
        assert_eq!(take_apart_as("a </dev/null | b", since::EVERYDAY_FORMS).fed, [1]);
    }

    #[test]
    fn a_number_sign_within_a_word_is_certain_from_version_nine_on() {
        for line in ["mvn -Dtest=A#b test", "cargo test a#", "x a-#b"] {
            assert!(take_apart_as(line, since::EVERYDAY_FORMS).certain, "{line}");
            assert!(
                !take_apart_as(line, 8).certain && !take_apart(line).certain,
                "{line}"
            );
        }
        for line in ["a #b", "#a", "a;#b", "a\\ #b", "a |#b", "a 'b'#c", "a &#b"] {
            assert!(!take_apart_as(line, since::EVERYDAY_FORMS).certain, "{line}");
        }
    }

    #[test]
    fn like_is_never_wider_than_one_command() {
        let same = [
            "ls; rm -rf /",
            "ls > x",
            "FOO=1 ls",
            "git -C / push",
            "git push origin main",
            "/bin/rm -r x",
            "echo $(reboot)",
        ];
        for line in same {
            assert_eq!(similar_commands(line), line);
        }
        assert_eq!(similar_commands("rm build/*"), r"rm build/\*");
        assert_eq!(similar_commands("cargo test 2>&1"), "cargo test *");
    }

    #[test]
    fn long_lines_are_taken_apart_in_time() {
        for part in ["sudo bash -c 'x' $(y) ", "a;", "\\"] {
            assert!(!take_apart(&part.repeat(200_000 / part.len())).commands.is_empty());
        }
    }
}
