//! The requests of clients over any transport: a method and its parameters become a result.

use std::sync::Arc;

use agentx_types::ToolSpec;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::live_call::CallOfClient;
use super::message::{INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND};
use super::refusal::{McpRefusal, no_resource};
use super::request_context::McpRequestContext;
use super::{ServedParts, answers, call_request, completion, content, log, prompts, tasks};

/// The longest text that names a call to its client in the progress of the call, in bytes. Each line of
/// progress repeats it.
const TOKEN_BYTES: usize = 128;

/// The result of a request.
pub(super) async fn answer(
    served: &Arc<dyn ServedParts>,
    method: &str,
    params: Map<String, Value>,
    context: McpRequestContext,
) -> Result<Value, McpRefusal> {
    let (parts, cancel) = (&**served, context.cancel.clone());
    if let Some(what) = answers::wrong_version(&params) {
        return Err(McpRefusal::new(INVALID_PARAMS, what));
    }
    let stateless = answers::is_stateless(&params);
    if let Some(what) = answers::missing(&params).filter(|_| stateless) {
        return Err(McpRefusal::new(INVALID_PARAMS, what));
    }
    let (result, is_list) = match method {
        // The version without a handshake has none of them.
        "initialize" if !stateless => return Ok(answers::initialized(&params, parts.log_level().is_some())),
        "logging/setLevel" if !stateless => (log::set_level(parts, &params)?, false),
        "ping" if !stateless => (json!({}), false),
        "server/discover" => return Ok(answers::discovered(parts.as_tasks().is_some())),
        "tools/list" => (tools(parts).await, true),
        "tools/call" => (call(served, params, &context).await?, false),
        "prompts/list" => (prompts::list(parts), true),
        "prompts/get" => (prompts::get(parts, &params)?, false),
        "resources/list" => (unless_cancelled(&cancel, documents(parts)).await?, true),
        "resources/templates/list" => (completion::templates(), true),
        "completion/complete" => {
            let completed = completion::complete(parts, &params);
            (unless_cancelled(&cancel, completed).await?, false)
        }
        "resources/read" => (unless_cancelled(&cancel, read(parts, &params)).await?, true),
        "tasks/get" | "tasks/update" | "tasks/cancel" => match parts.as_tasks().filter(|_| stateless) {
            Some(tasks) => (tasks::answered(tasks, method, &params).await?, false),
            None => return Err(no_method(method)),
        },
        _ => return Err(no_method(method)),
    };
    Ok(answers::complete(result, stateless, is_list))
}

fn no_method(method: &str) -> McpRefusal {
    McpRefusal::new(METHOD_NOT_FOUND, format!("there is no method {method:?}"))
}

async fn tools(parts: &dyn ServedParts) -> Value {
    let tools = parts.tools().await;
    answers::tools(tools.iter().map(|spec| (spec, results_schema(parts, spec))))
}

/// Returns the schema of a tool's results, if they are objects: older versions of the protocol know no
/// others.
fn results_schema(parts: &dyn ServedParts, spec: &ToolSpec) -> Option<Value> {
    let schema = parts.output_schema(spec)?;
    (schema.get("type").and_then(Value::as_str) == Some("object")).then_some(schema)
}

async fn call(
    parts: &Arc<dyn ServedParts>,
    mut params: Map<String, Value>,
    context: &McpRequestContext,
) -> Result<Value, McpRefusal> {
    let Some(Value::String(tool)) = params.remove("name") else {
        return Err(McpRefusal::new(
            INVALID_PARAMS,
            "`name` must be the name of a tool",
        ));
    };
    let arguments = arguments(&mut params)?;
    let tools = parts.tools().await;
    let Some(spec) = tools.iter().find(|spec| spec.name == tool) else {
        let why = format!("there is no tool {tool:?}");
        return Err(McpRefusal::new(INVALID_PARAMS, why));
    };
    let has_schema = results_schema(&**parts, spec).is_some();
    drop(tools);
    let stateless = answers::is_stateless(&params);
    let can_be_asked = if stateless {
        answers::can_be_asked(&params)
    } else {
        context.can_be_asked
    };
    let wanted = CallOfClient {
        tool,
        arguments,
        has_schema,
        token: progress_token(&params)?,
        log_level: log::level_of(&**parts, &params)?,
        stateless,
        can_be_asked,
        state: params.remove("requestState").filter(|_| stateless),
        responses: params.remove("inputResponses").filter(|_| stateless),
    };
    if let Some(begun) = tasks::begun(&**parts, &params, &wanted).await? {
        return Ok(begun);
    }
    // They may be large, and a call may last long.
    drop(params);
    call_request::run(parts.clone(), wanted, context).await
}

