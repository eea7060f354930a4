//! Ctrl-C in each state of a run: model and tool stop at once, with all processes that the tool has
//! started; the session continues.

use std::time::{Duration, Instant};

use agentx_tests::model_server::Reply;
use agentx_tests::{KEY, Leash, Model, Ran, Running, World};
use nix::sys::signal::Signal;

use crate::results_of;

/// The maximum time of a stop here. It takes less than a second (one test looks at that); a machine that is
/// busy takes longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Ctrl-C, and what comes of it.
fn interrupted(running: Running) -> Ran {
    let began = Instant::now();
    running.signal(Signal::SIGINT);
    let ran = running.end().exits(130);
    assert!(began.elapsed() < PATIENCE, "it took {:?}: {ran}", began.elapsed());
    let result = ran.result();
    assert_eq!(result["status"], "interrupted", "{ran}");
    assert_eq!(result["exit_code"], 130, "{ran}");
    assert!(!ran.to_string().contains(KEY));
    ran
}

/// The next input is answered, and the log is complete.
fn goes_on(world: &World, model: &Model, ran: &Ran) -> String {
    model.only([Model::words(&["here ", "again"])]);
    let session = ran.session();
    let next = world
        .run_prompt(Some(&session), &["--yes"], "and now?")
        .end()
        .exits(0);
    assert_eq!(next.result()["text"], "here again", "{next}");
    world.check(&session);
    session
}

#[test]
fn before_the_first_byte() {
    let model = Model::start([Reply::Stall(vec![])]);
    let world = World::new(&model.url());
    let running = world.run_prompt(None, &[], "hello");
    model.request(1);
    let ran = interrupted(running);
    goes_on(&world, &model, &ran);
}

#[test]
fn in_mid_stream_what_was_said_is_kept() {
    let model = Model::start([Reply::Stall(vec!["it is ".into(), "half ".into()])]);
    let world = World::new(&model.url());
    let running = world.run_prompt(None, &[], "hello");
    running.frame(|frame| frame["event"] == "text_chunk" && frame["payload"]["text"] == "half ");
    let ran = interrupted(running);
    assert_eq!(ran.result()["text"], "it is half ", "{ran}");
    goes_on(&world, &model, &ran);
    let asked = model.request(2).to_string();
    assert!(
        asked.contains("it is half"),
        "the model is told what it had said: {asked}"
    );
}

#[test]
fn while_it_waits_to_try_again() {
    let model = Model::start([Reply::Whole {
        status: "529 Overloaded",
        headers: vec!["retry-after: 200".into()],
        body: String::new(),
    }]);
    let world = World::new(&model.url());
    let running = world.run_prompt(None, &[], "hello");
    let failed = running.event("attempt_failed");
    assert!(
        failed["payload"]["retry_in_ms"].as_u64().unwrap() >= 200_000,
        "{failed}"
    );
    let ran = interrupted(running);
    goes_on(&world, &model, &ran);
}

/// A command that stays, with children in its group, out of its group, and one that does not listen.
fn stubborn(leash: &Leash) -> String {
    let say = Leash::say_pid();
    format!(
        "{}(trap '' TERM; {say}; while :; do read -t 600 x </dev/zero; done) & setsid bash -c '{say}; exec tail -f /dev/null' & \
         trap '' TERM INT; echo begun; wait; wait; wait",
        leash.put_on()
    )
}

#[test]
fn in_a_tool_everything_that_it_started_is_gone() {
    let model = Model::start([]);
    let world = World::new(&model.url());
    let mut leash = Leash::new(world.file("leash"));
    model.then([Model::bash("toolu_1", &stubborn(&leash))]);
    let running = world.run_prompt(None, &["--yes"], "do it");
    leash.taken_by(3);
    let ran = interrupted(running);
    let after = leash.let_go();
    assert!(after < PATIENCE, "it outlived the run by {after:?}");
    assert_eq!(results_of(&ran.frames(), "toolu_1"), ["interrupted"], "{ran}");
    goes_on(&world, &model, &ran);
    assert!(model.told_about("toolu_1").contains("interrupted"));
}

#[test]
fn a_stop_takes_less_than_a_second() {
    let mut best = Duration::MAX;
    // What else the machine does must not decide; one that is quick once is quick.
    for _ in 0..5 {
        let model = Model::start([]);
        let world = World::new(&model.url());
        let mut leash = Leash::new(world.file("leash"));
        model.then([Model::bash("toolu_1", &stubborn(&leash))]);
        let running = world.run_prompt(None, &["--yes"], "do it");
        leash.taken_by(3);
        let began = Instant::now();
        running.signal(Signal::SIGINT);
        running.event("interrupted");
        leash.let_go();
        best = best.min(began.elapsed());
        running.end().exits(130);
        if best < Duration::from_secs(1) {
            return;
        }
    }
    panic!("it takes {best:?}");
}

#[test]
fn twice_while_it_is_stopping() {
    let model = Model::start([]);
    let world = World::new(&model.url());
    let mut leash = Leash::new(world.file("leash"));
    model.then([Model::bash("toolu_1", &stubborn(&leash))]);
    let running = world.run_prompt(None, &["--yes"], "do it");
    leash.taken_by(3);
    running.signal(Signal::SIGINT);
    running.event("interrupt_requested");
    let ran = interrupted_again(running);
    leash.let_go();
    goes_on(&world, &model, &ran);
}

/// The second Ctrl-C leaves at once; what is stopping is stopped all the same.
fn interrupted_again(running: Running) -> Ran {
    running.signal(Signal::SIGINT);
    let ran = running.end().exits(130);
    assert_eq!(ran.result()["exit_code"], 130, "{ran}");
    ran
}

#[test]
fn a_request_to_terminate_has_an_exit_of_its_own() {
    let model = Model::start([Reply::Stall(vec!["well ".into()])]);
    let world = World::new(&model.url());
    let running = world.run_prompt(None, &[], "hello");
    running.event("text_chunk");
    running.signal(Signal::SIGTERM);
    let ran = running.end().exits(143);
    assert_eq!(ran.result()["status"], "interrupted", "{ran}");
    goes_on(&world, &model, &ran);
}

#[test]
fn while_its_input_waits_behind_a_run_of_before() {
    let model = Model::start([Reply::Stall(vec!["one ".into()])]);
    let world = World::new(&model.url());
    let running = world.run_prompt(None, &[], "first");
    running.event("text_chunk");
    let session = running.kill().session();
    model.then([
        Reply::Stall(vec!["again ".into()]),
        Reply::Stall(vec!["second ".into()]),
    ]);
    let running = world.run_prompt(Some(&session), &[], "second");
    running.frame(|frame| frame["event"] == "text_chunk" && frame["payload"]["text"] == "again ");
    running.event("user_message");
    let ran = interrupted(running);
    goes_on(&world, &model, &ran);
}

#[test]
fn while_a_person_is_asked_in_a_chat() {
    let model = Model::start([Model::bash("toolu_1", "echo done > done")]);
    let world = World::new(&model.url());
    let mut chat = world.talk(&["chat"]);
    chat.types("do it");
    chat.says("bash wants to run", 1);
    chat.signal(Signal::SIGINT);
    model.then([Model::words(&["as you wish"])]);
    chat.types("something else");
    chat.says("as you wish", 1);
    chat.types_no_more();
    chat.end().exits(0);
    assert!(!world.file("done").exists());
    let told = model.told_about("toolu_1");
    assert!(told.contains("stopped"), "{told}");
}
