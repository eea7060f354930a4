//! The reading half of a connection: authenticates the client, reads its frames, and answers each.

use std::sync::Arc;
use std::time::Instant;

use agentx_identity::AuthChallenge;
use agentx_types::wire::{Authenticate, ClientRequest, Hello, PROTOCOL, Person, Problem, ServerNotice};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{self, Message};

use super::SocketOpening;
use super::allowance::VISITOR_BYTES;
use super::frames::{ConnectionEnd, accepted, id_of, parse, refusal_notice};
use super::rate_limiter::{FrameAdmission, RateLimiter};
use super::shared::SocketShared;
use super::wire::ClientStream;
use crate::auth::caller::Caller;
use crate::auth::{Identity, check_client};
use crate::members::waiting_calls::{self, CallWatcher};
use crate::problems::problem;
use crate::quotas::{ConnectionSlot, QuotaGuard};
use crate::settings::options::PROGRAM;

/// The number of frames that a connection may send before it authenticates, pings included.
const UNKNOWN_FRAMES: u32 = 32;
/// The name of a browser that gave none.
const BROWSER: &str = "web";

/// The reading half of a connection.
pub(super) struct SocketReader {
    pub(super) shared: Arc<SocketShared>,
    /// The opening of the socket, with the identity by its token, until the client gives its name.
    entry: SocketOpening,
    /// The challenge to sign; the one attempt takes it.
    challenge: Option<AuthChallenge>,
    /// The caller, once authenticated.
    pub(super) caller: Option<Caller>,
    visit: Option<ConnectionLog>,
    counted: Option<QuotaGuard>,
    /// The subscription to waiting calls, for approvers.
    listening: Option<CallWatcher>,
    limiter: RateLimiter,
    /// The number of frames before authentication.
    unknown: u32,
}

impl SocketReader {
    pub(super) fn new(shared: Arc<SocketShared>, entry: SocketOpening) -> Self {
        let limits = &shared.state.options().limits;
        let limiter = RateLimiter::new(limits.rate, limits.burst, Instant::now());
        Self {
            shared,
            entry,
            challenge: None,
            caller: None,
            visit: None,
            counted: None,
            listening: None,
            limiter,
            unknown: 0,
        }
    }

    /// Reads until the connection has to end.
    pub(super) async fn run(mut self, stream: &mut ClientStream) -> ConnectionEnd {
        match self.run_to_end(stream).await {
            Ok(()) => ConnectionEnd::Gone,
            Err(end) => end,
        }
    }

    async fn run_to_end(&mut self, stream: &mut ClientStream) -> Result<(), ConnectionEnd> {
        self.hello()?;
        let limits = self.shared.state.options().limits.clone();
        let in_time = tokio::time::Instant::now() + limits.authenticate;
        loop {
            let received = if self.caller.is_some() {
                let received = tokio::time::timeout(limits.silence, stream.next()).await;
                received.map_err(|_| {
                    ConnectionEnd::bye(1001, "the connection was silent for too long", Some(1000))
                })?
            } else {
                let received = tokio::time::timeout_at(in_time, stream.next()).await;
                received.map_err(|_| ConnectionEnd::not_allowed("authentication took too long"))?
            };
            match received {
                None => return Ok(()),
                Some(Ok(message)) => self.hear(message).await?,
                Some(Err(_)) if self.shared.allowance.is_spent() => return Err(self.sent_too_much()),
                Some(Err(error)) => return Err(end_of(&error)),
            }
        }
    }

    /// Returns the end for a client that sent more bytes than it may. Among identified clients, only visitors
    /// have such a bound.
    fn sent_too_much(&self) -> ConnectionEnd {
        let reason = match &self.caller {
            Some(_) => format!("a frame of a visitor has at most {} KiB", VISITOR_BYTES >> 10),
            None => "too many bytes before authentication".to_owned(),
        };
        ConnectionEnd::bye(1009, &reason, None)
    }

