//! V0: every action and every observation. All logs here are made up.

use agentx_openhands::{ActionType, AgentState, Log, LogFile, ObservationType, WordRole};
use agentx_types::{
    AgentConfig, ApprovalMode, ContentPart, Envelope, EnvironmentEvent, NanoUsd, RunStatus, SessionImported,
    ToolStatus,
};
use serde_json::{Value, json};

use crate::session::{conversation, ends, fold, imported, of_log, statuses, tags};

fn said(id: u64, text: &str) -> Value {
    json!({"id": id, "source": "user", "action": "message", "args": {"content": text}})
}

fn answered(id: u64, text: &str) -> Value {
    json!({"id": id, "source": "agent", "action": "message", "args": {"content": text, "wait_for_response": true}})
}

fn acted(id: u64, word: &str, args: Value) -> Value {
    json!({"id": id, "source": "agent", "action": word, "args": args})
}

fn observed(id: u64, cause: u64, word: &str, text: &str) -> Value {
    json!({"id": id, "source": "agent", "cause": cause, "observation": word, "content": text, "extras": {}})
}

fn state(id: u64, word: &str) -> Value {
    json!({"id": id, "source": "environment", "observation": "agent_state_changed", "content": "",
        "extras": {"agent_state": word, "reason": "made up"}})
}

/// Returns an action of an answer with several actions. `response` is the answer's id.
fn called(id: u64, response: &str, call: &str, calls: &Value) -> Value {
    json!({"id": id, "source": "agent", "action": "run", "args": {"command": call, "thought": "Both."},
        "tool_call_metadata": {"function_name": "execute_bash", "tool_call_id": call, "total_calls_in_response": 2,
            "model_response": {"id": response, "model": "claude-test", "usage": {"prompt_tokens": 100, "completion_tokens": 9,
                "prompt_tokens_details": {"cached_tokens": 60}}, "choices": [{"message": {"content": "Both.", "tool_calls": calls}}]}}})
}

#[test]
fn every_action_of_an_agent_is_what_its_row_says() {
    for row in ActionType::TABLE {
        let log = json!([
            said(0, "Go."),
            acted(
                1,
                row.word,
                json!({"command": "ls", "agent": "Other", "inputs": {"task": "Look."}, "thought": "So."})
            ),
            observed(2, 1, row.word, "seen"),
            answered(3, "Done."),
        ]);
        let imported = imported(&log);
        let tags = tags(&imported);
        let has = |tag: &str| tags.contains(&tag);
        match row.role {
            WordRole::Call if row.word == "delegate" => assert!(has("agent_spawned"), "{tags:?}"),
            WordRole::Call | WordRole::LastCall => {
                assert_eq!(
                    tags.iter().filter(|tag| **tag == "tool_call").count(),
                    1,
                    "{}: {tags:?}",
                    row.word
                );
                assert!(
                    conversation(&imported).contains(&"tool: => seen".to_owned()),
                    "{}: {:?}",
                    row.word,
                    conversation(&imported)
                );
            }
            WordRole::Stop => assert_eq!(ends(&imported)[0], RunStatus::Interrupted, "{}", row.word),
            WordRole::Configuration => {}
            WordRole::Counted => {
                let name = format!("action {}", row.word);
                assert_eq!(
                    imported.report.left_out.get(&name),
                    Some(&1),
                    "{:?}",
                    imported.report
                );
            }
            _ => assert!(matches!(row.word, "message" | "condensation"), "{}", row.word),
        }
        assert_eq!(imported.report.events, 4);
        assert!(
            conversation(&imported)
                .iter()
                .any(|line| line == "assistant: Done."),
            "{}",
            row.word
        );
    }
}

#[test]
fn every_observation_of_a_call_is_its_result() {
    for row in ObservationType::TABLE {
        let log = json!([
            said(0, "Go."),
            acted(1, "run", json!({"command": "ls"})),
            observed(2, 1, row.word, "seen"),
            answered(3, "Done."),
        ]);
        let imported = imported(&log);
        let lines = conversation(&imported);
        let (is_result, status) = match row.word {
            "agent_state_changed" | "chat" | "loop_detection" => (false, ToolStatus::Unknown),
            "error" => (true, ToolStatus::Failed),
            "user_rejected" => (true, ToolStatus::Denied),
            _ => (true, ToolStatus::Success),
        };
        assert_eq!(
            lines.iter().any(|line| line.ends_with("=> seen")),
            is_result,
            "{}: {lines:?}",
            row.word
        );
        if row.word != "loop_detection" {
            assert_eq!(statuses(&imported), [status], "{}", row.word);
        }
    }
}

