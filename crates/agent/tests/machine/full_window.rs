//! A window that is full before the answer is complete, a summary that fails when one is needed, and an input
//! that never fits: the session continues after each of them.

use agentx_types::*;

use crate::harness::*;
use crate::overflow::too_long;

/// The event that both APIs call `model_context_window_exceeded`: the model was stopped because its window
/// was full.
fn full(read: u64, written: u64, text: Option<&str>) -> Vec<Event> {
    let said = text.map(words);
    stream(
        said.into_iter().chain([usage(read, written)]),
        StopReason::ContextWindow,
    )
}

fn with_version(version: u32) -> Session {
    Session::with(|config| {
        config.model.context_window = 128_000;
        config.model.max_output_tokens = 8_192;
        config.rules_version = version;
        config.condensing = Some(Box::default());
    })
}

/// A session that already has some exchanges of about 2,000 tokens each.
fn talked(version: u32) -> Session {
    let mut session = with_version(version);
    for n in 0..6 {
        session.say(&format!("question {n}: {}", "made up ".repeat(1_000)));
        session.answer("an answer");
    }
    session
}

#[test]
fn a_window_that_was_full_in_half_an_answer_is_learned() {
    for (version, window) in [(RULES_VERSION, 16_000), (5, 128_000)] {
        let mut session = talked(version);
        session.say("go on");
        session.model(full(15_000, 1_000, Some("half an ans")));
        assert_eq!(session.ends_of_runs().last().unwrap().0, RunStatus::Failed);
        assert_eq!(session.react().config().model.context_window, window);
        session.say("go on");
        if version == RULES_VERSION {
            session.summary("In short.");
            session.answer("done");
            assert_eq!(session.ends_of_runs().last().unwrap().0, RunStatus::Completed);
        }
        session.check_replay();
    }
}

#[test]
fn a_window_that_was_full_before_a_word_is_learned_and_the_run_goes_on() {
    let mut session = talked(RULES_VERSION);
    session.say("go on");
    session.model(full(16_000, 0, None));
    session.summary("In short.");
    assert!(agentx_agent::estimate_request(&session.request()) < 16_000);
    session.answer("done");
    assert_eq!(session.ends_of_runs().last().unwrap().0, RunStatus::Completed);
    session.check_replay();
}

/// The estimate of a conversation may be a fraction of the model's count, for a language or data that its
/// tokenizer handles badly.
#[test]
fn a_window_that_was_full_is_condensed_however_small_the_estimate_is() {
    for (read, written) in [(120_000, 8_000), (0, 0)] {
        let mut session = talked(RULES_VERSION);
        session.say("go on");
        let estimated = agentx_agent::estimate_request(&session.request());
        assert!(estimated < 20_000, "{estimated}");
        session.model(full(read, written, Some("half an ans")));
        assert_eq!(session.ends_of_runs().last().unwrap().0, RunStatus::Failed);
        assert_eq!(session.react().config().model.context_window, 128_000);
        session.say("go on");
        session.summary("In short.");
        assert!(agentx_agent::estimate_request(&session.request()) < estimated * 3 / 4);
        session.answer("done");
        assert_eq!(session.ends_of_runs().last().unwrap().0, RunStatus::Completed);
        session.check_replay();
        session.say("and more");
        assert!(session.react().condensing().is_none(), "one summary is enough");
    }
    let mut older = talked(8);
    older.say("go on");
    older.model(full(120_000, 8_000, Some("half an ans")));
    older.say("go on");
    assert!(
        older.react().condensing().is_none(),
        "older logs derive what they did"
    );
}

#[test]
fn where_the_summary_comes_to_nothing_less_is_sent() {
    for (version, status) in [(RULES_VERSION, RunStatus::Completed), (5, RunStatus::Failed)] {
        let mut session = talked(version);
        session.say("go on");
        session.model(too_long(8_000, 15_000));
        session.no_summary("cut_off");
        if version == RULES_VERSION {
            assert!(agentx_agent::estimate_request(&session.request()) < 8_000);
            session.answer("done");
        }
        assert_eq!(session.ends_of_runs().last().unwrap().0, status, "{version}");
        session.check_replay();
    }
}

#[test]
fn an_input_that_never_fits_fails_once() {
    for (version, is_left_out) in [(RULES_VERSION, true), (5, false)] {
        let mut session = Session::with(|config| {
            config.model.context_window = 20_000;
            config.model.max_output_tokens = 4_000;
            config.rules_version = version;
            config.condensing = Some(Box::default());
        });
        session.say(&"x ".repeat(60_000));
        session.model(too_long(20_000, 60_000));
        assert_eq!(session.ends_of_runs().last().unwrap().0, RunStatus::Failed);
        session.say("small");
        let fits = agentx_agent::estimate_request(&session.request()) < 16_000;
        assert_eq!(fits, is_left_out, "{version}");
        assert!(
            session
                .request()
                .messages
                .last()
                .unwrap()
                .text()
                .contains("small")
        );
        session.check_replay();
    }
}
