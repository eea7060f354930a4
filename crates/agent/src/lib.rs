//! The pure agent machines: how an agent reacts to each fact of its session.
//!
//! An [`Agent`] is a Mealy machine: [`Agent::step`] takes the next committed fact and returns what follows:
//! outputs for its own bus, and actions for effectors. It never fails, never blocks, and uses neither clock
//! nor randomness; the same facts give the same agent, byte for byte, and it can be serialized and read back
//! between any two steps. [`Agent`] documents the contract.
//!
//! | fact in | state that changes | actions out |
//! | --- | --- | --- |
//! | `user_message` | a run is opened | `call_model`, `start_timer` |
//! | `stream_start` … `stream_end` | the answer is put together | `call_tool` or `answer_call` for each call, or a question |
//! | `approval` | the call is released or denied | `call_tool` or `answer_call` |
//! | `tool_result`, the last one of a round | the results join the conversation | `call_model`, or the run ends |
//! | `interrupt_requested` | the run is being stopped | `cancel` for all that runs, then `report` |
//! | `writer_attached` | open work of another process is settled | the calls that may be repeated |
//!
//! The folders of the crate are the place to start. Public names are re-exported below.
//!
//! | folder | what is in it |
//! | --- | --- |
//! | `commands` | command lines: the two readings ([`command_analysis`] and [`command_split`]), and how severe each is |
//! | `conversation` | the messages, the part of them that a request has, and its repairs after a refusal |
//! | `files` | files that rules name, and those that are guarded without a rule |
//! | `limits` | limits that end a run |
//! | [`matching`] | the machine of an agent that sorts inputs by rules |
//! | `permissions` | the decision about a call ([`approval`]): what the call is about, and what the rules say about it |
//! | `react` | the machine that most agents have: think, call tools, continue, end |
//! | [`security`] | the risk of calls, and the decision that follows from the verdicts of analyzers |
//! | `run_lifecycle` | runs, for every machine: waiting inputs, the current run, its reports and costs |
//! | [`stuck`] | the detection of agents that repeat themselves |
//! | `tools` | tools that the agent serves itself, the search for others, and checks of arguments |
//!
//! `agent.rs` has the type [`Agent`], `context.rs` its arguments and results, `ledger.rs` the calls of a
//! round, and `built_in_agents.rs` the agents that need no file.
//!
//! ```
//! use agentx_agent::{Agent, StepContext, fixtures};
//! use agentx_types::{ActionBody, AgentStateId, ContentPart, EventDraft, EnvironmentEvent, SessionId, Source, Timestamp, UserMessage};
//!
//! let id = AgentStateId::new("agt_1");
//! let mut agent = Agent::new(id.clone(), fixtures::config());
//! let message = UserMessage {
//!     message_id: "msg_1".into(),
//!     content: vec![ContentPart::text("hello")],
//!     mode: Default::default(),
//!     idempotency_key: None,
//!     by: None,
//!     answer_schema: None,
//! };
//! let fact = EventDraft::<EnvironmentEvent>::new(Source::User, Some(id), message).into_envelope(SessionId::new("ses_1"), 2, Timestamp(0));
//! let transition = agent.step(&fact, &StepContext::default());
//! assert!(matches!(transition.actions[0].body, ActionBody::CallModel(_)));
//! ```

mod agent;
mod built_in_agents;
mod cache;
mod commands;
mod context;
mod conversation;
mod cut_text;
mod files;
pub mod fixtures;
mod imported_config;
mod json_depth;
mod learning_request;
mod ledger;
mod limits;
mod maker_changes;
pub mod matching;
mod other_authors;
pub mod pattern;
mod permissions;
mod react;
mod run_lifecycle;
pub mod security;
pub mod stuck;
mod summary;
mod token_estimate;
mod tools;

pub use commands::{
    build_patterns, command_analysis, command_split, question_grade as command_severity, reading_commands,
    recursive_programs,
};
pub use files::{auto_run_files, closed_files};
pub use permissions::{approval, link_targets, remembered_rule, search_scopes, unmatchable_rules};
pub use tools::{arguments, ask_user, plan_mode, remind_me, tool_search, wait};

pub use agent::Agent;
pub use built_in_agents::{BUILT_IN_AGENTS, built_in_agents_of, delegation_tools_of};
pub use commands::severity::leads_elsewhere;
pub use context::{ActionCount, HeardBy, StepContext, Transition};
pub use files::secret_files::secret_files;
pub use json_depth::{MOST_DEPTH, MOST_LEVELS, check_depth};
pub use ledger::{CallStage, LedgerEntry, ToolLedger};
pub use limits::ancestor_budgets::{AncestorBudgets, Census};
pub use limits::stop_cause::{StopCause, StopRecord};
pub use matching::MatchAgent;
pub use react::{NestedCall, NestedStage, ReactAgent, Reminder};
pub use run_lifecycle::{
    InputBacklog, PendingRun, RefusedRequest, Run, RunCost, RunInput, Totals, apply, bind_by, hold_to,
    keep_from,
};
pub use token_estimate::{estimate_request, estimate_text};
pub use tools::delegation_tools::{AGENTS, DELEGATE, delegation_tools};
pub use tools::described_tools::MCP;
pub use tools::own_tool_specs::own_tools;
pub use tools::recall::RECALL;
