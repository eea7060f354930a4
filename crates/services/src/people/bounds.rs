//! The operator's settings as bounds of what a person may set: a person makes them stricter, never freer.

use agentx_types::{ApprovalMode, Limits};

/// The operator's settings, from which the fields of persons and their bounds follow.
#[derive(Clone, Debug, Default)]
pub struct OperatorBounds {
    /// The models that may be chosen, by name.
    pub models: Vec<String>,
    /// The model of a new session.
    pub model: String,
    /// The temperature of model calls, if one is set.
    pub temperature: Option<f64>,
    /// The maximum length of an answer, if one is set. It bounds what a person asks for.
    pub max_tokens: Option<u64>,
    /// The limits of a run.
    pub limits: Limits,
    /// The number of earlier messages that a request has; `None` for as many as fit.
    pub history_context_size: Option<u32>,
    /// The decision about calls that no rule covers.
    pub approval: ApprovalMode,
    /// The time zone; `None` for that of the machine.
    pub time_zone: Option<String>,
}
