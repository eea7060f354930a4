//! AgentX: an event-driven runtime for LLM agents.
//!
//! An agent is a pure state machine; everything outside it is its environment and speaks to it in events; the
//! events, in order, are the session. Add this crate to your program: it is the shortest way to an agent, and
//! re-exports all parts.
//!
//! ```
//! /// Says what the weather is like.
//! #[agentx::tool]
//! async fn weather(#[arg("The city.")] city: String) -> Result<String, String> {
//!     Ok(format!("sunny in {city}"))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), agentx::AgentError> {
//! let agent = agentx::agent("You help travellers.").model("scripted").tool(weather).start().await?;
//! let answer = agent.ask("weather in Paris?").await?;
//! assert!(answer.text.contains("sunny in Paris"));
//! # Ok(())
//! # }
//! ```
//!
//! The library reads no settings of the person who runs the program, and stores nothing, unless you ask for
//! it:
//!
//! ```no_run
//! # async fn start(key: String) -> Result<(), agentx::AgentError> {
//! let agent = agentx::agent("You help.").model("claude-sonnet-4-5").api_key(key).start().await?;
//! # drop(agent);
//! # Ok(())
//! # }
//! ```
//!
//! [`AgentBuilder::from_user_config`] takes their models, keys and rules, as the program `agentx` does. The
//! model `scripted` is the offline demo, which needs no key and calls a tool that the message names.
//! `docs/LIBRARY.md` describes each method, and the cost of each feature of this crate.
//!
//! | to | see | example |
//! | --- | --- | --- |
//! | make a tool of a function | [`tool`] | `examples/weather.rs` |
//! | hear the answer as it comes | [`AgentHandle::stream`] | `examples/stream.rs` |
//! | have an answer as a type of its own | [`AgentHandle::ask_as`] | |
//! | hand a value to the tools of one run | [`Ask::with`] | `examples/context.rs` |
//! | stop a run | drop what was asked, [`Ask::cancelled_by`], [`AgentHandle::interrupt`] | `examples/cancel.rs` |
//! | say something in mid-run | [`AgentHandle::steer`] | `examples/steer.rs` |
//! | decide tomorrow, in another process | [`AgentHandle::pending`], [`AgentBuilder::resume`] | `examples/approve_later.rs` |
//! | bring a model of its own | [`Provider`], [`AgentBuilder::scripted`] | |
//! | ask a model once | [`model`](fn@model) | |
//! | have models and tools come and go | [`AgentHandle::attach`], [`ScriptedEnvironment`] | `examples/reactor.rs` |
//! | replace a service of a personal agent | [`services`] | `examples/replaced_service.rs` |
//! | serve agents inside a program | `server::open` | `examples/embedded_server.rs` |
//! | branch a session | [`AgentHandle::fork`], [`AgentHandle::fork_at`] | `examples/fork.rs` |
//!
//! The same from individual parts:
//!
//! ```
//! use agentx::config::{ConfigPaths, LoadRequest, load};
//! use agentx::{NodeRuntime, OpenRequest, Runtime, ask};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let home = tempfile::tempdir()?;
//! # let place = home.path().to_string_lossy().into_owned();
//! # let env = move |name: &str| matches!(name, "HOME" | "AGENTX_DATA").then(|| place.clone());
//! # let here = home.path();
//! let settings = load(LoadRequest { places: ConfigPaths::find(here, &env)?, lookup: &env, flags: Vec::new() })?.settings;
//! let runtime = NodeRuntime::from_settings(&settings, "hello 1.0")?;
//! let model = runtime.models()[0].spec.clone(); // the offline demo; any other needs its key
//! let agent = settings.agent(model, runtime.tools());
//! let session = runtime.open(OpenRequest::New(Box::new(agent))).await?;
//! let answer = ask(session.as_ref(), "hello").await?;
//! assert!(answer.contains("demo"));
//! session.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`types`] | ids, the four kinds of events, envelopes, messages, actions, configuration |
//! | [`agent`](mod@agent) | the pure machines |
//! | [`bus`] | the event bus and its reactors |
//! | [`llm`] | wire codecs of the model APIs and the model catalog, without I/O |
//! | [`runtime`] | the traits, receptors, bridge, the fold of a session and its driver |
//! | [`history`] | what is read out of logs: transcripts, files as they were, branches, figures, rules on trial, documents |
//! | [`secrets`] | finds secrets in text, also in text that arrives in pieces, and replaces them |
//! | [`node`] | the runtime that acts |
//! | [`remote`], [`identity`] | sessions of a server, and who a person is: features `remote` and `identity` |
//! | [`agent_files`], [`assembly`], [`luau_tools`] | agents and tools described in files, and sandboxed Luau: feature `luau` |
//! | [`exec_server`] | a process that executes for sessions elsewhere, and tools that run there: feature `exec-server` |
//! | [`openhands`] | logs of OpenHands as sessions: feature `openhands` |
//! | [`web`] | the tools of the web, and the helper that reads HTML and PDF: feature `web` |
//! | [`services`] | services of a personal agent: context of runs, settings of persons, the list of commands: feature `config` |
//! | [`tools`] | tools whose arguments are a type; the built-in ones: feature `tools` |
//! | [`sqlite_log`], [`config`], [`server`], `testing` | by their features: sessions on disk, the configuration, a server, what tests share |

