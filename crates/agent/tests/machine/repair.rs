//! A request that a provider refuses for its form, or would refuse: the parts that the next one leaves out,
//! and the end of the repairs.

use agentx_types::*;
use proptest::prelude::*;
use serde_json::json;

use crate::condensing::small;
use crate::harness::*;

/// A session that keeps the beginning of its requests, with a model that signs its thinking.
pub(crate) fn keeping(config: &mut AgentConfig) {
    small(config);
    config.model.api = Api::Anthropic;
    if let Some(condensing) = &mut config.condensing {
        condensing.keeps_beginning = true;
    }
}

/// Thinking with a signature, as Anthropic's models give it.
fn thinks(text: &str) -> Vec<Event> {
    vec![
        ThinkingChunk { text: text.into() }.into(),
        ProviderPart {
            api: "anthropic".into(),
            attach: true,
            data: json!({"signature": "s"}),
        }
        .into(),
    ]
}

impl Session {
    /// The model thinks and calls a tool.
    fn thinks_and_looks(&mut self, id: &str) {
        let mut said = thinks(id);
        said.push(call(id, "look", json!({"path": "a"})));
        self.model(stream(said, StopReason::ToolUse));
    }

    /// The same with a result of this many words.
    pub(crate) fn thinking_round(&mut self, id: &str, words: usize) {
        self.thinks_and_looks(id);
        self.result(id, &"word ".repeat(words));
    }

    /// The open model call is refused for its form.
    pub(crate) fn refused(&mut self, part: RequestPart) {
        self.refused_as("bad_request", 400, part);
    }

    pub(crate) fn refused_as(&mut self, code: &str, status: u16, part: RequestPart) {
        self.refused_beyond(code, status, part, None);
    }

    /// The call is refused, with the maximum number of pictures of a request.
    fn refused_beyond(&mut self, code: &str, status: u16, part: RequestPart, most_media: Option<u16>) {
        let failed = AttemptFailed {
            attempt: 1,
            code: code.into(),
            message: "no".into(),
            status: Some(status),
            retry_in_ms: None,
            gives_up_in_ms: None,
            overflow: None,
            refused: Some(part),
            longest_answer: None,
            most_media,
            no_thinking: false,
            refused_place: None,
        };
        self.model(vec![failed.into(), error_event(code, "no")]);
    }

    /// Returns the reported repairs.
    pub(crate) fn repairs(&self) -> Vec<RequestPart> {
        let repaired = |state: &StateOutput| match state {
            StateOutput::Context {
                change: ContextChange::Repaired(part),
            } => Some(*part),
            _ => None,
        };
        self.states().filter_map(repaired).collect()
    }

    /// Returns the ids of the calls in the request that are sent as such.
    fn exchanges(&self) -> Vec<String> {
        let request = self.request();
        let parts = request.messages.iter().flat_map(|message| &message.content);
        let id = |part: &ContentPart| match part {
            ContentPart::ToolCall(call) => Some(call.tool_call_id.to_string()),
            _ => None,
        };
        parts.filter_map(id).collect()
    }

    /// Returns the thinking in the request.
    pub(crate) fn thoughts(&self) -> Vec<String> {
        let request = self.request();
        let parts = request.messages.iter().flat_map(|message| &message.content);
        let thought = |part: &ContentPart| match part {
            ContentPart::Thinking(part) => Some(part.text.clone()),
            _ => None,
        };
        parts.filter_map(thought).collect()
    }
}

pub(crate) fn picture() -> ContentPart {
    ContentPart::Image(MediaPart {
        media_type: "image/png".into(),
        source: MediaSource::Base64("AAAA".into()),
        name: Some("shot.png".into()),
    })
}

#[test]
fn thinking_made_before_the_beginning_changed_is_sent_no_more() {
    for version in OLDEST_AND_NEWEST {
        let mut session = Session::started_with_rules(version, keeping);
        for round in 0..100 {
            if session.condense().is_some() {
                break;
            }
            session.thinking_round(&format!("c{round}"), 100);
        }
        session.summary("In short.");
        assert!(session.thoughts().is_empty(), "{:?}", session.thoughts());
        session.thinking_round("later", 1);
        assert_eq!(session.thoughts(), ["later"], "what is thought from here on fits");
        assert!(session.undo());
        assert_eq!(
            session.thoughts(),
            ["later"],
            "a request that is out is as it was"
        );
        session.thinking_round("last", 1);
        assert!(
            session.thoughts().is_empty(),
            "an answer to a request of before does not fit either"
        );
        session.thinking_round("new", 1);
        assert_eq!(session.thoughts(), ["new"]);
        session.check_replay();
    }
}

