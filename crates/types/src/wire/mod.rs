//! Frames of a connection other than events of a session: requests of a client, and notices of a server.
//!
//! A client sends `{"type":…,"id":…,"payload":{…}}`; each of its frames is answered by `accepted` or
//! `refused` with that id. A server sends events as [`Envelope`](crate::Envelope)s, which have a `seq`, and
//! these, which have none: `{"event":…,"payload":{…}}`.

mod frame;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use frame::ClientFrame;

pub use crate::message_content::{MOST_PARTS, text_or_parts};
use crate::vocabulary::{payloads, vocabulary};
use crate::{
    AgentStateId, AnswerSchema, ApprovalDecision, ContentPart, InputMode, Medium, OwnerId, Rule, Seat,
    SessionId, SessionRole, ToolCallId, WheelReason,
};

/// The version of the protocol, in the first frame of a server.
pub const PROTOCOL: u32 = 1;
/// The WebSocket subprotocol of this version.
pub const SUBPROTOCOL: &str = "agentx.v1";
/// The beginning of a subprotocol that carries a token, for browsers, which cannot set headers.
pub const BEARER_SUBPROTOCOL: &str = "agentx.bearer.";
/// The header in which a client sends its own nonce. The server proves that it has its key with a signature
/// over the nonce.
pub const NONCE_HEADER: &str = "agentx-nonce";

/// The events that a subscriber gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WireView {
    /// The facts, for mirrors.
    Environment,
    /// The RuntimeEvents.
    #[default]
    Runtime,
    /// A small projection, for simple clients.
    Ui,
}

vocabulary! {
    /// A request of a client.
    pub enum ClientRequest {
        /// Identifies the client, once, before anything else.
        Authenticate = "authenticate",
        /// Sends an input to the agent.
        UserInputFrame = "user_message",
        /// Gives the system a command.
        CommandFrame = "system_command",
        /// Decides about a tool call.
        ApprovalFrame = "approval",
        /// Stops the current run.
        InterruptFrame = "interrupt",
        /// Subscribes to the events of a session from a point on, without gaps or duplicates.
        Subscribe = "subscribe",
        /// Ends a subscription.
        Unsubscribe = "unsubscribe",
        /// Asks for the wheel, takes it, hands it over or lets it go.
        WheelFrame = "wheel",
        /// Asks for a sign of life.
        Ping = "ping",
    }
}

vocabulary! {
    /// A notice of a server, besides events.
    pub enum ServerNotice {
        /// The first frame: the protocol's version, and the challenge to sign.
        Hello = "hello",
        /// The client's frame with this id was carried out.
        Accepted = "accepted",
        /// The client's frame with this id was refused.
        Refused = "refused",
        /// A subscription began; its events follow.
        Subscribed = "subscribed",
        /// All events that existed at its start have been sent.
        CaughtUp = "caught_up",
        /// A subscription ended before the client ended it.
        Unsubscribed = "unsubscribed",
        /// The connected people.
        Presence = "presence",
        /// The driver, and the person who asks to drive.
        Wheel = "wheel",
        /// A call in a member's session waits for a decision.
        ApprovalWaiting = "approval_waiting",
        /// A sign of life, in both directions.
        Heartbeat = "ping",
        /// The connection ends.
        Bye = "bye",
    }
}

/// A client's request about the wheel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WheelWish {
    /// Asks the holder for the wheel; after some time without an answer it may be taken.
    Ask,
    /// Takes the wheel if it is free, or if its holder is away or did not answer the request.
    Take,
    /// Hands it to another seat.
    Hand(Seat),
    /// Releases it.
    Release,
}

