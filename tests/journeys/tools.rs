//! Tools that misbehave, through the whole program: they hang, flood, leave children behind, do not listen.
//! The result of the call tells the model, and the session continues.

use agentx_tests::model_server::{Answer, Reply};
use agentx_tests::{Leash, Model, World};
use serde_json::json;

use crate::{facts, results_of};

#[test]
fn a_tool_that_hangs_is_stopped_by_the_limit_of_the_configuration() {
    let model = Model::start([]);
    let world = World::new(&model.url());
    world.config("tools:\n  timeout: 1s\n");
    let mut leash = Leash::new(world.file("leash"));
    model.then([
        Model::bash(
            "toolu_1",
            &format!("{}echo begun; exec tail -f /dev/null", leash.put_on()),
        ),
        Model::words(&["too slow"]),
    ]);
    let ran = world.run_prompt(None, &["--yes"], "do it").end().exits(0);
    leash.let_go();
    assert_eq!(results_of(&ran.frames(), "toolu_1"), ["timed_out"], "{ran}");
    let told = model.told_about("toolu_1");
    assert!(
        told.contains("begun") && told.contains("not done within 1.00 s"),
        "{told}"
    );
    world.check(&ran.session());
}

#[test]
fn a_tool_that_hangs_and_does_not_listen_is_stopped_by_the_limit_of_the_call() {
    let model = Model::start([]);
    let world = World::new(&model.url());
    let mut leash = Leash::new(world.file("leash"));
    let command = format!(
        "trap '' TERM INT HUP; {}({}; while :; do read -t 600 x </dev/zero; done) & wait; wait",
        leash.put_on(),
        Leash::say_pid()
    );
    let call = json!({ "command": command, "timeout_ms": 300 });
    model.then([Model::call("toolu_1", "bash", call), Model::words(&["too slow"])]);
    let ran = world.run_prompt(None, &["--yes"], "do it").end().exits(0);
    leash.let_go();
    assert_eq!(results_of(&ran.frames(), "toolu_1"), ["timed_out"], "{ran}");
    assert!(model.told_about("toolu_1").contains("0.30 s"));
    world.check(&ran.session());
}

#[test]
fn a_flood_of_a_gigabyte_is_bounded() {
    const GIGABYTE: u64 = 1 << 30;
    let model = Model::start([
        Model::bash(
            "toolu_1",
            &format!("yes 'a line of a flood' | head -c {GIGABYTE}"),
        ),
        Model::words(&["wet"]),
    ]);
    let world = World::new(&model.url());
    model.hold();
    let running = world.run_prompt(None, &["--yes"], "do it");
    model.request(1);
    // How much it has by then is the build's and the machine's business.
    let before = running.peak_kib();
    model.release();
    running.event("tool_call");
    model.hold();
    let result = running.event("tool_result");
    model.request(2);
    let peak = running.peak_kib();
    model.release();
    let ran = running.end().exits(0);
    assert_eq!(result["payload"]["details"]["output_bytes"], GIGABYTE, "{result}");
    let more = (peak - before) << 10;
    assert!(more < 50 << 20, "it had {peak} KiB, and {before} before");
    let told = model.told_about("toolu_1");
    assert!(
        told.len() < 100_000 && told.contains("left out"),
        "{} bytes",
        told.len()
    );
    let kept: u64 = ran.out.len() as u64;
    assert!(kept < 4 << 20, "{kept} bytes of events");
    world.check(&ran.session());
}

