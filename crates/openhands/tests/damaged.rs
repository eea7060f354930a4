//! Damaged logs and other files: an error that names the place, never a panic and never half a log.

use agentx_openhands::{ImportOptions, Log, LogFile, LogReadError, import};
use serde_json::json;

/// Returns the error of a text, as people read it.
fn error(text: &str) -> String {
    match Log::read_all(text, None) {
        Ok(logs) => logs
            .iter()
            .find_map(|log| import(log, &ImportOptions::default()).err())
            .unwrap()
            .to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_is_no_log_is_refused_with_the_reason() {
    for (text, expected) in [
        ("", "not a log of OpenHands: it is empty"),
        (
            "hello",
            "not a log of OpenHands: neither the whole file nor its first line is JSON",
        ),
        (
            "3",
            "not a log of OpenHands: it is JSON, but neither a list nor an object",
        ),
        (
            "[]",
            "not a log of OpenHands: it has no event with an `action`, an `observation` or a `kind`",
        ),
        (
            "{\"format\":\"x\"}",
            "not a log of OpenHands: it has no event with an `action`, an `observation` or a `kind`",
        ),
        (
            "{\"history\": []}",
            "not a log of OpenHands: it has no event with an `action`, an `observation` or a `kind`",
        ),
        ("[{\"action\":\"null\"}, 3]", "event 2: it is not an object"),
        (
            "[{\"action\":\"null\"}]",
            "not a log of OpenHands: it has no message, no action and no observation",
        ),
        (
            "[{\"action\":",
            "the list: it is not JSON: EOF while parsing a value at line 1 column 11",
        ),
        (
            "{\"kind\":\"PauseEvent\"}\n{\"kind\":",
            "line 2: it is not JSON: EOF while parsing a value at line 1 column 8",
        ),
    ] {
        assert_eq!(error(text), expected, "{text}");
    }
}

#[test]
fn a_damaged_file_of_a_folder_is_named() {
    let file = |name: &str, text: &str| LogFile {
        name: name.into(),
        text: text.into(),
    };
    let whole = file("0.json", "{\"action\":\"message\",\"source\":\"user\"}");
    let of = |other: LogFile, state: Option<&LogFile>| {
        Log::of_folder(vec![whole.clone(), other], state)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        of(file("1.json", "{\"id\":"), None),
        "1.json: it is not JSON: EOF while parsing a value at line 1 column 6"
    );
    assert_eq!(of(file("1.json", "3"), None), "1.json: it holds no event");
    let state = file("base_state.json", "{");
    assert!(of(file("1.json", "{}"), Some(&state)).starts_with("base_state.json: "));
}

#[test]
fn too_many_events_are_refused() {
    let events = vec![json!({"action": "null"}); agentx_openhands::MOST_EVENTS + 1];
    let log = Log::read(&json!(events).to_string());
    assert!(matches!(log, Err(LogReadError::TooLarge(_))), "{log:?}");
}

/// A log cut at any place is refused, or gives a whole session of the lines before the cut.
#[test]
fn a_log_that_is_cut_anywhere_never_panics() {
    let events = [
        json!({"id": "1", "kind": "MessageEvent", "source": "user", "llm_message": {"content": [{"text": "Go."}]}}),
        json!({"id": "2", "kind": "ActionEvent", "source": "agent", "tool_name": "t", "tool_call_id": "c", "llm_response_id": "r"}),
        json!({"id": "3", "kind": "ObservationEvent", "tool_name": "t", "tool_call_id": "c", "observation": {"content": "ä"}}),
    ];
    let text = events.map(|event| event.to_string()).join("\n");
    let mut whole = 0;
    for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
        if let Ok(log) = Log::read(&text[..cut]) {
            crate::session::of_log(&log);
            whole += 1;
        }
    }
    assert_eq!(whole, 5, "each line with and without its end, and the last one");
}

/// Any field may have an unexpected type.
#[test]
fn fields_of_other_types_are_no_error() {
    let odd = [
        json!(null),
        json!(7),
        json!("x"),
        json!([]),
        json!([[1]]),
        json!({"a": {}}),
    ];
    let v0 = [
        "source",
        "args",
        "extras",
        "content",
        "cause",
        "tool_call_metadata",
        "llm_metrics",
        "timestamp",
        "message",
    ];
    let v1 = [
        "source",
        "llm_message",
        "observation",
        "tool_call",
        "thought",
        "tool_name",
        "tool_call_id",
        "value",
        "forgotten_event_ids",
        "parent_id",
    ];
    for value in &odd {
        for key in v0 {
            for word in ["message", "run", "finish", "delegate", "condensation", "system"] {
                let mut event = json!({"id": 1, "action": word, "source": "agent", "args": {}});
                event[key] = value.clone();
                let seen = json!({"id": 2, "cause": 1, "observation": "run", key: value});
                let log =
                    json!([{"action": "message", "source": "user", "args": {"content": "Go."}}, event, seen]);
                crate::session::imported(&log);
            }
        }
        for key in v1 {
            for kind in [
                "MessageEvent",
                "ActionEvent",
                "ObservationEvent",
                "Condensation",
                "ConversationStateUpdateEvent",
            ] {
                let mut event = json!({"id": "1", "kind": kind, "source": "agent", "key": "stats"});
                event[key] = value.clone();
                let log = json!([{"kind": "MessageEvent", "id": "0", "source": "user", "llm_message": {"content": "Go."}}, event]);
                crate::session::imported(&log);
            }
        }
    }
}

/// Logs whose events are lost, doubled or out of order are still sessions.
#[test]
fn events_that_are_lost_doubled_or_out_of_order_are_no_error() {
    let v0 = vec![
        json!({"id": 0, "action": "system", "source": "agent", "args": {"content": "Be good."}}),
        json!({"id": 1, "action": "message", "source": "user", "args": {"content": "Go."}}),
        json!({"id": 2, "action": "delegate", "source": "agent", "args": {"agent": "A", "inputs": {"task": "Look."}}}),
        json!({"id": 3, "action": "message", "source": "user", "args": {"content": "TASK: Look."}}),
        json!({"id": 4, "action": "delegate", "source": "agent", "args": {"agent": "B", "inputs": {"task": "Read."}}}),
        json!({"id": 5, "action": "run", "source": "agent", "args": {"command": "ls"}}),
        json!({"id": 6, "observation": "run", "source": "agent", "cause": 5, "content": "out"}),
        json!({"id": 7, "observation": "agent_state_changed", "extras": {"agent_state": "paused"}}),
        json!({"id": 8, "action": "message", "source": "user", "args": {"content": "More."}}),
        json!({"id": 9, "action": "finish", "source": "agent", "args": {"final_thought": "B is done."}}),
        json!({"id": 10, "observation": "delegate", "cause": 4, "content": "B"}),
        json!({"id": 11, "action": "reject", "source": "agent", "args": {"outputs": {"reason": "No."}}}),
        json!({"id": 12, "observation": "delegate", "cause": 2, "content": "A"}),
        json!({"id": 13, "action": "condensation", "source": "agent", "args": {"forgotten_event_ids": [1, 2, 5, 6], "summary": "S"}}),
        json!({"id": 14, "observation": "agent_state_changed", "extras": {"agent_state": "error", "reason": "broke"}}),
        json!({"id": 15, "observation": "error", "content": "oh"}),
        json!({"id": 16, "action": "message", "source": "agent", "args": {"content": "Done."}}),
    ];
    let call = |id: &str, call: &str, tool: &str| {
        json!({"id": id, "kind": "ActionEvent", "source": "agent", "tool_name": tool, "tool_call_id": call, "llm_response_id": "r",
            "action": {"kind": if tool == "finish" { "FinishAction" } else { "X" }, "message": "end"}})
    };
    let seen = |id: &str, call: &str| json!({"id": id, "kind": "ObservationEvent", "tool_name": "t", "tool_call_id": call, "observation": {"content": "o"}});
    let v1 = vec![
        json!({"id": "1", "kind": "MessageEvent", "source": "user", "llm_message": {"content": "Go."}}),
        call("2", "a", "t"),
        call("3", "b", "t"),
        call("4", "f", "finish"),
        json!({"id": "5", "kind": "PauseEvent", "source": "user"}),
        seen("6", "b"),
        seen("7", "a"),
        seen("8", "f"),
        json!({"id": "9", "kind": "UserRejectObservation", "tool_name": "t", "tool_call_id": "a"}),
        json!({"id": "10", "kind": "ConversationErrorEvent", "code": "X", "detail": "d"}),
        json!({"id": "11", "kind": "Condensation", "forgotten_event_ids": ["1", "2", "6"], "summary": "S"}),
        json!({"id": "12", "kind": "MessageEvent", "source": "agent", "llm_message": {"content": "Done."}}),
    ];
    for log in [v0, v1] {
        for at in 0..log.len() {
            let (mut lost, mut doubled, mut swapped) = (log.clone(), log.clone(), log.clone());
            lost.remove(at);
            doubled.insert(at, log[at].clone());
            swapped.swap(at, (at + 3) % log.len());
            for log in [lost, doubled, swapped] {
                crate::session::imported(&json!(log));
            }
        }
    }
}
