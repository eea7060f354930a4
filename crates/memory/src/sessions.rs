//! What the tools ask about a session: whose it is, and whether text from outside may be in its conversation.

use std::ops::ControlFlow;
use std::sync::Arc;

use agentx_runtime::{LogError, SessionLog, ToolContext};
use agentx_tools::ToolFailure;
use agentx_types::{EnvironmentEvent, OwnerId, RunId, SessionId};

use crate::recall_memory::RECALL_MEMORY;
use crate::remember::REMEMBER;

/// Tools whose results hold nothing from outside: what the model wrote, what the person said or accepted.
const OWN_WORDS: [&str; 4] = [REMEMBER, RECALL_MEMORY, "todo", "ask_user"];

/// The sessions of a log, for the memories of one person.
#[derive(Clone)]
pub(crate) struct Sessions {
    pub(crate) log: Arc<dyn SessionLog>,
    /// The person whose memories they are.
    pub(crate) person: OwnerId,
}

impl Sessions {
    /// Returns whether the session is the person's own. In sessions of members of a server there are no
    /// memories: those of the operator are not theirs.
    pub(crate) async fn is_own(&self, session: &SessionId) -> bool {
        let access = self.log.access(session, &self.person).await;
        access.is_ok_and(|(owner, _)| owner == self.person)
    }

    /// Returns the input that a call answers, if the call may use memories: in a session of the person, for
    /// an input of the person.
    ///
    /// # Errors
    /// Returns a failure for the model if it may not.
    pub(crate) async fn input_of(&self, context: &ToolContext) -> Result<u64, ToolFailure> {
        let refused = |why: &str| ToolFailure::denied(format!("There are no memories here: {why}."));
        let session = &context.session_id;
        if !self.is_own(session).await {
            return Err(refused(
                "this session belongs to another person than the memories",
            ));
        }
        let Some(seq) = context.journal.run().and_then(RunId::input) else {
            return Ok(0);
        };
        let facts = self.log.read(session, seq.saturating_sub(1), 1).await;
        let facts = facts.map_err(|error| ToolFailure::failed(error.to_string()))?;
        match facts.first().map(|fact| &fact.event) {
            Some(EnvironmentEvent::UserMessage(message)) if message.by.is_some() => Err(refused(
                "the memories belong to another person than the one who sent this request",
            )),
            _ => Ok(seq),
        }
    }

    /// Returns whether the conversation may have text that neither the person nor the model wrote: results of
    /// tools, inputs of others, an imported session.
    ///
    /// # Errors
    /// Returns an error if the log cannot be read.
    pub(crate) async fn has_text_from_outside(&self, session: &SessionId) -> Result<bool, LogError> {
        let (send, found) = std::sync::mpsc::channel();
        let take = move |fact: &mut agentx_types::Envelope<EnvironmentEvent>| {
            if is_from_outside(&fact.event) {
                let _ = send.send(());
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        self.log.scan(session, 0, u64::MAX, Box::new(take)).await?;
        Ok(found.try_recv().is_ok())
    }
}

/// Returns whether an event brings text from outside into a conversation.
fn is_from_outside(event: &EnvironmentEvent) -> bool {
    match event {
        EnvironmentEvent::ToolCall(call) => !OWN_WORDS.contains(&call.name.as_str()),
        EnvironmentEvent::UserMessage(message) => message.by.is_some(),
        EnvironmentEvent::SessionImported(_) | EnvironmentEvent::CommandRan(_) => true,
        _ => false,
    }
}
