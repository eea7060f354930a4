//! Results read from the logs of sessions.
//!
//! A session as people read it ([`transcript`]), its changes of files and the differences of its branches
//! ([`SessionHistory`], [`branches_of`]), its figures ([`stats_of`]), a trial of another rule ([`try_rule`]),
//! the reach of its commands ([`CommandTraces`]), and the session as one document ([`portable`]) or as a test
//! ([`fixture`]). All of it uses only facts and [`agentx_runtime::Runtime`], so it is the same for a local
//! session and one of a server.

pub mod cache;
mod command_traces;
mod escaped_json;
pub mod fixture;
mod judge_score;
pub mod portable;
mod rewind;
mod rule_trial;
mod stats;
pub mod transcript;

pub use command_traces::{
    CommandFate, CommandTrace, CommandTraces, CommandTracing, TracedHost, TracedPath, command_traces,
};
pub use escaped_json::plain_json;
pub use judge_score::{AnalyzerScore, JudgeDisagreement, JudgeScore, JudgeScoring, judge_score};
pub use portable::{export, import};
pub use rewind::*;
pub use rule_trial::{ChangedCall, RuleTrial, TrialReport, try_rule};
pub use stats::{SessionStats, ToolCount, stats_of};
