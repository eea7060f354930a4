//! What is appended is what is read, in whatever batches it came and however it was packed since.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod support;

use agentx_runtime::{Fact, SessionLog};
use agentx_types::*;
use proptest::prelude::*;
use serde_json::json;
use serde_json::value::RawValue;
use support::*;

/// The context of an event, from a small set so that contexts repeat.
fn context(n: usize) -> (Source, Option<AgentStateId>, Option<RunId>, Option<ActionId>) {
    let source = [Source::User, Source::Agent, Source::Environment, Source::System][n % 4];
    let agent = (!n.is_multiple_of(3)).then(|| AgentStateId::with_suffix(n % 3));
    let run = (!n.is_multiple_of(2)).then(|| RunId::of_input(n as u64));
    let cause = (n % 5 > 2).then(|| ActionId::following(7, n));
    (source, agent, run, cause)
}

fn event(kind: usize, words: &str, number: f64) -> EnvironmentEvent {
    let call = ToolCallId::new("call_1");
    let raw = |json: String| RawValue::from_string(json).unwrap();
    match kind {
        0..=5 => text(words),
        6..=8 => ThinkingChunk { text: words.into() }.into(),
        9 => user(words),
        10 => stream_start(),
        11 => stream_end(),
        12 => PartEnd {}.into(),
        13 => ToolCallStart {
            tool_call_id: call,
            name: words.into(),
        }
        .into(),
        14 => ToolCallChunk {
            tool_call_id: call,
            json: words.into(),
        }
        .into(),
        15 => ToolOutputChunk {
            tool_call_id: call,
            channel: OutputChannel::Stderr,
            text: words.into(),
        }
        .into(),
        16 => tool_result(json!({"number": number, "words": words, "nested": [null, true, {"k": -1}]})),
        17 => EnvironmentEvent::Unknown(UnknownEvent {
            tag: format!("tag_of_tomorrow{words}"),
            payload: raw(json!({ "any": words, "order": {"z": 1, "a": number} }).to_string()),
        }),
        18 => text(&words.repeat(600)),
        19 => Interrupted {
            reason: words.repeat(500),
        }
        .into(),
        20 => SystemCommand {
            command: words.into(),
            args: json!({"f": number}),
        }
        .into(),
        _ => ErrorOccurred {
            code: "c".into(),
            message: words.into(),
            recoverable: true,
        }
        .into(),
    }
}

/// Kind, words, context, time step and a number.
type Seed = (usize, String, usize, i64, f64);

