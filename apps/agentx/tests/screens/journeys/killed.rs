//! `kill -9` in the middle of an answer, and `resume`.

use serde_json::json;

use crate::model::Part;
use crate::stage::{Stage, World};
use crate::{Shots, in_every_width};

#[test]
fn kill_and_resume() {
    in_every_width("kill_and_resume", |width| {
        let whole = "№1 The tide is high.\n\n№2 The ships lie still.\n\n№3 Nobody is in a hurry.";
        let world = World::of_model(vec![
            vec![Part::Call("bash", json!({ "command": "echo high tide at noon" }))],
            vec![
                Part::Say(whole.into()),
                Part::Say("\n\n№4 And the lighthouse".into()),
                Part::Hold,
            ],
            vec![
                Part::Say(whole.into()),
                Part::Say("\n\n№4 And the lighthouse is lit.".into()),
            ],
            vec![Part::Say("You are welcome.".into())],
        ]);
        let mut shots = Shots::new(width);
        let mut chat = Stage::chat(&world, &["--yes"], width);
        chat.say("how is the harbour?");
        chat.wait("the last words and the row below them", |terminal| {
            let screen = terminal.screen();
            let last = screen.iter().rposition(|row| row == "№4 And the lighthouse");
            last.is_some_and(|at| screen[at + 1..].iter().any(|row| row.contains("Esc stops")))
                && terminal.cursor().1 == 22
        });
        chat.kill();
        shots.now("it was killed", &chat);
        let mut chat = Stage::start(&world, &["--yes", "resume", "--last"], width);
        chat.wait_for("lighthouse is lit.");
        chat.wait_for_prompt();
        chat.say("thank you");
        chat.wait_for("You are welcome.");
        chat.wait_for_prompt();
        chat.leave();
        // What was seen before stays where it was, and what is said anew begins below it.
        chat.each_once([
            "› how is the harbour?",
            "│ high tide at noon",
            "… interrupted",
            "is lit.",
            "› thank you",
        ]);
        let marks = |chat: &mut Stage<'_>| {
            let all = chat.terminal.all().concat();
            let parts = all.split("… interrupted").map(|part| part.matches('№').count());
            parts.collect::<Vec<_>>()
        };
        assert_eq!(marks(&mut chat), [4, 4]);
        shots.all(&mut chat)
    });
}

#[test]
fn who_comes_back_sees_that_the_run_goes_on_and_what_is_queued() {
    let world = World::of_model(vec![vec![Part::Hold], vec![Part::Hold]]);
    let mut chat = Stage::chat(&world, &["--yes"], 80);
    chat.say("how is the harbour?");
    chat.wait_for("waiting for");
    chat.say("and the tide?");
    chat.wait_for("  1 › and the tide?");
    chat.kill();
    let mut chat = Stage::start(&world, &["--yes", "resume", "--last"], 80);
    chat.wait("the run and the queue", |terminal| {
        let screen = terminal.screen();
        let row = screen
            .iter()
            .position(|row| row.contains("waiting for") && row.contains("Esc stops"));
        row.is_some_and(|at| screen[at + 1].starts_with("  1 › and the tide?"))
    });
}

#[test]
fn a_call_that_was_done_before_the_kill_is_shown_as_done() {
    let world = World::of_model(vec![vec![
        Part::Call("bash", json!({ "command": "echo high tide at noon" })),
        Part::Call(
            "bash",
            json!({ "command": "n=0; until [ -e gone ] || [ $((n += 1)) -gt 3000 ]; do sleep 0.02; done" }),
        ),
    ]]);
    let mut chat = Stage::chat(&world, &["--yes"], 80);
    chat.say("how is the harbour?");
    chat.wait_for("│ high tide at noon");
    chat.wait_for("└ ✓");
    chat.kill();
    let shown = world.run(&["show", &world.sandbox.latest_id([])]);
    world.write("gone", "");
    assert_eq!(shown.code, Some(0), "{shown}");
    let done = shown
        .stdout
        .lines()
        .filter(|line| line.starts_with("  └ ✓ bash "));
    assert_eq!(done.count(), 1, "{shown}");
}
