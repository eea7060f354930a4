//! How a server is reached, and how that goes.
//!
//! The defaults are those of a person at a terminal: a connection is tried again for ever, and a wish fails
//! after half a minute.
//!
//! ```
//! use std::time::Duration;
//!
//! use agentx_remote_runtime::{ConnectOptions, Credentials};
//!
//! let mut options = ConnectOptions::new("https://agents.example.com", Credentials::Visitor, "my-tool/1.0");
//! options.attempts = Some(5);
//! assert_eq!(options.answer_within, Duration::from_secs(30));
//! assert!(!options.allow_plain, "a server proves its key, or nothing is signed");
//! ```
//!
//! Nothing here is a secret but the key inside [`Credentials`], which `Debug` does not show.

use std::time::Duration;

use agentx_identity::Keyring;

use crate::Credentials;

/// How a server is reached.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// Its address: `http`, `https`, `ws` or `wss`, or only host and port.
    pub url: String,
    /// The person that connects: a key, or nobody in particular.
    pub who: Credentials,
    /// What this program calls itself; the same when it connects again. 1 to 64 printable ASCII characters.
    pub client: String,
    /// Where the keys of servers are remembered, so that another server at the same address is noticed;
    /// `None` for nowhere.
    pub known_servers: Option<Keyring>,
    /// Whether a server at an `http://` address may be signed to without having proved its key: an older one,
    /// or one behind a proxy without TLS. Whoever is on the way can then read and change everything. Not by
    /// default.
    pub allow_plain: bool,
    /// PEM text: root certificates that count besides the machine's own.
    pub more_roots: Option<Vec<u8>>,
    /// How often in a row a lost connection is tried again before it is given up; `None` for ever.
    pub attempts: Option<u32>,
    /// How long is waited before a lost connection is made again; twice as long after each further failure.
    pub retry_after: Duration,
    /// How long a wish may wait for its answer, with all that is lost and found again meanwhile.
    pub answer_within: Duration,
}

impl ConnectOptions {
    /// Reaches the server at `url` as `who`; this program calls itself `client`.
    pub fn new(url: impl Into<String>, who: impl Into<Credentials>, client: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            who: who.into(),
            client: client.into(),
            known_servers: None,
            allow_plain: false,
            more_roots: None,
            attempts: None,
            retry_after: Duration::from_millis(250),
            answer_within: Duration::from_secs(30),
        }
    }
}

/// How the connection stands.
/// It is told as it changes; a reader that looks rarely sees only the latest one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ConnectionState {
    /// Nothing has asked for it yet.
    #[default]
    Idle,
    /// It is being made.
    Connecting {
        /// How often that was tried in a row, from 1.
        attempt: u32,
    },
    /// The server knows who is there, and what is wanted of it can be asked.
    Connected,
    /// It is lost, and tried again.
    Waiting {
        /// How long is waited before the next attempt, in milliseconds. A server that wants a rest decides
        /// it.
        retry_in_ms: u64,
        /// What the server, the system or this program said, for people.
        why: String,
    },
    /// It is lost for good.
    GaveUp {
        /// The reason.
        why: String,
    },
}
