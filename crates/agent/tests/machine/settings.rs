//! Single settings that a provider refuses by name, and parts of answers that only their own provider reads.

use agentx_types::*;
use serde_json::json;

use crate::harness::*;
use crate::repair::keeping;

fn with_version(version: u32) -> Session {
    Session::started(|config| {
        config.model.api = Api::OpenaiChat;
        config.params.temperature = Some(0.5);
        config.rules_version = version;
    })
}

#[test]
fn a_setting_that_is_refused_by_name_is_left_out_until_another_model_is_asked() {
    let mut session = with_version(RULES_VERSION);
    session.refused(RequestPart::Temperature);
    assert_eq!(session.request().without, [RequestPart::Temperature]);
    session.refused(RequestPart::StreamOptions);
    let both = [RequestPart::Temperature, RequestPart::StreamOptions];
    assert_eq!(session.request().without, both);
    assert_eq!(session.repairs(), both);
    session.answer("done");
    session.say("and on");
    assert_eq!(session.request().without, both, "it is known from then on");
    session.answer("done");
    let mut other = session.react().config().model.clone();
    other.id = "other".into();
    session.change(ConfigChange::Model(Box::new(other)));
    session.say("and you?");
    assert!(session.request().without.is_empty());
    session.answer("done");
    session.check_replay();
}

#[test]
fn a_setting_is_left_out_once_and_comes_back_where_that_was_in_vain() {
    let mut session = with_version(RULES_VERSION);
    for _ in 0..10 {
        if session.asked().is_some() {
            session.refused(RequestPart::MaxTokens);
        }
    }
    assert_eq!(session.ends_of_runs().len(), 1);
    session.say("again");
    assert!(session.request().without.is_empty());
    session.answer("done");
    session.check_replay();
}

#[test]
fn what_no_answer_has_confirmed_is_taken_back_where_another_model_is_asked() {
    for (version, is_whole) in [(RULES_VERSION, true), (7, false)] {
        let mut session = Session::started(|config| {
            keeping(config);
            config.rules_version = version;
        });
        session.thinking_round("a", 1);
        for _ in 0..3 {
            session.refused(RequestPart::Unknown);
        }
        assert!(session.request().plain && session.thoughts().is_empty());
        session.interrupt();
        session.model(vec![ends_with(StopReason::Interrupted)]);
        let mut other = session.react().config().model.clone();
        other.id = "other".into();
        session.change(ConfigChange::Model(Box::new(other)));
        session.say("and you?");
        assert_eq!(session.request().plain, !is_whole, "rules {version}");
        assert_eq!(session.thoughts().len(), usize::from(is_whole), "rules {version}");
        session.answer("done");
        session.check_replay();
    }
}

#[test]
fn older_sessions_leave_no_setting_out() {
    let mut session = with_version(7);
    session.refused(RequestPart::Temperature);
    assert!(session.asked().is_none() || session.request().without.is_empty());
    session.check_replay();
}

/// A block that the model's provider made and this one does not know. It is made up.
fn block(kind: &str) -> Event {
    ProviderPart {
        api: "anthropic".into(),
        attach: false,
        data: json!({"type": kind, "id": "srv_1"}),
    }
    .into()
}

fn blocks(session: &Session) -> usize {
    let request = session.request();
    let parts = request.messages.iter().flat_map(|message| &message.content);
    parts
        .filter(|part| matches!(part, ContentPart::Opaque(_)))
        .count()
}

#[test]
fn a_block_that_another_server_does_not_know_is_left_out_once_it_is_refused() {
    for (part, refusals) in [(RequestPart::Blocks, 1), (RequestPart::Unknown, 3)] {
        let mut session = Session::started(|config| {
            keeping(config);
            config.rules_version = RULES_VERSION;
        });
        let said = [
            words("I search."),
            block("future_block"),
            block("redacted_thinking"),
        ];
        session.model(stream(said, StopReason::EndTurn));
        session.say("and on");
        assert_eq!(blocks(&session), 2);
        for _ in 0..refusals {
            session.refused(part);
        }
        let left = session.request();
        assert!(left.messages.iter().any(|message| message.text() == "I search."));
        assert!(blocks(&session) < 2, "{part:?}");
        assert!(session.repairs().contains(&RequestPart::Blocks), "{part:?}");
        session.answer("done");
        session.say("later");
        assert!(blocks(&session) < 2);
        session.answer("done");
        session.check_replay();
    }
}

