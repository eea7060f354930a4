//! The part of the command line that is about approval rules.

use clap::{Args, Subcommand};

use super::numbers;

/// `agentx approvals`
#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List every rule and where it comes from
    List {
        /// With those that were kept in this session
        #[arg(long, value_name = "ID")]
        session: Option<String>,
    },
    /// Say what would happen to a call, and by which rule
    Test {
        /// The tool and what it is given: 'bash: rm -rf build', 'write: ../x', 'read: {"path": "x"}'
        call: String,
        /// What bash is to run, where CALL is the name of a tool alone
        #[arg(value_name = "COMMAND")]
        command: Option<String>,
        /// By the rules of this session
        #[arg(long, value_name = "ID")]
        session: Option<String>,
    },
    /// Add a rule to your own file
    Add(AddRuleArgs),
    /// Remove a rule from the file that it stands in
    Remove {
        /// Its number in the list
        #[arg(value_parser = numbers::count, allow_negative_numbers = true)]
        number: usize,
    },
    /// Say which calls of past sessions a new rule would have decided otherwise
    Replay(TrialArgs),
}

/// `agentx approvals add`
#[derive(Args, Debug)]
pub(crate) struct AddRuleArgs {
    /// What it says: allow, ask or deny
    pub(crate) effect: String,
    /// The tool's name; `*` stands for any run of characters
    pub(crate) tool: String,
    /// Of bash: the command line; the same as --argument
    #[arg(value_name = "PATTERN", conflicts_with = "argument")]
    pub(crate) command: Option<String>,
    /// The command line, or the arguments as JSON
    #[arg(long, value_name = "PATTERN")]
    pub(crate) argument: Option<String>,
    /// The path that the call names
    #[arg(long, value_name = "PATTERN")]
    pub(crate) path: Option<String>,
    /// Only in this folder; without it, the rule holds in every folder
    #[arg(long)]
    pub(crate) here: bool,
}

/// `agentx approvals replay`
#[derive(Args, Debug)]
pub(crate) struct TrialArgs {
    /// The rule: 'deny bash: git push*', 'allow edit in src/**'
    #[arg(long, value_name = "RULE")]
    pub(crate) rule: String,
    /// In this session
    #[arg(long, value_name = "ID", conflicts_with = "last")]
    pub(crate) session: Option<String>,
    /// In so many sessions, the latest first; `all` for every one
    #[arg(long, value_name = "N", default_value = "20", value_parser = numbers::count_or_all, allow_negative_numbers = true)]
    pub(crate) last: usize,
    /// Show at most so many calls
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: usize,
}
