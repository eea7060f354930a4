//! One message of a client over HTTP ("streamable HTTP"), without I/O: its headers, its body, and the status
//! of its answer. The server that received the request sends the answer.
//!
//! There are no sessions: each request is independent. An `Mcp-Session-Id` says only that its client can be
//! asked. A client of a version with a handshake may send `initialize`, and need not.
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http> has the rules
//! of the version without a handshake.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::message::{ClientMessage, HEADER_MISMATCH, INVALID_PARAMS, METHOD_NOT_FOUND, MISSING_CAPABILITY};
use super::questions::{self, ClientResponse};
use super::request_context::McpRequestContext;
use super::requests::answer;
use super::sent_arguments::{SentArguments, decoded};
use super::subscriptions::{is_listening, listen};
use super::{ServedParts, answers};

/// The headers of a request that repeat what its body says, so that proxies need not read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MirroredHeaders {
    /// The value of the header `MCP-Protocol-Version`.
    pub version: Option<String>,
    /// The value of the header `Mcp-Method`.
    pub method: Option<String>,
    /// `Mcp-Name`: the tool of a call, the address of a resource, or the id of a task.
    pub name: Option<String>,
    /// The first of these headers that came more than once, or with characters beyond ASCII: it says nothing
    /// that could be compared.
    pub unreadable: Option<&'static str>,
}

/// A message of a client.
#[derive(Debug)]
pub enum HttpMessage {
    /// A request, which gets one answer.
    Request(McpHttpRequest),
    /// The answer to a question of this server, for
    /// [`SuspendedCalls::respond`](super::SuspendedCalls::respond).
    Response(ClientResponse),
    /// The answer is known already.
    Answered(HttpAnswer),
}

/// The answer to a message.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpAnswer {
    /// The status: 202 without a message.
    pub status: u16,
    /// The message.
    pub message: Option<Value>,
}

/// A request of a client.
#[derive(Debug)]
pub struct McpHttpRequest {
    id: Value,
    method: String,
    params: Map<String, Value>,
}

impl HttpMessage {
    /// Reads a message. A mistake in it becomes its answer.
    ///
    /// ```
    /// use agentx_mcp::{HttpMessage, MirroredHeaders};
    /// use serde_json::json;
    ///
    /// let read = |body| HttpMessage::read(&MirroredHeaders::default(), body);
    /// assert!(matches!(read(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})), HttpMessage::Request(_)));
    /// let notification = read(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    /// assert!(matches!(notification, HttpMessage::Answered(answer) if answer.status == 202));
    /// ```
    pub fn read(headers: &MirroredHeaders, body: Value) -> Self {
        let answered = |status: u16, message: Option<Value>| Self::Answered(HttpAnswer { status, message });
        let (id, method, params) = match ClientMessage::of(body) {
            ClientMessage::Request { id, method, params } => (id, method, params),
            ClientMessage::Notification { .. } => return answered(202, None),
            ClientMessage::Answer(response) => return Self::Response(response),
            ClientMessage::Wrong { id, code, why } => {
                return answered(400, Some(answers::error(&id, code, &why)));
            }
        };
        let refused = |code: i64, why: &str| answered(400, Some(answers::error(&id, code, why)));
        if let Some(header) = headers.unreadable {
            let why = format!("the header {header} came more than once, or not in ASCII");
            return refused(HEADER_MISMATCH, &why);
        }
        if let Some(why) = answers::wrong_version(&params) {
            return refused(INVALID_PARAMS, why);
        }
        let (named, header) = (answers::named_version(&params), headers.version.as_deref());
        let version = named.or(header);
        // Two versions that differ are a mismatch, whether they are known or not.
        let is_one = header.is_none() || named.is_none() || header == named;
        if let Some(version) = version.filter(|version| is_one && !answers::is_known(version)) {
            return answered(400, Some(answers::unsupported(&id, version, named.is_some())));
        }
        if let Some(why) = mismatch(headers, &method, &params) {
            return refused(HEADER_MISMATCH, &why);
        }
        if version.is_some_and(answers::is_without_handshake)
            && let Some(why) = answers::missing(&params)
        {
            return refused(INVALID_PARAMS, why);
        }
        Self::Request(McpHttpRequest { id, method, params })
    }
}

impl McpHttpRequest {
    /// Returns whether the request calls a tool, which may take long.
    pub fn is_call(&self) -> bool {
        self.method == "tools/call"
    }

    /// Returns whether the request continues a suspended call.
    pub fn is_resuming(&self) -> bool {
        let state = self.params.get("requestState");
        self.is_call() && state.is_some_and(|state| !state.is_null())
    }

