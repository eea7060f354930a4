//! Arguments of the commands that go back in a session or branch off.

use clap::Args;

use super::{IdArgs, numbers};

/// `agentx fork`
#[derive(Args, Debug)]
pub(crate) struct ForkArgs {
    #[command(flatten)]
    pub(crate) session: IdArgs,
    /// Copy events up to and including this one
    #[arg(long, value_name = "SEQ", value_parser = numbers::event, allow_negative_numbers = true)]
    pub(crate) at: Option<u64>,
}

/// `agentx rewind`
#[derive(Args, Debug)]
pub(crate) struct RewindArgs {
    #[command(flatten)]
    pub(crate) session: IdArgs,
    /// Go back to before message N; without it, they are listed
    #[arg(long, value_name = "N", conflicts_with = "undo", value_parser = numbers::count, allow_negative_numbers = true)]
    pub(crate) to: Option<usize>,
    /// Restore only files; the conversation stays
    #[arg(long, conflicts_with_all = ["conversation", "both", "undo"])]
    pub(crate) files: bool,
    /// Rewind only the conversation; files stay
    #[arg(long, conflicts_with_all = ["both", "undo"])]
    pub(crate) conversation: bool,
    /// Rewind both the conversation and files (the default)
    #[arg(long, conflicts_with = "undo")]
    pub(crate) both: bool,
    /// Undo the last restore of files
    #[arg(long)]
    pub(crate) undo: bool,
    /// Also restore files changed by others or outside the workspace
    #[arg(long)]
    pub(crate) all: bool,
    /// Show the changes without making them
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
}

/// `agentx diff`
#[derive(Args, Debug)]
pub(crate) struct DiffArgs {
    /// Session id, or a prefix of it
    #[arg(required_unless_present = "last")]
    pub(crate) id: Option<String>,
    /// The other session; without it, the parent of this one, or its only fork
    #[arg(conflicts_with = "last")]
    pub(crate) other: Option<String>,
    /// The latest session of this directory; an id beside it names the other session
    #[arg(long)]
    pub(crate) last: bool,
}
