//! kill -9 in each state of a run, and a new process: it asks the model again, and repeats the calls that may
//! be repeated; of the others, the result says that their outcome is unknown. Each call has one result.

use agentx_tests::model_server::{Answer, Reply};
use agentx_tests::{Leash, Model, Ran, Running, World};
use nix::sys::signal::Signal;
use serde_json::json;

use crate::{facts, names, results_of};

/// A new process takes the session up; what it had under way comes to its end before the new input is
/// answered.
fn taken_up(world: &World, killed: &Ran) -> Ran {
    let session = killed.session();
    let ran = world
        .run_prompt(Some(&session), &["--yes"], "and now?")
        .end()
        .exits(0);
    assert_eq!(ran.result()["status"], "completed", "{ran}");
    world.check(&session);
    ran
}

/// Returns the final statuses of the runs of a session, in order.
fn endings(world: &World, session: &str) -> Vec<String> {
    let shown = world.shown(session);
    let finished = shown.iter().filter(|frame| frame["event"] == "run_finished");
    finished
        .map(|frame| frame["payload"]["status"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn before_the_first_byte_the_model_is_asked_anew() {
    let model = Model::start([
        Reply::Stall(vec![]),
        Model::words(&["first"]),
        Model::words(&["second"]),
    ]);
    let world = World::new(&model.url());
    let running = world.run_prompt(None, &[], "hello");
    running.event("action_started");
    model.request(1);
    let killed = running.kill();
    let ran = taken_up(&world, &killed);
    assert_eq!(ran.result()["text"], "second", "{ran}");
    let requests = model.requests();
    assert_eq!(
        requests[0]["messages"], requests[1]["messages"],
        "the same question"
    );
    assert_eq!(endings(&world, &killed.session()), ["completed", "completed"]);
}

#[test]
fn in_mid_stream_the_part_that_was_shown_is_kept_and_the_model_asked_anew() {
    let model = Model::start([Reply::Stall(vec!["a part ".into()]), Model::words(&["whole"])]);
    let world = World::new(&model.url());
    let running = world.run_prompt(None, &[], "hello");
    running.event("text_chunk");
    let killed = running.kill();
    taken_up(&world, &killed);
    let shown = world.shown(&killed.session());
    let said: Vec<&str> = shown
        .iter()
        .filter(|frame| frame["event"] == "text_delta")
        .filter_map(|frame| frame["payload"]["text"].as_str())
        .collect();
    assert_eq!(said[..2], ["a part ", "whole"], "{said:?}");
    assert_eq!(endings(&world, &killed.session()), ["completed", "completed"]);
}

#[test]
fn a_command_that_had_begun_is_not_begun_again_and_the_model_is_told() {
    let model = Model::start([]);
    let world = World::new(&model.url());
    let mut leash = Leash::new(world.file("leash"));
    let command = format!("{}echo x >> counter; exec tail -f /dev/null", leash.put_on());
    model.then([Model::bash("toolu_1", &command), Model::words(&["I see"])]);
    let running = world.run_prompt(None, &["--yes"], "do it");
    leash.taken_by(1);
    running.frame(|frame| frame["event"] == "action_started" && frame["payload"]["kind"] == "call_tool");
    let killed = running.kill();
    let ran = taken_up(&world, &killed);
    leash.kill();
    leash.let_go();
    assert_eq!(results_of(&facts(&world, &ran), "toolu_1"), ["unknown"], "{ran}");
    assert!(
        model
            .request(2)
            .to_string()
            .contains("It may or may not have had its effect")
    );
    assert_eq!(std::fs::read_to_string(world.file("counter")).unwrap(), "x\n");
    assert_eq!(endings(&world, &killed.session()), ["completed", "completed"]);
}

#[test]
fn the_model_gets_the_output_of_a_command_until_its_program_was_killed_and_the_command_is_ended() {
    let model = Model::start([]);
    let world = World::new(&model.url());
    let mut leash = Leash::new(world.file("leash"));
    // The last output comes when nobody reads it any more.
    let command = format!(
        "{}echo compiled 1; printf '  5%%\\r 50%% '; trap '' PIPE; until [ -e go ]; do sleep 0.01; done; \
         echo later; while :; do sleep 0.05; done",
        leash.put_on()
    );
    model.then([Model::bash("toolu_1", &command), Model::words(&["I see"])]);
    let running = world.run_prompt(None, &["--yes"], "do it");
    leash.taken_by(1);
    running.frame(|frame| {
        frame["event"] == "tool_output_chunk" && frame["payload"]["text"].to_string().contains("50%")
    });
    let killed = running.kill();
    std::fs::write(world.file("go"), "").unwrap();
    let ran = taken_up(&world, &killed);
    leash.let_go();
    let result = facts(&world, &ran)
        .into_iter()
        .find(|fact| fact["event"] == "tool_result")
        .unwrap();
    let told = result["payload"]["result"][0]["text"].as_str().unwrap();
    let (outcome, output) = told.split_once('\n').unwrap();
    assert!(
        outcome.contains("It was still running (") && outcome.ends_with("has been ended now."),
        "{told}"
    );
    assert_eq!(output, "Its recorded output until then:\ncompiled 1\n 50% ");
    assert!(model.request(2).to_string().contains("compiled 1"));
    assert_eq!(results_of(&facts(&world, &ran), "toolu_1"), ["unknown"], "{ran}");
}

#[test]
fn a_call_that_may_be_repeated_is_made_again() {
    // Reading a pipe lasts until something comes; what only reads may be repeated.
    let model = Model::start([]);
    let world = World::new(&model.url());
    std::fs::write(world.file("words.txt"), "the needle\n").unwrap();
    let mut leash = Leash::new(world.file("leash"));
    let command = format!("{}exec tail -f /dev/null", leash.put_on());
    let both = Answer {
        calls: vec![("toolu_run".into(), command)],
        tools: vec![(
            "toolu_read".into(),
            "grep".into(),
            json!({ "pattern": "needle", "path": "words.txt" }),
        )],
        ..Answer::default()
    };
    model.then([both.into(), Model::words(&["I see"])]);
    let running = world.run_prompt(None, &["--yes"], "do it");
    running.event("action_started");
    leash.taken_by(1);
    let killed = running.kill();
    let ran = taken_up(&world, &killed);
    leash.kill();
    leash.let_go();
    let all = facts(&world, &killed);
    assert_eq!(results_of(&all, "toolu_run"), ["unknown"], "{ran}");
    // It was done before the kill or after it, and once it counts.
    assert_eq!(results_of(&all, "toolu_read"), ["success"], "{ran}");
    let request = model.request(2).to_string();
    assert!(request.contains("the needle"), "{request}");
}

#[test]
fn a_question_to_a_person_is_asked_again() {
    let model = Model::start([
        Model::bash("toolu_1", "echo x >> counter"),
        Model::words(&["did it"]),
    ]);
    let world = World::new(&model.url());
    let mut chat = world.talk(&["chat"]);
    chat.types("do it");
    chat.says("bash wants to run", 1);
    chat.kill();
    assert!(!world.file("counter").exists());
    let mut chat = world.talk(&["resume", "--last"]);
    chat.says("bash wants to run", 1);
    chat.types("y");
    chat.says("did it", 1);
    chat.types_no_more();
    chat.end().exits(0);
    assert_eq!(std::fs::read_to_string(world.file("counter")).unwrap(), "x\n");
    assert_eq!(
        model.requests().len(),
        2,
        "the model is not asked for what it said"
    );
}

#[test]
fn while_it_is_stopping_the_run_stays_stopped() {
    let model = Model::start([]);
    let world = World::new(&model.url());
    let mut leash = Leash::new(world.file("leash"));
    let command = format!(
        "trap '' TERM; {}while :; do read -t 600 x </dev/zero; done",
        leash.put_on()
    );
    model.then([Model::bash("toolu_1", &command), Model::words(&["a new day"])]);
    let running = world.run_prompt(None, &["--yes"], "do it");
    leash.taken_by(1);
    running.signal(Signal::SIGINT);
    running.event("interrupt_requested");
    let killed = running.kill();
    let ran = taken_up(&world, &killed);
    leash.kill();
    leash.let_go();
    assert_eq!(ran.result()["text"], "a new day", "{ran}");
    let all = facts(&world, &killed);
    let results = results_of(&all, "toolu_1");
    assert!(
        matches!(results.as_slice(), [only] if only == "unknown" || only == "interrupted"),
        "{results:?}"
    );
    assert_eq!(endings(&world, &killed.session()), ["interrupted", "completed"]);
}

#[test]
fn an_input_that_waits_is_not_lost() {
    let model = Model::start([Reply::Stall(vec!["one ".into()])]);
    let world = World::new(&model.url());
    let running = world.run_prompt(None, &[], "first");
    running.event("text_chunk");
    let killed = running.kill();
    let session = killed.session();
    model.then([Reply::Stall(vec!["again ".into()])]);
    let running = world.run_prompt(Some(&session), &[], "second");
    running.frame(|frame| {
        frame["event"] == "user_message" && frame["payload"]["content"][0]["text"] == "second"
    });
    model.request(2);
    running.kill();
    model.then([Model::words(&["1"]), Model::words(&["2"]), Model::words(&["3"])]);
    let ran = world.run_prompt(Some(&session), &[], "third").end().exits(0);
    assert_eq!(ran.result()["text"], "3", "{ran}");
    assert_eq!(endings(&world, &session), ["completed", "completed", "completed"]);
    world.check(&session);
}

/// Kills it when the session is there and nothing was asked yet, as far as that can be met from outside.
#[test]
fn right_after_the_input_was_taken() {
    let model = Model::start([]);
    model.hold();
    let world = World::new(&model.url());
    let running: Running = world.run_prompt(None, &[], "hello");
    running.event("user_message");
    let killed = running.kill();
    assert!(!names(&killed.frames()).contains(&"stream_end"), "{killed}");
    model.release();
    model.then([Model::words(&["hello"]), Model::words(&["hello again"])]);
    taken_up(&world, &killed);
    assert_eq!(endings(&world, &killed.session()), ["completed", "completed"]);
}
