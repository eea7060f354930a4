//! `agentx run` at a terminal: the answer looks as in a chat; in a pipe it is what the model wrote.

use crate::model::Part;
use crate::stage::{Stage, World};

const ANSWER: &str = "It is **high**.\n\n- ships\n- tides\n\n```\nlet harbour = tide + ships + lighthouse + keeper;\n```\n\nDone.";

#[test]
fn an_answer_is_rendered_at_a_terminal_and_raw_in_a_pipe() {
    let said = || vec![Part::Say(ANSWER.into())];
    let world = World::of_model(vec![said(), said(), said()]);
    for flags in [&["run", "how is it?"][..], &["run", "--quiet", "how is it?"]] {
        let mut run = Stage::start(&world, flags, 40);
        run.wait_for("Done.");
        let rows = run.terminal.all();
        let has = |row: &str| rows.iter().any(|shown| shown.trim_end() == row);
        assert!(has("It is high.") && has("• ships") && !has("```"), "{rows:#?}");
        // The terminal breaks the line of code, so that it is copied as one.
        assert!(has("  let harbour = tide + ships + lighthous"), "{rows:#?}");
    }
    let piped = world.run(&["run", "how is it?"]);
    assert_eq!(piped.stdout, format!("{ANSWER}\n"), "{piped}");
}
