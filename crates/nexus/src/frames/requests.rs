//! Frames and bodies from clients: a message, a command, and three that NEXUS does not have (a proof of a
//! key, a decision about a call, and stopping a run).

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A message to the agent: the payload of `user_message`, and the body of `POST /chat`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct NexusMessage {
    /// The words.
    pub content: String,
    /// The time by the client's clock, in UTC. NEXUS's clients may send an empty text for none.
    #[serde(default)]
    pub client_timestamp_utc: Option<String>,
    /// The time zone of the client: UTC minus local time in minutes, -480 in Shanghai.
    #[serde(default)]
    pub client_timezone_offset: Option<i32>,
    /// A second message with the same key is the same message. NEXUS has no such field.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

/// A command: the payload of `system_command`, and the body of `POST /commands/execute`. The signature in
/// `auth` is not read: it has neither nonce nor expiry, so whoever saw it once could send it again.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct NexusCommand {
    /// The line, such as `/ping`.
    pub command: String,
    /// Words behind it.
    #[serde(default)]
    pub args: Vec<String>,
}

/// The proof of a key over the challenge of this connection.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct NexusProof {
    /// The key: `ed25519:…`.
    pub public_key: String,
    /// The signature over the challenge, in base64url.
    pub signature: String,
}

/// A frame from a client of the WebSocket.
#[derive(Clone, Debug, PartialEq)]
pub enum NexusRequest {
    /// A message to the agent.
    Message(NexusMessage),
    /// A command.
    Command(NexusCommand),
    /// Proves who the client is.
    Authenticate(NexusProof),
    /// A decision about a tool call, as the body of the server's own request.
    Approval(Value),
    /// Stops the run.
    Interrupt,
    /// A sign of life, which NEXUS does not answer.
    Ping,
}

/// A frame as it is written.
#[derive(Deserialize)]
struct RawNexusFrame {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    payload: Value,
}

impl NexusMessage {
    /// Returns whether there is nothing to answer, which most models refuse.
    pub fn is_empty(&self) -> bool {
        self.content.trim().is_empty()
    }

    /// Returns the body of the server's own request for this message.
    ///
    /// The offset keeps its sign: NEXUS and this server both mean UTC minus local time. Without a time it
    /// says nothing, and NEXUS's clients send it all the same, so it is left out.
    pub fn body(&self) -> Value {
        let mut body = json!({"content": self.content});
        if let Some(time) = self
            .client_timestamp_utc
            .as_deref()
            .filter(|time| !time.is_empty())
        {
            body["client_timestamp_utc"] = json!(time);
            body["client_timezone_offset"] = json!(self.client_timezone_offset.unwrap_or(0));
        }
        if let Some(key) = &self.idempotency_key {
            body["idempotency_key"] = json!(key);
        }
        body
    }
}

/// Parses a frame of a client.
///
/// # Errors
/// Returns a message that explains the mistake and names the frames that there are.
pub fn parse_request(text: &str) -> Result<NexusRequest, String> {
    let frame: RawNexusFrame =
        serde_json::from_str(text).map_err(|error| format!("not a frame {{type, payload}}: {error}"))?;
    let RawNexusFrame { kind, payload } = frame;
    Ok(match kind.as_str() {
        "user_message" => NexusRequest::Message(payload_of(&kind, payload)?),
        "system_command" => NexusRequest::Command(payload_of(&kind, payload)?),
        "authenticate" => NexusRequest::Authenticate(payload_of(&kind, payload)?),
        "approval" => NexusRequest::Approval(payload),
        "interrupt" => NexusRequest::Interrupt,
        "ping" => NexusRequest::Ping,
        _ => {
            let kind: String = kind.chars().take(64).collect();
            return Err(format!(
                "there is no frame {kind:?}; there are user_message, system_command, authenticate, approval, \
                 interrupt and ping"
            ));
        }
    })
}

fn payload_of<T: DeserializeOwned>(kind: &str, payload: Value) -> Result<T, String> {
    serde_json::from_value(payload).map_err(|error| format!("the payload of {kind}: {error}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    fn message(content: &str, time: Option<&str>, offset: Option<i32>) -> NexusMessage {
        NexusMessage {
            content: content.into(),
            client_timestamp_utc: time.map(str::to_owned),
            client_timezone_offset: offset,
            idempotency_key: None,
        }
    }

    /// Label: from the upstream's code, for the first four rows. The others are made up.
    #[test]
    fn frames_of_clients_are_read() {
        let (time, offset) = ("2026-11-21T10:00:00Z", -480);
        let said = json!({
            "content": "你好", "client_timestamp_utc": time, "client_timezone_offset": offset,
        });
        let command = json!({"command": "/identity", "auth": {"publicKey": "0x1", "signature": "0x2"}});
        let proof = json!({"public_key": "ed25519:a", "signature": "b"});
        let decision = json!({"tool_call_id": "call_1", "decision": "once"});
        let table = [
            (
                json!({"type": "user_message", "payload": said}),
                NexusRequest::Message(message("你好", Some(time), Some(offset))),
            ),
            (
                json!({"type": "system_command", "payload": command}),
                NexusRequest::Command(NexusCommand {
                    command: "/identity".into(),
                    args: vec![],
                }),
            ),
            (json!({"type": "ping"}), NexusRequest::Ping),
            (json!({"type": "ping", "payload": {}}), NexusRequest::Ping),
            (
                json!({"type": "authenticate", "payload": proof}),
                NexusRequest::Authenticate(NexusProof {
                    public_key: "ed25519:a".into(),
                    signature: "b".into(),
                }),
            ),
            (json!({"type": "interrupt"}), NexusRequest::Interrupt),
            (
                json!({"type": "approval", "payload": decision}),
                NexusRequest::Approval(decision),
            ),
        ];
        for (text, expected) in table {
            assert_eq!(parse_request(&text.to_string()), Ok(expected), "{text}");
        }
    }

    /// Made up.
    #[test]
    fn a_frame_with_a_mistake_is_refused_with_its_place() {
        for (text, said) in [
            ("", "not a frame"),
            ("[]", "not a frame"),
            (r#"{"payload":{}}"#, "missing field `type`"),
            (r#"{"type":"yu_input"}"#, "there is no frame \"yu_input\""),
            (r#"{"type":"user_message"}"#, "the payload of user_message"),
            (
                r#"{"type":"user_message","payload":{"content":7}}"#,
                "expected a string",
            ),
            (
                r#"{"type":"system_command","payload":{}}"#,
                "missing field `command`",
            ),
        ] {
            let refused = parse_request(text).unwrap_err();
            assert!(refused.contains(said), "{text}: {refused}");
        }
        let long = format!(r#"{{"type":"{}"}}"#, "x".repeat(5_000));
        assert!(parse_request(&long).unwrap_err().len() < 300);
    }

    #[test]
    fn the_sign_of_the_offset_is_kept_and_an_offset_without_a_time_says_nothing() {
        let time = "2025-12-11T03:00:00Z";
        for (message, body) in [
            (
                message("hi", Some(time), Some(-480)),
                json!({"content": "hi", "client_timestamp_utc": time, "client_timezone_offset": -480}),
            ),
            (
                message("hi", Some(time), None),
                json!({"content": "hi", "client_timestamp_utc": time, "client_timezone_offset": 0}),
            ),
            (message("hi", Some(""), Some(0)), json!({"content": "hi"})),
            (message("hi", None, Some(-480)), json!({"content": "hi"})),
        ] {
            assert!(!message.is_empty());
            assert_eq!(message.body(), body);
        }
        assert!(message(" \n", None, None).is_empty());
    }
}
