//! Answers without tools: plain, empty, cut short, paused.

use agentx_types::*;
use serde_json::json;

use crate::harness::*;

#[test]
fn a_fallback_to_another_model_is_paid_at_its_prices() {
    for (prices, cost) in [
        (None, 35_000),
        (
            Some(Box::new(Prices {
                input: 100,
                output: 10,
                ..Prices::default()
            })),
            1_050,
        ),
    ] {
        let mut session = Session::plain();
        session.say("hello");
        let fallback = ModelFellBack {
            model: "other-1".into(),
            prices,
        };
        session.model(stream(
            [usage(10, 1), fallback.into(), words("Hi"), usage(10, 5)],
            StopReason::EndTurn,
        ));
        assert_eq!(session.react().totals().cost, NanoUsd(cost));
        let spent = session.outputs().find_map(|output| match output {
            AgentOutput::State(StateOutput::Spent { model, .. }) => Some(model.clone()),
            _ => None,
        });
        assert_eq!(spent.as_deref(), Some("other-1"));
        session.say("again");
        session.model(stream([words("Hi"), usage(10, 5)], StopReason::EndTurn));
        assert_eq!(
            session.react().totals().cost,
            NanoUsd(cost + 35_000),
            "the next call is not"
        );
        session.check_replay();
    }
}

#[test]
fn a_plain_answer() {
    let mut session = Session::plain();
    session.say("hello");
    assert_eq!(session.status(), RunStatus::AwaitingLlm);
    session.model(stream(
        [words("Hi "), words("there"), usage(10, 5)],
        StopReason::EndTurn,
    ));
    assert_eq!(session.conversation(), ["user: hello", "assistant: Hi there"]);
    assert_eq!(session.ends_of_runs(), [(RunStatus::Completed, None)]);
    let totals = session.react().totals();
    assert_eq!((totals.usage.input_tokens, totals.cost), (10, NanoUsd(35_000)));
    assert_eq!(totals.context_tokens, 15);
    let last_turn = session.outputs().filter_map(|output| match output {
        AgentOutput::Turn(TurnOutput::Response {
            text,
            usage,
            cost,
            model_calls,
            duration_ms,
            ..
        }) => Some((text.clone(), *usage, *cost, *model_calls, *duration_ms)),
        _ => None,
    });
    assert_eq!(
        last_turn.last(),
        Some(("Hi there".into(), totals.usage, totals.cost, 1, 6))
    );
    session.check_replay();
}

#[test]
fn reasons_that_end_a_run() {
    let cases = [
        (StopReason::EndTurn, None),
        (StopReason::StopSequence, None),
        (StopReason::ToolUse, None),
        (StopReason::Other, None),
        (
            StopReason::MaxTokens,
            Some("the answer reached its longest length"),
        ),
        (StopReason::Refusal, Some("the model declined to answer")),
    ];
    for (reason, why) in cases {
        let mut session = Session::started(|_| {});
        session.model(stream([words("a")], reason));
        assert_eq!(
            session.ends_of_runs(),
            [(RunStatus::Completed, why.map(str::to_owned))],
            "{reason:?}"
        );
    }
}

#[test]
fn a_declined_answer_fails_the_run_and_is_read_no_more() {
    let mut session = Session::with(|config| config.rules_version = RULES_VERSION);
    session.say("made up and bad");
    session.model(stream([words("I cannot")], StopReason::Refusal));
    let why = Some("the model declined to answer".to_owned());
    assert_eq!(session.ends_of_runs(), [(RunStatus::Failed, why)]);
    session.say("something else");
    assert_eq!(session.sent(), ["user: something else"]);
}

#[test]
fn an_empty_answer_ends_the_run_and_leaves_nothing_behind() {
    for blank in ["", "  \n"] {
        let mut session = Session::started(|_| {});
        session.answer(blank);
        assert_eq!(session.conversation(), ["user: go"]);
        assert_eq!(session.ends_of_runs(), [(RunStatus::Completed, None)]);
        session.say("again");
        assert_eq!(session.sent(), ["user: go", "user: again"]);
    }
}

