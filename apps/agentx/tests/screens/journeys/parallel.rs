//! Several tools at once, which end in another order than they began.

use serde_json::json;

use crate::model::Part;
use crate::stage::{Stage, World};
use crate::{Shots, in_every_width};

/// A command that says something, waits for a file, and says something more.
fn waits_for(name: &str) -> Part {
    let command = format!(
        "for n in 1 2 3 4; do echo {name} line $n; done; until [ -e {name}.go ]; do sleep 0.02; done; echo {name} ends"
    );
    Part::Call("bash", json!({ "command": command }))
}

#[test]
fn parallel_tools() {
    in_every_width("parallel_tools", |width| {
        let world = World::of_model(vec![
            vec![
                Part::Say("I ask the baker, the smith and the miller at once.".into()),
                waits_for("baker"),
                waits_for("smith"),
                waits_for("miller"),
            ],
            vec![Part::Say("All three have answered.".into())],
        ]);
        let mut chat = Stage::chat(&world, &["--yes"], width);
        let mut shots = Shots::new(width);
        chat.say("ask everybody");
        for name in ["baker", "smith", "miller"] {
            let (short, long) = (format!(" · {}…", &name[..4]), format!("· {name} line 4"));
            chat.wait(&long, |terminal| {
                let screen = terminal.screen();
                screen
                    .iter()
                    .any(|row| row.contains(&short) || row.contains(&long))
            });
        }
        chat.wait_for("Esc stops");
        shots.now("all of them run", &chat);
        for name in ["miller", "baker", "smith"] {
            world.write(&format!("{name}.go"), "go");
            chat.wait_for(&format!("│ {name} ends"));
        }
        chat.wait_for("All three have answered.");
        chat.wait_for_prompt();
        chat.leave();
        chat.each_once(["› ask everybody", "I ask the baker", "All three have answered."]);
        for name in ["baker", "smith", "miller"] {
            chat.each_once([
                &*format!("│ {name} line 1"),
                &format!("│ {name} line 4"),
                &format!("│ {name} ends"),
            ]);
        }
        shots.all(&mut chat)
    });
}
