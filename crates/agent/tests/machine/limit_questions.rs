//! The question at a limit: who is asked, what each answer does, and that it holds for one run.

use agentx_types::*;
use serde_json::json;
use std::sync::Arc;

use crate::harness::*;

fn rounds(max: u32) -> Limits {
    Limits {
        max_iterations: Some(max),
        ..Limits::default()
    }
}

/// A session with these limits that asks, and in which somebody is there to answer.
fn asking(limits: Limits, change: impl FnOnce(&mut AgentConfig)) -> Session {
    Session::started_with_rules(RULES_VERSION, |config| {
        config.limits = limits;
        config.ask_user = Some(AskUser::Decide);
        config.asks_at_limits = true;
        change(config);
    })
}

/// The same after as many rounds as it may have, with one more call `x`.
fn at_limit(max: u32, change: impl FnOnce(&mut AgentConfig)) -> Session {
    let mut session = asking(rounds(max), change);
    for number in 0..max {
        round(&mut session, &format!("c{number}"));
    }
    session.looks("x");
    session
}

fn round(session: &mut Session, id: &str) {
    session.looks(id);
    session.result(id, "ok");
}

fn decided(id: &str, decision: ApprovalDecision, note: Option<&str>) -> Approval {
    Approval {
        tool_call_id: id.into(),
        decision,
        note: note.map(str::to_owned),
        rule: None,
        by: None,
        limited: false,
    }
}

fn say(session: &mut Session, id: &str, words: &str) {
    session.happens(decided(id, ApprovalDecision::Once, Some(words)));
}

/// The questions until now.
fn questions(session: &Session) -> Vec<AskedQuestion> {
    let asked = session.states().filter_map(|state| match state {
        StateOutput::ApprovalRequested { question, .. } => question.as_deref().cloned(),
        _ => None,
    });
    asked.collect()
}

const REACHED: &str = "the limit of 2 tool rounds in one run is reached";

#[test]
fn a_run_at_its_limit_asks_and_continues_with_as_much_again() {
    for answer in ["1", "continue", "y", "continue with 2 tool rounds more"] {
        let mut session = at_limit(2, |_| {});
        assert_eq!(session.status(), RunStatus::AwaitingApproval);
        assert!(session.running_ids().is_empty(), "the call waits");
        let asked = questions(&session);
        assert!(asked[0].question.contains(REACHED), "{asked:?}");
        assert_eq!(asked[0].choices, ["continue with 2 tool rounds more", "stop"]);
        say(&mut session, "x", answer);
        assert_eq!(session.running_ids(), ["x"], "{answer}");
        session.result("x", "ok");
        round(&mut session, "y");
        session.looks("z");
        assert_eq!(
            session.status(),
            RunStatus::AwaitingApproval,
            "two more, then it asks again"
        );
        assert!(
            questions(&session)[1]
                .question
                .contains("the limit of 4 tool rounds")
        );
        assert_eq!(session.react().config().limits, rounds(2), "the setting stays");
        session.check_replay();
    }
}

#[test]
fn an_amount_is_added_and_the_next_run_has_the_usual_limit() {
    let mut session = at_limit(2, |_| {});
    say(&mut session, "x", "1 more");
    session.result("x", "ok");
    session.answer("done");
    assert_eq!(session.ends_of_runs(), [(RunStatus::Completed, None)]);
    session.say("again");
    round(&mut session, "d1");
    round(&mut session, "d2");
    session.looks("d3");
    assert_eq!(session.status(), RunStatus::AwaitingApproval);
    assert!(questions(&session)[1].question.contains(REACHED));
    session.check_replay();
}

#[test]
fn every_other_answer_ends_the_run_with_its_limit() {
    use ApprovalDecision::{Deny, Once};
    for (decision, note, who) in [
        (Once, Some("2"), "; a person stopped it"),
        (Once, Some("stop"), "; a person stopped it"),
        (Once, Some("no"), "; a person stopped it"),
        (Once, Some("0 more"), "; a person stopped it"),
        (Once, Some("many more"), "; a person stopped it"),
        (Once, Some("write a summary instead"), "; a person stopped it"),
        (Deny, None, "; a person stopped it"),
        (Deny, Some("continue"), "; a person stopped it"),
        (Deny, Some(NOBODY_ANSWERS), ""),
    ] {
        let mut session = at_limit(2, |_| {});
        session.happens(decided("x", decision, note));
        let why = format!("{REACHED}{who}");
        assert_eq!(
            session.ends_of_runs(),
            [(RunStatus::TimedOut, Some(why.clone()))],
            "{note:?}"
        );
        let conversation = session.conversation();
        assert_eq!(
            conversation.last(),
            Some(&format!("tool: x = not run: {why}")),
            "{note:?}"
        );
        assert_eq!(session.reports(), ["error"]);
        session.say("go on");
        let told = session
            .sent()
            .iter()
            .any(|line| line.contains("write a summary instead"));
        assert_eq!(
            told,
            note == Some("write a summary instead"),
            "{:?}",
            session.sent()
        );
        session.check_replay();
    }
}

