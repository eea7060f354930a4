//! Refusals that name a part of the conversation by its place, and refusals that name nothing while any
//! plainer form is refused too: words replace what the provider refuses, and the run continues. The servers
//! are made up: each refuses a request as long as a word is in it.

use agentx_types::*;
use serde_json::json;

use crate::harness::*;

const WORDS: &str = "[left out: the provider refused this part]";

/// The word that the made-up servers refuse.
const REFUSED: &str = "POISON";

fn place(message_id: &str, part: Option<u32>) -> Option<Box<MessagePlace>> {
    Some(Box::new(MessagePlace {
        message_id: message_id.into(),
        part,
    }))
}

fn newest() -> Session {
    Session::with_rules(RULES_VERSION, |_| ())
}

impl Session {
    /// The open model call is refused, and the refusal names this place.
    fn refused_at(&mut self, refused_place: Option<Box<MessagePlace>>) {
        let failed = AttemptFailed {
            attempt: 1,
            code: "bad_request".into(),
            message: "no".into(),
            status: Some(400),
            retry_in_ms: None,
            gives_up_in_ms: None,
            overflow: None,
            refused: Some(RequestPart::Unknown),
            longest_answer: None,
            most_media: None,
            no_thinking: false,
            refused_place,
        };
        self.model(vec![failed.into(), error_event("bad_request", "no")]);
    }

    /// A server refuses the open model call as long as the word is in it, without naming a place. Returns the
    /// number of refusals.
    fn refused_for_the_word(&mut self) -> usize {
        let mut refusals = 0;
        while self.asked().is_some() && self.sent().concat().contains(REFUSED) {
            self.refused_at(None);
            refusals += 1;
            assert!(refusals < 20, "{:?}", self.repairs());
        }
        refusals
    }

    /// An answer with this id, and one call of `look`.
    fn looks_as(&mut self, message_id: &str, call_id: &str, path: &str) {
        let said = [
            begins(message_id),
            call(call_id, "look", json!({ "path": path })),
            ends_with(StopReason::ToolUse),
        ];
        self.model(said.into());
    }
}

#[test]
fn a_result_at_a_named_place_is_replaced_by_words_and_the_run_goes_on() {
    for (version, repair) in [(RULES_VERSION, RequestPart::NamedPart), (8, RequestPart::Unknown)] {
        let mut session = Session::started_with_rules(version, |_| ());
        session.looks("c1");
        session.result("c1", REFUSED);
        session.refused_at(place("msg_result_c1", Some(0)));
        assert_eq!(session.repairs(), [repair], "rules {version}");
        let is_left_out = !session.sent().concat().contains(REFUSED);
        assert_eq!(is_left_out, version == RULES_VERSION);
        if is_left_out {
            assert!(
                session.sent().contains(&format!("tool: c1 = {WORDS}")),
                "{:?}",
                session.sent()
            );
            assert!(
                session.sent().concat().contains("[call c1 look]"),
                "the pair stays"
            );
        }
        session.answer("done");
        session.say("two");
        assert_eq!(session.sent().concat().contains(REFUSED), !is_left_out);
        assert!(
            session.conversation().concat().contains(REFUSED),
            "a person still sees it"
        );
        session.answer("done");
        session.check_replay();
    }
}

#[test]
fn the_arguments_of_a_call_at_a_named_place_are_replaced_and_its_result_stays() {
    let mut session = newest();
    session.say("go");
    session.looks_as("msg_b", "c1", REFUSED);
    session.result("c1", "seen");
    session.refused_at(place("msg_b", Some(0)));
    let request = session.request();
    let mut parts = request.messages.iter().flat_map(|message| &message.content);
    let input = parts.find_map(|part| match part {
        ContentPart::ToolCall(call) => Some(call.input.clone()),
        _ => None,
    });
    assert_eq!(input, Some(json!({})));
    assert!(session.sent().contains(&"tool: c1 = seen".to_owned()));
    session.answer("done");
    session.check_replay();
}

#[test]
fn words_of_a_person_at_a_named_place_are_replaced() {
    let mut session = newest();
    session.say(REFUSED);
    session.refused_at(place("msg_POISON", Some(0)));
    assert_eq!(session.sent(), [format!("user: {WORDS}")]);
    session.answer("it was left out");
    assert_eq!(session.ends_of_runs(), [(RunStatus::Completed, None)]);
    session.say("good");
    assert_eq!(session.sent()[2], "user: good");
    session.answer("done");
    session.check_replay();
}