#[test]
fn a_word_for_the_end_that_is_not_known_is_named() {
    let mut session = with_version(RULES_VERSION);
    let end = StreamEnd {
        stop_reason: StopReason::Other,
        raw: Some("MADE_UP".into()),
    };
    let mut said = stream([words("half an ans")], StopReason::Other);
    said.pop();
    said.push(end.into());
    session.model(said);
    let (status, reason) = session.ends_of_runs().pop().unwrap();
    assert_eq!(status, RunStatus::Completed);
    assert!(reason.is_some_and(|reason| reason.contains("`MADE_UP`")));
    session.check_replay();
}

#[test]
fn a_declined_answer_is_explained_in_the_words_of_the_vendor() {
    let details = r#"{"type":"refusal","category":"cyber","explanation":"It asks for\n an attack."}"#;
    let plain = "the model declined to answer";
    let explained = "the model declined to answer: It asks for an attack.";
    for (version, raw, why) in [
        (RULES_VERSION, details, explained),
        (RULES_VERSION, "SAFETY", plain),
        (RULES_VERSION, "{}", plain),
        (8, details, plain),
    ] {
        let mut session = with_version(version);
        let end = StreamEnd {
            stop_reason: StopReason::Refusal,
            raw: Some(raw.into()),
        };
        let mut said = stream([], StopReason::Refusal);
        said.pop();
        said.push(end.into());
        session.model(said);
        let end = session.ends_of_runs().pop();
        assert_eq!(
            end,
            Some((RunStatus::Failed, Some(why.to_owned()))),
            "{version} {raw}"
        );
        session.check_replay();
    }
}

/// The reasoning in the next request: its text and its model, and the parts of `reasoning_details`.
fn reasoning(session: &Session) -> Vec<(String, Option<String>)> {
    let request = session.request();
    let parts = request.messages.iter().flat_map(|message| &message.content);
    let one = |part: &ContentPart| match part {
        ContentPart::Thinking(part) => {
            let model = part.provider.as_ref().and_then(|data| data.model.clone());
            Some((part.text.clone(), model))
        }
        ContentPart::Opaque(part) => Some(("details".to_owned(), part.provider.model.clone())),
        _ => None,
    };
    parts.filter_map(one).collect()
}

/// Reasoning as servers of Chat Completions send it, with the data that OpenRouter requires back.
fn reasons() -> [Event; 3] {
    let details = ProviderPart {
        api: "openai-chat".into(),
        attach: false,
        data: json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": "d"}]}),
    };
    let thinking = ThinkingChunk { text: "hm".into() };
    [thinking.into(), words("Hi"), details.into()]
}

#[test]
fn reasoning_in_words_says_which_model_it_is_of() {
    for (version, api, is_marked) in [
        (RULES_VERSION, Api::OpenaiChat, true),
        (RULES_VERSION, Api::Scripted, false),
        (8, Api::OpenaiChat, false),
    ] {
        let mut session = Session::started(|config| {
            config.model.api = api;
            config.rules_version = version;
        });
        let model = session.react().config().model.id.clone();
        session.model(stream(reasons(), StopReason::EndTurn));
        let mut other = session.react().config().model.clone();
        other.id = "other".into();
        session.change(ConfigChange::Model(Box::new(other)));
        session.say("and you?");
        let expected = ("hm".to_owned(), is_marked.then_some(model));
        assert_eq!(reasoning(&session)[0], expected, "rules {version}");
        session.answer("done");
        session.check_replay();
    }
}

