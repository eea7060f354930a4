//! Arguments of the commands about approval rules.

use clap::{Args, Subcommand};

use crate::command_line::numbers;

/// `agentx approvals`
#[derive(Debug, Subcommand)]
pub enum ApprovalsCommand {
    /// List every rule and where it comes from
    #[command(alias = "ls")]
    List {
        /// Include the rules kept in this session
        #[arg(long, value_name = "ID")]
        session: Option<String>,
    },
    /// Show what would happen to a call, and which rule decides it
    Test {
        /// The tool and its arguments: 'bash: rm -rf build', 'write: ../x', 'read: {"path": "x"}'
        call: String,
        /// The command line for bash, if CALL is only the name of the tool
        #[arg(value_name = "COMMAND")]
        command: Option<String>,
        /// Use the rules of this session
        #[arg(long, value_name = "ID")]
        session: Option<String>,
    },
    /// Add a rule to your own file
    Add(AddRuleArgs),
    /// Remove a rule from its file
    #[command(alias = "rm")]
    Remove {
        /// The number of the rule in the list
        #[arg(value_parser = numbers::count, allow_negative_numbers = true)]
        number: usize,
    },
    /// Show which past calls a new rule or your sandbox would have decided differently
    Replay(TrialArgs),
    /// Show how often analyzers of risk agreed with people in past sessions, and where not
    Score(ScoreArgs),
    /// List the calls that a judge refused in a session, or allow one of them
    Overrule(OverruleArgs),
}

impl ApprovalsCommand {
    /// `agentx approvals` alone.
    pub const ALL: Self = Self::List { session: None };
}

/// `agentx approvals add`
#[derive(Args, Debug)]
pub struct AddRuleArgs {
    /// The effect: allow, ask or deny
    pub effect: String,
    /// The tool's name; `*` matches any characters
    pub tool: String,
    /// The command line, for bash, or SERVER/TOOL, for mcp; same as --argument
    #[arg(value_name = "PATTERN", conflicts_with = "argument")]
    pub command: Option<String>,
    /// The command line, or the arguments as JSON
    #[arg(long, value_name = "PATTERN")]
    pub argument: Option<String>,
    /// The path in the call
    #[arg(long, value_name = "PATTERN")]
    pub path: Option<String>,
    /// Apply the rule in this folder only, not in every folder
    #[arg(long)]
    pub here: bool,
}

/// `agentx approvals replay`
#[derive(Args, Debug)]
pub struct TrialArgs {
    /// The rule: 'deny bash: git push*', 'allow edit in src/**'
    #[arg(
        long,
        value_name = "RULE",
        required_unless_present = "sandbox",
        conflicts_with = "sandbox"
    )]
    pub rule: Option<String>,
    /// Show commands that your sandbox would have refused something, as far as the logs prove it
    #[arg(long)]
    pub sandbox: bool,
    /// Check this session only
    #[arg(long, value_name = "ID", conflicts_with = "sessions")]
    pub session: Option<String>,
    /// Check the N latest sessions, or `all`
    #[arg(long, alias = "last", value_name = "N", default_value = "20", value_parser = numbers::count_or_all, allow_negative_numbers = true)]
    pub sessions: usize,
    /// Show at most N calls
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub limit: usize,
}

/// `agentx approvals score`
#[derive(Args, Debug)]
pub struct ScoreArgs {
    /// Check this session only
    #[arg(long, value_name = "ID", conflicts_with = "sessions")]
    pub session: Option<String>,
    /// Check the N latest sessions, or `all`
    #[arg(long, value_name = "N", default_value = "20", value_parser = numbers::count_or_all, allow_negative_numbers = true)]
    pub sessions: usize,
    /// Show at most N disagreements
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub limit: usize,
}

/// `agentx approvals overrule`
#[derive(Args, Debug)]
pub struct OverruleArgs {
    /// The session
    pub session: String,
    /// The call, as the list shows it; without it, the calls are listed
    pub call: Option<String>,
    /// Agree with the refusal instead of allowing the call
    #[arg(long)]
    pub refuse: bool,
}
