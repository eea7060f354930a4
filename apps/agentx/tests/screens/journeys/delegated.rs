//! Work that an agent gives to another one: who does what, and an answer that is longer than its place.

use serde_json::json;

use crate::model::Part;
use crate::stage::{Stage, World};
use crate::{Shots, in_every_width};

#[test]
fn a_delegated_task() {
    in_every_width("a_delegated_task", |width| {
        let beds: String = (1..=40).map(|n| format!("- bed **{n}**\n")).collect();
        let world = World::of_model(vec![
            vec![
                Part::Say("I ask the scout.".into()),
                Part::Call("delegate", json!({ "agent": "scout", "input": "List the beds." })),
            ],
            vec![Part::Say(beds)],
            vec![Part::Say("There are 40 beds.".into())],
        ]);
        let chief = "name: chief\ntype: react\nprompt: You ask.\nagents: [{ $ref: 'agent:scout' }]\n";
        world.write(".agentx/agents/chief.yaml", chief).write(
            ".agentx/agents/scout.yaml",
            "name: scout\ntype: react\nprompt: You look.\n",
        );
        let mut chat = Stage::chat(&world, &["chat", "--agent", "chief"], width);
        let shots = Shots::new(width);
        chat.say("which beds are there?");
        chat.wait_for("There are 40 beds.");
        chat.wait_for_prompt();
        chat.keys("\u{f}");
        chat.wait_for("└ done · ");
        chat.wait_for_prompt();
        chat.leave();
        chat.each_once([
            "› which beds",
            "I ask the scout.",
            "scout │ • bed 2",
            "24 lines (Ctrl-O shows more)",
            "scout │ • bed 40",
            "There are 40 beds.",
            "│ • bed 20",
            "continue with:",
        ]);
        shots.all(&mut chat)
    });
}