#[test]
fn a_paused_turn_goes_on_and_counts_as_a_round() {
    let mut session = Session::started(|config| config.limits.max_iterations = Some(1));
    session.model(stream([words("first")], StopReason::PauseTurn));
    assert_eq!(session.sent(), ["user: go", "assistant: first"]);
    session.model(stream([words("second")], StopReason::PauseTurn));
    assert_eq!(session.status(), RunStatus::TimedOut);
    assert_eq!(session.reports(), ["error"]);
}

#[test]
fn a_pause_without_a_word_does_not_go_round_in_circles() {
    let mut session = Session::started(|_| {});
    session.model(stream([], StopReason::PauseTurn));
    assert_eq!(session.status(), RunStatus::Failed);
    assert_eq!(session.reports(), ["error"]);
}

#[test]
fn a_model_that_pauses_for_ever_is_asked_eight_times() {
    for (version, asked) in [(RULES_VERSION, 8), (8, 51)] {
        let mut session = Session::started(|config| {
            config.rules_version = version;
            config.limits.max_iterations = Some(50);
        });
        let mut calls = 0;
        while calls < 60 && session.status() == RunStatus::AwaitingLlm {
            session.model(stream([words("and so on")], StopReason::PauseTurn));
            calls += 1;
        }
        assert_eq!(calls, asked, "rules {version}");
        session.check_replay();
        if version == RULES_VERSION {
            assert_eq!(session.status(), RunStatus::Failed);
            let why = session.ends_of_runs().last().unwrap().1.clone().unwrap();
            assert!(why.contains("paused its answer 8 times in a row"), "{why}");
            session.say("something else");
            session.answer("done");
            assert_eq!(session.ends_of_runs().last().unwrap().0, RunStatus::Completed);
        }
    }
}

#[test]
fn pauses_between_other_answers_are_not_counted_together() {
    let mut session = Session::started(|_| {});
    for n in 0..3 {
        for _ in 0..7 {
            session.model(stream([words("and so on")], StopReason::PauseTurn));
        }
        let id = format!("c{n}");
        session.calls(&[(id.as_str(), "look", json!({}))]);
        session.result(&id, "ok");
    }
    session.answer("done");
    assert_eq!(session.ends_of_runs().last().unwrap().0, RunStatus::Completed);
}

#[test]
fn a_full_window_fails_the_run_with_one_error_on_record() {
    let mut session = Session::started(|_| {});
    session.model(stream([words("a")], StopReason::ContextWindow));
    let why = "the context window of the model is full".to_owned();
    assert_eq!(session.ends_of_runs(), [(RunStatus::Failed, Some(why))]);
    assert_eq!(session.reports(), ["error"]);
    assert_eq!(session.conversation(), ["user: go", "assistant: a"]);
}

#[test]
fn a_call_is_paid_at_the_prices_of_the_model_that_was_asked() {
    let mut session = Session::started_with_rules(RULES_VERSION, |_| {});
    let mut other = session.react().config().model.clone();
    other.id = "other".into();
    other.provider = "second".into();
    other.api = Api::OpenaiChat;
    other.prices.input = 1_000_000;
    session.change(ConfigChange::Model(Box::new(other)));
    session.model(stream([words("a"), usage(10, 0)], StopReason::EndTurn));
    assert_eq!(session.react().totals().cost, NanoUsd(10_000));
    assert!(
        session
            .states()
            .any(|s| matches!(s, StateOutput::Spent { model, .. } if model == "fixture-1"))
    );
    session.say("again");
    assert_eq!(session.request().model.id, "other");
    session.model(stream([words("b"), usage(10, 0)], StopReason::EndTurn));
    let is_booked =
        |s: &StateOutput| matches!(s, StateOutput::Spent { model, .. } if model == "second/other");
    assert!(
        session.states().any(is_booked),
        "two providers may have a model with this id"
    );
}

