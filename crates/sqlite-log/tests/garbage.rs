//! Blobs and collection: stored once, never removed while something refers to them.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

use crate::support::*;
use agentx_runtime::{BlobStore, LogError, SessionLog};
use agentx_sqlite_log::{LogOptions, SqliteLog};
use agentx_types::*;
use serde_json::json;
use std::time::Duration;

async fn without_grace(home: &Home) -> std::sync::Arc<SqliteLog> {
    SqliteLog::open(
        home.path(),
        LogOptions {
            blob_grace: Duration::ZERO,
            ..LogOptions::default()
        },
    )
    .unwrap()
}

const FAR: Timestamp = Timestamp(i64::MAX);

fn blobs(home: &Home) -> i64 {
    home.sql()
        .query_row("SELECT count(*) FROM blobs", [], |row| row.get(0))
        .unwrap()
}

#[test]
fn blobs_are_stored_once_and_read_in_ranges() {
    run(async {
        let home = Home::new();
        let log = home.open();
        let bytes: Vec<u8> = (0..1_000_000u32).map(|n| (n * 7 + n / 65_536) as u8).collect();
        let id = log.put_blob(bytes.clone()).await.unwrap();
        assert_eq!(log.put_blob(bytes.clone()).await.unwrap(), id);
        assert_eq!(blobs(&home), 1);
        assert_eq!(id.as_str(), format!("b3_{}", blake3::hash(&bytes).to_hex()));
        assert_eq!(log.blob_size(&id).await.unwrap(), 1_000_000);
        let table = [
            (0, 10),
            (0, u64::MAX),
            (999_990, 2_000_000),
            (5_000, 5_000),
            (500_000, 500_100),
            (u64::MAX - 1, u64::MAX),
        ];
        for (from, to) in table {
            let end = to.min(1_000_000) as usize;
            let expected = bytes.get(from as usize..end).unwrap_or_default();
            assert_eq!(log.get_blob(&id, from..to).await.unwrap(), expected);
        }
        assert_eq!(
            log.get_blob(&id, std::ops::Range { start: 9, end: 3 })
                .await
                .unwrap(),
            b""
        );
        let empty = log.put_blob(vec![]).await.unwrap();
        assert_eq!(log.get_blob(&empty, 0..10).await.unwrap(), b"");
        for wrong in ["b3_", "b3_zz", "x", &format!("b3_{}", "0".repeat(64))] {
            let missing = log.get_blob(&BlobId::new(wrong), 0..1).await;
            assert!(matches!(missing, Err(LogError::NoBlob(_))), "{wrong}");
        }
    });
}

#[test]
fn what_an_event_names_stays() {
    run(async {
        let home = Home::new();
        let log = without_grace(&home).await;
        let writer = begin(&*log).await;
        let mut ids = Vec::new();
        for n in 0..5u8 {
            ids.push(log.put_blob(vec![n; 5000]).await.unwrap());
        }
        let image = ContentPart::Image(MediaPart {
            media_type: "image/png".into(),
            source: MediaSource::Blob(ids[0].clone()),
            name: None,
        });
        let with_image: EnvironmentEvent = UserMessage {
            message_id: MessageId::new("msg_1"),
            content: vec![image],
            mode: InputMode::Queue,
            idempotency_key: None,
            by: None,
            answer_schema: None,
        }
        .into();
        let events = [
            with_image,
            tool_result(json!({"output": ids[1], "deep": [{"pre_image": ids[2].as_str()}]})),
            tool_result(json!({"note": format!("the rest is in {}; read on", ids[3])})),
            Interrupted {
                reason: "long ".repeat(2000),
            }
            .into(),
        ];
        append_each(&*log, &writer, &facts(1, events)).await;
        drop(writer);
        assert_eq!(blobs(&home), 6);
        log.create(fork_of("ses_f", "ses_1", 2)).await.unwrap();
        assert_eq!(
            log.collect_garbage_at(FAR).await.unwrap(),
            5000,
            "only the one that nothing names"
        );
        assert!(log.blob_size(&ids[4]).await.is_err());
        assert_good(&*log, "ses_1").await;
        log.delete(&session()).await.unwrap();
        log.collect_garbage_at(FAR).await.unwrap();
        for id in &ids[..3] {
            assert_eq!(log.blob_size(id).await.unwrap(), 5000, "the fork names it");
        }
        assert_good(&*log, "ses_f").await;
        log.delete(&SessionId::new("ses_f")).await.unwrap();
        assert!(log.collect_garbage_at(FAR).await.unwrap() > 15_000);
        assert_eq!(blobs(&home), 0);
        let references = home
            .sql()
            .query_row("SELECT count(*) FROM blob_refs", [], |row| row.get::<_, i64>(0));
        assert_eq!(references.unwrap(), 0);
    });
}