/// Issue E: 64 floods at once stay under 256 MiB.
#[test]
fn as_many_floods_as_may_run_at_once_are_bounded_together() {
    const FLOODS: usize = 64;
    // Kept whole they would be 320 MiB.
    const BYTES: u64 = 5 << 20;
    let model = Model::start([]);
    let world = World::new(&model.url());
    let mut leash = Leash::new(world.file("leash"));
    let waits = "until [ -e go ]; do sleep 0.05; done";
    let flood = format!(
        "{}{waits}; yes 'a line of a flood' | head -c {BYTES}",
        leash.put_on()
    );
    model.then([
        Reply::Answer(Answer {
            calls: (0..FLOODS)
                .map(|n| (format!("toolu_{n}"), flood.clone()))
                .collect(),
            ..Answer::default()
        }),
        Model::words(&["wet"]),
    ]);
    let running = world.run_prompt(None, &["--yes"], "do it");
    leash.taken_by(FLOODS);
    model.hold();
    std::fs::write(world.workspace().join("go"), "").unwrap();
    model.request(2);
    let peak = running.peak_kib();
    model.release();
    let ran = running.end().exits(0);
    leash.let_go();
    eprintln!("{FLOODS} floods: {} MiB at the peak", peak >> 10);
    assert!(peak < 256 << 10, "it had {peak} KiB");
    let frames = ran.frames();
    let results = frames.iter().filter(|frame| frame["event"] == "tool_result");
    let whole = results.filter(|result| result["payload"]["details"]["output_bytes"] == BYTES);
    assert_eq!(whole.count(), FLOODS, "{ran}");
    world.check(&ran.session());
}

#[test]
fn children_that_stay_are_a_job_and_end_with_the_program() {
    let model = Model::start([]);
    let world = World::new(&model.url());
    let mut leash = Leash::new(world.file("leash"));
    let say = Leash::say_pid();
    let command = format!(
        "{}for n in 1 2 3; do ({say}; exec tail -f /dev/null) & done; echo left alone",
        leash.put_on()
    );
    model.then([Model::bash("toolu_1", &command), Model::words(&["they run"])]);
    let running = world.run_prompt(None, &["--yes"], "do it");
    leash.taken_by(4);
    let ran = running.end().exits(0);
    leash.let_go();
    assert_eq!(results_of(&ran.frames(), "toolu_1"), ["success"], "{ran}");
    let told = model.told_about("toolu_1");
    assert!(
        told.contains("left alone") && told.contains("still runs"),
        "{told}"
    );
    world.check(&ran.session());
}

#[test]
fn arguments_that_a_model_made_up_are_answered() {
    let model = Model::start([
        Model::call("toolu_1", "bash", json!({ "cmd": "echo x > made" })),
        Model::call("toolu_2", "bahs", json!({ "command": "echo x > made" })),
        Model::call("toolu_3", "read", json!({ "path": 7 })),
        Model::words(&["I will learn"]),
    ]);
    let world = World::new(&model.url());
    let ran = world.run_prompt(None, &["--yes"], "do it").end().exits(0);
    for (call, word) in [("toolu_1", "command"), ("toolu_2", "bash"), ("toolu_3", "path")] {
        assert_eq!(results_of(&facts(&world, &ran), call), ["invalid"], "{ran}");
        let told = model.told_about(call);
        assert!(told.contains(word), "{told}");
    }
    assert!(!world.file("made").exists());
    world.check(&ran.session());
}

#[test]
fn many_at_once_that_fork_hang_and_flood_do_not_hold_each_other_up() {
    let model = Model::start([]);
    let world = World::new(&model.url());
    let mut leash = Leash::new(world.file("leash"));
    let on = leash.put_on();
    let call = |id: &str, command: String, timeout_ms: u64| {
        let input = json!({ "command": command, "timeout_ms": timeout_ms });
        (id.to_owned(), "bash".to_owned(), input)
    };
    let tools = vec![
        call("toolu_hang", format!("{on}exec tail -f /dev/null"), 700),
        call(
            "toolu_deaf",
            format!("trap '' TERM; {on}while :; do read -t 600 x </dev/zero; done"),
            700,
        ),
        call("toolu_flood", format!("{on}yes | head -c 50000000"), 60_000),
        call("toolu_well", "echo all is well".into(), 60_000),
    ];
    let answer = Answer {
        tools,
        ..Default::default()
    };
    model.then([answer.into(), Model::words(&["done"])]);
    let ran = world.run_prompt(None, &["--yes"], "do it").end().exits(0);
    leash.let_go();
    let frames = ran.frames();
    for (call, status) in [
        ("toolu_hang", "timed_out"),
        ("toolu_deaf", "timed_out"),
        ("toolu_flood", "success"),
        ("toolu_well", "success"),
    ] {
        assert_eq!(results_of(&frames, call), [status], "{ran}");
        model.told_about(call);
    }
    world.check(&ran.session());
}
