//! Esc, whatever goes on.

use serde_json::json;

use crate::model::Part;
use crate::stage::{Stage, World};
use crate::{Shots, in_every_width};

const ESC: &str = "\u{1b}";

fn answers() -> Vec<Vec<Part>> {
    let run = |command: &str| Part::Call("bash", json!({ "command": command }));
    vec![
        vec![Part::Hold],
        vec![Part::Think("It may be that the tide is high.".into()), Part::Hold],
        vec![
            Part::Say("The tide is high, and the ships in the harbour".into()),
            Part::Hold,
        ],
        vec![Part::Say("I look.".into()), run("echo never"), Part::Hold],
        vec![run("echo it runs; sleep 100")],
        vec![run("touch never")],
        vec![Part::Refuse("529 Overloaded\r\nretry-after: 30", overloaded())],
        vec![Part::Hold],
        vec![Part::Say("All is well.".into())],
    ]
}

fn overloaded() -> serde_json::Value {
    json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } })
}

#[test]
fn an_interrupt_in_each_phase() {
    in_every_width("an_interrupt_in_each_phase", |width| {
        let rule = "rules:\n  - {effect: allow, tool: bash, argument: \"echo *\"}\n  - {effect: allow, tool: bash, argument: \"sleep *\"}\ncondense: {keep: 1}\n";
        let world = World::configured(answers(), rule);
        let mut chat = Stage::chat(&world, &[], width);
        let mut shots = Shots::new(width);
        // All that it thinks, if there is room to say how much that is.
        let thinks = if width > 40 { "8 words" } else { "opal-1 thinks" };
        let phases = [
            ("waiting", "waiting for opal-1"),
            ("thinking", thinks),
            ("answering", "ships in the harbour"),
            ("planning", "opal-1 is calling a tool"),
            ("running", "│ it runs"),
            ("asked", "allow? y once"),
            ("trying again", "opal-1 failed, retrying in"),
        ];
        for (phase, sign) in phases {
            chat.say(&format!("while {phase}"));
            chat.wait_for_words(sign);
            if phase == "waiting" {
                // Its answer is the next one's otherwise.
                chat.wait("the request is there", |_| world.requests() == 1);
            }
            if phase == "asked" {
                chat.wait_for_question();
            } else if width > 40 || phase != "trying again" {
                chat.wait("how it is stopped", |terminal| {
                    terminal.screen().iter().any(|row| row.contains("Esc s"))
                });
            }
            shots.now(phase, &chat);
            let before = count(&mut chat, "■ stopped");
            chat.keys(ESC);
            chat.wait("it stops", |terminal| {
                let rows = terminal.all();
                rows.iter().filter(|row| row.contains("■ stopped")).count() == before + 1
            });
            chat.wait_for_prompt();
        }
        chat.say("/compact");
        chat.wait_for_words("condensing earlier messages");
        shots.now("condensing", &chat);
        chat.keys(ESC);
        chat.wait_for_prompt();
        chat.say("and now?");
        chat.wait_for("All is well.");
        chat.wait_for_prompt();
        chat.leave();
        assert!(!world.path("never").exists());
        let said = phases.map(|(phase, _)| format!("› while {phase}"));
        chat.each_once(
            said.iter()
                .map(String::as_str)
                .chain(["› and now?", "All is well."]),
        );
        shots.all(&mut chat)
    });
}

fn count(chat: &mut Stage<'_>, text: &str) -> usize {
    chat.terminal
        .all()
        .iter()
        .filter(|row| row.contains(text))
        .count()
}
