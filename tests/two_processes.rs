//! Several processes on one database: a session has one writer, and the second one gets an error and can
//! read; different sessions are written side by side and nothing is lost; of those that race for one session
//! exactly one gets it; who was fenced off stops.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::channel;

use agentx::runtime::{Delivery, Fact, OpenRequest, Runtime, RuntimeError, SessionLog as _, View};
use agentx::sqlite_log::{LogOptions, SqliteLog};
use agentx::types::{EnvironmentEvent, SessionId};
use agentx_node_runtime::scripted::ScriptedEnvironment;
use agentx_node_runtime::{NodeParts, NodeRuntime};
use agentx_runtime::{LogError, SystemClock};
use agentx_testing::ScriptedModel;
use agentx_tests::model_server::{Answer, Reply};
use agentx_tests::{BOUND, Model, Ran, World};
use agentx_tools::{ToolOptions, Toolbox};
use agentx_types::OwnerId;
use serde_json::Value;

/// A runtime of this process on the database of that world.
fn runtime(world: &World) -> NodeRuntime {
    let log = SqliteLog::open(world.data().join(agentx::node::DATABASE), LogOptions::default()).unwrap();
    NodeRuntime::new(NodeParts {
        log,
        owner: OwnerId::new("own_local"),
        models: vec![],
        wire_options: Arc::new(|_| Default::default()),
        network: Arc::new(ScriptedModel::new([])),
        scripted: ScriptedEnvironment::instant(),
        tools: Toolbox::builtin(ToolOptions::default()),
        clock: Arc::new(SystemClock),
        guard: None,
        redactor: None,
        context: Default::default(),
        analyzers: Default::default(),
        learner: None,
        program: "test".into(),
        data_dir: world.data(),
    })
}

async fn facts(world: &World, session: &str) -> Vec<Fact> {
    let log = SqliteLog::open(world.data().join(agentx::node::DATABASE), LogOptions::default()).unwrap();
    log.read(&SessionId::new(session), 0, usize::MAX).await.unwrap()
}

/// The only session of that world.
fn only_session(world: &World) -> String {
    let list = world.run(&["sessions", "list", "--json"]).exits(0);
    let list: Value = serde_json::from_str(&list.out).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 1, "{list}");
    list[0]["session_id"].as_str().unwrap().to_owned()
}

/// Says that another process writes it, and what can be done.
fn is_told_so(ran: Ran, session: &str) {
    let ran = ran.exits(8);
    assert!(
        ran.err.contains(&format!("agentx sessions show {session}")),
        "{ran}"
    );
    assert!(ran.err.contains(&format!("agentx fork {session}")), "{ran}");
}

#[tokio::test]
async fn who_comes_second_is_told_so_and_can_read_and_watch() {
    let model = Model::start([Model::words(&["the first ", "answer"])]);
    let world = World::new(&model.url());
    let mut chat = world.talk(&["chat"]);
    chat.types("one");
    chat.says("the first answer", 1);
    let session = only_session(&world);

    let ran = world.run(&["run", "--output-format", "json", "--session", &session, "two"]);
    assert_eq!(ran.result()["error"]["kind"], "session_busy", "{ran}");
    assert!(
        ran.err.contains(&chat.id().to_string()),
        "it names the process: {ran}"
    );
    is_told_so(ran, &session);
    is_told_so(world.run(&["resume", &session]), &session);
    world.run(&["sessions", "delete", "--yes", &session]).exits(8);
    let list = world.run(&["sessions", "list"]).exits(0);
    assert!(list.out.contains(&format!("open (pid {})", chat.id())), "{list}");
    let show = world.run(&["sessions", "show", &session]).exits(0);
    assert!(show.out.contains("the first answer"), "{show}");

    let reader = runtime(&world);
    let id = SessionId::new(&*session);
    let opened = reader.open(OpenRequest::Resume(id.clone(), vec![])).await;
    let busy = opened.map(drop).unwrap_err();
    assert!(
        matches!(busy, RuntimeError::Log(LogError::Busy { process, .. }) if process == chat.id()),
        "{busy}"
    );
    let mut watched = reader.watch(&id, 0, View::Environment, true).await.unwrap();
    let mut seen = Vec::new();
    let mut next = async |wanted: &str| {
        loop {
            let delivery = tokio::time::timeout(BOUND, watched.next())
                .await
                .expect("it never came");
            match delivery.expect("the watch ended") {
                Delivery::Environment(fact) => {
                    let is_it = serde_json::to_string(&*fact).unwrap().contains(wanted);
                    seen.push(fact);
                    if is_it {
                        return;
                    }
                }
                Delivery::CaughtUp(_) if wanted.is_empty() => return,
                Delivery::CutOff(why) => panic!("{why}"),
                _ => {}
            }
        }
    };
    next("answer").await;
    model.then([Model::words(&["the second one"])]);
    chat.types("two");
    // The last word may come by itself.
    next("the second ").await;
    // A copy of what is being written is another session, and free.
    let fork = world.run(&["fork", &session]).exits(0);
    assert!(fork.out.contains("ses_"), "{fork}");
    chat.types_no_more();
    chat.end().exits(0);
    let kept = facts(&world, &session).await;
    assert!(seen.len() <= kept.len() && seen.iter().zip(&kept).all(|(seen, kept)| seen == kept));
    world.check(&session);
}

