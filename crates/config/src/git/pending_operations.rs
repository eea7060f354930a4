//! Operations of Git that are in progress in a repository. `git rebase --continue` runs the `exec` lines of a
//! file in `.git`, and a folder from elsewhere may contain such a file: the files and the steps are those of
//! `sequencer.c`, `builtin/am.c` and `builtin/bisect.c` in Git.

use std::path::Path;

use super::repository_files::{MAX_BYTES, plain, readable};
use super::{commands, scripts};
use crate::digest::digest;

/// Files with the steps that are left.
const STEPS: &[&str] = &["rebase-merge/git-rebase-todo", "sequencer/todo"];

/// The maximum number of `exec` lines that are shown of a file, and of characters of a line. A hash replaces
/// the rest.
const MAX_LINES: usize = 50;
const MAX_CHARS: usize = 200;

/// Returns the commands that the operations in progress in the working tree `top` would run: names, and the
/// commands. An operation without such commands runs nothing that a folder could bring, so a user's own
/// rebase or merge causes no question.
pub(super) fn of(top: &Path, git: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for file in STEPS {
        match readable(&git.join(file), MAX_BYTES) {
            Ok(steps) => found.extend(commands_of(top, file, &steps.unwrap_or_default())),
            Err(why) => found.push((format!("{file} that cannot be read"), format!(": {why}"))),
        }
    }
    found
}

/// The commands that the steps run.
fn commands_of(top: &Path, file: &str, steps: &[u8]) -> Vec<(String, String)> {
    let name = format!("exec in {file}");
    let mut lines = steps.split(|byte| *byte == b'\n').filter_map(command);
    let (mut found, mut any) = (Vec::new(), None::<String>);
    for command in lines.by_ref().take(MAX_LINES) {
        let text = String::from_utf8_lossy(command);
        let mut line = format!(" = {}", shown(command));
        if commands::may_line(&text) {
            line.push_str(any.get_or_insert_with(|| scripts::any_file_of(top)));
        }
        found.push((name.clone(), line));
        let scripts = scripts::named_in(top, &text).into_iter();
        found.extend(
            scripts.map(|(script, hash)| (format!("{name} runs {}", plain(&script)), format!(" {hash}"))),
        );
    }
    if lines.next().is_some() {
        let name = format!("more exec lines in {file} than are shown");
        found.push((name, format!(" {}", digest(steps))));
    }
    found
}

/// The command of a step that runs one: `exec make`, `x make`.
fn command(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii();
    let rest = line.strip_prefix(b"exec").or_else(|| line.strip_prefix(b"x"))?;
    rest.first()?.is_ascii_whitespace().then(|| rest.trim_ascii())
}

/// Returns a command on one line, with a hash if it is shortened.
fn shown(command: &[u8]) -> String {
    let text = plain(&String::from_utf8_lossy(command));
    let cut: String = text.chars().take(MAX_CHARS).collect();
    if cut.as_bytes() == command {
        cut
    } else {
        format!("{cut} ({})", digest(command))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{GitPrograms, UNREADABLE};
    use super::*;

    fn write(path: &Path, text: impl AsRef<[u8]>) {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
        std::fs::write(path, text).expect("it is written");
    }

    fn repository() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let git = folder.path().join(".git");
        write(&git.join("HEAD"), "ref: refs/heads/main\n");
        for part in ["objects", "refs"] {
            std::fs::create_dir(git.join(part)).expect("it is made");
        }
        folder
    }

    #[test]
    fn an_operation_that_runs_no_commands_is_not_named() {
        for (file, text) in [
            ("rebase-merge/git-rebase-todo", "pick 1 x\n# exec c\nexecute\n"),
            ("rebase-apply/next", "1"),
            ("MERGE_HEAD", "1"),
        ] {
            let folder = repository();
            write(&folder.path().join(".git").join(file), text);
            assert!(GitPrograms::of(folder.path()).is_empty(), "{file}");
        }
    }

    #[test]
    fn commands_of_a_rebase_are_shown_and_another_one_is_another_text() {
        let folder = repository();
        let steps = folder.path().join(".git/rebase-merge/git-rebase-todo");
        write(
            &steps,
            "pick 1 x\n  exec touch a\nx\tsh b.sh\r\nexecute\n# exec c\nexec \x1b[2Jd\n",
        );
        write(&folder.path().join("b.sh"), "cat\n");
        let text = GitPrograms::of(folder.path()).text();
        let file = "rebase-merge/git-rebase-todo";
        for line in ["touch a (may run any", "sh b.sh (may run any", "?[2Jd ("] {
            assert!(text.contains(&format!("exec in {file} = {line}")), "{text}");
        }
        assert!(!text.contains("= c") && !text.contains('\x1b'), "{text}");
        assert_eq!(text.lines().count(), 4, "{text}");
        write(&folder.path().join("b.sh"), "curl thief.example\n");
        assert_ne!(GitPrograms::of(folder.path()).text(), text);
    }

    #[test]
    fn what_is_cut_off_of_the_steps_counts() {
        let folder = repository();
        let steps = folder.path().join(".git/rebase-merge/git-rebase-todo");
        let text = |last: &str| {
            write(
                &steps,
                format!("{}exec {}{last}\n", "exec a\n".repeat(60), "b".repeat(300)),
            );
            GitPrograms::of(folder.path()).text()
        };
        assert_ne!(text("c"), text("d"));
        write(&steps, format!("exec {}c\n", "b".repeat(300)));
        let one = GitPrograms::of(folder.path()).text();
        write(&steps, format!("exec {}d\n", "b".repeat(300)));
        assert_ne!(GitPrograms::of(folder.path()).text(), one);
        assert!(one.len() < 500, "{one}");
        std::fs::remove_file(&steps).expect("it is removed");
        std::fs::create_dir(&steps).expect("it is made");
        let names = GitPrograms::of(folder.path()).names();
        assert!(
            names.iter().any(|name| name.ends_with("cannot be read")),
            "{names:?}"
        );
        assert!(!names.iter().any(|name| name == UNREADABLE));
    }
}