    /// Sends the first frame. A client with a token need not authenticate again.
    fn hello(&mut self) -> Result<(), ConnectionEnd> {
        let state = &self.shared.state;
        let challenge = state
            .auth()
            .challenge(state.now_ms())
            .map_err(|problem| ConnectionEnd::bye(1011, &problem.detail, Some(1000)))?;
        let nonce = self.entry.nonce.as_deref();
        let heartbeat = state.options().limits.heartbeat.as_millis();
        self.shared.outbox.notice(
            &Hello {
                protocol: PROTOCOL,
                server: PROGRAM.to_owned(),
                nonce: challenge.nonce.clone(),
                origin: challenge.origin.clone(),
                expires_at_ms: challenge.expires_at_ms,
                proof: nonce.map(|nonce| state.auth().proof(&challenge, nonce)),
                visitors: state.auth().lets_visitors_in(),
                heartbeat_ms: u64::try_from(heartbeat).unwrap_or(u64::MAX),
            }
            .into(),
        );
        self.challenge = Some(challenge);
        match self.entry.known.clone() {
            Some(identity) => self.admit(&identity, BROWSER),
            None => Ok(()),
        }
    }

    /// Counts a frame against the limits of clients that have not authenticated, and of visitors.
    fn count_unknown(&mut self, message: &Message) -> Result<(), ConnectionEnd> {
        match &self.caller {
            Some(caller) if caller.visitor => match message {
                Message::Text(_) | Message::Binary(_) => self.shared.allowance.renew(),
                sign => self.shared.allowance.give_back(sign.len()),
            },
            Some(_) => {}
            None => {
                self.unknown += 1;
                if self.unknown > UNKNOWN_FRAMES {
                    return Err(ConnectionEnd::not_allowed("authenticate first"));
                }
            }
        }
        Ok(())
    }

    async fn hear(&mut self, message: Message) -> Result<(), ConnectionEnd> {
        self.count_unknown(&message)?;
        // Frames of every kind count that have an answer: a ping has one of the protocol.
        let admission = match &message {
            Message::Pong(_) | Message::Close(_) => return Ok(()),
            _ => self.limiter.take(Instant::now()),
        };
        if admission == FrameAdmission::Disconnect {
            return Err(ConnectionEnd::not_allowed("too many frames"));
        }
        let text = match message {
            Message::Text(text) => text,
            Message::Binary(_) | Message::Frame(_) => {
                self.shared.state.counts().received.add(1);
                self.refuse(None, &problem("bad_frame", "frames must be text"));
                return Ok(());
            }
            // Its close frame is queued; frames after it are ignored.
            Message::Ping(_) | Message::Pong(_) | Message::Close(_) => return Ok(()),
        };
        self.shared.state.counts().received.add(1);
        if let FrameAdmission::Later(wait) = admission {
            let mut problem = problem("rate_limited", "too many frames; wait a moment");
            problem.retry_after_ms = Some(u64::try_from(wait.as_millis()).unwrap_or(0).max(1));
            self.refuse(id_of(&text), &problem);
            return Ok(());
        }
        if let Some(identity) = &*self.shared.identity()
            && !self.shared.state.auth().still_knows(identity)
        {
            return Err(ConnectionEnd::not_trusted());
        }
        match parse(&text) {
            Ok((id, request)) => self.answer(id, request).await,
            Err((id, problem)) => {
                self.refuse(id, &problem);
                Ok(())
            }
        }
    }

    async fn answer(&mut self, id: String, request: ClientRequest) -> Result<(), ConnectionEnd> {
        let done = match (request, &self.caller) {
            (ClientRequest::Authenticate(who), _) => return self.authenticate(id, who),
            (ClientRequest::Ping(_), _) => Ok((None, json!({"at": self.shared.state.now()}))),
            (_, None) => Err(problem(
                "unauthenticated",
                "authenticate first: send `authenticate`",
            )),
            (request, Some(caller)) => {
                let caller = caller.clone();
                match self.carry_out(&caller, &id, request).await {
                    // It is already answered.
                    Ok(None) => return Ok(()),
                    Ok(Some(done)) => Ok(done),
                    Err(problem) => Err(problem),
                }
            }
        };
        match done {
            Ok((seq, result)) => self.say(&accepted(id, seq, result)),
            Err(problem) => self.refuse(Some(id), &problem),
        }
        Ok(())
    }

