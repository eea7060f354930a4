//! Agents that need no file: a run delegates to them without any configuration, they decide about calls as
//! their maker does, a file of the same name replaces one, and a setting turns them off.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use crate::common::{Ran, Sandbox};

/// A made-up model: the first agent hands its work on, and the other one runs a command.
const SCRIPT: &str = r#"
- { system: "*Another agent gave you this task*", result: "Not allowed*", say: The hill is closed. }
- { system: "*Another agent gave you this task*", result: "*", say: The hill is empty. }
- { system: "*Another agent gave you this task*", call: { tool: bash, input: { command: "touch made" } } }
- { system: "You look.*", say: The file says so. }
- { result: "*There is no tool*", say: I do it myself. }
- { result: "*", say: Nobody is there. }
- { call: { tool: delegate, input: { agent: general, input: look } } }
"#;

fn sandbox(settings: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox
        .write(
            "ws/.agentx/config.yaml",
            format!("scripted_answers: script.yaml\n{settings}"),
        )
        .write("ws/.agentx/script.yaml", SCRIPT);
    sandbox
}

fn go(sandbox: &Sandbox, approve: &str) -> Ran {
    let format = ["--output-format", "stream-json"];
    sandbox.run(&[&["run", "--approve", approve, "go"], &format[..]].concat())
}

#[test]
fn work_is_delegated_without_any_configuration() {
    let ran = go(&sandbox(""), "auto");
    assert!(ran.stdout.contains("The hill is empty."), "{ran}");
    assert!(ran.stdout.contains("Nobody is there."), "{ran}");
}

#[test]
fn the_mode_of_the_run_reaches_the_agent_that_it_makes() {
    let ran = go(&sandbox(""), "deny");
    assert!(ran.stdout.contains("The hill is closed."), "{ran}");
}

#[test]
fn a_setting_turns_the_built_in_agents_off() {
    let ran = go(&sandbox("tools: { disabled: [delegate] }\n"), "auto");
    assert!(ran.stdout.contains("I do it myself."), "{ran}");
    assert!(!ran.stdout.contains("The hill"), "{ran}");
}

#[test]
fn a_file_of_the_same_name_replaces_a_built_in_agent() {
    let sandbox = sandbox("");
    sandbox.write(
        "ws/.agentx/agents/general.yaml",
        "name: general\ntype: react\nprompt: You look.\n",
    );
    let ran = go(&sandbox, "auto");
    assert!(ran.stdout.contains("The file says so."), "{ran}");
    assert!(ran.stdout.contains("Nobody is there."), "{ran}");
    assert!(!ran.stdout.contains("The hill"), "{ran}");
}

/// An agent of a person's own file, as users of other programs expect it.
#[test]
fn an_agent_of_a_persons_file_is_delegated_to_without_being_listed_unless_a_setting_says_no() {
    let sandbox = sandbox("");
    sandbox
        .write(
            "ws/.agentx/script.yaml",
            SCRIPT.replace("agent: general", "agent: scout"),
        )
        .write(
            "home/.claude/agents/scout.md",
            "---\nname: scout\ndescription: Looks around. Made up.\n---\nYou look.\n",
        );
    let ran = go(&sandbox, "auto");
    assert!(ran.stdout.contains("The file says so."), "{ran}");
    assert!(ran.stdout.contains("Nobody is there."), "{ran}");
    sandbox.config("tools: {own_agents: false}\n");
    let ran = go(&sandbox, "auto");
    assert!(!ran.stdout.contains("The file says so."), "{ran}");
    assert!(ran.stdout.contains("Nobody is there."), "{ran}");
}
