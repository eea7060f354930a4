//! Fallbacks: the model that is called if another one does not answer. The failures are made up.

use agentx_types::*;
use serde_json::json;

use crate::harness::*;

/// A session with the input "go" and two fallbacks; its own model is `first`.
fn started() -> Session {
    Session::started(|config| {
        config.rules_version = RULES_VERSION;
        config.model.id = "first".into();
        config.model.provider = "one".into();
        config.model.prices.input = 1;
        config.fallbacks = ["first", "second", "third"].map(|id| other(config, id)).into();
    })
}

fn other(config: &AgentConfig, id: &str) -> ModelSpec {
    let mut model = config.model.clone();
    model.id = id.into();
    model.provider = if id == "first" { "one" } else { "two" }.into();
    model.prices.input = 100;
    model
}

/// A failed attempt; `retry_in_ms` says when another one is to follow.
fn failed(code: &str, attempt: u32, retry_in_ms: Option<u64>) -> Event {
    AttemptFailed {
        attempt,
        code: code.into(),
        message: "made up".into(),
        status: None,
        retry_in_ms,
        gives_up_in_ms: None,
        overflow: None,
        refused: None,
        longest_answer: None,
        most_media: None,
        no_thinking: false,
        refused_place: None,
    }
    .into()
}

fn switches(session: &Session) -> Vec<(String, String, String)> {
    let told = session.states().filter_map(|output| match output {
        StateOutput::Context {
            change: ContextChange::FellBack { from, to, code, .. },
        } => Some((from.clone(), to.clone(), code.clone())),
        _ => None,
    });
    told.collect()
}

fn switch(from: &str, to: &str, code: &str) -> (String, String, String) {
    (from.into(), to.into(), code.into())
}

#[test]
fn each_fallback_is_asked_once_and_the_next_run_begins_with_the_own_model() {
    let mut session = started();
    assert_eq!(session.request().model.id, "first");
    session.model(vec![
        failed("billing", 1, None),
        error_event("billing", "no money"),
    ]);
    assert_eq!(session.request().model.id, "second");
    session.model(vec![error_event("missing_key", "no key")]);
    assert_eq!(session.request().model.id, "third");
    session.answer("done");
    let expected = [
        switch("one/first", "two/second", "billing"),
        switch("two/second", "two/third", "missing_key"),
    ];
    assert_eq!(switches(&session), expected);
    assert_eq!(session.ends_of_runs(), [(RunStatus::Completed, None)]);
    assert_eq!(session.react().config().model.id, "first");

    session.say("again");
    assert_eq!(session.request().model.id, "first");
    for _ in 0..3 {
        session.model(vec![error_event("overloaded", "busy")]);
    }
    assert_eq!(session.status(), RunStatus::Failed, "none is left");
    session.check_replay();
}

#[test]
fn an_unavailable_model_is_left_after_two_attempts_or_before_a_long_pause() {
    for (attempts, pause) in [(2, 500), (1, 60_000)] {
        let mut session = started();
        let call = session.asked().unwrap().action_id;
        for attempt in 1..=attempts {
            assert_eq!(session.request().model.id, "first");
            session.model(vec![failed("overloaded", attempt, Some(pause))]);
            // An abandoned call stays open in the harness until its own end.
            if attempt == attempts {
                session.open.retain(|open| open.action_id != call);
            }
        }
        assert_eq!(session.cancelled, std::slice::from_ref(&call));
        assert_eq!(session.request().model.id, "second");
        let run = session.react().run().map(|run| run.id.clone());
        let late = StreamEnd {
            stop_reason: StopReason::Interrupted,
            raw: None,
        };
        session.fact(Some(&call), run, late);
        session.answer("done");
        assert_eq!(session.ends_of_runs(), [(RunStatus::Completed, None)]);
        session.check_replay();
    }
}

