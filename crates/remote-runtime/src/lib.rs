//! The runtime that mirrors: a WebSocket as the environment, and a remote runtime behind the same trait as the local one.

mod all;
mod ask;
mod core;
mod endpoint;
mod environment;
mod files;
mod follow;
mod http;
pub mod incoming;
mod keep;
pub mod machine;
mod options;
mod peer;
mod runtime;
mod session;
mod tls;
mod who;

pub use endpoint::Endpoint;
pub use environment::{CallsWaiting, Connection, People, Published, WebSocketEnvironment};
pub use keep::{Keeping, Kept, keep};
pub use options::{ConnectOptions, ConnectionState};
pub use runtime::{Presence, RemoteRuntime};
pub use session::RemoteSession;
pub use who::Who;
