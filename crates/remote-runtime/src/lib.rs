//! The runtime that mirrors: a WebSocket as the environment, and a remote runtime behind the same trait as
//! the local one.

mod all_sessions;
mod credentials;
mod endpoint;
mod environment;
mod files;
mod follow;
mod http;
pub mod incoming;
mod kept_mirror;
mod options;
mod peer;
mod query;
pub mod reconnect;
mod remote_core;
mod runtime;
mod session;
mod tls;

pub use credentials::Credentials;
pub use endpoint::ServerEndpoint;
pub use environment::{CallsWaiting, Connection, People, PublishGuard, WebSocketEnvironment};
pub use kept_mirror::{MirrorProgress, MirrorTask, keep};
pub use options::{ConnectOptions, ConnectionState};
pub use runtime::{Presence, RemoteRuntime};
pub use session::RemoteSession;
