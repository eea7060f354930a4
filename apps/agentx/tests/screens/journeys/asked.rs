//! A tool that has to be allowed.

use serde_json::json;

use crate::model::Part;
use crate::stage::{QUESTION, Stage, World};
use crate::{Shots, in_every_width};

#[test]
fn a_tool_with_approval() {
    in_every_width("a_tool_with_approval", |width| {
        let command = "printf 'row %02d of the table\\n' 1 2 3 4 5 6 7 8 9 10 11 12";
        let world = World::of_model(vec![
            vec![
                Part::Say("I count the rows with a **command**.".into()),
                Part::Call("bash", json!({ "command": command })),
            ],
            vec![Part::Say(
                "There are 12 rows, and this answer is long enough to need a second line even where the terminal is wide, because it \
                 says how the rows look: each begins with the word `row` and a number.".into(),
            )],
        ]);
        let mut chat = Stage::chat(&world, &[], width);
        let mut shots = Shots::new(width);
        chat.say("how many rows are there?");
        chat.wait_for_question();
        shots.now("the question", &chat);
        chat.say("y");
        chat.wait_for_words("the word row and a number.");
        chat.wait_for_prompt();
        chat.leave();
        chat.each_once(["› how many", "wants to run", "allowed once", "There are 12 rows"]);
        shots.all(&mut chat)
    });
}

#[test]
fn a_key_answers_at_once_and_only_what_was_seen() {
    let write = |name: &str| Part::Call("write", json!({ "path": name, "content": "words\n" }));
    let long = "tail -f /dev/null";
    let world = World::configured(
        vec![vec![
            Part::Call("bash", json!({ "command": long })),
            write("b.txt"),
            write("c.txt"),
        ]],
        "rules:\n  - { effect: allow, tool: bash, argument: \"tail *\" }\n",
    );
    let mut chat = Stage::chat(&world, &[], 80);
    chat.say("go");
    chat.wait_for_question();
    chat.keys("for later");
    chat.wait_for_last(&format!("{QUESTION} for later"));
    chat.wait_for_seconds("bash runs");
    // Hit three times: the second question is not answered by it, nor is what is written.
    chat.keys("\u{1b}y\u{1b}y\u{1b}y");
    chat.wait_for("wants to write c.txt");
    chat.wait_for_last("this question just appeared; press the key again to answer");
    chat.wait_for_seconds("bash runs");
    chat.keys("\u{1b}n");
    chat.wait_for_words("✗ refused");
    chat.wait_for_last("› for later");
    chat.keys("\u{3}");
    chat.wait_for("stopped");
    chat.keys("\u{15}");
    chat.wait_for_prompt();
    chat.leave();
    chat.each_once(["wants to write b.txt", "allowed once", "wants to write c.txt"]);
    assert!(world.path("b.txt").exists() && !world.path("c.txt").exists());
}

#[test]
fn a_rule_that_is_of_no_effect_is_said_to_be_so_with_the_question_and_with_the_pattern_that_was_written() {
    let call = Part::Call("bash", json!({ "command": "rm -rf build" }));
    let world = World::configured(
        vec![vec![call], vec![Part::Say("It is gone.".into())]],
        "rules:\n  - { effect: ask, tool: bash, argument: \"rm *\" }\n",
    );
    let mut chat = Stage::chat(&world, &[], 80);
    chat.say("clean up");
    chat.wait_for_question();
    chat.wait_for_words("but it would still be asked about: the rule \"ask bash: rm *\" asks");
    chat.say("s rm -rf *");
    chat.wait_for_words("AgentX will still ask about similar calls: the rule");
    chat.wait_for("It is gone.");
    chat.wait_for_prompt();
    chat.leave();
}
