//! A session of a server, as front ends see it.
//!
//! # Sending something twice
//!
//! A front end calls a method once, and the connection may be lost before the answer. Then the client sends
//! the same frame again. A message, a command and an interrupt have the same idempotency key both times, so
//! the server carries them out once. A decision about a call is recognized by its contents. If the server
//! refuses a frame after a lost connection, the error says that the first one may have been executed, as by a
//! server that does not know keys of commands; the events show whether it was.
//!
//! A message of more than about a megabyte, such as one with pictures, does not fit into a frame and goes
//! over HTTP.
//!
//! # The wheel
//!
//! Only the person who holds the wheel may change a session. While this program holds it, each frame has the
//! epoch of the wheel: if another person has taken it, the server refuses the frame. Closing a session
//! releases the wheel.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agentx_runtime::{
    ApprovalInput, BoxFuture, ContextRequest, RuntimeError, Session, SessionState, SharingFact, Subscription,
    UserInput, View,
};
use agentx_types::wire::{
    Accepted, ApprovalFrame, ClientRequest, CommandFrame, InterruptFrame, UserInputFrame, WheelFrame,
    WheelWish,
};
use agentx_types::{ConfigChange, InputMode, MessageId, SessionId};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::environment::FeedSubscription;
use crate::follow::{self, FollowRequest};
use crate::http::Query;
use crate::query::new_key;
use crate::remote_core::RemoteCore;

/// The maximum size of a message in a frame. A server takes frames up to 1 MiB; larger messages go over HTTP.
const FRAME_BYTES: usize = 1_000_000;

/// A session of a server. It sends every input as a frame and waits for the answer; the next connection sends
/// a frame without an answer again.
pub struct RemoteSession {
    /// The server.
    core: Arc<RemoteCore>,
    session: SessionId,
    /// The feed of its events, held from the first subscription on, so that the next one finds most of them
    /// here.
    held: Mutex<Option<FeedSubscription>>,
    /// Whether this program sent anything that may have taken the wheel.
    said: AtomicBool,
    /// Fires when this handle is closed; the session at the server continues.
    closed: CancellationToken,
}

/// The response to an HTTP request that became an event.
#[derive(Deserialize)]
struct EventResponse {
    /// The `seq` of the event.
    seq: u64,
}

impl RemoteSession {
    pub(crate) fn new(core: Arc<RemoteCore>, session: SessionId) -> Self {
        Self {
            core,
            session,
            held: Mutex::new(None),
            said: AtomicBool::new(false),
            closed: CancellationToken::new(),
        }
    }

