//! `agentx config trust --show --json`: the folder's files as data.

use agentx::assembly::{FileRole, FolderContents, FolderFile};
use agentx::config::{FileAcceptance, FolderTrust, Loaded};
use serde_json::{Value, json};

/// Returns the folder, the decision about it, and its files with what they are and how they were accepted.
pub fn document(loaded: &Loaded, brings: &FolderContents) -> Value {
    let file = |file: &FolderFile| json!({ "path": file.path, "role": role(file.role), "state": state(file.standing) });
    json!({
        "folder": loaded.places.workspace_root,
        "trust": loaded.settings.folder.trust.word(),
        "files": brings.files.iter().map(file).collect::<Vec<_>>(),
        "tools": brings.tools.iter().map(|tool| &tool.definition.name).collect::<Vec<_>>(),
        "agents": brings.agents.keys().collect::<Vec<_>>(),
    })
}

/// Returns a decision about the folder that was just made, and the lines about what it removed and what
/// stays.
pub fn decided(loaded: &Loaded, trust: FolderTrust, removed: &str) -> Value {
    json!({
        "folder": loaded.places.workspace_root,
        "trust": trust.word(),
        "notes": removed.lines().collect::<Vec<_>>(),
    })
}

fn role(role: FileRole) -> &'static str {
    match role {
        FileRole::Settings => "settings",
        FileRole::Instructions => "instructions",
        FileRole::Definition => "definition",
        FileRole::Servers => "mcp_servers",
        FileRole::Named => "named",
        FileRole::Git => "git",
    }
}

fn state(standing: FileAcceptance) -> &'static str {
    match standing {
        FileAcceptance::Accepted => "accepted",
        FileAcceptance::Changed => "changed",
        FileAcceptance::New => "new",
    }
}
