//! A question that the output of another call would push out of sight.

use serde_json::json;

use crate::model::Part;
use crate::stage::{QUESTION, Stage, World};

/// The current item of a to-do list would stand between the question and the line that answers it.
#[test]
fn a_question_stands_once_beside_a_todo_list() {
    let todos = json!({ "todos": [{ "content": "clean up", "status": "in_progress" }] });
    let world = World::of_model(vec![
        vec![Part::Call("todo", todos)],
        vec![Part::Call("bash", json!({ "command": "rm -rf build" }))],
        vec![Part::Say("Done.".into())],
    ]);
    let mut chat = Stage::chat(&world, &[], 80);
    chat.say("clean up");
    chat.wait_for_question();
    let asked = |screen: Vec<String>| screen.iter().filter(|row| row.contains("wants to run")).count();
    assert_eq!(asked(chat.screen()), 1, "{:#?}", chat.screen());
    chat.say("n");
    chat.wait_for("Done.");
}

/// On a small terminal and on a usual one: what is asked stands on the screen with the line that answers it.
#[test]
fn a_question_stays_whole_on_the_screen_while_another_call_says_much() {
    for rows in [14, 24] {
        let script = "until [ -e go ]; do sleep 0.02; done\nseq -f 'row %g' 1 200\n";
        let world = World::configured(
            vec![
                vec![
                    Part::Call("bash", json!({ "command": "sh rows.sh" })),
                    Part::Call("bash", json!({ "command": "rm -rf build" })),
                ],
                vec![Part::Say("Done.".into())],
            ],
            "rules:\n  - { effect: allow, tool: bash, argument: \"sh rows.sh\" }\n",
        );
        world.write("rows.sh", script);
        let mut chat = Stage::with_rows(&world, &[], (80, rows));
        chat.wait_for_prompt();
        chat.say("clean up");
        chat.wait_for_question();
        let is_asked = |screen: &[String]| {
            let has = |text: &str| screen.iter().any(|row| row.contains(text));
            has("wants to run a command that deletes") && has("rm -rf build") && has("always would save")
        };
        assert!(is_asked(&chat.screen()), "{:#?}", chat.screen());
        world.write("go", "");
        chat.wait_for("row 200");
        // All of that output, below it.
        chat.keys("\u{f}");
        chat.wait("the question below the output", |terminal| {
            let screen = terminal.screen();
            let is_last = screen.last().is_some_and(|row| row.starts_with(QUESTION));
            is_last && is_asked(&screen) && terminal.all().iter().any(|row| row.contains("row 150"))
        });
        chat.say("n");
        chat.wait_for("Done.");
        chat.wait_for_prompt();
        chat.leave();
        chat.each_once(["clean up", "command that deletes"]);
    }
}

/// The second question is asked before the first edit has run, and its lines move by that edit.
#[test]
fn of_two_edits_each_question_stands_once_and_shows_the_file_as_it_is_then() {
    let edit = |old: &str, new: &str| {
        let input = json!({ "path": "tide.txt", "old_string": old, "new_string": new });
        Part::Call("edit", input)
    };
    let world = World::of_model(vec![
        vec![Part::Call("read", json!({ "path": "tide.txt" }))],
        vec![edit("row 1\n", "row 1\nebb\n"), edit("row 9\n", "flood\n")],
        vec![Part::Say("Done.".into())],
    ]);
    let rows: String = (1..=9).map(|n| format!("row {n}\n")).collect();
    world.write("tide.txt", rows);
    let mut chat = Stage::chat(&world, &[], 80);
    chat.say("change it");
    chat.wait_for_question();
    chat.say("y");
    chat.wait_for("10 -row 9");
    chat.wait_for_question();
    chat.say("y");
    chat.wait_for("Done.");
    chat.wait_for_prompt();
    chat.leave();
    chat.each_once(["2 +ebb", "10 -row 9", "10 +flood", "Done."]);
}
