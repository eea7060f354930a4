//! Read models: lists, titles, costs, search; always those of the committed facts.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

use crate::support::*;
use agentx_runtime::{Projection, SessionInfo, SessionLog, SessionQuery, Writer};
use agentx_sqlite_log::SqliteLog;
use agentx_types::*;

fn query() -> SessionQuery {
    SessionQuery {
        owner: owner(),
        workspace: None,
        limit: 100,
        before: None,
    }
}

fn ids(sessions: &[SessionInfo]) -> Vec<&str> {
    sessions.iter().map(|info| info.session_id.as_str()).collect()
}

fn spent(seq: u64, input_tokens: u64, cost: u64) -> Projection {
    Projection::Spent {
        seq,
        run_id: Some(RunId::of_input(1)),
        model: "m".into(),
        usage: Usage {
            input_tokens,
            output_tokens: 2,
            cache_read_tokens: 3,
            ..Usage::default()
        },
        cost: NanoUsd(cost),
    }
}

#[test]
fn a_session_is_what_was_projected() {
    on_both(async |log| {
        let writer = begin(log).await;
        let first = log.info(&session()).await.unwrap();
        assert_eq!(
            (first.title.as_str(), first.status, first.updated_at),
            ("", None, Timestamp(1_000))
        );
        let question = "\n  请解释一下 the log, 尽量详细\nand more";
        let projections = vec![
            message(1, "msg_1", Role::User, question),
            Projection::Model("claude".into()),
            Projection::Status(RunStatus::AwaitingLlm),
        ];
        log.append(&writer, projecting(facts(1, [user(question)]), projections))
            .await
            .unwrap();
        let projections = vec![
            message(3, "msg_2", Role::Assistant, &"很长 ".repeat(500)),
            spent(3, 100, 5),
            spent(3, 100, 5),
            Projection::Status(RunStatus::Completed),
        ];
        log.append(
            &writer,
            projecting(facts(2, [text("x"), stream_end()]), projections),
        )
        .await
        .unwrap();
        log.append(
            &writer,
            projecting(facts(4, [stream_end()]), vec![spent(4, 1, 7)]),
        )
        .await
        .unwrap();
        let info = log.info(&session()).await.unwrap();
        assert_eq!(info.title, "请解释一下 the log, 尽量详细");
        assert_eq!(
            (info.model.as_str(), info.status),
            ("claude", Some(RunStatus::Completed))
        );
        assert_eq!((info.messages, info.last_seq, info.cost), (2, 4, NanoUsd(12)));
        assert_eq!(
            (
                info.usage.input_tokens,
                info.usage.output_tokens,
                info.usage.cache_read_tokens
            ),
            (101, 4, 6)
        );
        assert_eq!(info.updated_at, fact_of(&session(), 4, text("")).at);
        let title = Projection::Title("Named".into());
        log.append(&writer, projecting(vec![], vec![title]))
            .await
            .unwrap();
        let named = log.info(&session()).await.unwrap();
        assert_eq!((named.title.as_str(), named.last_seq), ("Named", 4));
        assert_eq!(log.list(query()).await.unwrap(), [named]);
    });
}

#[test]
fn titles_are_short_and_a_message_is_counted_once() {
    on_both(async |log| {
        let writer = begin(log).await;
        let long = "长".repeat(100);
        let twice = vec![
            message(1, "msg_1", Role::User, &long),
            message(1, "msg_1", Role::User, "other words"),
        ];
        log.append(&writer, projecting(facts(1, [user(&long)]), twice))
            .await
            .unwrap();
        let info = log.info(&session()).await.unwrap();
        assert_eq!((info.title.chars().count(), info.messages), (60, 1));
        assert_eq!(log.search(&owner(), "长长", 5).await.unwrap().len(), 0);
        assert_eq!(log.search(&owner(), "other", 5).await.unwrap().len(), 1);
    });
}

#[test]
fn a_session_that_begins_with_a_command_of_the_person_is_called_by_it_until_they_say_something() {
    on_both(async |log| {
        let writer = begin(log).await;
        let ran = "<ran_by_the_person command=\"seq 1 500\">\n1\nexit 0\n</ran_by_the_person>";
        let projections = vec![message(1, "msg_1", Role::User, ran)];
        log.append(&writer, projecting(facts(1, [user(ran)]), projections))
            .await
            .unwrap();
        assert_eq!(log.info(&session()).await.unwrap().title, "!seq 1 500");
        for (seq, said) in [(2, "sum them up"), (3, "and now by two")] {
            let projections = vec![message(seq, &format!("msg_{seq}"), Role::User, said)];
            log.append(&writer, projecting(facts(seq, [user(said)]), projections))
                .await
                .unwrap();
            assert_eq!(log.info(&session()).await.unwrap().title, "sum them up");
        }
    });
}

