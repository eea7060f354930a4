//! The runtime that mirrors: a WebSocket as the environment, and a remote runtime behind the same trait as
//! the local one.
//!
//! ```text
//!  front end ── Runtime ──► RemoteRuntime ──► http      one question, one answer: lists, states, blobs, imports
//!                               │
//!                               ├──► RemoteSession ──► Connection   frames that are answered: say, approve, change
//!                               └──► follow ─────────► Connection   facts of a session, in order and once
//!                                                         │
//!                                     WebSocketEnvironment + reconnect::ReconnectMachine   one socket for all sessions
//! ```
//!
//! - A server is reached in two ways. Independent requests go over HTTP with a token; ordered requests and
//!   events go over one WebSocket that all sessions share.
//! - Facts come over the wire, not derived events. These are derived here by the same fold as in the runtime
//!   that wrote the facts, so a mirror shows the same as the server's own front end, to the byte.
//! - The log of the server is the only truth. A mirror that loses its connection requests the facts after its
//!   last one, and that one again: if the server has another one there, its log went back, and the reader
//!   gets an error ([`RuntimeError::WentBack`](agentx_runtime::RuntimeError::WentBack)) instead of seeing two
//!   histories as one.
//!
//! # Failures
//!
//! | event | effect for a front end |
//! | --- | --- |
//! | the connection is lost | [`ConnectionState::Waiting`]; events stop, nothing is missing afterwards |
//! | a request was in progress then | the client sends it again, at most three times in all; it is executed once |
//! | the server restarts | as above; runs that it continues go on |
//! | the server has another key | an error that names both keys; nothing was signed |
//! | this program dies | nothing: the sessions continue at the server, where others can take the wheel |
//! | `attempts` failures in a row | [`ConnectionState::GaveUp`]; [`RemoteRuntime::dial_now`] tries again |
//!
//! # Bounds
//!
//! One connection has at most 1,024 requests without an answer and 256 that wait to be sent; a session keeps
//! 8,192 facts or 8 MiB for later readers; an answer over HTTP has at most 256 MiB and 90 seconds, each step
//! of signing in 15, and each of the first answers of a server 20. A request beyond a bound fails by name,
//! and nothing waits forever.
//!
//! # Versions
//!
//! Server and program need not be of the same version, only of the same protocol. Unknown fields in answers
//! are ignored; an event of a newer kind ends the reading of its session with an error that names it, because
//! later events could be misunderstood.

mod all_sessions;
mod credentials;
mod endpoint;
mod environment;
mod files;
mod first_contact;
mod follow;
mod http;
mod http_failure;
mod http_token;
pub mod incoming;
mod kept_mirror;
mod mcp_tokens;
mod options;
mod peer;
mod presence;
mod query;
pub mod reconnect;
mod remote_core;
mod retry_pauses;
mod runtime;
mod session;
mod sign_in;
mod tls;

pub use credentials::Credentials;
pub use endpoint::ServerEndpoint;
pub use environment::{CallsWaiting, Connection, People, PublishGuard, WebSocketEnvironment};
pub use kept_mirror::{MirrorProgress, MirrorTask, keep};
pub use mcp_tokens::{ListedMcpToken, NewMcpToken};
pub use options::{ConnectOptions, ConnectionState};
pub use presence::Presence;
pub use runtime::RemoteRuntime;
pub use session::RemoteSession;
