//! Full disks, crashes, missing permissions: the log never reports data that it does not have.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

use crate::support::*;
use agentx_runtime::{BlobStore, LogError, SessionLog};
use agentx_sqlite_log::{LogOptions, SqliteLog};
use agentx_types::*;

#[test]
fn a_full_disk_keeps_nothing_of_the_last_step_and_everything_before_it() {
    run(async {
        let home = Home::new();
        let options = LogOptions {
            max_bytes: Some(256 * 1024),
            ..LogOptions::default()
        };
        let log = SqliteLog::open(home.path(), options).unwrap();
        let writer = begin(&*log).await;
        let mut kept = 0;
        let full = loop {
            let events = (0..200).map(|n| text(&format!("{n:>20}")));
            match log.append(&writer, batch(facts(kept + 1, events))).await {
                Ok(()) => kept += 200,
                Err(error) => break error,
            }
        };
        assert!(matches!(full, LogError::Full { .. }), "{full}");
        assert!(kept > 1000);
        assert_eq!(log.info(&session()).await.unwrap().last_seq, kept);
        assert!(matches!(
            log.put_blob(vec![1; 100_000]).await,
            Err(LogError::Full { .. })
        ));
        let long = (0..2000).map(|n| text(&format!("{n:>20}")));
        let refused = log.append(&writer, batch(facts(kept + 1, long))).await;
        assert!(matches!(refused, Err(LogError::Full { .. })), "{refused:?}");
        assert_eq!(all(&*log, "ses_1").await.len() as u64, kept);
        assert_good(&*log, "ses_1").await;
        drop((log, writer));

        // Once there is room again, the same session continues.
        let log = home.open();
        let writer = log.attach(&session()).await.unwrap();
        assert_eq!(writer.last_seq, kept);
        append_each(&*log, &writer, &facts(kept + 1, [text("room")])).await;
        assert_good(&*log, "ses_1").await;
    });
}

#[test]
fn a_small_append_after_a_full_one_goes_on() {
    run(async {
        let home = Home::new();
        let options = LogOptions {
            max_bytes: Some(256 * 1024),
            ..LogOptions::default()
        };
        let log = SqliteLog::open(home.path(), options).unwrap();
        let writer = begin(&*log).await;
        append_each(&*log, &writer, &facts(1, [text("a")])).await;
        let long = (0..20_000).map(|n| text(&format!("{n:>20}")));
        assert!(matches!(
            log.append(&writer, batch(facts(2, long))).await,
            Err(LogError::Full { .. })
        ));
        append_each(&*log, &writer, &facts(2, [text("b")])).await;
        assert_eq!(all(&*log, "ses_1").await, facts(1, [text("a"), text("b")]));
        assert_good(&*log, "ses_1").await;
    });
}

#[test]
fn a_copy_made_in_the_middle_holds_all_that_was_answered() {
    run(async {
        let home = Home::new();
        let log = home.open();
        let writer = begin(&*log).await;
        let facts = facts(1, conversation(200));
        for (n, fact) in facts.iter().enumerate() {
            log.append(&writer, batch(vec![fact.clone()])).await.unwrap();
            if n % 97 != 0 {
                continue;
            }
            let copy = Home::new();
            std::fs::create_dir_all(copy.path().parent().unwrap()).unwrap();
            std::fs::copy(home.path(), copy.path()).unwrap();
            let wal = |home: &Home| home.path().with_file_name("log.db-wal");
            std::fs::copy(wal(&home), wal(&copy)).unwrap();
            let copy = copy.open();
            assert_eq!(all(&*copy, "ses_1").await, facts[..=n]);
            assert_good(&*copy, "ses_1").await;
            assert_eq!(copy.attach(&session()).await.unwrap().last_seq, n as u64 + 1);
        }
    });
}

#[test]
fn dropping_the_log_writes_what_was_queued() {
    let home = Home::new();
    run(async {
        let log = home.open();
        let writer = begin(&*log).await;
        let mut queued = Vec::new();
        for seq in 1..=50 {
            let mut append = log.append(&writer, batch(facts(seq, [text("queued ")])));
            let _ = std::future::poll_fn(|cx| std::task::Poll::Ready(append.as_mut().poll(cx))).await;
            queued.push(append);
        }
        drop(queued);
        drop(log);
        drop(writer);
        let log = home.open();
        assert_eq!(all(&*log, "ses_1").await.len(), 50);
        assert_good(&*log, "ses_1").await;
    });
}

#[test]
fn a_long_write_ahead_log_is_cut_when_its_writer_ends() {
    let home = Home::new();
    let wal = home.path().with_file_name("log.db-wal");
    let length = || wal.metadata().map_or(0, |wal| wal.len());
    run(async {
        let log = home.open();
        let writer = begin(&*log).await;
        // One commit each: the same few pages again and again.
        append_each(&*log, &writer, &facts(1, (0..2_000).map(|_| text("a word")))).await;
        assert!(length() > 2 << 20, "{}", length());
        let reader = home.open();
        assert_eq!(all(&*reader, "ses_1").await.len(), 2_000);
        drop((log, writer));
        assert_eq!(length(), 0);
        assert_eq!(
            all(&*reader, "ses_1").await.len(),
            2_000,
            "whoever has it open reads on"
        );
        let log = home.open();
        let writer = log.attach(&session()).await.unwrap();
        append_each(&*log, &writer, &facts(2_001, [text("on")])).await;
        assert_good(&*log, "ses_1").await;
    });
}

