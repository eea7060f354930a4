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
//! Where to read: `run_lifecycle` for runs, `react` for the machine that most agents have, `conversation` for
//! the requests to a model, [`approval`] and [`command_analysis`] for the permissions of calls, [`matching`]
//! for the agent that sorts inputs by rules.
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
mod ancestor_budgets;
pub mod approval;
pub mod arguments;
pub mod ask_user;
pub mod auto_run_files;
mod cache;
mod call_subject;
pub mod closed_files;
pub mod command_analysis;
pub mod command_severity;
pub mod command_split;
mod context;
mod conversation;
mod cut_text;
mod file_tools;
pub mod fixtures;
mod imported_config;
mod json_depth;
mod ledger;
mod limits;
pub mod link_targets;
mod long_options;
pub mod matching;
mod nearest_argument;
mod other_authors;
mod own_program;
mod own_tool_specs;
mod path_pattern;
pub mod pattern;
pub mod plan_mode;
mod react;
mod recall;
pub mod recursive_programs;
pub mod remembered_rule;
mod rule_options;
mod rule_words;
mod run_lifecycle;
pub mod search_scopes;
mod secret_files;
mod severity;
mod stop_cause;
pub mod stuck;
mod summary;
mod system_folders;
mod token_estimate;
mod tool_ranking;
pub mod tool_search;
pub mod unmatchable_rules;
mod wildcards;

pub use agent::Agent;
pub use ancestor_budgets::{AncestorBudgets, Census};
pub use context::{ActionCount, HeardBy, StepContext, Transition};
pub use file_tools::MCP;
pub use json_depth::{MOST_DEPTH, MOST_LEVELS, check_depth};
pub use ledger::{CallStage, LedgerEntry, ToolLedger};
pub use matching::MatchAgent;
pub use own_tool_specs::own_tools;
pub use react::{AGENTS, DELEGATE, NestedCall, NestedStage, ReactAgent, delegation_tools};
pub use recall::RECALL;
pub use run_lifecycle::{
    InputBacklog, PendingRun, RefusedRequest, Run, RunCost, RunInput, Totals, apply, bind_by, hold_to,
    keep_from,
};
pub use stop_cause::{StopCause, StopRecord};
pub use token_estimate::{estimate_request, estimate_text};
pub use {secret_files::secret_files, severity::leads_elsewhere};
