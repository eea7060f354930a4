//! Input while the agent works: queued, taken back, sent at once.

use serde_json::json;

use crate::model::Part;
use crate::stage::{Stage, World};
use crate::{Shots, in_every_width};

const ALT_UP: &str = "\u{1b}[1;3A";
const CTRL_S: &str = "\u{13}";

#[test]
fn queue_and_steer() {
    in_every_width("queue_and_steer", |width| {
        let world = World::of_model(vec![
            vec![
                Part::Say("I wait for the tide.".into()),
                Part::Call(
                    "bash",
                    json!({ "command": "until [ -e tide ]; do sleep 0.02; done; echo high" }),
                ),
            ],
            vec![Part::Say(
                "The tide is high, and I sail north, as you say.".into(),
            )],
            vec![Part::Say("The ropes are checked, all 40 of them.".into())],
        ]);
        let mut chat = Stage::chat(&world, &["--yes"], width);
        let mut shots = Shots::new(width);
        chat.say("sail with the tide");
        chat.wait_for("Esc stops");
        chat.wait_for("● bash");
        chat.say("then check the ropes");
        chat.wait_for("  1 › then check the ropes");
        chat.say("and paint the mast");
        chat.wait_for("  2 › and paint the mast");
        shots.now("two wait", &chat);
        chat.keys(ALT_UP);
        chat.wait_for_last("› and paint the mast");
        shots.now("one is taken back", &chat);
        chat.keys("\u{15}");
        chat.keys(&format!("sail north{CTRL_S}"));
        chat.wait_for("» sail north");
        shots.now("one is heard next", &chat);
        world.write("tide", "high");
        chat.wait_for_words("as you say.");
        chat.wait_for_words("all 40 of them.");
        chat.wait_for_prompt();
        chat.leave();
        chat.each_once([
            "› sail with the tide",
            "› sail north",
            "as you say.",
            "› then check the ropes",
            "all 40",
        ]);
        let all = chat.terminal.all();
        assert!(!all.iter().any(|row| row.contains("paint the mast")), "{all:#?}");
        shots.all(&mut chat)
    });
}
