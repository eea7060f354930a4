//! The part of the command line that is about sessions that there are.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{IdArgs, ShareArgs, numbers};
use crate::show::Wanted;

/// `agentx sessions`
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List sessions, the latest first
    List {
        /// Only those of this directory
        #[arg(long)]
        here: bool,
        /// Only those in which a call waits for an answer
        #[arg(long)]
        waiting: bool,
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = numbers::count, allow_negative_numbers = true)]
        limit: usize,
    },
    /// Show a session and what was said in it
    Show(ShowArgs),
    /// Search in what was said in all sessions
    Search {
        /// What to look for
        #[arg(required = true)]
        words: Vec<String>,
        /// At most so many places
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = numbers::count, allow_negative_numbers = true)]
        limit: usize,
    },
    /// Delete a session
    Delete {
        /// Its id, or the beginning of it
        id: String,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Check every stored byte of a session
    Verify(IdArgs),
    /// Name a session
    Rename(RenameArgs),
    /// Write a session down: to read, or to take in elsewhere
    Export(ExportArgs),
    /// Take in a session that was exported as JSON
    Import(ImportArgs),
    /// Count what sessions came to: events, bytes, tokens, money, tools
    Stats(StatsArgs),
    /// Give back the space of what was deleted
    Gc,
    /// Say what another person may do in a session
    Share(ShareArgs),
}

/// `agentx sessions show`, `agentx show`
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Its id, or the beginning of it
    pub(crate) id: String,
    /// Only what was said around this event, as `agentx sessions search` names it
    #[arg(long, value_name = "SEQ", value_parser = numbers::event, allow_negative_numbers = true)]
    pub(crate) at: Option<u64>,
    /// Go through it event by event, with the state and the context after each; with SEQ print that step
    #[arg(long, value_name = "SEQ", num_args = 0..=1, default_missing_value = "")]
    pub(crate) step: Option<String>,
}

impl ShowArgs {
    /// What is to be shown.
    pub(crate) fn wanted(&self) -> Wanted<'_> {
        Wanted {
            id: &self.id,
            at: self.at,
            step: self.step.as_deref(),
        }
    }
}

/// `agentx sessions rename`
#[derive(Args, Debug)]
pub(crate) struct RenameArgs {
    /// Its id, or the beginning of it
    pub(crate) id: String,
    /// What it is called from now on
    #[arg(required = true)]
    pub(crate) title: Vec<String>,
}

/// `agentx sessions export`
#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    /// Its id, or the beginning of it
    pub(crate) id: String,
    /// What is written
    #[arg(long, value_name = "FORMAT", default_value = "md")]
    pub(crate) format: ExportFormat,
    /// Write this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write over a file that is there
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}

/// What a session is written down as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// What was said and done, as Markdown
    Md,
    /// All facts and what they were made with; `agentx sessions import` takes it in
    Json,
    /// What was said and done, as one page that needs nothing else
    Html,
}

/// `agentx sessions import`
#[derive(Args, Debug)]
#[command(
    after_help = "The session keeps its id, its facts, its agent and its rules. Take in only what you trust: \
                        resuming it goes on with what was under way."
)]
pub(crate) struct ImportArgs {
    /// What `agentx sessions export --format json` wrote; `-` is standard input
    pub(crate) file: PathBuf,
}

/// `agentx sessions stats`
#[derive(Args, Debug)]
pub(crate) struct StatsArgs {
    /// Its id, or the beginning of it; without it all sessions together
    pub(crate) id: Option<String>,
}
