//! Arguments of the commands about the configuration.

use clap::Subcommand;

/// `agentx config trust`
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct TrustArgs {
    /// Show what the folder contains and what changed, and save nothing
    #[arg(long, conflicts_with_all = ["read_only", "restricted", "revoke"])]
    pub(crate) show: bool,
    /// Load its instructions, but refuse all changes and commands
    #[arg(long, conflicts_with_all = ["restricted", "revoke"])]
    pub(crate) read_only: bool,
    /// Load nothing from the folder, and do not ask again
    #[arg(long, conflicts_with = "revoke")]
    pub(crate) restricted: bool,
    /// Forget the decision about this folder
    #[arg(long)]
    pub(crate) revoke: bool,
}

/// `agentx config`
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show every setting and where it comes from
    Show,
    /// Show which configuration files are read
    Path,
    /// Read the configuration and report mistakes
    Check,
    /// Trust this folder as it is now: its instructions, settings, agents and tools
    Trust(TrustArgs),
    /// Set a key in your file; the rest of the file stays unchanged
    Set {
        /// The key, as `agentx config show` prints it
        key: String,
        /// The new value
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// Change this workspace's file instead of yours
        #[arg(long)]
        workspace: bool,
    },
    /// Remove a key from your file; the rest of the file stays unchanged
    Unset {
        /// The key, as `agentx config show` prints it
        key: String,
        /// Change this workspace's file instead of yours
        #[arg(long)]
        workspace: bool,
    },
    /// Edit your file in an editor; the change is saved only if the file is valid
    Edit {
        /// Edit this workspace's file instead of yours
        #[arg(long)]
        workspace: bool,
    },
}
