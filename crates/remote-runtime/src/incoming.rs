//! What a server sends, told apart: a fact of a session, a notice, or something that is not for this client.
//!
//! ```text
//! {"seq":7,"session_id":"ses_1", … }            a fact
//! {"seq":7,"index":0,"session_id":"ses_1", … }  what somebody derived from it: not asked for, passed over
//! {"kind":"heartbeat", … }                      a notice
//! {"seq":7,"session_id":"ses_1", ?? }           strange: a fact of a newer version
//! ```
//!
//! A frame that is none of these makes the whole connection untrustworthy, and it is made again. A strange
//! fact ends only its session, because what comes after it may depend on it.

use std::sync::Arc;

use agentx_types::wire::ServerNotice;
use agentx_types::{Envelope, EnvironmentEvent, SessionId};
use serde::Deserialize;

/// One frame of a server.
#[derive(Clone, Debug, PartialEq)]
pub enum IncomingFrame {
    /// A fact, and how many bytes its frame has.
    Fact(Arc<Envelope<EnvironmentEvent>>, usize),
    /// Something about the connection or the people on it.
    Notice(Box<ServerNotice>),
    /// An event whose payload this version does not understand.
    Strange {
        /// The session that cannot be followed past it.
        session_id: SessionId,
        /// The place of the event in its log.
        seq: u64,
        /// What is wrong with it.
        what: String,
    },
    /// Well formed, and nothing that was asked for.
    Other,
}

/// The parts by which frames are told apart.
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
    // Our servers write the `seq` first; others pay for a second look.
    if text.starts_with("{\"seq\":")
        && let Ok(fact) = serde_json::from_str::<Envelope<EnvironmentEvent>>(text)
    {
        return Ok(of_envelope(fact, text.len()));
    }
    let peek: Peek = serde_json::from_str(text).map_err(|error| format!("invalid frame: {error}"))?;
    let Some(seq) = peek.seq else {
        let notice = serde_json::from_str::<ServerNotice>(text);
        return notice
            .map(|notice| IncomingFrame::Notice(Box::new(notice)))
            .map_err(|error| format!("a notice that is none: {error}"));
    };
    if peek.index.is_some() {
        return Ok(IncomingFrame::Other);
    }
    match (
        serde_json::from_str::<Envelope<EnvironmentEvent>>(text),
        peek.session_id,
    ) {
        (Ok(fact), _) => Ok(of_envelope(fact, text.len())),
        (Err(error), Some(session_id)) => Ok(IncomingFrame::Strange {
            session_id,
            seq,
            what: error.to_string(),
        }),
        (Err(error), None) => Err(format!("an event that is none: {error}")),
    }
}

/// Facts have no index; what has one is what somebody derived from them, and is derived here instead.
fn of_envelope(fact: Envelope<EnvironmentEvent>, bytes: usize) -> IncomingFrame {
    if fact.index.is_some() {
        return IncomingFrame::Other;
    }
    IncomingFrame::Fact(Arc::new(fact), bytes)
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