#[tokio::test]
async fn eight_processes_write_side_by_side_and_lose_nothing() {
    const PROCESSES: usize = 8;
    let work = |number: usize| {
        let calls = (0..2).map(|index| (format!("toolu_{number}_{index}"), format!("seq {number} 400")));
        Reply::Answer(Answer {
            words: (0..150).map(|word| format!("word{word} ")).collect(),
            calls: calls.collect(),
            ..Answer::default()
        })
    };
    // All take from one list: the next request gets the next work, and a request after the last work gets the
    // end.
    let model = Model::start((0..PROCESSES * 4).map(work));
    let world = World::new(&model.url());
    let running: Vec<_> = (0..PROCESSES)
        .map(|number| world.run_prompt(None, &["--yes"], &format!("prompt {number}")))
        .collect();
    let ended: Vec<Ran> = running
        .into_iter()
        .map(|running| running.end().exits(0))
        .collect();
    let mut by_session = BTreeMap::new();
    for ran in &ended {
        let session = ran.session();
        let kept = facts(&world, &session).await;
        assert!(
            kept.iter().map(|fact| fact.seq).eq(1..=kept.len() as u64),
            "a gap or a double"
        );
        for frame in ran.frames() {
            let seq = usize::try_from(frame["seq"].as_u64().unwrap()).unwrap();
            assert_eq!(serde_json::to_value(&*kept[seq - 1]).unwrap(), frame);
        }
        assert_eq!(ran.result()["status"], "completed");
        by_session.insert(session, kept.len());
    }
    assert_eq!(by_session.len(), PROCESSES, "each has a session of its own");
    let list = world.run(&["sessions", "list", "--json"]).exits(0);
    let list: Value = serde_json::from_str(&list.out).unwrap();
    assert_eq!(list.as_array().unwrap().len(), PROCESSES);
    for session in by_session.keys() {
        world.check(session);
    }
}

#[tokio::test]
async fn of_those_that_race_for_a_session_exactly_one_gets_it() {
    const RACERS: usize = 4;
    let model = Model::start([]);
    let world = World::new(&model.url());
    let session = world.run_prompt(None, &[], "one").end().exits(0).session();
    for round in 0..3 {
        // The winner waits for the model until all others have been told.
        model.hold();
        let (sender, ended) = channel();
        for racer in 0..RACERS {
            let running = world.run_prompt(Some(&session), &[], &format!("round {round} racer {racer}"));
            let sender = sender.clone();
            std::thread::spawn(move || sender.send(running.end()));
        }
        for _ in 1..RACERS {
            is_told_so(ended.recv_timeout(BOUND).unwrap(), &session);
        }
        model.release();
        let winner = ended.recv_timeout(BOUND).unwrap().exits(0);
        assert_eq!(winner.result()["status"], "completed", "{winner}");
    }
    let kept = facts(&world, &session).await;
    let inputs = kept
        .iter()
        .filter(|fact| matches!(fact.event, EnvironmentEvent::UserMessage(_)));
    assert_eq!(inputs.count(), 1 + 3, "one input of each round");
    world.check(&session);
}

#[tokio::test]
async fn a_writer_that_was_fenced_off_stops_and_says_so() {
    let model = Model::start([Model::words(&["one it is"])]);
    let world = World::new(&model.url());
    let mut chat = world.talk(&["chat"]);
    chat.types("one");
    chat.says("one it is", 1);
    let session = only_session(&world);
    // Somebody cleans up; the lock is gone with its name, and the next one takes it.
    std::fs::remove_dir_all(world.data().join("locks")).unwrap();
    model.then([Model::words(&["two it is"])]);
    let other = world.run_prompt(Some(&session), &[], "two").end().exits(0);
    assert_eq!(other.result()["text"], "two it is", "{other}");
    let before = facts(&world, &session).await.len();
    chat.types("three");
    let ran = chat.end().exits(8);
    assert!(ran.to_string().contains("another process"), "{ran}");
    assert!(!ran.out.contains("all done"), "{ran}");
    assert_eq!(
        facts(&world, &session).await.len(),
        before,
        "nothing of it is kept"
    );
    assert_eq!(
        model.requests().len(),
        2,
        "no model is asked for what cannot be kept"
    );
    world.check(&session);
}
