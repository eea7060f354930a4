//! Command lines that need no shell. bash would `exec` a line of plain words that names a program, after a
//! millisecond of startup; it is started directly, with the same words, environment and outcome. Lines with
//! shell syntax go to the shell; builtins that every shell has go to `sh`, which starts faster.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Builtins of every shell that do the same everywhere with plain words that are not options.
const EVERY_SHELL: &[&str] = &["echo", "false", "pwd", "true"];

/// Words that only bash understands, or understands in its own way: it does not look them up as programs.
const BASH_WORDS: &[&str] = &[
    ".",
    ":",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "case",
    "cd",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "coproc",
    "declare",
    "dirs",
    "disown",
    "do",
    "done",
    "elif",
    "else",
    "enable",
    "esac",
    "eval",
    "exec",
    "exit",
    "export",
    "fc",
    "fg",
    "fi",
    "for",
    "function",
    "getopts",
    "hash",
    "help",
    "history",
    "if",
    "in",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "read",
    "readarray",
    "readonly",
    "return",
    "select",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "then",
    "time",
    "times",
    "trap",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "until",
    "wait",
    "while",
];

/// A program and its words.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DirectCommand<'a> {
    pub(super) program: PathBuf,
    pub(super) words: Vec<&'a str>,
}

/// Returns the program and arguments of a line that needs no shell; `None` if a shell might understand it
/// differently.
pub(super) fn direct<'a>(line: &'a str, workspace: &Path, path: &str) -> Option<DirectCommand<'a>> {
    let words: Vec<&str> = line.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
    let (name, arguments) = words.split_first()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,@+%".contains(c);
    let fits = name.chars().all(plain)
        && arguments
            .iter()
            .all(|word| word.chars().all(|c| plain(c) || c == '='))
        && !BASH_WORDS.contains(name);
    if !fits {
        return None;
    }
    if EVERY_SHELL.contains(name) {
        let options = arguments.iter().any(|word| word.starts_with('-'));
        let sh = find("sh", workspace, path).filter(|_| !options)?;
        let words = vec!["sh", "-c", line];
        return Some(DirectCommand { program: sh, words });
    }
    let program = find(name, workspace, path)?;
    Some(DirectCommand { program, words })
}

/// Returns the file that bash would run for this name.
fn find(name: &str, workspace: &Path, path: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(workspace.join(name)).filter(|file| is_program(file));
    }
    // A directory that is relative, or empty, means the working directory to a shell: let it find the
    // program.
    let directories: Vec<&Path> = path.split(':').map(Path::new).collect();
    if !directories.iter().all(|directory| directory.is_absolute()) {
        return None;
    }
    directories
        .into_iter()
        .map(|directory| directory.join(name))
        .find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Option<Vec<&str>> {
        direct(line, Path::new("/"), "/usr/bin:/bin").map(|direct| direct.words)
    }

    #[test]
    fn plain_words_need_no_shell() {
        assert_eq!(words("  ls -la  /tmp "), Some(vec!["ls", "-la", "/tmp"]));
        assert_eq!(words("env A=1"), Some(vec!["env", "A=1"]));
    }

    #[test]
    fn what_every_shell_does_goes_to_the_one_that_starts_sooner() {
        assert_eq!(words("echo hi"), Some(vec!["sh", "-c", "echo hi"]));
        assert_eq!(words(" pwd"), Some(vec!["sh", "-c", " pwd"]));
        assert_eq!(words("true"), Some(vec!["sh", "-c", "true"]));
        assert_eq!(words("pwd -P"), None);
    }

    #[test]
    fn whatever_a_shell_understands_goes_to_the_shell() {
        let lines = [
            "",
            "echo -n hi",
            "cd /tmp",
            "echo $HOME",
            "echo *",
            "ls ~",
            "A=1 ls",
            "ls; ls",
            "ls | wc",
            "ls > x",
            "ls &",
            "echo 'a b'",
            "echo \"a\"",
            "echo a\\b",
            "echo `ls`",
            "{ ls; }",
            "ls # x",
            "! ls",
            "ls\nls",
            "no-such-program x",
            "echo 你好",
            "if",
            "time ls",
            "[ 1 ]",
            "echo {a,b}",
            "echo a^b",
            "ls ?",
        ];
        for line in lines {
            assert_eq!(words(line), None, "{line:?}");
        }
    }

    /// bash itself says what it does not look up as a program.
    #[test]
    fn no_word_of_bash_is_taken_for_a_program() {
        let home = tempfile::tempdir().unwrap();
        let path = format!("{}:/usr/bin:/bin", home.path().display());
        let told = std::process::Command::new("bash")
            .args(["--norc", "-c", "compgen -b -k"])
            .output()
            .unwrap();
        let told = String::from_utf8(told.stdout).unwrap();
        assert!(told.lines().count() > 60, "{told}");
        for word in told.lines().filter(|word| *word != ".") {
            let program = home.path().join(word);
            std::fs::write(&program, "").unwrap();
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        for word in told.lines().filter(|word| !EVERY_SHELL.contains(word)) {
            assert_eq!(direct(word, Path::new("/"), &path), None, "{word}");
            assert_eq!(
                direct(&format!("{word} a"), Path::new("/"), &path),
                None,
                "{word}"
            );
        }
    }

    #[test]
    fn a_relative_directory_in_the_path_goes_to_the_shell() {
        assert_eq!(direct("ls", Path::new("/"), "/bin:."), None);
        assert_eq!(direct("ls", Path::new("/"), "/bin::/usr/bin"), None);
    }
}
