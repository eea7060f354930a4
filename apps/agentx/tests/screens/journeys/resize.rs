//! Another width while an answer streams.

use crate::model::Part;
use crate::stage::{Stage, World};
use crate::{Shots, in_every_width};

/// Paragraphs that take several rows in a narrow terminal, each with a number.
fn part(numbers: std::ops::Range<usize>) -> Part {
    let paragraph = |n: usize| {
        format!(
            "№{n:02} The boats lie in the harbour and wait for the tide, 船在港口里等着潮水, and nobody is in a hurry.\n\n"
        )
    };
    Part::Say(numbers.map(paragraph).collect())
}

/// Whether the screen was painted in this width: how the session stands has room beside what is waited for,
/// or not.
fn is_of(width: u16, screen: &[String]) -> bool {
    let row = screen.iter().find(|row| row.contains("Esc stops"));
    row.is_some_and(|row| row.contains("Esc stops   ") == (width >= 80))
}

#[test]
fn resize_in_mid_stream() {
    in_every_width("resize_in_mid_stream", |width| {
        let other = if width == 40 { 100 } else { 48 };
        let world = World::of_model(vec![vec![
            part(1..12),
            Part::Say("№12 Here the answer".into()),
            Part::Hold,
            Part::Say(" goes on in another width.\n\n".into()),
            part(13..20),
            Part::Say("№20 And here".into()),
            Part::Hold,
            Part::Say(" in the first one again.\n\n".into()),
            part(21..24),
        ]]);
        let mut chat = Stage::chat(&world, &[], width);
        let mut shots = Shots::new(width);
        chat.say("tell me about the boats");
        chat.wait_for("№12 Here the answer");
        chat.wait_for("Esc stops");
        chat.keys("a draft");
        chat.wait_for_last("› a draft");
        chat.resize(other);
        chat.wait("the line again", |terminal| {
            let screen = terminal.screen();
            is_of(other, &screen)
                && screen.last().is_some_and(|row| row == "› a draft")
                && terminal.cursor().1 == 10
        });
        shots.now(&format!("{other} now"), &chat);
        world.go_on();
        chat.wait_for("№20 And here");
        chat.resize(width);
        chat.wait("the first width", |terminal| is_of(width, &terminal.screen()));
        world.go_on();
        chat.wait_for("№23");
        chat.wait("the end", |terminal| {
            let screen = terminal.screen();
            screen.last().is_some_and(|row| row == "› a draft")
                && !screen.iter().any(|row| row.contains("Esc stops"))
        });
        chat.keys("\u{15}");
        chat.wait_for_prompt();
        chat.leave();
        let marks: Vec<String> = (1..24).map(|n| format!("№{n:02}")).collect();
        chat.each_once(marks.iter().map(String::as_str));
        shots.all(&mut chat)
    });
}