#[test]
fn parts_of_an_answer_stay_apart_and_keep_what_the_provider_attached() {
    let attach = |data: serde_json::Value, attach| -> Event {
        ProviderPart {
            api: "anthropic".into(),
            attach,
            data,
        }
        .into()
    };
    let mut session = Session::started(|_| {});
    session.model(stream(
        [
            ThinkingChunk { text: "hm".into() }.into(),
            attach(serde_json::json!({"signature": "s"}), true),
            words("a"),
            PartEnd {}.into(),
            words("b"),
            attach(serde_json::json!({"type": "server_tool_use"}), false),
            words("c"),
        ],
        StopReason::EndTurn,
    ));
    let message = session.react().messages().last().unwrap().clone();
    let json = serde_json::to_value(&message.content).unwrap();
    let expected = serde_json::json!([
        {"type": "thinking", "text": "hm", "provider": {"api": "anthropic", "model": "fixture-1", "data": {"signature": "s"}}},
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
        {"type": "opaque", "provider": {"api": "anthropic", "model": "fixture-1", "data": {"type": "server_tool_use"}}},
        {"type": "text", "text": "c"},
    ]);
    assert_eq!(json, expected);
}

#[test]
fn what_a_provider_attached_names_the_model_that_was_asked() {
    let signature = |session: &mut Session| {
        let data = json!({"signature": "c2ln"});
        let part = ProviderPart {
            api: "anthropic".into(),
            attach: true,
            data,
        };
        let thought = ThinkingChunk { text: "hm".into() };
        session.model(stream(
            [thought.into(), part.into(), words("a")],
            StopReason::EndTurn,
        ));
    };
    let mut session = Session::started(|_| {});
    let first = session.react().config().model.id.clone();
    let mut other = session.react().config().model.clone();
    other.id = "other".into();
    session.change(ConfigChange::Model(Box::new(other)));
    signature(&mut session);
    session.say("more");
    signature(&mut session);
    let models = session.react().messages().flat_map(|message| &message.content);
    let models: Vec<_> = models
        .filter_map(|part| match part {
            ContentPart::Thinking(part) => part.provider.as_ref()?.model.as_deref(),
            _ => None,
        })
        .collect();
    assert_eq!(models, [first.as_str(), "other"]);
}

#[test]
fn calls_of_an_answer_that_was_declined_are_answered_and_not_run() {
    let mut session = Session::started(|config| config.rules_version = 2);
    let said = [
        words("I will"),
        call("c1", "look", json!({"path": "a"})),
        call("c2", "nosuch", json!({})),
    ];
    session.model(stream(said, StopReason::Refusal));
    assert!(session.running_ids().is_empty());
    let ends = session.ends_of_runs();
    assert!(
        matches!(&ends[..], [(RunStatus::Failed, Some(why))] if why.contains("declined")),
        "{ends:?}"
    );
    session.say("again");
    let results: Vec<String> = session
        .sent()
        .into_iter()
        .filter(|line| line.starts_with("tool:"))
        .collect();
    assert_eq!(results.len(), 2, "{results:?}");
    assert!(
        results.iter().all(|result| result.contains("not run")),
        "{results:?}"
    );
    session.answer("done");
    session.check_replay();
}

#[test]
fn calls_of_a_declined_answer_in_an_older_log_are_run_as_they_were() {
    let mut session = Session::started(|config| config.rules_version = 1);
    session.model(stream(
        [call("c1", "look", json!({"path": "a"}))],
        StopReason::Refusal,
    ));
    assert_eq!(session.running_ids(), ["c1"]);
}

/// Returns the last request, and the ends of the runs.
fn goes_on_after_refusal(
    version: u32,
    before: impl FnOnce(&mut Session),
    refusal: Vec<EnvironmentEvent>,
) -> Vec<String> {
    let mut session = Session::with(|config| config.rules_version = version);
    session.say("hello");
    session.answer("hi");
    session.say("made up and bad");
    before(&mut session);
    session.model(refusal);
    session.say("something else");
    let sent = session.sent();
    session.answer("done");
    session.check_replay();
    sent
}

