//! Sessions of a size that are there before anything is measured.

use std::sync::atomic::{AtomicI64, Ordering};

use agentx::sqlite_log::SqliteLog;
use agentx::types::{AgentConfig, SessionId};

use crate::built::Build;

/// Deltas of one answer.
const DELTAS: usize = 45;
/// The time at which the next session begins.
static BEGAN: AtomicI64 = AtomicI64::new(1);

/// Writes a session of at least so many events: inputs, and answers of 45 deltas.
pub(crate) async fn fill(log: &SqliteLog, id: SessionId, config: AgentConfig, events: u64) {
    let began = BEGAN.fetch_add(1_000_000, Ordering::Relaxed);
    let mut build = Build::begin(log, id, config, began).await;
    let answer = || [(); DELTAS].map(|()| "words ".into()).into_iter();
    while build.exchange("please go on".into(), answer()) < events {}
    build.append(log).await;
}
