//! The defaults of a new agent. The settings of the program, the builder of the library and
//! imported logs begin with these values and name what differs, so that an agent behaves alike however it is
//! made.

use crate::{AgentConfig, Condensing, Limits, ModelSpec, StuckSettings, ToolSearch};

impl Limits {
    /// The limits of a new agent: 50 rounds of tools in one run, and no bound on tokens, cost and time.
    pub fn of_new_agent() -> Self {
        Self {
            max_iterations: Some(50),
            ..Self::default()
        }
    }
}

impl Condensing {
    /// The condensing of a new agent: the default share of the window and number of exchanges, and requests
    /// that keep the same beginning. [`Condensing::default`] lacks the latter, as older logs do.
    pub fn of_new_agent() -> Self {
        Self {
            keeps_beginning: true,
            ..Self::default()
        }
    }
}

impl AgentConfig {
    /// A ReAct agent of `model` with the usual limits, condensing, search for tools and detection of loops,
    /// and without a name, prompt, tools, rules and guard. Callers set other fields with
    /// `..AgentConfig::with_defaults(model)`.
    pub fn with_defaults(model: ModelSpec) -> Self {
        Self {
            limits: Limits::of_new_agent(),
            condensing: Some(Box::new(Condensing::of_new_agent())),
            tool_search: Some(ToolSearch::default()),
            stuck: Some(StuckSettings::default()),
            ..Self::react(model)
        }
    }
}