#[test]
fn every_observation_without_a_call_is_an_input_a_call_or_counted() {
    for row in ObservationType::TABLE {
        let mut seen = observed(2, 77, row.word, "seen");
        seen["extras"] = json!({"command": "ls", "repo_instructions": "seen"});
        let imported = imported(&json!([said(0, "Go."), seen, answered(3, "Done.")]));
        let lines = conversation(&imported).join("\n");
        let counted = imported
            .report
            .left_out
            .keys()
            .any(|name| name.contains(row.word) || name.contains("state"));
        let stops = row.word == "loop_detection";
        assert!(
            lines.contains("seen") || counted || stops,
            "{}: {lines} {:?}",
            row.word,
            imported.report
        );
    }
}

#[test]
fn every_state_is_the_status_of_the_run_or_counted() {
    for row in AgentState::TABLE {
        let imported = imported(&json!([said(0, "Go."), state(1, row.word)]));
        let expected: &[RunStatus] = match row.role {
            WordRole::Stop => &[RunStatus::Interrupted],
            WordRole::Failure => &[RunStatus::Failed],
            _ => &[],
        };
        assert_eq!(ends(&imported), expected, "{}", row.word);
        let name = format!("state {}", row.word);
        assert_eq!(
            imported.report.left_out.contains_key(&name),
            row.role == WordRole::Counted,
            "{}",
            row.word
        );
    }
}

#[test]
fn calls_of_one_answer_are_one_answer() {
    let calls = json!([
        {"id": "a", "function": {"name": "execute_bash", "arguments": "{\"command\": \"one\"}"}},
        {"id": "b", "function": {"name": "execute_bash", "arguments": "{\"command\": \"two\"}"}},
    ]);
    let log = json!([
        said(0, "Go."),
        called(1, "resp", "a", &calls),
        observed(2, 1, "run", "first"),
        called(3, "resp", "b", &calls),
        observed(4, 3, "run", "second"),
        answered(5, "Done."),
    ]);
    let imported = imported(&log);
    let lines = conversation(&imported);
    let expected = [
        "user: Go.",
        "assistant: Both.|execute_bash({\"command\":\"one\"})|execute_bash({\"command\":\"two\"})",
        "tool: => first",
        "tool: => second",
        "assistant: Done.",
    ];
    assert_eq!(lines, expected);
    let usage = fold(&imported).state().unwrap().usage;
    assert_eq!(
        (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens),
        (40, 60, 9)
    );
    assert_eq!(
        fold(&imported).root_agent().unwrap().config().model.reference(),
        "anthropic/claude-test"
    );
}

#[test]
fn cost_is_what_was_added_to_the_total() {
    let priced = |id: u64, cost: f64| {
        let mut event = answered(id, "So.");
        event["llm_metrics"] = json!({"accumulated_cost": cost, "accumulated_token_usage": {"prompt_tokens": id * 10, "completion_tokens": id}});
        event
    };
    let imported = imported(&json!([
        said(0, "A"),
        priced(1, 0.5),
        said(2, "B"),
        priced(3, 0.75)
    ]));
    let state = fold(&imported).state().unwrap();
    assert_eq!(
        (state.cost, state.usage.input_tokens, state.usage.output_tokens),
        (NanoUsd(750_000_000), 30, 3)
    );
}

#[test]
fn a_call_that_a_person_confirmed_is_one_call() {
    for (answer, status) in [
        ("confirmed", ToolStatus::Success),
        ("rejected", ToolStatus::Denied),
    ] {
        let confirms = answer == "confirmed";
        let mut log = vec![
            said(0, "Go."),
            acted(
                1,
                "run",
                json!({"command": "ls", "thought": "T", "confirmation_state": "awaiting_confirmation"}),
            ),
            state(2, "awaiting_user_confirmation"),
            json!({"id": 3, "source": "user", "action": "change_agent_state", "args": {"agent_state": format!("user_{answer}")}}),
        ];
        if confirms {
            log.push(acted(
                4,
                "run",
                json!({"command": "ls", "thought": "", "confirmation_state": "confirmed"}),
            ));
            log.push(observed(5, 4, "run", "out"));
        } else {
            log.push(observed(5, 1, "user_rejected", "No."));
        }
        log.push(answered(6, "Done."));
        let imported = imported(&Value::Array(log));
        assert_eq!(statuses(&imported), [status]);
        assert!(imported.report.added.is_empty(), "{:?}", imported.report);
    }
}