/// Takes the arguments of a call out of its parameters.
fn arguments(params: &mut Map<String, Value>) -> Result<Map<String, Value>, McpRefusal> {
    match params.remove("arguments") {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(arguments)) => Ok(arguments),
        Some(_) => Err(McpRefusal::new(INVALID_PARAMS, "`arguments` must be an object")),
    }
}

/// Returns the token with which a client wants to hear of the progress of its call.
fn progress_token(params: &Map<String, Value>) -> Result<Option<Value>, McpRefusal> {
    let token = params.get("_meta").and_then(|meta| meta.get("progressToken"));
    let is_short = match token {
        None | Some(Value::Number(_)) => true,
        Some(Value::String(text)) => text.len() <= TOKEN_BYTES,
        Some(_) => false,
    };
    if !is_short {
        let why = format!("`progressToken` must be a text of at most {TOKEN_BYTES} bytes, or a number");
        return Err(McpRefusal::new(INVALID_PARAMS, why));
    }
    Ok(token.cloned())
}

async fn documents(parts: &dyn ServedParts) -> Result<Value, McpRefusal> {
    let documents = parts.documents().await;
    let documents = documents.map_err(|why| McpRefusal::new(INTERNAL_ERROR, why))?;
    Ok(answers::documents(&documents))
}

async fn read(parts: &dyn ServedParts, params: &Map<String, Value>) -> Result<Value, McpRefusal> {
    let Some(address) = params.get("uri").and_then(Value::as_str) else {
        let why = "`uri` must be the address of a resource";
        return Err(McpRefusal::new(INVALID_PARAMS, why));
    };
    let failed = |why: String| McpRefusal::new(INTERNAL_ERROR, why);
    if let Some(text) = parts.read(address).await.map_err(failed)? {
        return Ok(answers::document(address, &text));
    }
    let file = parts.linked_file(address).await.map_err(failed)?;
    let resource = file.and_then(|file| content::resource(address, &file));
    let resource = resource.ok_or_else(|| no_resource(address, answers::is_stateless(params)))?;
    Ok(json!({ "contents": [resource] }))
}

/// Ends the work on a request when its client cancels it or goes away.
async fn unless_cancelled(
    cancel: &CancellationToken,
    work: impl Future<Output = Result<Value, McpRefusal>>,
) -> Result<Value, McpRefusal> {
    let done = cancel.run_until_cancelled(work).await;
    done.unwrap_or_else(|| Err(McpRefusal::new(INTERNAL_ERROR, "the request was cancelled")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_of_progress_is_a_short_text_or_a_number() {
        let read = |token: Value| {
            let mut params = Map::new();
            params.insert("_meta".into(), json!({ "progressToken": token }));
            progress_token(&params)
        };
        for token in [
            json!(""),
            json!("t".repeat(TOKEN_BYTES)),
            json!(0),
            json!(-7),
            json!(1.5),
        ] {
            assert_eq!(read(token.clone()).ok(), Some(Some(token)));
        }
        let long = json!("t".repeat(TOKEN_BYTES + 1));
        for token in [long, Value::Null, json!(true), json!([1]), json!({"a": 1})] {
            assert_eq!(
                read(token.clone()).err().map(|refusal| refusal.code),
                Some(INVALID_PARAMS),
                "{token}"
            );
        }
        assert_eq!(progress_token(&Map::new()).ok(), Some(None));
    }
}
