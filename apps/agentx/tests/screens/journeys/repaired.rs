//! A session whose history the vendor refuses: what it names is left out once, and the session continues.

use serde_json::json;

use crate::model::Part;
use crate::stage::{Stage, World};
use crate::{Shots, in_every_width};

#[test]
fn a_dead_session_repairs_itself() {
    in_every_width("a_dead_session_repairs_itself", |width| {
        let error = json!({ "type": "error", "error": { "type": "invalid_request_error",
            "message": "messages.1.content.0: Invalid `signature` in `thinking` block" } });
        let world = World::of_model(vec![
            vec![
                Part::Think("A harbour, then.".into()),
                Part::Say("The harbour is empty.".into()),
            ],
            vec![Part::Refuse("400 Bad Request", error)],
            vec![Part::Say("The ships are out at sea.".into())],
            vec![Part::Say("They come home at dusk.".into())],
        ]);
        let mut chat = Stage::chat(&world, &[], width);
        let shots = Shots::new(width);
        chat.say("what do you see?");
        chat.wait_for_words("harbour is empty.");
        chat.wait_for_prompt();
        chat.say("where are the ships?");
        chat.wait_for_words("out at sea.");
        chat.wait_for_prompt();
        chat.say("when do they come home?");
        chat.wait_for_words("home at dusk.");
        chat.wait_for_prompt();
        chat.leave();
        for request in [world.asked(2), world.asked(3)] {
            assert!(!request.contains("A harbour, then."), "{request}");
        }
        chat.each_once([
            "› where are the ships?",
            "out at sea.",
            "› when do they come home?",
        ]);
        shots.all(&mut chat)
    });
}