#[test]
fn a_delegated_task_is_an_agent_of_its_own() {
    let log = json!([
        said(0, "Go."),
        acted(
            1,
            "delegate",
            json!({"agent": "Browser", "inputs": {"task": "Look."}, "thought": "Ask."})
        ),
        said(2, "TASK: Look."),
        acted(3, "browse", json!({"url": "https://example.org"})),
        observed(4, 3, "browse", "a page"),
        acted(
            5,
            "finish",
            json!({"final_thought": "It is a page.", "outputs": {}})
        ),
        observed(
            6,
            1,
            "delegate",
            "Delegated agent finished with result:\n\n It is a page."
        ),
        answered(7, "Done."),
    ]);
    let imported = imported(&log);
    let lines = conversation(&imported);
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines[1].starts_with("assistant: Ask.|delegate("), "{lines:?}");
    assert_eq!(lines[2], "tool: => It is a page.");
    let tags = tags(&imported);
    for tag in ["agent_spawned", "agent_closed"] {
        assert_eq!(tags.iter().filter(|found| **found == tag).count(), 1, "{tags:?}");
    }
    let child = imported.events.iter().find_map(|fact| match &fact.event {
        EnvironmentEvent::AgentSpawned(spawned) => Some(spawned.agent_state_id.clone()),
        _ => None,
    });
    let inside = imported.events.iter().filter(|fact| fact.agent_state_id == child);
    assert!(inside.count() > 8, "the child's own events are addressed to it");
}

/// The name and the claims of a tool in a log do not decide about calls here.
#[test]
fn no_agent_of_a_log_runs_a_tool_unasked() {
    let log = json!([
        said(0, "Go."),
        acted(
            1,
            "delegate",
            json!({"agent": "bash", "inputs": {"task": "Look."}})
        ),
        acted(3, "bash", json!({"command": "id"})),
        observed(4, 3, "bash", "me"),
        observed(6, 1, "delegate", "Done."),
        answered(7, "Done."),
    ]);
    let imported = imported(&log);
    let mut fold = fold(&imported);
    let last = imported.events.last().unwrap();
    fold.advance(&Envelope {
        seq: last.seq + 1,
        event: SessionImported { workspace: None }.into(),
        agent_state_id: None,
        run_id: None,
        cause: None,
        ..last.clone()
    });
    let mut left: Vec<AgentConfig> = fold
        .agents()
        .map(|agent| agent.config().as_ref().clone())
        .collect();
    let mut checked = 0;
    while let Some(config) = left.pop() {
        assert_eq!(config.approval, ApprovalMode::Ask, "{}", config.name);
        let has_bash = config.tools.iter().any(|tool| tool.name == "bash");
        assert!(!has_bash, "{}: the program adds its own", config.name);
        checked += 1;
        left.extend(config.agents);
    }
    assert!(checked > 2, "{checked}");
}

#[test]
fn a_delegate_that_did_not_finish_answers_with_what_its_parent_heard() {
    let log = json!([
        said(0, "Go."),
        acted(
            1,
            "delegate",
            json!({"agent": "Browser", "inputs": {"task": "Look."}})
        ),
        acted(3, "browse", json!({"url": "https://example.org"})),
        observed(6, 1, "delegate", "It failed."),
        answered(7, "Done."),
    ]);
    let imported = imported(&log);
    let lines = conversation(&imported);
    assert_eq!(
        &lines[2..],
        ["tool: => It failed.", "assistant: Done."],
        "{lines:?}"
    );
}

#[test]
fn a_command_of_a_person_is_no_call() {
    let log = json!([
        json!({"id": 0, "source": "user", "action": "run", "args": {"command": "pwd"}}),
        json!({"id": 1, "source": "environment", "cause": 0, "observation": "run", "content": "/here",
            "extras": {"command": "pwd", "metadata": {"exit_code": 0}}}),
        said(2, "Go."),
        answered(3, "Done."),
    ]);
    let imported = imported(&log);
    let EnvironmentEvent::CommandRan(ran) = &imported.events[1].event else {
        panic!("{:?}", tags(&imported))
    };
    assert_eq!(
        (ran.command.as_str(), ran.output.as_str(), ran.how.as_str()),
        ("pwd", "/here", "exit 0")
    );
}

