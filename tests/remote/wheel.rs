//! Several people on one session of a real server: two who want to drive at once, one who drives and
//! disappears, one who does not answer, decisions that race. Each time there is one outcome, and it is
//! recorded.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::time::{Duration, Instant};

use agentx_tests::World;
use agentx_tests::remote::{Serving, Socket, Web, Who, Worker, problem_code};
use serde_json::{Value, json};

/// The number of races of two for the wheel, and of four for a decision.
const ROUNDS: usize = 20;

/// A server with a session, its owner, and people who may do something in it.
struct Stage {
    world: World,
    server: Serving,
    owner: Web,
    people: Vec<Who>,
    session: String,
}

impl Stage {
    /// `roles` are what the people may do; `approval` is what the server's own agent does about tool calls.
    async fn new(roles: &[&str], approval: &str) -> Self {
        let worker = Worker::start();
        let world = World::new(&worker.url());
        world.config(&format!("approval: {approval}\n"));
        let owner = Who::operator(&world, 1);
        let people: Vec<Who> = (0..roles.len())
            .map(|number| Who::member(&world, 2 + u8::try_from(number).unwrap()))
            .collect();
        let server = Serving::start(&world, &[]);
        let owner = Web::new(&server.url(), &owner, "owner").signed_in().await;
        let session = owner.new_session().await;
        for (who, role) in people.iter().zip(roles) {
            let wish = json!({"person": who.owner(), "role": role});
            owner.post(&format!("/v1/sessions/{session}/roles"), &wish).await;
        }
        Self {
            world,
            server,
            owner,
            people,
            session,
        }
    }

    /// One of the people, connected and looking at the session.
    async fn enter(&self, number: usize, client: &str) -> Socket {
        let mut socket = Socket::enter(self.server.address(), &self.people[number], client).await;
        socket.subscribe(&self.session, 0, "environment").await;
        socket
    }

    fn message(&self, text: &str, epoch: Option<u64>) -> Value {
        let mut message = json!({"session_id": self.session, "content": text});
        if let Some(epoch) = epoch {
            message["wheel_epoch"] = epoch.into();
        }
        message
    }

    fn wish(&self, wish: Value) -> Value {
        json!({"session_id": self.session, "wish": wish})
    }

    fn seat(&self, number: usize, client: &str) -> Value {
        json!({"person": self.people[number].owner(), "client": client})
    }

    async fn facts(&self, event: &str) -> Vec<Value> {
        let facts = self.owner.export(&self.session).await;
        let facts = facts.iter().map(|line| serde_json::from_str(line).unwrap());
        facts.filter(|fact: &Value| fact["event"] == event).collect()
    }

    async fn ends(self) {
        self.server.stop().exits(0);
        self.world.check(&self.session);
    }
}

