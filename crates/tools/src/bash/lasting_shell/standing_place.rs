//! The directory that the shell is in, for the approval rules.
//!
//! The agent decides about the words of a command line, which start in the workspace; a shell that stays may
//! be in another directory. Before a line runs, the rules are asked about the same line behind a `cd` to that
//! directory. If their answer is stricter, the line does not run and has to name the directory itself, so
//! that it can be decided about.

use std::fs;
use std::path::{Path, PathBuf};

use agentx_runtime::{Ruling, RulingKind, ToolContext};
use agentx_types::{AgentConfig, ToolSpec};
use serde_json::json;

use super::SHELL;

/// The directory of a shell.
#[derive(Debug)]
pub(super) struct StandingPlace {
    directory: PathBuf,
    /// Whether it is the workspace, or inside of it.
    is_inside: bool,
    /// Whether it is the workspace itself.
    is_workspace: bool,
}

impl StandingPlace {
    /// Compares the directory that the shell reported with the workspace.
    pub(super) fn of(directory: &str, workspace: &Path) -> Self {
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let (here, root) = (real(Path::new(directory)), real(workspace));
        Self {
            is_inside: here.starts_with(&root),
            is_workspace: here == root,
            directory: here,
        }
    }

    /// The directory in which the names of a line begin; the workspace if the shell is outside of it, as the
    /// line itself then names its directory.
    pub(super) fn directory_in<'a>(&'a self, workspace: &'a Path) -> &'a Path {
        if self.is_inside {
            &self.directory
        } else {
            workspace
        }
    }

    /// Returns why a line may not run here although it may run in the workspace.
    pub(super) fn refusal(&self, line: &str, context: &ToolContext) -> Option<String> {
        if self.is_workspace {
            return None;
        }
        let config = context.journal.config_now()?;
        let spec = config.tools.iter().find(|spec| spec.name == SHELL)?;
        self.refused_by(&config, spec, line)
    }

    fn refused_by(&self, config: &AgentConfig, spec: &ToolSpec, line: &str) -> Option<String> {
        let ruling = |line: &str| Ruling::of(config, spec, &json!({ "command": line }));
        let directory = self.directory.display();
        let (as_written, here) = (
            ruling(line),
            ruling(&format!("{}\n{line}", self.change_directory())),
        );
        let is_stricter = severity(here.decision) > severity(as_written.decision);
        // Inside the workspace, no rule needs to name the directory.
        let is_refused = if self.is_inside {
            is_stricter && !here.rules.is_empty()
        } else {
            is_stricter || (here.decision != RulingKind::Allow && !names_a_directory(line))
        };
        is_refused.then(|| {
            format!(
                "the shell is in {directory}, where {}; begin the line with `{} && `, so that it can be decided about",
                here.because,
                self.change_directory()
            )
        })
    }

    /// The command that goes to the directory.
    fn change_directory(&self) -> String {
        let path = self.directory.to_string_lossy();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
        if path.chars().all(is_plain) {
            format!("cd {path}")
        } else {
            format!("cd '{}'", path.replace('\'', "'\\''"))
        }
    }
}

/// The strictness of a decision, to compare two of them.
pub(super) fn severity(decision: RulingKind) -> u8 {
    match decision {
        RulingKind::Allow => 0,
        RulingKind::Ask => 1,
        RulingKind::Deny => 2,
    }
}

/// Returns whether a line begins with `cd` and an absolute path.
fn names_a_directory(line: &str) -> bool {
    let path = line.trim_start().strip_prefix("cd ");
    path.is_some_and(|path| path.trim_start().trim_start_matches(['"', '\'']).starts_with('/'))
}

#[cfg(test)]
mod tests {
    use agentx_types::Access;
    use serde_json::Value;

    use super::*;

    fn refusal(directory: &str, approval: &str, rules: Value, line: &str) -> Option<String> {
        let spec =
            ToolSpec::new(SHELL, "", json!({"type": "object"}), Access::Run).with_command_argument("command");
        let prices = json!({ "input": 0, "output": 0, "cache_read": 0, "cache_write": 0 });
        let model = json!({ "id": "opal", "provider": "stone", "api": "anthropic", "context_window": 9, "max_output_tokens": 9,
            "prices": prices });
        let config = json!({ "kind": "react", "name": "main", "model": model, "params": {}, "system_prompt": "", "instructions": [],
            "workspace": "/ws", "tools": [spec], "approval": approval, "rules": rules, "limits": {},
            "rules_version": agentx_types::RULES_VERSION });
        let config: AgentConfig = serde_json::from_value(config).unwrap();
        let place = StandingPlace {
            directory: directory.into(),
            is_inside: directory.starts_with("/ws"),
            is_workspace: directory == "/ws",
        };
        let spec = config.tools[0].clone();
        place.refused_by(&config, &spec, line)
    }

    #[test]
    fn a_line_that_rules_judge_otherwise_in_this_directory_has_to_name_it() {
        let cat = json!([{ "effect": "allow", "tool": "shell", "argument": "cat *" }]);
        let told = refusal("/etc", "ask", cat.clone(), "cat hosts").unwrap();
        assert!(
            told.contains("the shell is in /etc") && told.contains("`cd /etc && `"),
            "{told}"
        );
        assert_eq!(refusal("/ws/src", "ask", cat, "cat main.rs"), None);
        let denied = json!([{ "effect": "deny", "tool": "read", "path": "private/**" }]);
        assert!(refusal("/ws/private", "auto", denied.clone(), "cat keys").is_some());
        assert_eq!(refusal("/ws/src", "auto", denied, "cat keys"), None);
    }

    #[test]
    fn a_person_who_is_asked_reads_the_directory_outside() {
        assert!(refusal("/etc", "ask", json!([]), "ls").is_some());
        assert_eq!(refusal("/etc", "ask", json!([]), "cd /etc && ls"), None);
        assert_eq!(refusal("/etc", "auto", json!([]), "ls"), None);
        assert_eq!(refusal("/ws/src", "ask", json!([]), "ls"), None);
    }

    #[test]
    fn a_directory_with_other_signs_is_quoted() {
        let place = StandingPlace::of("/no such/it's", Path::new("/"));
        assert_eq!(place.change_directory(), "cd '/no such/it'\\''s'");
        assert!(place.is_inside && !place.is_workspace);
    }
}
