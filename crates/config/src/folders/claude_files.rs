//! Files of Claude Code in a folder that AgentX does not read, so that a person who comes from there does not
//! look for their effect in vain. Its commands, skills, `CLAUDE.md` and the servers of `.mcp.json` are read.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::text_file::read_text;

/// Directory entries that are looked at.
const MOST_ENTRIES: usize = 1000;

/// A file or directory of another program that is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaudeFile {
    /// The path.
    pub path: PathBuf,
    /// The parts of it that have no effect.
    pub what: String,
    /// The way to have the same effect.
    pub instead: &'static str,
}

/// Returns the files of Claude Code in the folder `root` that are left out. Only names and keys are read.
pub fn claude_files(root: &Path) -> Vec<ClaudeFile> {
    let folder = root.join(".claude");
    let mut found = Vec::new();
    let agents = folder.join("agents");
    let count = agents_in(&agents);
    if count > 0 {
        let noun = if count == 1 { "agent" } else { "agents" };
        found.push(ClaudeFile {
            path: agents,
            what: format!("{count} {noun}"),
            instead: "`agentx agents new NAME` writes an agent; put the text of each under its `prompt`",
        });
    }
    for name in ["settings.json", "settings.local.json"] {
        let path = folder.join(name);
        let keys = keys_of_settings(&path);
        if !keys.is_empty() {
            found.push(ClaudeFile {
                path,
                what: keys.join(", "),
                instead: "`agentx approvals add deny bash 'git push *'` adds a rule, `agentx config set` a setting; hooks do not run",
            });
        }
    }
    found
}

/// Returns the number of agents in a directory, those in its subdirectories left out.
fn agents_in(directory: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return 0;
    };
    let names = entries
        .take(MOST_ENTRIES)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.ends_with(".md")).count()
}

/// Returns the keys of a file of settings that would have an effect: `permissions.deny`, `hooks`. Empty if it
/// cannot be read.
fn keys_of_settings(path: &Path) -> Vec<String> {
    let settings: Option<Value> = read_text(path)
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok());
    let Some(settings) = settings else {
        return Vec::new();
    };
    let is_filled = |value: &Value| match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Null => false,
        _ => true,
    };
    let of_permissions =
        ["allow", "ask", "deny"].map(|key| (format!("permissions.{key}"), &settings["permissions"][key]));
    let others = ["hooks", "env", "model"].map(|key| (key.to_owned(), &settings[key]));
    let all = of_permissions.into_iter().chain(others);
    all.filter(|(_, value)| is_filled(value))
        .map(|(key, _)| key)
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    #[test]
    fn what_has_no_effect_is_named_with_its_keys() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let file = folder.path().join(".claude").join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        assert_eq!(claude_files(folder.path()), []);
        write("commands/a.md", "A command.");
        write("settings.json", "{}");
        assert_eq!(claude_files(folder.path()), [], "nothing is left out");
        write("agents/review.md", "You review.");
        write("agents/notes.txt", "no agent");
        write(
            "settings.json",
            r#"{"permissions": {"allow": [], "deny": ["Bash(rm:*)"]}, "hooks": {"Stop": []}}"#,
        );
        write("settings.local.json", "not JSON");
        let found = claude_files(folder.path());
        let whats: Vec<&str> = found.iter().map(|file| file.what.as_str()).collect();
        assert_eq!(whats, ["1 agent", "permissions.deny, hooks"]);
        assert!(found[1].path.ends_with(".claude/settings.json"));
    }
}
