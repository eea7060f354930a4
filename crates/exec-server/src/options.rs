//! The settings and limits of an exec server, and its key.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use agentx_tools::ToolOptions;
use ring::digest::{SHA256, digest};

/// The fewest characters of a key.
const SHORTEST_KEY: usize = 16;

/// The key of an exec server. Values are not shown.
#[derive(Clone)]
pub struct ExecKey(String);

/// A key that could be guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key of the exec server has {length} characters; it needs at least 16")]
pub struct WeakKey {
    /// The number of its characters.
    pub length: usize,
}

impl ExecKey {
    /// Creates a key.
    ///
    /// # Errors
    /// Returns an error if it has less than 16 characters.
    pub fn new(key: impl Into<String>) -> Result<Self, WeakKey> {
        let key = key.into();
        let length = key.chars().count();
        if length < SHORTEST_KEY {
            return Err(WeakKey { length });
        }
        Ok(Self(key))
    }

    /// Returns the key itself, for a header.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Returns whether this is the key. The time that it takes says nothing about the key.
    pub(crate) fn matches(&self, other: &[u8]) -> bool {
        digest(&SHA256, self.0.as_bytes()).as_ref() == digest(&SHA256, other).as_ref()
    }
}

impl fmt::Debug for ExecKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ExecKey(…)")
    }
}

/// The settings and limits of an exec server.
#[derive(Clone, Debug)]
pub struct ExecServerOptions {
    /// The address to listen at.
    pub listen: SocketAddr,
    /// The directory that it works in.
    pub directory: PathBuf,
    /// The key of those who may use it.
    pub key: ExecKey,
    /// Names beside those of the address that requests may carry in `Host`.
    pub host_names: Vec<String>,
    /// Limits of its tools.
    pub tools: ToolOptions,
    /// The directory in which the sessions are recorded whose commands a killed server may have left running;
    /// they are ended at the next start. By default `None`: nothing is recorded.
    pub records: Option<PathBuf>,
    /// The largest body of a request in bytes: 64 MiB. Uploads and downloads are bounded by it too.
    pub body_bytes: usize,
    /// The time for an action that sets none: 120 s.
    pub deadline: Duration,
    /// The longest time for an action: 10 min. An action that is not done then is cancelled.
    pub max_deadline: Duration,
    /// Actions that run at once: 32. More are refused.
    pub at_once: usize,
    /// Results that are kept for those who ask again: 256, and at most 64 MiB of them.
    pub kept_results: usize,
    /// Bytes of the results that are kept.
    pub kept_bytes: usize,
}

impl ExecServerOptions {
    /// Creates the options of a server on the loopback address, at a port that the system chooses.
    pub fn new(directory: impl Into<PathBuf>, key: ExecKey) -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            directory: directory.into(),
            key,
            host_names: Vec::new(),
            tools: ToolOptions::default(),
            records: None,
            body_bytes: 64 << 20,
            deadline: Duration::from_secs(120),
            max_deadline: Duration::from_secs(600),
            at_once: 32,
            kept_results: 256,
            kept_bytes: 64 << 20,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_long_and_never_shown() {
        assert_eq!(ExecKey::new("short").unwrap_err(), WeakKey { length: 5 });
        let key = ExecKey::new("made-up-key-of-a-test").unwrap();
        assert!(
            key.matches(b"made-up-key-of-a-test")
                && !key.matches(b"made-up-key-of-a-tes")
                && !key.matches(b"")
        );
        let options = ExecServerOptions::new("/", key);
        assert!(!format!("{options:?}").contains("made-up"));
    }
}
