//! Going back with files, trying another way, comparing the two.

use crate::stage::{Stage, World};
use crate::{Shots, in_every_width};

fn notes(world: &World) -> String {
    std::fs::read_to_string(world.path("notes.txt")).unwrap()
}

#[test]
fn rewind_with_files() {
    in_every_width("rewind_with_files", |width| {
        let world = World::of_demo();
        world.write("notes.txt", "one\nhello\nthree\n");
        let mut chat = Stage::chat(&world, &["--yes"], width);
        let mut shots = Shots::new(width);
        chat.say("replace hello with bye in notes.txt");
        chat.wait_for_words("replaced 1 occurrence, at line 2.");
        chat.wait_for_prompt();
        chat.say("write fresh words to new.txt");
        chat.wait_for_words("Created new.txt");
        chat.wait_for_prompt();
        chat.say("/rewind");
        chat.wait_for_words("before which message? number · Enter cancels ›");
        shots.now("what can be gone back to", &chat);
        chat.say("1");
        chat.wait_for_words("rewind? b both · c conversation · f files · d diff · n cancel ›");
        shots.now("what it would undo", &chat);
        chat.say("b");
        chat.wait_for_words("file put back");
        chat.wait_for_words("› replace hello with bye in notes.txt");
        assert_eq!(notes(&world), "one\nhello\nthree\n");
        assert!(!world.path("new.txt").exists());
        chat.keys("\u{15}/rewind undo\r");
        chat.wait_for_words("undo this restore? y yes · d diff · n cancel ›");
        chat.say("f");
        chat.wait("the files again", |_| world.path("new.txt").exists());
        chat.wait_for_prompt();
        assert_eq!(notes(&world), "one\nbye\nthree\n");
        chat.leave();
        chat.each_once([
            "› write fresh words",
            "Created new.txt",
            "2 files, +1 -2",
            "you are now in",
            "› /rewind undo",
            "2 files, +2 -1",
            "continue with",
        ]);
        shots.all(&mut chat)
    });
}

#[test]
fn fork_and_diff() {
    in_every_width("fork_and_diff", |width| {
        let world = World::of_demo();
        world.write("notes.txt", "one\nhello\nthree\n");
        let mut chat = Stage::chat(&world, &["--yes"], width);
        let shots = Shots::new(width);
        chat.say("hello");
        chat.wait_for_words("or say help.");
        chat.wait_for_prompt();
        chat.say("/fork");
        chat.wait_for("ses_");
        chat.wait_for_prompt();
        chat.say("replace hello with bye in notes.txt");
        chat.wait_for_words("replaced 1 occurrence, at line 2.");
        chat.wait_for_prompt();
        chat.say("/diff");
        chat.wait_for("+bye");
        chat.wait_for_prompt();
        chat.leave();
        chat.each_once([
            "› hello",
            "› /fork",
            "Edited notes.txt",
            "› /diff",
            "continue with",
        ]);
        shots.all(&mut chat)
    });
}