fn histories() -> impl Strategy<Value = Vec<Vec<Seed>>> {
    let words = prop_oneof![
        "[a-z ]{0,9}",
        "[会话日志🙂é]{0,6}",
        "\\PC{0,80}",
        Just("\0\n\"\\".to_owned())
    ];
    let number = prop_oneof![
        any::<i32>().prop_map(f64::from),
        -1e9..1e9f64,
        proptest::num::f64::NORMAL
    ];
    let step = prop_oneof![0..40i64, -5_000_000..5_000_000i64, Just(i64::MAX / 8)];
    let event = (0..22usize, words, 0..30usize, step, number);
    prop::collection::vec(prop::collection::vec(event, 1..12), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_history_reads_back(batches in histories(), cut in 0usize..400, page in 1usize..40) {
        run(async {
            let log = agentx_sqlite_log::SqliteLog::open_in_memory().unwrap();
            let mut writer = begin(&log).await;
            let mut written: Vec<Fact> = Vec::new();
            let mut at = 1_700_000_000_000_000i64;
            for (number, events) in batches.into_iter().enumerate() {
                let mut facts = Vec::new();
                for (kind, words, ctx, step, float) in events {
                    at = at.wrapping_add(step);
                    let (source, agent_state_id, run_id, cause) = context(ctx);
                    let event = event(kind, &words, float);
                    let seq = (written.len() + facts.len()) as u64 + 1;
                    let draft = Draft { source, agent_state_id, run_id, cause, event };
                    facts.push(std::sync::Arc::new(draft.into_envelope(session(), seq, Timestamp(at))));
                }
                written.extend(facts.iter().cloned());
                log.append(&writer, batch(facts)).await.unwrap();
                if number % 9 == 8 {
                    drop(writer);
                    writer = log.attach(&session()).await.unwrap();
                    assert_eq!(writer.last_seq, written.len() as u64);
                }
            }
            assert_eq!(all(&log, "ses_1").await, written);
            assert_good(&log, "ses_1").await;
            let after = cut.min(written.len());
            let read = log.read(&session(), after as u64, page).await.unwrap();
            assert_eq!(read, written[after..(after + page).min(written.len())]);
        });
    }
}

#[test]
fn every_kind_of_event_comes_back() {
    // A payload of every tag is not made by hand: each golden file of the vocabulary is a frame of one.
    run(async {
        let log = agentx_sqlite_log::SqliteLog::open_in_memory().unwrap();
        let writer = begin(&log).await;
        let events: Vec<_> = EnvironmentEvent::TAGS
            .iter()
            .map(|tag| {
                let payload = RawValue::from_string(json!({"kind": tag}).to_string()).unwrap();
                EnvironmentEvent::from_parts(tag, &payload).unwrap_or_else(|_| {
                    EnvironmentEvent::Unknown(UnknownEvent {
                        tag: format!("new_{tag}"),
                        payload,
                    })
                })
            })
            .chain(conversation(20))
            .collect();
        let facts = facts(1, events);
        append_each(&log, &writer, &facts).await;
        assert_eq!(all(&log, "ses_1").await, facts);
    });
}

#[test]
fn packing_is_invisible() {
    run(async {
        let home = Home::new();
        let log = home.open();
        let writer = begin(&log).await;
        let events = (0..3000).map(|n| text(&format!("{n} ")));
        let facts = facts(1, events.chain([stream_end(), user("next")]));
        let rows = || {
            home.sql()
                .query_row("SELECT count(*) FROM batches", [], |row| row.get::<_, i64>(0))
                .unwrap()
        };
        let mut most = 0;
        for (n, fact) in facts.iter().enumerate() {
            log.append(&writer, batch(vec![fact.clone()])).await.unwrap();
            if n % 251 == 0 {
                assert_eq!(all(&log, "ses_1").await, facts[..=n]);
                most = most.max(rows());
            }
        }
        assert!(
            most < 260,
            "an open segment is packed before it has many rows: {most}"
        );
        assert!(rows() <= 3, "{} rows for one stream and a message", rows());
        assert_eq!(all(&log, "ses_1").await, facts);
        assert_good(&log, "ses_1").await;
        for after in [0, 1, 255, 256, 257, 2999, 3000, 3001] {
            let read = log.read(&session(), after, 3).await.unwrap();
            assert_eq!(read, facts[after as usize..(after as usize + 3).min(facts.len())]);
        }
        let digests = log.digests(&session()).await.unwrap();
        assert!(digests.iter().all(|(seq, derived)| *derived == digest(*seq)));
        assert_eq!(digests.last().unwrap().0, 3002);
    });
}

#[test]
fn big_batches_are_cut_into_segments() {
    run(async {
        let home = Home::new();
        let log = home.open();
        let writer = begin(&log).await;
        let facts = facts(1, (0..20_000).map(|n| text(&format!("{n} "))));
        log.append(&writer, batch(facts.clone())).await.unwrap();
        assert_eq!(all(&log, "ses_1").await, facts);
        assert_good(&log, "ses_1").await;
        let longest: i64 = home
            .sql()
            .query_row("SELECT max(length(data)) FROM batches", [], |row| row.get(0))
            .unwrap();
        assert!(longest < 40_000, "{longest}");
        assert_eq!(log.digests(&session()).await.unwrap(), [(20_000, digest(20_000))]);
    });
}
