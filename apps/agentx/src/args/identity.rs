//! The command line of `agentx identity`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

/// `agentx identity`
#[derive(Debug, Subcommand)]
pub(crate) enum IdentityCommand {
    /// Create an identity; commands that need one create it by themselves
    New {
        /// Use an existing OpenSSH private key (ed25519); AgentX asks for its passphrase
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
        /// Replace the existing identity permanently
        #[arg(long)]
        force: bool,
    },
    /// Show your id and your public key
    Show,
    /// List yourself and the people who have access to your servers
    #[command(alias = "ls")]
    List,
    /// Print the public key in OpenSSH format
    Export {
        /// Print the secret key instead; anyone who has it can act as you
        #[arg(long)]
        secret: bool,
    },
    /// Give a person access to your servers, or change their role
    ///
    /// `agentx config trust` is about folders.
    Trust {
        /// Their public key: `ed25519:…`, or the line of an OpenSSH .pub file
        #[arg(required = true, value_name = "PUBLIC_KEY")]
        key: Vec<String>,
        /// A name for this person
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// Their role; required for somebody who has no access yet
        #[arg(long = "as", value_name = "ROLE")]
        role: Option<TrustArg>,
    },
    /// Take away a person's access to your servers
    Untrust {
        /// Their public key, or the name you gave them
        #[arg(required = true, value_name = "WHO")]
        who: Vec<String>,
    },
    /// Forget the key of a reinstalled server; the next key at that address is accepted
    Forget {
        /// The server's address, or its host and port
        #[arg(value_name = "SERVER")]
        server: String,
    },
}

/// The role of a person on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TrustArg {
    /// Has their own sessions in their own directory; you decide what runs on your machine
    Member,
    /// A member who also sees other members' sessions and can allow or refuse their calls, one at a time
    Approver,
    /// Has the same rights as you: full access to your sessions and your machine
    Operator,
}
