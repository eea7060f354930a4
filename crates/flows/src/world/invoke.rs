//! Other tools that a tool calls: those that its file grants, as far as the rules of its agent let it.

use std::sync::Arc;

use agentx_luau_tools::{EffectError, Outcome};
use agentx_runtime::{StepMetadata, ToolOutcome};
use agentx_types::{ContentPart, ToolStatus};
use serde_json::{Map, Value};

use super::call_permission::WantedCall;
use super::file_tool_call::FileToolCall;
use super::request_text::text;
use crate::record::PerformedEffect;

/// The maximum depth of nested calls, regardless of a tool's own limit.
const MAX_DEPTH: u32 = 16;
/// The fields of a tool's details that describe a changed file.
const FILE: [&str; 6] = [
    "path",
    "created",
    "pre_image",
    "post_image",
    "mode",
    "directories",
];

/// Performs `invoke`. Returns the result of the tool: lists and objects as values, anything else as text.
pub(crate) async fn invoke(call: Arc<FileToolCall>, step: u64, asked: Value) -> PerformedEffect {
    match called(&call, step, &asked).await {
        Ok(outcome) => {
            let name = text(&asked, "tool");
            let details = outcome
                .details
                .as_ref()
                .and_then(|details| file_of(name, details));
            PerformedEffect {
                outcome: value(name, outcome),
                extras: StepMetadata { bill: None, details },
            }
        }
        Err(error) => Err(error).into(),
    }
}

/// Returns the data that a rewind needs about a file that the tool changed. For a model's own call, the log
/// has it in the outcome.
fn file_of(tool: &str, details: &Value) -> Option<Value> {
    let mut file = Map::new();
    for key in FILE {
        if let Some(value) = details.get(key).filter(|value| !value.is_null()) {
            file.insert(key.to_owned(), value.clone());
        }
    }
    let is_of_file = file.contains_key("path") && file.contains_key("post_image");
    is_of_file.then(|| {
        file.insert("tool".to_owned(), tool.into());
        Value::Object(file)
    })
}

async fn called(call: &FileToolCall, step: u64, asked: &Value) -> Result<ToolOutcome, EffectError> {
    let wanted = WantedCall::of(call, asked)?;
    let outside_workspace = wanted.permitted(call, step)?;
    let WantedCall { tool, spec, args } = wanted;
    let journal = call.context.journal.inner(step).calling(&spec);
    if journal.depth() > MAX_DEPTH {
        let problem = format!("tool calls are nested more than {MAX_DEPTH} deep");
        return Err(EffectError::new("too_deep", problem));
    }
    let mut context = call.context.clone();
    context.tool_call_id = journal.tool_call_id().clone();
    context.journal = journal;
    context.outside_workspace = outside_workspace;
    context.cancel = call.stop.child_token();
    // The work is stopped when its caller no longer waits.
    let _stops_with_us = context.cancel.clone().drop_guard();
    let place = context.slots.take(tool.waits()).await;
    let outcome = tool.call(args, context).await;
    drop(place);
    Ok(outcome)
}

fn value(name: &str, outcome: ToolOutcome) -> Outcome {
    let said: Vec<&str> = outcome.content.iter().filter_map(ContentPart::as_text).collect();
    let said = said.join("\n");
    if outcome.status != ToolStatus::Success {
        let code = serde_json::to_value(outcome.status).ok();
        let code = code
            .as_ref()
            .and_then(Value::as_str)
            .unwrap_or("failed")
            .to_owned();
        return Err(EffectError::new(code, format!("{name}: {said}")));
    }
    let parsed = said
        .trim_start()
        .starts_with(['{', '['])
        .then(|| serde_json::from_str(&said).ok())
        .flatten();
    Ok(parsed.unwrap_or(Value::String(said)))
}