#[test]
fn a_short_write_ahead_log_is_emptied_when_the_last_writer_ends() {
    let home = Home::new();
    let wal = home.path().with_file_name("log.db-wal");
    run(async {
        let log = home.open();
        let writer = begin(&*log).await;
        append_each(&*log, &writer, &facts(1, [text("a word")])).await;
        assert!(wal.metadata().unwrap().len() > 0);
        drop((log, writer));
        assert_eq!(wal.metadata().map_or(0, |wal| wal.len()), 0);
        // The file alone has the session.
        let copy = Home::new();
        std::fs::create_dir_all(copy.path().parent().unwrap()).unwrap();
        std::fs::copy(home.path(), copy.path()).unwrap();
        assert_eq!(all(&*copy.open(), "ses_1").await.len(), 1);
    });
}

#[test]
fn the_write_ahead_log_of_a_new_database_without_a_session_is_emptied_when_it_is_closed() {
    let home = Home::new();
    let wal = home.path().with_file_name("log.db-wal");
    let length = || wal.metadata().map_or(0, |wal| wal.len());
    let log = home.open();
    assert!(length() > 0, "the tables are there");
    drop(log);
    assert_eq!(length(), 0);
    // The file alone has the tables.
    let tables = |home: &Home| {
        let count = "SELECT count(*) FROM sqlite_schema WHERE name = 'sessions'";
        home.sql()
            .query_row(count, [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    let copy = Home::new();
    std::fs::create_dir_all(copy.path().parent().unwrap()).unwrap();
    std::fs::copy(home.path(), copy.path()).unwrap();
    assert_eq!(tables(&copy), 1);
    // Whoever only opens a database leaves the log to those that write.
    let writing = home.open();
    run(writing.create(new_log("ses_1"))).unwrap();
    let before = length();
    drop(home.open());
    assert!(before > 0 && length() == before, "{before} {}", length());
}

#[cfg(unix)]
#[test]
fn nobody_else_can_read_what_is_made() {
    use std::os::unix::fs::PermissionsExt as _;
    run(async {
        let home = Home::new();
        let log = home.open();
        let _writer = begin(&*log).await;
        let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(home.path().parent().unwrap()), 0o700);
        for name in ["log.db", "log.db-wal", "locks/ses_1.lock"] {
            assert_eq!(mode(&home.path().with_file_name(name)), 0o600, "{name}");
        }
        // Others can no longer read files that they could read before: a copy of a killed program's files.
        let other = Home::new();
        std::fs::create_dir_all(other.path().parent().unwrap()).unwrap();
        for name in ["log.db", "log.db-wal"] {
            let copy = other.path().with_file_name(name);
            std::fs::copy(home.path().with_file_name(name), &copy).unwrap();
            std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o644)).unwrap();
        }
        let _open = other.open();
        for name in ["log.db", "log.db-wal"] {
            assert_eq!(mode(&other.path().with_file_name(name)), 0o600, "{name}");
        }
    });
}

#[test]
fn odd_session_ids_stay_inside_the_lock_directory() {
    run(async {
        let home = Home::new();
        let log = home.open();
        for id in [
            "../../escape",
            "",
            "/etc/passwd",
            "会话",
            "a\0b",
            &"x".repeat(5000),
        ] {
            log.create(new_log(id)).await.unwrap();
            let session = SessionId::new(id);
            let writer = log.attach(&session).await.unwrap();
            log.append(&writer, batch(vec![fact_of(&session, 1, text("x"))]))
                .await
                .unwrap();
            let locks = std::fs::read_dir(home.path().with_file_name("locks"))
                .unwrap()
                .count();
            assert_eq!(locks, 1, "{id}");
            assert_eq!(log.info(&session).await.unwrap().last_seq, 1);
        }
    });
}

#[test]
fn a_database_that_is_removed_while_it_is_in_use_is_noticed_with_the_next_append() {
    run(async {
        let home = Home::new();
        let path = home.path();
        let log = home.open();
        let writer = begin(&*log).await;
        log.append(&writer, batch(facts(1, vec![text("kept")])))
            .await
            .unwrap();
        std::fs::remove_file(&path).unwrap();
        let lost = log.append(&writer, batch(facts(2, vec![text("lost")]))).await;
        let said = lost.unwrap_err().to_string();
        assert!(said.contains("removed or replaced while it was in use"), "{said}");
        std::fs::write(&path, "").unwrap();
        assert!(
            log.create(new_log("ses_2")).await.is_err(),
            "another file is there"
        );
    });
}
