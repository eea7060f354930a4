//! Reads the words behind `/mcp` and `/usage`.

use agentx::runtime::UsageBy;

/// The server that `/mcp try` starts; `None` for the list.
pub(super) fn mcp_server(argument: &str) -> Result<Option<String>, String> {
    match argument.split_once(' ') {
        None if argument.is_empty() => Ok(None),
        Some(("try", name)) => Ok(Some(name.trim().to_owned())),
        _ => Err(format!("/mcp takes nothing or try NAME, not `{argument}`")),
    }
}

/// Returns the unit by which `/usage` adds up; `None` for this session alone.
pub(super) fn usage_by(argument: &str) -> Result<Option<UsageBy>, String> {
    Ok(match argument {
        "" => None,
        "session" | "sessions" => Some(UsageBy::Session),
        "day" => Some(UsageBy::Day),
        "model" => Some(UsageBy::Model),
        "cause" => Some(UsageBy::Cause),
        other => {
            return Err(format!(
                "unknown grouping `{other}`; use session, day, model or cause"
            ));
        }
    })
}
