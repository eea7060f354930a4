//! Facts about the place and time of an agent's work. They are recorded with the instructions of a session,
//! so that the model need not find them out.
//!
//! Nothing here runs a program: Git would run what the repository's settings name. Environment variables and
//! remotes are left out, because they may hold secrets.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use agentx_types::Instructions;
use jiff::Zoned;

use crate::folders::folder::FolderTrust;
use crate::git::{self, GitHead, WorkingTreeState};
use crate::settings::Settings;

/// The longest path, branch or name of a system, in bytes.
const MAX_BYTES: usize = 240;

impl Settings {
    /// Returns the facts about an agent that works in `workspace` from now on; `None` if the person turned
    /// them off.
    ///
    /// The state of Git is included only if the folder may instruct the model, because the name of a branch
    /// is the folder's text.
    pub fn environment_context(&self, workspace: &Path) -> Option<Instructions> {
        if !self.environment_context {
            return None;
        }
        let may_instruct = matches!(self.folder.trust, FolderTrust::Trusted | FolderTrust::ReadOnly);
        let state = (may_instruct && workspace.starts_with(&self.workspace_root))
            .then(|| git::working_tree_state(workspace));
        let now = Zoned::now();
        let zone = now.time_zone().iana_name().unwrap_or("local time");
        let date = format!("{} ({zone})", now.date());
        Some(Instructions::environment_context(written(
            workspace, state, &date,
        )))
    }

    /// Replaces the facts among `instructions`, if there are any, with those about an agent that works in
    /// `workspace`.
    pub fn renew_environment_context(&self, instructions: &mut Vec<Instructions>, workspace: &Path) {
        let before = instructions.len();
        instructions.retain(|file| !file.is_environment_context());
        if instructions.len() < before {
            instructions.extend(self.environment_context(workspace));
        }
    }
}

/// Returns whether a session that recorded `before` should record `now`: a line of it has changed, such as
/// the day or the branch.
pub fn environment_has_moved(before: &Instructions, now: &Instructions) -> bool {
    !before.text.lines().eq(now.text.lines())
}

fn written(workspace: &Path, state: Option<Option<WorkingTreeState>>, date: &str) -> String {
    let git = match state {
        None => None,
        Some(None) => Some("not a repository".to_owned()),
        Some(Some(state)) => in_words(&state),
    };
    let git = git.map_or_else(String::new, |words| format!("- Git: {words}\n"));
    format!(
        "Environment when this session began or was last continued:\n- Working directory: {}\n{git}- Date: {date}\n- System: {}\n- Shell: {}",
        short(&workspace.to_string_lossy()),
        short(&system()),
        shell(),
    )
}

/// Describes the state of a repository; `None` if nothing is known about it.
fn in_words(state: &WorkingTreeState) -> Option<String> {
    let head = match &state.head {
        Some(GitHead::Branch(branch)) => Some(format!("branch {}", short(branch))),
        Some(GitHead::Detached) => Some("no branch is checked out".to_owned()),
        None => None,
    };
    let operation = state
        .operation
        .map(|operation| format!("{operation} is in progress"));
    match (head, operation) {
        (Some(head), Some(operation)) => Some(format!("{head}, {operation}")),
        (head, operation) => head.or(operation),
    }
}

/// Returns the operating system, by the name of the distribution if there is one.
fn system() -> String {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    let (os, architecture) = (std::env::consts::OS, std::env::consts::ARCH);
    match name.map(|name| name.trim_matches('"')) {
        Some(name) if !name.is_empty() => format!("{os} {architecture} ({name})"),
        _ => format!("{os} {architecture}"),
    }
}

/// The name of the shell that runs the agent's commands, found in the places in which the tool `bash` looks
/// for it.
fn shell() -> &'static str {
    shell_on(&std::env::var_os("PATH").unwrap_or_default())
}

