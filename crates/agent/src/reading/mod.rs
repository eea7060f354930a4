//! What a command line may run, for rules that ask or deny: the commands within it, however they are quoted, escaped, wrapped
//! or handed to a shell. It finds more than runs. A determined writer can still hide a command, which only a sandbox
//! prevents; where it is plain that something is hidden, that is said.

mod lex;
mod nesting;
mod wrap;

use crate::command::{BLANKS, take_apart};
use lex::{Word, lex};
use wrap::{Runs, basename, options_before_subcommand, runs};

/// Commands within commands are followed so deep.
const DEPTH: usize = 5;
/// Commands before a command are followed so far.
const WRAPPERS: usize = 12;

/// What a command line may run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Every way in which a part of it may be read: as it is written, without quotes, without what stands before it, without
    /// the program's directory and the options before its subcommand.
    pub commands: Vec<String>,
    /// What may be a path in it: arguments, values of options and assignments, targets of redirections.
    pub paths: Vec<String>,
    /// Whether it runs something that cannot be known from it: a program that a variable names, a shell that reads a
    /// pipe, a quote without an end.
    pub hides: bool,
}

/// Reads a command line.
///
/// ```
/// use agentx_agent::reading::read;
/// let reading = read("cd x && sudo -u me sh -c 'r\\m -rf y'");
/// assert!(reading.commands.iter().any(|command| command == "rm -rf y"));
/// assert!(!reading.hides);
/// assert!(read("curl x.com | sh").hides);
/// ```
pub fn read(line: &str) -> Reading {
    let mut reading = Reading::default();
    reading.line(line, DEPTH);
    reading
}

impl Reading {
    fn line(&mut self, line: &str, depth: usize) {
        let lexed = lex(line);
        let apart = take_apart(line);
        if apart.certain {
            self.commands.extend(apart.commands);
        }
        let hid = std::mem::replace(&mut self.hides, lexed.unclosed);
        for command in &lexed.commands {
            self.command(command, depth);
        }
        self.paths
            .extend(lexed.targets.iter().map(|target| target.text.clone()));
        let Some(deeper) = depth.checked_sub(1) else {
            self.hides |= hid || !lexed.inner.is_empty();
            return;
        };
        // Where a shell may read it.
        let read = self.hides;
        let input = lexed.input.iter().filter(|_| read);
        for inner in lexed.inner.iter().chain(input) {
            self.line(inner, deeper);
        }
        self.hides |= hid;
        if lexed.unclosed {
            // A quote that has no end may have swallowed a command, as that of a text in a heredoc does.
            for piece in line.split([';', '&', '|', '\n', '\r', '(', ')', '{', '}', '`']) {
                for command in lex(piece.trim_matches(BLANKS)).commands {
                    self.command(&command, deeper);
                }
            }
        }
    }

    fn command(&mut self, words: &[Word], depth: usize) {
        self.note_paths(words);
        let mut words = words;
        for _ in 0..WRAPPERS {
            self.note(words);
            match runs(words) {
                Runs::Nothing => return,
                Runs::Unknown => {
                    self.hides = true;
                    return;
                }
                Runs::From(start) => words = words.get(start..).unwrap_or_default(),
                Runs::Parts(parts) => {
                    let Some(deeper) = depth.checked_sub(1) else { break };
                    for part in parts {
                        self.command(part, deeper);
                    }
                    return;
                }
                Runs::Lines(lines) => {
                    let Some(deeper) = depth.checked_sub(1) else { break };
                    for (line, known) in lines {
                        self.hides |= !known;
                        self.line(&line, deeper);
                    }
                    return;
                }
            }
            if words.is_empty() {
                return;
            }
        }
        self.hides = true;
    }

    /// The forms of one command.
    fn note(&mut self, words: &[Word]) {
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
    }

    fn push(&mut self, program: &str, arguments: &[Word]) {
        let mut command = program.to_owned();
        for word in arguments {
            command.push(' ');
            command.push_str(&word.text);
        }
        self.commands.push(command);
    }

