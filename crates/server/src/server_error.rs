//! The errors that prevent a server from starting, and the commands that mend them.

use std::net::SocketAddr;
use std::path::PathBuf;

use agentx_identity::{KeyringError, path_word};
use agentx_runtime::LogError;

/// An error that prevents a server from starting.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The options are contradictory, or would expose more than intended.
    #[error("{0}")]
    Options(String),
    /// The address cannot be listened on.
    #[error("cannot listen on {listen}: {what}")]
    Listen {
        /// The address to listen on.
        listen: SocketAddr,
        /// The system's error.
        what: String,
    },
    /// The certificate or its key cannot be used.
    #[error("{}: {what}", path.display())]
    Tls {
        /// The path of the file.
        path: PathBuf,
        /// The error.
        what: String,
    },
    /// Others may have seen the key of the certificate.
    #[error("{}: others can read or change this secret key (mode {mode:04o})", path.display())]
    ReadableTlsKey {
        /// The path of the file.
        path: PathBuf,
        /// The Unix permissions.
        mode: u32,
    },
    /// Another user knows the key of the certificate, and can replace it.
    #[error("{}: this secret key belongs to another user (user id {owner})", path.display())]
    ForeignTlsKey {
        /// The path of the file.
        path: PathBuf,
        /// The id of the user.
        owner: u32,
    },
    /// The keys of the data directory cannot be used, or others may write there.
    #[error(transparent)]
    Keys(#[from] KeyringError),
    /// Another server serves the data directory.
    #[error("another server serves {}{}", data_dir.display(), address_words(url.as_deref()))]
    AlreadyServed {
        /// The data directory.
        data_dir: PathBuf,
        /// The address of that server, if it is known.
        url: Option<String>,
    },
    /// The data directory cannot be locked.
    #[error("cannot lock {}: {what}", path.display())]
    Lock {
        /// The path of the lock file.
        path: PathBuf,
        /// The system's error.
        what: String,
    },
    /// Runs were stopped, but the log could not store that. The next server resumes them.
    #[error("could not save that {sessions} sessions stopped: {error}")]
    NotSaved {
        /// The number of sessions.
        sessions: usize,
        /// The log's error.
        error: LogError,
    },
}

/// The words for an address.
fn address_words(url: Option<&str>) -> String {
    url.map_or(String::new(), |url| format!(" at {url}"))
}

impl ServerError {
    /// Returns the advice: a command to run, if one mends it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::ReadableTlsKey { path, .. } => Some(format!(
                "`chmod 600 {}`, and create a new one if anybody may have read it",
                path_word(path)
            )),
            Self::ForeignTlsKey { path, owner } => Some(format!(
                "`chown $(id -u) {}`; if that user may decide what this server does, set AGENTX_DATA_OWNER={owner}",
                path_word(path)
            )),
            Self::Keys(error) => error.hint(),
            Self::AlreadyServed { url, .. } => Some(format!(
                "use that one: `agentx --connect {} sessions list`; or serve another directory: --data",
                url.as_deref().unwrap_or("URL")
            )),
            Self::Lock { .. } => None,
            Self::Options(_) | Self::Listen { .. } | Self::Tls { .. } | Self::NotSaved { .. } => None,
        }
    }
}
