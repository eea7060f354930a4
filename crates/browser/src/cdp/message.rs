//! The forms of messages.

use serde::Deserialize;
use serde_json::{Value, json};

/// A command without its number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CdpCommand {
    /// The name, such as `Page.navigate`.
    pub(crate) method: &'static str,
    /// The parameters: an object.
    pub(crate) params: Value,
    /// The session of the tab; `None` for the browser as a whole.
    pub(crate) session: Option<String>,
}

impl CdpCommand {
    /// A command to a tab.
    pub(crate) fn to_tab(session: &str, method: &'static str, params: Value) -> Self {
        Self {
            method,
            params,
            session: Some(session.to_owned()),
        }
    }

    /// A command to the browser as a whole.
    pub(crate) fn to_browser(method: &'static str, params: Value) -> Self {
        Self {
            method,
            params,
            session: None,
        }
    }

    /// The message with its number, ready to be sent.
    pub(super) fn encode(&self, id: u64) -> Vec<u8> {
        let mut message = json!({"id": id, "method": self.method, "params": self.params});
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        bytes
    }
}

/// Something that happened in the browser.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CdpEvent {
    /// The name, such as `Page.frameNavigated`.
    pub(crate) method: String,
    /// The parameters.
    pub(crate) params: Value,
    /// The session of the tab; `None` for the browser as a whole.
    pub(crate) session: Option<String>,
}

/// A message of the browser.
#[derive(Debug, PartialEq)]
pub(super) enum CdpIncoming {
    /// The answer to the command of this number: its result, or why it was refused.
    Answer(u64, Result<Value, String>),
    /// An event.
    Event(CdpEvent),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawMessage {
    id: Option<u64>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    #[serde(default)]
    result: Value,
    error: Option<RawError>,
    session_id: Option<String>,
}

#[derive(Deserialize)]
struct RawError {
    #[serde(default)]
    message: String,
}

impl CdpIncoming {
    /// Reads a message without its zero byte; `None` if it is none.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let raw: RawMessage = serde_json::from_slice(bytes).ok()?;
        match (raw.id, raw.method) {
            (Some(id), _) => {
                let answer = match raw.error {
                    Some(error) => Err(error.message),
                    None => Ok(raw.result),
                };
                Some(Self::Answer(id, answer))
            }
            (None, Some(method)) => Some(Self::Event(CdpEvent {
                method,
                params: raw.params,
                session: raw.session_id,
            })),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_an_answer_an_event_or_neither() {
        let read = |text: &str| CdpIncoming::read(text.as_bytes());
        assert_eq!(
            read(r#"{"id":7,"result":{"a":1},"sessionId":"S"}"#),
            Some(CdpIncoming::Answer(7, Ok(json!({"a": 1}))))
        );
        assert_eq!(
            read(r#"{"id":7,"error":{"code":-32000,"message":"no"}}"#),
            Some(CdpIncoming::Answer(7, Err("no".to_owned())))
        );
        let event = CdpEvent {
            method: "Page.x".to_owned(),
            params: json!({"b": 2}),
            session: Some("S".to_owned()),
        };
        assert_eq!(
            read(r#"{"method":"Page.x","params":{"b":2},"sessionId":"S"}"#),
            Some(CdpIncoming::Event(event))
        );
        for odd in ["", "{}", "[1]", "\"a\"", r#"{"id":-1}"#, r#"{"method":7}"#] {
            assert_eq!(read(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_command_ends_with_a_zero_byte() {
        let bytes = CdpCommand::to_tab("S", "A.b", json!({"c": 1})).encode(3);
        let (last, message) = bytes.split_last().unwrap();
        let message: Value = serde_json::from_slice(message).unwrap();
        assert_eq!(
            (*last, message),
            (
                0,
                json!({"id": 3, "method": "A.b", "params": {"c": 1}, "sessionId": "S"})
            )
        );
    }
}
