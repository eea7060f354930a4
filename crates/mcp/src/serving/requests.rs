//! The requests of clients, whatever they came by: a method and its parameters become a result.

use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::message::{INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND};
use super::{CallProgress, ServedCall, ServedParts, answers};

/// The code and the reason of a refused request.
pub(super) type Refusal = (i64, String);

/// The result of a request.
pub(super) async fn answer(
    parts: &dyn ServedParts,
    method: &str,
    params: Map<String, Value>,
    cancel: CancellationToken,
    said: mpsc::Sender<Value>,
) -> Result<Value, Refusal> {
    let stateless = answers::is_stateless(&params);
    let (result, is_list) = match method {
        "initialize" => return Ok(answers::initialized(&params)),
        "server/discover" => return Ok(answers::discovered()),
        "ping" => (json!({}), false),
        "tools/list" => (answers::tools(&parts.tools().await), true),
        "tools/call" => (call(parts, params, cancel, said).await?, false),
        "resources/list" => (unless_cancelled(&cancel, documents(parts)).await?, true),
        "resources/templates/list" => (json!({"resourceTemplates": []}), true),
        "resources/read" => (unless_cancelled(&cancel, read(parts, &params)).await?, true),
        _ => return Err((METHOD_NOT_FOUND, format!("there is no method {method:?}"))),
    };
    Ok(answers::complete(result, stateless, is_list))
}

async fn call(
    parts: &dyn ServedParts,
    mut params: Map<String, Value>,
    cancel: CancellationToken,
    said: mpsc::Sender<Value>,
) -> Result<Value, Refusal> {
    let Some(Value::String(tool)) = params.remove("name") else {
        return Err((INVALID_PARAMS, "`name` must be the name of a tool".into()));
    };
    let arguments = match params.remove("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err((INVALID_PARAMS, "`arguments` must be an object".into())),
    };
    if !parts.tools().await.iter().any(|spec| spec.name == tool) {
        return Err((INVALID_PARAMS, format!("there is no tool {tool:?}")));
    }
    let token = params.get("_meta").and_then(|meta| meta.get("progressToken"));
    let call = ServedCall {
        progress: CallProgress::new(token.cloned(), said),
        tool,
        arguments,
        cancel,
    };
    Ok(answers::called(&parts.call(call).await))
}

async fn documents(parts: &dyn ServedParts) -> Result<Value, Refusal> {
    let documents = parts.documents().await.map_err(|why| (INTERNAL_ERROR, why))?;
    Ok(answers::documents(&documents))
}

async fn read(parts: &dyn ServedParts, params: &Map<String, Value>) -> Result<Value, Refusal> {
    let Some(address) = params.get("uri").and_then(Value::as_str) else {
        return Err((INVALID_PARAMS, "`uri` must be the address of a resource".into()));
    };
    let text = parts.read(address).await.map_err(|why| (INTERNAL_ERROR, why))?;
    let text = text.ok_or_else(|| (RESOURCE_NOT_FOUND, format!("there is no resource {address:?}")))?;
    Ok(answers::document(address, &text))
}

/// Ends the work on a request when its client cancels it or goes away.
async fn unless_cancelled(
    cancel: &CancellationToken,
    work: impl Future<Output = Result<Value, Refusal>>,
) -> Result<Value, Refusal> {
    let done = cancel.run_until_cancelled(work).await;
    done.unwrap_or_else(|| Err((INTERNAL_ERROR, "the request was cancelled".into())))
}