payloads! {
    /// Identifies the client, once, before anything else.
    Authenticate {
        /// `ed25519:` and the key's 32 bytes in base64url; absent for a visitor.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        public_key: Option<String>,
        /// The signature over the server's challenge, base64url; absent for a visitor.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        /// The program's name for itself; the same after a reconnect. At most 64 characters.
        client: String,
    }
    /// Sends an input to the agent.
    UserInputFrame {
        /// The session.
        session_id: SessionId,
        /// The content parts, or a text.
        #[serde(deserialize_with = "text_or_parts")]
        #[cfg_attr(
            feature = "schema",
            schemars(schema_with = "crate::message_content::text_or_parts_schema")
        )]
        content: Vec<ContentPart>,
        /// The time at which the agent handles it.
        #[serde(default)]
        mode: InputMode,
        /// Identifies the message: one that is sent again with the same key is not recorded twice.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idempotency_key: Option<String>,
        /// The time of the input by the client's clock: ISO 8601, UTC. The model reads it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client_timestamp_utc: Option<String>,
        /// The client's time zone: UTC minus local time, in minutes, as JavaScript's `getTimezoneOffset`
        /// returns it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client_timezone_offset: Option<i32>,
        /// The wheel that the client believes it holds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wheel_epoch: Option<u64>,
        /// The schema of the answer, if it opens a run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer_schema: Option<Arc<AnswerSchema>>,
    }
    /// Gives the system a command: `rename`, `change`, `revise`, `share`.
    CommandFrame {
        /// The session.
        session_id: SessionId,
        /// The command's name.
        command: String,
        /// The arguments.
        #[serde(default)]
        args: Value,
        /// The wheel that the client believes it holds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wheel_epoch: Option<u64>,
        /// Identifies the request: one that is sent again with the same key is not carried out twice.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idempotency_key: Option<String>,
    }
    /// Decides about a tool call.
    ApprovalFrame {
        /// The session.
        session_id: SessionId,
        /// The call.
        tool_call_id: ToolCallId,
        /// The decision.
        decision: ApprovalDecision,
        /// A word to the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        /// For `session` and `always`: the rule to keep; by default the one that was suggested.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<Box<Rule>>,
    }
    /// Stops the current run.
    InterruptFrame {
        /// The session.
        session_id: SessionId,
        /// The reason, if one was given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The wheel that the client believes it holds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wheel_epoch: Option<u64>,
        /// Identifies the request: one that is sent again with the same key is not carried out twice.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idempotency_key: Option<String>,
    }
    /// Subscribes to the events of a session from a point on.
    Subscribe {
        /// The session. Each connection has at most one subscription per session.
        session_id: SessionId,
        /// The `seq` after which events are sent; 0 for all.
        #[serde(default)]
        after_seq: u64,
        /// The kind of events.
        #[serde(default)]
        view: WireView,
        /// Only events of these agents, and those of no agent; empty means all events.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        agents: Vec<AgentStateId>,
        /// The media of agent streams to include; all if empty.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        media: Vec<Medium>,
    }
    /// Ends a subscription.
    Unsubscribe {
        /// The session.
        session_id: SessionId,
    }
    /// Requests a change of the wheel.
    WheelFrame {
        /// The session.
        session_id: SessionId,
        /// The request.
        wish: WheelWish,
    }
    /// Asks for a sign of life.
    Ping {}

    /// The first frame of a server.
    Hello {
        /// The version of the protocol.
        protocol: u32,
        /// The server, with its version.
        server: String,
        /// A random value for this connection only; base64url.
        nonce: String,
        /// The origin to sign: the address that the client connected to, as the server knows it.
        origin: String,
        /// The end of the validity of a signature: milliseconds since 1970.
        expires_at_ms: u64,
        /// The server's signature over its challenge and the client's own nonce (header `agentx-nonce`), if
        /// there is one; base64url.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<String>,
        /// Whether unauthenticated visitors may connect.
        visitors: bool,
        /// The interval of heartbeats in milliseconds; after twice this time without any frame the connection
        /// is dead.
        heartbeat_ms: u64,
    }
    /// The client's frame with this id was carried out.
    Accepted {
        /// The id of the request.
        id: String,
        /// The event that it became, if it became one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seq: Option<u64>,
        /// The outcome.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        result: Value,
    }
    /// The server refused the client's frame with this id.
    Refused {
        /// The id of the frame; absent if the frame had none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// The reason.
        problem: Problem,
    }
    /// A subscription began.
    Subscribed {
        /// The session.
        session_id: SessionId,
        /// The view.
        view: WireView,
        /// The events follow this `seq`.
        after_seq: u64,
        /// The last event when it began.
        head_seq: u64,
        /// The reader's role.
        role: SessionRole,
    }
    /// All events that existed at the start of a subscription have been sent.
    CaughtUp {
        /// The session.
        session_id: SessionId,
        /// The last event that was there.
        seq: u64,
    }
    /// A subscription ended before the client ended it.
    Unsubscribed {
        /// The session.
        session_id: SessionId,
        /// The reason.
        problem: Problem,
    }
    /// The connected people.
    Presence {
        /// The session.
        session_id: SessionId,
        /// The people.
        people: Vec<Present>,
    }
    /// A person who is present.
    Present {
        /// The seat: the person and the program.
        seat: Seat,
        /// The person's role.
        role: SessionRole,
        /// Whether they drive.
        driving: bool,
    }
    /// The driver, and the person who asks to drive.
    Wheel {
        /// The session.
        session_id: SessionId,
        /// The number of changes so far.
        epoch: u64,
        /// The driver; absent if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seat: Option<Seat>,
        /// The reason for the last change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<WheelReason>,
        /// The person who asks to drive.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked_by: Option<Seat>,
    }
    /// A call in a session of a member waits for the operator of the server or a person whom they named.
    ApprovalWaiting {
        /// The session.
        session_id: SessionId,
        /// The owner of the session.
        owner: OwnerId,
        /// The name of the owner at the server.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner_name: Option<String>,
        /// The call.
        tool_call_id: ToolCallId,
        /// The tool's name.
        name: String,
    }
    /// A sign of life.
    #[cfg_attr(feature = "schema", schemars(rename = "HeartbeatNotice"))]
    Heartbeat {
        /// The server's time: microseconds since 1970.
        at: i64,
        /// The progress of subscriptions that request only a part of their session.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        seen: Vec<Seen>,
    }
    /// The progress of a subscription.
    Seen {
        /// The session.
        session_id: SessionId,
        /// All selected events up to this one have been sent.
        seq: u64,
    }
    /// The connection ends.
    Bye {
        /// The WebSocket's close code: 1001 the server ends, 1008 not allowed, 1013 too slow.
        code: u16,
        /// The reason for people.
        reason: String,
        /// The time until a new attempt makes sense, in milliseconds; absent if none does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
    }
    /// An error; over HTTP also as `application/problem+json`.
    Problem {
        /// The code for programs; it is stable.
        code: String,
        /// The message for people: the error, its place, and advice.
        detail: String,
        /// The time until a new attempt, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
        /// More data, which depends on the code.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        data: Value,
    }
    /// A person as a server knows them.
    Person {
        /// The person's id.
        person: OwnerId,
        /// Their name, if the server has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Whether they are anonymous.
        visitor: bool,
    }
}
