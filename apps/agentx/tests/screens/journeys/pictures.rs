//! Pictures in a conversation, and a model that takes none.

use serde_json::json;

use crate::model::Part;
use crate::stage::{Stage, World};

/// A picture without pixels, and how it is sent.
const PICTURE: &[u8] = b"GIF89a\x02\0\x03\0\0\0\0,;";
const SENT: &str = "R0lGODlhAgADAAAAACw7";

#[test]
fn a_model_that_takes_no_pictures_is_told_of_them_and_so_is_who_chooses_it() {
    let blind = "  blind:\n    provider: stone\n    id: blind-1\n    images: false\n    context_window: 200000\n    max_output_tokens: 8000\n";
    let read = Part::Call("read", json!({ "path": "pic.png" }));
    let world = World::configured(
        vec![
            vec![Part::Say("A garden.".into())],
            vec![Part::Say("I cannot see it.".into()), read],
            vec![Part::Say("Still not.".into())],
        ],
        blind,
    );
    world.write("pic.png", PICTURE);
    let mut chat = Stage::chat(&world, &[], 80);
    chat.say("what is in @pic.png");
    chat.wait_for("A garden.");
    chat.wait_for_prompt();
    chat.say("/model blind");
    chat.wait_for_words("now using blind-1");
    chat.wait_for_words(
        "the one in this conversation is not sent to it, only mentioned by name: blind-1 does not accept images",
    );
    chat.wait_for("blind-1 · 2.5k/200.0k");
    chat.wait_for_prompt();
    chat.say("and now?");
    chat.wait_for_words("pic.png is a picture (image/gif, 15 bytes), and blind-1");
    chat.wait_for("Still not.");
    chat.wait_for_prompt();
    chat.leave();
    assert!(world.asked(0).contains(SENT));
    assert!(
        world
            .asked(2)
            .contains("and blind-1 takes none: it cannot be shown to you")
    );
    for request in [world.asked(1), world.asked(2)] {
        assert!(!request.contains(SENT), "{request}");
        assert!(
            request.contains("[pic.png (image/gif): a picture, and this model takes none]"),
            "{request}"
        );
    }
}
