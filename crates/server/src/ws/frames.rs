//! The frames of a connection as bytes: parsing frames of clients, and answers that name their ids.

use agentx_types::wire::{Accepted, Bye, ClientFrame, ClientRequest, Problem, Refused, ServerNotice};
use agentx_types::{SessionId, UiEvent, Vocabulary as _};
use axum::extract::ws::Utf8Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::limits::size_limits::shortened as cut;
use crate::problems::problem;

/// The largest length of a frame's id, in characters.
const ID_CHARS: usize = 64;
/// The number of bytes of an unreadable frame in which its id is searched.
const ID_WITHIN: usize = 64 * 1024;

/// The reason why a connection ends.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ConnectionEnd {
    /// The client is gone.
    Gone,
    /// The server closes it.
    Bye(Bye),
}

impl ConnectionEnd {
    /// Returns the end for a client that broke a rule: a retry would end in the same way.
    pub(super) fn not_allowed(reason: &str) -> Self {
        Self::bye(1008, reason, None)
    }

    /// Returns the end for a person who is no longer trusted.
    pub(super) fn not_trusted() -> Self {
        Self::not_allowed("this server no longer trusts this key")
    }

    /// Returns the end for a server that shuts down.
    pub(super) fn shutdown() -> Self {
        Self::bye(1001, "the server ends", Some(1000))
    }

    /// Returns the end for a client that is too slow.
    pub(super) fn too_slow() -> Self {
        let reason = "too slow: the server's buffer for this reader is full; reconnect from the last event that you have";
        Self::bye(1013, reason, Some(1000))
    }

    pub(super) fn bye(code: u16, reason: &str, retry_after_ms: Option<u64>) -> Self {
        Self::Bye(Bye {
            code,
            reason: reason.to_owned(),
            retry_after_ms,
        })
    }
}

/// Parses a frame of a client.
///
/// # Errors
/// Returns the answer to the client if the frame cannot be parsed.
pub(super) fn parse(text: &str) -> Result<(String, ClientRequest), UnreadableFrame> {
    let frame: ClientFrame = serde_json::from_str(text).map_err(|error| {
        let id = id_of(text);
        let what = format!("not a frame of the protocol: {error}");
        (id, problem("bad_frame", &what))
    })?;
    if frame.id.chars().count() > ID_CHARS {
        let what = format!("the id of a frame has at most {ID_CHARS} characters");
        return Err((None, problem("bad_frame", &what)));
    }
    if let ClientRequest::Unknown(unknown) = &frame.request {
        let what = format!(
            "this server knows no frame {:?}; it knows {}",
            shortened(&unknown.tag),
            ClientRequest::TAGS.join(", ")
        );
        return Err((Some(frame.id), problem("unknown_type", &what)));
    }
    Ok((frame.id, frame.request))
}

fn shortened(text: &str) -> &str {
    text.char_indices()
        .nth(ID_CHARS)
        .map_or(text, |(end, _)| &text[..end])
}

/// Returns the id of an unreadable frame.
pub(super) fn id_of(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct OnlyId {
        id: String,
    }
    if text.len() > ID_WITHIN {
        return None;
    }
    let OnlyId { id } = serde_json::from_str(text).ok()?;
    (id.chars().count() <= ID_CHARS).then_some(id)
}

/// The problem of an unreadable frame, with its id, if it has one.
pub(super) type UnreadableFrame = (Option<String>, Box<Problem>);

pub(super) fn refusal_notice(id: Option<String>, problem: &Problem) -> ServerNotice {
    let mut problem = problem.clone();
    problem.detail = cut(problem.detail);
    Refused { id, problem }.into()
}

pub(super) fn accepted(id: String, seq: Option<u64>, result: Value) -> ServerNotice {
    Accepted { id, seq, result }.into()
}

/// Returns an event of the view `ui` that follows from no fact.
pub(super) fn ui_frame(session: &SessionId, event: &UiEvent) -> Utf8Bytes {
    let mut frame = json!({"session_id": session});
    if let (Value::Object(frame), Ok(Value::Object(event))) = (&mut frame, serde_json::to_value(event)) {
        frame.extend(event);
    }
    Utf8Bytes::from(frame.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    fn code(text: &str) -> (Option<String>, String) {
        let (id, problem) = parse(text).unwrap_err();
        (id, problem.code)
    }

    #[test]
    fn what_cannot_be_understood_is_answered_by_its_id_if_it_has_one() {
        assert_eq!(code("{"), (None, "bad_frame".into()));
        assert_eq!(code("[]"), (None, "bad_frame".into()));
        assert_eq!(code("7"), (None, "bad_frame".into()));
        let wrong = r#"{"type":"subscribe","id":"a","payload":{}}"#;
        assert_eq!(code(wrong), (Some("a".into()), "bad_frame".into()));
        let newer = r#"{"type":"teleport","id":"b","payload":{"to":[1]}}"#;
        assert_eq!(code(newer), (Some("b".into()), "unknown_type".into()));
        let long = format!(r#"{{"type":"ping","id":"{}"}}"#, "x".repeat(65));
        assert_eq!(code(&long), (None, "bad_frame".into()));
        let deep = format!(
            r#"{{"type":"ping","id":"d","payload":{}{}}}"#,
            "[".repeat(5000),
            "]".repeat(5000)
        );
        assert_eq!(code(&deep).1, "bad_frame");
    }

    #[test]
    fn an_event_without_a_place_names_its_session() {
        let event = agentx_types::UiConnectionState { visitor: true }.into();
        assert_eq!(
            ui_frame(&"ses_1".into(), &event).as_str(),
            r#"{"session_id":"ses_1","event":"connection_state","payload":{"visitor":true}}"#
        );
    }
}