#[test]
fn inputs_are_where_the_model_read_them() {
    let log = json!([
        said(0, "One."),
        said(1, "Two."),
        acted(2, "run", json!({"command": "ls"})),
        said(3, "Three."),
        observed(4, 2, "run", "out"),
        json!({"id": 5, "source": "environment", "observation": "error", "content": "Be careful."}),
        answered(6, "Done."),
        answered(7, "Really."),
    ]);
    let imported = imported(&log);
    let expected = [
        "user: One.|\n\n|Two.",
        "assistant: run({\"command\":\"ls\"})",
        "tool: => out",
        "user: Three.",
        "user: Be careful.",
        "assistant: Done.",
        "user: [The log continues here without an input.]",
        "assistant: Really.",
    ];
    assert_eq!(conversation(&imported), expected);
    assert_eq!(imported.report.added["input of a run without one"], 1);
}

#[test]
fn a_condensation_is_a_summary_of_its_events() {
    let mut log = Vec::new();
    for round in 0..4 {
        log.push(said(round * 2, &format!("Question {round}.")));
        log.push(answered(round * 2 + 1, &format!("LoggedAnswer {round}.")));
    }
    for args in [
        json!({"forgotten_event_ids": [2, 3, 4, 5], "summary": "They talked."}),
        json!({"forgotten_events_start_id": 2, "forgotten_events_end_id": 5, "summary": "They talked."}),
    ] {
        let mut log = log.clone();
        log.push(acted(8, "condensation", args));
        log.extend([said(9, "And?"), answered(10, "That.")]);
        let lines = conversation(&imported(&Value::Array(log)));
        let text = lines.join("\n");
        assert!(
            text.contains("They talked.") && !text.contains("Question 1") && !text.contains("LoggedAnswer 2"),
            "{text}"
        );
        assert!(
            text.contains("Question 0") && text.contains("Question 3"),
            "{text}"
        );
    }
}

#[test]
fn unknown_words_are_kept_and_named() {
    let log = json!([
        said(0, "Go."),
        acted(1, "dance", json!({"steps": 3})),
        observed(2, 1, "applause", "clap"),
        json!({"id": 3, "source": "environment", "observation": "weather", "content": "rain"}),
        json!({"id": 4, "source": "environment", "action": "sleep", "args": {}}),
        json!({"id": 5, "source": "environment"}),
        state(6, "dreaming"),
        answered(7, "Done."),
    ]);
    let imported = imported(&log);
    let lines = conversation(&imported);
    assert_eq!(
        lines[1..4],
        ["assistant: dance({\"steps\":3})", "tool: => clap", "user: rain"]
    );
    let left: Vec<&str> = imported.report.left_out.keys().map(String::as_str).collect();
    assert_eq!(
        left,
        [
            "unknown action sleep",
            "unknown event without an action or an observation",
            "unknown state dreaming"
        ]
    );
    assert_eq!(imported.report.kinds["observation weather"], 1);
}

#[test]
fn calls_without_an_observation_are_unknown_and_ids_are_used_once() {
    let log = json!([
        said(0, "Go."),
        acted(1, "run", json!({"command": "a"})),
        acted(2, "run", json!({"command": "b"})),
        observed(3, 2, "run", "out"),
        acted(2, "run", json!({"command": "c"})),
        observed(4, 2, "run", "again"),
    ]);
    let imported = imported(&log);
    assert_eq!(
        statuses(&imported),
        [ToolStatus::Unknown, ToolStatus::Success, ToolStatus::Success]
    );
    assert_eq!(imported.report.added["unknown outcome of a call"], 1);
}

#[test]
fn a_second_observation_of_a_call_is_not_lost() {
    let mut call = called(1, "resp", "a", &json!([]));
    call["tool_call_metadata"]["total_calls_in_response"] = json!(1);
    let mut second = observed(3, 1, "run", "second");
    second["extras"] = json!({"command": "ls"});
    let log = json!([
        said(0, "Go."),
        call,
        observed(2, 1, "run", "first"),
        second,
        answered(4, "Done.")
    ]);
    let lines = conversation(&imported(&log));
    assert!(lines.contains(&"tool: => first".to_owned()), "{lines:?}");
    assert!(lines.contains(&"tool: => second".to_owned()), "{lines:?}");
}

