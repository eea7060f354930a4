//! Answers that end at their maximum length, in the middle of a call or before they fit their schema.

use agentx_types::*;
use serde_json::json;

use crate::harness::*;

fn cut_call(id: &str) -> Event {
    let invalid = InvalidInput {
        raw: "{\"path\": \"a".into(),
        error: "EOF".into(),
    };
    ToolCall {
        tool_call_id: id.into(),
        name: "look".into(),
        input: json!({}),
        invalid: Some(Box::new(invalid)),
    }
    .into()
}

fn session(version: u32) -> Session {
    Session::started(|config| {
        config.params.max_output_tokens = Some(1_000);
        config.rules_version = version;
    })
}

#[test]
fn a_call_that_was_cut_off_is_told_as_such_with_the_length() {
    for (version, told) in [
        (RULES_VERSION, "cut off at its maximum length of 1000 tokens"),
        (8, "not valid JSON (EOF)"),
    ] {
        let mut session = session(version);
        session.model(stream(
            [call("c1", "look", json!({"path": "a"})), cut_call("c2")],
            StopReason::MaxTokens,
        ));
        assert_eq!(session.running_ids(), ["c1"], "the whole call is run");
        session.result("c1", "seen");
        let sent = session.sent();
        assert!(sent.last().unwrap().contains(told), "rules {version}: {sent:?}");
        session.answer("done");
        session.check_replay();
    }
}

#[test]
fn brackets_that_a_server_closed_are_a_cut_too() {
    let mut session = Session::started_with_rules(RULES_VERSION, |config| {
        for tool in std::sync::Arc::make_mut(&mut config.tools) {
            tool.input_schema = json!({
                "type": "object",
                "properties": {"path": {"type": "string"}},
                "required": ["path"],
            });
            tool.checked = true;
        }
    });
    session.model(stream([call("c1", "look", json!({}))], StopReason::MaxTokens));
    let sent = session.sent();
    assert!(
        sent.last().unwrap().contains("cut off at its maximum"),
        "{sent:?}"
    );
}

#[test]
fn a_run_ends_after_three_answers_in_a_row_that_were_cut_off_in_a_call() {
    let mut session = session(RULES_VERSION);
    for id in ["c1", "c2"] {
        session.model(stream([cut_call(id)], StopReason::MaxTokens));
    }
    session.calls(&[("c3", "look", json!({"path": "a"}))]);
    session.result("c3", "seen");
    for id in ["c4", "c5"] {
        session.model(stream([cut_call(id)], StopReason::MaxTokens));
        assert!(session.ends_of_runs().is_empty(), "another answer came between");
    }
    session.model(stream([cut_call("c6")], StopReason::MaxTokens));
    let ends = session.ends_of_runs();
    let (status, reason) = &ends[0];
    assert_eq!(*status, RunStatus::Failed);
    let reason = reason.as_deref().unwrap();
    for words in [
        "maximum length of 1000 tokens",
        "3 times in a row",
        "params.max_output_tokens",
    ] {
        assert!(reason.contains(words), "{reason}");
    }
    let code = session.log.iter().find_map(|fact| match &fact.event {
        Event::ErrorOccurred(error) => Some(error.code.as_str()),
        _ => None,
    });
    assert_eq!(code, Some("answer_cut_off"));
    session.say("and now?");
    session.answer("shorter");
    session.check_replay();
}

#[test]
fn a_full_window_in_a_call_is_told_as_such() {
    let mut session = session(RULES_VERSION);
    session.model(stream([cut_call("c1")], StopReason::ContextWindow));
    let sent = session.sent();
    assert!(
        sent.last()
            .unwrap()
            .contains("the context window of the model is full"),
        "{sent:?}"
    );
}

#[test]
fn an_answer_that_was_cut_off_before_it_fits_its_schema_is_told_as_such() {
    let mut session = Session::started_with_rules(RULES_VERSION, |config| {
        config.params.max_output_tokens = Some(1_000);
        config.answer_schema = Some(std::sync::Arc::new(AnswerSchema {
            schema: json!({"type": "array"}),
            repairs: 1,
        }));
    });
    let cut = || stream([words("{\"a\": \"b")], StopReason::MaxTokens);
    session.model(cut());
    let sent = session.sent();
    let last = sent.last().unwrap();
    assert!(
        last.contains("cut off at its maximum length of 1000 tokens"),
        "{sent:?}"
    );
    session.model(cut());
    let ends = session.ends_of_runs();
    let reason = ends[0].1.as_deref().unwrap();
    assert!(
        reason.contains("after 2 of at most 2 attempts") && reason.contains("cut off at its maximum length"),
        "{reason}"
    );
    session.check_replay();
}
