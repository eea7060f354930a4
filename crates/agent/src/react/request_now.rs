//! Makes the request that a model call would send now, for people who want to see it and for counts of the
//! window.
//!
//! This changes nothing in the agent: the window is advanced in a copy of the conversation.

use agentx_types::{ModelRequest, WindowFill};

use super::ReactAgent;

impl ReactAgent {
    /// Returns the request that a model call would send now: the contents of the window, with summaries in
    /// place of the messages that they replace.
    pub fn current_request(&self) -> ModelRequest {
        let input = self.run().map(|run| &run.input_id);
        // Moves the window on in a copy, so that this call changes nothing.
        let mut conversation = self.conversation.clone();
        conversation.prepare_window(&self.config, input);
        conversation.request(&self.config)
    }

    /// The contents of the window after the event `seq`, by kind. See [`Self::current_request`].
    pub fn window_fill(&self, seq: u64) -> WindowFill {
        let mut conversation = self.conversation.clone();
        conversation.window_fill(&self.config, seq)
    }
}
