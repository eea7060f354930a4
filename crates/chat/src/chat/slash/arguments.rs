//! The arguments of commands with several forms, and the words behind `/mcp` and `/usage`.

use agentx::runtime::UsageBy;

/// The arguments of `/compact`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CompactCommand {
    /// Condenses now, with these words about what matters.
    Now(Option<String>),
    /// Undoes the condensing.
    Undo,
}

/// The arguments of `/pin` and `/unpin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PinCommand {
    /// The number of the input, counted from the first; `None` for the latest.
    pub(crate) number: Option<usize>,
    /// Whether it is kept through summaries.
    pub(crate) stays: bool,
}

/// The target of `/rewind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RewindTarget {
    /// Lists the inputs to choose from.
    Choose,
    /// Goes back to before this input.
    To(usize),
    /// Goes back to before files were restored.
    Undo,
}

/// The arguments of `/approvals`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rules {
    /// Lists the rules.
    List,
    /// Shows the decision of the rules about this call.
    Test(String),
    /// Removes this rule.
    Remove(usize),
    /// Lists the calls that a judge refused, or allows the one with this number.
    Overrule(Option<usize>),
}

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
        "day-model" => Some(UsageBy::DayModel),
        "cause" => Some(UsageBy::Cause),
        other => {
            return Err(format!(
                "unknown grouping `{other}`; use session, day, model, day-model or cause"
            ));
        }
    })
}
