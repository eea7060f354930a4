//! Connections until they are a request or a socket: reads and closes them, finds their origin, and limits
//! their number.

pub mod channel;
pub(crate) mod connection_limits;
pub(crate) mod counted_read;
pub(crate) mod forwarded;
pub(crate) mod held_bytes;
pub(crate) mod hosts;
pub(crate) mod lingering_close;
pub(crate) mod rejections;
pub(crate) mod stalled_connections;
pub(crate) mod tls;
pub(crate) mod unread_body;
