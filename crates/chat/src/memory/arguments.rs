//! The words of `agentx memory` and of `/memory`.

use agentx::memory::MemoryState;
use clap::{Args, Parser, Subcommand, ValueEnum};

/// A command about memories.
#[derive(Debug, Subcommand)]
pub enum MemoryCommand {
    /// List the memories, the latest first
    #[command(alias = "ls")]
    List {
        /// Only those in this state
        #[arg(long, value_name = "STATE")]
        state: Option<StateArgument>,
        /// Only those that are used in this directory
        #[arg(long)]
        here: bool,
    },
    /// Show a memory: its text, its origin, and where it is used
    Show {
        /// Its number
        id: i64,
    },
    /// Accept proposals: from now on models get them when they fit
    Accept {
        /// Their numbers
        #[arg(required_unless_present = "all", value_name = "NUMBER")]
        ids: Vec<i64>,
        /// All proposals that wait
        #[arg(long, conflicts_with = "ids")]
        all: bool,
    },
    /// Refuse proposals, or withdraw accepted memories: models no longer get them
    Refuse {
        /// Their numbers
        #[arg(required_unless_present = "all", value_name = "NUMBER")]
        ids: Vec<i64>,
        /// All proposals that wait
        #[arg(long, conflicts_with = "ids")]
        all: bool,
    },
    /// Change a memory
    Edit(EditArguments),
    /// Add a memory yourself
    Add {
        /// The words
        #[arg(required = true)]
        text: Vec<String>,
        /// Use it in this directory and below it only
        #[arg(long)]
        here: bool,
        /// Always give it to models
        #[arg(long)]
        pin: bool,
    },
    /// Delete memories
    #[command(alias = "rm")]
    Delete {
        /// Their numbers
        #[arg(required = true, value_name = "NUMBER")]
        ids: Vec<i64>,
    },
    /// Search the memories
    Search {
        /// The words
        #[arg(required = true)]
        words: Vec<String>,
    },
    /// Write all memories as JSON
    Export,
    /// Delete all memories
    Erase {
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

/// `agentx memory edit`
#[derive(Args, Debug)]
pub struct EditArguments {
    /// The number of the memory
    #[arg(value_name = "NUMBER")]
    pub(super) id: i64,
    /// The new text
    pub(super) text: Vec<String>,
    /// Always give it to models
    #[arg(long, conflicts_with = "unpin")]
    pub(super) pin: bool,
    /// Give it to models only when it fits
    #[arg(long)]
    pub(super) unpin: bool,
    /// Use it in this directory and below it only
    #[arg(long, conflicts_with = "everywhere")]
    pub(super) here: bool,
    /// Use it everywhere
    #[arg(long)]
    pub(super) everywhere: bool,
}

/// A state, as a person types it.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum StateArgument {
    /// It waits for you
    Proposed,
    /// Models are given it
    Accepted,
    /// You do not want it
    Refused,
}

impl From<StateArgument> for MemoryState {
    fn from(state: StateArgument) -> Self {
        match state {
            StateArgument::Proposed => Self::Proposed,
            StateArgument::Accepted => Self::Accepted,
            StateArgument::Refused => Self::Refused,
        }
    }
}

/// The words behind `/memory`.
#[derive(Debug, Parser)]
#[command(
    no_binary_name = true,
    disable_help_flag = true,
    disable_help_subcommand = true
)]
pub(super) struct MemoryLine {
    #[command(subcommand)]
    command: Option<MemoryCommand>,
}

impl MemoryLine {
    /// Reads them; words in a text need no quotes.
    ///
    /// # Errors
    /// Returns the mistake, in one line.
    pub(super) fn read(line: &str) -> Result<Option<MemoryCommand>, String> {
        match Self::try_parse_from(line.split_whitespace()) {
            Ok(read) => Ok(read.command),
            Err(error) => {
                let text = error.to_string();
                let first = text.lines().next().unwrap_or_default();
                Err(format!("/memory: {}", first.trim_start_matches("error: ")))
            }
        }
    }
}
