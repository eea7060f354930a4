//! A paste of 5,000 lines.

use crate::model::Part;
use crate::stage::{Stage, World};
use crate::{Shots, in_every_width};

#[test]
fn a_paste_of_5000_lines() {
    in_every_width("a_paste_of_5000_lines", |width| {
        let world = World::of_model(vec![vec![Part::Say("That is a long log.".into())]]);
        let mut chat = Stage::chat(&world, &[], width);
        let mut shots = Shots::new(width);
        let text: Vec<String> = (1..=5_000)
            .map(|n| format!("entry {n:04} of the log 船"))
            .collect();
        chat.keys("look: ");
        chat.paste(&text.join("\n"));
        chat.wait_for_words("[pasted 1: 5000 lines");
        chat.keys(" what is wrong?");
        chat.wait_for_words("what is wrong?");
        shots.now("before it is sent", &chat);
        chat.keys("\r");
        chat.wait_for("That is a long log.");
        chat.wait_for_prompt();
        let sent = world.asked(0);
        let entries = sent.match_indices("entry ").map(|(at, _)| &sent[at..at + 10]);
        let is_numbered = |entry: &&str| entry.ends_with(|c: char| c.is_ascii_digit());
        let entries: Vec<&str> = entries.filter(is_numbered).collect();
        let expected: Vec<&str> = text.iter().map(|line| &line[..10]).collect();
        assert_eq!(entries, expected, "each line was sent once, in order");
        for line in [&text[0], &text[2_500], &text[4_999]] {
            assert_eq!(sent.matches(line.as_str()).count(), 1, "{line} was sent");
        }
        chat.leave();
        chat.each_once(["what is wrong?", "That is a long log."]);
        let all = chat.terminal.all();
        let shows_entry = all.iter().any(|row| row.contains("entry "));
        assert!(!shows_entry, "the paste is folded: {all:#?}");
        shots.all(&mut chat)
    });
}
