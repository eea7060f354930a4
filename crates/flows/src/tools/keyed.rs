//! Tools whose file names an argument as the key of the call (`idempotency_key`): a second call with the same
//! key is answered with the outcome of the first, and does not run.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use agentx_agent_files::definition::ToolDefinition;
use agentx_luau_tools::EffectError;
use agentx_runtime::{BoxFuture, InterceptedTool, Tool, ToolContext, ToolInterceptor, ToolOutcome};
use agentx_types::ToolStatus;
use serde_json::{Value, json};

use crate::world::{KeyOwner, KeyState, KeyedCall, ToolsShared};

/// The longest key, in characters. It may be the value of an HTTP header.
const MAX_KEY: usize = 200;
/// The longest text of an outcome that is kept, in bytes.
const MAX_TEXT: usize = 16 << 10;

struct KeyedTool {
    tool: Arc<dyn Tool>,
    name: String,
    field: String,
    of_folder: bool,
    shared: Arc<ToolsShared>,
}

/// Wraps a tool so that each key is used for one call.
///
/// # Errors
/// Returns an error if `params` does not describe the argument `field`.
pub(super) fn keyed(
    tool: Arc<dyn Tool>,
    definition: &ToolDefinition,
    field: &str,
    shared: &Arc<ToolsShared>,
) -> Result<Arc<dyn Tool>, String> {
    let params = definition.params.as_ref();
    let known = params.and_then(|params| params.get("properties")?.get(field));
    if known.is_none() {
        return Err(format!(
            "`idempotency_key` names {field:?}, which `params` does not describe"
        ));
    }
    Ok(Arc::new(InterceptedTool(KeyedTool {
        tool,
        name: definition.name.clone(),
        field: field.to_owned(),
        of_folder: definition.of_folder,
        shared: shared.clone(),
    })))
}

/// Returns the key in the arguments of a call: a text of visible ASCII characters, or a number.
pub(super) fn key_in(input: &Value, field: &str) -> Option<String> {
    let key = match input.get(field)? {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let fits = !key.is_empty() && key.len() <= MAX_KEY && key.bytes().all(|byte| byte.is_ascii_graphic());
    fits.then_some(key)
}

impl ToolInterceptor for KeyedTool {
    fn tool(&self) -> &Arc<dyn Tool> {
        &self.tool
    }

    fn intercept(&self, input: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        let (tool, shared, name) = (self.tool.clone(), self.shared.clone(), self.name.clone());
        let Some(key) = key_in(&input, &self.field) else {
            let told = format!(
                "{name}: `{}` is the key of the call: give a number, or a text of 1 to {MAX_KEY} visible \
                 ASCII characters without blanks",
                self.field
            );
            return Box::pin(async move { ToolOutcome::failed(ToolStatus::Invalid, told) });
        };
        let of_folder = self.of_folder;
        Box::pin(async move {
            let begun = async {
                let call = Arc::new(KeyedCall {
                    place: KeyOwner {
                        owner: owner_of(&context).await?,
                        space: name.clone(),
                        of_folder,
                        key,
                    },
                    arguments: hash_of(&input),
                    holder: holder_of(&context),
                });
                let state = begin(&shared, &call).await?;
                Ok::<_, EffectError>((call, state))
            };
            let call = match begun.await {
                Ok((call, KeyState::Runs)) => call,
                Ok((call, state)) => return answered(&name, &call.place.key, state),
                Err(error) => return ToolOutcome::failed(ToolStatus::Failed, format!("{name}: {error}")),
            };
            let outcome = tool.call(input, context).await;
            if outcome.status != ToolStatus::Interrupted
                && let Err(error) = end(&shared, call, &outcome).await
            {
                // The key stays without an outcome, so no other call runs.
                tracing::warn!(tool = name.as_str(), %error, "the outcome of a call with a key was not kept");
            }
            outcome
        })
    }
}

/// Returns the owner of the session; empty outside of one.
async fn owner_of(context: &ToolContext) -> Result<String, EffectError> {
    let Some(listener) = context.journal.listener() else {
        return Ok(String::new());
    };
    let owner = listener.owner().await;
    owner.map(|owner| owner.to_string()).map_err(|error| {
        let problem = format!("the owner of this session cannot be read: {error}");
        EffectError::new("failed", problem)
    })
}

/// Returns a hash of arguments, whatever the order of their fields.
fn hash_of(input: &Value) -> String {
    let mut sorted = input.clone();
    sorted.sort_all_objects();
    blake3::hash(sorted.to_string().as_bytes()).to_hex().to_string()
}

/// Returns what distinguishes a call from all others, and stays the same after a crash.
fn holder_of(context: &ToolContext) -> String {
    let agent = context.journal.agent_state_id().map_or("", |id| id.as_str());
    let (session, call) = (context.session_id.as_str(), context.tool_call_id.as_str());
    format!("{session}\n{agent}\n{call}")
}

async fn begin(shared: &Arc<ToolsShared>, call: &Arc<KeyedCall>) -> Result<KeyState, EffectError> {
    let (store, call) = (shared.store.clone(), call.clone());
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ms = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    let done = tokio::task::spawn_blocking(move || store.begin_keyed(&call, now_ms)).await;
    done.map_err(|error| lost(&error))?
}

async fn end(
    shared: &Arc<ToolsShared>,
    call: Arc<KeyedCall>,
    outcome: &ToolOutcome,
) -> Result<(), EffectError> {
    let texts: Vec<&str> = outcome.content.iter().filter_map(|part| part.as_text()).collect();
    let mut text = texts.join("\n");
    if text.len() > MAX_TEXT {
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        text.push_str("\n[The rest of this result was not kept.]");
    }
    let kept = json!({"status": outcome.status, "text": text}).to_string();
    let store = shared.store.clone();
    let done = tokio::task::spawn_blocking(move || store.end_keyed(&call, &kept)).await;
    done.map_err(|error| lost(&error))?
}

fn lost(error: &tokio::task::JoinError) -> EffectError {
    EffectError::new("failed", format!("the store of keys: {error}"))
}

/// Returns the outcome of a call that does not run, because another one has its key.
fn answered(name: &str, key: &str, state: KeyState) -> ToolOutcome {
    let details = json!({"idempotency_key": key});
    let outcome = match state {
        KeyState::Answered(kept) => {
            let kept: Value = serde_json::from_str(&kept).unwrap_or_default();
            let status = serde_json::from_value(kept["status"].clone()).unwrap_or(ToolStatus::Unknown);
            let text = kept["text"].as_str().unwrap_or_default();
            match status {
                ToolStatus::Success => ToolOutcome::success(text),
                status => ToolOutcome::failed(status, text),
            }
        }
        KeyState::OtherArguments => ToolOutcome::failed(
            ToolStatus::Invalid,
            format!("{name}: an earlier call used the key {key:?} with other arguments; use another key"),
        ),
        KeyState::Runs | KeyState::Open => ToolOutcome::failed(
            ToolStatus::Unknown,
            format!(
                "{name}: another call with the key {key:?} has begun, and its outcome is unknown: it still \
                 runs, or it was cut off and may have had its effect. Look before you use another key."
            ),
        ),
    };
    outcome.with_details(details)
}
