//! Files that a newcomer brings from Claude Code: agents of the folder and of the person, and rules that can
//! only make things stricter.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

use std::fs;

use crate::common::{Ran, Sandbox};

/// A made-up agent, as its author writes it.
const REVIEWER: &str = "---\nname: reviewer\ndescription: Use it: after changes\ntools: Read, Bash, NotebookEdit\n\
                        model: inherit\n---\nYou review made-up changes.\n";

/// The tools of an agent that is shown, by name.
fn tools_of(agent: &Ran) -> Vec<&str> {
    let mut lines = agent.stdout.lines();
    let tools = lines.find_map(|line| line.strip_prefix("tools: "));
    let mut names: Vec<&str> = tools.unwrap_or_default().split(", ").collect();
    names.sort_unstable();
    names
}

#[test]
fn an_agent_of_the_folder_is_used_once_it_was_trusted_and_until_it_changes() {
    let sandbox = Sandbox::new().of_a_stranger();
    sandbox.write("ws/.claude/agents/reviewer.md", REVIEWER);
    let listed = sandbox.run(&["agents", "list"]);
    assert!(!listed.stdout.contains("reviewer"), "{listed}");
    let shown = sandbox.run(&["config", "trust", "--show"]);
    assert!(shown.stdout.contains("agent reviewer"), "{shown}");
    assert_eq!(sandbox.run(&["config", "trust"]).code, Some(0));
    let agent = sandbox.run(&["agents", "show", "reviewer"]);
    assert_eq!(tools_of(&agent), ["bash", "read"], "{agent}");
    assert!(agent.stdout.contains("You review made-up changes."), "{agent}");
    let checked = sandbox.run(&["agents", "check"]);
    assert_eq!(checked.code, Some(0), "{checked}");
    assert!(checked.stderr.contains("reviewer.md:4:"), "{checked}");
    assert!(checked.stderr.contains("`NotebookEdit`"), "{checked}");
    assert!(!checked.stderr.contains("so the agent uses"), "{checked}");
    sandbox.write(
        "ws/.claude/agents/other.md",
        "---\nname: other\ndescription: Made up\nmodel: no-such-model\n---\nYou help.\n",
    );
    let checked = sandbox.run(&["agents", "check"]);
    assert_eq!(checked.code, Some(0), "{checked}");
    let replaced = "other.md: the model `no-such-model` is not known here, so the agent uses that of";
    let told: Vec<&str> = checked.stderr.split_whitespace().collect();
    assert!(told.join(" ").contains(replaced), "{checked}");
    fs::remove_file(sandbox.path("ws/.claude/agents/other.md")).unwrap();
    sandbox.write(
        "ws/.claude/agents/reviewer.md",
        REVIEWER.replace("Read,", "Read, Write,"),
    );
    let changed = sandbox.run(&["run", "hello"]);
    assert!(
        changed
            .stderr
            .contains("so not loaded: .claude/agents/reviewer.md"),
        "{changed}"
    );
    let agent = sandbox.run(&["agents", "show", "reviewer"]);
    assert_ne!(agent.code, Some(0), "{agent}");
}

#[test]
fn an_agent_of_the_person_needs_no_trust() {
    let sandbox = Sandbox::new().of_a_stranger();
    sandbox.write("home/.claude/agents/reviewer.md", REVIEWER);
    let agent = sandbox.run(&["agents", "show", "reviewer"]);
    assert_eq!(tools_of(&agent), ["bash", "read"], "{agent}");
}

#[test]
fn a_link_to_a_file_with_secrets_is_not_an_agent() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "ws/.claude/.credentials.json",
        "---\nname: x\n---\nmade-up-secret\n",
    );
    fs::create_dir_all(sandbox.path("ws/.claude/agents")).unwrap();
    std::os::unix::fs::symlink("../.credentials.json", sandbox.path("ws/.claude/agents/x.md")).unwrap();
    let agent = sandbox.run(&["agents", "show", "x"]);
    assert_ne!(agent.code, Some(0), "{agent}");
    assert!(!agent.to_string().contains("made-up-secret"), "{agent}");
}

#[test]
fn rules_of_the_folder_that_deny_count_without_trust_and_those_that_allow_never() {
    let sandbox = Sandbox::new().of_a_stranger();
    sandbox.config("approval: auto\n").write(
        "ws/.claude/settings.json",
        r#"{"permissions": {"deny": ["Bash(touch:*)"], "allow": ["Bash(make:*)"]}}"#,
    );
    let listed = sandbox.run(&["approvals", "list"]);
    assert!(listed.stdout.contains("deny bash \"touch *\""), "{listed}");
    assert!(!listed.stdout.contains("make"), "{listed}");
    for decided in ["of_a_stranger", "trusted"] {
        let tested = sandbox.run(&["approvals", "test", "bash", "touch made.txt"]);
        assert!(
            tested.to_string().contains("settings.json:1"),
            "{decided}: {tested}"
        );
        sandbox.run(&["config", "trust"]);
    }
    let ran = sandbox.run(&["run", "hello"]);
    assert!(
        ran.stderr.contains(
            "note: of .claude/settings.json, AgentX does not read: permissions.allow; `agentx doctor` says"
        ),
        "{ran}"
    );
    let doctor = sandbox.run(&["--json", "doctor", "--offline"]);
    assert!(
        doctor
            .to_string()
            .contains("agentx approvals add allow bash 'make *' --here"),
        "{doctor}"
    );
    // The chat names the file, too.
    let listed = sandbox.run_with_input(&["chat"], "/approvals\n");
    assert!(listed.stdout.contains("settings.json:1"), "{listed}");
    let removed = sandbox.run(&["approvals", "remove", "1"]);
    assert_ne!(removed.code, Some(0), "{removed}");
    assert!(removed.stderr.contains("a file of another program"), "{removed}");
}
