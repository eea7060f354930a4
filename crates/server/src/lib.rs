//! The HTTP and WebSocket front of a runtime that acts.
//!
//! Callers authenticate with a signed challenge ([`auth`]); sessions are opened on demand and closed when
//! idle ([`rooms`]); the events of one are encoded once for all readers ([`feed`]); actions on one go through
//! the same functions (`session_actions.rs`), whether they come as a frame or as a request ([`http`]). A program that
//! serves its own sessions calls [`open`] and runs the result.

pub mod auth;
pub mod channel;
pub mod feed;
pub mod http;
pub mod member_bounds;
pub mod outbox;
pub mod rooms;
pub mod wheel;
pub mod ws;

mod authorized_session;
mod call_decisions;
mod caller;
mod client_call_costs;
mod client_calls;
mod client_time;
mod command_frames;
mod connection_limits;
mod counted_read;
mod counts;
mod credentials;
mod daily_cost;
mod deleted_blobs;
mod dollars;
mod earlier_restore;
mod embedded;
mod expiring;
mod fair_semaphore;
mod files;
mod forwarded;
mod hosts;
mod keyed_requests;
mod known_people;
mod lingering_close;
mod live_settings;
mod maintenance;
mod mcp_parts;
mod media;
mod members;
mod options;
mod problems;
mod quotas;
mod random;
mod reader_seat;
mod rejections;
mod reload;
mod request_terms;
mod server;
mod server_error;
mod session_actions;
mod session_changes;
mod settings_source;
mod size_limits;
mod stalled_connections;
mod state;
mod tls;
mod token_bucket;
mod trust;
mod unlisted_costs;
mod unread_body;
mod waiting_calls;

pub use axum;
pub use caller::Caller;
pub use counts::{MetricCounter, ServerCounters};
pub use embedded::open;
pub use fair_semaphore::{FairPermit, FairQueue, FairSemaphore};
pub use forwarded::Proxies;
pub use options::{ServerLimits, ServerOptions};
pub use reload::{Reload, reload_when_changed};
pub use request_terms::RequestTerms;
pub use server::{Server, bind};
pub use server_error::ServerError;
pub use state::{ServerState, SessionAccess, SessionReaderSeat};