#[test]
fn a_session_names_the_blobs_of_its_events_and_of_those_that_it_shares() {
    on_both(async |log| {
        let writer = begin(log).await;
        let (early, late) = (
            log.put_blob(b"early".to_vec()).await.unwrap(),
            log.put_blob(b"late".to_vec()).await.unwrap(),
        );
        let events = [
            user("hello"),
            tool_result(json!({"blob": early})),
            tool_result(json!({"blob": late})),
        ];
        append_each(log, &writer, &facts(1, events)).await;
        log.create(fork_of("ses_f", "ses_1", 2)).await.unwrap();
        let fork = SessionId::new("ses_f");
        assert_eq!(log.names_blob(&session(), &late).await.unwrap(), Some(3));
        assert_eq!(log.names_blob(&fork, &early).await.unwrap(), Some(2));
        assert_eq!(log.names_blob(&fork, &late).await.unwrap(), None);
        assert_eq!(log.names_blob(&fork, &"nonsense".into()).await.unwrap(), None);
        assert!(log.names_blob(&"ses_none".into(), &late).await.is_err());
    });
}

#[test]
fn a_blob_whose_event_is_on_its_way_stays() {
    run(async {
        let home = Home::new();
        let log = home.open();
        let id = log.put_blob(vec![1; 100]).await.unwrap();
        assert_eq!(log.collect_garbage().await.unwrap(), 0);
        // An hour later it would be removed, but it has been stored again meanwhile.
        home.sql().execute("UPDATE blobs SET touched_at = 0", []).unwrap();
        log.put_blob(vec![1; 100]).await.unwrap();
        assert_eq!(log.collect_garbage().await.unwrap(), 0);
        assert_eq!(log.blob_size(&id).await.unwrap(), 100);
        home.sql().execute("UPDATE blobs SET touched_at = 0", []).unwrap();
        assert_eq!(log.collect_garbage().await.unwrap(), 100);
    });
}

#[test]
fn made_up_blob_ids_do_no_harm() {
    on_both(async |log| {
        let writer = begin(log).await;
        let made_up = format!("b3_{}", "ab".repeat(32));
        let events = [
            tool_result(json!({"x": made_up})),
            user("b3_short b3_"),
            user(&"b3_".repeat(3000)),
        ];
        append_each(log, &writer, &facts(1, events)).await;
        assert_good(log, "ses_1").await;
    });
}

#[test]
fn retention_spares_forks_and_writers() {
    run(async {
        let home = Home::new();
        let log = home.open();
        for id in ["ses_old", "ses_written", "ses_forked"] {
            log.create(new_log(id)).await.unwrap();
            let session = SessionId::new(id);
            let writer = log.attach(&session).await.unwrap();
            log.append(&writer, batch(vec![fact_of(&session, 1, user("x"))]))
                .await
                .unwrap();
        }
        let mut fork = fork_of("ses_fork", "ses_forked", 1);
        fork.at = FAR;
        log.create(fork).await.unwrap();
        let _writer = log.attach(&SessionId::new("ses_written")).await.unwrap();
        assert_eq!(log.retain(Timestamp(1)).await.unwrap(), []);
        assert_eq!(log.retain(FAR).await.unwrap(), [SessionId::new("ses_old")]);
        assert!(is_not_found(&log.info(&SessionId::new("ses_old")).await));
        assert_eq!(all(&*log, "ses_fork").await.len(), 1);
    });
}

#[test]
fn a_large_session_goes_in_steps() {
    run(async {
        let home = Home::new();
        let log = home.open();
        let writer = begin(&*log).await;
        for turn in 0..600u64 {
            let words = format!("question {turn}");
            let seq = turn * 2 + 1;
            let projections = vec![message(seq, &format!("msg_{turn}"), Role::User, &words)];
            log.append(
                &writer,
                projecting(facts(seq, [user(&words), stream_end()]), projections),
            )
            .await
            .unwrap();
        }
        drop(writer);
        log.delete(&session()).await.unwrap();
        assert!(log.collect_garbage().await.unwrap() > 10_000);
        for table in ["sessions", "batches", "messages", "spent", "blob_refs"] {
            let count = format!("SELECT count(*) FROM {table}");
            assert_eq!(
                home.sql()
                    .query_row(&count, [], |row| row.get::<_, i64>(0))
                    .unwrap(),
                0,
                "{table}"
            );
        }
        log.create(new_log("ses_1")).await.unwrap();
        assert_eq!(log.attach(&session()).await.unwrap().last_seq, 0);
    });
}

#[test]
fn what_was_deleted_makes_the_file_smaller() {
    run(async {
        let home = Home::new();
        let log = without_grace(&home).await;
        let writer = begin(&*log).await;
        let pages = |what: &str| -> i64 {
            let sql = format!("PRAGMA {what}");
            home.sql().query_row(&sql, [], |row| row.get(0)).unwrap()
        };
        let empty = pages("page_count");
        let bytes = |seed: u8| (0..2_000_000u32).map(move |n| (n.wrapping_mul(n) >> 5) as u8 ^ seed);
        for seed in 0..3 {
            let id = log.put_blob(bytes(seed).collect()).await.unwrap();
            let fact = facts(u64::from(seed) + 1, [tool_result(json!({ "blob": id }))]);
            append_each(&*log, &writer, &fact).await;
        }
        drop(writer);
        assert!(pages("page_count") > empty + 1_000);
        log.delete(&session()).await.unwrap();
        assert!(log.collect_garbage_at(FAR).await.unwrap() > 5_000_000);
        assert_eq!(pages("freelist_count"), 0);
        assert!(pages("page_count") <= empty + 16, "{}", pages("page_count"));
    });
}
