//! Questions of the tools about a session: its owner, and whether text from outside may be in its
//! conversation.

use std::ops::ControlFlow;
use std::sync::Arc;

use agentx_runtime::{LogError, SessionLog, ToolContext};
use agentx_tools::ToolFailure;
use agentx_types::{
    ConfigChange, ContentPart, EnvironmentEvent, Instructions, OwnerId, RunId, SessionId, UserMessage,
    WEBHOOK_END,
};

use crate::names::{MEMORY_SOURCE, RECALL_MEMORY, REMEMBER};

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

    /// Returns the input that a call answers, if the call may use memories: in a session of the person in
    /// which nobody else has written, because another writer could ask for the person's memories.
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
        let has_others = self.has_another_person(session).await;
        if has_others.map_err(|error| ToolFailure::failed(error.to_string()))? {
            return Err(refused(
                "another person than the one whose memories they are has written in this session",
            ));
        }
        Ok(context.journal.run().and_then(RunId::input).unwrap_or(0))
    }

    /// Returns whether the conversation may have text that neither the person nor the model wrote.
    ///
    /// # Errors
    /// Returns an error if the log cannot be read.
    pub(crate) async fn has_text_from_outside(&self, session: &SessionId) -> Result<bool, LogError> {
        self.has(session, is_from_outside).await
    }

    /// Returns whether another person than the owner wrote or answered in the session.
    ///
    /// # Errors
    /// Returns an error if the log cannot be read.
    pub(crate) async fn has_another_person(&self, session: &SessionId) -> Result<bool, LogError> {
        self.has(session, is_of_another_person).await
    }

    /// Returns whether the session has an event of this sort.
    async fn has(
        &self,
        session: &SessionId,
        is_one: fn(&EnvironmentEvent) -> bool,
    ) -> Result<bool, LogError> {
        let (send, found) = std::sync::mpsc::channel();
        let take = move |fact: &mut agentx_types::Envelope<EnvironmentEvent>| {
            if is_one(&fact.event) {
                let _ = send.send(());
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        self.log.scan(session, 0, u64::MAX, Box::new(take)).await?;
        Ok(found.try_recv().is_ok())
    }
}

/// Returns whether another person did something in the session whose words may come into the conversation: an
/// input, an answer, a command, instructions for a summary.
fn is_of_another_person(event: &EnvironmentEvent) -> bool {
    let by = match event {
        EnvironmentEvent::UserMessage(message) => &message.by,
        EnvironmentEvent::Approval(approval) => &approval.by,
        EnvironmentEvent::CommandRan(command) => &command.by,
        EnvironmentEvent::SystemCommand(command) => &command.by,
        EnvironmentEvent::CondenseRequested(wanted) => &wanted.by,
        EnvironmentEvent::InterruptRequested(wanted) => &wanted.by,
        EnvironmentEvent::ConfigChanged(changed) => &changed.by,
        EnvironmentEvent::SessionTitled(titled) => &titled.by,
        _ => return false,
    };
    by.is_some()
}

/// Returns whether an event brings text from outside into a conversation. The first part of an input is the
/// text that the person typed, unless it has the content of a webhook; files, pictures and outputs are later
/// parts.
fn is_from_outside(event: &EnvironmentEvent) -> bool {
    match event {
        EnvironmentEvent::ToolCall(call) => !OWN_WORDS.contains(&call.name.as_str()),
        EnvironmentEvent::UserMessage(message) if message.content.len() > 1 || is_delivered(message) => true,
        EnvironmentEvent::SessionOpened(opened) => has_files(&opened.config.instructions),
        EnvironmentEvent::AgentSpawned(spawned) => has_files(&spawned.config.instructions),
        EnvironmentEvent::ConfigChanged(changed) => {
            matches!(&changed.change, ConfigChange::Instructions(read) if has_files(read))
        }
        EnvironmentEvent::ContextBuilt(built) => built.source != MEMORY_SOURCE && !built.text.is_empty(),
        EnvironmentEvent::SessionImported(_)
        | EnvironmentEvent::CommandRan(_)
        | EnvironmentEvent::JobEnded(_) => true,
        _ => is_of_another_person(event),
    }
}

/// Returns whether a webhook delivered an input.
fn is_delivered(message: &UserMessage) -> bool {
    let mut texts = message.content.iter().filter_map(ContentPart::as_text);
    texts.any(|text| text.contains(WEBHOOK_END))
}

/// Returns whether instructions were read from a file.
fn has_files(instructions: &[Instructions]) -> bool {
    instructions.iter().any(|read| !read.is_environment_context())
}
