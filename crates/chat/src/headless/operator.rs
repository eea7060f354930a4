//! A run whose calls are decided by another person, as for a member of a server. The run waits for the
//! decisions, within a bound.

use std::future::pending;
use std::time::Duration;

use agentx::types::{ApprovalRequested, SessionId, ToolCallId};
use tokio::time::{Instant, sleep_until};

use crate::error::ChatError;
use crate::exit::Exit;
use crate::exit::run_failure::NEEDED;
use crate::place::Place;
use crate::render::clean::visible;
use crate::render::units;

/// The calls that wait for the decision of another person.
#[derive(Debug)]
pub struct RemoteApprovals {
    within: Duration,
    open: Vec<(ToolCallId, String)>,
    until: Option<Instant>,
    /// The command that shows the outcome later.
    later: String,
}

impl RemoteApprovals {
    /// Returns the approvals of a session of this place.
    pub fn new(place: &Place, session: &SessionId, within: Duration) -> Self {
        Self {
            within,
            open: Vec::new(),
            until: None,
            later: place.command(&format!("run --session {session}")),
        }
    }

    /// Adds another call that waits. Returns the note for the person about it.
    pub(crate) fn asked(&mut self, request: &ApprovalRequested) -> String {
        let name = visible(&request.name);
        self.open.push((request.tool_call_id.clone(), name.clone()));
        self.until.get_or_insert_with(|| Instant::now() + self.within);
        format!(
            "· {name} waits for the server's operator, for at most {} (--approval-timeout); `{}` shows the outcome later",
            in_words(self.within),
            self.later
        )
    }

    /// A call was decided or has ended.
    pub(crate) fn settled(&mut self, id: &ToolCallId) {
        self.open.retain(|(open, _)| open != id);
        if self.open.is_empty() {
            self.until = None;
        }
    }

    /// Waits until the bound is over; never, if no call waits. Safe to drop while it waits.
    pub(crate) async fn wait_for_timeout(&self) -> ChatError {
        match self.until {
            Some(until) => sleep_until(until).await,
            None => pending().await,
        }
        let names: Vec<&str> = self.open.iter().map(|(_, name)| name.as_str()).collect();
        ChatError::Run {
            exit: Exit::Denied,
            code: NEEDED.into(),
            message: format!(
                "{} still waits for the server's operator, who did not answer within {}; `{}` shows the outcome",
                names.join(", "),
                in_words(self.within),
                self.later
            ),
        }
    }
}

fn in_words(time: Duration) -> String {
    units::duration(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(id: &str) -> ApprovalRequested {
        serde_json::from_value(serde_json::json!({
            "tool_call_id": id, "name": "bash", "input": {}, "reason": "",
            "suggested": {"effect": "allow", "tool": "bash"},
        }))
        .unwrap()
    }

    #[tokio::test]
    async fn calls_that_wait_for_somebody_else_wait_for_so_long() {
        let mut calls = RemoteApprovals {
            within: Duration::ZERO,
            open: Vec::new(),
            until: None,
            later: "agentx run".into(),
        };
        let note = calls.asked(&asked("call_1"));
        assert!(note.contains("bash waits for the server's operator"), "{note}");
        let until = calls.until;
        calls.asked(&asked("call_2"));
        calls.settled(&"call_1".into());
        assert!(
            until.is_some() && calls.until == until,
            "it counts from the first"
        );
        let error = calls.wait_for_timeout().await;
        assert_eq!((error.kind(), error.exit()), (NEEDED, Exit::Denied));
        let told = error.to_string();
        assert!(told.ends_with("; `agentx run` shows the outcome"), "{told}");
        calls.settled(&"call_2".into());
        assert_eq!(calls.until, None, "none waits");
    }
}