#[test]
fn a_place_is_replaced_once_and_comes_back_where_that_was_in_vain() {
    let mut session = newest();
    session.say("go");
    let mut refusals = 0;
    while session.asked().is_some() {
        session.refused_at(place("msg_go", Some(0)));
        refusals += 1;
        assert!(refusals < 8);
    }
    let named = |part: &&RequestPart| **part == RequestPart::NamedPart;
    assert_eq!(session.repairs().iter().filter(named).count(), 1);
    session.say("again");
    assert_eq!(session.sent()[0], "user: go");
    session.answer("done");
    session.check_replay();
}

#[test]
fn at_most_eight_parts_are_replaced_before_an_answer() {
    let mut session = newest();
    let content = (0..12).map(|at| ContentPart::text(format!("part {at} ")));
    session.happens(UserMessage {
        message_id: "msg_p".into(),
        content: content.collect(),
        mode: InputMode::Queue,
        idempotency_key: None,
        by: None,
        answer_schema: None,
    });
    for at in 0..12 {
        if session.asked().is_some() {
            session.refused_at(place("msg_p", Some(at)));
        }
    }
    let named = |part: &&RequestPart| **part == RequestPart::NamedPart;
    assert_eq!(session.repairs().iter().filter(named).count(), 8);
    assert!(session.asked().is_none(), "it ends");
    session.check_replay();
}

#[test]
fn a_place_outside_of_the_conversation_is_passed_over() {
    let mut session = newest();
    session.say("go");
    session.refused_at(place("msg_gone", Some(0)));
    assert_eq!(session.repairs(), [RequestPart::Unknown], "it is sent once more");
    session.refused_at(place("msg_go", Some(7)));
    assert!(!session.repairs().contains(&RequestPart::NamedPart));
    session.check_replay();
}

#[test]
fn what_follows_the_last_accepted_request_is_replaced_where_nothing_is_named() {
    let mut session = newest();
    session.say("go");
    session.looks_as("msg_b", "c1", "a");
    session.result("c1", "seen");
    session.looks_as("msg_c", "c2", "b");
    session.result("c2", REFUSED);
    let refusals = session.refused_for_the_word();
    assert!((2..=6).contains(&refusals), "{refusals}");
    assert_eq!(session.repairs().last(), Some(&RequestPart::LatestMessages));
    let sent = session.sent();
    assert_eq!(
        sent[..3],
        ["user: go", "assistant: [call c1 look]", "tool: c1 = seen"]
    );
    assert_eq!(
        sent[3..],
        [
            "assistant: [call c2 look]".to_owned(),
            format!("tool: c2 = {WORDS}")
        ]
    );
    session.answer("done");
    assert_eq!(session.ends_of_runs(), [(RunStatus::Completed, None)]);
    session.say("two");
    assert_eq!(session.refused_for_the_word(), 0, "it stays out");
    session.answer("done");
    session.check_replay();
}

#[test]
fn the_latest_messages_are_replaced_once_in_a_run() {
    let mut session = newest();
    session.say("go");
    session.looks_as("msg_b", "c1", "a");
    session.result("c1", REFUSED);
    session.refused_for_the_word();
    session.looks_as("msg_c", "c2", "a");
    session.result("c2", REFUSED);
    session.refused_for_the_word();
    assert!(session.asked().is_none(), "the run ends");
    let latest = |part: &&RequestPart| **part == RequestPart::LatestMessages;
    assert_eq!(session.repairs().iter().filter(latest).count(), 1);
    session.say("two");
    let refusals = session.refused_for_the_word();
    assert!(session.asked().is_some(), "the next run repairs it");
    assert!(refusals <= 6, "{refusals}");
    assert!(session.sent().contains(&"user: two".to_owned()));
    session.answer("done");
    session.check_replay();
}

#[test]
fn a_prompt_that_is_refused_ends_its_run_and_no_other() {
    let mut session = newest();
    session.say(REFUSED);
    session.refused_for_the_word();
    assert_eq!(session.ends_of_runs().len(), 1);
    session.say("good");
    session.refused_for_the_word();
    assert_eq!(
        session.sent(),
        [format!("user: {WORDS}"), "user: good".to_owned()]
    );
    session.answer("done");
    session.say("better");
    assert_eq!(session.refused_for_the_word(), 0);
    session.answer("done");
    session.check_replay();
}
