//! A text is taken out of stored facts, and the chain of hashes still verifies. Deleted text is in no byte of
//! the files afterwards.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::time::Duration;

use crate::support::*;
use agentx_runtime::{Fact, RedactedSession, Redaction, RedactionPlan, SessionLog};
use agentx_sqlite_log::{LogOptions, SqliteLog};
use agentx_types::*;
use serde_json::json;

/// A made-up secret.
const SECRET: &str = "walrus5f2c81d09be34a7766";

fn with_secret() -> Vec<EnvironmentEvent> {
    let mut events = conversation(30);
    events[0] = user(&format!("the key is {SECRET}"));
    events.push(text(&format!("{SECRET} is the key")));
    events.push(tool_result(
        json!({"out": format!("{SECRET} {}", "x".repeat(5000))}),
    ));
    events.extend(conversation(10));
    events
}

fn has_secret(fact: &Fact) -> bool {
    String::from_utf8(fact.payload_json()).unwrap().contains(SECRET)
}

/// The facts that have the secret, without it.
fn without(facts: &[Fact]) -> Vec<Fact> {
    let without = |fact: &Fact| {
        let payload = String::from_utf8(fact.payload_json()).unwrap();
        let payload = payload.replace(SECRET, "[secret KEY]");
        let event = EnvironmentEvent::from_json(fact.event.tag(), &payload).unwrap();
        Arc::new(Envelope {
            event,
            ..(**fact).clone()
        })
    };
    facts
        .iter()
        .filter(|fact| has_secret(fact))
        .map(without)
        .collect()
}

/// A session with the secret, in batches of this many facts.
async fn recorded(log: &dyn SessionLog, group: usize) -> Vec<Fact> {
    let writer = begin(log).await;
    let facts = facts(1, with_secret());
    for (index, facts) in facts.chunks(group).enumerate() {
        let said = message(1, "msg_1", Role::User, &format!("the key is {SECRET}"));
        let projections = if index == 0 { vec![said] } else { Vec::new() };
        log.append(&writer, projecting(facts.to_vec(), projections))
            .await
            .unwrap();
    }
    facts
}

/// Takes the secret out, with a record of it or without. Returns the plan.
async fn redact(log: &dyn SessionLog, facts: &[Fact], is_recorded: bool) -> RedactionPlan {
    let changed = without(facts);
    let plan = log.plan_redaction(&session(), changed.clone()).await.unwrap();
    let mut writers = Vec::new();
    for id in &plan.sessions {
        writers.push(log.attach(id).await.unwrap());
    }
    let plan = log.plan_redaction(&session(), changed.clone()).await.unwrap();
    let record = SessionRedacted {
        names: vec!["KEY".into()],
        segments: plan.segments.clone(),
        dropped: Vec::new(),
    };
    let of_session = |writer: &agentx_runtime::Writer| {
        let fact = fact_of(&writer.session_id, writer.last_seq + 1, record.clone().into());
        RedactedSession {
            session_id: writer.session_id.clone(),
            epoch: writer.epoch,
            record: is_recorded.then(|| batch(vec![fact])),
            messages: vec![message(1, "msg_1", Role::User, "the key is [secret KEY]")],
            title: Some("the key is [secret KEY]".into()),
        }
    };
    let redaction = Redaction {
        session_id: session(),
        facts: changed,
        dropped: Vec::new(),
        sessions: writers.iter().map(of_session).collect(),
    };
    log.redact(redaction).await.unwrap();
    plan
}

