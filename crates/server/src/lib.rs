//! The HTTP and WebSocket front of a runtime that acts.
//!
//! Callers authenticate with a signed challenge ([`auth`]); sessions are opened on demand and closed when
//! idle ([`rooms`]); the events of a session are encoded once for all readers ([`feed`]); actions on a
//! session go through the same functions (`actions/session_actions.rs`), whether they come as a frame or as a
//! request ([`http`]). A program that serves its own sessions calls [`open`] and runs the result.

mod actions;
pub mod auth;
mod connections;
pub mod feed;
pub mod http;
mod limits;
mod mcp;
pub mod outbox;
pub mod page;
pub mod rooms;
mod settings;
pub mod wheel;
pub mod ws;

mod api_connection;
mod approver_connections;
mod changed_settings;
mod client_calls;
mod counts;
mod data_dir_lock;
mod embedded;
mod ended_tasks;
mod entrance;
mod known_fields;
mod maintenance;
mod members;
mod problems;
mod push;
mod push_notices;
mod quota_checks;
mod quotas;
mod reader_seat;
mod server;
mod server_error;
mod state;
mod webhooks;

pub use connections::channel;
pub use members::member_bounds;

pub use actions::request_terms::RequestTerms;
pub use api_connection::{ApiConnection, CountedConnection};
pub use auth::caller::Caller;
pub use axum;
pub use connections::forwarded::Proxies;
pub use counts::{MetricCounter, ServerCounters};
pub use embedded::open;
pub use limits::fair_semaphore::{FairPermit, FairQueue, FairSemaphore};
pub use server::{Server, bind};
pub use server_error::ServerError;
pub use settings::options::{ServerLimits, ServerOptions};
pub use settings::reload::{Reload, reload_when_changed};
pub use state::{ServerState, SessionAccess, SessionReaderSeat};
