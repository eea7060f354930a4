//! Spending, added up in four ways, and the size of sessions on disk.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

use crate::support::*;
use agentx_runtime::{
    BlobStore as _, LogError, Projection, SessionLog, Since, UsageBy, UsageQuery, UsageRow,
};
use agentx_sqlite_log::SqliteLog;
use agentx_types::*;

/// 2026-11-20 12:00:00 UTC, and the same time a day later.
const NOON: i64 = 1_795_176_000_000_000;
const DAY: i64 = 86_400_000_000;

fn query(by: UsageBy) -> UsageQuery {
    UsageQuery {
        owner: owner(),
        by,
        session: None,
        since: None,
    }
}

fn end(reason: StopReason) -> EnvironmentEvent {
    StreamEnd {
        stop_reason: reason,
        raw: None,
    }
    .into()
}

fn spent(seq: u64, model: &str, output_tokens: u64, cost: u64) -> Projection {
    Projection::Spent {
        seq,
        run_id: None,
        model: model.into(),
        usage: Usage {
            input_tokens: 100,
            output_tokens,
            ..Usage::default()
        },
        cost: NanoUsd(cost),
    }
}

/// Writes one event per batch, each at its own time and with its cost.
async fn session_of(
    log: &dyn SessionLog,
    id: &str,
    events: Vec<(i64, EnvironmentEvent, Option<Projection>)>,
) {
    log.create(new_log(id)).await.unwrap();
    let writer = log.attach(&SessionId::new(id)).await.unwrap();
    for ((at, event, projection), seq) in events.into_iter().zip(1..) {
        let mut fact = (*facts(seq, [event])[0]).clone();
        fact.session_id = SessionId::new(id);
        fact.at = Timestamp(at);
        let batch = projecting(vec![fact.into()], projection.into_iter().collect());
        log.append(&writer, batch).await.unwrap();
    }
}

async fn filled(log: &dyn SessionLog) {
    let titled = Projection::Title("one".into());
    let events = vec![
        (NOON, user("hello"), Some(titled)),
        (NOON, end(StopReason::Broken), Some(spent(2, "big", 1, 5))),
        (NOON, end(StopReason::ToolUse), Some(spent(3, "big", 2, 50))),
        (
            NOON + DAY,
            end(StopReason::EndTurn),
            Some(spent(4, "small", 3, 7)),
        ),
    ];
    session_of(log, "ses_1", events).await;
    let events = vec![(
        NOON + DAY,
        end(StopReason::EndTurn),
        Some(spent(1, "big", 4, 1000)),
    )];
    session_of(log, "ses_2", events).await;
}

fn told(rows: &[UsageRow]) -> Vec<(&str, u64, u64, u64)> {
    rows.iter()
        .map(|row| (row.key.as_str(), row.calls, row.usage.output_tokens, row.cost.0))
        .collect()
}

#[test]
fn models_that_nobody_knows_the_price_of_are_named_in_each_sum() {
    on_both(async |log| {
        let paid =
            |seq, model: &str, cost| (NOON, end(StopReason::EndTurn), Some(spent(seq, model, 1, cost)));
        let events = vec![paid(1, "known", 5), paid(2, "unknown", 0), paid(3, "unknown", 0)];
        session_of(log, "ses_1", events).await;
        for by in [UsageBy::Session, UsageBy::Cause] {
            let rows = log.usage(query(by)).await.unwrap();
            let unpriced: Vec<&str> = rows[0].unpriced_models.iter().map(String::as_str).collect();
            assert_eq!((rows[0].cost.0, unpriced), (5, vec!["unknown"]), "{by:?}");
        }
    });
}