/// Returns the files of the database that have the secret.
fn files_with_secret(home: &Home) -> Vec<String> {
    let folder = std::fs::read_dir(home.path().parent().unwrap()).unwrap();
    let mut found = Vec::new();
    for entry in folder {
        let path = entry.unwrap().path();
        let bytes = if path.is_file() {
            std::fs::read(&path).unwrap()
        } else {
            Vec::new()
        };
        if bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn a_hash_up_to_a_replaced_event_says_so_and_later_ones_stay() {
    run(async {
        let home = Home::new();
        let log = home.open();
        let facts = recorded(&*log, 1000).await;
        let last = facts.len() as u64;
        let before = log.hash_at(&session(), last).await.unwrap().unwrap();
        assert!(!before.redacted);
        redact(&*log, &facts, true).await;
        let after = log.hash_at(&session(), last).await.unwrap().unwrap();
        assert!(after.redacted && after.hash != before.hash);
        let record = log.hash_at(&session(), last + 1).await.unwrap().unwrap();
        assert!(!record.redacted);
    });
}

#[test]
fn replaced_facts_are_read_and_the_chain_goes_on_from_the_same_hashes() {
    for group in [1, 9, 1000] {
        run(async {
            let home = Home::new();
            let log = home.open();
            let facts = recorded(&*log, group).await;
            let before = log.verify(&session()).await.unwrap();
            assert_eq!(before.redacted_events, 0);
            let plan = redact(&*log, &facts, true).await;
            assert_eq!(plan.sessions, [session()]);
            let changed = without(&facts);
            let mut expected: Vec<Fact> = facts.clone();
            for fact in &changed {
                expected[fact.seq as usize - 1] = fact.clone();
            }
            let mut now = all(&*log, "ses_1").await;
            let record = now.pop().unwrap();
            assert_eq!(now, expected);
            assert_eq!(record.event.tag(), "session_redacted");
            assert_good(&*log, "ses_1").await;
            let after = log.verify(&session()).await.unwrap();
            assert_eq!(after.redacted_events, changed.len() as u64);
            let kept: i64 = home
                .sql()
                .query_row(
                    "SELECT count(*) FROM batches WHERE lower(hex(hash)) = ?1",
                    [&before.head],
                    |row| row.get(0),
                )
                .unwrap();
            assert_eq!(kept, 1, "the earlier head is still in the chain");
            assert_eq!(log.search(&owner(), SECRET, 10).await.unwrap().len(), 0);
            assert_eq!(log.search(&owner(), "secret", 10).await.unwrap().len(), 1);
            let info = log.info(&session()).await.unwrap();
            assert_eq!(info.title, "the key is [secret KEY]");
            // The session goes on.
            let writer = log.attach(&session()).await.unwrap();
            let next = fact_of(&session(), writer.last_seq + 1, text("and on"));
            log.append(&writer, batch(vec![next])).await.unwrap();
            assert_good(&*log, "ses_1").await;
        });
    }
}

#[test]
fn facts_that_no_record_names_are_damage() {
    run(async {
        let log = SqliteLog::open_in_memory().unwrap();
        let facts = recorded(&*log, 9).await;
        redact(&*log, &facts, false).await;
        let report = log.verify(&session()).await.unwrap();
        assert!(
            report
                .problems
                .iter()
                .any(|problem| problem.contains("no record")),
            "{report:?}"
        );
    });
}

#[test]
fn a_second_redaction_follows_the_first() {
    run(async {
        let log = SqliteLog::open_in_memory().unwrap();
        let facts = recorded(&*log, 9).await;
        redact(&*log, &facts, true).await;
        let now = all(&*log, "ses_1").await;
        let last_said = now
            .iter()
            .rposition(|fact| fact.event.tag() == "text_chunk")
            .unwrap();
        let mut again = now.clone();
        again[last_said] = fact_of(&session(), now[last_said].seq, text(SECRET));
        redact(&*log, &again, true).await;
        assert_good(&*log, "ses_1").await;
    });
}

#[test]
fn forks_from_before_and_after_share_the_replaced_facts_and_verify() {
    run(async {
        let log = SqliteLog::open_in_memory().unwrap();
        let facts = recorded(&*log, 9).await;
        for (id, at) in [("ses_f1", 1), ("ses_f5", 5), ("ses_f70", 70)] {
            log.create(fork_of(id, "ses_1", at)).await.unwrap();
        }
        let plan = redact(&*log, &facts, true).await;
        assert_eq!(plan.sessions.len(), 4, "{plan:?}");
        log.create(fork_of("ses_late", "ses_1", 7)).await.unwrap();
        for id in ["ses_1", "ses_f1", "ses_f5", "ses_f70", "ses_late"] {
            assert_good(&*log, id).await;
            assert!(!all(&*log, id).await.iter().any(has_secret), "{id}");
        }
        let fork = all(&*log, "ses_f5").await;
        assert_eq!(fork.last().unwrap().event.tag(), "session_redacted");
        // The parent, with its record, is gone.
        log.delete(&session()).await.unwrap();
        log.collect_garbage().await.unwrap();
        for id in ["ses_f5", "ses_f70"] {
            assert_good(&*log, id).await;
        }
        // A session that was forked afterwards has no record, and anybody who writes the database could have
        // set the marks.
        let report = log.verify(&"ses_late".into()).await.unwrap();
        assert!(
            report.problems[0].contains("nothing says what was taken out"),
            "{report:?}"
        );
    });
}

#[test]
fn a_plan_that_a_new_fork_changes_is_refused_and_nothing_is_replaced() {
    run(async {
        let log = SqliteLog::open_in_memory().unwrap();
        let facts = recorded(&*log, 9).await;
        let changed = without(&facts);
        let writer = log.attach(&session()).await.unwrap();
        let plan = log.plan_redaction(&session(), changed.clone()).await.unwrap();
        log.create(fork_of("ses_f", "ses_1", 5)).await.unwrap();
        let record = SessionRedacted {
            names: vec!["KEY".into()],
            segments: plan.segments,
            dropped: Vec::new(),
        };
        let fact = fact_of(&session(), writer.last_seq + 1, record.into());
        let redaction = Redaction {
            session_id: session(),
            facts: changed,
            dropped: Vec::new(),
            sessions: vec![RedactedSession {
                session_id: session(),
                epoch: writer.epoch,
                record: Some(batch(vec![fact])),
                messages: Vec::new(),
                title: None,
            }],
        };
        let refused = log.redact(redaction).await.unwrap_err().to_string();
        assert!(refused.contains("try again"), "{refused}");
        assert_eq!(all(&*log, "ses_1").await, facts);
        assert_good(&*log, "ses_1").await;
    });
}

#[test]
fn what_was_taken_out_is_in_no_byte_of_the_files() {
    for group in [1, 9] {
        run(async {
            let home = Home::new();
            let log = home.open();
            let facts = recorded(&*log, group).await;
            // The index gets the words when their writer is gone.
            log.search(&owner(), SECRET, 10).await.unwrap();
            assert!(!files_with_secret(&home).is_empty());
            redact(&*log, &facts, true).await;
            assert!(log.erase_remains().await.unwrap());
            assert_eq!(files_with_secret(&home), Vec::<String>::new());
            assert_good(&*log, "ses_1").await;
        });
    }
}

#[test]
fn what_was_deleted_is_in_no_byte_of_the_files() {
    for group in [1, 9] {
        run(async {
            let home = Home::new();
            let options = LogOptions {
                blob_grace: Duration::ZERO,
                ..LogOptions::default()
            };
            let log = SqliteLog::open(home.path(), options).unwrap();
            recorded(&*log, group).await;
            log.create(new_log("ses_2")).await.unwrap();
            let other = SessionId::new("ses_2");
            let writer = log.attach(&other).await.unwrap();
            for seq in 1..=60 {
                let fact = fact_of(&other, seq, text("something else "));
                log.append(&writer, batch(vec![fact])).await.unwrap();
            }
            log.search(&owner(), SECRET, 10).await.unwrap();
            assert!(!files_with_secret(&home).is_empty());
            log.delete(&session()).await.unwrap();
            log.collect_garbage_at(Timestamp(i64::MAX)).await.unwrap();
            assert_eq!(files_with_secret(&home), Vec::<String>::new());
            assert_good(&*log, "ses_2").await;
        });
    }
}
