//! The hash of the events up to one of them stays the same whatever happens to their rows, and is another one
//! if an event is.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;

use crate::support::*;
use agentx_runtime::{EventsHash, LogError, SessionLog};
use agentx_sqlite_log::SqliteLog;
use agentx_types::*;

/// The hashes at the first `count` events.
async fn hashes(log: &SqliteLog, id: &str, count: usize) -> Vec<EventsHash> {
    let mut found = Vec::new();
    for seq in 1..=count as u64 {
        found.push(log.hash_at(&SessionId::new(id), seq).await.unwrap().unwrap());
    }
    found
}

#[test]
fn hashes_of_events_outlive_packing_and_growth_and_are_those_of_forks() {
    run(async {
        let home = Home::new();
        let facts = facts(1, conversation(12));
        let (first, second) = facts.split_at(facts.len() / 2);
        let log = home.open();
        let writer = begin(&*log).await;
        append_each(&*log, &writer, first).await;
        let before = hashes(&log, "ses_1", first.len()).await;
        let each: BTreeSet<&str> = before.iter().map(|at| at.hash.as_str()).collect();
        assert_eq!(each.len(), before.len(), "every event has a hash of its own");
        let end = first.len() as u64 + 1;
        assert_eq!(log.hash_at(&session(), end).await.unwrap(), None);
        assert_eq!(log.hash_at(&session(), 0).await.unwrap(), None);

        // The next writer packs the rows of the one before.
        drop(writer);
        drop(log);
        let log = home.open();
        let writer = log.attach(&session()).await.unwrap();
        append_each(&*log, &writer, second).await;
        assert_eq!(hashes(&log, "ses_1", first.len()).await, before);
        log.create(fork_of("ses_f", "ses_1", end - 2)).await.unwrap();
        let shared = first.len() - 1;
        assert_eq!(hashes(&log, "ses_f", shared).await, before[..shared]);
        assert_eq!(
            log.hash_at(&SessionId::new("ses_f"), end - 1).await.unwrap(),
            None
        );
        let unknown = log.hash_at(&SessionId::new("ses_x"), 1).await;
        assert!(matches!(unknown, Err(LogError::NotFound(_))), "{unknown:?}");
    });
}

#[test]
fn another_event_has_another_hash_and_so_have_all_after_it() {
    run(async {
        let mut of_logs = Vec::new();
        for changed in [false, true] {
            let log = SqliteLog::open_in_memory().unwrap();
            let mut events = conversation(12);
            if changed {
                events[4] = text("forged");
            }
            let facts = facts(1, events);
            let writer = begin(&*log).await;
            append_each(&*log, &writer, &facts).await;
            of_logs.push(hashes(&log, "ses_1", facts.len()).await);
        }
        let [honest, forged] = &of_logs[..] else {
            unreachable!("two logs were written")
        };
        assert_eq!(honest[..4], forged[..4]);
        assert!((4..honest.len()).all(|at| honest[at] != forged[at]));
    });
}
