//! Every flipped byte is found, the good events before it stay readable, and files that are not a log are
//! reported as such.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

use crate::support::*;
use agentx_runtime::{BlobStore as _, Fact, LogError, SessionLog};
use agentx_sqlite_log::{FORMAT, LogOptions, SqliteLog};
use agentx_types::*;
use rusqlite::params;
use serde_json::json;

/// Two rows of a finished stream, then an open one of several rows.
async fn small(home: &Home) -> Vec<Fact> {
    let log = home.open();
    let writer = begin(&*log).await;
    let mut events = conversation(6);
    events.extend([
        stream_start(),
        text("a"),
        text("b"),
        tool_result(json!({"big": "y".repeat(5000)})),
    ]);
    let facts = facts(1, events);
    append_each(&*log, &writer, &facts).await;
    log.create(fork_of("ses_f", "ses_1", 9)).await.unwrap();
    facts
}

/// Reads in small pages until the end or the damage; lending facts stops at the same place.
async fn read_on(log: &SqliteLog, id: &str) -> (Vec<Fact>, Option<LogError>) {
    let read = read_in_pages(log, id).await;
    let (lent, end) = lent(log, id, 0..=u64::MAX, usize::MAX).await;
    assert_eq!(end.is_err(), read.1.is_some());
    assert_lent(&lent, &read.0);
    read
}

async fn read_in_pages(log: &SqliteLog, id: &str) -> (Vec<Fact>, Option<LogError>) {
    let mut facts: Vec<Fact> = Vec::new();
    loop {
        let after = facts.last().map_or(0, |fact| fact.seq);
        match log.read(&SessionId::new(id), after, 5).await {
            Ok(more) if more.is_empty() => return (facts, None),
            Ok(more) => facts.extend(more),
            Err(error) => return (facts, Some(error)),
        }
    }
}

#[test]
fn every_flipped_byte_of_a_row_is_found() {
    run(async {
        let home = Home::new();
        let facts = small(&home).await;
        let sql = home.sql();
        let log = home.open();
        let mut rows = sql
            .prepare("SELECT id, data, hash, derived FROM batches ORDER BY id")
            .unwrap();
        type Row = (i64, Vec<u8>, Vec<u8>, Vec<u8>);
        let rows: Vec<Row> = rows
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        assert!(rows.len() >= 5);
        let mut flips = 0;
        for (id, data, hash, derived) in &rows {
            let first_seq = (id & ((1 << 36) - 1)) as u64;
            for (column, bytes) in [("data", data), ("hash", hash), ("derived", derived)] {
                for at in 0..bytes.len() {
                    let mut flipped = bytes.clone();
                    flipped[at] ^= 1 << (at % 8);
                    let update = format!("UPDATE batches SET {column} = ?2 WHERE id = ?1");
                    sql.execute(&update, params![id, flipped]).unwrap();
                    let report = log.verify(&session()).await.unwrap();
                    assert!(
                        !report.problems.is_empty(),
                        "{column} byte {at} of the row at {first_seq}"
                    );
                    assert_eq!(report.good_events, first_seq - 1, "{report:?}");
                    if at % 16 == 0 {
                        let (good, error) = read_on(&log, "ses_1").await;
                        assert_eq!(good, facts[..first_seq as usize - 1]);
                        let Some(LogError::Corrupt { seq, .. }) = error else {
                            panic!("{error:?}")
                        };
                        assert_eq!(seq, first_seq);
                    }
                    sql.execute(&update, params![id, bytes]).unwrap();
                    flips += 1;
                }
            }
        }
        assert!(flips > 500);
        assert_good(&*log, "ses_1").await;
    });
}