    /// Returns an error if this handle is closed.
    fn check_open(&self) -> Result<(), RuntimeError> {
        if !self.closed.is_cancelled() {
            return Ok(());
        }
        Err(RuntimeError::Gone {
            session: self.session.clone(),
            why: "it was closed".into(),
        })
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Option<FeedSubscription>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The epoch of the wheel if this program holds it, so that the server refuses frames from after it lost
    /// the wheel.
    fn epoch(&self) -> Option<u64> {
        let held = self.held();
        let people = held.as_ref()?.feed.people();
        let wheel = people.borrow().wheel.clone()?;
        (wheel.seat.as_ref() == Some(&self.core.seat)).then_some(wheel.epoch)
    }

    /// Sends a request that becomes an event, and returns the `seq` of the event.
    async fn ask(&self, request: impl Into<ClientRequest>) -> Result<u64, RuntimeError> {
        self.check_open()?;
        let (answer, sends) = self.core.ask(request).await;
        match answer {
            Ok(accepted) => self.seq_of(&accepted),
            // The server may have carried out the frame that was sent before the connection was lost.
            Err(RuntimeError::Refused(why)) if sends > 1 => Err(RuntimeError::Refused(format!(
                "{why} (the connection was lost while this was under way: it may have been done)"
            ))),
            Err(error) => Err(error),
        }
    }

    /// The `seq` of the event that an accepted frame became. Our servers always send it.
    fn seq_of(&self, accepted: &Accepted) -> Result<u64, RuntimeError> {
        accepted.seq.ok_or_else(|| RuntimeError::Remote {
            code: "bad_answer".into(),
            detail: format!("{} did not say which event it became", self.core.endpoint()),
        })
    }

    /// Sends one of the commands without their own frame: `change`, `rename`, `context`, `revise`, …
    async fn command(&self, command: &str, args: Value) -> Result<u64, RuntimeError> {
        let frame = CommandFrame {
            session_id: self.session.clone(),
            command: command.to_owned(),
            args,
            wheel_epoch: self.epoch(),
            idempotency_key: Some(new_key()?),
        };
        self.said.store(true, Ordering::Relaxed);
        self.ask(frame).await
    }

    /// Sends a message, as a frame if it fits, otherwise over HTTP. Both have the same key.
    async fn say(&self, input: UserInput) -> Result<u64, RuntimeError> {
        self.check_open()?;
        let key = match input.idempotency_key {
            Some(key) => key,
            None => new_key()?,
        };
        let frame = UserInputFrame {
            session_id: self.session.clone(),
            content: input.content,
            mode: input.mode,
            idempotency_key: Some(key),
            client_timestamp_utc: None,
            client_timezone_offset: None,
            wheel_epoch: self.epoch(),
            answer_schema: input.answer_schema,
        };
        self.said.store(true, Ordering::Relaxed);
        let body = serde_json::to_value(&frame).unwrap_or_default();
        if body.to_string().len() < FRAME_BYTES {
            return self.ask(frame).await;
        }
        // Pictures and files: the key makes it safe to send it again.
        let path = ["sessions", self.session.as_str(), "messages"];
        let taken: EventResponse = self.core.http.json(Query::post(&path, body).repeatable()).await?;
        Ok(taken.seq)
    }

    /// Requests the wheel, hands it over or releases it.
    async fn wheel(&self, wish: WheelWish) -> Result<Accepted, RuntimeError> {
        let session_id = self.session.clone();
        self.core.ask(WheelFrame { session_id, wish }).await.0
    }

    /// Asks the server to record a fact about sharing. It records facts about restored files itself.
    async fn send_sharing(&self, note: SharingFact) -> Result<u64, RuntimeError> {
        match note {
            SharingFact::Access(access) => {
                let args = json!({ "person": access.person, "role": access.role });
                self.command("share", args).await
            }
            SharingFact::Ran(ran) => {
                let args = serde_json::to_value(&ran).unwrap_or_default();
                self.command("ran", args).await
            }
            // The process that has the files records their restoring.
            SharingFact::Restoring(_) | SharingFact::Restored(_) => Err(RuntimeError::not_offered(
                "puts on record itself what became of its files",
            )),
            SharingFact::Wheel(wheel) => {
                self.check_open()?;
                let wish = wheel.seat.map_or(WheelWish::Release, WheelWish::Hand);
                match self.wheel(wish).await?.seq {
                    Some(seq) => Ok(seq),
                    // No change: the log has nothing new.
                    None => Ok(self.state().await?.last_seq),
                }
            }
        }
    }

    /// Follows the session from after an event, until this handle is closed.
    async fn follow(&self, after_seq: u64, view: View) -> Result<Subscription, RuntimeError> {
        self.check_open()?;
        let wanted = FollowRequest {
            session: self.session.clone(),
            after_seq,
            has: None,
            view,
            live: true,
            end: self.closed.clone(),
        };
        let held = self.core.connection.hold(&self.session);
        let subscription = follow::follow(&self.core, wanted).await?;
        self.held().get_or_insert(held);
        Ok(subscription)
    }

    /// Closes the handle. It releases the wheel if it held it, or may have taken it with one of its requests.
    async fn end(&self) {
        if self.closed.is_cancelled() {
            return;
        }
        let drives = self.epoch().is_some() || (self.held().is_none() && self.said.load(Ordering::Relaxed));
        self.closed.cancel();
        if drives {
            // If it did not hold the wheel after all, nothing is lost by the refusal.
            let _ = self.wheel(WheelWish::Release).await;
        }
        self.held().take();
    }
}

impl Session for RemoteSession {
    fn id(&self) -> &SessionId {
        &self.session
    }

    fn state(&self) -> BoxFuture<'_, Result<SessionState, RuntimeError>> {
        Box::pin(async move {
            self.check_open()?;
            let path = ["sessions", self.session.as_str(), "state"];
            self.core.http.json(Query::get(&path)).await
        })
    }

    fn send(&self, input: UserInput) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        Box::pin(self.say(input))
    }

    fn revise(&self, input: MessageId, mode: Option<InputMode>) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        let args = json!({ "message_id": input, "mode": mode });
        Box::pin(async move { self.command("revise", args).await })
    }

    fn context(&self, wish: ContextRequest) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        let args = json!({ "wish": wish });
        Box::pin(async move { self.command("context", args).await })
    }

    fn interrupt(&self, reason: Option<String>) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        Box::pin(async move {
            let frame = InterruptFrame {
                session_id: self.session.clone(),
                reason,
                wheel_epoch: self.epoch(),
                idempotency_key: Some(new_key()?),
            };
            self.said.store(true, Ordering::Relaxed);
            self.ask(frame).await
        })
    }

    fn retry(&self) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        Box::pin(async move { self.command("retry", json!({})).await })
    }

    fn approve(&self, decision: ApprovalInput) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        // The server records the person of this connection as the one who decided.
        let frame = ApprovalFrame {
            session_id: self.session.clone(),
            tool_call_id: decision.tool_call_id,
            decision: decision.decision,
            note: decision.note,
            rule: decision.rule.map(Box::new),
        };
        Box::pin(self.ask(frame))
    }

    fn change(&self, change: ConfigChange) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        Box::pin(async move { self.command("change", json!({ "change": change })).await })
    }

    fn record_sharing(&self, note: SharingFact) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        Box::pin(self.send_sharing(note))
    }

    fn rename(&self, title: String) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        Box::pin(async move { self.command("rename", json!({ "title": title })).await })
    }

    fn subscribe(&self, after_seq: u64, view: View) -> BoxFuture<'_, Result<Subscription, RuntimeError>> {
        Box::pin(self.follow(after_seq, view))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.end())
    }
}
