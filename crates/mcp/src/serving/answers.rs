//! The answers to a client: the results of the protocol's methods, in the form of the version that the client
//! speaks.

use agentx_types::{Access, ToolSpec};
use serde_json::{Map, Value, json};

use super::ServedDocument;
use super::message::UNSUPPORTED_VERSION;
use super::questions;
use super::refusal::McpRefusal;

/// The version without a handshake, in which each request names it.
const STATELESS: &str = "2026-07-28";
/// The versions with a handshake, the newest first.
const WITH_HANDSHAKE: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The name of the extension for calls that outlive their request.
pub(super) const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// The instructions that clients may pass to their models.
const INSTRUCTIONS: &str = "The tools of AgentX on this machine. Each call is decided by the rules and the approval mode of its person; what would ask them is asked at a client that shows forms, and otherwise refused with the reason. Tools named `agent__…` hand a task to an agent. Resources are sessions of AgentX.";

/// Returns whether a request speaks the version without a handshake. Its results name their kind.
pub(super) fn is_stateless(params: &Map<String, Value>) -> bool {
    named_version(params) == Some(STATELESS)
}

/// Returns the version that a request names itself.
pub(super) fn named_version(params: &Map<String, Value>) -> Option<&str> {
    meta(params, "protocolVersion").and_then(Value::as_str)
}

/// Returns why the version that a request names itself is none.
pub(super) fn wrong_version(params: &Map<String, Value>) -> Option<&'static str> {
    let is_wrong = meta(params, "protocolVersion").is_some_and(|version| !version.is_string());
    is_wrong.then_some("`io.modelcontextprotocol/protocolVersion` in `_meta` must be a text")
}

/// Returns the log level that a request wants.
pub(super) fn named_log_level(params: &Map<String, Value>) -> Option<&Value> {
    meta(params, "logLevel")
}

/// Returns whether this is the version without a handshake.
pub(super) fn is_without_handshake(version: &str) -> bool {
    version == STATELESS
}

/// Returns what a request in the version without a handshake lacks: it has to name its version, and what the
/// client is capable of.
pub(super) fn missing(params: &Map<String, Value>) -> Option<&'static str> {
    if named_version(params).is_none() {
        return Some("`_meta` must have `io.modelcontextprotocol/protocolVersion`");
    }
    let has_capabilities = meta(params, "clientCapabilities").is_some_and(Value::is_object);
    (!has_capabilities).then_some("`_meta` must have `io.modelcontextprotocol/clientCapabilities`")
}

/// Returns whether a request in the version without a handshake says that its client shows forms to a person.
pub(super) fn can_be_asked(params: &Map<String, Value>) -> bool {
    questions::can_be_asked(meta(params, "clientCapabilities"))
}

/// Returns whether a request in the version without a handshake says that its client knows an extension.
pub(super) fn has_extension(params: &Map<String, Value>, name: &str) -> bool {
    let capabilities = meta(params, "clientCapabilities");
    let extensions = capabilities.and_then(|capabilities| capabilities.get("extensions"));
    extensions
        .and_then(|extensions| extensions.get(name))
        .is_some_and(Value::is_object)
}

/// A value that the protocol itself has in `_meta`.
fn meta<'a>(params: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let meta = params.get("_meta").and_then(Value::as_object)?;
    meta.get(&format!("io.modelcontextprotocol/{name}"))
}

/// Returns whether this version is spoken.
pub(super) fn is_known(version: &str) -> bool {
    version == STATELESS || WITH_HANDSHAKE.contains(&version)
}

/// The answer to a request in a version that is not spoken. A request that names its version itself may name
/// only those that `server/discover` lists; the others begin with a handshake.
pub(super) fn unsupported(id: &Value, version: &str, names_it: bool) -> Value {
    let others = WITH_HANDSHAKE.iter().copied().filter(|_| !names_it);
    let supported: Vec<&str> = [STATELESS].into_iter().chain(others).collect();
    let message = format!("the version {version:?} is not supported");
    let data = json!({"supported": supported, "requested": version});
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": UNSUPPORTED_VERSION, "message": message, "data": data}})
}

fn capabilities() -> Value {
    json!({"tools": {}, "resources": {}, "prompts": {}, "completions": {}})
}

