//! One writer at a time; each gets its own answer, whichever others write the same database.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

use std::process::Command;
use std::sync::Arc;

use crate::support::*;
use agentx_runtime::{LogError, SessionLog, Writer};
use agentx_sqlite_log::{Durability, LogOptions, SqliteLog};
use agentx_types::*;

fn lock_file(home: &Home) -> std::path::PathBuf {
    home.path().with_file_name("locks").join("ses_1.lock")
}

#[test]
fn a_session_has_one_writer_until_it_is_dropped() {
    run(async {
        let home = Home::new();
        let (log, other) = (home.open(), home.open());
        let writer = begin(&*log).await;
        assert_eq!((writer.epoch, writer.last_seq), (1, 0));
        for refused in [log.attach(&session()).await, other.attach(&session()).await] {
            let Err(LogError::Busy { process, .. }) = refused else {
                panic!("two writers")
            };
            assert_eq!(process, std::process::id());
        }
        assert!(matches!(
            other.delete(&session()).await,
            Err(LogError::Busy { .. })
        ));
        let info = other.info(&session()).await.unwrap();
        assert_eq!(
            info.writer.map(|writer| (writer.process, writer.epoch)),
            Some((std::process::id(), 1))
        );
        drop(writer);
        assert_eq!(log.info(&session()).await.unwrap().writer, None);
        assert!(!lock_file(&home).exists(), "a lock file goes with its lock");
        let writer = other.attach(&session()).await.unwrap();
        assert_eq!(writer.epoch, 2);
        append_each(&*other, &writer, &facts(1, [text("a")])).await;
        drop(writer);
        let writer = log.attach(&session()).await.unwrap();
        assert_eq!((writer.epoch, writer.last_seq), (3, 1));
    });
}

#[test]
fn a_collection_removes_the_lock_files_that_nobody_holds() {
    run(async {
        let home = Home::new();
        let (log, other) = (home.open(), home.open());
        let writer = begin(&*log).await;
        let killed = lock_file(&home).with_file_name("ses_killed.lock");
        let unrelated = killed.with_extension("txt");
        for file in [&killed, &unrelated] {
            std::fs::write(file, "999999").unwrap();
        }
        other.collect_garbage().await.unwrap();
        assert!(!killed.exists() && unrelated.exists());
        assert!(lock_file(&home).exists(), "it is held");
        let busy = other.attach(&session()).await;
        assert!(matches!(busy, Err(LogError::Busy { .. })));
        drop(writer);
        assert!(!lock_file(&home).exists());
    });
}

#[test]
fn a_lock_without_a_living_holder_is_taken() {
    run(async {
        let home = Home::new();
        let log = home.open();
        log.create(new_log("ses_1")).await.unwrap();
        std::fs::create_dir_all(lock_file(&home).parent().unwrap()).unwrap();
        std::fs::write(lock_file(&home), "999999").unwrap();
        assert_eq!(log.info(&session()).await.unwrap().writer, None);
        assert_eq!(log.attach(&session()).await.unwrap().epoch, 1);
    });
}

/// Two writers at once, as when a lock was lost: somebody removed the lock file.
async fn replaced(home: &Home, log: &SqliteLog, other: &SqliteLog) -> (Writer, Writer) {
    let old = begin(log).await;
    std::fs::remove_file(lock_file(home)).unwrap();
    let new = other.attach(&session()).await.unwrap();
    (old, new)
}

#[test]
fn an_earlier_writer_is_fenced() {
    run(async {
        let home = Home::new();
        let (log, other) = (home.open(), home.open());
        let (old, new) = replaced(&home, &log, &other).await;
        append_each(&*other, &new, &facts(1, [text("new")])).await;
        for seq in [1, 2] {
            let refused = log.append(&old, batch(facts(seq, [text("old")]))).await;
            assert!(
                matches!(refused, Err(LogError::Fenced { epoch: 1, .. })),
                "{refused:?}"
            );
        }
        drop(old);
        append_each(&*other, &new, &facts(2, [text("new")])).await;
        assert_eq!(all(&*log, "ses_1").await, facts(1, [text("new"), text("new")]));
        assert_good(&*log, "ses_1").await;
        drop(new);
        assert!(!lock_file(&home).exists());
    });
}

#[test]
fn one_refused_append_takes_nothing_from_its_group() {
    run(async {
        let home = Home::new();
        let (log, other) = (home.open(), home.open());
        let (old, _new) = replaced(&home, &log, &other).await;
        log.create(new_log("ses_a")).await.unwrap();
        let a = SessionId::new("ses_a");
        let writer = log.attach(&a).await.unwrap();
        let of_a = |seq| batch(vec![fact_of(&a, seq, text("a"))]);
        // While another program holds the lock, all of these queue up; then they are committed as one group.
        let blocker = home.sql();
        blocker.execute_batch("BEGIN IMMEDIATE").unwrap();
        let appends = [
            log.append(&writer, of_a(1)),
            log.append(&old, batch(facts(1, [text("old")]))),
            log.append(&writer, of_a(2)),
            log.append(&writer, of_a(7)),
            log.append(&writer, of_a(3)),
        ];
        let mut waiting = Vec::new();
        for mut append in appends {
            let now = std::future::poll_fn(|cx| std::task::Poll::Ready(append.as_mut().poll(cx))).await;
            assert!(now.is_pending());
            waiting.push(append);
        }
        blocker.execute_batch("ROLLBACK").unwrap();
        let mut answers = Vec::new();
        for append in waiting {
            answers.push(append.await);
        }
        assert!(matches!(answers[1], Err(LogError::Fenced { .. })), "{answers:?}");
        assert!(matches!(answers[3], Err(LogError::Store { .. })), "{answers:?}");
        assert!(
            answers[0].is_ok() && answers[2].is_ok() && answers[4].is_ok(),
            "{answers:?}"
        );
        assert_eq!(all(&*log, "ses_a").await.len(), 3);
        assert_good(&*log, "ses_a").await;
    });
}