#[test]
fn what_the_model_declined_is_left_out_of_later_requests() {
    let declined = || stream([words("I can")], StopReason::Refusal);
    let sent = goes_on_after_refusal(RULES_VERSION, |_| {}, declined());
    assert_eq!(sent, ["user: hello", "assistant: hi", "user: something else"]);
    let wordless = goes_on_after_refusal(RULES_VERSION, |_| {}, stream([], StopReason::Refusal));
    assert_eq!(wordless, sent);
    let filtered = goes_on_after_refusal(
        RULES_VERSION,
        |_| {},
        vec![error_event("content_filter", "The prompt was filtered")],
    );
    assert_eq!(filtered, sent);
    let older = goes_on_after_refusal(4, |_| {}, declined());
    assert_eq!(older.len(), 5, "older logs derive what they did: {older:?}");
}

/// A model that declines after two rounds of tools, the second with two calls.
fn goes_on_after_refused_rounds(version: u32) -> Vec<String> {
    let rounds = |session: &mut Session| {
        session.looks("c1");
        session.result("c1", "fine");
        let calls = ["c2", "c3"].map(|id| call(id, "look", json!({"path": id})));
        session.model(stream(calls, StopReason::ToolUse));
        session.result("c2", "made up and bad too");
        session.ends("c3", "bad as well", ToolStatus::Failed);
    };
    goes_on_after_refusal(version, rounds, stream([words("I")], StopReason::Refusal))
}

/// The note about a declined turn with these calls.
fn note(calls: &str) -> String {
    format!(
        "user: [A message and the work on it are left out here, because the answer to it was declined. These \
         calls were made for it: {calls}. They may have had their effects: look before you repeat any.]"
    )
}

#[test]
fn a_declined_turn_goes_as_a_whole_and_a_note_names_its_calls() {
    let sent = goes_on_after_refused_rounds(RULES_VERSION);
    let told = note("look (succeeded), look (succeeded), look (without success)");
    let expected = ["user: hello", "assistant: hi", &told, "user: something else"];
    assert_eq!(sent, expected);
    let calls = [words("I will"), call("c3", "look", json!({"path": "a"}))];
    let sent = goes_on_after_refusal(RULES_VERSION, |_| {}, stream(calls, StopReason::Refusal));
    assert_eq!(sent, ["user: hello", "assistant: hi", "user: something else"]);
}

#[test]
fn refusals_in_a_row_take_more_and_more_until_a_model_answers() {
    let mut session = Session::with(|config| config.rules_version = RULES_VERSION);
    let declined = |session: &mut Session, left: usize| {
        session.say("more");
        session.model(stream([], StopReason::Refusal));
        let said = (1..=left).flat_map(|index| [format!("user: said {index}"), "assistant: fine".into()]);
        assert_eq!(session.conversation(), said.collect::<Vec<_>>());
    };
    let answered = |session: &mut Session, index: usize| {
        session.say(&format!("said {index}"));
        session.answer("fine");
    };
    (1..=4).for_each(|index| answered(&mut session, index));
    declined(&mut session, 4);
    declined(&mut session, 3);
    answered(&mut session, 4);
    answered(&mut session, 5);
    for left in [5, 4, 2, 0, 0] {
        declined(&mut session, left);
    }
    session.check_replay();
}

#[test]
fn a_refusal_of_anthropic_without_a_word_costs_nothing() {
    let cost = |provider: &str, version: u32, said: Vec<Event>| {
        let mut session = Session::started(|config| {
            config.rules_version = version;
            config.model.provider = provider.into();
        });
        let events = [vec![usage(100, 1)], said].concat();
        session.model(stream(events, StopReason::Refusal));
        session.react().totals().usage.input_tokens
    };
    assert_eq!(cost("anthropic", RULES_VERSION, Vec::new()), 0);
    assert_eq!(cost("anthropic", RULES_VERSION, vec![words("I")]), 100);
    assert_eq!(cost("openai", RULES_VERSION, Vec::new()), 100);
    assert_eq!(
        cost("anthropic", 8, Vec::new()),
        100,
        "older logs derive what they did"
    );
}

#[test]
fn an_input_without_words_that_is_declined_takes_out_what_it_asked_again() {
    let mut session = Session::with(|config| config.rules_version = RULES_VERSION);
    session.say("made up and bad");
    session.model(vec![error_event("auth", "the key is not valid")]);
    session.happens(UserMessage {
        message_id: MessageId::with_suffix("again"),
        content: Vec::new(),
        mode: InputMode::Queue,
        idempotency_key: None,
        by: None,
        answer_schema: None,
    });
    assert_eq!(session.sent(), ["user: made up and bad"]);
    session.model(stream([], StopReason::Refusal));
    assert!(session.conversation().is_empty());
    session.check_replay();
}

