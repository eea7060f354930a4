//! Frames of a connection that are no events of a session: what a client asks, and what a server says beside events.
//!
//! A client sends `{"type":…,"id":…,"payload":{…}}`; each of its frames is answered by `accepted` or `refused` with that
//! id. A server sends events as [`Envelope`](crate::Envelope)s, which have a `seq`, and these, which have none:
//! `{"event":…,"payload":{…}}`.

mod frame;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use frame::ClientFrame;

pub use crate::message_content::{MOST_PARTS, text_or_parts};
use crate::vocabulary::{payloads, vocabulary};
use crate::{
    AgentStateId, ApprovalDecision, ContentPart, InputMode, Medium, OwnerId, Rule, Seat, SessionId,
    SessionRole, ToolCallId, WheelReason,
};

/// The version of the protocol, in the first frame of a server.
pub const PROTOCOL: u32 = 1;
/// The WebSocket subprotocol of this version.
pub const SUBPROTOCOL: &str = "agentx.v1";
/// The beginning of a subprotocol that carries a token, for browsers, which cannot set headers.
pub const BEARER_SUBPROTOCOL: &str = "agentx.bearer.";
/// The header in which a client sends a nonce of its own. The server proves that it has its key by a signature over the nonce.
pub const NONCE_HEADER: &str = "agentx-nonce";

/// Which events a subscriber gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WireView {
    /// The facts, for mirrors.
    Environment,
    /// What they mean.
    #[default]
    Runtime,
    /// A small projection, for simple clients.
    Ui,
}

vocabulary! {
    /// What a client asks.
    pub enum ClientRequest {
        /// Says who it is, once, before anything else.
        Authenticate = "authenticate",
        /// Says something to the agent.
        UserInputFrame = "user_message",
        /// Gives the system a command.
        CommandFrame = "system_command",
        /// Decides about a tool call.
        ApprovalFrame = "approval",
        /// Stops what runs.
        InterruptFrame = "interrupt",
        /// Wants the events of a session from a point on, without a gap or a double.
        Subscribe = "subscribe",
        /// Wants them no more.
        Unsubscribe = "unsubscribe",
        /// Asks for the wheel, takes it, hands it over or lets it go.
        WheelFrame = "wheel",
        /// Wants a sign of life.
        Ping = "ping",
    }
}

vocabulary! {
    /// What a server says beside events.
    pub enum ServerNotice {
        /// The first frame: what is spoken here, and what has to be signed.
        Hello = "hello",
        /// The client's frame with this id was done.
        Accepted = "accepted",
        /// It was not.
        Refused = "refused",
        /// A subscription began; its events follow.
        Subscribed = "subscribed",
        /// All that was there when it began has been sent.
        CaughtUp = "caught_up",
        /// A subscription ended before the client wanted it to.
        Unsubscribed = "unsubscribed",
        /// Who is there.
        Presence = "presence",
        /// Who drives, and who would like to.
        Wheel = "wheel",
        /// A call in a session of a member waits for somebody who decides.
        ApprovalWaiting = "approval_waiting",
        /// A sign of life, in both directions.
        Heartbeat = "ping",
        /// The connection ends.
        Bye = "bye",
    }
}

/// What a client wants with the wheel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WheelWish {
    /// Whoever has it is asked for it; after some time without an answer it may be taken.
    Ask,
    /// To have it: where nobody has it, where who has it is gone, or was asked and said nothing.
    Take,
    /// Somebody else is to have it.
    Hand(Seat),
    /// Nobody is to have it.
    Release,
}

