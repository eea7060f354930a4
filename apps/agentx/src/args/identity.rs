//! The command line of `agentx identity`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

/// `agentx identity`
#[derive(Debug, Subcommand)]
pub(crate) enum IdentityCommand {
    /// Make an identity; what needs one does so itself
    New {
        /// Be who you are already: an OpenSSH private key, ed25519, without a passphrase
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
        /// Replace the identity that is there, for ever
        #[arg(long)]
        force: bool,
    },
    /// Show who you are: your id and your public key
    Show,
    /// List yourself and the people whom a server of yours trusts
    List,
    /// Print the public key as OpenSSH writes it
    Export {
        /// Print the secret key instead; whoever has it can be you
        #[arg(long)]
        secret: bool,
    },
    /// Let somebody use a server of yours, or change what they may do there
    Trust {
        /// Their public key: `ed25519:…`, or the line of an OpenSSH .pub file
        #[arg(required = true, value_name = "PUBLIC_KEY")]
        key: Vec<String>,
        /// Call them so
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// As what; needed for somebody who is not trusted yet
        #[arg(long = "as", value_name = "ROLE")]
        role: Option<TrustArg>,
    },
    /// Let somebody use it no more
    Untrust {
        /// Their public key, or the name that you gave them
        #[arg(required = true, value_name = "WHO")]
        who: Vec<String>,
    },
    /// Forget the key of a server that was set up anew; the next one at that address is believed
    Forget {
        /// Its address, or host and port
        #[arg(value_name = "SERVER")]
        server: String,
    },
}

/// As what somebody is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TrustArg {
    /// They have sessions of their own, in a directory of their own; you decide what runs on your machine
    Member,
    /// A member who also sees the sessions of other members, and decides about their calls in your place, once each
    Approver,
    /// They are you, for a server: your sessions and your machine are theirs
    Operator,
}