#[test]
fn a_session_that_was_only_opened_and_left_is_no_later_than_before() {
    on_both(async |log| {
        // The second one was killed amid an answer.
        for (n, at, event) in [(1, 300, user("hi")), (2, 200, text("del")), (3, 100, user("hi"))] {
            let id = format!("ses_{n}");
            let mut new = new_log(&id);
            new.at = Timestamp(50);
            log.create(new).await.unwrap();
            let writer = log.attach(&SessionId::new(&id)).await.unwrap();
            append_at(log, &writer, 1, event, at).await;
        }
        for (n, at) in [(2, 400), (3, 500)] {
            let writer = log.attach(&SessionId::new(format!("ses_{n}"))).await.unwrap();
            let attached = WriterAttached {
                epoch: writer.epoch,
                program: "agentx".into(),
                process: 1,
                ended: Vec::new(),
                serves: false,
                cut_off: Vec::new(),
            };
            append_at(log, &writer, 2, attached.into(), at).await;
            let closed = SessionClosed {
                reason: "left".into(),
            };
            append_at(log, &writer, 3, closed.into(), at + 1).await;
        }
        let listed = log.list(query()).await.unwrap();
        assert_eq!(ids(&listed), ["ses_1", "ses_2", "ses_3"]);
        assert_eq!((listed[1].updated_at, listed[1].last_seq), (Timestamp(200), 3));
        let writer = log.attach(&SessionId::new("ses_3")).await.unwrap();
        append_at(log, &writer, 4, user("go on"), 600).await;
        assert_eq!(
            ids(&log.list(query()).await.unwrap()),
            ["ses_3", "ses_1", "ses_2"]
        );
    });
}

/// Appends one event that was committed at this time.
async fn append_at(log: &dyn SessionLog, writer: &Writer, seq: u64, event: EnvironmentEvent, at: i64) {
    let mut fact = (*fact_of(&writer.session_id, seq, event)).clone();
    fact.at = Timestamp(at);
    log.append(writer, batch(vec![std::sync::Arc::new(fact)]))
        .await
        .unwrap();
}

/// The clock was ahead for a while, and is right again.
#[test]
fn a_session_in_which_something_happens_now_comes_before_those_of_the_time_to_come() {
    const AHEAD: i64 = 9_000_000_000_000_000;
    const NOW: i64 = 1_700_000_000_000_000;
    run(async {
        let log = SqliteLog::open_in_memory().unwrap();
        let log: &dyn SessionLog = &*log;
        for n in 1..=4 {
            let mut new = new_log(&format!("ses_{n}"));
            new.at = Timestamp(50);
            log.create(new).await.unwrap();
        }
        let writer = async |n: u32| log.attach(&SessionId::new(format!("ses_{n}"))).await.unwrap();
        let listed = async || log.list(query()).await.unwrap();
        append_at(log, &writer(1).await, 1, user("hi"), AHEAD).await;
        // This one was killed amid an answer.
        append_at(log, &writer(2).await, 1, text("del"), AHEAD + 5).await;
        append_at(log, &writer(3).await, 1, user("hi"), NOW).await;
        let first = listed().await;
        assert_eq!(ids(&first)[..3], ["ses_3", "ses_2", "ses_1"]);
        assert_eq!(first[2].updated_at, Timestamp(AHEAD), "others keep their time");
        append_at(log, &writer(4).await, 1, text("del"), NOW + 1).await;
        assert_eq!(ids(&listed().await), ["ses_4", "ses_3", "ses_2", "ses_1"]);
        // Opening a session that a killed process left does not make it more recent.
        let killed = writer(4).await;
        assert_eq!(ids(&listed().await)[0], "ses_4");
        append_at(log, &writer(1).await, 2, user("go on"), NOW + 2).await;
        assert_eq!(ids(&listed().await), ["ses_1", "ses_4", "ses_3", "ses_2"]);
        let before = listed().await[0].updated_at;
        append_at(log, &killed, 2, user("go on"), NOW + 3).await;
        append_at(log, &killed, 3, user("go on"), NOW + 4).await;
        let last = listed().await;
        assert_eq!(ids(&last)[0], "ses_4");
        assert_eq!(
            last[0].updated_at,
            Timestamp(before.0 + 1),
            "it does not run away"
        );
    });
}