    /// Returns whether the request reads a document, so that its answer may be large.
    pub fn is_reading(&self) -> bool {
        self.method == "resources/read"
    }

    /// Returns whether the request opens a stream of subscriptions, which takes minutes and has to be a
    /// stream of events.
    pub fn is_listening(&self) -> bool {
        is_listening(&self.method, &self.params)
    }

    /// Returns the `Mcp-Session-Id` that the answer gives to the client: only one that begins with a
    /// handshake, and can be asked by forms, gets one.
    pub fn new_session(&self) -> Option<String> {
        let begins = self.method == "initialize" && !answers::is_stateless(&self.params);
        let can_be_asked = questions::can_be_asked(self.params.get("capabilities"));
        (begins && can_be_asked)
            .then(questions::askable_session)
            .flatten()
    }

    /// Returns the refusal of a call whose headers repeat its arguments otherwise than its body has them. The
    /// schemas of the tools say which arguments headers repeat.
    pub async fn argument_mismatch(
        &self,
        parts: &dyn ServedParts,
        sent: &SentArguments,
    ) -> Option<HttpAnswer> {
        let name = self.params.get("name").and_then(Value::as_str);
        let name = name.filter(|_| self.is_call())?;
        let tools = parts.tools().await;
        let schema = &tools.iter().find(|tool| tool.name == name)?.input_schema;
        let arguments = self.params.get("arguments").and_then(Value::as_object);
        let why = sent.mismatch(schema, arguments, answers::is_stateless(&self.params))?;
        Some(HttpAnswer {
            status: 400,
            message: Some(answers::error(&self.id, HEADER_MISMATCH, &why)),
        })
    }

    /// Answers the request. Messages that precede the answer go to `context.said`: progress and log lines of
    /// a call, if the client asked for them, and questions to its person. A cancelled `context.cancel` ends a
    /// call, the reading of documents, and a stream.
    pub async fn answer(self, parts: &Arc<dyn ServedParts>, context: McpRequestContext) -> HttpAnswer {
        let stateless = answers::is_stateless(&self.params);
        let answered = if self.is_listening() {
            listen(&**parts, &self.id, &self.params, context.cancel, context.said).await
        } else {
            answer(parts, &self.method, self.params, context).await
        };
        let (status, message) = match answered {
            Ok(result) => (200, answers::result(&self.id, &result)),
            Err(refusal) => {
                let status = match refusal.code {
                    METHOD_NOT_FOUND if stateless => 404,
                    MISSING_CAPABILITY => 400,
                    _ => 200,
                };
                (status, answers::refused(&self.id, &refusal))
            }
        };
        HttpAnswer {
            status,
            message: Some(message),
        }
    }
}