/// Blank text is never sent, so thinking after it would follow another part than when it was signed.
#[test]
fn thinking_behind_blank_text_of_its_answer_is_signed_no_more() {
    for (version, signed) in [(0, vec!["a", "b", "c"]), (RULES_VERSION, vec!["a", "c"])] {
        let mut session = Session::started_with_rules(version, keeping);
        let mut said = thinks("a");
        said.push(TextChunk { text: " \n".into() }.into());
        said.extend(thinks("b"));
        said.push(call("c1", "look", json!({"path": "a"})));
        session.model(stream(said, StopReason::ToolUse));
        session.result("c1", "seen");
        session.thinking_round("c", 1);
        let request = session.request();
        let parts = request.messages.iter().flat_map(|message| &message.content);
        let thoughts: Vec<&str> = parts
            .filter_map(|part| match part {
                ContentPart::Thinking(part) => part.provider.as_ref().map(|_| part.text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(thoughts, signed, "version {version}");
        session.check_replay();
    }
}

#[test]
fn other_tools_or_instructions_leave_earlier_thinking_out_and_the_same_ones_do_not() {
    for version in OLDEST_AND_NEWEST {
        let mut session = Session::started_with_rules(version, keeping);
        session.thinking_round("a", 1);
        let tools = session.react().config().tools.clone();
        session.change(ConfigChange::Tools(tools.clone()));
        session.change(ConfigChange::Limits(Limits::default()));
        session.thinking_round("b", 1);
        assert_eq!(session.thoughts(), ["a", "b"]);
        let fewer: Vec<ToolSpec> = tools
            .iter()
            .filter(|tool| tool.name != "change")
            .cloned()
            .collect();
        session.change(ConfigChange::Tools(fewer.into()));
        session.thinking_round("c", 1);
        assert!(session.thoughts().is_empty());
        session.change(ConfigChange::Instructions(vec![Instructions {
            path: "AGENTS.md".into(),
            text: "Be brief.".into(),
        }]));
        session.thinking_round("d", 1);
        assert!(session.thoughts().is_empty());
        session.thinking_round("e", 1);
        assert_eq!(session.thoughts(), ["e"]);
        session.check_replay();
    }
}

#[test]
fn thinking_made_beside_another_schema_of_answers_is_left_out() {
    for (version, kept) in [(8, &["a", "b"][..]), (RULES_VERSION, &[])] {
        let mut session = Session::with_rules(version, keeping);
        session.happens(UserMessage {
            message_id: "msg_go".into(),
            content: vec![ContentPart::text("go")],
            mode: InputMode::Queue,
            idempotency_key: None,
            by: None,
            answer_schema: Some(AnswerSchema::new(json!({"type": "object"})).into()),
        });
        session.thinking_round("a", 1);
        session.thinking_round("b", 1);
        assert_eq!(session.thoughts(), ["a", "b"], "within a run, it is the same");
        session.answer("{}");
        session.say("on");
        assert_eq!(session.thoughts(), kept, "version {version}");
        session.check_replay();
    }
}

#[test]
fn a_window_that_slides_leaves_earlier_thinking_out() {
    for version in OLDEST_AND_NEWEST {
        let mut session = Session::started_with_rules(version, |config| {
            keeping(config);
            if let Some(condensing) = &mut config.condensing {
                condensing.at_percent = 0;
            }
        });
        let mut slid = 0;
        for round in 0..60 {
            let before = session.request().messages.len();
            session.thinking_round(&format!("c{round}"), 100);
            if session.request().messages.len() < before {
                slid += 1;
                assert!(session.thoughts().is_empty(), "{:?}", session.thoughts());
            }
        }
        assert!(slid > 1, "the window has moved on {slid} times");
        session.check_replay();
    }
}

#[test]
fn sessions_of_before_are_sent_as_they_were() {
    let mut session = Session::started_with_rules(0, small);
    session.thinking_round("a", 1);
    let tools = session.react().config().tools.clone();
    let fewer: Vec<ToolSpec> = tools
        .iter()
        .filter(|tool| tool.name != "change")
        .cloned()
        .collect();
    session.change(ConfigChange::Tools(fewer.into()));
    session.thinking_round("b", 1);
    assert_eq!(session.thoughts(), ["a", "b"]);
    assert!(!session.request().tools.iter().any(|tool| tool.name == "recall"));
}

#[test]
fn recall_is_on_offer_from_the_start_beside_other_tools() {
    for version in OLDEST_AND_NEWEST {
        let has_recall = |session: &Session| session.request().tools.iter().any(|tool| tool.name == "recall");
        let mut session = Session::started_with_rules(version, keeping);
        assert!(has_recall(&session));
        session.calls(&[("r", "recall", json!({"words": "port"}))]);
        assert!(session.sent().pop().unwrap().contains("Nothing condensed"));
        let without = Session::started_with_rules(version, |config| {
            keeping(config);
            config.tools = Vec::new().into();
        });
        assert!(!has_recall(&without), "there are models that take no tools");
    }
}

/// A request with parts left out is no longer than the counted one, so no longer answer fits next to it.
#[test]
fn a_repaired_request_asks_for_no_longer_answer() {
    for (version, stays) in [(RULES_VERSION, true), (8, false)] {
        let mut session = Session::started(|config| {
            keeping(config);
            config.model.context_window = 20_000;
            config.model.max_output_tokens = 8_000;
            config.params.max_output_tokens = Some(8_000);
            config.rules_version = version;
        });
        let mut said = thinks("a");
        said.extend([call("c1", "look", json!({"path": "a"})), usage(12_000, 20)]);
        session.model(stream(said, StopReason::ToolUse));
        session.result("c1", "x");
        let asked = |session: &Session| session.request().params.max_output_tokens.unwrap();
        let before = asked(&session);
        assert!(before < 7_800, "{before}");
        session.refused(RequestPart::Thinking);
        assert_eq!(asked(&session) == before, stays, "{}", asked(&session));
        session.check_replay();
    }
}

/// Gateways of Chat Completions that forward requests to Anthropic's models.
#[test]
fn an_empty_text_that_is_refused_beside_calls_costs_one_request() {
    for (api, said, repairs) in [
        (Api::OpenaiChat, vec![], vec![RequestPart::EmptyText]),
        (Api::OpenaiChat, vec![words("I look.")], vec![RequestPart::Roles]),
        (Api::Anthropic, vec![], vec![RequestPart::Extras]),
    ] {
        let mut session = Session::started_with_rules(RULES_VERSION, |config| config.model.api = api);
        let mut said = said;
        said.push(call("c1", "look", json!({"path": "a"})));
        session.model(stream(said, StopReason::ToolUse));
        session.result("c1", "x");
        session.refused(RequestPart::EmptyText);
        let is_without = session.request().is_without(RequestPart::EmptyText);
        assert_eq!(is_without, repairs == [RequestPart::EmptyText]);
        session.answer("done");
        assert_eq!(session.repairs(), repairs, "{api:?}");
        session.check_replay();
    }
}

/// The schema of an answer, in a run of the API.
fn with_schema(api: Api, kind: &str) -> Session {
    Session::started_with_rules(RULES_VERSION, |config| {
        config.model.api = api;
        config.answer_schema = Some(AnswerSchema::new(json!({"type": kind})).into());
    })
}

#[test]
fn a_schema_that_is_refused_goes_down_one_form_at_a_time_for_the_run() {
    let mut session = with_schema(Api::OpenaiResponses, "object");
    session.refused(RequestPart::StrictSchema);
    let request = session.request();
    assert!(request.is_without(RequestPart::StrictSchema) && !request.is_without(RequestPart::AnswerSchema));
    session.refused(RequestPart::AnswerSchema);
    assert!(session.request().is_without(RequestPart::AnswerSchema));
    session.answer("{}");
    assert_eq!(
        session.repairs(),
        [RequestPart::StrictSchema, RequestPart::AnswerSchema]
    );
    session.say("again");
    assert_eq!(session.request().without, [], "another run has another schema");
    session.check_replay();
}

#[test]
fn a_schema_that_is_refused_in_words_too_ends_the_run() {
    let mut session = with_schema(Api::Anthropic, "object");
    session.refused(RequestPart::AnswerSchema);
    session.refused(RequestPart::AnswerSchema);
    assert_eq!(session.repairs(), [RequestPart::AnswerSchema]);
    assert_eq!(session.ends_of_runs().len(), 1);
    session.check_replay();
}

#[test]
fn a_schema_that_cannot_be_used_ends_the_run_at_once() {
    let mut session = with_schema(Api::Anthropic, "nonsense");
    session.answer("{}");
    let ends = session.ends_of_runs();
    assert_eq!(ends.len(), 1, "{ends:?}");
    assert_eq!(ends[0].0, RunStatus::Failed);
    session.check_replay();
}

#[test]
fn what_a_refusal_names_is_left_out_and_the_run_goes_on() {
    for version in OLDEST_AND_NEWEST {
        let mut session = Session::started_with_rules(version, keeping);
        session.thinking_round("a", 1);
        session.refused(RequestPart::Thinking);
        assert!(session.thoughts().is_empty());
        session.answer("done");
        assert_eq!(session.repairs(), [RequestPart::Thinking]);
        assert_eq!(session.ends_of_runs(), [(RunStatus::Completed, None)]);
        session.check_replay();
    }
}

#[test]
fn a_refused_picture_is_replaced_by_words_for_good() {
    for version in OLDEST_AND_NEWEST {
        let mut session = Session::with_rules(version, keeping);
        session.happens(UserMessage {
            message_id: "msg_p".into(),
            content: vec![ContentPart::text("look"), picture()],
            mode: InputMode::Queue,
            idempotency_key: None,
            by: None,
            answer_schema: None,
        });
        session.refused(RequestPart::Media);
        assert!(
            session.sent()[0].contains("shot.png (image/png) is left out"),
            "{:?}",
            session.sent()
        );
        session.answer("I cannot see it");
        session.say("and now");
        assert!(session.sent()[0].contains("is left out"));
        session.answer("done");
        assert_eq!(session.repairs(), [RequestPart::Media]);
        session.check_replay();
    }
}

/// Returns which of the pictures are left out of the next request.
fn left_out(session: &Session) -> Vec<bool> {
    let sent = session.sent();
    let pictures = sent.iter().filter(|message| message.contains("look"));
    pictures.map(|message| message.contains("is left out")).collect()
}

#[test]
fn of_several_pictures_the_newest_is_left_out_first_and_then_all() {
    for (version, first) in [(RULES_VERSION, false), (5, true)] {
        let mut session = Session::with(|config| {
            config.model.context_window = 200_000;
            config.rules_version = version;
        });
        for number in 0..3 {
            session.happens(UserMessage {
                message_id: MessageId::with_suffix(format_args!("picture_{number}")),
                content: vec![ContentPart::text("look"), picture()],
                mode: InputMode::Queue,
                idempotency_key: None,
                by: None,
                answer_schema: None,
            });
            if number < 2 {
                session.answer("I see");
            }
        }
        session.refused(RequestPart::Media);
        assert_eq!(left_out(&session), [first, first, true], "{version}");
        session.answer("I cannot see the last");
        session.say("and now");
        assert_eq!(left_out(&session), [first, first, true], "{version}");
        if version == RULES_VERSION {
            session.refused(RequestPart::Media);
            session.refused(RequestPart::Media);
            assert_eq!(left_out(&session), [true; 3]);
        }
        session.check_replay();
    }
}

/// Shows so many pictures in one message.
fn shows(session: &mut Session, id: &str, pictures: usize) {
    let mut content = vec![ContentPart::text("look")];
    content.extend(std::iter::repeat_n(picture(), pictures));
    session.happens(UserMessage {
        message_id: id.into(),
        content,
        mode: InputMode::Queue,
        idempotency_key: None,
        by: None,
        answer_schema: None,
    });
}

/// Returns the number of pictures in each sent message with pictures.
fn pictures_sent(session: &Session) -> Vec<usize> {
    let request = session.request();
    let is_look = |part: &ContentPart| part.as_text() == Some("look");
    let looks = request
        .messages
        .iter()
        .filter(|message| message.content.iter().any(is_look));
    looks
        .map(|message| {
            let images = message
                .content
                .iter()
                .filter(|part| matches!(part, ContentPart::Image(_)));
            images.count()
        })
        .collect()
}

#[test]
fn of_too_many_pictures_the_newest_are_sent() {
    for (version, expected) in [(RULES_VERSION, [0, 1, 2]), (8, [2, 2, 0])] {
        let mut session = Session::with(|config| {
            config.model.context_window = 200_000;
            config.rules_version = version;
        });
        for number in 0..3 {
            shows(&mut session, &format!("msg_picture_{number}"), 2);
            if number < 2 {
                session.answer("I see");
            }
        }
        session.refused_beyond("bad_request", 400, RequestPart::Media, Some(3));
        assert_eq!(pictures_sent(&session), expected, "{version}");
        assert_eq!(session.repairs(), [RequestPart::Media]);
        session.answer("I see the last");
        session.check_replay();
        if version < RULES_VERSION {
            continue;
        }
        shows(&mut session, "msg_picture_3", 1);
        assert_eq!(
            pictures_sent(&session),
            [0, 0, 2, 1],
            "the limit holds without another refusal"
        );
        let told = session.sent().concat();
        assert!(
            told.contains("shot.png (image/png) is left out: the model's provider takes 3"),
            "{told}"
        );
        session.refused_beyond("bad_request", 400, RequestPart::Media, Some(1));
        assert_eq!(pictures_sent(&session), [0, 0, 0, 1]);
        session.refused_beyond("bad_request", 400, RequestPart::Media, Some(1));
        assert_eq!(pictures_sent(&session), [0; 4], "a number in vain leaves out all");
        // Then the roles are changed, and then there is nothing left.
        session.refused_beyond("bad_request", 400, RequestPart::Media, Some(1));
        session.refused_beyond("bad_request", 400, RequestPart::Media, Some(1));
        assert!(session.asked().is_none(), "it ends");
        session.check_replay();
    }
}

#[test]
fn a_server_that_takes_no_picture_is_sent_none() {
    let mut session = Session::with_rules(RULES_VERSION, |config| config.model.context_window = 200_000);
    shows(&mut session, "msg_a", 1);
    session.refused_beyond("bad_request", 400, RequestPart::Media, Some(0));
    assert_eq!(pictures_sent(&session), [0]);
    session.answer("I see none");
    shows(&mut session, "msg_b", 1);
    assert_eq!(pictures_sent(&session), [0, 0]);
    session.check_replay();
}

/// A beginning that changes with each new picture ends the thinking that was bound to it.
#[test]
fn thinking_before_a_picture_that_was_replaced_is_sent_no_more() {
    let mut session = Session::with_rules(RULES_VERSION, |config| {
        keeping(config);
        config.model.context_window = 200_000;
    });
    shows(&mut session, "msg_a", 1);
    session.thinking_round("a", 1);
    session.answer("seen");
    shows(&mut session, "msg_b", 1);
    session.refused_beyond("bad_request", 400, RequestPart::Media, Some(1));
    session.thinking_round("b", 1);
    assert!(
        session.thoughts().contains(&"b".to_owned()),
        "{:?}",
        session.thoughts()
    );
    session.answer("seen");
    shows(&mut session, "msg_c", 1);
    assert_eq!(pictures_sent(&session), [0, 0, 1]);
    assert!(session.thoughts().is_empty(), "{:?}", session.thoughts());
    session.check_replay();
}

#[test]
fn what_nobody_names_is_left_out_part_by_part_and_comes_back_where_that_was_in_vain() {
    for version in OLDEST_AND_NEWEST {
        let mut session = Session::started_with_rules(version, keeping);
        session.thinking_round("a", 1);
        let before = session.sent().len();
        let is_sent_again = version == RULES_VERSION;
        if is_sent_again {
            session.refused(RequestPart::Unknown);
            assert_eq!(session.thoughts(), ["a"], "it is sent once more as it was");
            assert_eq!(session.repairs(), [RequestPart::Unknown]);
        }
        for _ in 0..3 {
            session.refused(RequestPart::Unknown);
        }
        let plain = session.request();
        assert!(plain.plain);
        assert!(
            plain.messages.iter().all(|message| message.role != Role::Tool),
            "calls are told in words"
        );
        assert!(
            session
                .sent()
                .iter()
                .any(|line| line.contains("[called look with")),
            "{:?}",
            session.sent()
        );
        session.refused(RequestPart::Unknown);
        let parts = [RequestPart::Thinking, RequestPart::Extras, RequestPart::ToolCalls];
        let begin = usize::from(is_sent_again);
        assert_eq!(session.repairs()[begin..begin + 3], parts);
        if is_sent_again {
            assert_eq!(session.repairs()[4..], [RequestPart::LatestMessages]);
            session.refused(RequestPart::Unknown);
        }
        assert_eq!(session.ends_of_runs().len(), 1, "nothing is left to try");
        session.say("again");
        let request = session.request();
        assert!(!request.plain);
        let thoughts: &[&str] = if is_sent_again { &["a"] } else { &[] };
        assert_eq!(session.thoughts(), thoughts, "rules {version}");
        assert_eq!(
            request
                .messages
                .iter()
                .filter(|message| message.role == Role::Tool)
                .count(),
            1
        );
        assert_eq!(session.sent().len(), before + 1);
        session.answer("done");
        session.check_replay();
    }
}

#[test]
fn a_template_that_wants_turns_gets_them_and_then_calls_in_words_until_another_model_is_asked() {
    for version in OLDEST_AND_NEWEST {
        let mut session = Session::started_with_rules(version, small);
        session.looks("a");
        session.result("a", "seen");
        session.refused(RequestPart::Roles);
        assert!(session.request().turns);
        let has_results = |session: &Session| {
            session
                .request()
                .messages
                .iter()
                .any(|message| message.role == Role::Tool)
        };
        assert!(has_results(&session), "most templates know tools");
        session.refused(RequestPart::Roles);
        assert!(!has_results(&session));
        session.looks("b");
        session.result("b", "seen");
        assert!(
            !has_results(&session),
            "what comes later is told in words at once"
        );
        assert_eq!(session.repairs(), [RequestPart::Roles, RequestPart::ToolCalls]);
        session.answer("done");
        let mut model = session.react().config().model.clone();
        model.id = "another".into();
        session.change(ConfigChange::Model(Box::new(model)));
        session.say("and again");
        assert!(has_results(&session) && !session.request().turns);
        session.refused(RequestPart::Roles);
        session.refused(RequestPart::Roles);
        session.refused(RequestPart::Roles);
        assert_eq!(session.ends_of_runs().len(), 2, "nothing is left to try");
        session.check_replay();
    }
}

#[test]
fn a_server_that_refuses_the_next_call_too_is_told_all_later_ones_in_words() {
    for (version, refusals) in [(RULES_VERSION, 2), (0, 4)] {
        let mut session = Session::started_with_rules(version, small);
        for id in ["a", "b", "c", "d"] {
            session.looks(id);
            session.result(id, "seen");
            // A server that refuses every request with calls.
            if !session.exchanges().is_empty() {
                session.refused(RequestPart::ToolCalls);
            }
            assert!(
                session.exchanges().is_empty(),
                "rules {version}: {id} is told in words"
            );
        }
        assert_eq!(
            session.repairs(),
            vec![RequestPart::ToolCalls; refusals],
            "rules {version}"
        );
        session.answer("done");
        session.check_replay();
    }
}

#[test]
fn a_single_call_that_is_refused_leaves_the_others_as_calls() {
    let mut session = Session::started_with_rules(RULES_VERSION, small);
    for (id, is_refused) in [("a", true), ("b", false), ("c", true), ("d", false)] {
        session.looks(id);
        session.result(id, "seen");
        if is_refused {
            session.refused(RequestPart::ToolCalls);
            assert!(session.exchanges().is_empty());
        }
    }
    assert_eq!(
        session.exchanges(),
        ["d"],
        "b was taken as a call, so not all are refused"
    );
    session.answer("done");
    session.check_replay();
}

#[test]
fn a_request_that_is_answered_with_a_500_each_time_becomes_plainer_at_once() {
    let later = vec![RequestPart::Thinking, RequestPart::Extras];
    let earlier = vec![RequestPart::Unknown, RequestPart::Thinking];
    for (version, repairs) in [(RULES_VERSION, later), (8, earlier)] {
        let mut session = Session::started_with_rules(version, keeping);
        session.thinking_round("a", 1);
        session.refused_as("server_error", 500, RequestPart::Unknown);
        session.refused_as("server_error", 500, RequestPart::Unknown);
        assert_eq!(session.repairs(), repairs, "rules {version}");
        assert_eq!(session.request().plain, version == RULES_VERSION);
        session.answer("done");
        session.say("again");
        assert!(!session.request().plain);
        // Before version 9 the form that was answered stayed.
        assert_eq!(session.thoughts().is_empty(), version == 8);
        session.answer("done");
        session.check_replay();
    }
}

impl Session {
    /// A run whose server answers 500 each time, until earlier thinking, settings and calls as such are left
    /// out.
    fn in_an_outage() -> Self {
        let mut session = Self::started_with_rules(RULES_VERSION, keeping);
        session.thinking_round("a", 1);
        for _ in 0..3 {
            session.refused_as("server_error", 500, RequestPart::Unknown);
        }
        assert!(session.is_plain());
        session
    }

    fn is_plain(&self) -> bool {
        self.request().plain && self.thoughts().is_empty() && self.exchanges().is_empty()
    }

    fn is_whole(&self) -> bool {
        !self.request().plain && self.thoughts() == ["a"] && self.exchanges() == ["a"]
    }
}

#[test]
fn what_is_left_out_because_of_500s_is_sent_again_after_each_end_of_the_run() {
    type End = fn(&mut Session);
    let ends: [(&str, End); 3] = [
        ("an answer", |session| session.answer("done")),
        ("an error", |session| {
            session.model(vec![error_event("unauthorized", "no")]);
        }),
        ("an interrupt", |session| {
            session.interrupt();
            session.model(vec![ends_with(StopReason::Interrupted)]);
        }),
    ];
    for (name, end) in ends {
        let mut session = Session::in_an_outage();
        end(&mut session);
        session.say("again");
        assert!(session.is_whole(), "{name}");
        for _ in 0..3 {
            session.refused_as("server_error", 500, RequestPart::Unknown);
        }
        assert!(
            session.is_plain(),
            "{name}: a server that does refuse is asked in plainer forms again"
        );
        session.answer("done");
        session.say("and again");
        assert!(session.is_whole(), "{name}");
        session.check_replay();
    }
}

#[test]
fn what_is_left_out_because_of_500s_is_sent_again_by_the_next_process() {
    let mut session = Session::in_an_outage();
    session.restart();
    assert!(session.is_whole());
    session.answer("done");
    session.say("again");
    assert!(session.is_whole());
    session.check_replay();
}

#[test]
fn what_is_left_out_after_a_400_stays_out_after_an_outage() {
    let mut session = Session::started_with_rules(RULES_VERSION, keeping);
    session.thinking_round("a", 1);
    session.refused(RequestPart::Thinking);
    session.thinking_round("b", 1);
    assert_eq!(session.thoughts(), ["b"]);
    session.refused_as("server_error", 500, RequestPart::Unknown);
    assert!(session.thoughts().is_empty());
    session.answer("done");
    session.say("again");
    assert_eq!(session.thoughts(), ["b"]);
    session.answer("done");
    session.check_replay();
}

#[test]
fn thinking_that_answers_a_plainer_request_is_not_sent_behind_the_whole_one() {
    let mut session = Session::in_an_outage();
    session.thinking_round("b", 1);
    assert_eq!(session.thoughts(), ["b"]);
    session.answer("done");
    session.say("again");
    assert!(session.thoughts().is_empty(), "it followed other messages");
    assert_eq!(session.exchanges(), ["a", "b"]);
    session.answer("done");
    session.check_replay();
}

#[test]
fn a_refusal_of_something_else_ends_the_run_as_before() {
    for version in OLDEST_AND_NEWEST {
        let mut session = Session::started_with_rules(version, keeping);
        session.model(vec![error_event("unauthorized", "no key")]);
        assert!(session.repairs().is_empty());
        assert_eq!(session.ends_of_runs().len(), 1);
        let mut stopped = Session::started_with_rules(version, keeping);
        stopped.interrupt();
        stopped.refused(RequestPart::Unknown);
        assert!(stopped.repairs().is_empty(), "it is being stopped");
        assert_eq!(stopped.ends_of_runs().len(), 1);
    }
}

#[test]
fn a_program_that_dies_after_a_refusal_asks_in_the_plainer_form() {
    for version in OLDEST_AND_NEWEST {
        let mut session = Session::started_with_rules(version, keeping);
        session.thinking_round("a", 1);
        session.refused(RequestPart::Thinking);
        session.restart();
        assert!(session.thoughts().is_empty());
        session.answer("done");
        session.check_replay();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is refused and whenever: each request keeps the rules of every provider (the harness looks at
    /// each), there are at most five more requests for one that was refused, and the session continues.
    #[test]
    fn refusals_at_any_time_end_and_leave_a_session_that_goes_on(steps in prop::collection::vec(0u8..10, 1..40), is_new in any::<bool>()) {
        let parts = [RequestPart::Thinking, RequestPart::Extras, RequestPart::Media, RequestPart::ToolCalls, RequestPart::Roles, RequestPart::Unknown];
        let mut session = Session::started(|config| {
            keeping(config);
            config.rules_version = if is_new { RULES_VERSION } else { 0 };
        });
        session.copies = false;
        let mut in_a_row = 0;
        for (at, step) in steps.iter().enumerate() {
            if session.condense().is_some() {
                session.summary("In short.");
            }
            if session.asked().is_none() {
                session.say("go on");
                in_a_row = 0;
                continue;
            }
            match step {
                0..=5 => {
                    in_a_row += 1;
                    prop_assert!(in_a_row <= 5 + 2 * u32::from(is_new), "{in_a_row} refusals in a row");
                    session.refused(parts[usize::from(*step)]);
                }
                6 => session.answer("done"),
                7 => session.restart(),
                _ => session.thinking_round(&format!("c{at}"), 40),
            }
            if *step > 5 && *step != 7 {
                in_a_row = 0;
            }
        }
        if session.condense().is_some() {
            session.summary("In short.");
        }
        if session.asked().is_none() {
            session.say("last");
        }
        session.answer("done");
        session.check_replay();
    }
}

#[test]
fn a_request_with_too_many_bytes_loses_its_pictures_and_then_becomes_less() {
    let mut session = Session::started(|config| {
        small(config);
        config.rules_version = 2;
    });
    for round in 0..4 {
        session.thinking_round(&format!("c{round}"), 60);
    }
    session.answer("done");
    session.happens(UserMessage {
        message_id: "msg_p".into(),
        content: vec![ContentPart::text("look"), picture()],
        mode: InputMode::Queue,
        idempotency_key: None,
        by: None,
        answer_schema: None,
    });
    session.refused_as("too_large", 413, RequestPart::Media);
    assert_eq!(session.repairs(), [RequestPart::Media]);
    let before = session.sent().len();
    session.refused_as("too_large", 413, RequestPart::Media);
    session.summary("In short.");
    assert!(session.sent().len() < before, "{:?}", session.sent());
    session.refused_as("too_large", 413, RequestPart::Media);
    assert!(session.asked().is_none(), "the same bytes are not sent again");
    assert_eq!(session.repairs(), [RequestPart::Media]);
    session.check_replay();
}

#[test]
fn a_run_whose_requests_have_too_many_bytes_goes_on_with_less() {
    let mut session = Session::started(|config| {
        config.rules_version = RULES_VERSION;
        config.model.context_window = 200_000;
        config.condensing = Some(Box::default());
    });
    let (mut rounds, mut refusals) = (0, 0);
    while rounds < 12 {
        assert!(
            refusals < 12,
            "it is refused again and again after {rounds} rounds"
        );
        if session.condense().is_some() {
            session.summary("In short.");
            continue;
        }
        assert!(
            session.asked().is_some(),
            "the run has ended after {rounds} rounds"
        );
        // A proxy that takes 60 kB.
        if serde_json::to_string(&session.request()).unwrap().len() > 60_000 {
            session.refused_as("too_large", 413, RequestPart::Media);
            refusals += 1;
            continue;
        }
        let id = format!("c{rounds}");
        session.model(stream([call(&id, "look", json!({}))], StopReason::ToolUse));
        session.result(&id, &"made up\n".repeat(2_000));
        rounds += 1;
    }
    assert!(refusals > 0);
    while session.condense().is_some() {
        session.summary("In short.");
    }
    session.answer("done");
    session.check_replay();
}

#[test]
fn tools_that_are_refused_beside_an_effort_are_asked_with_once_more() {
    let mut session = Session::started(|config| config.rules_version = 2);
    session.refused(RequestPart::Extras);
    assert!(session.request().plain);
    session.refused(RequestPart::Extras);
    assert!(session.repairs().contains(&RequestPart::Extras));
    session.answer("done");
    session.check_replay();
}

impl Session {
    /// The longest answer is refused; the server says how many tokens it may have, or nothing.
    fn answer_too_long(&mut self, most: Option<u32>) {
        let failed = AttemptFailed {
            attempt: 1,
            code: "bad_request".into(),
            message: "max_tokens is too large".into(),
            status: Some(400),
            retry_in_ms: None,
            gives_up_in_ms: None,
            overflow: None,
            refused: Some(RequestPart::LongestAnswer),
            longest_answer: most,
            most_media: None,
            no_thinking: false,
            refused_place: None,
        };
        self.model(vec![failed.into(), error_event("bad_request", "no")]);
    }

    fn longest_answer(&self) -> Option<u64> {
        self.request().params.max_output_tokens
    }
}

fn writes_much(config: &mut AgentConfig) {
    config.rules_version = RULES_VERSION;
    config.params.max_output_tokens = Some(20_000);
    config.model.max_output_tokens = 32_000;
    config.model.context_window = 200_000;
    config.model.api = Api::OpenaiChat;
}

#[test]
fn a_longest_answer_that_is_refused_is_asked_with_again_as_the_server_takes_it() {
    let mut session = Session::started(writes_much);
    assert_eq!(session.longest_answer(), Some(20_000));
    session.answer_too_long(Some(4_096));
    assert_eq!(session.longest_answer(), Some(4_096));
    assert_eq!(session.repairs(), [RequestPart::LongestAnswer]);
    session.looks("c1");
    session.result("c1", "ok");
    assert_eq!(session.longest_answer(), Some(4_096), "it is known from then on");
    session.answer_too_long(Some(2_048));
    assert_eq!(
        session.longest_answer(),
        Some(2_048),
        "a server may count what it reads"
    );
    session.answer("done");
    session.check_replay();
}

#[test]
fn a_longest_answer_is_made_shorter_once() {
    let mut session = Session::started(writes_much);
    session.answer_too_long(Some(4_096));
    session.answer_too_long(Some(4_095));
    assert_eq!(session.ends_of_runs().len(), 1, "refused twice in a row");
    let mut session = Session::started(writes_much);
    session.answer_too_long(Some(20_000));
    assert_eq!(session.ends_of_runs().len(), 1, "it was asked for with that");
    let mut session = Session::started(writes_much);
    session.answer_too_long(None);
    assert_eq!(session.longest_answer(), None, "the server decides");
    session.answer("done");
    let mut session = Session::started(|config| {
        writes_much(config);
        config.model.api = Api::Anthropic;
    });
    session.answer_too_long(None);
    assert_eq!(session.ends_of_runs().len(), 1, "that API wants a number");
    let mut session = Session::started(|config| {
        writes_much(config);
        config.rules_version = 4;
    });
    session.answer_too_long(Some(4_096));
    assert_eq!(session.ends_of_runs().len(), 1, "as it was in older logs");
}