#[test]
fn a_declined_answer_is_asked_of_another_model_and_paid_at_its_own_prices() {
    let mut session = started();
    let usage = |tokens| -> Event {
        let usage = Usage {
            input_tokens: tokens,
            ..Usage::default()
        };
        UsageReport { usage }.into()
    };
    session.model(stream([usage(10), words("I must not")], StopReason::Refusal));
    assert_eq!(session.request().model.id, "second");
    assert!(!session.sent().iter().any(|said| said.contains("I must not")));
    session.model(stream([usage(10), words("Sure")], StopReason::EndTurn));
    assert_eq!(session.react().totals().cost, NanoUsd(10 + 1_000));
    assert_eq!(session.ends_of_runs(), [(RunStatus::Completed, None)]);
    session.check_replay();
}

#[test]
fn tokens_of_a_fallback_without_a_price_are_counted_as_such_and_the_switch_says_so() {
    let mut session = Session::started(|config| {
        config.rules_version = RULES_VERSION;
        config.model.prices.input = 1;
        config.model.api = Api::OpenaiResponses;
        let mut unpriced = other(config, "second");
        unpriced.prices = Prices::default();
        config.fallbacks = [unpriced].into();
    });
    let used = || -> Event {
        let usage = Usage {
            input_tokens: 10,
            ..Usage::default()
        };
        UsageReport { usage }.into()
    };
    session.model(stream(
        [used(), call("c1", "look", json!({"path": "a"}))],
        StopReason::ToolUse,
    ));
    session.result("c1", "fine");
    assert!(!session.react().totals().usage.is_unpriced());
    session.model(vec![error_event("billing", "no money")]);
    session.model(stream([used(), words("done")], StopReason::EndTurn));
    let totals = session.react().totals();
    assert_eq!((totals.cost, totals.usage.unpriced_tokens), (NanoUsd(10), 10));
    let told = session.states().any(|output| {
        let StateOutput::Context { change } = output else {
            return false;
        };
        matches!(change, ContextChange::FellBack { unpriced: true, .. })
    });
    assert!(told);
    session.check_replay();
}

#[test]
fn what_a_model_declined_and_another_answered_is_not_asked_of_the_first_again() {
    let declined = switch("one/first", "two/second", "content_filter");
    for refusal in [
        stream([words("I must not")], StopReason::Refusal),
        vec![error_event("content_filter", "made up")],
    ] {
        let mut session = started();
        session.model(refusal);
        session.answer("Sure");
        assert_eq!(session.conversation(), ["user: go", "assistant: Sure"]);
        session.say("harmless");
        assert_eq!(session.request().model.id, "second");
        assert_eq!(
            switches(&session),
            [declined.clone(), declined.clone()],
            "it is said again"
        );
        session.model(vec![error_event("overloaded", "busy")]);
        assert_eq!(session.request().model.id, "third");
        session.answer("Sure");
        session.say("more");
        assert_eq!(session.request().model.id, "third");
        session.model(stream([], StopReason::Refusal));
        assert_eq!(session.status(), RunStatus::Failed);
        session.say("again");
        assert_eq!(
            session.request().model.id,
            "first",
            "all have declined, or are down"
        );
        session.check_replay();
    }
}

#[test]
fn an_older_log_asks_the_first_model_again() {
    let mut session = started();
    session.change(ConfigChange::RulesVersion(8));
    session.model(stream([], StopReason::Refusal));
    session.answer("Sure");
    session.say("harmless");
    assert_eq!(session.request().model.id, "first");
    session.check_replay();
}

#[test]
fn what_another_model_would_not_mend_ends_the_run() {
    for code in ["other_server", "bad_address", "bad_request"] {
        let mut session = started();
        session.model(vec![error_event(code, "no")]);
        assert_eq!(session.status(), RunStatus::Failed, "{code}");
        assert_eq!(switches(&session), []);
    }
    let mut session = started();
    session.model(vec![failed("overloaded", 1, Some(500))]);
    session.interrupt();
    session.model(vec![error_event("overloaded", "busy")]);
    assert_eq!(
        session.status(),
        RunStatus::Interrupted,
        "a person has stopped it"
    );
    session.check_replay();
}

#[test]
fn a_person_who_chooses_a_model_means_it_for_the_next_runs_too() {
    let mut session = started();
    session.model(vec![error_event("billing", "no money")]);
    let chosen = other(session.react().config(), "chosen");
    session.change(ConfigChange::Model(Box::new(chosen)));
    session.answer("done");
    session.say("again");
    assert_eq!(session.request().model.id, "chosen");
    session.check_replay();
}