/// Returns the first difference between a header and the body. A request in the version without a handshake
/// must have all headers; one with a handshake may have only the version, which the body does not repeat.
fn mismatch(headers: &MirroredHeaders, method: &str, params: &Map<String, Value>) -> Option<String> {
    let text = |key: &str| params.get(key).and_then(Value::as_str).map(str::to_owned);
    let named = match method {
        "tools/call" | "prompts/get" => text("name"),
        "resources/read" => text("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => text("taskId"),
        _ => None,
    };
    let version = answers::named_version(params).map(str::to_owned);
    let must = answers::is_stateless(params);
    let sent_name = headers.name.as_deref().map(decoded);
    if sent_name == Some(None) {
        return Some("the header Mcp-Name is not valid Base64".into());
    }
    let compared = [
        (
            "MCP-Protocol-Version",
            headers.version.clone(),
            version.clone(),
            version.is_some(),
        ),
        (
            "Mcp-Method",
            headers.method.clone(),
            Some(method.to_owned()),
            true,
        ),
        ("Mcp-Name", sent_name.flatten(), named.clone(), named.is_some()),
    ];
    compared
        .into_iter()
        .find_map(|(header, sent, said, counts)| match sent {
            None if must && counts => Some(format!("the header {header} is missing")),
            Some(sent) if counts && Some(&sent) != said.as_ref() => Some(format!(
                "the header {header} says {sent:?}, and the body {:?}",
                said.unwrap_or_default()
            )),
            _ => None,
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stateless(method: &str, mut params: Value) -> Value {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
    }

    fn headers(version: &str, method: &str, name: &str) -> MirroredHeaders {
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        MirroredHeaders {
            version: some(version),
            method: some(method),
            name: some(name),
            unreadable: None,
        }
    }

    /// Checks the status and the code of the answer; `None` for a request.
    #[track_caller]
    fn check(headers: &MirroredHeaders, body: Value, expected: Option<(u16, i64)>) {
        let found = match HttpMessage::read(headers, body.clone()) {
            HttpMessage::Request(_) | HttpMessage::Response(_) => None,
            HttpMessage::Answered(answer) => {
                let message = answer.message.unwrap_or_default();
                Some((answer.status, message["error"]["code"].as_i64().unwrap_or(0)))
            }
        };
        assert_eq!(found, expected, "{headers:?} {body}");
    }

    #[test]
    fn headers_of_the_version_without_a_handshake_repeat_the_body() {
        let call = || stateless("tools/call", json!({"name": "read", "arguments": {}}));
        let v = "2026-07-28";
        check(&headers(v, "tools/call", "read"), call(), None);
        check(&headers(v, "tools/call", "=?base64?cmVhZA==?="), call(), None);
        let mismatch = Some((400, HEADER_MISMATCH));
        check(&headers("", "tools/call", "read"), call(), mismatch);
        check(&headers(v, "", "read"), call(), mismatch);
        check(&headers(v, "tools/call", ""), call(), mismatch);
        check(&headers("2025-11-25", "tools/call", "read"), call(), mismatch);
        check(&headers(v, "tools/list", "read"), call(), mismatch);
        check(&headers(v, "tools/call", "write"), call(), mismatch);
        check(&headers(v, "tools/call", "=?base64?!?="), call(), mismatch);
        check(
            &headers(v, "tools/list", ""),
            stateless("tools/list", json!({})),
            None,
        );
        let address = || stateless("resources/read", json!({"uri": "agentx://sessions/ses_1"}));
        check(
            &headers(v, "resources/read", "agentx://sessions/ses_1"),
            address(),
            None,
        );
        check(
            &headers(v, "resources/read", "agentx://sessions/ses_2"),
            address(),
            mismatch,
        );
    }

    #[test]
    fn a_request_without_a_handshake_names_its_version_and_what_the_client_is_capable_of() {
        let v = "2026-07-28";
        let sent = headers(v, "tools/list", "");
        let incomplete = Some((400, -32_602));
        let list =
            |params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params});
        check(&sent, list(json!({})), incomplete);
        let capabilities = json!({"io.modelcontextprotocol/clientCapabilities": {}});
        check(&sent, list(json!({ "_meta": capabilities })), incomplete);
        let version = json!({"io.modelcontextprotocol/protocolVersion": v});
        check(&sent, list(json!({ "_meta": version })), incomplete);
        check(&sent, stateless("tools/list", json!({})), None);
        let number = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": 5}});
        for headers in [&sent, &MirroredHeaders::default()] {
            check(headers, list(number.clone()), incomplete);
        }
    }

    #[test]
    fn a_version_that_is_not_spoken_is_told_from_two_that_differ() {
        let mut body = stateless("server/discover", json!({}));
        body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("v999");
        check(
            &headers("v999", "server/discover", ""),
            body.clone(),
            Some((400, -32_022)),
        );
        let mismatch = Some((400, HEADER_MISMATCH));
        check(
            &headers("2026-07-28", "server/discover", ""),
            body.clone(),
            mismatch,
        );
        let known = stateless("server/discover", json!({}));
        check(&headers("v999", "server/discover", ""), known, mismatch);
        let HttpMessage::Answered(answer) = HttpMessage::read(&MirroredHeaders::default(), body) else {
            panic!("a version that is not spoken is accepted");
        };
        // The versions that `server/discover` lists.
        assert_eq!(
            answer.message.unwrap()["error"]["data"]["supported"],
            json!(["2026-07-28"])
        );
    }

    #[test]
    fn versions_with_a_handshake_need_no_headers() {
        let list = || json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
        check(&MirroredHeaders::default(), list(), None);
        check(&headers("2025-11-25", "", ""), list(), None);
        check(&headers("1999-01-01", "", ""), list(), Some((400, -32_022)));
        let unreadable = MirroredHeaders {
            unreadable: Some("Mcp-Name"),
            ..MirroredHeaders::default()
        };
        check(&unreadable, list(), Some((400, HEADER_MISMATCH)));
        check(
            &headers("", "tools/call", ""),
            list(),
            Some((400, HEADER_MISMATCH)),
        );
        check(
            &MirroredHeaders::default(),
            json!({"jsonrpc": "2.0", "method": "x"}),
            Some((202, 0)),
        );
        check(&MirroredHeaders::default(), json!([]), Some((400, -32_600)));
    }
}