#[test]
fn tokens_whose_price_is_not_fully_known_are_in_each_sum() {
    on_both(async |log| {
        let mut partly = spent(1, "known", 1, 5);
        if let Projection::Spent { usage, .. } = &mut partly {
            usage.unpriced_tokens = 1;
        }
        let events = vec![
            (NOON, end(StopReason::EndTurn), Some(partly)),
            (NOON, end(StopReason::EndTurn), Some(spent(2, "known", 1, 5))),
        ];
        session_of(log, "ses_1", events).await;
        for by in [UsageBy::Session, UsageBy::Model, UsageBy::Cause] {
            let rows = log.usage(query(by)).await.unwrap();
            assert_eq!(rows[0].usage.unpriced_tokens, 1, "{by:?}");
        }
    });
}

#[test]
fn spending_is_added_up_in_three_ways() {
    on_both(async |log| {
        filled(log).await;
        let by = async |by| log.usage(query(by)).await.unwrap();
        let sessions = by(UsageBy::Session).await;
        assert_eq!(told(&sessions), [("ses_1", 3, 6, 62), ("ses_2", 1, 4, 1000)]);
        assert_eq!(sessions[0].title.as_deref(), Some("one"));
        assert_eq!(
            told(&by(UsageBy::Model).await),
            [("big", 3, 7, 1055), ("small", 1, 3, 7)]
        );
        assert_eq!(
            told(&by(UsageBy::Cause).await),
            [
                ("answer", 2, 7, 1007),
                ("tool round", 1, 2, 50),
                ("retry", 1, 1, 5)
            ]
        );
        assert!(sessions.iter().all(|row| row.unpriced_models.is_empty()));
    });
}

#[test]
fn only_a_database_knows_the_days() {
    run(async {
        let log = SqliteLog::open_in_memory().unwrap();
        filled(&*log).await;
        let days = log.usage(query(UsageBy::Day)).await.unwrap();
        assert_eq!(days.iter().map(|row| row.calls).collect::<Vec<_>>(), [2, 2]);
        assert!(
            days[0].key.starts_with("2026-11-2") && days[0].key < days[1].key,
            "{days:?}"
        );
        let both = log.usage(query(UsageBy::DayModel)).await.unwrap();
        let keys: Vec<&str> = both.iter().map(|row| row.key.as_str()).collect();
        let (first, second) = (&days[0].key, &days[1].key);
        let expected = [
            format!("{first} big"),
            format!("{second} big"),
            format!("{second} small"),
        ];
        assert_eq!(keys, expected);
        let memory = agentx_runtime::MemoryLog::new();
        filled(&memory).await;
        let refused = memory.usage(query(UsageBy::DayModel)).await;
        assert!(refused.is_err(), "{refused:?}");
        let refused = memory.usage(query(UsageBy::Day)).await.unwrap_err().to_string();
        assert!(refused.contains("does not support a calendar"), "{refused}");
    });
}

#[test]
fn estimates_are_told_of_each_row_and_session_and_go_with_it() {
    on_both(async |log| {
        filled(log).await;
        let about = Projection::Spent {
            seq: 1,
            run_id: None,
            model: "local".into(),
            usage: Usage {
                input_tokens: 70,
                output_tokens: 7,
                estimated_tokens: 77,
                ..Usage::default()
            },
            cost: NanoUsd(1),
        };
        let ends = end(StopReason::EndTurn);
        session_of(log, "ses_3", vec![(NOON, ends, Some(about))]).await;
        let rows = log.usage(query(UsageBy::Model)).await.unwrap();
        let estimates: Vec<_> = rows
            .iter()
            .map(|row| (row.key.as_str(), row.usage.estimated_tokens))
            .collect();
        assert_eq!(estimates, [("big", 0), ("small", 0), ("local", 77)]);
        let info = async |id: &str| log.info(&SessionId::new(id)).await.unwrap().usage;
        assert_eq!(info("ses_3").await.estimated_tokens, 77);
        assert!(!info("ses_1").await.is_estimated());
        log.delete(&SessionId::new("ses_3")).await.unwrap();
        let left = log.usage(query(UsageBy::Model)).await.unwrap();
        assert!(left.iter().all(|row| !row.usage.is_estimated()), "{left:?}");
    });
}