#[test]
fn in_an_older_log_the_last_calls_go_with_the_declined_answer() {
    let sent = goes_on_after_refused_rounds(8);
    assert!(sent.contains(&"tool: c1 = fine".to_owned()), "{sent:?}");
    assert!(!sent.iter().any(|line| line.contains("c2")), "{sent:?}");
}

#[test]
fn words_said_beside_calls_are_declined_with_their_turn() {
    let steered = |session: &mut Session| {
        session.looks("c1");
        session.say_as("made up and worse", InputMode::Steer);
        session.result("c1", "fine");
    };
    let wordless = stream([], StopReason::Refusal);
    let sent = goes_on_after_refusal(RULES_VERSION, steered, wordless);
    assert!(!sent.iter().any(|line| line.contains("made up")), "{sent:?}");
    assert_eq!(sent[2], note("look (succeeded)"));
}

#[test]
fn a_declined_answer_behind_a_pause_is_left_out() {
    let pause = |session: &mut Session| session.model(stream([words("first")], StopReason::PauseTurn));
    let sent = goes_on_after_refusal(
        RULES_VERSION,
        pause,
        stream([words("I would")], StopReason::Refusal),
    );
    assert_eq!(sent[2..], ["user: something else"]);
    let older = goes_on_after_refusal(8, pause, stream([words("I would")], StopReason::Refusal));
    assert_eq!(older[4], "assistant: I would", "older logs derive what they did");
}

#[test]
fn words_declined_behind_results_that_no_model_has_answered_leave_those_rephrased() {
    let mut session = Session::with(|config| config.rules_version = RULES_VERSION);
    session.say("read it");
    session.looks("c1");
    session.result("c1", "made up and bad");
    session.model(vec![error_event("auth", "the key is not valid")]);
    session.say("go on");
    assert!(session.sent().contains(&"tool: c1 = made up and bad".to_owned()));
    session.model(stream([words("I")], StopReason::Refusal));
    session.say("leave it");
    let sent = session.sent();
    assert_eq!(sent.len(), 4, "{sent:?}");
    assert!(!sent.iter().any(|line| line.contains("bad")), "{sent:?}");
    session.answer("done");
    session.check_replay();
}

/// The text of the last turn.
fn text_of_the_turn(session: &Session) -> Option<String> {
    let texts = session.outputs().filter_map(|output| match output {
        AgentOutput::Turn(TurnOutput::Response { text, .. }) => Some(text.clone()),
        _ => None,
    });
    texts.last()
}

#[test]
fn the_text_of_a_run_is_that_of_its_last_answer_alone() {
    let after = |version, ends: Vec<Vec<_>>| {
        let mut session = Session::with(|config| config.rules_version = version);
        session.say("what is in a.txt?");
        let looks = [words("I look."), call("c1", "look", json!({ "path": "a.txt" }))];
        session.model(stream(looks, StopReason::ToolUse));
        session.result("c1", "nothing");
        for end in ends {
            session.model(end);
        }
        session.check_replay();
        text_of_the_turn(&session)
    };
    let end = |said: &[&str], reason| stream(said.iter().map(|text| words(text)), reason);
    for (ends, text) in [
        (vec![end(&["Nothing."], StopReason::EndTurn)], "Nothing."),
        (vec![end(&[], StopReason::EndTurn)], ""),
        (vec![end(&[], StopReason::Refusal)], ""),
        (vec![end(&["I can"], StopReason::Refusal)], "I can"),
        (
            vec![
                end(&["Noth"], StopReason::PauseTurn),
                end(&[], StopReason::EndTurn),
            ],
            "Noth",
        ),
    ] {
        assert_eq!(after(RULES_VERSION, ends).as_deref(), Some(text));
    }
    let before = after(8, vec![end(&[], StopReason::EndTurn)]);
    assert_eq!(
        before.as_deref(),
        Some("I look."),
        "older logs are read as they were"
    );
}
