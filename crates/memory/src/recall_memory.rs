//! The tool `recall_memory`: a model searches the memories that the person accepted.

use std::sync::Arc;

use agentx_runtime::{SessionLog, ToolContext, ToolOutcome};
use agentx_tools::{ToolAbout, ToolFailure, TypedTool};
use agentx_types::{Access, OwnerId};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::memory::{Memory, MemoryError};
use crate::names::RECALL_MEMORY;
use crate::selection::line;
use crate::sessions::Sessions;
use crate::store::MemoryStore;

/// Maximum number of memories in a result.
const MOST: usize = 20;

/// The arguments of `recall_memory`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecallMemoryInput {
    /// Words to search for; memories with the rarer words come first.
    words: String,
}

/// The tool `recall_memory`.
pub struct RecallMemoryTool {
    store: Arc<MemoryStore>,
    sessions: Sessions,
}

impl RecallMemoryTool {
    /// The tool for the memories of `person`, whose sessions are in `log`.
    pub fn new(store: Arc<MemoryStore>, log: Arc<dyn SessionLog>, person: OwnerId) -> Self {
        Self {
            store,
            sessions: Sessions { log, person },
        }
    }
}

impl TypedTool for RecallMemoryTool {
    type Input = RecallMemoryInput;

    fn about(&self) -> ToolAbout {
        let description = "Searches what you were asked to remember in earlier sessions with this user. The memories that \
                           fit a message best are given with it; search for more when you need them.";
        ToolAbout::new(RECALL_MEMORY, description, Access::Internal).idempotent()
    }

    async fn run(&self, input: RecallMemoryInput, context: ToolContext) -> Result<ToolOutcome, ToolFailure> {
        self.sessions.input_of(&context).await?;
        if input.words.trim().is_empty() {
            return Err(ToolFailure::invalid("`words` is empty; say what to search for."));
        }
        let store = self.store.clone();
        let workspace = context.workspace.to_string_lossy().into_owned();
        let searched = tokio::task::spawn_blocking(move || found(&store, &input.words, workspace)).await;
        let searched = searched.map_err(|error| ToolFailure::failed(error.to_string()))?;
        let memories =
            searched.map_err(|error| ToolFailure::failed(format!("Nothing was found: {error}.")))?;
        let ids: Vec<i64> = memories.iter().map(|memory| memory.id).collect();
        let text = if memories.is_empty() {
            "No memory has these words.".to_owned()
        } else {
            memories.iter().map(line).collect()
        };
        Ok(ToolOutcome::success(text).with_details(json!({ "memories": ids })))
    }
}

fn found(store: &MemoryStore, words: &str, workspace: String) -> Result<Vec<Memory>, MemoryError> {
    let filter = crate::MemoryFilter {
        state: Some(crate::MemoryState::Accepted),
        workspace: Some(workspace),
    };
    store.search(words, &filter, MOST)
}
