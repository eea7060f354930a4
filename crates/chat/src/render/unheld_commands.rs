//! Tells, once, that commands run without the sandbox that the settings ask for, because none works on the
//! machine of the session. The details of each call say so too.

use agentx::types::RuntimeEvent;
use serde_json::Value;

use super::clean::visible;

/// The notice about commands that nothing holds, and whether it was given.
#[derive(Debug, Default)]
pub(crate) struct UnheldNotice {
    is_told: bool,
}

impl UnheldNotice {
    /// A notice that may have been given before the first command.
    pub(crate) fn given(is_told: bool) -> Self {
        Self { is_told }
    }

    /// Handles an event. Returns the notice at the end of the first command that nothing held.
    pub(crate) fn event(&mut self, event: &RuntimeEvent) -> Option<String> {
        let details = match event {
            RuntimeEvent::ToolCompleted(done) => done.details.as_ref(),
            RuntimeEvent::ToolFailed(failed) => failed.details.as_ref(),
            _ => None,
        };
        let sandbox = details.filter(|_| !self.is_told)?.get("sandbox")?;
        let why = sandbox.get("why").and_then(Value::as_str)?;
        self.is_told = true;
        Some(unheld_note(why))
    }
}

/// The notice with this reason.
pub(crate) fn unheld_note(why: &str) -> String {
    format!(
        "commands run without a sandbox, because none works here: {} (see `agentx sandbox show`)",
        visible(why)
    )
}

#[cfg(test)]
mod tests {
    use agentx::types::ToolCompleted;
    use serde_json::json;

    use super::*;

    fn done(details: Option<Value>) -> RuntimeEvent {
        RuntimeEvent::ToolCompleted(ToolCompleted {
            tool_call_id: "call_1".into(),
            name: "bash".into(),
            duration_ms: 1,
            details,
        })
    }

    #[test]
    fn the_first_command_that_nothing_held_is_told() {
        let mut notice = UnheldNotice::default();
        for details in [
            None,
            Some(json!({"exit_code": 0})),
            Some(json!({"sandbox": {"step": "namespace", "network": true}})),
            Some(json!({"sandbox": {"step": "none", "outside": "ran"}})),
        ] {
            assert_eq!(notice.event(&done(details.clone())), None, "{details:?}");
        }
        let unheld = done(Some(
            json!({"sandbox": {"step": "none", "why": "made up\u{1b}[2J"}}),
        ));
        let said = notice.event(&unheld).unwrap();
        assert!(said.contains("made up") && !said.contains('\u{1b}'), "{said:?}");
        assert_eq!(notice.event(&unheld), None, "it is told once");
        let mut given = UnheldNotice::given(true);
        assert_eq!(given.event(&unheld), None, "it was told before");
    }
}
