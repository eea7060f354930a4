//! The log keeps every promise that a custom log has to keep, in a file and in memory.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use agentx_runtime::SessionLog;
use agentx_sqlite_log::{LogOptions, SqliteLog};
use agentx_testing::check_log;

use crate::support::run;

#[test]
fn every_promise_of_a_session_log_is_kept() {
    let home = tempfile::tempdir().unwrap();
    let next = std::cell::Cell::new(0);
    let in_a_file = async || {
        next.set(next.get() + 1);
        let path = home.path().join(format!("{}/log.db", next.get()));
        SqliteLog::open(path, LogOptions::default()).unwrap() as Arc<dyn SessionLog>
    };
    run(check_log(in_a_file)).unwrap();
    run(check_log(async || SqliteLog::open_in_memory().unwrap() as _)).unwrap();
}
