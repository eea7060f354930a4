//! V1: every kind of event. All logs here are made up.

use agentx_openhands::{EventKind, Log, LogFile, WordRole};
use agentx_types::{NanoUsd, RunStatus, ToolStatus};
use serde_json::{Value, json};

use crate::session::{conversation, ends, fold, imported, of_log, statuses, tags};

fn event(id: &str, kind: &str, source: &str, fields: Value) -> Value {
    let mut event =
        json!({"id": id, "timestamp": "2026-01-02T03:04:05.000006", "source": source, "kind": kind});
    for (key, value) in fields.as_object().unwrap() {
        event[key] = value.clone();
    }
    event
}

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

fn said(id: &str, source: &str, words: &str) -> Value {
    let role = if source == "agent" { "assistant" } else { "user" };
    event(
        id,
        "MessageEvent",
        source,
        json!({"llm_message": {"role": role, "content": text(words)}}),
    )
}

fn called(id: &str, response: &str, call: &str, thought: &str) -> Value {
    event(
        id,
        "ActionEvent",
        "agent",
        json!({
        "thought": if thought.is_empty() { json!([]) } else { text(thought) }, "reasoning_content": null, "thinking_blocks": [],
        "action": {"command": "ls", "kind": "TerminalAction"}, "tool_name": "terminal", "tool_call_id": call,
        "tool_call": {"id": call, "name": "terminal", "arguments": "{\"command\": \"ls\"}"},
        "llm_response_id": response, "security_risk": "LOW", "summary": "list"}),
    )
}

fn observed(id: &str, call: &str, words: &str, exit_code: i64) -> Value {
    event(
        id,
        "ObservationEvent",
        "environment",
        json!({"tool_name": "terminal", "tool_call_id": call, "action_id": "x",
        "observation": {"kind": "TerminalObservation", "content": text(words), "is_error": false, "exit_code": exit_code,
            "metadata": {"exit_code": exit_code, "working_dir": "/w"}}}),
    )
}

#[test]
fn a_conversation_has_its_answers_calls_and_results() {
    let mut second = called("4", "r", "b", "");
    second["reasoning_content"] = json!("unused");
    let mut first = called("3", "r", "a", "I look.");
    first["reasoning_content"] = json!("Hm.");
    let log = json!([
        event(
            "1",
            "SystemPromptEvent",
            "agent",
            json!({"system_prompt": {"type": "text", "text": "Be good."},
            "tools": [{"type": "function", "function": {"name": "terminal", "description": "Runs.", "parameters": {"type": "object"}}}]})
        ),
        said("2", "user", "Go."),
        first,
        second,
        observed("5", "b", "two", 0),
        observed("6", "a", "one", 1),
        said("7", "agent", "Done."),
        said("8", "user", "Thanks."),
    ]);
    let imported = imported(&log);
    let expected = [
        "user: Go.",
        "assistant: <Hm.>|I look.|terminal({\"command\":\"ls\"})|terminal({\"command\":\"ls\"})",
        "tool: !=> one\n[Current working directory: /w]\n[Command finished with exit code 1]",
        "tool: => two\n[Current working directory: /w]\n[Command finished with exit code 0]",
        "assistant: Done.",
        "user: Thanks.",
    ];
    assert_eq!(conversation(&imported), expected);
    let state = fold(&imported);
    let config = state.root_agent().unwrap().config();
    assert_eq!(
        (&*config.system_prompt, config.tools[0].description.as_str()),
        ("Be good.", "Runs.")
    );
    assert_eq!(imported.created_at.0, 1_767_323_045_000_006);
}

