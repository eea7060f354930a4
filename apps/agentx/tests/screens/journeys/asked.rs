//! A tool that has to be allowed.

use serde_json::json;

use crate::model::Part;
use crate::stage::{Stage, World};
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
