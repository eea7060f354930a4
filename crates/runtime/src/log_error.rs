//! The errors of a log. Their messages tell what to do. Every `SessionLog` returns them.

use agentx_types::{BlobId, SessionId};

/// An error of a log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The session does not exist.
    #[error("no session {0}")]
    NotFound(String),
    /// The blob does not exist.
    #[error("no blob {0}")]
    NoBlob(BlobId),
    /// The id is taken.
    #[error("session {0} already exists")]
    Exists(SessionId),
    /// Another process writes this session.
    #[error(
        "session {session} is open in another AgentX (process {process}{})",
        at_server(server.as_deref())
    )]
    Busy {
        /// The session that is open.
        session: SessionId,
        /// The process that writes it.
        process: u32,
        /// The address of that process, if it is the server of the directory. A problem on the wire does not
        /// have it.
        server: Option<String>,
    },
    /// A later writer took over.
    #[error("session {session}: writer {epoch} was replaced by a later one")]
    Fenced {
        /// The session of the writer.
        session: SessionId,
        /// The epoch that was refused.
        epoch: u64,
    },
    /// The stored data is not the data that was written.
    #[error("session {session} is damaged at event {seq}: {what}")]
    Corrupt {
        /// The session that is damaged.
        session: SessionId,
        /// The first event that cannot be trusted.
        seq: u64,
        /// The cause, as text.
        what: String,
    },
    /// The store was written by a newer version; it can be read, not written.
    #[error("the database {path} has format {found}; this version writes {known}")]
    Newer {
        /// The file.
        path: String,
        /// The format that was found.
        found: u32,
        /// This version's format.
        known: u32,
    },
    /// The disk is full; nothing of the write was kept.
    #[error("no space left for {path}; nothing of the last step was saved")]
    Full {
        /// The file.
        path: String,
    },
    /// Another program keeps the store locked; nothing of the write was kept.
    #[error("another program keeps {path} locked; nothing of the last step was saved")]
    Locked {
        /// The file.
        path: String,
    },
    /// Any other error of the store.
    #[error("{path}: {what}")]
    Store {
        /// The file.
        path: String,
        /// The cause, as text.
        what: String,
    },
}

fn at_server(url: Option<&str>) -> String {
    url.map(|url| format!(", the server at {url}"))
        .unwrap_or_default()
}

impl LogError {
    /// The error about a store whose file was removed or replaced after it was opened.
    pub const LOST: &'static str = "it was removed or replaced while it was in use; its sessions are lost";

    /// Returns whether the store is lost: the program has to be started again, with the right file in its
    /// place.
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Store { what, .. } if what == Self::LOST)
    }

    /// Makes the error of a log that does not keep this.
    pub(crate) fn unsupported(what: &str) -> Self {
        Self::Store {
            path: "the session log".into(),
            what: format!("it does not support {what}"),
        }
    }
}
