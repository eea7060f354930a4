//! The HTTP and WebSocket front of a runtime that acts.
//!
//! Callers are known by a signed challenge ([`auth`]); sessions are opened on demand and put away when idle ([`rooms`]);
//! what happens in one is encoded once, whoever reads it ([`feed`]); what people do to one goes through one door (`control.rs`),
//! whether it comes as a frame or as a request ([`http`]). A program that serves its own sessions calls [`open`] and runs what it gets.

pub mod auth;
pub mod channel;
pub mod feed;
pub mod http;
pub mod member_bounds;
pub mod outbox;
pub mod rooms;
pub mod wheel;
pub mod ws;

mod call_decisions;
mod client_time;
mod commands;
mod connection_limits;
mod control;
mod counts;
mod credentials;
mod embedded;
mod expiring;
mod files;
mod forwarded;
mod hosts;
mod known_people;
mod lingering_close;
mod live_settings;
mod maintenance;
mod media;
mod members;
mod options;
mod quotas;
mod random;
mod rejections;
mod server;
mod session_caller;
mod size_limits;
mod stalled_connections;
mod state;
mod tls;
mod trust;
mod unread_body;
mod waiting_calls;
mod work_turns;

pub use axum;
pub use counts::{MetricCounter, ServerCounters};
pub use embedded::{open, reload_when_changed};
pub use forwarded::Proxies;
pub use live_settings::Reload;
pub use options::{ServerLimits, ServerOptions};
pub use server::{Server, ServerError, bind};
pub use state::{Admission, Caller, Following, ServerState};
pub use work_turns::{TurnQueue, WorkTurn, WorkTurns};
