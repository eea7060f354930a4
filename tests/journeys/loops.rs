//! An agent that repeats itself: the model is notified, a person is asked, and the run is stopped, also if
//! the program is killed in between.

use agentx_tests::model_server::Reply;
use agentx_tests::{Model, World};
use serde_json::Value;

use crate::facts;

/// The same failing call so many times, from this number on.
fn failures(first: usize, count: usize) -> Vec<Reply> {
    let numbers = first..first + count;
    numbers
        .map(|number| Model::bash(&format!("toolu_{number}"), "test -e nowhere"))
        .collect()
}

/// The responses to loops that were derived in a session.
fn responses(world: &World, session: &str) -> Vec<Value> {
    let shown = world.shown(session);
    let found = shown.iter().filter(|frame| frame["event"] == "loop_detected");
    found.map(|frame| frame["payload"]["response"].clone()).collect()
}

#[test]
fn the_model_is_told_and_where_nobody_is_there_the_run_ends_as_stuck() {
    let model = Model::start(failures(1, 20));
    let world = World::new(&model.url());
    let ran = world.run_prompt(None, &["--yes"], "go").end().exits(6);
    let result = ran.result();
    assert_eq!(result["error"]["kind"], "stuck", "{ran}");
    let message = result["error"]["message"].as_str().unwrap();
    assert!(message.contains("`bash` was called 8 times in a row"), "{ran}");
    assert!(
        model.told_about("toolu_3").contains("You repeat yourself"),
        "{ran}"
    );
    assert!(
        !model.told_about("toolu_2").contains("You repeat yourself"),
        "{ran}"
    );
    assert_eq!(model.requests().len(), 9, "the ninth call is not run");
    let session = ran.session();
    assert_eq!(responses(&world, &session), ["nudge", "question", "stop"]);
    world.check(&session);
}

#[test]
fn killed_after_the_word_to_the_model_it_goes_on_as_before() {
    let mut replies = failures(1, 4);
    replies.push(Reply::Stall(vec![]));
    let model = Model::start(replies);
    let world = World::new(&model.url());
    let running = world.run_prompt(None, &["--yes"], "go");
    model.request(5);
    let killed = running.kill();
    model.only(failures(5, 20));
    let session = killed.session();
    let ran = world
        .run_prompt(Some(&session), &["--yes"], "and now?")
        .end()
        .exits(6);
    assert_eq!(ran.result()["error"]["kind"], "stuck", "{ran}");
    world.check(&session);
}

#[test]
fn a_question_about_a_loop_outlives_the_program() {
    let model = Model::start(failures(1, 20));
    let world = World::new(&model.url());
    world.config("tools: {ask_user: wait}\n");
    let left = world.run_prompt(None, &["--yes"], "go").end().exits(7);
    let session = left.session();
    assert_eq!(responses(&world, &session), ["nudge", "question"]);
    world.check(&session);
    // The next program asks again: the session keeps what becomes of its questions.
    let args = ["run", "--session", &session, "--yes", "--output-format", "json"];
    let again = world.run(&args).exits(7);
    assert_eq!(again.result()["error"]["kind"], "answer_needed", "{again}");
    assert_eq!(model.requests().len(), 9, "nothing was done twice");
    let all = facts(&world, &left);
    assert!(all.iter().all(|fact| fact["event"] != "approval"), "{all:#?}");
    assert_eq!(responses(&world, &session), ["nudge", "question"]);
    world.check(&session);
}

#[test]
fn equal_calls_that_succeed_and_low_limits_are_as_before() {
    let hi = |number: usize| Model::bash(&format!("toolu_{number}"), "echo hi");
    let mut replies: Vec<Reply> = (1..=49).map(hi).collect();
    replies.push(Model::words(&["done"]));
    let model = Model::start(replies);
    let world = World::new(&model.url());
    let ran = world.run_prompt(None, &["--yes"], "go").end().exits(0);
    assert_eq!(responses(&world, &ran.session()), ["nudge"]);
    world.check(&ran.session());

    model.only(failures(60, 20));
    let limited = world
        .run_prompt(None, &["--yes", "--max-iterations", "5"], "go")
        .end()
        .exits(6);
    assert_eq!(limited.result()["error"]["kind"], "iteration_limit", "{limited}");
}