#[test]
fn reasoning_in_words_is_left_out_once_it_is_refused() {
    for (part, refusals) in [(RequestPart::Thinking, 1), (RequestPart::Unknown, 2)] {
        let mut session = with_version(RULES_VERSION);
        session.model(stream(reasons(), StopReason::EndTurn));
        session.say("and on");
        assert_eq!(reasoning(&session).len(), 2);
        for _ in 0..refusals {
            session.refused(part);
        }
        assert!(reasoning(&session).is_empty(), "{part:?}");
        assert!(session.repairs().contains(&RequestPart::Thinking), "{part:?}");
        session.answer("done");
        session.say("later");
        assert!(reasoning(&session).is_empty());
        session.answer("done");
        session.check_replay();
    }
}

#[test]
fn reasoning_that_is_refused_of_the_next_answer_too_is_sent_no_more_until_another_model_is_chosen() {
    let mut session = with_version(RULES_VERSION);
    for round in 0..4 {
        session.model(stream(reasons(), StopReason::EndTurn));
        session.say(&format!("and {round}"));
        // A server that refuses every request with reasoning.
        if !reasoning(&session).is_empty() {
            session.refused(RequestPart::Thinking);
        }
        assert!(reasoning(&session).is_empty(), "round {round}");
    }
    assert_eq!(session.repairs(), [RequestPart::Thinking; 2]);
    session.answer("done");
    let mut other = session.react().config().model.clone();
    other.id = "other".into();
    session.change(ConfigChange::Model(Box::new(other)));
    session.say("to another");
    session.model(stream(reasons(), StopReason::EndTurn));
    session.say("and on");
    assert_eq!(reasoning(&session).len(), 2, "the other one may take it");
    session.answer("done");
    session.check_replay();
}

#[test]
fn reasoning_is_sent_again_if_the_request_without_it_is_refused_too() {
    let mut session = with_version(RULES_VERSION);
    session.model(stream(reasons(), StopReason::EndTurn));
    session.say("and on");
    session.refused(RequestPart::Thinking);
    session.model(stream(reasons(), StopReason::EndTurn));
    session.say("and again");
    (0..3).for_each(|_| session.refused(RequestPart::Unknown));
    let parts = [RequestPart::Unknown, RequestPart::Thinking, RequestPart::Roles];
    assert_eq!(session.repairs()[1..], parts);
    session.model(stream(reasons(), StopReason::EndTurn));
    session.say("later");
    assert_eq!(reasoning(&session).len(), 2, "the roles were refused");
    session.answer("done");
    session.check_replay();
}

#[test]
fn blocks_that_are_refused_of_the_next_answer_too_are_sent_no_more() {
    for (version, refusals) in [(RULES_VERSION, 2), (8, 4)] {
        let mut session = Session::started_with_rules(version, keeping);
        for round in 0..4 {
            let said = [words("I search."), block("future_block")];
            session.model(stream(said, StopReason::EndTurn));
            session.say(&format!("and {round}"));
            if blocks(&session) > 0 {
                session.refused(RequestPart::Blocks);
            }
            assert_eq!(blocks(&session), 0, "rules {version}, round {round}");
        }
        assert_eq!(
            session.repairs(),
            vec![RequestPart::Blocks; refusals],
            "rules {version}"
        );
        session.answer("done");
        session.check_replay();
    }
}

#[test]
fn outages_do_not_turn_off_reasoning() {
    let mut session = with_version(RULES_VERSION);
    for round in 0..3 {
        session.model(stream(reasons(), StopReason::EndTurn));
        session.say(&format!("and {round}"));
        session.refused_as("server_error", 500, RequestPart::Unknown);
        assert!(reasoning(&session).is_empty(), "round {round}");
    }
    session.answer("done");
    session.say("later");
    assert_eq!(reasoning(&session).len(), 6);
    session.answer("done");
    session.check_replay();
}

