//! Code that is copied from the terminal: a line that takes several rows is one line, whatever width the
//! terminal had meanwhile.

use crate::WIDTHS;
use crate::model::Part;
use crate::stage::{Stage, World};

/// A line that is longer than any of the terminals is wide.
fn long_line() -> String {
    let steps: Vec<String> = (0..16).map(|n| format!(".then(step_{n})")).collect();
    format!("let harbour = boats{};", steps.concat())
}

#[test]
fn a_line_of_code_is_copied_whole() {
    for width in WIDTHS {
        let (line, other) = (long_line(), if width == 40 { 100 } else { 48 });
        // The end of a word is shown with the next piece, because it may be the beginning of a secret.
        let middle = line[..line.len() / 2].rfind('(').unwrap() + 1;
        let (half, rest) = line.split_at(middle);
        let world = World::of_model(vec![vec![
            Part::Say(format!(
                "Before:\n\n```rust\n{line}\n```\n\nAnd then:\n\n```\n{half}"
            )),
            Part::Hold,
            Part::Say(format!("{rest}\nend();\n```\n\nThat is all of it.")),
        ]]);
        let mut chat = Stage::chat(&world, &[], width);
        chat.say("show me the code");
        let is_half_there = |terminal: &mut crate::terminal::Terminal| {
            terminal
                .copied()
                .iter()
                .any(|copied| *copied == format!("  {half}"))
        };
        chat.wait("half of the second line", is_half_there);
        chat.resize(other);
        chat.wait("half of it in the other width", |terminal| {
            // How the session stands has room beside what is waited for, or not.
            let screen = terminal.screen();
            let row = screen.iter().find(|row| row.contains("Esc stops"));
            let is_painted = row.is_some_and(|row| row.contains("Esc stops   ") == (other >= 80));
            is_painted && is_half_there(terminal)
        });
        world.go_on();
        chat.wait_for("That is all of it.");
        chat.wait_for_prompt();
        chat.leave();
        let copied = chat.terminal.copied();
        let whole = copied
            .iter()
            .filter(|copied| **copied == format!("  {line}"))
            .count();
        assert_eq!(whole, 2, "{width} columns:\n{}", copied.join("\n"));
        assert_eq!(copied.iter().filter(|copied| *copied == "  end();").count(), 1);
    }
}
