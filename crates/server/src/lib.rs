//! The HTTP and WebSocket front of a runtime that acts.
//!
//! Callers are known by a signed challenge ([`auth`]); sessions are opened on demand and put away when idle ([`rooms`]);
//! what happens in one is encoded once, whoever reads it ([`feed`]); what people do to one goes through one door (`control.rs`),
//! whether it comes as a frame or as a request ([`http`]). A program that serves its own sessions calls [`open`] and runs what it gets.

pub mod auth;
pub mod channel;
pub mod feed;
pub mod http;
pub mod outbox;
pub mod rooms;
pub mod wheel;
pub mod widening;
pub mod ws;

mod chores;
mod client_time;
mod commands;
mod control;
mod counts;
mod credentials;
mod deciding;
mod embedded;
mod expiring;
mod files;
mod forwarded;
mod hand;
mod hosts;
mod known;
mod linger;
mod live;
mod media;
mod members;
mod no_room;
mod options;
mod quotas;
mod random;
mod seats;
mod server;
mod sizes;
mod stall;
mod state;
mod tls;
mod trust;
mod turns;
mod unread;
mod waiting;

pub use axum;
pub use counts::{Count, Counts};
pub use embedded::{open, reload_when_changed};
pub use forwarded::Proxies;
pub use live::Reload;
pub use options::{Limits, ServerOptions};
pub use server::{Server, ServerError, bind};
pub use state::{Access, Caller, Following, ServerState};
pub use turns::{Queue, Turn, Turns};
