//! The limit on what all sessions of a person on this machine spend within 24 hours, and the amounts by which
//! the person raised it lately (`agentx usage --raise-day`).
//!
//! Amounts are in a file of the data directory, so that programs that run already see them.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agentx_files::{FileLock, ReplaceOptions, make_private_directory, replace_locked};
use agentx_types::{NanoUsd, Timestamp};
use serde::{Deserialize, Serialize};

use crate::layers::getter::SettingsGetter;
use crate::layers::keys::SettingPath;

/// The period of the limit, in milliseconds.
const DAY_MS: u64 = 24 * 3_600_000;
/// The name of the file.
const FILE: &str = "day-limit.json";
/// Maximum number of amounts that are kept.
const MAX_RAISES: usize = 100;
/// The longest wait for the lock of the file.
const PATIENCE: Duration = Duration::from_secs(10);

/// The limit on the spending of all sessions of a person within 24 hours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DayLimit {
    /// Money; `None` for no limit.
    pub cost: Option<NanoUsd>,
    /// Tokens, read and written; `None` for no limit.
    pub tokens: Option<u64>,
}

/// An amount by which a person raises the limit for 24 hours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayRaise {
    /// The time at which it was raised.
    pub at: Timestamp,
    /// Money.
    pub cost: NanoUsd,
    /// Tokens.
    pub tokens: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct RaisesFile {
    raises: Vec<DayRaise>,
}

pub(crate) fn settings(get: &SettingsGetter<'_>) -> DayLimit {
    DayLimit {
        cost: get.money(&SettingPath::dotted("limits.day_cost")),
        tokens: get.count("limits.day_tokens"),
    }
}

impl DayLimit {
    /// The limit with these amounts more. A limit that is not set stays so.
    #[must_use]
    pub fn raised_by(self, raise: &DayRaise) -> Self {
        Self {
            cost: self.cost.map(|cost| NanoUsd(cost.0.saturating_add(raise.cost.0))),
            tokens: self.tokens.map(|tokens| tokens.saturating_add(raise.tokens)),
        }
    }
}

/// Raises the limit from now on, for 24 hours.
///
/// # Errors
/// Returns an error if the file cannot be read, written or locked.
pub fn raise_day_limit(data_dir: &Path, raise: DayRaise) -> io::Result<()> {
    make_private_directory(data_dir)?;
    let path = file(data_dir);
    let lock = FileLock::wait(&FileLock::path_for(&path), PATIENCE)?;
    let lock = lock.ok_or_else(|| io::Error::other("another process is changing it"))?;
    let mut kept = read(&path)?;
    kept.raises.retain(|known| counts(known, raise.at));
    kept.raises.push(raise);
    let surplus = kept.raises.len().saturating_sub(MAX_RAISES);
    kept.raises.drain(..surplus);
    let bytes = serde_json::to_vec_pretty(&kept).map_err(io::Error::other)?;
    let options = ReplaceOptions {
        durable: true,
        ..ReplaceOptions::default()
    };
    replace_locked(&path, &bytes, options, &lock)
}

/// The sum of the amounts of the last 24 hours.
///
/// # Errors
/// Returns an error if the file cannot be read, or has another content.
pub fn raised_lately(data_dir: &Path, now: Timestamp) -> io::Result<DayRaise> {
    let kept = read(&file(data_dir))?;
    let mut sum = DayRaise::default();
    for raise in kept.raises.iter().filter(|raise| counts(raise, now)) {
        sum.cost = NanoUsd(sum.cost.0.saturating_add(raise.cost.0));
        sum.tokens = sum.tokens.saturating_add(raise.tokens);
    }
    Ok(sum)
}

fn counts(raise: &DayRaise, now: Timestamp) -> bool {
    now.millis_since(raise.at) < DAY_MS
}

fn read(path: &Path) -> io::Result<RaisesFile> {
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::other),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(RaisesFile::default()),
        Err(error) => Err(error),
    }
}

fn file(data_dir: &Path) -> PathBuf {
    data_dir.join(FILE)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    #[test]
    fn amounts_count_for_a_day() {
        let folder = tempfile::tempdir().unwrap();
        let raise = |at_ms: u64, cost: u64, tokens: u64| DayRaise {
            at: Timestamp(0).after_millis(at_ms),
            cost: NanoUsd(cost),
            tokens,
        };
        let at = |ms: u64| Timestamp(0).after_millis(ms);
        assert_eq!(raised_lately(folder.path(), at(0)).unwrap(), DayRaise::default());
        raise_day_limit(folder.path(), raise(1_000, 5, 0)).unwrap();
        raise_day_limit(folder.path(), raise(2_000, 7, 30)).unwrap();
        let sum = raised_lately(folder.path(), at(3_000)).unwrap();
        assert_eq!((sum.cost, sum.tokens), (NanoUsd(12), 30));
        let sum = raised_lately(folder.path(), at(DAY_MS + 1_000)).unwrap();
        assert_eq!((sum.cost, sum.tokens), (NanoUsd(7), 30));
        let limit = DayLimit {
            cost: Some(NanoUsd(10)),
            tokens: None,
        };
        let raised = limit.raised_by(&sum);
        assert_eq!((raised.cost, raised.tokens), (Some(NanoUsd(17)), None));
        std::fs::write(file(folder.path()), "{").unwrap();
        assert!(raised_lately(folder.path(), at(0)).is_err());
    }
}