#[test]
fn every_kind_is_what_its_row_says() {
    for row in EventKind::TABLE {
        let fields = json!({"llm_message": {"content": text("words")}, "tool_name": "terminal", "tool_call_id": "a", "error": "broke",
            "rejection_reason": "no", "observation": {"kind": "X", "content": text("words")}, "summary": "words", "code": "Made",
            "detail": "up", "key": "execution_status", "value": "running", "title": "look", "status": "completed", "raw_output": "words"});
        let is_call = matches!(row.word, "ActionEvent" | "ACPToolCallEvent");
        let before = if is_call {
            said("3", "user", "And.")
        } else {
            called("3", "r", "a", "I look.")
        };
        let source = if is_call { "agent" } else { "environment" };
        let log = json!([
            said("2", "user", "Go."),
            before,
            event("4", row.word, source, fields),
            said("5", "agent", "Done.")
        ]);
        let imported = imported(&log);
        let lines = conversation(&imported).join("\n");
        let tags = tags(&imported);
        match row.role {
            WordRole::Configuration => assert_eq!(imported.report.kinds["SystemPromptEvent"], 1),
            WordRole::Input => assert!(lines.contains("user: words"), "{}: {lines}", row.word),
            WordRole::Call => assert!(tags.contains(&"tool_call"), "{}", row.word),
            WordRole::Outcome => {
                let expected = match row.word {
                    "UserRejectObservation" => (ToolStatus::Denied, "Action rejected: no"),
                    "AgentErrorEvent" => (ToolStatus::Failed, "broke"),
                    _ => (ToolStatus::Success, "words"),
                };
                assert_eq!(statuses(&imported), [expected.0], "{}", row.word);
                assert!(lines.contains(expected.1), "{}: {lines}", row.word);
            }
            WordRole::Stop => assert_eq!(ends(&imported)[0], RunStatus::Interrupted, "{}", row.word),
            WordRole::Failure => assert_eq!(ends(&imported)[0], RunStatus::Failed, "{}", row.word),
            WordRole::Summary | WordRole::Usage | WordRole::Counted => {
                assert_eq!(
                    imported.report.left_out.values().sum::<usize>(),
                    1,
                    "{}: {:?}",
                    row.word,
                    imported.report
                );
            }
            WordRole::Answer | WordRole::LastCall => panic!("{}", row.word),
        }
        assert!(lines.ends_with("assistant: Done."), "{}: {lines}", row.word);
    }
}

#[test]
fn finish_ends_the_run_and_the_next_input_opens_another() {
    let finish = event(
        "3",
        "ActionEvent",
        "agent",
        json!({"thought": [], "action": {"kind": "FinishAction", "message": "All done."},
        "tool_name": "finish", "tool_call_id": "f", "tool_call": {"id": "f", "name": "finish", "arguments": "{\"message\": \"All done.\"}"},
        "llm_response_id": "r"}),
    );
    let seen = event(
        "4",
        "ObservationEvent",
        "environment",
        json!({"tool_name": "finish", "tool_call_id": "f",
        "observation": {"kind": "FinishObservation", "content": text("All done.")}}),
    );
    for with_result in [true, false] {
        let mut log = vec![said("2", "user", "Go."), finish.clone()];
        log.extend(with_result.then(|| seen.clone()));
        log.extend([said("5", "user", "More."), said("6", "agent", "Sure.")]);
        let imported = imported(&Value::Array(log));
        assert_eq!(ends(&imported), [RunStatus::Completed, RunStatus::Completed]);
        assert_eq!(
            conversation(&imported)[2..],
            ["tool: => All done.", "user: More.", "assistant: Sure."]
        );
    }
}

#[test]
fn the_branch_of_the_leaf_is_imported_and_others_are_counted() {
    let with_parent = |mut event: Value, parent: &str| {
        event["parent_id"] = json!(parent);
        event
    };
    let events = [
        said("a", "user", "Go."),
        with_parent(said("b", "agent", "Left."), "a"),
        with_parent(said("c", "agent", "Right."), "a"),
    ];
    let lines = events.map(|event| event.to_string()).join("\n");
    for (leaf, answer) in [("b", "assistant: Left."), ("c", "assistant: Right.")] {
        let state = LogFile {
            name: "base_state.json".into(),
            text: json!({"leaf_event_id": leaf}).to_string(),
        };
        let log = Log::read_all(&lines, Some(&state)).unwrap().remove(0);
        let imported = of_log(&log);
        assert_eq!(conversation(&imported), ["user: Go.", answer]);
        assert_eq!(imported.report.left_out["event of another branch"], 1);
    }
}

