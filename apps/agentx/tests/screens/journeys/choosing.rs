//! The lists below the line: commands, models, files; filtered while typing, and taken or closed by a key.

use crate::model::Part;
use crate::stage::{Stage, World};
use crate::{Shots, in_every_width};

const ESC: &str = "\u{1b}";
const CLEAR_LINE: &str = "\u{15}";
const DOWN: &str = "\u{1b}[B";

/// A second model, for which no key is there.
const OPALINE: &str = "  opaline:\n    provider: anthropic\n    id: opaline-2\n    context_window: 100000\n    \
                       prices: { input: 1.00, output: 2.00 }\n";

#[test]
fn lists_of_commands_models_and_files() {
    in_every_width("lists_below_the_line", |width| {
        let world = World::configured(vec![vec![Part::Say("I see it.".into())]], OPALINE);
        world
            .write("harbour.md", "# Harbour\n")
            .write("haven.md", "# Haven\n");
        let mut chat = Stage::chat(&world, &[], width);
        let mut shots = Shots::new(width);
        chat.keys("/");
        chat.wait_for("▸ help");
        shots.now("a slash", &chat);
        let row = chat.terminal.cursor().0;
        chat.keys("co");
        chat.wait_for_gone("▸ help");
        chat.keys(DOWN);
        chat.wait_for("▸ compact");
        shots.now("a part of a name, and the second one", &chat);
        assert_eq!(chat.terminal.cursor().0, row, "the line stays where it is");
        chat.keys(ESC);
        chat.wait_for_gone("▸ compact");
        assert_eq!(chat.terminal.cursor().0, row, "also without the list");
        chat.keys(CLEAR_LINE);
        chat.say("/model");
        chat.wait_for("▸ opal ");
        chat.keys("opal");
        chat.wait_for_gone("claude-");
        chat.wait_for("opaline ");
        shots.now("models, of which one has no key", &chat);
        chat.keys("\r");
        chat.wait_for_words("now using opal-1");
        chat.keys("look at @ha");
        chat.wait_for("▸ harbour.md");
        shots.now("files", &chat);
        chat.keys(DOWN);
        chat.wait_for("▸ haven.md");
        chat.keys("\r");
        chat.wait_for_last("› look at @haven.md");
        shots.now("the second one is taken", &chat);
        chat.keys("\r");
        chat.wait_for("I see it.");
        chat.wait_for_prompt();
        assert!(world.asked(0).contains("# Haven"), "{}", world.asked(0));
        chat.leave();
        shots.all(&mut chat)
    });
}
