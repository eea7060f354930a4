//! Calls that began before the transcript: their heads are not printed again, but their arguments are known
//! when they end.

use agentx::types::RuntimeEvent;

use super::super::call_summary::call_summary;
use super::TranscriptRenderer;

impl TranscriptRenderer {
    /// Notes an earlier call without printing it, so that its end is printed with its arguments.
    pub fn note_earlier(&mut self, event: &RuntimeEvent) {
        match event {
            RuntimeEvent::ToolExecuting(call) => {
                self.remember(
                    &call.tool_call_id,
                    &call.name,
                    call_summary(&call.name, &call.input),
                );
            }
            RuntimeEvent::ToolCompleted(done) => {
                let _ = self.calls.remove(&done.tool_call_id);
            }
            RuntimeEvent::ToolFailed(failed) => {
                let _ = self.calls.remove(&failed.tool_call_id);
            }
            _ => {}
        }
    }
}