#[test]
fn lost_and_changed_rows_are_found() {
    let table = [
        (
            "DELETE FROM batches WHERE id = (SELECT min(id) FROM batches)",
            "is missing",
        ),
        (
            "DELETE FROM batches WHERE id = (SELECT id FROM batches ORDER BY id LIMIT 1 OFFSET 2)",
            "is missing",
        ),
        (
            "UPDATE batches SET last_seq = last_seq + 1 WHERE id = (SELECT max(id) FROM batches)",
            "hash",
        ),
        (
            "UPDATE batches SET at = at + 1 WHERE id = (SELECT max(id) FROM batches)",
            "hash",
        ),
        (
            "UPDATE batches SET starts = 1 - starts WHERE id = (SELECT max(id) FROM batches)",
            "hash",
        ),
        (
            "UPDATE batches SET data = 'text' WHERE id = (SELECT max(id) FROM batches)",
            "shape",
        ),
        (
            "UPDATE batches SET derived = NULL WHERE id = (SELECT max(id) FROM batches)",
            "hash",
        ),
        (
            "UPDATE sessions SET base_hash = zeroblob(32) WHERE session_id = 'ses_1'",
            "hash",
        ),
        (
            "DELETE FROM blobs WHERE size = (SELECT min(size) FROM blobs)",
            "no blob",
        ),
        ("UPDATE blobs SET data = zeroblob(size)", "not what was stored"),
        (
            "INSERT INTO messages VALUES (1, 1, 999, 1, 'm', 'a', 'user', '')",
            "missing",
        ),
    ];
    for (damage, says) in table {
        run(async {
            let home = Home::new();
            small(&home).await;
            assert!(home.sql().execute(damage, []).unwrap() > 0, "{damage}");
            let report = home.open().verify(&session()).await.unwrap();
            assert!(
                report.problems.iter().any(|problem| problem.contains(says)),
                "{damage}: {report:?}"
            );
            assert!(report.good_events <= report.last_seq);
        });
    }
}

#[test]
fn a_fork_notices_what_happened_to_its_parent() {
    run(async {
        let home = Home::new();
        small(&home).await;
        let log = home.open();
        assert_good(&*log, "ses_f").await;
        let data = "UPDATE batches SET data = data || x'00' WHERE id = (SELECT min(id) FROM batches)";
        home.sql().execute(data, []).unwrap();
        let report = log.verify(&SessionId::new("ses_f")).await.unwrap();
        assert_eq!(report.good_events, 0, "{report:?}");
        assert!(matches!(
            log.create(fork_of("ses_g", "ses_1", 5)).await,
            Err(LogError::Corrupt { .. })
        ));
        // A damaged segment is not made worse by the next writer.
        drop(log.attach(&session()).await.unwrap());
        assert_eq!(log.verify(&session()).await.unwrap().good_events, 0);
    });
}

fn open_error(home: &Home) -> String {
    let opened = SqliteLog::open(home.path(), LogOptions::default());
    opened.map(drop).unwrap_err().to_string()
}

#[test]
fn files_that_are_no_log_are_refused_in_words() {
    let home = Home::new();
    std::fs::create_dir_all(home.path().parent().unwrap()).unwrap();
    for text in [
        "not a database at all, but some text".repeat(40),
        "short".to_owned(),
    ] {
        std::fs::write(home.path(), &text).unwrap();
        assert!(open_error(&home).contains("not SQLite"), "{}", open_error(&home));
        assert_eq!(
            std::fs::read_to_string(home.path()).unwrap(),
            text,
            "it is left as it was"
        );
    }
    std::fs::remove_file(home.path()).unwrap();
    home.sql().execute_batch("CREATE TABLE other (x)").unwrap();
    assert!(open_error(&home).contains("other tables"));
    home.sql().execute_batch("PRAGMA application_id = 7").unwrap();
    assert!(open_error(&home).contains("another program"));
    std::fs::remove_file(home.path()).unwrap();
    std::fs::create_dir(home.path()).unwrap();
    assert!(
        open_error(&home).contains("cannot be opened"),
        "{}",
        open_error(&home)
    );
}

#[test]
fn a_truncated_file_is_an_error_with_words() {
    run(async {
        let home = Home::new();
        small(&home).await;
        home.sql()
            .pragma_update_and_check(None, "wal_checkpoint", "TRUNCATE", |_| Ok(()))
            .unwrap();
        let whole = std::fs::read(home.path()).unwrap();
        for pages in [1, 2, 5] {
            std::fs::write(home.path(), &whole[..pages * 4096]).unwrap();
            let error = match SqliteLog::open(home.path(), LogOptions::default()) {
                Err(error) => error,
                Ok(log) => log.read(&session(), 0, 100).await.unwrap_err(),
            };
            assert!(error.to_string().contains("damaged"), "{error}");
        }
    });
}

