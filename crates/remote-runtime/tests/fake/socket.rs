//! The WebSocket half.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use agentx_identity::{AuthChallenge, verify_challenge};
use agentx_runtime::Fact;
use agentx_types::wire::{
    Accepted, Authenticate, CaughtUp, ClientFrame, ClientRequest, Problem, Refused, ServerNotice, Subscribed,
    WireView,
};
use agentx_types::{SessionId, SessionRole, TextChunk};
use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Fake, PROTOCOL_NAME};

pub async fn upgrade(State(fake): State<Fake>, upgrade: WebSocketUpgrade) -> Response {
    upgrade
        .protocols([PROTOCOL_NAME])
        .on_upgrade(async move |socket| {
            // Restoring a broken connection is the client's task.
            let _ = Connection::new(fake, socket).serve().await;
        })
}

/// Adds a message, once for each key.
pub fn take_message(fake: &Fake, session: &SessionId, key: Option<&str>) -> u64 {
    let known = key.and_then(|key| fake.state().keys.get(key).copied());
    if let Some(seq) = known {
        return seq;
    }
    let text = format!("said {}", key.unwrap_or_default());
    let seq = fake.add(session, TextChunk { text });
    let mut state = fake.state();
    state.messages += 1;
    if let Some(key) = key {
        state.keys.insert(key.to_owned(), seq);
    }
    seq
}

struct Connection {
    fake: Fake,
    socket: WebSocket,
    /// The latest sent `seq` of each session.
    sent: BTreeMap<SessionId, u64>,
}

type Sent = Result<(), axum::Error>;

impl Connection {
    fn new(fake: Fake, socket: WebSocket) -> Self {
        Self {
            fake,
            socket,
            sent: BTreeMap::new(),
        }
    }

    async fn say(&mut self, frame: &impl Serialize) -> Sent {
        let text = serde_json::to_string(frame).unwrap();
        self.socket.send(Message::text(text)).await
    }

    async fn tell(&mut self, notice: impl Into<ServerNotice>) -> Sent {
        self.say(&notice.into()).await
    }

    async fn serve(&mut self) -> Sent {
        if self.fake.state().faults.mute {
            return std::future::pending().await;
        }
        let nonce = format!("{:p}", &raw const *self);
        self.tell(self.fake.hello(&nonce)).await?;
        let mut changes = self.fake.shared.changes.subscribe();
        loop {
            tokio::select! {
                message = self.socket.recv() => match message {
                    Some(message) => self.take(message?, &nonce).await?,
                    None => return Ok(()),
                },
                changed = changes.changed() => {
                    changed.unwrap();
                    self.send_events().await?;
                }
            }
        }
    }

    async fn take(&mut self, message: Message, nonce: &str) -> Sent {
        let Message::Text(text) = message else {
            return Ok(());
        };
        let frame: ClientFrame = serde_json::from_str(&text).unwrap();
        let done = |result: Value, seq| Accepted {
            id: frame.id.clone(),
            seq,
            result,
        };
        match frame.request {
            ClientRequest::Authenticate(answer) => {
                self.authenticate(&answer, nonce, done(json!({}), None)).await
            }
            ClientRequest::Subscribe(request) => {
                self.fake.state().subscriptions += 1;
                let Some(head_seq) = self
                    .fake
                    .state()
                    .logs
                    .get(&request.session_id)
                    .map(|log| log.len() as u64)
                else {
                    let problem = problem("no_session", json!({ "session": request.session_id }));
                    let id = Some(frame.id.clone());
                    return self.tell(Refused { id, problem }).await;
                };
                if request.after_seq > head_seq {
                    let problem = problem("refused", Value::Null);
                    let id = Some(frame.id.clone());
                    return self.tell(Refused { id, problem }).await;
                }
                let before = self.sent.insert(request.session_id.clone(), request.after_seq);
                assert_eq!(before, None, "one subscription a session and connection");
                self.tell(Subscribed {
                    session_id: request.session_id.clone(),
                    view: WireView::Environment,
                    after_seq: request.after_seq,
                    head_seq,
                    role: SessionRole::Own,
                })
                .await?;
                self.tell(done(Value::Null, None)).await?;
                self.tell(self.fake.presence(&request.session_id)).await?;
                self.tell(self.fake.wheel(&request.session_id)).await?;
                self.send_events().await?;
                self.tell(CaughtUp {
                    session_id: request.session_id,
                    seq: head_seq,
                })
                .await
            }
            ClientRequest::Unsubscribe(request) => {
                self.sent.remove(&request.session_id);
                self.tell(done(Value::Null, None)).await
            }
            ClientRequest::UserInputFrame(said) => {
                let seq = take_message(&self.fake, &said.session_id, said.idempotency_key.as_deref());
                self.tell(done(Value::Null, Some(seq))).await
            }
            ClientRequest::ApprovalFrame(_) => {
                let id = Some(frame.id.clone());
                let problem = problem("refused", Value::Null);
                self.tell(Refused { id, problem }).await
            }
            _ => self.tell(done(Value::Null, Some(1))).await,
        }
    }

    async fn authenticate(&mut self, answer: &Authenticate, nonce: &str, done: Accepted) -> Sent {
        let challenge = AuthChallenge {
            nonce: nonce.into(),
            origin: self.fake.origin(),
            expires_at_ms: u64::MAX / 2,
        };
        let key = answer.public_key.as_deref().unwrap().parse().unwrap();
        let signature = answer.signature.as_deref().unwrap().parse().unwrap();
        verify_challenge(&key, &challenge, &signature, 0).unwrap();
        self.tell(done).await
    }

    async fn send_events(&mut self) -> Sent {
        for (session, sent) in self.sent.clone() {
            let facts = self.fake.facts(&session);
            for fact in facts.iter().skip(usize::try_from(sent).unwrap()) {
                self.send_event(fact).await?;
                if let Some(sent) = self.sent.get_mut(&session) {
                    *sent = fact.seq;
                }
            }
        }
        Ok(())
    }

    async fn send_event(&mut self, fact: &Fact) -> Sent {
        let faults = self.fake.state().faults.clone();
        let is_due = |every: Option<u64>| every.is_some_and(|every| fact.seq.is_multiple_of(every));
        if is_due(faults.garbage) && self.fake.state().holes.insert(fact.seq) {
            self.socket.send(Message::text("{\"seq\":garbage")).await?;
        }
        if is_due(faults.holes) && self.fake.state().holes.insert(fact.seq) {
            return Ok(());
        }
        if is_due(faults.doubles) {
            self.say(&**fact).await?;
        }
        if faults.strange {
            let strange = json!({
                "seq": fact.seq, "at": 1, "source": "user", "session_id": fact.session_id,
                "event": "user_message", "payload": { "words": "of another version" },
            });
            return self.say(&strange).await;
        }
        self.say(&**fact).await
    }
}

fn problem(code: &str, data: Value) -> Problem {
    Problem {
        code: code.into(),
        detail: format!("because of {code}"),
        retry_after_ms: None,
        data,
    }
}
