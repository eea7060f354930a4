//! The first start: no key, no session, nothing known.

use crate::stage::{Stage, World};
use crate::{Shots, in_every_width};

#[test]
fn first_start() {
    in_every_width("first_start", |width| {
        let world = World::of_demo();
        let mut chat = Stage::chat(&world, &[], width);
        let shots = Shots::new(width);
        chat.say("hello");
        chat.wait_for_words("built-in demo");
        chat.wait_for_prompt();
        chat.leave();
        chat.each_once(["offline demo", "› hello", "continue with"]);
        shots.all(&mut chat)
    });
}
