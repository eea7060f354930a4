//! Shared helpers of AgentX's tests. It is a dev-dependency only, except for the program `agentx-mock`, which
//! is for tests.
//!
//! - [`ScriptedModel`]: a model whose answers are listed beforehand, with stalls that the test releases, and
//!   which records its requests;
//! - [`SimulatedClock`]: a clock that a test moves by hand;
//! - [`fixture`] and [`LogBuilder`]: configurations, requests, actions and logs in a line or two;
//! - [`FaultyLog`]: a session log without a disk; [`MemoryWorld`]: a session over it, with a scripted model;
//! - [`check_log`], [`check_environment`] and [`check_others`]: the contracts of a session log, an
//!   environment and an effector, for authors of other implementations;
//! - [`perform`]: runs an effector on one action and collects its events;
//! - [`TestServer`]: a real HTTP server on a real socket that misbehaves on demand, and [`wire`]: the bytes
//!   of well-behaved servers;
//! - [`pdf_of`] and [`pdf_with_content`]: small PDFs;
//! - [`Mock`]: a model whose answers are in a file, for the program `agentx-mock`;
//! - [`vendors`]: checks without I/O of everything that the vendors of models refuse; [`StrictServer`]:
//!   servers that apply them; and [`RequestChecks`], which every model server of a test puts in front, so
//!   that an invalid request fails the test.
//!
//! ```
//! use agentx_testing::{ModelScript, ScriptedModel, fixture, perform};
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let model = ScriptedModel::new([ModelScript::text("4")]);
//! let said = perform(&model, fixture::call_model("2 + 2?")).await;
//! assert_eq!(said.tags(), ["stream_start", "text_chunk", "usage", "stream_end"]);
//! assert_eq!(model.requests()[0].messages[0].text(), "2 + 2?");
//! # });
//! ```

#![allow(clippy::panic, reason = "a test helper fails a test by panicking")]

mod clock;
mod contract;
mod effect;
mod environment;
pub mod fixture;
mod gate;
mod http;
mod log;
mod memory_log;
mod memory_world;
mod mock;
mod model;
mod pdf;
mod reply;
mod request_checks;
mod server;
mod strict_server;
pub mod vendors;
pub mod wire;

pub use clock::SimulatedClock;
pub use contract::{BrokenPromise, BrokenPromises, check_log};
pub use effect::{EffectorOutput, Performance, check_others, perform, perform_in_session, start};
pub use environment::check_environment;
pub use gate::Gate;
pub use http::HttpRequest;
pub use log::LogBuilder;
pub use memory_log::FaultyLog;
pub use memory_world::{MemoryWorld, run_ended};
pub use mock::{Mock, MockAnswers};
pub use model::{ModelScript, ScriptedModel};
pub use pdf::{pdf_of, pdf_with_content};
pub use reply::ServerReply;
pub use request_checks::{CheckedRequest, FailsOnRefusal, RequestChecks};
pub use server::{TestServer, refusing_address};
pub use strict_server::StrictServer;
