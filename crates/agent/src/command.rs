//! Taking a command line apart, far enough to say whether a rule covers all of it. What cannot be taken apart with
//! certainty is covered by no `allow` rule but one that names it whole.

/// A command line, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// The single commands, trimmed, in order.
    pub commands: Vec<String>,
    /// Whether nothing else can run than these: no substitution, redirection, grouping or unbalanced quote.
    pub certain: bool,
}

/// Takes a command line apart at `;`, `&`, `|`, line ends and the borders of substitutions, outside of quotes.
///
/// ```
/// use agentx_agent::command::take_apart;
/// let line = take_apart("git status && rm -rf 'a;b'");
/// assert_eq!(line.commands, ["git status", "rm -rf 'a;b'"]);
/// assert!(line.certain);
/// assert!(!take_apart("echo $(reboot)").certain);
/// ```
pub fn take_apart(line: &str) -> CommandLine {
    let mut commands = vec![String::new()];
    let mut certain = true;
    let mut quote: Option<char> = None;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let mut split = false;
        match (quote, c) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (_, '\\') => {
                push(&mut commands, c);
                if let Some(next) = chars.next() {
                    push(&mut commands, next);
                }
                continue;
            }
            (_, '`') => (certain, split) = (false, true),
            (_, '$') if matches!(chars.peek(), Some('(' | '{' | '\'' | '"')) => {
                (certain, split) = (false, true)
            }
            (None, '(' | ')' | '{' | '}' | '<' | '>' | '#' | '!') => {
                (certain, split) = (false, "(){}".contains(c))
            }
            (None, ';' | '&' | '|' | '\n' | '\r') => split = true,
            _ => {}
        }
        if split {
            commands.push(String::new());
        } else {
            push(&mut commands, c);
        }
    }
    let commands = commands
        .iter()
        .map(|c| c.trim().to_owned())
        .filter(|c| !c.is_empty())
        .collect();
    CommandLine {
        commands,
        certain: certain && quote.is_none(),
    }
}

fn push(commands: &mut [String], c: char) {
    if let Some(last) = commands.last_mut() {
        last.push(c);
    }
}

/// Programs after which a rule for "the like" would be too wide.
const NEVER_WIDENED: &[&str] = &[
    "rm", "sudo", "su", "doas", "dd", "mkfs", "chmod", "chown", "kill", "killall", "shutdown", "reboot",
    "eval", "exec", "sh", "bash", "zsh", "env", "xargs", "python", "python3", "node", "perl", "ruby", "ssh",
    "curl", "wget", "find", "awk", "nohup", "timeout", "time",
];

/// Programs whose second word says what they do.
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

/// The pattern for "this command and the like": the program, or program and subcommand, and any arguments; the command
/// itself where that would be too wide.
///
/// ```
/// use agentx_agent::command::like;
/// assert_eq!(like("uname -a"), "uname *");
/// assert_eq!(like("git status -s"), "git status *");
/// assert_eq!(like("rm -r build"), "rm -r build");
/// ```
pub fn like(line: &str) -> String {
    let apart = take_apart(line);
    let single = apart.certain && apart.commands.len() == 1;
    let mut words = line.split_whitespace();
    let Some(program) = words.next().filter(|word| single && is_plain(word)) else {
        return line.to_owned();
    };
    if NEVER_WIDENED.contains(&program) {
        return line.to_owned();
    }
    if !WITH_SUBCOMMAND.contains(&program) {
        return format!("{program} *");
    }
    match words
        .next()
        .filter(|word| is_plain(word) && !word.starts_with('-'))
    {
        Some(subcommand) => format!("{program} {subcommand} *"),
        None => line.to_owned(),
    }
}

fn is_plain(word: &str) -> bool {
    word.chars()
        .all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_split_outside_of_quotes() {
        let cases: [(&str, &[&str], bool); 12] = [
            ("ls", &["ls"], true),
            ("a; b", &["a", "b"], true),
            ("a && b || c | d & e", &["a", "b", "c", "d", "e"], true),
            ("a\nb", &["a", "b"], true),
            ("echo 'a; b'", &["echo 'a; b'"], true),
            ("echo \"a | b\"", &["echo \"a | b\""], true),
            ("echo \"$(reboot)\"", &["echo \"", "reboot", "\""], false),
            ("echo `reboot`", &["echo", "reboot"], false),
            ("cat > /etc/passwd", &["cat > /etc/passwd"], false),
            ("echo 'open", &["echo 'open"], false),
            ("a \\; b", &["a \\; b"], true),
            ("", &[], true),
        ];
        for (line, _, certain) in cases {
            assert_eq!(take_apart(line).certain, certain, "{line:?}");
        }
        for (line, commands, _) in cases.iter().filter(|(line, ..)| !line.contains("\"$(")) {
            assert_eq!(take_apart(line).commands, *commands, "{line:?}");
        }
        assert!(
            take_apart("echo \"$(reboot)\"")
                .commands
                .iter()
                .any(|c| c.contains("reboot"))
        );
    }

    #[test]
    fn like_is_never_wider_than_one_command() {
        assert_eq!(like("ls; rm -rf /"), "ls; rm -rf /");
        assert_eq!(like("ls > x"), "ls > x");
        assert_eq!(like("FOO=1 ls"), "FOO=1 ls");
        assert_eq!(like("git -C / push"), "git -C / push");
    }
}