/// Checks that the epochs of the wheel in the facts are dense, from 1.
fn check_epochs(wheel: &[Value]) {
    for (index, fact) in wheel.iter().enumerate() {
        assert_eq!(fact["payload"]["epoch"], index as u64 + 1, "{fact}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_who_drive_at_once_one_does() {
    let stage = Stage::new(&["drive", "drive"], "auto").await;
    let mut drivers = [stage.enter(0, "left").await, stage.enter(1, "right").await];
    let mut won = [0, 0];
    for round in 0..ROUNDS {
        let [left, right] = &mut drivers;
        let said = |who: usize| stage.message(&format!("work r{round}w{who} turns=1 words=2"), None);
        let (one, two) = tokio::join!(
            left.try_ask("user_message", said(0)),
            right.try_ask("user_message", said(1))
        );
        let answers = [one.unwrap(), two.unwrap()];
        let winner = answers
            .iter()
            .position(Result::is_ok)
            .unwrap_or_else(|| panic!("nobody drives: {answers:?}"));
        won[winner] += 1;
        let refused = answers[1 - winner].as_ref().expect_err("both drive");
        assert_eq!(problem_code(refused), "denied", "{refused}");
        drivers[winner].ask("wheel", stage.wish("release".into())).await;
    }
    eprintln!("of {ROUNDS} races left won {} and right {}", won[0], won[1]);
    let wheel = stage.facts("wheel_changed").await;
    check_epochs(&wheel);
    assert_eq!(wheel.len(), 2 * ROUNDS, "taken and released each time");
    assert_eq!(stage.facts("user_message").await.len(), ROUNDS);
    stage.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_take_the_wheel_at_once_one_has_it_and_what_the_others_believe_is_refused() {
    let stage = Stage::new(&["drive", "drive", "drive", "drive"], "auto").await;
    let mut seats = Vec::new();
    for number in 0..4 {
        seats.push(stage.enter(number, "seat").await);
    }
    for round in 0..ROUNDS as u64 {
        let before = 2 * round;
        let mut takers = tokio::task::JoinSet::new();
        for (number, mut socket) in seats.drain(..).enumerate() {
            let wish = stage.wish("take".into());
            takers.spawn(async move {
                let answer = socket.try_ask("wheel", wish).await.unwrap();
                (number, socket, answer)
            });
        }
        let mut answered: Vec<_> = takers.join_all().await;
        answered.sort_by_key(|(number, _, _)| *number);
        let has: Vec<usize> = answered
            .iter()
            .filter(|(_, _, answer)| answer.is_ok())
            .map(|(number, _, _)| *number)
            .collect();
        assert_eq!(has.len(), 1, "one has it: {has:?}");
        seats = answered.into_iter().map(|(_, socket, _)| socket).collect();
        let driver = &mut seats[has[0]];
        // A request with an earlier epoch is refused, even the driver's.
        let late = stage.message("late", Some(before));
        assert_eq!(driver.refused("user_message", late).await, "stale_epoch");
        let now = stage.message(&format!("work t{round} turns=1 words=2"), Some(before + 1));
        driver.ask("user_message", now).await;
        driver.ask("wheel", stage.wish("release".into())).await;
    }
    let wheel = stage.facts("wheel_changed").await;
    check_epochs(&wheel);
    assert_eq!(wheel.len(), 2 * ROUNDS);
    assert_eq!(stage.facts("user_message").await.len(), ROUNDS);
    stage.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_wheel_is_asked_for_and_handed_over_and_the_former_driver_is_late() {
    let stage = Stage::new(&["drive", "drive", "watch"], "auto").await;
    let (mut one, mut two, mut three) = (
        stage.enter(0, "one").await,
        stage.enter(1, "two").await,
        stage.enter(2, "three").await,
    );
    let work = |marker: &str| format!("work {marker} turns=1 words=2");
    one.ask("user_message", stage.message(&work("a"), None)).await;
    assert_eq!(
        two.refused("user_message", stage.message("b", None)).await,
        "denied"
    );
    assert_eq!(
        three.refused("user_message", stage.message("c", None)).await,
        "denied"
    );
    assert_eq!(three.refused("wheel", stage.wish("ask".into())).await, "denied");
    assert_eq!(two.refused("wheel", stage.wish("take".into())).await, "denied");
    two.ask("wheel", stage.wish("ask".into())).await;
    let asked = one
        .until(|frame| frame["event"] == "wheel" && !frame["payload"]["asked_by"].is_null())
        .await;
    assert_eq!(asked["payload"]["asked_by"], stage.seat(1, "two"));
    assert_eq!(asked["payload"]["epoch"], 1);
    // To somebody who may only look it cannot be handed.
    let wrong = stage.wish(json!({"hand": stage.seat(2, "three")}));
    assert_eq!(one.refused("wheel", wrong).await, "refused");
    one.ask("wheel", stage.wish(json!({"hand": stage.seat(1, "two")})))
        .await;
    let handed = three
        .until(|frame| frame["event"] == "wheel_changed" && frame["payload"]["epoch"] == 2)
        .await;
    assert_eq!(handed["payload"]["reason"], "handed_over");
    assert_eq!(handed["payload"]["seat"], stage.seat(1, "two"));
    assert_eq!(
        one.refused("user_message", stage.message("d", Some(1))).await,
        "stale_epoch"
    );
    assert_eq!(
        one.refused("user_message", stage.message("e", None)).await,
        "denied"
    );
    two.ask("user_message", stage.message(&work("f"), Some(2))).await;
    check_epochs(&stage.facts("wheel_changed").await);
    assert_eq!(stage.facts("user_message").await.len(), 2);
    stage.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driver_that_vanishes_is_replaced_after_a_while_and_one_that_returns_in_time_is_not() {
    let stage = Stage::new(&["drive", "drive"], "auto").await;
    let mut one = stage.enter(0, "one").await;
    let mut two = stage.enter(1, "two").await;
    one.ask("wheel", stage.wish("take".into())).await;
    // It is back before anybody could take the wheel, under the same name: it is the same seat.
    drop(one);
    let mut one = stage.enter(0, "one").await;
    let message = stage.message("work a turns=1 words=2", Some(1));
    one.ask("user_message", message).await;
    let gone = Instant::now();
    drop(one);
    assert_eq!(
        two.refused("user_message", stage.message("b", None)).await,
        "denied"
    );
    let freed = two
        .until(|frame| frame["event"] == "wheel_changed" && frame["payload"]["epoch"] == 2)
        .await;
    assert_eq!(freed["payload"]["reason"], "timed_out", "{freed}");
    assert!(freed["payload"]["seat"].is_null(), "{freed}");
    assert!(gone.elapsed() > Duration::from_secs(5), "{:?}", gone.elapsed());
    let message = stage.message("work c turns=1 words=2", None);
    two.ask("user_message", message).await;
    let mut one = stage.enter(0, "one").await;
    let late = stage.message("d", Some(1));
    assert_eq!(one.refused("user_message", late).await, "stale_epoch");
    check_epochs(&stage.facts("wheel_changed").await);
    assert_eq!(stage.facts("user_message").await.len(), 2);
    stage.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_drives_and_does_not_answer_loses_the_wheel_to_who_asked() {
    let stage = Stage::new(&["drive", "drive", "drive"], "auto").await;
    let (mut one, mut two, mut three) = (
        stage.enter(0, "one").await,
        stage.enter(1, "two").await,
        stage.enter(2, "three").await,
    );
    one.ask("wheel", stage.wish("take".into())).await;
    two.ask("wheel", stage.wish("ask".into())).await;
    assert_eq!(
        three.refused("wheel", stage.wish("ask".into())).await,
        "refused",
        "one asks already"
    );
    let began = Instant::now();
    // Each heartbeat of the server is a time to try.
    loop {
        match two.try_ask("wheel", stage.wish("take".into())).await.unwrap() {
            Ok(_) => break,
            Err(problem) => assert_eq!(problem_code(&problem), "denied", "{problem}"),
        }
        assert!(began.elapsed() < agentx_tests::BOUND);
        two.event("ping").await;
    }
    assert!(began.elapsed() > Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(
        one.refused("user_message", stage.message("a", Some(1))).await,
        "stale_epoch"
    );
    let wheel = stage.facts("wheel_changed").await;
    check_epochs(&wheel);
    assert_eq!(wheel.last().unwrap()["payload"]["seat"], stage.seat(1, "two"));
    stage.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_decisions_that_race_one_counts_and_says_whose_it_was() {
    let stage = Stage::new(&["approve", "approve", "approve", "drive", "watch"], "ask").await;
    let mut deciders = Vec::new();
    for number in 0..4 {
        deciders.push(stage.enter(number, "decider").await);
    }
    let mut watcher = Socket::enter(stage.server.address(), &stage.people[4], "watcher").await;
    watcher.subscribe(&stage.session, 0, "runtime").await;
    for round in 0..ROUNDS {
        let text = format!("work d{round} turns=2 words=1 calls=1");
        deciders[3].ask("user_message", stage.message(&text, None)).await;
        let asked = watcher.event("approval_requested").await;
        let call = asked["payload"]["tool_call_id"].as_str().unwrap().to_owned();
        let decision =
            |decision: &str| json!({"session_id": stage.session, "tool_call_id": call, "decision": decision});
        assert_eq!(
            watcher.refused("approval", decision("once")).await,
            "denied",
            "who only looks decides nothing"
        );
        let mut race = tokio::task::JoinSet::new();
        for (number, mut socket) in deciders.drain(..).enumerate() {
            let decision = decision(if number.is_multiple_of(2) { "once" } else { "deny" });
            race.spawn(async move {
                let answer = socket.try_ask("approval", decision).await.unwrap();
                (number, socket, answer)
            });
        }
        let mut answered = race.join_all().await;
        answered.sort_by_key(|(number, _, _)| *number);
        let won: Vec<usize> = answered
            .iter()
            .filter(|(_, _, answer)| answer.is_ok())
            .map(|(number, _, _)| *number)
            .collect();
        assert_eq!(won.len(), 1, "one decides: {won:?}");
        deciders = answered.into_iter().map(|(_, socket, _)| socket).collect();
        let ended = watcher.event("run_finished").await;
        assert_eq!(ended["payload"]["status"], "completed", "{ended}");
        check_decision(&stage, &call, won[0]).await;
    }
    assert_eq!(stage.facts("approval").await.len(), ROUNDS);
    stage.ends().await;
}

async fn check_decision(stage: &Stage, call: &str, winner: usize) {
    let of_call = |facts: Vec<Value>| -> Vec<Value> {
        let mut facts = facts;
        facts.retain(|fact| fact["payload"]["tool_call_id"] == call);
        facts
    };
    let decisions = of_call(stage.facts("approval").await);
    let [decision] = &decisions[..] else {
        panic!("{decisions:?}");
    };
    assert_eq!(decision["payload"]["by"], stage.people[winner].owner());
    let results = of_call(stage.facts("tool_result").await);
    let [result] = &results[..] else {
        panic!("{results:?}");
    };
    let status = if winner.is_multiple_of(2) {
        "success"
    } else {
        "denied"
    };
    assert_eq!(result["payload"]["status"], status, "{result}");
}
