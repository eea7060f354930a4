//! Appended events are read back, in whatever batches they came and however they were packed afterwards.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

use crate::histories::{events_of, histories};
use crate::support::*;
use agentx_runtime::{Fact, SessionLog};
use agentx_types::*;
use proptest::prelude::*;
use serde_json::json;
use serde_json::value::RawValue;

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_history_reads_back(batches in histories(), cut in 0usize..400, page in 1usize..40) {
        run(async {
            let log = agentx_sqlite_log::SqliteLog::open_in_memory().unwrap();
            let mut writer = begin(&*log).await;
            let mut written: Vec<Fact> = Vec::new();
            let mut at = 1_700_000_000_000_000i64;
            for (number, events) in batches.into_iter().enumerate() {
                let facts = events_of(events, written.len() as u64 + 1, &mut at);
                written.extend(facts.iter().cloned());
                log.append(&writer, batch(facts)).await.unwrap();
                if number % 9 == 8 {
                    drop(writer);
                    writer = log.attach(&session()).await.unwrap();
                    assert_eq!(writer.last_seq, written.len() as u64);
                }
            }
            assert_eq!(all(&*log, "ses_1").await, written);
            assert_good(&*log, "ses_1").await;
            let after = cut.min(written.len());
            let read = log.read(&session(), after as u64, page).await.unwrap();
            assert_eq!(read, written[after..(after + page).min(written.len())]);
        });
    }
}

#[test]
fn every_kind_of_event_comes_back() {
    // Payloads of all tags need not be written by hand: each line of the golden files is a frame of one.
    run(async {
        let log = agentx_sqlite_log::SqliteLog::open_in_memory().unwrap();
        let writer = begin(&*log).await;
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
        append_each(&*log, &writer, &facts).await;
        assert_eq!(all(&*log, "ses_1").await, facts);
    });
}

#[test]
fn packing_is_invisible() {
    run(async {
        let home = Home::new();
        let log = home.open();
        let writer = begin(&*log).await;
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
                assert_eq!(all(&*log, "ses_1").await, facts[..=n]);
                most = most.max(rows());
            }
        }
        assert!(
            most < 260,
            "an open segment is packed before it has many rows: {most}"
        );
        assert!(rows() <= 3, "{} rows for one stream and a message", rows());
        assert_eq!(all(&*log, "ses_1").await, facts);
        assert_good(&*log, "ses_1").await;
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
        let writer = begin(&*log).await;
        let facts = facts(1, (0..20_000).map(|n| text(&format!("{n} "))));
        log.append(&writer, batch(facts.clone())).await.unwrap();
        assert_eq!(all(&*log, "ses_1").await, facts);
        assert_good(&*log, "ses_1").await;
        let longest: i64 = home
            .sql()
            .query_row("SELECT max(length(data)) FROM batches", [], |row| row.get(0))
            .unwrap();
        assert!(longest < 40_000, "{longest}");
        assert_eq!(log.digests(&session()).await.unwrap(), [(20_000, digest(20_000))]);
    });
}

#[test]
fn a_page_of_long_facts_is_short() {
    run(async {
        let log = agentx_sqlite_log::SqliteLog::open_in_memory().unwrap();
        let writer = begin(&*log).await;
        let size = 1 << 20;
        let texts = [10, size, size, size, 9 * size, 10, size].map(|size| TextChunk {
            text: "x".repeat(size),
        });
        let written = facts(1, texts.map(EnvironmentEvent::from).to_vec());
        log.append(&writer, batch(written.clone())).await.unwrap();
        let (mut read, mut pages) = (Vec::new(), Vec::new());
        loop {
            let after = read.last().map_or(0, |fact: &Fact| fact.seq);
            let page = log.read(&session(), after, 1000).await.unwrap();
            if page.is_empty() {
                break;
            }
            pages.push(page.len());
            read.extend(page);
        }
        assert_eq!(read, written);
        assert_eq!(pages, [4, 1, 2], "none is lost, and a long one comes alone");
    });
}