#[test]
fn a_folder_has_the_model_and_the_directory_of_its_state() {
    let file = |name: &str, event: Value| LogFile {
        name: name.into(),
        text: event.to_string(),
    };
    let files = vec![
        file("event-00001-b.json", said("b", "agent", "Yes.")),
        file("event-00000-a.json", said("a", "user", "Go.")),
    ];
    let state = file(
        "base_state.json",
        json!({"agent": {"kind": "Agent", "llm": {"model": "openai/gpt-x", "max_input_tokens": 1000}},
        "workspace": {"working_dir": "/workspace/project"}}),
    );
    let imported = of_log(&Log::of_folder(files, Some(&state)).unwrap());
    let fold = fold(&imported);
    let config = fold.root_agent().unwrap().config();
    assert_eq!(
        (
            config.model.reference().as_str(),
            config.model.context_window,
            config.name.as_str()
        ),
        ("openai/gpt-x", 1000, "Agent")
    );
    assert!(config.instructions[0].text.contains("/workspace/project"));
    assert_eq!(conversation(&imported), ["user: Go.", "assistant: Yes."]);
}

#[test]
fn a_result_without_its_action_makes_the_call() {
    let imported = imported(&json!([
        said("1", "user", "Go."),
        observed("2", "lost", "out", 0),
        said("3", "agent", "Done.")
    ]));
    let lines = conversation(&imported);
    assert!(
        lines[1] == "assistant: terminal({})" && lines[2].starts_with("tool: => out"),
        "{lines:?}"
    );
    assert_eq!(
        imported.report.added["call of an observation without its action"],
        1
    );
}

#[test]
fn usage_is_what_was_added_to_the_totals() {
    let stats = |id: &str, cost: f64, tokens: u64| {
        event(
            id,
            "ConversationStateUpdateEvent",
            "environment",
            json!({"key": "stats", "value": {"usage_to_metrics": {"default":
            {"model_name": "x/y", "accumulated_cost": cost, "accumulated_token_usage": {"prompt_tokens": tokens, "completion_tokens": 1}}}}}),
        )
    };
    let log = json!([
        said("1", "user", "A"),
        stats("2", 0.1, 10),
        said("3", "agent", "B"),
        said("4", "user", "C"),
        stats("5", 0.3, 30),
        said("6", "agent", "D")
    ]);
    let imported = imported(&log);
    let state = fold(&imported).state().unwrap();
    assert_eq!(
        (state.cost, state.usage.input_tokens, state.usage.output_tokens),
        (NanoUsd(300_000_000), 30, 1)
    );
    assert_eq!(state.config.model.reference(), "x/y");
}

#[test]
fn a_state_has_the_usage_of_each_answer() {
    let state = json!({"stats": {"usage_to_metrics": {"default": {
        "token_usages": [{"response_id": "r", "prompt_tokens": 50, "completion_tokens": 5, "cache_read_tokens": 20}],
        "costs": [{"cost": 0.25}]}}}});
    let state = LogFile {
        name: "base_state.json".into(),
        text: state.to_string(),
    };
    let lines = [
        said("1", "user", "Go."),
        called("2", "r", "a", ""),
        observed("3", "a", "out", 0),
    ];
    let lines = lines.map(|event| event.to_string()).join("\n");
    let imported = of_log(&Log::read_all(&lines, Some(&state)).unwrap()[0]);
    let state = fold(&imported).state().unwrap();
    assert_eq!(
        (
            state.cost,
            state.usage.input_tokens,
            state.usage.cache_read_tokens
        ),
        (NanoUsd(250_000_000), 30, 20)
    );
}

#[test]
fn condensed_events_are_behind_a_summary() {
    let mut log = Vec::new();
    for round in 0..3 {
        log.push(said(&format!("q{round}"), "user", &format!("Question {round}.")));
        log.push(said(
            &format!("a{round}"),
            "agent",
            &format!("LoggedAnswer {round}."),
        ));
    }
    log.push(event(
        "c",
        "Condensation",
        "environment",
        json!({"forgotten_event_ids": ["q1", "a1"], "summary": "They talked.", "llm_response_id": "r"}),
    ));
    log.extend([said("q9", "user", "And?"), said("a9", "agent", "That.")]);
    let text = conversation(&imported(&Value::Array(log))).join("\n");
    assert!(
        text.contains("They talked.") && text.contains("Question 0") && !text.contains("Question 1"),
        "{text}"
    );
}
