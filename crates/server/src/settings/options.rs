//! Options and limits of a server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::feed::FeedBounds;
use crate::server_error::ServerError;
use crate::wheel::WheelTimeouts;

/// The program, with its version, as a server names itself to clients.
pub(crate) const PROGRAM: &str = concat!("agentx ", env!("CARGO_PKG_VERSION"));

/// Options and limits of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The origin, if it is not `http(s)://<listen>`: behind a proxy, or with a name. Without a path or a
    /// slash at the end.
    pub origin: Option<String>,
    /// Further origins of web pages that may use the server, next to its own.
    pub allow_origins: Vec<String>,
    /// Whether visitors, who do not authenticate, are allowed, to see what is shared with everybody.
    pub allow_visitors: bool,
    /// Certificate chain and key, both PEM.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Allow listening beyond this machine without TLS, for a proxy in front of the server.
    pub insecure_listen: bool,
    /// Addresses and networks of trusted proxies, in addition to those of the settings.
    pub trusted_proxies: Vec<String>,
    /// The limits.
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

/// Limits of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerLimits {
    /// Maximum number of TCP connections at once; further ones are closed immediately.
    pub connections: usize,
    /// The limit of unauthenticated TCP connections of one address; of IPv6, of one /64.
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
    /// Bytes that may wait for all readers of one person, or of one address without a person. Beyond that,
    /// its readers that have waited longest are cut off.
    pub waiting_bytes_per_person: usize,
    /// Bytes that may wait for all readers of the server. Beyond that, readers of whoever has most are cut
    /// off.
    pub waiting_bytes_in_all: usize,
    /// Frames, or requests, of one connection or person in a second, on average.
    pub rate: u32,
    /// The size of a burst of them.
    pub burst: u32,
    /// The time limit of the head of a connection's first request, and of a TLS handshake before it.
    pub head: Duration,
    /// The time limit of the head of the next request after an answer.
    pub keep: Duration,
    /// The time limit of the body of a request.
    pub body: Duration,
    /// The time limit of authentication on a WebSocket.
    pub authenticate: Duration,
    /// The interval between heartbeats.
    pub heartbeat: Duration,
    /// The time after which a connection that sends nothing at all is closed.
    pub silence: Duration,
    /// The time after which a reader that takes none of its pending bytes is cut off.
    pub stalled: Duration,
    /// The times that the server waits for a driver.
    pub patience: WheelTimeouts,
    /// The time after which a session without readers and without a run is closed.
    pub idle: Duration,
    /// The time limit of a shutdown.
    pub shutdown: Duration,
    /// Tokens that are known at once.
    pub tokens: usize,
    /// Challenges over HTTP that may be open at once.
    pub nonces: usize,
}

/// The limits of the bytes that wait for readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeldBounds {
    /// Bytes of one person, or of one address without a person.
    pub(crate) each: usize,
    /// Bytes of all.
    pub(crate) all: usize,
}

impl ServerLimits {
    /// Returns the limits of the frames that wait for one reader.
    pub fn waiting(&self) -> FeedBounds {
        FeedBounds {
            frames: self.waiting_frames,
            bytes: self.waiting_bytes,
        }
    }

    /// Returns the limits of the bytes that wait for readers together.
    pub(crate) fn held(&self) -> HeldBounds {
        HeldBounds {
            each: self.waiting_bytes_per_person,
            all: self.waiting_bytes_in_all,
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
            waiting_bytes_per_person: 64 << 20,
            waiting_bytes_in_all: 256 << 20,
            rate: 200,
            burst: 400,
            head: Duration::from_secs(10),
            keep: Duration::from_secs(75),
            body: Duration::from_secs(30),
            authenticate: Duration::from_secs(10),
            heartbeat: Duration::from_secs(15),
            silence: Duration::from_secs(45),
            stalled: Duration::from_secs(30),
            patience: WheelTimeouts::default(),
            idle: Duration::from_secs(60),
            shutdown: Duration::from_secs(5),
            tokens: 10_000,
            nonces: 10_000,
        }
    }
}

/// Checks the options. Unencrypted traffic can be read in between, so it has to be allowed explicitly.
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
