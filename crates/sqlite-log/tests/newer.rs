//! Events of a newer version are kept unchanged: in their row, in a blob, in a fork, and when read again.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../../types/tests/golden/newer_words.rs"]
mod newer_words;

use std::sync::Arc;

use agentx_runtime::{Fact, SessionLog as _};
use agentx_types::*;
use serde_json::Value;

use crate::support::*;
use newer_words::{NEW, newer};

/// Every golden fact, once for each new thing in it, as frames of one session.
fn frames() -> Vec<String> {
    let frame = |(seq, event): (u64, Value)| {
        let (tag, payload) = (&event["event"], &event["payload"]);
        format!(
            r#"{{"seq":{seq},"at":{seq},"source":"system","session_id":"ses_1","agent_state_id":"agt_1","event":{tag},"payload":{payload}}}"#
        )
    };
    let mut events: Vec<Value> = newer("environment.jsonl")
        .into_iter()
        .map(|new| new.event)
        .collect();
    // An event that is too long for its row.
    let mut long = events[0].clone();
    long["payload"]["of_tomorrow"] = "long ".repeat(2000).into();
    long["payload"]["mode"] = NEW.into();
    events.push(long);
    (1..).zip(events).map(frame).collect()
}

fn written(facts: &[Fact]) -> Vec<String> {
    facts
        .iter()
        .map(|fact| serde_json::to_string(&**fact).unwrap())
        .collect()
}

#[test]
fn what_a_newer_version_wrote_is_kept_to_the_byte() {
    run(async {
        let home = Home::new();
        let frames = frames();
        let facts: Vec<Fact> = frames
            .iter()
            .map(|frame| Arc::new(serde_json::from_str(frame).unwrap()))
            .collect();
        let log = home.open();
        let writer = begin(&*log).await;
        for some in facts.chunks(7) {
            log.append(&writer, batch(some.to_vec())).await.unwrap();
        }
        drop((writer, log));
        let log = home.open();
        let read = all(&*log, "ses_1").await;
        assert_eq!(read, facts);
        assert_eq!(written(&read), frames);
        assert_good(&*log, "ses_1").await;
        log.create(fork_of("ses_2", "ses_1", frames.len() as u64))
            .await
            .unwrap();
        let forked = written(&all(&*log, "ses_2").await);
        let renamed: Vec<String> = frames
            .iter()
            .map(|frame| frame.replacen("ses_1", "ses_2", 1))
            .collect();
        assert_eq!(forked, renamed);
    });
}

/// Damage is distinguished from new events: it is found, and not returned.
#[test]
fn another_shape_is_damage_still() {
    let frame = |payload: &str| {
        format!(
            r#"{{"seq":1,"at":1,"source":"system","session_id":"ses_1","event":"zzz","payload":{payload}}}"#
        )
    };
    run(async {
        let log = agentx_sqlite_log::SqliteLog::open_in_memory().unwrap();
        let writer = begin(&*log).await;
        let mut fact: Envelope<EnvironmentEvent> =
            serde_json::from_str(&frame(r#"{"tool_call_id":7,"decision":"zzz"}"#)).unwrap();
        let EnvironmentEvent::Unknown(event) = &mut fact.event else {
            panic!("{fact:?}");
        };
        event.tag = "approval".into();
        log.append(&writer, batch(vec![Arc::new(fact)])).await.unwrap();
        let error = log.read(&session(), 0, 10).await.unwrap_err().to_string();
        assert!(error.contains("its payload does not fit `approval`"), "{error}");
    });
}
