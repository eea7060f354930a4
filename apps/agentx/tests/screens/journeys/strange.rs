//! A folder that a person starts in for the first time, and that brings instructions and settings.

use crate::stage::{Stage, World};
use crate::{Shots, in_every_width};

#[test]
fn in_a_strange_folder() {
    in_every_width("in_a_strange_folder", |width| {
        let world = World::of_a_stranger();
        world.write("AGENTS.md", "Answer in one sentence.\n");
        world.write(".agentx/config.yaml", "chat:\n  thinking: hidden\n");
        let mut shots = Shots::new(width);
        let mut chat = Stage::start(&world, &[], width);
        chat.wait_for_words("How far do you trust it?");
        shots.now("not trusted yet", &chat);
        chat.say("3");
        chat.wait_for_words("Give these instructions to the model?");
        shots.now("its instructions", &chat);
        chat.say("n");
        chat.wait_for_prompt();
        chat.say("hello");
        chat.wait_for_words("built-in demo");
        chat.wait_for_prompt();
        chat.leave();
        let mut again = Stage::chat(&world, &[], width);
        again.wait_for_words("this folder is restricted");
        shots.now("the second start", &again);
        again.leave();
        shots.all(&mut chat)
    });
}
