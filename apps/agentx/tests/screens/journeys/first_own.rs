//! From the first start, which is the offline demo, to a first answer of an own model on a server of this
//! machine, and its first call.

use serde_json::json;

use crate::model::Part;
use crate::stage::{Stage, World};
use crate::{Shots, in_every_width};

#[test]
fn first_own_model() {
    in_every_width("first_own_model", |width| {
        let world = World::without_settings(vec![
            vec![
                Part::Say("I look at the tide table.".into()),
                Part::Call("bash", json!({ "command": "cat tides.txt" })),
            ],
            vec![Part::Say("The tide is high at noon.".into())],
        ]);
        world.write("tides.txt", "high at noon\n");
        let mut shots = Shots::new(width);
        let mut chat = Stage::start(&world, &[], width);
        chat.wait_for("offline demo");
        chat.wait_for_prompt();
        shots.now("the first start, without a model", &chat);
        chat.say("/quit");
        assert_eq!(chat.end(), Some(0));

        // The keys of the README, one after the other.
        for (key, value) in [
            ("providers.local.base_url", &*world.address()),
            ("providers.local.api", "anthropic"),
            ("providers.local.auth", "none"),
            ("models.opal-1.provider", "local"),
            ("models.opal-1.context_window", "32768"),
            ("model", "opal-1"),
        ] {
            let set = world.run(&["config", "set", key, value]);
            assert_eq!(set.code, Some(0), "{set}");
        }
        // The command of the model only reads; the journey shows the question about a call.
        let asks = world.run(&["config", "set", "tools.reading_commands", "ask"]);
        assert_eq!(asks.code, Some(0), "{asks}");
        let mut doctor = Stage::start(&world, &["doctor"], width);
        assert_eq!(doctor.end(), Some(0), "{:#?}", doctor.screen());
        doctor.wait_for_words("opal-1 of local");
        doctor.wait_for_words("is reachable");

        let mut chat = Stage::chat(&world, &[], width);
        chat.say("when is the tide high?");
        chat.wait_for_question();
        shots.now("the first question about a call", &chat);
        chat.say("y");
        chat.wait_for_words("high at noon.");
        chat.wait_for_prompt();
        chat.leave();
        chat.each_once(["› when is the tide", "allowed once", "The tide is high"]);
        shots.all(&mut chat)
    });
}
