//! AgentX: an event-driven runtime for LLM agents.
//!
//! An agent is a pure state machine; everything outside it is its environment and speaks to it in events; the events, in
//! order, are the session. This crate re-exports the parts, so that one dependency is enough.
//!
//! ```
//! use agentx::config::{Places, Request, load};
//! use agentx::{NodeRuntime, OpenRequest, Runtime, ask};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let home = tempfile::tempdir()?;
//! # let place = home.path().to_string_lossy().into_owned();
//! # let env = move |name: &str| matches!(name, "HOME" | "AGENTX_DATA").then(|| place.clone());
//! # let here = home.path();
//! let settings = load(Request { places: Places::find(here, &env)?, lookup: &env, flags: Vec::new() })?.settings;
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
//! | [`types`] | ids, the three event vocabularies, envelopes, messages, actions, configuration |
//! | [`agent`] | the pure machines |
//! | [`bus`] | the event bus and its reactors |
//! | [`llm`] | wire codecs of the model APIs and the model catalog, without I/O |
//! | [`runtime`] | the traits, receptors, bridge, the fold of a session and its driver |
//! | [`node`] | the runtime that acts |
//! | [`remote`] | the runtime that mirrors and drives a session of a server |
//! | [`identity`] | keys, signed challenges, whom a server trusts |
//! | [`agent_files`], [`assembly`] | agents and tools described in files, and what sessions are opened with |
//! | [`luau_tools`] | sandboxed Luau |
//! | [`sqlite_log`], [`tools`], [`config`] | the log, the built-in tools, the configuration |

pub use agentx_agent as agent;
pub use agentx_agent_files as agent_files;
pub use agentx_assembly as assembly;
pub use agentx_bus as bus;
pub use agentx_config as config;
pub use agentx_identity as identity;
pub use agentx_llm as llm;
pub use agentx_luau_tools as luau_tools;
pub use agentx_node_runtime as node;
pub use agentx_remote_runtime as remote;
pub use agentx_runtime as runtime;
pub use agentx_sqlite_log as sqlite_log;
pub use agentx_tools as tools;
pub use agentx_types as types;

pub use agentx_node_runtime::NodeRuntime;
pub use agentx_runtime::{
    ApprovalInput, Delivery, OpenRequest, Runtime, RuntimeError, Session, Subscription, UserInput, View,
};

use agentx_types::{ContentPart, RunStatus, RuntimeEvent};

/// Says `text` to the session's agent and waits for the answer to it.
///
/// # Errors
/// Where the input could not be committed, the session ended, or the run did not come to an answer; the error then has its
/// reason. A run that waits for a person's decision waits here too: answer it from another task, or give the agent rules.
pub async fn ask(session: &dyn Session, text: &str) -> Result<String, RuntimeError> {
    let content = vec![ContentPart::text(text)];
    let seq = session
        .send(UserInput {
            content,
            ..UserInput::default()
        })
        .await?;
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