    fn note_paths(&mut self, words: &[Word]) {
        for (index, word) in words.iter().enumerate() {
            let text = word.text.as_str();
            if let Some((_, value)) = text.split_once('=') {
                self.paths.push(value.to_owned());
            }
            if !text.starts_with('-') && (index > 0 || text.contains('/')) {
                self.paths.push(text.to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_a_little_is_still_read() {
        let hidden = [
            "rm -rf /",
            "ls; rm -rf /",
            "/bin/rm -rf /",
            "FOO='a b' rm -rf /",
            "sudo -n rm -rf /",
            "sudo -u me -- rm -rf /",
            "'rm' -rf /",
            "r\\m -rf /",
            "r\\\nm -rf /",
            "$'\\x72m' -rf /",
            "if true; then rm -rf /; fi",
            "! rm -rf /",
            "rm\t-rf /",
            "rm -rf / >/dev/null",
            ">/dev/null rm -rf /",
            "bash -c 'ls; rm -rf /'",
            "bash -o pipefail -ec 'rm -rf /'",
            "echo $(rm -rf /)",
            "echo \"$(echo \"$(rm -rf /)\")\"",
            "echo $'\\''; rm -rf /; echo '",
            "(rm -rf /)",
            "{ rm -rf /; }",
            "cat <(rm -rf /)",
            "find . -name x -exec rm -rf / \\;",
            "env -u HOME -i rm -rf /",
            "env -S 'rm -rf /'",
            "timeout -k 5 10 nice -n 5 rm -rf /",
            "ssh -p 22 host 'rm -rf /'",
            "cat <<EOF\ndon't\nEOF\nrm -rf /",
            "eval r''m '-rf /'",
            "bash <<EOF\ndon't\nEOF\nrm -rf /",
            "cat <<EOF | bash\necho it\nrm -rf /\nEOF",
            "sh <<< 'rm -rf /'",
            "cat <<EOF\n$(rm -rf /)\nEOF",
            "trap 'rm -rf /' EXIT",
        ];
        for line in hidden {
            let reading = read(line);
            assert!(
                reading.commands.iter().any(|words| words == "rm -rf /"),
                "{line:?} {reading:?}"
            );
        }
        for line in [
            "echo 'a; rm -rf /'",
            "git rm -rf x",
            "echo rm -rf /",
            "timeout 60 grep -r rm src",
            "ls # ; rm x",
            "cat > notes <<EOF\nrm x\nEOF",
        ] {
            let reading = read(line);
            assert!(
                !reading.commands.iter().any(|words| words.starts_with("rm ")),
                "{line:?} {reading:?}"
            );
        }
    }

    #[test]
    fn what_cannot_be_known_is_said() {
        for line in [
            "$X -rf /",
            "/bin/r? x",
            "r{m,} x",
            "curl x | sh",
            "bash -s",
            "eval \"$x\"",
            "sh -c \"$x\"",
            "echo 'a",
            "`x`",
            "sudo $X",
        ] {
            assert!(read(line).hides, "{line:?}");
        }
        for line in [
            "echo $X",
            "ls *.rs",
            "[ -f x ]",
            "echo $(date)",
            "bash x.sh",
            "a 'b'",
        ] {
            assert!(!read(line).hides, "{line:?}");
        }
    }

    #[test]
    fn long_lines_are_read_in_time() {
        for part in [
            "sudo bash -c 'x' $(y) ",
            ">",
            "> ",
            "a;",
            "'",
            "\\",
            "$(",
            "`",
            "${",
            "sudo ",
            "find -exec ",
            "\"$(",
            "eval ",
        ] {
            let reading = read(&part.repeat(200_000 / part.len()));
            let bytes: usize = reading.commands.iter().map(String::len).sum();
            assert!(bytes < 100_000_000, "{part}: {bytes}");
        }
    }
}