#[test]
fn a_stop_reaches_the_agents_that_were_given_work() {
    let log = json!([
        said(0, "Go."),
        acted(
            1,
            "delegate",
            json!({"agent": "Browser", "inputs": {"task": "Look."}})
        ),
        acted(2, "browse", json!({"url": "https://example.org"})),
        observed(3, 2, "browse", "a page"),
        state(4, "paused"),
        said(5, "Go on."),
        answered(6, "Done."),
    ]);
    let imported = imported(&log);
    assert_eq!(ends(&imported)[0], RunStatus::Interrupted);
    let lines = conversation(&imported);
    assert_eq!(
        lines[lines.len() - 2..],
        ["user: Go on.", "assistant: Done."],
        "{lines:?}"
    );
}

#[test]
fn huge_texts_and_pictures_are_blobs() {
    let mut huge = observed(2, 1, "run", &"x".repeat(3_000_000));
    huge["extras"] =
        json!({"metadata": {"exit_code": 2, "working_dir": "/w"}, "old_content": "y".repeat(100_000)});
    let picture = "data:image/png;base64,AAAA";
    let mut page = observed(4, 3, "browse", "a page");
    page["extras"] = json!({"screenshot": picture});
    let mut input = said(0, "Go.");
    input["args"]["image_urls"] = json!([picture, "no picture"]);
    let log = json!([
        input,
        acted(1, "run", json!({"command": "cat"})),
        huge,
        acted(3, "browse", json!({"url": "u"})),
        page
    ]);
    let imported = imported(&log);
    assert_eq!(imported.blobs.len(), 2, "the output, and the picture once");
    let size = serde_json::to_string(&imported.events).unwrap().len();
    assert!(size < 400_000, "{size}");
    let EnvironmentEvent::ToolResult(result) = &imported
        .events
        .iter()
        .find(|fact| matches!(fact.event, EnvironmentEvent::ToolResult(_)))
        .unwrap()
        .event
    else {
        panic!()
    };
    let details = result.details.as_ref().unwrap();
    assert_eq!(
        (result.status, &details["exit_code"]),
        (ToolStatus::Failed, &json!(2))
    );
    assert!(details["blob"].as_str().unwrap().starts_with("b3_"));
    let ContentPart::Text(text) = &result.result[0] else {
        panic!()
    };
    assert!(
        text.text
            .ends_with("[Current working directory: /w]\n[Command finished with exit code 2]")
    );
    assert_eq!(imported.report.left_out["picture that cannot be read"], 1);
}

#[test]
fn old_logs_without_ids_and_sources_pair_by_kind() {
    let log = json!({"issue": {"title": "A bug"}, "history": [
        {"action": "message", "content": "Fix it.", "wait_for_response": false},
        {"action": "run", "command": "ls", "thought": "Look."},
        {"observation": "run", "content": "a", "command": "ls", "exit_code": 1, "command_id": -1},
        {"action": "message", "content": "Shall I?", "wait_for_response": true},
        {"action": "message", "content": "Yes.", "wait_for_response": false},
        {"action": "finish", "outputs": {}, "thought": "Fixed."},
    ]});
    let imported = imported(&log);
    let expected = [
        "user: Fix it.",
        "assistant: Look.|run({\"command\":\"ls\"})",
        "tool: !=> a\n[Command finished with exit code 1]",
        "assistant: Shall I?",
        "user: Yes.",
        "assistant: Fixed.|finish({\"outputs\":{}})",
        "tool: => Fixed.",
    ];
    assert_eq!(conversation(&imported), expected);
    assert_eq!(imported.title, "A bug");
    assert_eq!(ends(&imported), [RunStatus::Completed, RunStatus::Completed]);
}

#[test]
fn files_of_a_folder_are_in_the_order_of_their_numbers() {
    let file = |name: &str, event: Value| LogFile {
        name: name.into(),
        text: event.to_string(),
    };
    let files = vec![
        file("10.json", answered(10, "Last.")),
        file("2.json", answered(2, "Second.")),
        file("9.json", said(9, "Third.")),
        file("0.json", said(0, "First.")),
    ];
    let imported = of_log(&Log::of_folder(files, None).unwrap());
    assert_eq!(
        conversation(&imported),
        [
            "user: First.",
            "assistant: Second.",
            "user: Third.",
            "assistant: Last."
        ]
    );
}
