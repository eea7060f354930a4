//! Hints for errors of the configuration, so that a person knows where to look next.

use agentx::config::{ConfigError, ConfigMistake, MistakeLocation};

/// Returns true if every mistake is in the command line that was just typed.
pub(crate) fn is_typed(error: &ConfigError) -> bool {
    match error {
        ConfigError::Mistakes(mistakes) => mistakes
            .iter()
            .all(|mistake| matches!(mistake.at, MistakeLocation::Flag(_))),
        _ => false,
    }
}

/// Returns true if `agentx config set` or `unset` named the key.
fn is_of_command(mistake: &ConfigMistake) -> bool {
    matches!(&mistake.at, MistakeLocation::Flag(name) if matches!(name.as_str(), "config set" | "config unset"))
}

/// Returns true if the mistake is in `--connect`, an option of every command.
fn is_of_connect(mistake: &ConfigMistake) -> bool {
    matches!(&mistake.at, MistakeLocation::Flag(name) if name == "--connect")
}

/// The help page of the command that was typed: the mistake names a command or a flag of `run`.
fn of_typed(mistakes: &[ConfigMistake]) -> String {
    let command = mistakes.iter().find_map(|mistake| match &mistake.at {
        MistakeLocation::Flag(name) if !name.starts_with('-') => Some((name, mistake)),
        _ => None,
    });
    match command {
        Some((name, mistake)) if name == "mcp add" && mistake.what.contains("already exists") => {
            let server = mistake.key.strip_prefix("mcp.").unwrap_or_default();
            format!("`agentx mcp remove {server}` removes it, `agentx mcp show {server}` shows it")
        }
        Some((name, _)) => format!("`agentx help {name}` explains the arguments"),
        None => "`agentx help run` explains the options".into(),
    }
}

/// Returns advice about the error.
pub(crate) fn config_hint(error: &ConfigError) -> Option<String> {
    Some(match error {
        ConfigError::Mistakes(mistakes) if mistakes.iter().any(is_of_command) => {
            "`agentx help settings` lists every key and its values".into()
        }
        ConfigError::Mistakes(mistakes) if mistakes.iter().all(is_of_connect) => {
            "`agentx help` explains the options".into()
        }
        ConfigError::Mistakes(mistakes) if is_typed(error) => of_typed(mistakes),
        ConfigError::Mistakes(_) => {
            "`agentx help settings` lists every key; `agentx config check` checks the file again".into()
        }
        ConfigError::File { path, .. } if error.is_damaged() && path.ends_with("folders.json") => {
            "your decisions about folders cannot be read; repair the file, or move it away: AgentX then asks about each folder again".into()
        }
        ConfigError::File { .. } if error.is_disk_full() => "free some disk space".into(),
        ConfigError::File { .. } => "`agentx config path` shows which files are read".into(),
        ConfigError::NoHome => "set HOME, or AGENTX_CONFIG and AGENTX_DATA".into(),
        ConfigError::Edit { text, .. } => {
            format!("do it by hand: {text} (`agentx config edit` opens the file)")
        }
    })
}
