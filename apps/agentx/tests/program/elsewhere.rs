//! A session continues from another directory than its own with the tools of its own; what is gone there is
//! said.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use crate::common::{Ran, Sandbox};
use serde_json::Value;

const AGENT: &str = "name: host\nprompt: You greet people.\ntools:\n  - $ref: tool:greet\n";
const TOOL: &str = "name: greet
description: Greets a person.
params:
  name: { type: string, description: Whom }
lua: |
  function invoke(ctx, args)
    return \"hello from the workspace\"
  end
";

/// Returns the number of calls of the tool with its result.
fn greetings(ran: &Ran) -> usize {
    let events = ran
        .stdout
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let greeted = |event: &Value| {
        event["event"] == "tool_result" && event.to_string().contains("hello from the workspace")
    };
    events.filter(greeted).count()
}

#[test]
fn a_session_goes_on_from_elsewhere_with_its_own_tools() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/.agentx/agents/host.yaml", AGENT);
    sandbox.write("ws/.agentx/tools/greet.yaml", TOOL);
    sandbox.write("other/notes.txt", "nothing");
    let stream = ["--yes", "--output-format", "stream-json"];
    let first = sandbox.run(&[&["run", "--agent", "host"], &stream[..], &["Please greet Ada"]].concat());
    assert_eq!((first.code, greetings(&first)), (Some(0), 1), "{first}");
    let listed = sandbox.command(&["sessions", "list", "--json"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let id = listed
        .split('"')
        .find(|word| word.starts_with("ses_"))
        .unwrap()
        .to_owned();
    let other = sandbox.path("other");
    let again = || {
        let rest = [
            "--session",
            &id,
            "--cwd",
            other.to_str().unwrap(),
            "Please greet Bob",
        ];
        sandbox.run(&[&["run"], &stream[..], &rest].concat())
    };
    let second = again();
    assert_eq!((second.code, greetings(&second)), (Some(0), 1), "{second}");
    assert!(!second.stderr.contains("note: the session works in"), "{second}");
    std::fs::remove_file(sandbox.path("ws/.agentx/tools/greet.yaml")).unwrap();
    let third = again();
    assert_eq!((third.code, greetings(&third)), (Some(0), 0), "{third}");
    assert!(
        third.stderr.contains("note: the session works in") && third.stderr.contains("greet"),
        "{third}"
    );
    let fourth = again();
    assert!(
        !fourth.stderr.contains("note: the session works in"),
        "it is said once: {fourth}"
    );
}
