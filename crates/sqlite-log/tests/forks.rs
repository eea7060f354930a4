//! A fork shares its parent's events up to any point, costs a row, and outlives its parent.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use crate::support::*;
use agentx_runtime::{Fact, LogError, SessionLog};
use agentx_types::*;

/// The same facts as `id` sees them.
fn seen_by(id: &str, facts: &[Fact]) -> Vec<Fact> {
    let seen = |fact: &Fact| {
        Arc::new(Envelope {
            session_id: SessionId::new(id),
            ..(**fact).clone()
        })
    };
    facts.iter().map(seen).collect()
}

async fn with_conversation(log: &dyn SessionLog, group: usize) -> Vec<Fact> {
    let writer = begin(log).await;
    let facts = facts(1, conversation(30));
    for facts in facts.chunks(group) {
        log.append(&writer, batch(facts.to_vec())).await.unwrap();
    }
    facts
}

#[test]
fn a_fork_at_every_event_sees_what_was_before_it() {
    for group in [1, 7, 1000] {
        on_both(async |log| {
            let facts = with_conversation(log, group).await;
            for at in 0..=facts.len() {
                let id = format!("ses_f{at}");
                log.create(fork_of(&id, "ses_1", at as u64)).await.unwrap();
                assert_eq!(all(log, &id).await, seen_by(&id, &facts[..at]));
                let writer = log.attach(&SessionId::new(&id)).await.unwrap();
                assert_eq!(writer.last_seq, at as u64);
                let own = fact_of(&SessionId::new(&id), at as u64 + 1, text("own"));
                log.append(&writer, batch(vec![own.clone()])).await.unwrap();
                let mut expected = seen_by(&id, &facts[..at]);
                expected.push(own);
                assert_eq!(all(log, &id).await, expected);
                assert_eq!(log.digests(&SessionId::new(&id)).await.unwrap().len(), 1);
                assert_good(log, &id).await;
            }
            assert_eq!(all(log, "ses_1").await, facts);
        });
    }
}

#[test]
fn forks_of_forks() {
    on_both(async |log| {
        let facts = with_conversation(log, 9).await;
        let b = SessionId::new("ses_b");
        log.create(fork_of("ses_b", "ses_1", 20)).await.unwrap();
        let writer = log.attach(&b).await.unwrap();
        let own: Vec<Fact> = (21..=40)
            .map(|seq| fact_of(&b, seq, text(&format!("b{seq} "))))
            .collect();
        log.append(&writer, batch(own.clone())).await.unwrap();
        let mut b_sees = seen_by("ses_b", &facts[..20]);
        b_sees.extend(own);
        for at in [0, 10, 20, 21, 33, 40] {
            let id = format!("ses_c{at}");
            log.create(fork_of(&id, "ses_b", at)).await.unwrap();
            assert_eq!(
                all(log, &id).await,
                seen_by(&id, &b_sees[..at as usize]),
                "at {at}"
            );
            let again = format!("ses_d{at}");
            log.create(fork_of(&again, &id, at)).await.unwrap();
            assert_eq!(all(log, &again).await, seen_by(&again, &b_sees[..at as usize]));
            assert_good(log, &id).await;
            assert_good(log, &again).await;
            let info = log.info(&SessionId::new(&again)).await.unwrap();
            assert_eq!(
                (info.last_seq, info.parent),
                (at, Some((SessionId::new(&id), at)))
            );
            for after in 0..45 {
                let read = log.read(&SessionId::new(&id), after, 4).await.unwrap();
                let upto = (after as usize + 4).min(at as usize);
                assert_eq!(
                    read,
                    seen_by(
                        &id,
                        b_sees[..at as usize].get(after as usize..upto).unwrap_or(&[])
                    )
                );
            }
        }
    });
}

#[test]
fn a_fork_needs_an_event_to_fork_at() {
    on_both(async |log| {
        let facts = with_conversation(log, 9).await;
        let beyond = log
            .create(fork_of("ses_f", "ses_1", facts.len() as u64 + 1))
            .await;
        assert!(matches!(beyond, Err(LogError::Store { .. })), "{beyond:?}");
        assert!(is_not_found(&log.create(fork_of("ses_f", "ses_none", 1)).await));
        let taken = log.create(new_log("ses_1")).await;
        assert!(matches!(taken, Err(LogError::Exists(_))), "{taken:?}");
        assert!(is_not_found(&log.info(&SessionId::new("ses_f")).await));
    });
}

#[test]
fn a_deleted_parent_is_kept_as_far_as_a_fork_needs_it() {
    run(async {
        let home = Home::new();
        let log = home.open();
        let facts = with_conversation(&*log, 1).await;
        log.create(fork_of("ses_f", "ses_1", 10)).await.unwrap();
        log.create(fork_of("ses_g", "ses_f", 5)).await.unwrap();
        log.delete(&session()).await.unwrap();
        assert!(is_not_found(&log.read(&session(), 0, 1).await));
        assert!(is_not_found(&log.info(&session()).await));
        assert!(is_not_found(&log.attach(&session()).await.map(drop)));
        let rows = || {
            home.sql()
                .query_row("SELECT count(*) FROM batches", [], |row| row.get::<_, i64>(0))
                .unwrap()
        };
        let before = rows();
        assert!(log.collect_garbage().await.unwrap() > 0);
        assert!(rows() < before);
        for (id, upto) in [("ses_f", 10), ("ses_g", 5)] {
            assert_eq!(all(&*log, id).await, seen_by(id, &facts[..upto]));
            assert_good(&*log, id).await;
        }
        log.delete(&SessionId::new("ses_f")).await.unwrap();
        log.collect_garbage().await.unwrap();
        assert_eq!(all(&*log, "ses_g").await, seen_by("ses_g", &facts[..5]));
        log.delete(&SessionId::new("ses_g")).await.unwrap();
        assert!(log.collect_garbage().await.unwrap() > 0);
        assert_eq!(rows(), 0);
        let sessions = home
            .sql()
            .query_row("SELECT count(*) FROM sessions", [], |row| row.get::<_, i64>(0));
        assert_eq!(sessions.unwrap(), 0);
        assert_eq!(log.collect_garbage().await.unwrap(), 0);
    });
}