#[test]
fn a_yes_without_words_raises_nothing() {
    let mut session = at_limit(2, |_| {});
    session.decide("x", ApprovalDecision::Once);
    session.decide("x", ApprovalDecision::Always);
    assert_eq!(session.status(), RunStatus::AwaitingApproval);
    assert!(session.running_ids().is_empty() && session.react().config().rules.is_empty());
    session.check_replay();
}

#[test]
fn one_answer_settles_all_calls_and_each_is_decided_as_usual() {
    let mut session = asking(rounds(0), |config| {
        config.rules.push(Rule {
            effect: RuleEffect::Deny,
            tool: "change".into(),
            argument: None,
            origin: None,
            path: None,
            workspace: None,
        });
    });
    let path = || json!({"path": "a"});
    session.calls(&[
        ("a", "look", path()),
        ("b", "nonsense", json!({})),
        ("c", "change", path()),
        ("d", "look", path()),
    ]);
    assert_eq!(questions(&session).len(), 3, "a mistake is answered at once");
    say(&mut session, "c", "continue");
    assert_eq!(session.running_ids(), ["a", "d"]);
    session.result("d", "ok");
    session.result("a", "ok");
    let told = session.sent();
    let order = [
        "tool: a = ok",
        "tool: b = There is no tool",
        "tool: c = Not allowed",
        "tool: d = ok",
    ];
    for (line, expected) in told[told.len() - 4..].iter().zip(order) {
        assert!(line.starts_with(expected), "{told:?}");
    }
    session.check_replay();
}

#[test]
fn tokens_and_money_are_counted_from_what_was_spent() {
    let tokens = Limits {
        max_tokens: Some(100),
        ..Limits::default()
    };
    let used = |session: &mut Session, id: &str, tokens: u64| {
        session.model(stream(
            [usage(tokens, 0), call(id, "look", json!({}))],
            StopReason::ToolUse,
        ));
    };
    for (answer, left) in [("1", 100), ("30 More", 30)] {
        let mut session = asking(tokens, |_| {});
        used(&mut session, "a", 450);
        assert_eq!(questions(&session)[0].choices[0], "continue with 100 tokens more");
        say(&mut session, "a", answer);
        session.result("a", "ok");
        used(&mut session, "b", left - 1);
        session.result("b", "ok");
        used(&mut session, "c", 1);
        assert_eq!(session.status(), RunStatus::AwaitingApproval, "{answer}");
        session.check_replay();
    }
    let mut session = asking(
        Limits {
            max_cost: Some(NanoUsd(500_000_000)),
            ..Limits::default()
        },
        |config| config.model.prices.input = 1_000_000,
    );
    used(&mut session, "a", 600);
    say(&mut session, "a", "$0.25 more");
    session.result("a", "ok");
    used(&mut session, "b", 249);
    session.result("b", "ok");
    used(&mut session, "c", 1);
    let asked = questions(&session);
    assert!(asked[1].question.contains("0.8500 dollars"), "{asked:?}");
}

#[test]
fn nobody_is_asked_where_nobody_may_answer() {
    type Change = fn(&mut AgentConfig);
    let cases: [(&str, Change); 5] = [
        ("not set", |config| config.asks_at_limits = false),
        ("nobody there", |config| config.ask_user = None),
        ("the mode", |config| config.approval = ApprovalMode::Deny),
        ("a member", |config| {
            config.server_rules = Some(Arc::new(ServerRules {
                rules: Vec::new(),
                member_directory: Some("/srv/ann".into()),
            }));
        }),
        ("older rules", |config| {
            config.rules_version = since::LIMITS_ASK - 1;
        }),
    ];
    for (case, change) in cases {
        let mut session = asking(rounds(0), change);
        session.looks("x");
        assert!(questions(&session).is_empty(), "{case}");
        let why = "the limit of 0 tool rounds in one run is reached".to_owned();
        assert_eq!(
            session.ends_of_runs(),
            [(RunStatus::TimedOut, Some(why))],
            "{case}"
        );
        session.check_replay();
    }
}

#[test]
fn on_a_server_only_those_answer_who_may_allow_its_calls() {
    let mut session = at_limit(2, |config| config.server_rules = Some(Arc::default()));
    assert_eq!(session.status(), RunStatus::AwaitingApproval);
    let limited = |decision, note| Approval {
        limited: true,
        ..decided("x", decision, note)
    };
    session.happens(limited(ApprovalDecision::Once, Some("continue")));
    assert!(session.running_ids().is_empty() && session.ends_of_runs().is_empty());
    say(&mut session, "x", "continue");
    assert_eq!(session.running_ids(), ["x"]);
    session.check_replay();
}

#[test]
fn the_question_outlives_the_program_and_follows_a_raise_of_the_setting() {
    let mut session = at_limit(2, |_| {});
    session.restart();
    assert_eq!(session.status(), RunStatus::AwaitingApproval);
    session.change(ConfigChange::Limits(rounds(9)));
    assert!(session.running_ids().is_empty(), "not before the next program");
    session.restart();
    assert_eq!(session.running_ids(), ["x"]);
    session.check_replay();

    let mut session = at_limit(2, |_| {});
    session.change(ConfigChange::Approval(ApprovalMode::Deny));
    session.restart();
    assert_eq!(
        session.ends_of_runs(),
        [(RunStatus::TimedOut, Some(REACHED.into()))]
    );
    session.check_replay();
}
