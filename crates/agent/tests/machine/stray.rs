//! Refusals that mean little: a stray 400 of a gateway, and pictures that one model of several cannot see.
//! They change nothing in a session permanently.

use agentx_types::*;

use crate::harness::*;
use crate::repair::{keeping, picture};

fn now(config: &mut AgentConfig) {
    keeping(config);
    config.rules_version = RULES_VERSION;
}

#[test]
fn a_refusal_that_names_nothing_is_asked_once_more_as_it_was() {
    let mut session = Session::started(now);
    session.thinking_round("a", 1);
    let before = session.request();
    session.refused(RequestPart::Unknown);
    assert_eq!(session.request(), before);
    assert_eq!(session.repairs(), [RequestPart::Unknown]);
    session.answer("done");
    session.say("and on");
    assert_eq!(session.thoughts(), ["a"]);
    session.refused(RequestPart::Unknown);
    assert_eq!(session.thoughts(), ["a"], "each stray refusal is asked once more");
    session.refused(RequestPart::Unknown);
    assert!(
        session.thoughts().is_empty(),
        "the same refusal twice is none that strays"
    );
    session.answer("done");
    session.check_replay();
}

#[test]
fn what_was_left_out_in_vain_is_sent_again() {
    let mut session = Session::started(now);
    session.thinking_round("a", 1);
    let before = session.sent();
    for _ in 0..6 {
        assert!(session.asked().is_some());
        session.refused(RequestPart::Unknown);
    }
    assert_eq!(session.ends_of_runs().len(), 1, "nothing is left to try");
    session.say("again");
    assert_eq!(session.thoughts(), ["a"]);
    let request = session.request();
    assert!(!request.plain && !request.turns);
    assert_eq!(session.sent().len(), before.len() + 1);
    session.answer("done");
    session.check_replay();
}

#[test]
fn thinking_that_no_longer_fits_stays_out_whatever_was_in_vain() {
    let mut session = Session::started(now);
    session.thinking_round("a", 1);
    session.refused(RequestPart::Unknown);
    // The instructions change while the provider refuses everything.
    session.change(ConfigChange::Instructions(vec![Instructions {
        path: "AGENTS.md".into(),
        text: "Be brief.".into(),
    }]));
    for _ in 0..6 {
        if session.asked().is_some() {
            session.refused(RequestPart::Unknown);
        }
    }
    session.say("again");
    assert!(session.thoughts().is_empty(), "{:?}", session.thoughts());
    session.answer("done");
    session.check_replay();
}

fn choose(session: &mut Session, model: &str) {
    let mut other = session.react().config().model.clone();
    other.id = model.into();
    session.change(ConfigChange::Model(Box::new(other)));
}

fn has_picture(session: &Session) -> bool {
    let request = session.request();
    let mut parts = request.messages.iter().flat_map(|message| &message.content);
    parts.any(|part| matches!(part, ContentPart::Image(_)))
}

#[test]
fn pictures_that_one_model_refuses_are_shown_to_the_others() {
    for (version, again) in [(RULES_VERSION, true), (6, false)] {
        let mut session = Session::with(|config| {
            config.model.context_window = 200_000;
            config.rules_version = version;
        });
        let sees = session.react().config().model.id.clone();
        session.happens(UserMessage {
            message_id: "msg_p".into(),
            content: vec![ContentPart::text("look"), picture()],
            mode: InputMode::Queue,
            idempotency_key: None,
            by: None,
            answer_schema: None,
        });
        session.answer("I see");
        choose(&mut session, "blind");
        session.say("and you?");
        assert!(has_picture(&session));
        session.refused(RequestPart::Media);
        assert!(!has_picture(&session));
        session.answer("I do not");
        choose(&mut session, &sees);
        session.say("look again");
        assert_eq!(has_picture(&session), again, "rules {version}");
        session.answer("I see");
        choose(&mut session, "blind");
        session.say("still nothing?");
        assert!(!has_picture(&session), "it is not asked to refuse it again");
        session.answer("nothing");
        session.check_replay();
    }
}