payloads! {
    /// Says who it is, once, before anything else.
    Authenticate {
        /// `ed25519:` and the key's 32 bytes in base64url; absent for a visitor.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        public_key: Option<String>,
        /// The signature over the server's challenge, base64url; absent for a visitor.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        /// What this program calls itself; the same when it connects again. At most 64 characters.
        client: String,
    }
    /// Says something to the agent.
    UserInputFrame {
        /// In which session.
        session_id: SessionId,
        /// What: content parts, or a text.
        #[serde(deserialize_with = "text_or_parts")]
        #[cfg_attr(
            feature = "schema",
            schemars(schema_with = "crate::schema::text_or_parts")
        )]
        content: Vec<ContentPart>,
        /// When it is looked at.
        #[serde(default)]
        mode: InputMode,
        /// A second message with the same key is the same message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idempotency_key: Option<String>,
        /// When it was said, by the client's clock: ISO 8601, UTC. The model is told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client_timestamp_utc: Option<String>,
        /// The client's time zone: UTC minus local time, in minutes, as JavaScript's `getTimezoneOffset` says it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client_timezone_offset: Option<i32>,
        /// The wheel that the client believes it holds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wheel_epoch: Option<u64>,
    }
    /// Gives the system a command: `rename`, `change`, `revise`, `share`.
    CommandFrame {
        /// In which session.
        session_id: SessionId,
        /// Its name.
        command: String,
        /// Its arguments.
        #[serde(default)]
        args: Value,
        /// The wheel that the client believes it holds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wheel_epoch: Option<u64>,
    }
    /// Decides about a tool call.
    ApprovalFrame {
        /// In which session.
        session_id: SessionId,
        /// Which call.
        tool_call_id: ToolCallId,
        /// What is decided.
        decision: ApprovalDecision,
        /// A word to the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        /// For `session` and `always`: the rule to keep; by default the one that was suggested.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<Box<Rule>>,
    }
    /// Stops what runs.
    InterruptFrame {
        /// In which session.
        session_id: SessionId,
        /// Why, if it is said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The wheel that the client believes it holds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wheel_epoch: Option<u64>,
    }
    /// Wants the events of a session from a point on.
    Subscribe {
        /// Which session. One subscription a session and connection.
        session_id: SessionId,
        /// After which event; 0 for all.
        #[serde(default)]
        after_seq: u64,
        /// Which events.
        #[serde(default)]
        view: WireView,
        /// Only events of these agents, and those of no agent; all where it is empty.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        agents: Vec<AgentStateId>,
        /// Of what agents stream, only these media; all where it is empty.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        media: Vec<Medium>,
    }
    /// Wants them no more.
    Unsubscribe {
        /// Which session.
        session_id: SessionId,
    }
    /// Wants something with the wheel.
    WheelFrame {
        /// Of which session.
        session_id: SessionId,
        /// What.
        wish: WheelWish,
    }
    /// Wants a sign of life.
    Ping {}

    /// The first frame of a server.
    Hello {
        /// The version of the protocol.
        protocol: u32,
        /// The server, with its version.
        server: String,
        /// Random, for this connection alone; base64url.
        nonce: String,
        /// The origin that has to be signed: what the client connected to, as the server knows itself.
        origin: String,
        /// Until when a signature counts: milliseconds since 1970.
        expires_at_ms: u64,
        /// The server's signature over its challenge and the client's own nonce (header `agentx-nonce`), where there is one; base64url.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<String>,
        /// Whether somebody who does not say who they are is let in.
        visitors: bool,
        /// How often a heartbeat comes, in milliseconds; twice as long without any frame means that the connection is dead.
        heartbeat_ms: u64,
    }
    /// The client's frame with this id was done.
    Accepted {
        /// Which.
        id: String,
        /// The event that it became, if it became one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seq: Option<u64>,
        /// What came of it.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        result: Value,
    }
    /// The client's frame with this id was not done.
    Refused {
        /// Which; absent where the frame had none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// Why.
        problem: Problem,
    }
    /// A subscription began.
    Subscribed {
        /// To which session.
        session_id: SessionId,
        /// In which view.
        view: WireView,
        /// Its events come after this one.
        after_seq: u64,
        /// The last event when it began.
        head_seq: u64,
        /// What the reader may do.
        role: SessionRole,
    }
    /// All that was there when a subscription began has been sent.
    CaughtUp {
        /// Of which session.
        session_id: SessionId,
        /// The last event that was there.
        seq: u64,
    }
    /// A subscription ended before the client wanted it to.
    Unsubscribed {
        /// Of which session.
        session_id: SessionId,
        /// Why.
        problem: Problem,
    }
    /// Who is there.
    Presence {
        /// In which session.
        session_id: SessionId,
        /// Them.
        people: Vec<Present>,
    }
    /// Somebody who is there.
    Present {
        /// Who, and with which program.
        seat: Seat,
        /// What they may do.
        role: SessionRole,
        /// Whether they drive.
        driving: bool,
    }
    /// Who drives, and who would like to.
    Wheel {
        /// Of which session.
        session_id: SessionId,
        /// Counts the changes.
        epoch: u64,
        /// Who drives; absent where nobody does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seat: Option<Seat>,
        /// Why it changed last.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<WheelReason>,
        /// Who asks for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked_by: Option<Seat>,
    }
    /// A call in a session of a member waits for the operator of the server or somebody whom they named.
    ApprovalWaiting {
        /// In which session.
        session_id: SessionId,
        /// Whose session it is.
        owner: OwnerId,
        /// What they are called at the server.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner_name: Option<String>,
        /// Which call.
        tool_call_id: ToolCallId,
        /// Of which tool.
        name: String,
    }
    /// A sign of life.
    #[cfg_attr(feature = "schema", schemars(rename = "HeartbeatNotice"))]
    Heartbeat {
        /// The server's time: microseconds since 1970.
        at: i64,
        /// How far subscriptions have come that want only a part of their session.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        seen: Vec<Seen>,
    }
    /// How far a subscription has come.
    Seen {
        /// To which session.
        session_id: SessionId,
        /// All that is wanted of the events up to this one has been sent.
        seq: u64,
    }
    /// The connection ends.
    Bye {
        /// As the WebSocket's close code: 1001 the server ends, 1008 not allowed, 1013 too slow.
        code: u16,
        /// For people.
        reason: String,
        /// When to come back, in milliseconds; absent where that makes no sense.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
    }
    /// What went wrong, over HTTP as `application/problem+json` too.
    Problem {
        /// Stable, for programs.
        code: String,
        /// For people: what was wrong, where, and what to do.
        detail: String,
        /// When to try again, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
        /// More, by code.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        data: Value,
    }
    /// A person as a server knows them.
    Person {
        /// Their id.
        person: OwnerId,
        /// Their name, if the server has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Whether they have not said who they are.
        visitor: bool,
    }
}
