//! A full session with the default model of Anthropic, whose thinking depends on everything before it: tools,
//! an interrupt and a kill in the middle of thinking, a summary and its undo, a rewind, other tools. The
//! server checks each request as that model's vendor does, and the test fails if one is refused or thinking
//! would be dropped.

use agentx_tests::{Model, Ran, Signed, World};
use nix::sys::signal::Signal;
use serde_json::Value;

/// The events of an answer until it thinks its first words.
const IN_THINKING: usize = 3;

/// Asks once more in a session, or in a new one.
fn ask(world: &World, session: Option<&str>, prompt: &str) -> Ran {
    let ran = world.run_prompt(session, &["--yes"], prompt).end().exits(0);
    assert_eq!(ran.result()["status"], "completed", "{ran}");
    world.check(&ran.session());
    ran
}

/// A round of a tool and the words behind it, each with thinking.
fn a_round(model: &Model, number: usize) {
    let call = Signed::thinking(&format!("first {number}"));
    let end = Signed::thinking(&format!("second {number}"));
    model.then([
        call.runs(&format!("toolu_{number}"), "echo done").into(),
        end.says(&format!("answer {number}")).into(),
    ]);
}

/// The thinking in a request.
fn thoughts(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().unwrap();
    let parts = messages
        .iter()
        .filter_map(|message| message["content"].as_array());
    let thinking = parts.flatten().filter(|part| part["type"] == "thinking");
    thinking
        .map(|part| part["thinking"].as_str().unwrap().to_owned())
        .collect()
}

/// The thinking in the last request.
fn sent_last(model: &Model) -> Vec<String> {
    thoughts(model.requests().last().unwrap())
}

#[test]
fn an_interrupt_and_a_kill_in_the_middle_of_thinking_leave_a_session_that_goes_on() {
    let model = Model::start([]);
    let world = World::new(&model.url());
    a_round(&model, 1);
    let session = ask(&world, None, "begin").session();
    assert_eq!(model.request(1)["model"], "claude-sonnet-5-5");
    assert_eq!(sent_last(&model), ["first 1"]);

    let cut = || Signed::thinking("a thought that never ends").stalls_after(IN_THINKING);
    model.then([cut().into()]);
    let running = world.run_prompt(Some(&session), &["--yes"], "think");
    running.event("thinking_chunk");
    running.signal(Signal::SIGINT);
    running.end().exits(130);
    a_round(&model, 2);
    ask(&world, Some(&session), "go on");
    assert_eq!(sent_last(&model), ["first 1", "second 1", "first 2"]);

    model.then([cut().into()]);
    let running = world.run_prompt(Some(&session), &["--yes"], "think again");
    running.event("thinking_chunk");
    running.kill();
    a_round(&model, 3);
    a_round(&model, 4);
    ask(&world, Some(&session), "and now?");
    let sent = sent_last(&model);
    assert_eq!(
        sent[2..],
        ["first 2", "second 2", "first 3", "second 3", "first 4"]
    );
}

#[test]
fn a_kill_in_the_words_behind_thinking_leaves_a_session_that_goes_on() {
    let model = Model::start([]);
    let world = World::new(&model.url());
    a_round(&model, 1);
    let session = ask(&world, None, "begin").session();
    let whole = Signed::thinking("thought through").says("a part of what is said");
    model.then([whole.stalls_after(8).into()]);
    let running = world.run_prompt(Some(&session), &["--yes"], "say it");
    running.event("text_chunk");
    running.kill();
    a_round(&model, 2);
    ask(&world, Some(&session), "and now?");
    world.check(&session);
}

#[test]
fn a_summary_its_undo_a_rewind_and_other_tools_send_no_thinking_that_does_not_fit() {
    let model = Model::start([]);
    let world = World::new(&model.url());
    world.config("condense: {keep: 1}\n");
    let mut session = None;
    for number in 1..=4 {
        a_round(&model, number);
        let long = "much is to be said about this ".repeat(40);
        session = Some(ask(&world, session.as_deref(), &format!("{number} {long}")).session());
    }
    let session = session.unwrap();

    model.then([Signed::thinking("what matters").says("A summary.").into()]);
    a_round(&model, 5);
    let mut chat = world.talk(&["resume", &session, "--yes"]);
    chat.types("/compact");
    chat.says("/compact undo takes it back", 1);
    chat.types("after it");
    chat.says("answer 5", 1);
    assert!(
        model
            .requests()
            .last()
            .unwrap()
            .to_string()
            .contains("A summary.")
    );
    chat.types("/compact undo");
    chat.says("are restored in full", 1);
    a_round(&model, 6);
    chat.types("behind the undo");
    chat.says("answer 6", 1);
    chat.types_no_more();
    chat.end().exits(0);

    let rewound = world
        .run(&["rewind", &session, "--to", "3", "--conversation", "--yes"])
        .exits(0);
    let copy = rewound.out.trim().to_owned();
    a_round(&model, 7);
    ask(&world, Some(&copy), "from here");
    assert_eq!(
        sent_last(&model),
        ["first 1", "second 1", "first 2", "second 2", "first 7"]
    );

    world.config("condense: {keep: 1}\ntools: {disabled: [grep]}\n");
    a_round(&model, 8);
    ask(&world, Some(&copy), "with other tools");
    assert_eq!(sent_last(&model), ["first 8"]);
    a_round(&model, 9);
    ask(&world, Some(&session), "with other tools");
    assert_eq!(sent_last(&model), ["first 9"]);
}