    fn authenticate(&mut self, id: String, who: Authenticate) -> Result<(), ConnectionEnd> {
        if let Err(problem) = check_client(&who.client) {
            self.refuse(Some(id), &problem);
            return Ok(());
        }
        let first = self.challenge.take();
        let identity = match (self.entry.known.take(), first) {
            // A token has authenticated the client; this is the name of its program.
            (Some(identity), _) if who.public_key.is_none() => Ok(identity),
            (None, Some(challenge)) if self.caller.is_none() => self.identify(&who, &challenge),
            _ => {
                let what = "this connection is already authenticated";
                self.refuse(Some(id), &problem("refused", what));
                return Ok(());
            }
        };
        match identity {
            Ok(identity) => {
                self.admit(&identity, &who.client)?;
                let person = Person {
                    person: identity.person,
                    name: identity.name,
                    visitor: identity.visitor,
                };
                let result = serde_json::to_value(person).unwrap_or(Value::Null);
                self.say(&accepted(id, None, result));
                Ok(())
            }
            Err(problem) => {
                let reason = problem.detail.clone();
                self.refuse(Some(id), &problem);
                Err(ConnectionEnd::not_allowed(&reason))
            }
        }
    }

    fn identify(&self, who: &Authenticate, challenge: &AuthChallenge) -> Result<Identity, Box<Problem>> {
        let auth = self.shared.state.auth();
        match (&who.public_key, &who.signature) {
            (Some(key), Some(signature)) => {
                let binding = self.entry.channel.of_connection();
                let challenge = (challenge, &binding);
                auth.identify(key, challenge, signature, self.shared.state.now_ms())
            }
            (None, None) if auth.lets_visitors_in() => Ok(Identity::visitor()),
            (None, None) => Err(problem("unauthenticated", "this server does not allow visitors")),
            _ => Err(problem("bad_request", "a public key requires a signature")),
        }
    }

    /// Accepts an identity. Earlier subscriptions keep the name that they were made with.
    fn admit(&mut self, identity: &Identity, client: &str) -> Result<(), ConnectionEnd> {
        if self.counted.is_none() {
            let counted = self.shared.state.count_in(&ConnectionSlot {
                person: &identity.person,
                operator: identity.operator,
                visitor: identity.visitor,
                address: &self.shared.address,
            });
            let too_many = || ConnectionEnd::bye(1013, "too many connections of this person", Some(5000));
            self.counted = Some(counted.ok_or_else(too_many)?);
            self.visit = Some(ConnectionLog::begin(identity, client));
            self.listening = waiting_calls::listen(&self.shared.state, identity, self.shared.outbox.clone());
        }
        if identity.visitor {
            self.shared.allowance.renew();
        } else {
            self.shared.allowance.lift();
            if let Some(permit) = &self.shared.permit {
                permit.belongs_to(&identity.person);
            }
        }
        self.caller = Some(identity.at(client, &self.shared.address));
        *self.shared.identity() = Some(identity.clone());
        Ok(())
    }

    pub(super) fn say(&self, notice: &ServerNotice) {
        self.shared.outbox.notice(notice);
    }

    fn refuse(&self, id: Option<String>, problem: &Problem) {
        self.shared.state.counts().refused.add(1);
        self.say(&refusal_notice(id, problem));
    }
}

/// Logs that a client is connected, and later that it is not.
struct ConnectionLog {
    who: String,
    client: String,
}

impl ConnectionLog {
    fn begin(identity: &Identity, client: &str) -> Self {
        let who = identity
            .name
            .clone()
            .unwrap_or_else(|| identity.person.to_string());
        tracing::info!(?who, ?client, "client connected");
        let client = client.to_owned();
        Self { who, client }
    }
}

impl Drop for ConnectionLog {
    fn drop(&mut self) {
        tracing::info!(who = ?self.who, client = ?self.client, "client disconnected");
    }
}

/// Converts an error of the WebSocket protocol to the end of the connection.
fn end_of(error: &tungstenite::Error) -> ConnectionEnd {
    match error {
        tungstenite::Error::Capacity(error) => ConnectionEnd::bye(1009, &error.to_string(), None),
        tungstenite::Error::Utf8(_) => ConnectionEnd::bye(1007, "frames are UTF-8", None),
        tungstenite::Error::Protocol(tungstenite::error::ProtocolError::ResetWithoutClosingHandshake) => {
            ConnectionEnd::Gone
        }
        tungstenite::Error::Protocol(error) => ConnectionEnd::bye(1002, &error.to_string(), None),
        _ => ConnectionEnd::Gone,
    }
}
