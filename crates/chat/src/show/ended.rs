//! Calls that have ended in a run that broke off before the others of the same answer had ended: their
//! results are in no message.

use agentx::types::{ContentPart, RuntimeEvent, ToolCallId};

use crate::render::clean::visible;
use crate::render::style::Paint;
use crate::render::units;

/// Calls that have ended and whose results are in no message so far.
#[derive(Debug, Default)]
pub(super) struct EndedCalls {
    calls: Vec<(ToolCallId, String)>,
}

impl EndedCalls {
    /// Takes an event.
    pub(super) fn event(&mut self, event: &RuntimeEvent, style: Paint) {
        let (id, sign, name, time) = match event {
            RuntimeEvent::ToolCompleted(done) => {
                (&done.tool_call_id, style.good("✓"), &done.name, done.duration_ms)
            }
            RuntimeEvent::ToolFailed(failed) => (
                &failed.tool_call_id,
                style.bad("✗"),
                &failed.name,
                failed.duration_ms,
            ),
            RuntimeEvent::ToolResultMessageAdded(added) => {
                let is_in_it = |id: &ToolCallId| {
                    let mut parts = added.message.content.iter();
                    parts.any(
                        |part| matches!(part, ContentPart::ToolResult(result) if result.tool_call_id == *id),
                    )
                };
                return self.calls.retain(|(id, _)| !is_in_it(id));
            }
            _ => return,
        };
        let told = style.dim(&format!("{} {}", visible(name), units::duration(time)));
        self.calls.push((id.clone(), format!("  └ {sign} {told}\n")));
    }

    /// A line for each call.
    pub(super) fn text(&self) -> String {
        self.calls.iter().map(|(_, line)| line.as_str()).collect()
    }
}