/// Runs the code in the documentation of the library as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/LIBRARY.md")]
struct LibraryPage;

mod answering;
mod ask;
#[cfg(feature = "typed-answers")]
mod ask_as;
mod builder;
mod built_parts;
#[cfg(feature = "config")]
mod configured;
mod definition;
mod error;
mod existing_runtime;
mod handle;
mod model;
mod model_access;
mod provider;
mod reply;
mod setup;
#[doc(hidden)]
pub mod support;
mod tool;
mod update;
mod work_dirs;

pub use agentx_agent as agent;
#[cfg(feature = "luau")]
pub use agentx_agent_files as agent_files;
#[cfg(feature = "luau")]
pub use agentx_assembly as assembly;
pub use agentx_bus as bus;
#[cfg(feature = "config")]
pub use agentx_config as config;
#[cfg(feature = "exec-server")]
pub use agentx_exec_server as exec_server;
pub use agentx_history as history;
#[cfg(feature = "identity")]
pub use agentx_identity as identity;
pub use agentx_llm as llm;
#[cfg(feature = "luau")]
pub use agentx_luau_tools as luau_tools;
#[cfg(feature = "mcp")]
pub use agentx_mcp as mcp;
#[cfg(feature = "config")]
pub use agentx_memory as memory;
pub use agentx_node_runtime as node;
#[cfg(feature = "openhands")]
pub use agentx_openhands as openhands;
#[cfg(feature = "remote")]
pub use agentx_remote_runtime as remote;
pub use agentx_runtime as runtime;
#[cfg(feature = "tools")]
pub use agentx_sandbox as sandbox;
pub use agentx_secrets as secrets;
#[cfg(feature = "server")]
pub use agentx_server as server;
#[cfg(feature = "config")]
pub use agentx_services as services;
#[cfg(feature = "sqlite")]
pub use agentx_sqlite_log as sqlite_log;
#[cfg(feature = "testing")]
pub use agentx_testing as testing;
pub use agentx_tools as tools;
pub use agentx_types as types;
#[cfg(feature = "web")]
pub use agentx_web as web;

/// Libraries whose traits the arguments and results of tools implement, so that a program need not depend on
/// them itself.
pub use {schemars, serde, serde_json};

/// Cancels a run ([`Ask::cancelled_by`]), what a reactor serves, or an action that is performed.
pub use tokio_util::sync::CancellationToken;

#[cfg(feature = "http")]
pub use agentx_node_runtime::model::{ClaudeEnvironment, OpenAiEnvironment};
pub use agentx_node_runtime::scripted::ScriptedEnvironment;
pub use agentx_node_runtime::{NodeRuntime, ToolServer};
#[cfg(feature = "remote")]
pub use agentx_remote_runtime::WebSocketEnvironment;
pub use agentx_runtime::{
    ApprovalInput, Delivery, MemoryLog, OpenRequest, PendingApproval, Runtime, RuntimeError, Session,
    Subscription, ToolContext, UserInput, View,
};
pub use answering::Answering;
pub use ask::Ask;
#[cfg(feature = "typed-answers")]
pub use ask_as::AskAs;
pub use builder::{AgentBuilder, agent};
pub use error::AgentError;
pub use handle::AgentHandle;
pub use model::{Model, model};
pub use provider::{AnswerSink, Provider, ProviderError};
pub use reply::Reply;
pub use serde_json::json;
pub use tool::{IntoTool, OfFunction, OfShared, OfTool, OfType};
pub use update::{Answer, Update};

