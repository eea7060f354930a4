//! The part of the command line that is about going back and trying other ways.

use clap::Args;

use super::numbers;

/// `agentx fork`
#[derive(Args, Debug)]
pub(crate) struct ForkArgs {
    /// Its id, or the beginning of it
    pub(crate) id: String,
    /// The last event that the copy has
    #[arg(long, value_name = "SEQ", value_parser = numbers::event, allow_negative_numbers = true)]
    pub(crate) at: Option<u64>,
}

/// `agentx rewind`
#[derive(Args, Debug)]
#[command(
    after_help = "Without --to, what was said is listed. The conversation goes back in a copy, whose id is printed, \
files where they are."
)]
pub(crate) struct RewindArgs {
    /// Its id, or the beginning of it
    pub(crate) id: String,
    /// Go back to before this input, as listed without it
    #[arg(long, value_name = "N", conflicts_with = "undo", value_parser = numbers::count, allow_negative_numbers = true)]
    pub(crate) to: Option<usize>,
    /// Only files; the conversation stays
    #[arg(long, conflicts_with_all = ["conversation", "both", "undo"])]
    pub(crate) files: bool,
    /// Only the conversation; files stay
    #[arg(long, conflicts_with_all = ["both", "undo"])]
    pub(crate) conversation: bool,
    /// Conversation and files; so it is where nothing is said
    #[arg(long, conflicts_with = "undo")]
    pub(crate) both: bool,
    /// Take back the last time that files were put back
    #[arg(long)]
    pub(crate) undo: bool,
    /// Also put back files that somebody else changed too, or that lie outside of the workspace
    #[arg(long)]
    pub(crate) all: bool,
    /// Only say what it would do
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
}

/// `agentx diff`
#[derive(Args, Debug)]
pub(crate) struct DiffArgs {
    /// Its id, or the beginning of it
    pub(crate) id: String,
    /// The other one; without it the session that it was forked from, or the only one that was forked from it
    pub(crate) other: Option<String>,
}
