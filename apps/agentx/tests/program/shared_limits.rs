//! A limit of a run holds for all agents that are made in it, however they are made: the program asks no
//! model beyond it, ends with 6 and says which limit it was.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use crate::common::Sandbox;
use serde_json::Value;

/// A watcher polls forever; each answer of the scripted environment costs some 25 tokens.
const SCRIPT: &str = r#"
- { system: "You look.*", result: "*", call: { tool: bash, input: { command: "true" } } }
- { system: "You look.*", call: { tool: bash, input: { command: "true" } } }
- { system: "You flow.*", result: "*", say: never }
- { system: "You flow.*", call: { tool: crowd, input: {} } }
- { system: "You ask.*", result: "*works in the background*", say: It is on its way. }
- { system: "You ask.*", input: "back", call: { tool: delegate, input: { agent: scout, input: look, background: true } } }
- { system: "You ask.*", input: "go", call: { tool: delegate, input: { agent: scout, input: look } } }
- { system: "You ask.*", say: never }
"#;

const CROWD: &str = r#"
name: crowd
description: Many agents, one after the other.
params: {}
capabilities: { agents: ["*"], tools: [bash], models: ["*"] }
lua: |
  function invoke(ctx, args)
    for at = 1, 5 do
      local child = ctx.create_agent("scout", {prompt = "You look.", tools = {"bash"}})
      child:input("look")
      pcall(function() return child:collect() end)
    end
    return "ended"
  end
"#;

fn office() -> Sandbox {
    let sandbox = Sandbox::new();
    let agents = "agents: [{ $ref: 'agent:scout' }]";
    let route = "route: [{ rules: [go], agent: { $ref: 'agent:scout' } }]";
    sandbox
        .write(
            "ws/.agentx/config.yaml",
            "scripted_answers: script.yaml\nlimits: { max_tokens: 200 }\n",
        )
        .write("ws/.agentx/script.yaml", SCRIPT)
        .write("ws/.agentx/tools/crowd.yaml", CROWD)
        .write(
            "ws/.agentx/agents/chief.yaml",
            format!("name: chief\ntype: react\nprompt: You ask.\n{agents}\n"),
        )
        .write(
            "ws/.agentx/agents/desk.yaml",
            format!("name: desk\ntype: match\nrules: [{{ name: go, patterns: [go] }}]\n{route}\n"),
        )
        .write(
            "ws/.agentx/agents/flow.yaml",
            "name: flow\ntype: react\nprompt: You flow.\ntools: [{ $ref: 'tool:crowd' }]\n",
        )
        .write(
            "ws/.agentx/agents/scout.yaml",
            "name: scout\ntype: react\nprompt: You look.\ntools: [{ $ref: 'tool:bash' }]\n",
        );
    sandbox
}

/// Runs an agent, and returns the lines that it prints.
fn run(sandbox: &Sandbox, agent: &str, input: &str) -> Vec<Value> {
    let args = [
        "run",
        "--agent",
        agent,
        "--yes",
        "--output-format",
        "stream-json",
        input,
    ];
    let ran = sandbox.run(&args);
    assert_eq!(ran.code, Some(6), "{agent} {input}: {ran}");
    assert!(
        ran.stderr
            .contains("the limit of 200 tokens in one run is reached"),
        "{ran}"
    );
    ran.stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn no_model_is_asked_beyond_the_limit_whoever_would_ask() {
    let sandbox = office();
    for (agent, input) in [("chief", "go"), ("chief", "back"), ("desk", "go"), ("flow", "go")] {
        let lines = run(&sandbox, agent, input);
        let begun = lines
            .iter()
            .filter(|line| line["event"] == "message_start")
            .count();
        assert!((4..=10).contains(&begun), "{agent} {input}: {begun} answers");
        // Who looks for the desk has used up a limit of its own with the same answer.
        let run = if agent == "desk" {
            "one run"
        } else {
            &format!("one run of agent {agent}")
        };
        let whose = format!("the limit of 200 tokens in {run} is reached");
        let ends: Vec<String> = lines
            .iter()
            .filter(|line| line["event"] == "run_finished" && line["payload"]["status"] == "timed_out")
            .map(|line| line["payload"]["reason"].to_string())
            .collect();
        assert!(
            ends.iter().any(|why| why.contains(&whose)),
            "{agent} {input}: {ends:?}"
        );
        assert!(
            !lines.iter().any(|line| line["payload"]["text"] == "never"),
            "{agent} {input}"
        );
    }
}

#[test]
fn the_call_that_made_the_agent_says_so_and_how_long_it_took() {
    let sandbox = office();
    let lines = run(&sandbox, "chief", "go");
    let failed = lines
        .iter()
        .find(|line| line["event"] == "tool_failed" && line["payload"]["name"] == "delegate")
        .unwrap();
    let failed = &failed["payload"];
    assert_eq!(failed["status"], "timed_out");
    let why = failed["error"].as_str().unwrap();
    assert!(
        why.starts_with("Agent scout did not come to its end: the limit of 200 tokens"),
        "{why}"
    );
    assert!(failed["duration_ms"].as_u64() > Some(0), "{failed}");
}