/// Makes a tool of an async function.
///
/// The model reads the function's name, its documentation, and the documentation of each parameter. Give the
/// name of the function to [`AgentBuilder::tool`].
///
/// ```
/// use agentx::ToolContext;
/// use agentx::runtime::Tool as _;
///
/// /// Finds trains between two cities.
/// #[agentx::tool(name = "find-trains", idempotent)]
/// async fn trains(
///     /// Where the journey begins.
///     from: String,
///     /// Where it ends.
///     to: String,
///     /// At most so many.
///     #[arg(default = 3_u8)]
///     limit: u8,
///     /// Only after this hour.
///     after: Option<u8>,
///     context: &ToolContext,
/// ) -> Result<Vec<String>, String> {
///     let _ = (context.get::<String>(), after);
///     Ok((0..limit).map(|n| format!("{from} – {to}, {n} o'clock")).collect())
/// }
///
/// let spec = trains().spec();
/// assert_eq!((spec.name.as_str(), spec.idempotent), ("find-trains", true));
/// assert_eq!(spec.description, "Finds trains between two cities.");
/// assert_eq!(spec.input_schema["properties"]["from"]["description"], "Where the journey begins.");
/// assert_eq!(spec.input_schema["properties"]["limit"]["default"], 3);
/// assert_eq!(spec.input_schema["required"], serde_json::json!(["from", "to"]));
/// ```
///
/// It returns `Result<T, E>`. The model reads a `T` that is text unchanged, any other `T` as JSON, and an `E`
/// by its `Display` as a failure. When the run is stopped, the function is dropped at its current await.
///
/// | attribute | says |
/// | --- | --- |
/// | `name = "…"` | its name, if it is not the function's |
/// | `read`, `change`, `run` | it reads files, changes things, runs programs: calls that change or run something need approval. Without one it touches nothing and never needs approval |
/// | `path = p`, `command = c` | the parameter that holds a path, or a command line, for approval rules |
/// | `idempotent` | after a crash it may be called again |
/// | `quit` | a successful call ends the run |
/// | `waits` | it waits for agents or other tools, so it does not count against the limit of concurrent calls |
///
/// A parameter is a name with a type that is [`Deserialize`](serde::Deserialize) and
/// [`JsonSchema`](schemars::JsonSchema); an `Option` may be left out. `#[arg(default)]` and
/// `#[arg(default = …)]` set its value if it is left out, `#[arg(name = "…")]` its name for the model, and
/// `#[arg("…")]` its description in place of a doc comment. `&ToolContext` is not an argument but the call's
/// context: session and workspace, output while the tool runs, cancellation, and [values](Ask::with).
///
/// A parameter without a description does not compile:
///
/// ```compile_fail
/// /// Shouts.
/// #[agentx::tool]
/// async fn shout(words: String) -> Result<String, String> {
///     Ok(words.to_uppercase())
/// }
/// ```
///
/// ```
/// /// Shouts.
/// #[agentx::tool]
/// async fn shout(#[arg("What is shouted.")] words: String) -> Result<String, String> {
///     Ok(words.to_uppercase())
/// }
/// ```
///
/// The same applies to a tool without a description, or one that is not `async`, borrows its arguments, or
/// does not return a `Result`:
///
/// ```compile_fail
/// #[agentx::tool]
/// async fn shout(#[arg("What is shouted.")] words: String) -> Result<String, String> {
///     Ok(words.to_uppercase())
/// }
/// ```
///
/// ```compile_fail
/// /// Shouts.
/// #[agentx::tool]
/// fn shout(#[arg("What is shouted.")] words: String) -> Result<String, String> {
///     Ok(words.to_uppercase())
/// }
/// ```
///
/// ```compile_fail
/// /// Shouts.
/// #[agentx::tool]
/// async fn shout(#[arg("What is shouted.")] words: &str) -> Result<String, String> {
///     Ok(words.to_uppercase())
/// }
/// ```
///
/// ```compile_fail
/// /// Shouts.
/// #[agentx::tool]
/// async fn shout(#[arg("What is shouted.")] words: String) -> String {
///     words.to_uppercase()
/// }
/// ```
pub use agentx_macros::tool;

/// Makes a test from a recorded session:
/// `agentx sessions export --fixture SESSION -o tests/fixtures/bug.session` records it, and the test replays
/// it without a model, a key, the network or a clock.
///
/// ```
/// agentx::replay_test!("tests/fixtures/question.session");
/// ```
///
/// The path begins at the folder of the crate's `Cargo.toml`, and the file is part of the test program. The
/// test is called `replay_of_question`, after the file. It fails at the first event with another result than
/// the recorded one, and prints its `seq` and both results.
pub use agentx_macros::replay_test;

use agentx_types::{RunStatus, RuntimeEvent};

/// Says `text` to the session's agent and waits for the answer to it.
///
/// # Errors
/// Returns an error if the input could not be committed, the session ended, or the run did not come to an
/// answer; the error then has its reason. If the run waits for a person's decision, this function waits, too:
/// answer it from another task, or give the agent rules.
pub async fn ask(session: &dyn Session, text: &str) -> Result<String, RuntimeError> {
    let seq = session.send(UserInput::text(text)).await?;
    let mut events = session.subscribe(seq - 1, View::Runtime).await?;
    let run = types::RunId::of_input(seq);
    let mut answer = String::new();
    while let Some(delivery) = events.next().await {
        let Delivery::Runtime(event) = delivery else {
            continue;
        };
        match &event.event {
            RuntimeEvent::TurnResponse(turn) if turn.run_id == run => answer.clone_from(&turn.text),
            RuntimeEvent::RunFinished(finished) if finished.run_id == run => {
                return match finished.status {
                    RunStatus::Completed => Ok(answer),
                    _ => Err(RuntimeError::Refused(
                        finished
                            .reason
                            .clone()
                            .unwrap_or_else(|| "the run has no answer".into()),
                    )),
                };
            }
            _ => {}
        }
    }
    Err(RuntimeError::Gone {
        session: session.id().clone(),
        why: "it ended before the answer".into(),
    })
}
