//! Arguments of the commands about existing sessions.

use std::path::PathBuf;

use agentx::types::SessionId;
use clap::{Args, Subcommand, ValueEnum};

use super::{IdArgs, ShareArgs, numbers};
use crate::anchors::{AnchorArguments, VerifyArguments};
use crate::redacting::RedactArguments;
use crate::session_opening::Target;
use crate::show::ShowRequest;

/// The default number of listed sessions.
const LISTED: usize = 50;

/// `agentx sessions`
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List sessions, the latest first
    #[command(alias = "ls")]
    List {
        /// Only sessions of this directory
        #[arg(long)]
        here: bool,
        /// Only sessions in which a call waits for an answer
        #[arg(long)]
        waiting: bool,
        /// Show at most N sessions
        #[arg(long, value_name = "N", default_value_t = LISTED, value_parser = numbers::count, allow_negative_numbers = true)]
        limit: usize,
    },
    /// Show a session and its messages
    Show(ShowArgs),
    /// Search the messages of all sessions
    Search {
        /// Words to search for
        #[arg(required = true)]
        words: Vec<String>,
        /// Show at most N matches
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = numbers::count, allow_negative_numbers = true)]
        limit: usize,
    },
    /// Delete a session
    #[command(alias = "rm")]
    Delete {
        /// Session id, or a prefix of it
        id: String,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Check every stored byte of a session
    Verify(VerifyArguments),
    /// Write hashes of all sessions to a file, to find lost and changed events later
    Anchor(AnchorArguments),
    /// Find secrets that sessions have recorded, without showing them
    Scan {
        /// Session id, or a prefix of it; all sessions by default
        id: Option<String>,
        /// All sessions
        #[arg(long, conflicts_with = "id")]
        all: bool,
    },
    /// Take secrets out of a session, which still verifies
    Redact(RedactArguments),
    /// Change the title of a session
    Rename(RenameArgs),
    /// Export a session, to read it or to import it elsewhere
    Export(ExportArgs),
    /// Import a session that was exported as JSON, or a log of OpenHands
    Import(ImportArgs),
    /// Show statistics of sessions: events, bytes, tokens, cost, tools
    Stats(StatsArgs),
    /// Reclaim the space of deleted sessions
    Gc,
    /// Share a session with another person, or list who has access
    Share(ShareArgs),
}

impl SessionsCommand {
    /// `agentx sessions` alone.
    pub(crate) const ALL: Self = Self::List {
        here: false,
        waiting: false,
        limit: LISTED,
    };
}

/// `agentx sessions show`, `agentx show`
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) session: IdArgs,
    /// Show only the messages around this event, as `agentx sessions search` prints it
    #[arg(long, value_name = "SEQ", value_parser = numbers::event, allow_negative_numbers = true)]
    pub(crate) at: Option<u64>,
    /// Step through events, with the state and the context after each; with SEQ, print that step
    #[arg(long, value_name = "SEQ", num_args = 0..=1, default_missing_value = "")]
    pub(crate) step: Option<String>,
}

impl ShowArgs {
    /// Returns the request for the viewer.
    pub(crate) fn wanted(&self, id: SessionId) -> ShowRequest<'_> {
        ShowRequest {
            id,
            at: self.at,
            step: self.step.as_deref(),
        }
    }
}

/// `agentx sessions rename`
#[derive(Args, Debug)]
pub(crate) struct RenameArgs {
    /// Session id, or a prefix of it
    #[arg(required_unless_present = "last")]
    id: Option<String>,
    /// The new title
    #[arg(required_unless_present = "last")]
    title: Vec<String>,
    /// The latest session of this directory; then all words are the title
    #[arg(long)]
    last: bool,
}

impl RenameArgs {
    /// Returns the session and its new title.
    pub(crate) fn parts(&self) -> (Target, String) {
        let mut words: Vec<&str> = self.id.iter().chain(&self.title).map(String::as_str).collect();
        let target = if self.last || words.is_empty() {
            Target::Last
        } else {
            Target::Id(words.remove(0).to_owned())
        };
        (target, words.join(" "))
    }
}

/// `agentx sessions export`
#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) session: IdArgs,
    /// Format of the file; by default the one of its extension (.md, .html, .json), otherwise md
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<ExportFormat>,
    /// Write a test for `agentx::replay_test!`, without secrets
    #[arg(long, conflicts_with = "format")]
    pub(crate) fixture: bool,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}

/// The format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// The conversation and the tool calls, as Markdown
    Md,
    /// All events and their blobs; `agentx sessions import` reads it
    Json,
    /// The conversation and the tool calls, as one self-contained page
    Html,
}

/// `agentx sessions import`
#[derive(Args, Debug)]
#[command(
    after_help = "The session keeps its id, its events, its agent and its rules. Import only what you trust: \
                        resuming it continues unfinished work."
)]
pub(crate) struct ImportArgs {
    /// Output of `agentx sessions export --format json`, or a log of OpenHands: a file of events or the
    /// folder of a conversation; `-` reads standard input
    pub(crate) file: PathBuf,
}

/// `agentx sessions stats`
#[derive(Args, Debug)]
pub(crate) struct StatsArgs {
    /// Session id, or a prefix of it; without it, all sessions together
    pub(crate) id: Option<String>,
}

/// `agentx context`
#[derive(Args, Debug)]
pub(crate) struct ContextArgs {
    #[command(flatten)]
    pub(crate) session: IdArgs,
    /// Show the request at or before this event
    #[arg(long, value_name = "SEQ", value_parser = numbers::event, allow_negative_numbers = true)]
    pub(crate) at: Option<u64>,
    /// Show how the context window is used instead: instructions, tools, messages, results
    #[arg(long, conflicts_with = "summary")]
    pub(crate) parts: bool,
    /// Show the Nth summary of condensed messages, counted from the first
    #[arg(long, value_name = "N", value_parser = numbers::count, allow_negative_numbers = true)]
    pub(crate) summary: Option<usize>,
}
