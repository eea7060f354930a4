//! A change of a file: shown before it is made, with what stands around it.

use serde_json::json;

use crate::model::Part;
use crate::stage::{Stage, World};
use crate::{Shots, in_every_width};

#[test]
fn a_diff() {
    in_every_width("a_diff", |width| {
        let old = "    let tide = measure_the_water(harbour, Instant::now());\n    moor(tide);\n";
        let new = "    let tide = measure_the_water(harbour, clock.now())?;\n    // 船 lie higher than they seem\n    moor(tide + 1);\n";
        let world = World::of_model(vec![
            vec![
                Part::Say("The clock should be given.".into()),
                Part::Call("read", json!({ "path": "harbour.rs" })),
            ],
            vec![Part::Call(
                "edit",
                json!({ "path": "harbour.rs", "old_string": old, "new_string": new }),
            )],
            vec![Part::Say("Done.".into())],
        ]);
        let lines: String = (1..=9).map(|n| format!("// line {n}\n")).collect();
        world.write("harbour.rs", format!("{lines}fn evening() {{\n{old}}}\n{lines}"));
        let mut chat = Stage::chat(&world, &[], width);
        let mut shots = Shots::new(width);
        chat.say("give it the clock");
        chat.wait_for_question();
        shots.now("before it is made", &chat);
        chat.say("y");
        chat.wait_for("Done.");
        chat.wait_for_prompt();
        chat.leave();
        chat.each_once([
            "› give it",
            "The clock should",
            "wants to change",
            "allowed once",
            "Done.",
        ]);
        let changed = std::fs::read_to_string(world.path("harbour.rs")).unwrap();
        assert!(changed.contains("moor(tide + 1)"), "{changed}");
        shots.all(&mut chat)
    });
}