#[test]
fn reasoning_that_the_server_is_not_sent_is_not_left_out() {
    for (no_thinking, part) in [(true, RequestPart::Roles), (false, RequestPart::Thinking)] {
        let mut session = with_version(RULES_VERSION);
        session.model(stream(reasons(), StopReason::EndTurn));
        session.say("and on");
        let failed = AttemptFailed {
            attempt: 3,
            code: "server_error".into(),
            message: "no".into(),
            status: Some(500),
            retry_in_ms: None,
            gives_up_in_ms: None,
            overflow: None,
            refused: Some(RequestPart::Unknown),
            longest_answer: None,
            most_media: None,
            no_thinking,
            refused_place: None,
        };
        session.model(vec![failed.into(), error_event("server_error", "no")]);
        assert_eq!(session.repairs(), [part]);
        session.answer("done");
        session.check_replay();
    }
}

#[test]
fn blocks_are_left_out_only_where_they_are_sent() {
    let mut session = Session::started_with_rules(RULES_VERSION, keeping);
    session.model(stream(
        [words("I search."), block("future_block")],
        StopReason::EndTurn,
    ));
    let mut other = session.react().config().model.clone();
    other.id = "other".into();
    other.api = Api::OpenaiChat;
    session.change(ConfigChange::Model(Box::new(other)));
    session.say("and on");
    session.refused_as("server_error", 500, RequestPart::Unknown);
    assert_eq!(session.repairs(), [RequestPart::Roles]);
    session.answer("done");
    session.check_replay();
}

#[test]
fn older_sessions_leave_no_reasoning_in_words_out() {
    let mut session = with_version(8);
    session.model(stream(reasons(), StopReason::EndTurn));
    session.say("and on");
    session.refused(RequestPart::Thinking);
    assert!(session.asked().is_none() || reasoning(&session).len() == 2);
    session.check_replay();
}

#[test]
fn what_is_attached_to_words_and_calls_is_left_out_once_it_is_refused() {
    for (version, is_left_out) in [(RULES_VERSION, true), (8, false)] {
        let mut session = Session::started(|config| {
            keeping(config);
            config.rules_version = version;
        });
        let attached = |data: serde_json::Value| ProviderPart {
            api: "anthropic".into(),
            attach: true,
            data,
        };
        let said = [
            words("I look."),
            attached(json!({"citations": [1]})).into(),
            call("a", "look", json!({"path": "a"})),
            attached(json!({"caller": {"type": "made_up"}})).into(),
        ];
        session.model(stream(said, StopReason::ToolUse));
        session.result("a", "seen");
        session.refused(RequestPart::Blocks);
        let request = session.request();
        let parts = request.messages.iter().flat_map(|message| &message.content);
        let has_provider = |part: &&ContentPart| match part {
            ContentPart::Text(part) => part.provider.is_some(),
            ContentPart::ToolCall(part) => part.provider.is_some(),
            _ => false,
        };
        assert_eq!(
            parts.filter(has_provider).count() == 0,
            is_left_out,
            "rules {version}"
        );
        assert_eq!(session.repairs().contains(&RequestPart::Blocks), is_left_out);
        assert!(request.messages.iter().any(|message| message.text() == "I look."));
        session.answer("done");
        session.check_replay();
    }
}

#[test]
fn reasoning_that_a_server_wants_is_sent_from_then_on_and_calls_stay_calls() {
    let mut session = with_version(RULES_VERSION);
    session.refused(RequestPart::MissingReasoning);
    assert_eq!(session.request().without, [RequestPart::MissingReasoning]);
    session.answer("done");
    session.say("and on");
    assert_eq!(session.request().without, [RequestPart::MissingReasoning]);
    // A server without this field refuses it only once.
    for _ in 0..10 {
        if session.asked().is_some() {
            session.refused(RequestPart::ReasoningContent);
        }
    }
    assert_eq!(session.ends_of_runs().len(), 2, "it ends");
    session.check_replay();
}

#[test]
fn settings_of_another_api_are_not_left_out() {
    let mut session = with_version(RULES_VERSION);
    session.refused(RequestPart::ToolStrict);
    assert!(session.request().without.is_empty(), "Chat Completions has none");
}
