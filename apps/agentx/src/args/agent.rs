//! Arguments that shape an agent and name the session that it works in.

use clap::{Args, ValueEnum};

use crate::error::ChatError;
use crate::session_opening::{CommandLineOverrides, Target};

/// Options that shape the agent.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub(crate) struct AgentArgs {
    /// Use this agent from `.agentx/agents` or your own files
    #[arg(long, value_name = "NAME", help_heading = "Agent")]
    pub(crate) agent: Option<String>,
    /// Model: an id, an alias or PROVIDER/ID [env: AGENTX_MODEL]
    #[arg(short, long, value_name = "NAME", help_heading = "Agent")]
    pub(crate) model: Option<String>,
    /// Model to ask if the model is down, limited or refuses; may be repeated
    #[arg(
        long = "fallback",
        value_name = "NAME",
        help_heading = "Agent",
        hide_short_help = true
    )]
    pub(crate) fallbacks: Option<Vec<String>>,
    /// Replace the built-in system prompt with this text
    #[arg(long, value_name = "TEXT", help_heading = "Agent", hide_short_help = true)]
    pub(crate) system: Option<String>,
    /// Maximum number of tool rounds in one run
    #[arg(
        long,
        value_name = "N",
        help_heading = "Agent",
        hide_short_help = true,
        allow_negative_numbers = true
    )]
    pub(crate) max_iterations: Option<String>,
    /// Stop calling models once a run has cost this many US dollars
    #[arg(
        long,
        value_name = "USD",
        help_heading = "Agent",
        hide_short_help = true,
        allow_negative_numbers = true
    )]
    pub(crate) max_cost: Option<String>,
    /// Stop a run after this time, for example 10m
    #[arg(long, value_name = "TIME", help_heading = "Agent", hide_short_help = true)]
    pub(crate) timeout: Option<String>,
    /// Who decides about calls that no rule covers
    #[arg(
        long = "approval",
        alias = "approve",
        value_name = "WHO",
        help_heading = "Agent",
        hide_short_help = true
    )]
    pub(crate) approve: Option<Approve>,
    /// Allow every call that no rule denies, without asking
    ///
    /// Same as --approval auto, and answers yes to rules that say ask
    #[arg(short, long, help_heading = "Agent", conflicts_with = "approve")]
    pub(crate) yes: bool,
    /// Start in plan mode: nothing is changed or run until a plan is accepted
    #[arg(long, help_heading = "Agent", hide_short_help = true)]
    pub(crate) plan: bool,
    /// Print whole lines only and describe progress in words, for screen readers [env: ACCESSIBLE]
    #[arg(
        long = "screen-reader",
        alias = "plain",
        help_heading = "Agent",
        hide_short_help = true
    )]
    pub(crate) plain: bool,
}

impl AgentArgs {
    /// Returns these options, completed by those before the command.
    pub(crate) fn or(self, outer: Self) -> Self {
        Self {
            agent: self.agent.or(outer.agent),
            model: self.model.or(outer.model),
            fallbacks: self.fallbacks.or(outer.fallbacks),
            system: self.system.or(outer.system),
            max_iterations: self.max_iterations.or(outer.max_iterations),
            max_cost: self.max_cost.or(outer.max_cost),
            timeout: self.timeout.or(outer.timeout),
            approve: self.approve.or(outer.approve),
            yes: self.yes || outer.yes,
            plan: self.plan || outer.plan,
            plain: self.plain || outer.plain,
        }
    }

    /// Returns the options that override a session's own settings.
    pub(crate) fn wanted(&self) -> CommandLineOverrides {
        CommandLineOverrides {
            agent: self.agent.clone(),
            system: self.system.clone(),
            model: self.model.is_some(),
            fallbacks: self.fallbacks.is_some(),
            approval: self.approve.is_some() || self.yes,
            plan: self.plan,
            max_iterations: self.max_iterations.is_some(),
            max_cost: self.max_cost.is_some(),
            timeout: self.timeout.is_some(),
        }
    }
}

/// The decider about calls that no rule covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Approve {
    /// Ask a person; without a terminal, refuse
    Ask,
    /// Change files of the workspace without asking; ask about the others
    AcceptEdits,
    /// Allow them
    Auto,
    /// Refuse them
    Deny,
}

/// Options that name the session to continue.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub(crate) struct SessionArgs {
    /// Continue this session
    #[arg(long, value_name = "ID", help_heading = "Session", hide_short_help = true, conflicts_with_all = ["resume", "last"])]
    pub(crate) session: Option<String>,
    /// Continue this session, by default the latest one here
    #[arg(short, long, value_name = "ID", num_args = 0..=1, default_missing_value = "", help_heading = "Session")]
    pub(crate) resume: Option<String>,
    /// Continue the latest session of this directory
    #[arg(
        short = 'c',
        long,
        alias = "continue",
        help_heading = "Session",
        conflicts_with = "resume"
    )]
    pub(crate) last: bool,
    /// Continue in a copy and leave the session unchanged
    #[arg(long, help_heading = "Session", hide_short_help = true)]
    pub(crate) fork: bool,
}

impl SessionArgs {
    /// Returns the session that the flags name.
    pub(crate) fn target(&self) -> Result<Target, ChatError> {
        // `--session "$ID"` without an ID must not continue some other session.
        if self.session.as_ref().is_some_and(|id| id.trim().is_empty()) {
            return Err(ChatError::usage(
                "--session needs a session id",
                "pass an id, or use --last for the latest session of this directory",
            ));
        }
        let named = self.session.as_ref().or(self.resume.as_ref());
        match named {
            Some(id) if !id.is_empty() => Ok(Target::Id(id.clone())),
            Some(_) => Ok(Target::Last),
            None if self.last => Ok(Target::Last),
            None if self.fork => Err(ChatError::usage(
                "--fork needs a session",
                "add --session ID, --resume ID or --last",
            )),
            None => Ok(Target::New),
        }
    }
}
