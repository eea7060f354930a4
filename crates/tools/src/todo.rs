//! `todo`: the model's to-do list. The whole list is replaced each time, so the latest result in the log is
//! the list: it needs no other state, and a fork or a replay has it too.

use agentx_runtime::{ToolContext, ToolOutcome};
use agentx_types::Access;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::failure::ToolFailure;
use crate::typed::{ToolAbout, TypedTool};

/// Entries of a list, at most.
const MOST_ITEMS: usize = 100;

/// The arguments of `todo`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TodoInput {
    /// The whole list, in order.
    todos: Vec<TodoItem>,
}

/// An entry of a to-do list. The details of a `todo` result hold them under `todos`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TodoItem {
    /// The task, in one line.
    pub content: String,
    /// Its progress.
    pub status: TodoStatus,
}

/// The progress of an entry of a to-do list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(
    missing_docs,
    reason = "a comment here would be sent to the model with every call; the names say it"
)]
pub enum TodoStatus {
    Pending,
    InProgress,
    Completed,
    Cancelled,
}

impl TodoStatus {
    fn mark(self) -> &'static str {
        match self {
            Self::Pending => "[ ]",
            Self::InProgress => "[>]",
            Self::Completed => "[x]",
            Self::Cancelled => "[-]",
        }
    }
}

pub(crate) struct TodoTool;

impl TypedTool for TodoTool {
    type Input = TodoInput;

    fn about(&self) -> ToolAbout {
        let description = "Replaces the to-do list that you and the user see. Use it for work of three steps or more: one \
                           entry in_progress at a time, completed as soon as it is done.";
        ToolAbout::new("todo", description, Access::Internal).idempotent()
    }

    async fn run(&self, input: TodoInput, _context: ToolContext) -> Result<ToolOutcome, ToolFailure> {
        if input.todos.len() > MOST_ITEMS {
            let text = format!(
                "{} entries; at most {MOST_ITEMS}: join some of them.",
                input.todos.len()
            );
            return Err(ToolFailure::invalid(text));
        }
        if let Some(at) = input.todos.iter().position(|item| item.content.trim().is_empty()) {
            return Err(ToolFailure::invalid(format!(
                "todos[{at}].content is empty; say what is to be done."
            )));
        }
        let lines: Vec<String> = input
            .todos
            .iter()
            .map(|item| format!("{} {}", item.status.mark(), item.content))
            .collect();
        let text = if lines.is_empty() {
            "The to-do list is empty.".into()
        } else {
            lines.join("\n")
        };
        Ok(ToolOutcome::success(text).with_details(json!({ "todos": input.todos })))
    }
}
