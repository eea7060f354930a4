//! Leaving while the agent works and messages are queued, and coming back to them.

use serde_json::json;

use crate::model::Part;
use crate::stage::{Stage, World};
use crate::{Shots, in_every_width};

#[test]
fn leave_with_a_queue_and_come_back() {
    in_every_width("leave_with_a_queue", |width| {
        let world = World::of_model(vec![
            vec![
                Part::Say("I wait for the tide.".into()),
                Part::Call(
                    "bash",
                    json!({ "command": "until [ -e tide ]; do sleep 0.02; done; echo high" }),
                ),
            ],
            vec![Part::Say("The ropes are checked, all 40 of them.".into())],
            vec![Part::Say("The mast is painted.".into())],
        ]);
        let mut shots = Shots::new(width);
        let mut chat = Stage::chat(&world, &["--yes"], width);
        chat.say("sail with the tide");
        chat.wait_for("● bash");
        chat.say("then check the ropes");
        chat.wait_for("  1 › then check the ropes");
        chat.say("and paint the mast");
        chat.wait_for("  2 › and paint the mast");
        // The first one says that something runs.
        chat.keys("\u{4}");
        chat.leave();
        chat.wait_for_words("2 messages stay queued; resume the session and press Enter to send them");
        shots.now("left with two messages in the queue", &chat);

        let mut chat = Stage::start(&world, &["--yes", "resume", "--last"], width);
        chat.wait_for("  1 › then check the ropes");
        chat.wait_for("  2 › and paint the mast");
        chat.wait_for_prompt();
        shots.now("back again: nothing has begun", &chat);
        chat.keys("\r");
        chat.wait_for_words("all 40 of them.");
        chat.wait_for_words("The mast is painted.");
        chat.wait_for_prompt();
        // Who types the word alone leaves, as in a shell.
        chat.say("exit");
        assert_eq!(chat.end(), Some(0));
        chat.each_once([
            "› then check the ropes",
            "all 40",
            "› and paint the mast",
            "The mast is",
        ]);
        shots.all(&mut chat)
    });
}

#[test]
fn commands_in_the_background_are_shown_and_named_before_leaving() {
    let waits = |sign: &str| format!("until [ -e {sign} ]; do sleep 0.02; done; echo high");
    let starts = |sign: &str| {
        Part::Call(
            "bash",
            json!({ "command": waits(sign), "run_in_background": true }),
        )
    };
    let world = World::of_model(vec![
        // One after the other, so that the first is `job_1`.
        vec![starts("tide")],
        vec![starts("never")],
        vec![Part::Say("Both of them wait.".into())],
        vec![Part::Say("It is high, I hear.".into())],
        vec![Part::Say("No, it is gone.".into())],
    ]);
    let mut chat = Stage::chat(&world, &["--yes"], 80);
    chat.say("wait in the background");
    chat.wait_for("Both of them wait.");
    chat.wait_for(" · 2 jobs");
    chat.wait_for_prompt();
    world.write("tide", "high");
    chat.wait_for("· job_1 has ended: exit 0");
    chat.wait_for(" · 1 job");
    chat.say("and now?");
    chat.wait_for("It is high, I hear.");
    chat.wait_for_prompt();
    chat.keys("\u{4}");
    chat.wait_for("1 job is still running: until [ -e never ]");
    chat.leave();
    chat.wait_for("1 job was ended: until [ -e never ]");

    // Who comes back is not reported again; the model is.
    let ran = world.run(&["run", "--last", "--yes", "and tomorrow?"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "No, it is gone.\n"),
        "{ran}"
    );
    assert!(!ran.stderr.contains("ended now"), "{ran}");
    let told = "[Commands in the background were still running when the program that ran them stopped, and have been ended: until [ -e never ]";
    assert!(world.asked(4).contains(told), "{}", world.asked(4));
}

#[test]
fn what_a_persons_own_command_said_is_there_after_leaving_and_the_agent_reads_it() {
    let world = World::of_model(vec![
        vec![Part::Say("All is ready.".into())],
        vec![Part::Say("I see the tide table.".into())],
    ]);
    world.write("tide.txt", "high at noon\n");
    let mut chat = Stage::chat(&world, &[], 80);
    chat.say("are we ready?");
    chat.wait_for("All is ready.");
    chat.wait_for_prompt();
    chat.say("!cat tide.txt");
    chat.wait_for("└ exit 0");
    chat.wait_for_prompt();
    chat.each_once(["│ high at noon"]);
    chat.leave();
    let mut chat = Stage::start(&world, &["resume", "--last"], 80);
    chat.wait_for("All is ready.");
    chat.wait_for("› !cat tide.txt");
    chat.wait_for("└ exit 0");
    chat.wait_for_prompt();
    chat.say("what do you see?");
    chat.wait_for("I see the tide table.");
    chat.wait_for_prompt();
    chat.each_once(["│ high at noon", "› what do you see?"]);
    chat.leave();
}