fn server_info() -> Value {
    json!({"name": "agentx", "title": "AgentX", "version": env!("CARGO_PKG_VERSION")})
}

/// The answer to `initialize`: the client's version if it is known, otherwise the newest.
pub(super) fn initialized(params: &Map<String, Value>, has_log: bool) -> Value {
    let wanted = params.get("protocolVersion").and_then(Value::as_str);
    let known = WITH_HANDSHAKE.iter().find(|version| Some(**version) == wanted);
    let mut capabilities = capabilities();
    // A connection that lasts adds its subscriptions.
    if has_log {
        capabilities["logging"] = json!({});
    }
    json!({
        "protocolVersion": known.unwrap_or(&WITH_HANDSHAKE[0]),
        "capabilities": capabilities,
        "serverInfo": server_info(),
        "instructions": INSTRUCTIONS,
    })
}

/// Announces subscriptions to documents in the answer to `initialize`.
pub(super) fn with_subscriptions(mut initialized: Value) -> Value {
    initialized["capabilities"]["resources"]["subscribe"] = true.into();
    initialized
}

/// The answer to `server/discover`. A request names its own log level, and a stream what it subscribes to.
pub(super) fn discovered(has_tasks: bool) -> Value {
    let mut capabilities = capabilities();
    capabilities["logging"] = json!({});
    capabilities["resources"] = json!({"subscribe": true, "listChanged": true});
    if has_tasks {
        capabilities["extensions"] = json!({(TASKS_EXTENSION): {}});
    }
    json!({
        "resultType": "complete",
        "supportedVersions": [STATELESS],
        "capabilities": capabilities,
        "instructions": INSTRUCTIONS,
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {"io.modelcontextprotocol/serverInfo": server_info()},
    })
}

/// A result in the form of the client's version; lists may be fetched again immediately.
pub(super) fn complete(mut result: Value, stateless: bool, is_list: bool) -> Value {
    if let Some(result) = result.as_object_mut().filter(|_| stateless) {
        result.entry("resultType").or_insert_with(|| "complete".into());
        if is_list {
            result.insert("ttlMs".into(), 0.into());
            result.insert("cacheScope".into(), "private".into());
        }
    }
    result
}

/// The answer to `tools/list`: tools, each with the schema of its results if they have one.
pub(super) fn tools<'a>(tools: impl Iterator<Item = (&'a ToolSpec, Option<Value>)>) -> Value {
    let tools: Vec<Value> = tools.map(|(spec, results)| tool(spec, results)).collect();
    json!({ "tools": tools })
}

fn tool(spec: &ToolSpec, results: Option<Value>) -> Value {
    let mut schema = spec.input_schema.clone();
    if let Some(schema) = schema.as_object_mut() {
        schema.entry("type").or_insert_with(|| "object".into());
    }
    let mut tool = json!({
        "name": spec.name,
        "description": spec.description,
        "inputSchema": schema,
        "annotations": {
            "readOnlyHint": spec.access <= Access::Read,
            "idempotentHint": spec.idempotent,
            "openWorldHint": spec.access == Access::Network,
        },
    });
    if let Some(results) = results {
        tool["outputSchema"] = results;
    }
    tool
}

/// The answer to `resources/list`.
pub(super) fn documents(documents: &[ServedDocument]) -> Value {
    let resource = |document: &ServedDocument| {
        json!({
            "uri": document.address,
            "name": document.name,
            "title": document.title,
            "mimeType": "text/markdown",
        })
    };
    json!({ "resources": documents.iter().map(resource).collect::<Vec<_>>() })
}

/// The answer to `resources/read`.
pub(super) fn document(address: &str, text: &str) -> Value {
    json!({"contents": [{"uri": address, "mimeType": "text/markdown", "text": text}]})
}

/// A line about a call that runs.
pub(super) fn progress(token: &Value, said: u64, line: &str) -> Value {
    let params = json!({"progressToken": token, "progress": said, "message": line});
    json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
}

/// The answer to a successful request.
pub(super) fn result(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// The answer to a failed request.
pub(super) fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// The answer to a refused request.
pub(super) fn refused(id: &Value, refusal: &McpRefusal) -> Value {
    let mut answer = error(id, refusal.code, &refusal.why);
    if let Some(data) = &refusal.data {
        answer["error"]["data"] = data.clone();
    }
    answer
}
