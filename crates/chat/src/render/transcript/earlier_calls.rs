//! Calls that began before what is told: their heads are not told again, but what they were called with is known when they end.

use agentx::types::RuntimeEvent;

use super::super::tool::describe;
use super::TranscriptRenderer;

impl TranscriptRenderer {
    /// Takes note of a call of before, without telling of it: what becomes of it later is told with what was called.
    pub fn knows(&mut self, event: &RuntimeEvent) {
        match event {
            RuntimeEvent::ToolExecuting(call) => {
                self.remember(&call.tool_call_id, &call.name, describe(&call.input));
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