#[test]
fn what_was_spent_before_or_by_others_does_not_count() {
    run(async {
        let log = SqliteLog::open_in_memory().unwrap();
        filled(&*log).await;
        let since = |since| UsageQuery {
            since: Some(since),
            ..query(UsageBy::Model)
        };
        let later = log.usage(since(Since::At(Timestamp(NOON + 1)))).await.unwrap();
        assert_eq!(told(&later), [("big", 1, 4, 1000), ("small", 1, 3, 7)]);
        let all = log.usage(since(Since::Day("2026-11-18".into()))).await.unwrap();
        assert_eq!(told(&all), [("big", 3, 7, 1055), ("small", 1, 3, 7)]);
        assert_eq!(
            log.usage(since(Since::Day("2026-11-24".into()))).await.unwrap(),
            []
        );
        let nowhere = log.usage(since(Since::Day("some day".into()))).await;
        assert!(matches!(nowhere, Err(LogError::Store { .. })), "{nowhere:?}");
        let here = UsageQuery {
            session: Some(SessionId::new("ses_1")),
            ..query(UsageBy::Session)
        };
        assert_eq!(told(&log.usage(here).await.unwrap()), [("ses_1", 3, 6, 62)]);
        let other = UsageQuery {
            owner: OwnerId::new("own_other"),
            ..query(UsageBy::Day)
        };
        assert_eq!(log.usage(other).await.unwrap(), []);
        log.delete(&SessionId::new("ses_2")).await.unwrap();
        assert_eq!(
            told(&log.usage(query(UsageBy::Session)).await.unwrap()),
            [("ses_1", 3, 6, 62)]
        );
    });
}

#[test]
fn sessions_know_what_they_take() {
    run(async {
        let log = SqliteLog::open_in_memory().unwrap();
        let id = SessionId::new("ses_1");
        let writer = begin(&*log).await;
        let empty = log.stored(&owner(), Some(&id)).await.unwrap();
        assert_eq!((empty.facts, empty.blobs), (0, 0));
        let blob = log.put_blob(vec![7; 500]).await.unwrap();
        let event = user(&format!("see {blob}"));
        log.append(&writer, batch(facts(1, [event]))).await.unwrap();
        let one = log.stored(&owner(), Some(&id)).await.unwrap();
        assert!(one.facts > 50, "{one:?}");
        assert_eq!((one.blobs, one.blob_bytes), (1, 500));
        assert_eq!(log.stored(&owner(), None).await.unwrap(), one);
        for session in [Some(&id), None] {
            let blobs = log.blobs(&owner(), session).await.unwrap();
            assert_eq!(blobs, [(blob.clone(), 500)].into());
        }
        assert!(one.database.unwrap() > 4096);
        let none = log.stored(&owner(), Some(&SessionId::new("ses_none"))).await;
        assert!(matches!(none, Err(LogError::NotFound(_))), "{none:?}");
    });
}

#[test]
fn deleted_events_count_while_forks_share_them() {
    run(async {
        let log = SqliteLog::open_in_memory().unwrap();
        let writer = begin(&*log).await;
        log.append(&writer, batch(facts(1, [user(&"long ".repeat(200))])))
            .await
            .unwrap();
        let one = log.stored(&owner(), None).await.unwrap();
        log.create(fork_of("ses_2", "ses_1", 1)).await.unwrap();
        log.create(fork_of("ses_3", "ses_2", 1)).await.unwrap();
        assert_eq!(
            log.stored(&owner(), None).await.unwrap().facts,
            one.facts,
            "shared events count once"
        );
        drop(writer);
        for deleted in ["ses_1", "ses_2"] {
            log.delete(&SessionId::new(deleted)).await.unwrap();
            let left = log.stored(&owner(), None).await.unwrap();
            assert_eq!(left.facts, one.facts, "{deleted}");
        }
        log.delete(&SessionId::new("ses_3")).await.unwrap();
        assert_eq!(log.stored(&owner(), None).await.unwrap().facts, 0);
    });
}
