//! Options for connecting to a server, and the state of the connection.
//!
//! The defaults suit a person at a terminal: the client reconnects forever, and a request fails after half a
//! minute.
//!
//! ```
//! use std::time::Duration;
//!
//! use agentx_remote_runtime::{ConnectOptions, Credentials};
//!
//! let mut options = ConnectOptions::new("https://agents.example.com", Credentials::Visitor, "my-tool/1.0");
//! options.attempts = Some(5);
//! assert_eq!(options.answer_within, Duration::from_secs(30));
//! assert!(!options.allow_plain_http, "a server proves its key, or nothing is signed");
//! ```
//!
//! The only secret in these options is the key inside [`Credentials`], which `Debug` does not show.

use std::time::Duration;

use agentx_identity::Keyring;

use crate::Credentials;

/// Options for connecting to a server.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// The address: `http`, `https`, `ws` or `wss`, or only host and port.
    pub url: String,
    /// The person who connects: a key, or a visitor.
    pub who: Credentials,
    /// The name of this program, which must not change between connections. 1 to 64 printable ASCII
    /// characters.
    pub client: String,
    /// The keyring that remembers the keys of servers, so that the client notices another server at the same
    /// address; `None` to remember nothing.
    pub known_servers: Option<Keyring>,
    /// Whether the client signs in to a server at an `http://` address that does not prove its key: an older
    /// server, or one behind a proxy without TLS. Anyone on the network path can then read and change
    /// everything. Off by default.
    pub allow_plain_http: bool,
    /// Additional root certificates, as PEM text.
    pub more_roots: Option<Vec<u8>>,
    /// The number of failed attempts in a row after which the client gives up; `None` for no limit.
    pub attempts: Option<u32>,
    /// The pause before the first attempt to reconnect; it doubles with each further failure.
    pub retry_after: Duration,
    /// The maximum time for an answer over the WebSocket, reconnects included.
    pub answer_within: Duration,
    /// The time for which an unattended program tries to reach a server that is away or breaks off: in
    /// [`RemoteRuntime::connect`](crate::RemoteRuntime::connect), and later in each request over HTTP that
    /// may be repeated. Zero, the default, for three attempts in half a second.
    pub reach_within: Duration,
    /// The maximum time for an answer over HTTP, repetitions included. A check of a long session takes long;
    /// a server that is reached for the first time has at most 20 seconds for each answer.
    pub longest_answer: Duration,
}

impl ConnectOptions {
    /// Creates the default options for the server at `url`, the person `who`, and a program named `client`.
    pub fn new(url: impl Into<String>, who: impl Into<Credentials>, client: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            who: who.into(),
            client: client.into(),
            known_servers: None,
            allow_plain_http: false,
            more_roots: None,
            attempts: None,
            retry_after: Duration::from_millis(250),
            answer_within: Duration::from_secs(30),
            reach_within: Duration::ZERO,
            longest_answer: Duration::from_secs(90),
        }
    }
}

/// The state of the connection. A reader that reads rarely sees only the latest state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ConnectionState {
    /// Not needed yet.
    #[default]
    Idle,
    /// Being opened.
    Connecting {
        /// The number of this attempt, from 1.
        attempt: u32,
    },
    /// Open and authenticated.
    Connected,
    /// Lost; the client will try again.
    Waiting {
        /// The pause before the next attempt, in milliseconds. A server may ask for it.
        retry_in_ms: u64,
        /// The reason, for people.
        why: String,
    },
    /// Lost; the client has given up.
    GaveUp {
        /// The reason.
        why: String,
    },
}
