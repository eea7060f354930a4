//! The state of an MCP server in words. The state of one that does not run was observed when it was last
//! used, and may have changed since: its program may be gone, or there again.

use std::time::{SystemTime, UNIX_EPOCH};

use agentx::mcp::{McpEnvironment, McpServerState};
use agentx::types::Timestamp;

use crate::render::clean::visible;
use crate::render::units;

/// Describes the state of a server that is not asked now.
pub(crate) fn state_when_last_used(environment: &McpEnvironment) -> String {
    describe(&environment.state_for_all(), age(environment).as_deref())
}

/// Returns the word for the state of a server in a table, with its age if it is a failure.
pub(crate) fn word_with_age(environment: &McpEnvironment) -> String {
    let state = environment.state_for_all();
    match (&state, age(environment)) {
        (McpServerState::Failed(_), Some(age)) => format!("{} {age}", state.word()),
        _ => state.word().to_owned(),
    }
}

/// Returns the time since the last use in words.
fn age(environment: &McpEnvironment) -> Option<String> {
    let then = timestamp(environment.last_used()?)?;
    Some(units::ago(then, units::now()))
}

fn timestamp(time: SystemTime) -> Option<Timestamp> {
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_micros()).ok().map(Timestamp)
}

fn describe(state: &McpServerState, age: Option<&str>) -> String {
    let age = age.map_or_else(String::new, |age| format!(", {age}"));
    match state {
        McpServerState::Configured => "was never started".to_owned(),
        McpServerState::Known => format!("worked when last used{age}"),
        McpServerState::Running => "is running".to_owned(),
        McpServerState::NeedsLogin => "needs a login".to_owned(),
        McpServerState::Failed(why) => format!("failed when last started{age}: {}", visible(why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_was_observed_earlier_says_when() {
        let failed = McpServerState::Failed("no such file".to_owned());
        for (state, age, told) in [
            (&McpServerState::Configured, None, "was never started"),
            (
                &McpServerState::Known,
                Some("20 min ago"),
                "worked when last used, 20 min ago",
            ),
            (&McpServerState::Known, None, "worked when last used"),
            (
                &failed,
                Some("just now"),
                "failed when last started, just now: no such file",
            ),
        ] {
            assert_eq!(describe(state, age), told);
        }
        let time = UNIX_EPOCH + std::time::Duration::from_secs(7);
        assert_eq!(timestamp(time), Some(Timestamp(7_000_000)));
    }
}
