//! Models that stall, and a key that is wrong.

use serde_json::json;

use crate::model::Part;
use crate::stage::{Stage, World};
use crate::{Shots, in_every_width};

#[test]
fn a_model_that_stalls() {
    in_every_width("a_model_that_stalls", |width| {
        let limits = "model_calls:\n  first_byte_timeout: 1s\n  idle_timeout: 1s\n";
        let world = World::configured(
            vec![
                vec![Part::Say("The tide is high, and the".into()), Part::Hold],
                vec![Part::Say("The tide is high, and the ships lie still.".into())],
                vec![Part::Hold],
            ],
            limits,
        );
        let mut chat = Stage::chat(&world, &[], width);
        let mut shots = Shots::new(width);
        chat.say("how is the tide?");
        chat.wait_for_words("high, and the");
        chat.wait_for("Esc stops");
        shots.now("it says nothing more", &chat);
        chat.wait_for_words("so the call is not retried automatically");
        chat.wait_for_prompt();
        chat.say("go on");
        chat.wait_for_words("ships lie still.");
        chat.wait_for_prompt();
        chat.say("and the wind?");
        chat.wait_for("waiting for opal-1");
        chat.wait("it gives up", |terminal| {
            terminal
                .all()
                .iter()
                .any(|row| row.contains("■ ") || row.contains("✗ "))
        });
        chat.wait_for_prompt();
        chat.leave();
        chat.each_once([
            "› how is the tide?",
            "› go on",
            "ships lie still.",
            "› and the wind?",
        ]);
        shots.all(&mut chat)
    });
}

#[test]
fn a_key_that_is_wrong() {
    in_every_width("a_key_that_is_wrong", |width| {
        let error = json!({ "type": "error",
            "error": { "type": "authentication_error", "message": "invalid x-api-key" } });
        let world = World::of_model(vec![
            vec![Part::Refuse("401 Unauthorized", error)],
            vec![Part::Say("Now I am here.".into())],
        ]);
        let mut chat = Stage::chat(&world, &[], width);
        let shots = Shots::new(width);
        chat.say("is anybody there?");
        chat.wait_for_words("invalid x-api-key");
        chat.wait_for_prompt();
        chat.say("and now?");
        chat.wait_for("Now I am here.");
        chat.wait_for_prompt();
        chat.leave();
        let all = chat.terminal.all().concat();
        assert!(!all.contains("sk-opal"), "the key is nobody's business:\n{all}");
        chat.each_once(["› is anybody there?", "› and now?", "Now I am here."]);
        shots.all(&mut chat)
    });
}
