//! A small server that speaks the protocol and makes errors on demand, and a relay that cuts connections at
//! any byte.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]

mod http;
mod relay;
mod socket;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use agentx_identity::{PublicKey, SecretKey};
use agentx_remote_runtime::{ConnectOptions, Credentials, RemoteRuntime};
use agentx_runtime::{Fact, RuntimeError};
use agentx_types::wire::{Hello, PROTOCOL, Presence, Present, SUBPROTOCOL, Wheel};
use agentx_types::{
    EnvironmentEvent, EventDraft, OwnerId, Seat, SessionId, SessionRole, Source, TextChunk, Timestamp,
};
use tokio::sync::watch;

pub use relay::Relay;

/// The faults of a server.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// The version that it claims to speak.
    pub protocol: Option<u32>,
    /// The origin that the server claims.
    pub origin: Option<String>,
    /// Each n-th event is sent twice.
    pub doubles: Option<u64>,
    /// Each n-th event is left out, once.
    pub holes: Option<u64>,
    /// Before each n-th event comes garbage.
    pub garbage: Option<u64>,
    /// Whether the server accepts connections and sends nothing.
    pub mute: bool,
    /// Its events of sessions are of another version than ours.
    pub strange: bool,
}

/// The server.
#[derive(Clone)]
pub struct Fake {
    pub shared: Arc<Shared>,
}

pub struct Shared {
    pub state: Mutex<State>,
    /// Counts the changes of the logs.
    pub changes: watch::Sender<u64>,
}

#[derive(Default)]
pub struct State {
    pub address: String,
    pub logs: BTreeMap<SessionId, Vec<Fact>>,
    pub keys: BTreeMap<String, u64>,
    pub blobs: BTreeMap<String, Vec<u8>>,
    pub tokens: BTreeSet<String>,
    pub challenges: u64,
    pub faults: Faults,
    pub holes: BTreeSet<u64>,
    pub subscriptions: u64,
    pub messages: u64,
    /// The keys of the requests to restore files, in order.
    pub restores: Vec<String>,
    /// The keys of the requests for a new session, in order.
    pub creations: Vec<String>,
}

pub fn key() -> SecretKey {
    SecretKey::from_seed(&[7; 32]).unwrap()
}

pub fn person() -> OwnerId {
    let key: PublicKey = *key().public_key();
    agentx_identity::owner_of(&key)
}

pub fn session() -> SessionId {
    agentx_testing::fixture::session_id()
}

impl Fake {
    pub async fn start() -> Self {
        let fake = Self {
            shared: Arc::new(Shared {
                state: Mutex::default(),
                changes: watch::Sender::new(0),
            }),
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        fake.state().address = listener.local_addr().unwrap().to_string();
        let app = http::router(fake.clone());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        fake
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap()
    }

    pub fn address(&self) -> String {
        self.state().address.clone()
    }

    pub fn faults(&self, faults: Faults) {
        self.state().faults = faults;
    }

    /// Returns the origin that the server claims.
    pub fn origin(&self) -> String {
        let state = self.state();
        let usual = || format!("http://{}", state.address);
        state.faults.origin.clone().unwrap_or_else(usual)
    }

    pub fn hello(&self, nonce: &str) -> Hello {
        let protocol = self.state().faults.protocol.unwrap_or(PROTOCOL);
        Hello {
            protocol,
            server: "fake 0".into(),
            nonce: nonce.into(),
            origin: self.origin(),
            expires_at_ms: u64::MAX / 2,
            proof: None,
            visitors: true,
            heartbeat_ms: 15_000,
        }
    }

    /// Appends these facts.
    pub fn append(&self, facts: &[Fact]) {
        let mut state = self.state();
        for fact in facts {
            state
                .logs
                .entry(fact.session_id.clone())
                .or_default()
                .push(fact.clone());
        }
        drop(state);
        self.shared.changes.send_modify(|changes| *changes += 1);
    }

    /// Adds an event to a session and returns its position.
    pub fn add(&self, session: &SessionId, event: impl Into<EnvironmentEvent>) -> u64 {
        let mut state = self.state();
        let log = state.logs.entry(session.clone()).or_default();
        let seq = log.len() as u64 + 1;
        let at = Timestamp(1_700_000_000_000_000 + i64::try_from(seq).unwrap());
        let draft = EventDraft::new(Source::Environment, Some("agt_test".into()), event);
        log.push(Arc::new(draft.into_envelope(session.clone(), seq, at)));
        drop(state);
        self.shared.changes.send_modify(|changes| *changes += 1);
        seq
    }

    /// Loses the facts after `kept`, and writes others in their place, up to `last`.
    pub fn goes_back(&self, session: &SessionId, kept: u64, last: u64) {
        let kept = usize::try_from(kept).unwrap();
        self.state().logs.get_mut(session).unwrap().truncate(kept);
        for seq in kept as u64 + 1..=last {
            let text = format!("written anew at {seq} ");
            self.add(session, TextChunk { text });
        }
    }

    pub fn add_words(&self, session: &SessionId, count: usize) {
        for number in 0..count {
            let text = format!("word {number} ");
            self.add(session, TextChunk { text });
        }
    }

    pub fn facts(&self, session: &SessionId) -> Vec<Fact> {
        self.state().logs.get(session).cloned().unwrap_or_default()
    }

    pub fn seat(&self) -> Seat {
        Seat {
            person: person(),
            client: "test".into(),
        }
    }

    pub fn presence(&self, session_id: &SessionId) -> Presence {
        let present = Present {
            seat: self.seat(),
            role: SessionRole::Own,
            driving: true,
        };
        Presence {
            session_id: session_id.clone(),
            people: vec![present],
        }
    }

    pub fn wheel(&self, session_id: &SessionId) -> Wheel {
        Wheel {
            session_id: session_id.clone(),
            epoch: 4,
            seat: Some(self.seat()),
            reason: None,
            asked_by: None,
        }
    }

    pub fn options(&self) -> ConnectOptions {
        options(&self.address())
    }

    pub async fn connect(&self) -> RemoteRuntime {
        RemoteRuntime::connect(self.options()).await.unwrap()
    }

    /// Connects through a relay that cuts connections.
    pub async fn connect_by(&self, relay: &Relay) -> Result<RemoteRuntime, RuntimeError> {
        // The relay has another address than the server; the server claims the relay's address.
        self.state().faults.origin = Some(format!("http://{}", relay.address()));
        RemoteRuntime::connect(options(&relay.address())).await
    }
}

pub fn options(address: &str) -> ConnectOptions {
    ConnectOptions {
        // It has no TLS.
        allow_plain_http: true,
        retry_after: std::time::Duration::from_millis(4),
        ..ConnectOptions::new(format!("http://{address}"), Credentials::from(key()), "test")
    }
}

pub const PROTOCOL_NAME: &str = SUBPROTOCOL;
