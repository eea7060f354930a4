//! What a server is told when it starts, and what it puts up with.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::feed::FeedBounds;
use crate::server::ServerError;
use crate::wheel::Patience;

/// The program, with its version, as a server names itself to clients.
pub(crate) const PROGRAM: &str = concat!("agentx ", env!("CARGO_PKG_VERSION"));
/// How long the head of a request may be, in bytes; it has to be kept before it is known whose it is.
pub(crate) const HEAD_BYTES: usize = 16 * 1024;
/// How many characters a title may have.
pub(crate) const TITLE_CHARS: usize = 200;
/// How many characters a word to the agent or the others may have: why it is stopped, why a call is refused.
pub(crate) const WORD_CHARS: usize = 4096;
/// How many characters the key may have by which what is sent twice is known.
pub(crate) const KEY_CHARS: usize = 255;

/// How many characters the name of an agent may have.
pub(crate) const NAME_CHARS: usize = 200;
/// How many bytes an id in a request may have.
pub(crate) const ID_BYTES: usize = 200;
/// How many characters a refusal has at most; it may repeat what was sent.
pub(crate) const REFUSAL_CHARS: usize = 2000;

/// What a server is told when it starts.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Where it listens.
    pub listen: SocketAddr,
    /// What it calls itself, where that is not `http(s)://<listen>`: behind a proxy, or by a name. No path, no slash at the end.
    pub origin: Option<String>,
    /// Origins of web pages that may speak to it, besides its own.
    pub allow_origins: Vec<String>,
    /// Whether somebody who does not say who they are is let in, to see what is shared with everybody.
    pub allow_visitors: bool,
    /// Certificate chain and key, both PEM.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Listening beyond this machine without TLS is meant: a proxy in front has it.
    pub insecure_listen: bool,
    /// Addresses and networks of proxies that say whom they pass on, besides those of the settings.
    pub trusted_proxies: Vec<String>,
    /// What it puts up with.
    pub limits: ServerLimits,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 5200)),
            origin: None,
            allow_origins: Vec::new(),
            allow_visitors: false,
            tls: None,
            insecure_listen: false,
            trusted_proxies: Vec::new(),
            limits: ServerLimits::default(),
        }
    }
}

/// What a server puts up with.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerLimits {
    /// TCP connections at once; later ones are closed at once.
    pub connections: usize,
    /// TCP connections at once of one address that have not said who they are; of IPv6, of one /64.
    pub connections_per_address: usize,
    /// WebSockets and event streams of one person at once.
    pub connections_per_person: usize,
    /// Subscriptions of one WebSocket at once.
    pub subscriptions: usize,
    /// Bytes of a frame from a client.
    pub frame_bytes: usize,
    /// Bytes of a request's body.
    pub body_bytes: usize,
    /// Bytes that may wait for one reader; then it is cut off.
    pub waiting_bytes: usize,
    /// Frames that may wait for one reader; then it is cut off.
    pub waiting_frames: usize,
    /// Frames, or requests, of one connection or person in a second, on average.
    pub rate: u32,
    /// How many of them may come at once.
    pub burst: u32,
    /// How long the first request of a connection may take to come, its head that is, and a TLS handshake before it.
    pub head: Duration,
    /// How long after an answer the head of the next request may take to come.
    pub keep: Duration,
    /// How long the body of a request may take to come.
    pub body: Duration,
    /// How long somebody may take to say who they are on a WebSocket.
    pub authenticate: Duration,
    /// How often a heartbeat is sent.
    pub heartbeat: Duration,
    /// How long a connection may say nothing at all.
    pub silence: Duration,
    /// How long a reader may take no byte of what waits for it.
    pub stalled: Duration,
    /// How long who drives a session is waited for.
    pub patience: Patience,
    /// How long a session stays open that nobody looks at and in which nothing runs.
    pub idle: Duration,
    /// How long the end may take.
    pub shutdown: Duration,
    /// Tokens that are known at once.
    pub tokens: usize,
    /// Challenges over HTTP that may be open at once.
    pub nonces: usize,
}

impl ServerLimits {
    /// What may wait for one reader.
    pub fn waiting(&self) -> FeedBounds {
        FeedBounds {
            frames: self.waiting_frames,
            bytes: self.waiting_bytes,
        }
    }
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            connections: 4096,
            connections_per_address: 512,
            connections_per_person: 1024,
            subscriptions: 256,
            frame_bytes: 1 << 20,
            body_bytes: 16 << 20,
            waiting_bytes: 4 << 20,
            waiting_frames: 4096,
            rate: 200,
            burst: 400,
            head: Duration::from_secs(10),
            keep: Duration::from_secs(75),
            body: Duration::from_secs(30),
            authenticate: Duration::from_secs(10),
            heartbeat: Duration::from_secs(15),
            silence: Duration::from_secs(45),
            stalled: Duration::from_secs(30),
            patience: Patience::default(),
            idle: Duration::from_secs(60),
            shutdown: Duration::from_secs(5),
            tokens: 10_000,
            nonces: 10_000,
        }
    }
}

/// What is sent in the clear is seen by whoever is in between, so that has to be meant.
pub(crate) fn check(options: &ServerOptions) -> Result<(), ServerError> {
    let listen = options.listen;
    if !listen.ip().is_loopback() && options.tls.is_none() && !options.insecure_listen {
        return Err(ServerError::Options(format!(
            "{listen} can be reached from other machines, and the traffic would not be encrypted: set a \
             certificate and its key, or --insecure-listen if a proxy in front of it terminates TLS"
        )));
    }
    let Some(origin) = &options.origin else {
        if listen.ip().is_unspecified() {
            return Err(ServerError::Options(format!(
                "{listen} is not an address that clients can use: set the public address, as in --origin \
                 https://agents.example"
            )));
        }
        return Ok(());
    };
    let host = origin
        .strip_prefix("https://")
        .or_else(|| origin.strip_prefix("http://"))
        .map(|rest| rest.trim_end_matches('/'));
    if host.is_none_or(|host| host.is_empty() || host.contains(['/', '?', '#', '@', '\n', ' '])) {
        return Err(ServerError::Options(format!(
            "the origin {origin:?} is not of the form https://name or https://name:port"
        )));
    }
    Ok(())
}