#[test]
fn events_out_of_order_are_refused() {
    on_both(async |log| {
        let writer = begin(log).await;
        for wrong in [
            facts(2, [text("x")]),
            vec![fact_of(&SessionId::new("ses_2"), 1, text("x"))],
        ] {
            let refused = log.append(&writer, batch(wrong)).await;
            assert!(matches!(refused, Err(LogError::Store { .. })), "{refused:?}");
        }
        let mut gap = facts(1, [text("a"), text("b")]);
        gap.push(facts(4, [text("d")]).remove(0));
        assert!(log.append(&writer, batch(gap)).await.is_err());
        assert_eq!(all(log, "ses_1").await, []);
        append_each(log, &writer, &facts(1, [text("a")])).await;
    });
}

#[test]
fn a_database_that_stays_locked_is_an_error_and_not_a_hang() {
    run(async {
        let home = Home::new();
        let options = LogOptions {
            busy_timeout: std::time::Duration::ZERO,
            ..LogOptions::default()
        };
        let log = SqliteLog::open(home.path(), options).unwrap();
        let writer = begin(&*log).await;
        let blocker = home.sql();
        blocker.execute_batch("BEGIN IMMEDIATE").unwrap();
        let refused = log
            .append(&writer, batch(facts(1, [text("x")])))
            .await
            .unwrap_err();
        assert!(matches!(refused, LogError::Locked { .. }), "{refused}");
        blocker.execute_batch("ROLLBACK").unwrap();
        append_each(&*log, &writer, &facts(1, [text("x"), text("y")])).await;
        assert_eq!(all(&*log, "ses_1").await.len(), 2);
    });
}

#[test]
fn many_sessions_at_once_on_two_handles_lose_nothing() {
    let home = Home::new();
    let handles = [home.open(), home.open()];
    let threads: Vec<_> = (0..8)
        .map(|n| {
            let log: Arc<SqliteLog> = handles[n % 2].clone();
            std::thread::spawn(move || {
                run(async {
                    let id = SessionId::new(format!("ses_{n}"));
                    log.create(new_log(id.as_str())).await.unwrap();
                    let writer = log.attach(&id).await.unwrap();
                    for seq in 1..=60 {
                        let fact = fact_of(&id, seq, text(&format!("{n}-{seq} ")));
                        log.append(&writer, batch(vec![fact])).await.unwrap();
                    }
                });
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    run(async {
        for n in 0..8 {
            assert_eq!(all(&*handles[1], &format!("ses_{n}")).await.len(), 60);
            assert_good(&*handles[0], &format!("ses_{n}")).await;
        }
    });
}

const CHILD: &str = "AGENTX_SQLITE_LOG_TEST_DATABASE";

/// Not a test: the other process of the next test, which is killed while it writes.
#[test]
fn child_process() {
    let Some(path) = std::env::var_os(CHILD) else {
        return;
    };
    run(async {
        let log = SqliteLog::open(path, LogOptions::default()).unwrap();
        let writer = log.attach(&session()).await.unwrap();
        let mut seq = writer.last_seq;
        loop {
            seq += 1;
            log.append(&writer, batch(facts(seq, [text("child ")])))
                .await
                .unwrap();
            println!("{seq}");
        }
    });
}

#[test]
fn what_a_killed_process_was_told_is_there() {
    use std::io::BufRead as _;
    let home = Home::new();
    run(async { home.open().create(new_log("ses_1")).await.unwrap() });
    let mut told = 0;
    for round in 0..5u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "writers::child_process", "--nocapture"])
            .env(CHILD, home.path())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let output = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut lines = output
            .lines()
            .map_while(Result::ok)
            .filter_map(|line| line.trim().parse::<u64>().ok());
        told = lines.by_ref().nth(300 + 37 * round as usize).unwrap();
        run(async {
            let log = home.open();
            let Err(LogError::Busy { process, .. }) = log.attach(&session()).await else {
                panic!("two writers")
            };
            assert_eq!(process, child.id());
            assert!(
                log.read(&session(), told - 1, 1).await.unwrap().len() == 1,
                "others can read"
            );
        });
        child.kill().unwrap();
        child.wait().unwrap();
        told = lines.last().unwrap_or(told);
        run(async {
            let log = home.open();
            let facts = all(&*log, "ses_1").await;
            assert!(facts.len() as u64 >= told);
            assert!(facts.iter().zip(1..).all(|(fact, seq)| fact.seq == seq));
            assert_good(&*log, "ses_1").await;
            assert_eq!(log.attach(&session()).await.unwrap().epoch, 2 * round + 2);
        });
    }
    assert!(told > 1500);
}

#[test]
fn durability_against_loss_of_power_is_a_setting() {
    run(async {
        let home = Home::new();
        let options = LogOptions {
            durability: Durability::Machine,
            ..LogOptions::default()
        };
        let log = SqliteLog::open(home.path(), options).unwrap();
        let writer = begin(&*log).await;
        append_each(&*log, &writer, &facts(1, [text("a"), text("b")])).await;
        assert_good(&*log, "ses_1").await;
    });
}

#[test]
fn a_database_that_several_make_at_the_same_time_is_opened_by_all_of_them() {
    for _ in 0..40 {
        let home = Home::new();
        let start = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    start.wait();
                    SqliteLog::open(home.path(), LogOptions::default()).unwrap();
                });
            }
        });
    }
}