/// bash if it is in a directory of `path` or in one in which systems keep it, otherwise sh. A relative
/// directory does not count.
fn shell_on(path: &OsStr) -> &'static str {
    let usual = ["/bin", "/usr/bin"].map(PathBuf::from);
    let mut files = std::env::split_paths(path)
        .chain(usual)
        .map(|directory| directory.join("bash"));
    if files.any(|file| file.is_absolute() && file.is_file()) {
        "bash"
    } else {
        "sh"
    }
}

/// Returns a name on one line, cut if it is too long.
fn short(name: &str) -> String {
    let short = &name[..name.floor_char_boundary(MAX_BYTES)];
    let end = if short.len() < name.len() { "…" } else { "" };
    format!("{short}{end}").replace(|sign: char| sign.is_control(), "?")
}

#[cfg(test)]
mod tests {
    use agentx_agent::estimate_text;

    use super::*;

    fn told(branch: &str, date: &str) -> Instructions {
        let state = WorkingTreeState {
            head: Some(GitHead::Branch(branch.to_owned())),
            operation: None,
        };
        let text = written(Path::new("/home/ada/hello"), Some(Some(state)), date);
        Instructions::environment_context(text)
    }

    #[test]
    fn the_facts_cost_at_most_300_tokens() {
        let state = WorkingTreeState {
            head: Some(GitHead::Branch("feature/".repeat(100))),
            operation: Some("a cherry-pick"),
        };
        let deep = "/a folder".repeat(500);
        let text = written(
            Path::new(&deep),
            Some(Some(state)),
            "2026-11-26 (America/Argentina/ComodRivadavia)",
        );
        assert!(estimate_text(&text) <= 300, "{}: {text}", estimate_text(&text));
        let usual = told("main", "2026-11-26 (Europe/Rome)").text;
        assert!(estimate_text(&usual) <= 80, "{}: {usual}", estimate_text(&usual));
    }

    #[test]
    fn a_session_records_the_facts_again_when_a_line_is_different() {
        let before = told("main", "2026-11-26");
        assert!(!environment_has_moved(&before, &told("main", "2026-11-26")));
        assert!(environment_has_moved(&before, &told("main", "2026-11-27")));
        assert!(environment_has_moved(&before, &told("fix", "2026-11-26")));
        assert!(
            environment_has_moved(&told("a; b", "2026-11-26"), &told("a; c", "2026-11-26")),
            "a branch may have any of these characters in its name"
        );
    }

    #[test]
    fn of_git_only_what_is_known_is_said() {
        let line = |head: Option<GitHead>, operation| {
            let state = WorkingTreeState { head, operation };
            let text = written(Path::new("/a"), Some(Some(state)), "2026-11-26");
            let line = text.lines().find_map(|line| line.strip_prefix("- Git: "));
            line.map(str::to_owned)
        };
        let main = || Some(GitHead::Branch("main".to_owned()));
        for (head, operation, said) in [
            (main(), None, Some("branch main")),
            (
                main(),
                Some("a merge"),
                Some("branch main, a merge is in progress"),
            ),
            (
                Some(GitHead::Detached),
                Some("a rebase"),
                Some("no branch is checked out, a rebase is in progress"),
            ),
            (None, Some("a revert"), Some("a revert is in progress")),
            (None, None, None),
        ] {
            assert_eq!(line(head, operation).as_deref(), said);
        }
        let outside = written(Path::new("/a"), Some(None), "2026-11-26");
        assert!(outside.contains("- Git: not a repository\n"), "{outside}");
    }

    #[cfg(unix)]
    #[test]
    fn a_bash_counts_only_at_an_absolute_path() {
        let usual = ["/bin/bash", "/usr/bin/bash"].map(Path::new);
        let usual = usual.iter().any(|file| file.is_file());
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("bash"), "").unwrap();
        assert_eq!(shell_on(folder.path().as_os_str()), "bash");
        assert_eq!(shell_on(OsStr::new("")), if usual { "bash" } else { "sh" });
    }

    #[test]
    fn a_name_stays_on_its_line() {
        let text = written(Path::new("/a\n- Date: never"), None, "2026-11-26");
        assert_eq!(text.lines().count(), 5, "{text}");
        assert!(text.contains("- Working directory: /a?- Date: never\n"), "{text}");
    }
}
