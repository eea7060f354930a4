//! The parts of a session that are in no message: results of calls in a run that was interrupted before the
//! other calls of the same answer had ended, and the beginning of an answer during which the program was
//! killed.

use agentx::types::{ContentPart, RuntimeEvent, ToolCallId, is_unanswered};

use crate::render::clean::{clean, visible};
use crate::render::style::AnsiStyle;
use crate::render::units;

/// Calls that have ended and whose results are in no message so far, and the words of an answer that has not
/// ended.
#[derive(Debug, Default)]
pub(super) struct UnfinishedAnswer {
    calls: Vec<(ToolCallId, String)>,
    /// The question that nobody answered, until its end.
    unanswered: Option<ToolCallId>,
    words: String,
}

impl UnfinishedAnswer {
    /// Handles an event.
    pub(super) fn event(&mut self, event: &RuntimeEvent, style: AnsiStyle) {
        let (id, sign, name, time) = match event {
            RuntimeEvent::ToolCompleted(done) => {
                let sign = if self.unanswered.as_ref() == Some(&done.tool_call_id) {
                    style.warn("–")
                } else {
                    style.good("✓")
                };
                (&done.tool_call_id, sign, &done.name, done.duration_ms)
            }
            RuntimeEvent::ToolFailed(failed) => (
                &failed.tool_call_id,
                style.bad("✗"),
                &failed.name,
                failed.duration_ms,
            ),
            RuntimeEvent::ToolCallAnswered(answered) => {
                let is_open = is_unanswered(&answered.result);
                self.unanswered = is_open.then(|| answered.tool_call_id.clone());
                return;
            }
            RuntimeEvent::MessageStart(_) | RuntimeEvent::AssistantMessageAdded(_) => {
                return self.words.clear();
            }
            RuntimeEvent::TextDelta(delta) => return self.words.push_str(&delta.text),
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

    /// A line for each call, and the words of the answer that has not ended.
    pub(super) fn text(&self, style: AnsiStyle) -> String {
        let mut text: String = self.calls.iter().map(|(_, line)| line.as_str()).collect();
        if !self.words.trim().is_empty() {
            // Only signs of the program stand at the beginning of a row.
            let words = clean(self.words.trim_end());
            text.extend(words.lines().map(|line| format!("  {line}\n")));
            text.push_str(&style.warn("■ the rest of this answer was not received\n"));
        }
        text
    }
}
