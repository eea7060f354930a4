//! Frames of a server: facts of sessions, notices, and frames that are not for this client.
//!
//! ```text
//! {"seq":7,"session_id":"ses_1", … }            a fact
//! {"seq":7,"index":0,"session_id":"ses_1", … }  an event derived from it: ignored
//! {"kind":"heartbeat", … }                      a notice
//! {"seq":7,"session_id":"ses_1", ?? }           strange: a fact of a newer version
//! ```
//!
//! Any other frame is a protocol error: the client drops the connection and makes a new one. A strange fact
//! ends only its session, because later facts may depend on it.

use std::sync::Arc;

use agentx_types::wire::ServerNotice;
use agentx_types::{Envelope, EnvironmentEvent, SessionId};
use serde::Deserialize;

/// A frame of a server.
#[derive(Clone, Debug, PartialEq)]
pub enum IncomingFrame {
    /// A fact, with the size of its frame in bytes.
    Fact(Arc<Envelope<EnvironmentEvent>>, usize),
    /// A notice about the connection or the people on it.
    Notice(Box<ServerNotice>),
    /// An event with a payload that this version cannot read.
    Strange {
        /// The session that cannot be followed past it.
        session_id: SessionId,
        /// The place of the event in its log.
        seq: u64,
        /// The parse error.
        what: String,
    },
    /// A well-formed event that the client did not ask for.
    Other,
}

/// The fields that tell frames apart.
#[derive(Deserialize)]
struct Peek {
    #[serde(default)]
    seq: Option<u64>,
    #[serde(default)]
    index: Option<u32>,
    #[serde(default)]
    session_id: Option<SessionId>,
}

/// Reads a text frame of a server.
pub fn read(text: &str) -> Result<IncomingFrame, String> {
    // Our servers write the `seq` first; a frame of another server is parsed twice.
    if text.starts_with("{\"seq\":")
        && let Ok(fact) = serde_json::from_str::<Envelope<EnvironmentEvent>>(text)
    {
        return of_envelope(fact, text.len());
    }
    let peek: Peek = serde_json::from_str(text).map_err(|error| format!("invalid frame: {error}"))?;
    let Some(seq) = peek.seq else {
        let notice = serde_json::from_str::<ServerNotice>(text);
        return notice
            .map(|notice| IncomingFrame::Notice(Box::new(notice)))
            .map_err(|error| format!("invalid notice: {error}"));
    };
    if peek.index.is_some() {
        return Ok(IncomingFrame::Other);
    }
    match (
        serde_json::from_str::<Envelope<EnvironmentEvent>>(text),
        peek.session_id,
    ) {
        (Ok(fact), _) => of_envelope(fact, text.len()),
        (Err(error), Some(session_id)) => Ok(IncomingFrame::Strange {
            session_id,
            seq,
            what: error.to_string(),
        }),
        (Err(error), None) => Err(format!("invalid event: {error}")),
    }
}

/// A frame with an index is a derived event. The client derives events itself, so it ignores the frame.
fn of_envelope(fact: Envelope<EnvironmentEvent>, bytes: usize) -> Result<IncomingFrame, String> {
    if fact.seq == 0 {
        return Err("invalid event: its number is 0, but the first one is 1".to_owned());
    }
    if fact.index.is_some() {
        return Ok(IncomingFrame::Other);
    }
    Ok(IncomingFrame::Fact(Arc::new(fact), bytes))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn frames_are_told_apart() {
        let fact = r#"{"seq":3,"at":1,"source":"user","session_id":"ses_1","event":"text_chunk","payload":{"text":"a"}}"#;
        let moved = r#"{"event":"text_chunk","payload":{"text":"a"},"seq":3,"at":1,"source":"user","session_id":"ses_1"}"#;
        assert!(matches!(read(fact).unwrap(), IncomingFrame::Fact(fact, _) if fact.seq == 3));
        assert!(matches!(read(moved).unwrap(), IncomingFrame::Fact(..)));
        let zero = read(&fact.replace(":3,", ":0,")).unwrap_err();
        assert!(zero.contains("its number is 0"), "{zero}");
        let derived =
            r#"{"seq":3,"index":0,"at":1,"source":"user","session_id":"s","event":"x","payload":{}}"#;
        assert_eq!(read(derived).unwrap(), IncomingFrame::Other);
        let ping = r#"{"event":"ping","payload":{"at":5}}"#;
        assert!(
            matches!(read(ping).unwrap(), IncomingFrame::Notice(notice) if matches!(*notice, ServerNotice::Heartbeat(_)))
        );
        let newer = r#"{"event":"fireworks","payload":[1]}"#;
        assert!(
            matches!(read(newer).unwrap(), IncomingFrame::Notice(notice) if matches!(*notice, ServerNotice::Unknown(_)))
        );
    }

    #[test]
    fn an_event_of_a_newer_version_is_kept_and_one_of_a_strange_shape_is_named() {
        let newer =
            r#"{"seq":3,"at":1,"source":"user","session_id":"s","event":"fireworks","payload":{"n":1}}"#;
        let IncomingFrame::Fact(fact, _) = read(newer).unwrap() else {
            panic!("no fact")
        };
        assert_eq!(serde_json::to_string(&*fact).unwrap(), newer);
        let strange =
            r#"{"seq":3,"at":1,"source":"user","session_id":"s","event":"text_chunk","payload":{"words":1}}"#;
        assert!(matches!(
            read(strange).unwrap(),
            IncomingFrame::Strange { seq: 3, .. }
        ));
    }

    #[test]
    fn garbage_is_said_to_be_that() {
        for garbage in [
            "",
            "{",
            "nonsense",
            "[1]",
            "{\"event\":7}",
            "{\"payload\":{}}",
            "{\"seq\":-1}",
            "null",
        ] {
            assert!(read(garbage).is_err(), "{garbage}");
        }
    }

    proptest::proptest! {
        #[test]
        fn whatever_comes_is_read_or_refused(text in ".*", seq in proptest::prelude::any::<u64>()) {
            let _ = read(&text);
            let _ = read(&format!("{{\"seq\":{text}"));
            let _ = read(&format!("{{\"seq\":{seq},\"event\":\"text_chunk\",\"payload\":{text}}}"));
        }
    }
}