#[test]
fn lists_are_ordered_by_the_latest_event() {
    on_both(async |log| {
        for (n, at) in [(1, 500i64), (2, 300), (3, 400), (4, 100)] {
            let id = format!("ses_{n}");
            let mut new = new_log(&id);
            new.at = Timestamp(50);
            new.workspace = if n == 4 { "elsewhere".into() } else { "work".into() };
            log.create(new).await.unwrap();
            let session = SessionId::new(&id);
            let writer = log.attach(&session).await.unwrap();
            // Two with deltas at their end, which do not update the session's row.
            let event = if n % 2 == 0 { text("delta") } else { user("hi") };
            let mut fact = (*fact_of(&session, 1, event)).clone();
            fact.at = Timestamp(at);
            log.append(&writer, batch(vec![std::sync::Arc::new(fact)]))
                .await
                .unwrap();
        }
        let mut other = new_log("ses_other");
        other.owner = OwnerId::new("own_2");
        log.create(other).await.unwrap();
        assert_eq!(
            ids(&log.list(query()).await.unwrap()),
            ["ses_1", "ses_3", "ses_2", "ses_4"]
        );
        let limited = SessionQuery {
            limit: 2,
            before: Some(Timestamp(400)),
            ..query()
        };
        assert_eq!(ids(&log.list(limited).await.unwrap()), ["ses_2", "ses_4"]);
        let here = SessionQuery {
            workspace: Some("elsewhere".into()),
            ..query()
        };
        assert_eq!(ids(&log.list(here).await.unwrap()), ["ses_4"]);
        log.delete(&SessionId::new("ses_3")).await.unwrap();
        assert_eq!(
            ids(&log.list(query()).await.unwrap()),
            ["ses_1", "ses_2", "ses_4"]
        );
        assert_eq!(
            log.info(&SessionId::new("ses_2")).await.unwrap().updated_at,
            Timestamp(300)
        );
        let resolved = async |prefix: &str| {
            let found = log.resolve(&owner(), prefix).await.unwrap();
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(resolved("ses_").await, ["ses_1", "ses_2", "ses_4"]);
        assert_eq!(resolved("4").await, ["ses_4"]);
        assert_eq!(resolved("ses_3").await, Vec::<String>::new(), "deleted");
        assert_eq!(resolved("ses_o").await, Vec::<String>::new(), "another owner's");
        assert_eq!(resolved("%").await, Vec::<String>::new());
    });
}

#[test]
fn forks_count_what_they_share_and_pay_for_what_is_theirs() {
    run(async {
        let log = SqliteLog::open_in_memory().unwrap();
        let writer = begin(&*log).await;
        for seq in 1..=4 {
            let words = format!("question {seq}");
            let projections = vec![
                message(seq, &format!("msg_{seq}"), Role::User, &words),
                spent(seq, 10, 1),
            ];
            log.append(&writer, projecting(facts(seq, [user(&words)]), projections))
                .await
                .unwrap();
        }
        log.create(fork_of("ses_f", "ses_1", 3)).await.unwrap();
        log.create(fork_of("ses_g", "ses_f", 2)).await.unwrap();
        log.create(fork_of("ses_h", "ses_1", 0)).await.unwrap();
        for (id, messages, title) in [
            ("ses_f", 3, "question 1"),
            ("ses_g", 2, "question 1"),
            ("ses_h", 0, ""),
        ] {
            let info = log.info(&SessionId::new(id)).await.unwrap();
            assert_eq!(
                (info.messages, info.title.as_str(), info.cost),
                (messages, title, NanoUsd(0)),
                "{id}"
            );
        }
        let f = SessionId::new("ses_f");
        let writer = log.attach(&f).await.unwrap();
        let own = vec![message(4, "msg_f", Role::User, "own"), spent(4, 10, 9)];
        log.append(&writer, projecting(vec![fact_of(&f, 4, user("own"))], own))
            .await
            .unwrap();
        let before = log.info(&f).await.unwrap();
        assert_eq!((before.messages, before.cost), (4, NanoUsd(9)));
        let projections = vec![
            Projection::Title("question 1".into()),
            message(1, "msg_1", Role::User, "question 1"),
            spent(1, 10, 1),
            message(4, "msg_f", Role::User, "own"),
            spent(4, 10, 9),
        ];
        log.rebuild_projections(&f, projections).await.unwrap();
        assert_eq!(log.info(&f).await.unwrap(), before);
        assert_eq!(log.search(&owner(), "own", 5).await.unwrap().len(), 1);
        assert_good(&*log, "ses_f").await;
    });
}

#[test]
fn words_are_found_in_any_script() {
    run(async {
        let log = SqliteLog::open_in_memory().unwrap();
        let writer = begin(&*log).await;
        let answer = "我们把每个事件写进会话日志里。The café log is append-only; naïve readers see batches.";
        let pieces: Vec<_> = answer.chars().map(|c| text(&c.to_string())).collect();
        let count = pieces.len() as u64;
        let mut events = vec![user("什么是日志?"), stream_start()];
        events.extend(pieces);
        events.push(stream_end());
        let end = count + 3;
        let projections = vec![
            message(1, "msg_1", Role::User, "什么是日志?"),
            message(end, "msg_2", Role::Assistant, answer),
        ];
        log.append(&writer, projecting(facts(1, events), projections))
            .await
            .unwrap();
        let table = [
            ("日志", 2),
            ("会话日志", 1),
            ("会话", 1),
            ("志", 2),
            ("话日", 1),
            ("日会", 0),
            ("事件 日志", 1),
            ("cafe", 1),
            ("APPEND-only", 1),
            ("append only", 1),
            ("batch", 1),
            ("batches 会话", 1),
            ("atches", 0),
            ("\" OR text:", 0),
            ("NOT AND (", 0),
            ("", 0),
            ("*", 0),
        ];
        for (words, hits) in table {
            let found = log.search(&owner(), words, 10).await.unwrap();
            assert_eq!(found.len(), hits, "{words}: {found:?}");
        }
        let hit = &log.search(&owner(), "会话", 10).await.unwrap()[0];
        assert_eq!((hit.seq, hit.role), (end, Role::Assistant));
        assert!(hit.snippet.contains("写进会话日志里"), "{}", hit.snippet);
        let hit = &log.search(&owner(), "readers", 10).await.unwrap()[0];
        assert!(hit.snippet.contains("naïve readers see"), "{}", hit.snippet);
        assert_eq!(log.search(&OwnerId::new("own_2"), "日志", 10).await.unwrap(), []);
        drop(writer);
        log.delete(&session()).await.unwrap();
        assert_eq!(log.search(&owner(), "日志", 10).await.unwrap(), []);
    });
}

#[test]
fn a_message_that_is_in_copies_of_a_session_is_found_once() {
    on_both(async |log| {
        // Five copies of a session, and another session in which somebody else sends the same text.
        for (id, agent) in [
            ("ses_1", "agt_1"),
            ("ses_2", "agt_1"),
            ("ses_3", "agt_1"),
            ("ses_4", "agt_1"),
            ("ses_5", "agt_1"),
            ("ses_6", "agt_2"),
        ] {
            log.create(new_log(id)).await.unwrap();
            let writer = log.attach(&SessionId::new(id)).await.unwrap();
            let projections = [(1, "find the needle"), (2, "the needle again")].map(|(seq, text)| {
                let mut projection = message(seq, &format!("msg_{seq}"), Role::User, text);
                if let Projection::Message { agent_state_id, .. } = &mut projection {
                    *agent_state_id = AgentStateId::new(agent);
                }
                projection
            });
            let facts = ["find the needle", "the needle again"].map(user).to_vec();
            let facts: Vec<_> = (1..)
                .zip(facts)
                .map(|(seq, event)| fact_of(&SessionId::new(id), seq, event))
                .collect();
            log.append(&writer, projecting(facts, projections.to_vec()))
                .await
                .unwrap();
        }
        // However few hits are wanted, copies displace none.
        for limit in [4, 10] {
            let hits = log.search(&owner(), "needle", limit).await.unwrap();
            let mut places: Vec<(bool, u64)> = hits
                .iter()
                .map(|hit| (hit.session_id.as_str() == "ses_6", hit.seq))
                .collect();
            places.sort_unstable();
            assert_eq!(places, [(false, 1), (false, 2), (true, 1), (true, 2)], "{limit}");
        }
    });
}

#[test]
fn what_surrounds_a_hit_is_read_from_the_facts() {
    on_both(async |log| {
        let writer = begin(log).await;
        let long = format!("{}needle {}", "hay ".repeat(500), "straw ".repeat(500));
        let projections = vec![message(1, "msg_1", Role::User, &long)];
        log.append(&writer, projecting(facts(1, [user(&long)]), projections))
            .await
            .unwrap();
        let hit = &log.search(&owner(), "needle", 1).await.unwrap()[0];
        assert!(
            hit.snippet.contains("hay needle straw") && hit.snippet.chars().count() < 200,
            "{}",
            hit.snippet
        );
    });
}

fn role(person: &str, role: Option<SessionRole>) -> Projection {
    Projection::Role {
        person: person.into(),
        role,
    }
}

#[test]
fn what_others_may_do_is_kept() {
    on_both(async |log| {
        let writer = begin(log).await;
        let ann = OwnerId::new("own_ann");
        let shared = || SessionQuery {
            owner: ann.clone(),
            ..query()
        };
        assert_eq!(log.access(&session(), &ann).await.unwrap(), (owner(), None));
        assert_eq!(log.shared(shared()).await.unwrap(), []);
        let projections = vec![
            role("own_ann", Some(SessionRole::Watch)),
            role("own_ann", Some(SessionRole::Drive)),
            role("own_bob", Some(SessionRole::Watch)),
            role("own_bob", None),
        ];
        log.append(&writer, projecting(facts(1, [user("a")]), projections))
            .await
            .unwrap();
        assert_eq!(
            log.access(&session(), &ann).await.unwrap(),
            (owner(), Some(SessionRole::Drive))
        );
        assert_eq!(
            log.access(&session(), &"own_bob".into()).await.unwrap(),
            (owner(), None)
        );
        assert_eq!(ids(&log.shared(shared()).await.unwrap()), ["ses_1"]);
        log.create(fork_of("ses_2", "ses_1", 1)).await.unwrap();
        let fork = SessionId::new("ses_2");
        assert_eq!(log.access(&fork, &ann).await.unwrap(), (owner(), None));
        drop(writer);
        log.delete(&session()).await.unwrap();
        assert!(log.access(&session(), &ann).await.is_err());
        assert_eq!(log.shared(shared()).await.unwrap(), []);
    });
}

#[test]
fn what_others_may_do_is_made_again_from_the_facts() {
    run(async {
        let log = SqliteLog::open_in_memory().unwrap();
        let _writer = begin(&*log).await;
        let (ann, fork) = (OwnerId::new("own_ann"), session());
        log.rebuild_projections(
            &fork,
            vec![role("own_ann", Some(SessionRole::Own)), Projection::Unshared],
        )
        .await
        .unwrap();
        assert_eq!(log.access(&fork, &ann).await.unwrap(), (owner(), None));
    });
}

#[test]
fn a_database_without_a_place_for_roles_gets_one() {
    run(async {
        let home = Home::new();
        drop(home.open());
        home.sql().execute_batch("DROP TABLE roles").unwrap();
        let log = home.open();
        let writer = begin(&*log).await;
        let projections = vec![role("own_ann", Some(SessionRole::Watch))];
        log.append(&writer, projecting(facts(1, [user("a")]), projections))
            .await
            .unwrap();
        let found = log.access(&session(), &"own_ann".into()).await.unwrap();
        assert_eq!(found, (owner(), Some(SessionRole::Watch)));
    });
}

#[test]
fn a_database_without_a_place_for_reminders_gets_one_and_has_none_until_then() {
    run(async {
        let home = Home::new();
        drop(home.open());
        home.sql().execute_batch("DROP TABLE reminders").unwrap();
        let log = home.open();
        let writer = begin(&*log).await;
        let projections = vec![Projection::Reminder(Some(Timestamp(9)))];
        log.append(&writer, projecting(facts(1, [user("a")]), projections))
            .await
            .unwrap();
        assert_eq!(log.reminding().await.unwrap(), [(session(), owner())]);
        // A file that can only be read gets no table.
        home.sql().execute_batch("DROP TABLE reminders").unwrap();
        assert_eq!(log.reminding().await.unwrap(), []);
    });
}

#[test]
fn words_are_found_in_memory_by_their_beginnings() {
    run(async {
        let log = agentx_runtime::MemoryLog::new();
        let writer = begin(&log).await;
        let words = "我们把每个事件写进会话日志里。The log is Append-only.";
        let projections = vec![message(1, "msg_1", Role::User, words)];
        log.append(&writer, projecting(facts(1, [user(words)]), projections))
            .await
            .unwrap();
        for (words, hits) in [
            ("日志", 1),
            ("日会", 0),
            ("append ONLY", 1),
            ("app", 1),
            ("ppend", 0),
            ("log 会话", 1),
            ("*", 0),
        ] {
            let found = log.search(&owner(), words, 10).await.unwrap();
            assert_eq!(found.len(), hits, "{words}: {found:?}");
            assert!(found.iter().all(|hit| hit.snippet.contains("The log is")));
        }
        assert_eq!(log.search(&OwnerId::new("own_2"), "log", 10).await.unwrap(), []);
    });
}

#[test]
fn a_log_in_memory_drops_blobs_that_only_deleted_sessions_named() {
    run(async {
        let log = agentx_runtime::MemoryLog::new();
        let blob = agentx_runtime::BlobStore::put_blob(&log, b"bytes".to_vec())
            .await
            .unwrap();
        let writer = begin(&log).await;
        append_each(
            &log,
            &writer,
            &facts(1, [tool_result(serde_json::json!({ "blob": blob })), text("x")]),
        )
        .await;
        assert_eq!(log.stored(&owner(), None).await.unwrap().blob_bytes, 5);
        log.create(fork_of("ses_f", "ses_1", 1)).await.unwrap();
        assert!(log.delete(&session()).await.is_err(), "somebody writes it");
        drop(writer);
        log.delete(&session()).await.unwrap();
        assert_eq!(log.collect_garbage().await.unwrap(), 0, "the fork names it");
        assert_eq!(all(&log, "ses_f").await.len(), 1);
        log.delete(&SessionId::new("ses_f")).await.unwrap();
        assert_eq!(log.collect_garbage().await.unwrap(), 5);
    });
}

#[test]
fn a_copy_of_a_log_in_memory_is_what_a_dead_process_leaves() {
    run(async {
        let log = agentx_runtime::MemoryLog::new();
        let writer = begin(&log).await;
        append_each(&log, &writer, &facts(1, [user("a")])).await;
        assert!(log.attach(&session()).await.is_err(), "it is written");
        let left = log.copy();
        append_each(&log, &writer, &facts(2, [user("b")])).await;
        let next = left.attach(&session()).await.unwrap();
        assert_eq!((next.epoch, next.last_seq), (2, 1));
        assert_eq!(left.facts(&session()), facts(1, [user("a")]));
    });
}

#[test]
fn a_new_title_makes_a_session_no_newer() {
    on_both(async |log| {
        let mut writers = Vec::new();
        for (id, at) in [("ses_1", 100), ("ses_2", 200)] {
            log.create(new_log(id)).await.unwrap();
            let session = SessionId::new(id);
            let writer = log.attach(&session).await.unwrap();
            let mut fact = (*fact_of(&session, 1, user("hi"))).clone();
            fact.at = Timestamp(at);
            log.append(&writer, batch(vec![std::sync::Arc::new(fact)]))
                .await
                .unwrap();
            writers.push(writer);
        }
        let session = SessionId::new("ses_1");
        let title = SessionTitled {
            title: "mine".into(),
            by: None,
        };
        let mut fact = (*fact_of(&session, 2, title.into())).clone();
        fact.at = Timestamp(300);
        let titled = projecting(
            vec![std::sync::Arc::new(fact)],
            vec![Projection::Title("mine".into())],
        );
        log.append(&writers[0], titled).await.unwrap();
        assert_eq!(ids(&log.list(query()).await.unwrap()), ["ses_2", "ses_1"]);
        let info = log.info(&session).await.unwrap();
        assert_eq!(
            (info.title.as_str(), info.updated_at, info.last_seq),
            ("mine", Timestamp(100), 2)
        );
    });
}

#[test]
fn of_messages_that_say_the_same_the_latest_is_found_first() {
    on_both(async |log| {
        let writer = begin(log).await;
        let said = |seq: u64| format!("payment {seq}");
        let events = (1..=5).map(|seq| user(&said(seq)));
        let projections = (1..=5).map(|seq| message(seq, &format!("msg_{seq}"), Role::User, &said(seq)));
        log.append(&writer, projecting(facts(1, events), projections.collect()))
            .await
            .unwrap();
        let hits = log.search(&owner(), "payment", 3).await.unwrap();
        assert_eq!(hits.iter().map(|hit| hit.seq).collect::<Vec<_>>(), [5, 4, 3]);
    });
}
