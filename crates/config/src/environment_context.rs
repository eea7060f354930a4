//! Facts about where and when an agent works. They are recorded with the instructions of a session, so that the model need not ask for them.
//!
//! Nothing here runs a program: Git would run what the repository's settings name. Environment variables and remotes are left out, because they may hold
//! secrets.

use std::path::Path;

use agentx_types::Instructions;
use jiff::Zoned;

use crate::git::{self, WorkingTreeState};
use crate::{FolderTrust, Settings};

/// The longest path, branch or name of a system, in bytes.
const MAX_BYTES: usize = 240;

impl Settings {
    /// The facts about an agent that works in `workspace` from now on; `None` where the person wants none told.
    ///
    /// The state of Git is told of a folder that may instruct the model: the name of a branch is a claim of the folder.
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

    /// Replaces the facts among `instructions`, if there are any, with those about an agent that works in `workspace`.
    pub fn renew_environment_context(&self, instructions: &mut Vec<Instructions>, workspace: &Path) {
        let before = instructions.len();
        instructions.retain(|file| !file.is_environment_context());
        if instructions.len() < before {
            instructions.extend(self.environment_context(workspace));
        }
    }
}

/// Whether a session that recorded `before` should record `now`: it continues elsewhere, on another day or on another branch. How many files
/// are changed, the agent sees for itself.
pub fn environment_has_moved(before: &Instructions, now: &Instructions) -> bool {
    let facts = |told: &Instructions| -> Vec<String> {
        let lines = told.text.lines();
        lines
            .map(|line| line.split("; ").next().unwrap_or(line).to_owned())
            .collect()
    };
    facts(before) != facts(now)
}

fn written(workspace: &Path, state: Option<Option<WorkingTreeState>>, date: &str) -> String {
    let git = match state {
        None => String::new(),
        Some(None) => "- Git: not a repository\n".to_owned(),
        Some(Some(state)) => format!("- Git: {}\n", in_words(&state)),
    };
    format!(
        "Environment when this session began:\n- Working directory: {}\n{git}- Date: {date}\n- System: {}\n- Shell: {}",
        short(&workspace.to_string_lossy()),
        short(&system()),
        shell(),
    )
}

fn in_words(state: &WorkingTreeState) -> String {
    let mut words = match &state.branch {
        Some(branch) => format!("branch {}", short(branch)),
        None => "no branch is checked out".to_owned(),
    };
    if let Some(operation) = state.operation {
        words.push_str(&format!(", {operation} is in progress"));
    }
    match state.changed {
        Some(0) => words.push_str("; no unstaged changes"),
        Some(1) => words.push_str("; 1 file with unstaged changes"),
        Some(files) => words.push_str(&format!("; {files} files with unstaged changes")),
        None => {}
    }
    words
}

/// The operating system, by the name that a distribution gives itself where there is one.
fn system() -> String {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    let (os, architecture) = (std::env::consts::OS, std::env::consts::ARCH);
    match name.map(|name| name.trim_matches('"')) {
        Some(name) if !name.is_empty() => format!("{os} {architecture} ({name})"),
        _ => format!("{os} {architecture}"),
    }
}

/// The shell that runs the agent's commands: bash where there is one, else sh.
fn shell() -> &'static str {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|folder| folder.join("bash").is_file()) {
        "bash"
    } else {
        "sh"
    }
}

/// A name on one line, cut off where it is too long to be told.
fn short(name: &str) -> String {
    let short = &name[..name.floor_char_boundary(MAX_BYTES)];
    let end = if short.len() < name.len() { "…" } else { "" };
    format!("{short}{end}").replace(|sign: char| sign.is_control(), "?")
}

#[cfg(test)]
mod tests {
    use agentx_agent::estimate_text;

    use super::*;

    fn told(branch: &str, changed: usize, date: &str) -> Instructions {
        let state = WorkingTreeState {
            branch: Some(branch.to_owned()),
            operation: None,
            changed: Some(changed),
        };
        let text = written(Path::new("/home/ada/hello"), Some(Some(state)), date);
        Instructions::environment_context(text)
    }

    #[test]
    fn the_facts_cost_at_most_300_tokens() {
        let state = WorkingTreeState {
            branch: Some("feature/".repeat(100)),
            operation: Some("a cherry-pick"),
            changed: Some(usize::MAX),
        };
        let deep = "/a folder".repeat(500);
        let text = written(
            Path::new(&deep),
            Some(Some(state)),
            "2026-11-26 (America/Argentina/ComodRivadavia)",
        );
        assert!(estimate_text(&text) <= 300, "{}: {text}", estimate_text(&text));
        let usual = told("main", 3, "2026-11-26 (Europe/Rome)").text;
        assert!(estimate_text(&usual) <= 80, "{}: {usual}", estimate_text(&usual));
    }

    #[test]
    fn a_session_records_the_facts_again_on_another_day_or_branch() {
        let before = told("main", 3, "2026-11-26");
        assert!(!environment_has_moved(&before, &told("main", 7, "2026-11-26")));
        assert!(environment_has_moved(&before, &told("main", 3, "2026-11-27")));
        assert!(environment_has_moved(&before, &told("fix", 3, "2026-11-26")));
    }

    #[test]
    fn a_name_stays_on_its_line() {
        let text = written(Path::new("/a\n- Date: never"), None, "2026-11-26");
        assert_eq!(text.lines().count(), 5, "{text}");
        assert!(text.contains("- Working directory: /a?- Date: never\n"), "{text}");
    }
}
