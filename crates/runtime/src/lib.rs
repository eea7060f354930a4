//! The parts that every runtime shares.
//!
//! This crate defines the traits [`Environment`], [`Effector`], [`Tool`], [`SessionLog`] and [`Runtime`], and
//! re-exports the fold of `agentx-session`, which live, resume, replay, mirror and fork share.
//!
//! Its parts, in the order in which a fact passes them:
//!
//! | part | does |
//! | --- | --- |
//! | [`LocalSession`] | accepts requests of front ends |
//! | the driver ([`open_session`]) | numbers, folds, commits and publishes |
//! | [`ActionDispatcher`] | passes the actions of agents to responders |
//! | an [`Effector`] | performs an action and emits its events through an [`EventSink`] |
//! | a [`Follower`] | reads the events |
//!
//! Reactors get a [`SystemBus`]. This crate has no database, no HTTP client and no tools. Other crates
//! provide them behind the traits.

mod answer_schema;
mod api;
mod clock;
mod commands;
mod driver;
mod effects;
mod follow;
mod future;
mod ingress;
mod log;
mod log_error;
mod reactors;
mod redaction;
mod ruling;
#[cfg(feature = "answers")]
mod schema_bounds;
mod security;
mod session;
mod session_lists;
pub mod streams;
mod system_events;
mod tools;
mod transport_event;

pub use agentx_agent::approval::{ExplainedVerdict, Verdict, describe, explain_decision, unasked_reading};
pub use agentx_agent::arguments::argument_error;
pub use agentx_agent::auto_run_files::{is_guarded, is_instructions};
pub use agentx_agent::link_targets::LineNames;
pub use agentx_agent::reading_commands::{ReadingLine, SearchedFolder};
pub use agentx_agent::recursive_programs::FolderWalk;
pub use agentx_agent::search_scopes::PlaceRules;
pub use agentx_agent::unmatchable_rules::first_mismatch;
pub use agentx_agent::{
    AGENTS, DELEGATE, InputBacklog, apply, arguments, check_depth, command_severity, delegation_tools,
    hold_to, own_tools,
};
pub use agentx_agent::{built_in_agents_of, estimate_request};
pub use agentx_secrets::{Origin, Redactor, SecretSet};
pub use agentx_session::{
    Delivery, Derived, DerivedDigest, Digest, EventCursor, Fact, LiveContent, OpenWait, PastRequest,
    PendingApproval, Projection, RunState, SessionFold, SessionReader, SessionState, Sharing, SharingFact,
    SourceItem, SourceStart, ToolsChange, UiProjection, View, WaitKind, WaitingInputs, as_offered, bridge,
    receptors,
};
#[cfg(feature = "answers")]
pub use answer_schema::SchemaValidator;
pub use answer_schema::{check_answer_schema, check_answer_schemas, check_json_schema, read_json_answer};
pub use api::*;
pub use clock::{Clock, SystemClock};
pub use commands::DriverStatus;
pub use driver::{DriverParts, ServerRulesSource, StandingRules, halt_sessions};
pub use effects::actions::{ActionDispatcher, ActionRequest};
pub use effects::call_slots::{CallSlot, CallSlots};
pub use effects::captured_effect::CapturedEffect;
pub use effects::commands::{CommandCall, CommandDispatcher, CommandService, ServedCommand, ServingCommand};
pub use effects::condenser::Condenser;
pub use effects::effect::{CommitResult, Effector, EventSink, FactBatch, SessionScope};
pub use effects::model_reply::{ModelReply, ask_model};
pub use effects::nested_calls::{DecisionPause, Pauses};
pub use follow::{EventSource, FollowError, Follower, PastEvents, SubscriptionSource, watch_log};
pub use future::BoxFuture;
pub use ingress::{Ingress, InvalidEnvironmentName, OpenSessions};
pub use log::blob_store::{BlobStore, blob_id};
pub use log::blobs::{SessionBlobs, blobs_of, has_blob};
pub use log::folding::fold_until;
pub use log::log_in_memory::MemoryLog;
pub use log::redacting::{RedactedSession, Redaction, RedactionPlan};
pub use log::stored_rows::{Adoption, LogPart, LogPlace, LogRow, LogRows};
pub use log::titles::{MAX_TITLE_CHARS, check_title, is_own_command, title_from};
pub use log::writing::{Batch, NewLog, Writer};
pub use log::*;
pub use log_error::LogError;
pub use reactors::bus_models::BusModels;
pub use reactors::environments::{Environment, ModelEnvironment, ToolEnvironment};
pub use reactors::observers::{RunCounts, event_logger, logs_events, run_counter};
pub use reactors::serving::{ServedBy, Serving};
pub use reactors::system_bus::SystemBus;
pub use reactors::transport::TransportReports;
pub use redaction::{
    FactRedactor, RecordedText, RedactedFacts, RedactingLog, RedactingModels, is_piece, recorded_texts,
    redact_outcome, redact_request,
};
pub use ruling::{
    Ruling, RulingKind, allows_everything, always_asked, build_pattern, is_useless_rule, names_a_tool,
    offered_patterns, refused_by_the_tool, refused_in_line, still_asked, with_pattern, with_patterns,
};
pub use security::analyzer::{
    AnalyzerAnswer, AnalyzerResponder, CallToAssess, RulesAnalyzer, SecurityAnalyzer,
};
pub use security::judge_answer::verdict_in;
pub use security::model_judge::ModelJudge;
pub use session::duplicate_message::time_note;
pub use session::local_session::LocalSession;
pub use session::message_size::larger_than_window;
pub use session::offline_writer::{FactRecorder, OfflineWriter};
pub use session::opening::{SessionIds, open_session};
pub use session::picture_support::{cannot_see, do_not_fit, takes_no_pictures};
pub use session::recorded_redaction::{redact_session, replace_copied_facts};
pub use session_lists::*;
pub use system_events::{AgentEvent, AgentEventBus, SystemEvent, SystemEvents};
pub use tools::call_approver::{CallApprover, CallInQuestion};
pub use tools::intercepted_tool::{InterceptedTool, ToolInterceptor};
pub use tools::journal::Journal;
pub use tools::listener::{AgentHearing, AgentListener};
pub use tools::request_values::RequestValues;
pub use tools::served_tool::ToolCallRunner;
pub use tools::step_record::{StartingStep, StepMetadata};
pub use tools::terminal_line::TerminalLine;
pub use tools::tool::{PromptWriter, Tool, ToolContext, ToolOutcome, ToolOutputSink};
pub use tools::tool_offers::ToolOffers;
pub use transport_event::{TransportChange, TransportEvent};