#[test]
fn a_newer_format_can_be_read_and_not_written() {
    run(async {
        let home = Home::new();
        let facts = small(&home).await;
        home.sql()
            .pragma_update(None, "user_version", FORMAT + 1)
            .unwrap();
        let log = home.open();
        assert_eq!(all(&*log, "ses_1").await, facts);
        assert_eq!(log.info(&session()).await.unwrap().last_seq, facts.len() as u64);
        assert_good(&*log, "ses_f").await;
        let is_newer = |error: LogError| {
            assert!(
                matches!(error, LogError::Newer { found, known, .. } if found == known + 1),
                "{error}"
            );
        };
        is_newer(log.create(new_log("ses_2")).await.unwrap_err());
        is_newer(log.attach(&session()).await.map(drop).unwrap_err());
        is_newer(log.put_blob(vec![1]).await.unwrap_err());
        is_newer(log.delete(&session()).await.unwrap_err());
        is_newer(log.collect_garbage().await.unwrap_err());
        let unlocked = agentx_runtime::Writer::new(session(), 1, 0, ());
        is_newer(log.append(&unlocked, batch(vec![])).await.unwrap_err());
    });
}

#[test]
fn a_database_that_is_missing_beside_its_write_ahead_log_is_not_begun_anew() {
    run(async {
        let home = Home::new();
        let facts = small(&home).await;
        let log = home.path().with_file_name("log.db-wal");
        // A killed program leaves commits behind: this one writes a value again and is copied while it runs.
        let killed = rusqlite::Connection::open(home.path()).unwrap();
        let version = killed.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
        killed
            .pragma_update(None, "user_version", version.unwrap())
            .unwrap();
        let (whole, ahead) = (std::fs::read(home.path()).unwrap(), std::fs::read(&log).unwrap());
        assert!(ahead.len() > 32);
        drop(killed);
        std::fs::write(&log, &ahead).unwrap();
        for left in [None, Some("")] {
            match left {
                None => std::fs::remove_file(home.path()).unwrap(),
                Some(bytes) => std::fs::write(home.path(), bytes).unwrap(),
            }
            let refused = [
                SqliteLog::open(home.path(), LogOptions::default()).map(drop),
                agentx_sqlite_log::examine(&home.path()).map(drop),
            ];
            for refused in refused {
                let said = refused.unwrap_err().to_string();
                assert!(
                    said.contains("missing or empty") && said.contains(log.to_str().unwrap()),
                    "{said}"
                );
            }
            assert_eq!(std::fs::read(&log).unwrap(), ahead, "it is left as it was");
            std::fs::write(home.path(), &whole).unwrap();
        }
        assert_eq!(read_on(&home.open(), "ses_1").await.0, facts);
        std::fs::remove_file(home.path()).unwrap();
        std::fs::remove_file(&log).unwrap();
        home.open();
    });
}

#[test]
fn a_damaged_blob_is_repaired_when_its_bytes_are_stored_again() {
    run(async {
        for size in [5_000, 600_000] {
            let home = Home::new();
            let log = home.open();
            let bytes: Vec<u8> = (0..size).map(|at: u32| at.to_le_bytes()[0]).collect();
            let id = log.put_blob(bytes.clone()).await.unwrap();
            for damage in ["zeroblob(size)", "zeroblob(7)"] {
                let sql = home.sql();
                sql.execute(&format!("UPDATE blobs SET data = {damage}"), [])
                    .unwrap();
                drop(sql);
                assert_eq!(log.put_blob(bytes.clone()).await.unwrap(), id);
                let read = log.get_blob(&id, 0..u64::from(size)).await.unwrap();
                assert!(read == bytes, "{size} {damage}");
            }
        }
    });
}
