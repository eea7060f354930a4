//! Messages of a client, read from lines: JSON-RPC 2.0.

use serde_json::{Map, Value};

use super::questions::{ClientAnswer, ClientResponse};

/// A message of a client.
#[derive(Debug, PartialEq)]
pub(super) enum ClientMessage {
    /// A request, which gets one answer.
    Request {
        id: Value,
        method: String,
        params: Map<String, Value>,
    },
    /// A message without an answer.
    Notification {
        method: String,
        params: Map<String, Value>,
    },
    /// A response to a request of this server: it asks the person at the client.
    Answer(ClientResponse),
    /// No message; the answer says why.
    Wrong { id: Value, code: i64, why: String },
}

pub(super) const PARSE_ERROR: i64 = -32_700;
pub(super) const INVALID_REQUEST: i64 = -32_600;
pub(super) const METHOD_NOT_FOUND: i64 = -32_601;
pub(super) const INVALID_PARAMS: i64 = -32_602;
pub(super) const INTERNAL_ERROR: i64 = -32_603;
pub(super) const RESOURCE_NOT_FOUND: i64 = -32_002;
/// A header differs from the body.
pub(super) const HEADER_MISMATCH: i64 = -32_020;
/// The client does not declare a capability that the request needs.
pub(super) const MISSING_CAPABILITY: i64 = -32_021;
/// The version of the request is not spoken.
pub(super) const UNSUPPORTED_VERSION: i64 = -32_022;
/// The client has too many requests that run.
pub(super) const BUSY: i64 = -32_000;

impl ClientMessage {
    pub(super) fn read(line: &[u8]) -> Self {
        match serde_json::from_slice(line) {
            Ok(value) => Self::of(value),
            Err(error) => Self::Wrong {
                id: Value::Null,
                code: PARSE_ERROR,
                why: format!("this is not JSON: {error}"),
            },
        }
    }

    /// The message that a JSON value is.
    pub(super) fn of(value: Value) -> Self {
        let wrong = |id: Value, code: i64, why: &str| Self::Wrong {
            id,
            code,
            why: why.to_owned(),
        };
        let Value::Object(mut message) = value else {
            return wrong(Value::Null, INVALID_REQUEST, "a message is an object");
        };
        let id = message.remove("id");
        if id.as_ref().is_some_and(|id| !(id.is_string() || id.is_number())) {
            return wrong(Value::Null, INVALID_REQUEST, "`id` must be a text or a number");
        }
        let answer_to = id.clone().unwrap_or_default();
        if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return wrong(answer_to, INVALID_REQUEST, "`jsonrpc` must be \"2.0\"");
        }
        let params = match message.remove("params") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(params)) => params,
            Some(_) => return wrong(answer_to, INVALID_PARAMS, "`params` must be an object"),
        };
        match (message.remove("method"), id) {
            (Some(Value::String(method)), Some(id)) => Self::Request { id, method, params },
            (Some(Value::String(method)), None) => Self::Notification { method, params },
            (None, Some(id)) if message.contains_key("result") || message.contains_key("error") => {
                let answer = message.get("result").and_then(ClientAnswer::read);
                Self::Answer(ClientResponse { id, answer })
            }
            _ => wrong(answer_to, INVALID_REQUEST, "`method` is missing"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_message_is_told_by_its_code() {
        for (line, code) in [
            ("{", PARSE_ERROR),
            ("\u{0}", PARSE_ERROR),
            ("[]", INVALID_REQUEST),
            ("7", INVALID_REQUEST),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, INVALID_REQUEST),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#,
                INVALID_PARAMS,
            ),
        ] {
            let read = ClientMessage::read(line.as_bytes());
            assert!(
                matches!(read, ClientMessage::Wrong { code: given, .. } if given == code),
                "{read:?}"
            );
        }
    }

    #[test]
    fn requests_notifications_and_answers_are_told_apart() {
        let read = |line: &str| ClientMessage::read(line.as_bytes());
        assert!(matches!(
            read(r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#),
            ClientMessage::Request { id, .. } if id == "a"
        ));
        assert!(matches!(
            read(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
            ClientMessage::Notification { .. }
        ));
        assert_eq!(
            read(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
            ClientMessage::Answer(ClientResponse {
                id: 1.into(),
                answer: None,
            })
        );
    }
}
