//! The tool `remember`: a model proposes a memory, and the person decides about it.

use std::str::FromStr;
use std::sync::Arc;

use agentx_runtime::{Clock, SessionLog, ToolContext, ToolOutcome};
use agentx_tools::{ToolAbout, ToolFailure, TypedTool};
use agentx_types::{Access, OwnerId};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::memory::{Memory, MemoryError, MemoryOrigin, MemoryState, NewMemory};
use crate::names::REMEMBER;
use crate::sessions::Sessions;
use crate::store::MemoryStore;

/// The handling of a model's proposal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AcceptMode {
    /// It waits in the inbox until the person decides.
    #[default]
    Ask,
    /// It is accepted immediately, unless text from outside may be in the conversation.
    Always,
}

impl FromStr for AcceptMode {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        match word {
            "ask" => Ok(Self::Ask),
            "always" => Ok(Self::Always),
            _ => Err(()),
        }
    }
}

/// The arguments of `remember`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RememberInput {
    /// The memory: one sentence that can be understood without this conversation, at most 1,000 characters.
    text: String,
    /// Whether it is only about the current project, and not about the user in general (default false).
    #[serde(default)]
    only_here: bool,
}

/// The tool `remember`.
pub struct RememberTool {
    store: Arc<MemoryStore>,
    sessions: Sessions,
    accept: AcceptMode,
    clock: Arc<dyn Clock>,
}

impl RememberTool {
    /// The tool for the memories of `person`, whose sessions are in `log`. `clock` tells the time of changes.
    pub fn new(
        store: Arc<MemoryStore>,
        log: Arc<dyn SessionLog>,
        person: OwnerId,
        accept: AcceptMode,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            store,
            sessions: Sessions { log, person },
            accept,
            clock,
        }
    }

    /// The state that a proposal begins with. If the log cannot be read, the person decides.
    async fn state(&self, context: &ToolContext) -> MemoryState {
        let session = &context.session_id;
        match self.accept {
            AcceptMode::Ask => MemoryState::Proposed,
            AcceptMode::Always if self.sessions.has_text_from_outside(session).await.unwrap_or(true) => {
                MemoryState::Proposed
            }
            AcceptMode::Always => MemoryState::Accepted,
        }
    }
}

impl TypedTool for RememberTool {
    type Input = RememberInput;

    fn about(&self) -> ToolAbout {
        let description = "Proposes a fact to remember in later sessions: a lasting preference of the user, a \
                           decision, how something is done in this project. Not for what files or the conversation \
                           say anyway, and never for secrets. The user reviews proposals before they are used.";
        ToolAbout::new(REMEMBER, description, Access::Internal).idempotent()
    }

    async fn run(&self, input: RememberInput, context: ToolContext) -> Result<ToolOutcome, ToolFailure> {
        let seq = self.sessions.input_of(&context).await?;
        let new = NewMemory {
            text: input.text,
            state: self.state(&context).await,
            pinned: false,
            folder: input
                .only_here
                .then(|| context.workspace.to_string_lossy().into_owned()),
            origin: Some(MemoryOrigin {
                session: context.session_id.clone(),
                seq,
            }),
            call: Some(context.tool_call_id.to_string()),
        };
        let (store, now) = (self.store.clone(), self.clock.now());
        let added = tokio::task::spawn_blocking(move || store.add(&new, now)).await;
        let added =
            added.map_err(|error| ToolFailure::failed(format!("Nothing was remembered: {error}.")))?;
        let (memory, is_new) = added.map_err(failure)?;
        let details = json!({
            "memory": memory.id, "state": memory.state, "new": is_new, "text": memory.text, "folder": memory.folder,
        });
        Ok(ToolOutcome::success(answer(&memory, is_new)).with_details(details))
    }
}

fn failure(error: MemoryError) -> ToolFailure {
    match error {
        MemoryError::InvalidText(what) => ToolFailure::invalid(format!("Nothing was remembered: {what}.")),
        error => ToolFailure::failed(format!("Nothing was remembered: {error}.")),
    }
}

/// The answer for the model.
fn answer(memory: &Memory, is_new: bool) -> String {
    let id = memory.id;
    match (memory.state, is_new) {
        (MemoryState::Proposed, true) => {
            format!("Proposed as memory {id}. It is used in later sessions once the user accepts it.")
        }
        (MemoryState::Accepted, true) => format!("Remembered as memory {id}."),
        (MemoryState::Refused, _) => {
            format!("The user has refused this already (memory {id}). Do not propose it again.")
        }
        (state, false) => format!("Known already as memory {id} ({}).", state.word()),
    }
}
