//! Questions of the model to the person (`ask_user`).

use agentx_types::*;
use serde_json::{Value, json};

use crate::harness::*;
use crate::rules::rule;

fn asking(change: impl FnOnce(&mut AgentConfig)) -> Session {
    let mut session = Session::started_with_rules(RULES_VERSION, |config| {
        config.ask_user = Some(AskUser::Decide);
        config.approval = ApprovalMode::Ask;
        change(config);
    });
    session.calls(&[("c1", "ask_user", which())]);
    session
}

fn which() -> Value {
    json!({"question": "Which colour?", "choices": ["red", "blue"]})
}

fn decides(session: &mut Session, decision: ApprovalDecision, note: Option<&str>, by: Option<&str>) {
    session.happens(Approval {
        tool_call_id: "c1".into(),
        decision,
        note: note.map(str::to_owned),
        rule: None,
        by: by.map(OwnerId::from),
        limited: by.is_some(),
    });
}

fn last(session: &Session) -> String {
    session.sent().last().cloned().unwrap_or_default()
}

#[test]
fn arguments_that_ask_user_does_not_know_are_a_mistake() {
    let calls = [
        (
            json!({"question": "Which?", "options": ["red", "blue"]}),
            r#"unknown argument "options""#,
        ),
        (
            json!({"question": "Which?", "choices": "red, blue"}),
            r#"argument "choices""#,
        ),
        (json!({"text": "Which?"}), r#"missing argument "question""#),
    ];
    for (input, mistake) in calls {
        for version in [8, 9] {
            let mut session = Session::started_with_rules(version, |config| {
                config.ask_user = Some(AskUser::Decide);
                config.approval = ApprovalMode::Ask;
            });
            session.calls(&[("c1", "ask_user", input.clone())]);
            let is_told = session.asked().is_some() && last(&session).contains(mistake);
            assert_eq!(is_told, version == 9, "version {version}: {mistake}");
        }
    }
}

#[test]
fn a_decision_without_words_answers_no_question() {
    use ApprovalDecision::{Always, Once};
    for (version, read) in [(8, "The person answers: yes"), (9, "The person answers: blue")] {
        let mut session = asking(|config| config.rules_version = version);
        for (decision, note) in [(Once, None), (Always, None), (Once, Some(" "))] {
            decides(&mut session, decision, note, None);
        }
        decides(&mut session, Once, Some("2"), None);
        assert_eq!(last(&session), format!("tool: c1 = {read}"), "version {version}");
        session.check_replay();
    }
}

#[test]
fn a_question_waits_for_a_person_and_the_answer_is_what_the_model_reads() {
    use ApprovalDecision::{Always, Deny, Once};
    for (decision, note, by, read) in [
        (Once, Some("2"), None, "The person answers: blue"),
        (
            Once,
            Some("green, please"),
            None,
            "The person answers: green, please",
        ),
        (Always, Some("1"), None, "The person answers: red"),
        (Deny, None, None, "The person gives no answer."),
        (
            Deny,
            Some("not now"),
            None,
            "The person gives no answer. They say: not now",
        ),
        (
            Once,
            Some("1"),
            Some("own_bea"),
            "Another person (own_bea) answers: red",
        ),
        (Deny, Some(NOBODY_ANSWERS), None, NOBODY_ANSWERS),
    ] {
        let mut session = asking(|_| {});
        assert_eq!(session.status(), RunStatus::AwaitingApproval);
        let asked = session.states().find_map(|state| match state {
            StateOutput::ApprovalRequested { question, .. } => question.clone(),
            _ => None,
        });
        assert_eq!(asked.unwrap().choices, ["red", "blue"]);
        decides(&mut session, decision, note, by);
        assert_eq!(last(&session), format!("tool: c1 = {read}"));
        decides(&mut session, Once, Some("too late"), None);
        session.answer("done");
        assert_eq!(session.ends_of_runs(), [(RunStatus::Completed, None)]);
        assert!(session.react().config().rules.is_empty(), "no rule is kept");
        session.check_replay();
    }
}

#[test]
fn a_restart_asks_again_and_rules_that_ask_or_allow_do_not_matter() {
    for words in ["ask *", "allow *", "ask ask_user"] {
        let mut session = asking(|config| config.rules = vec![rule(words)]);
        session.restart();
        session.change(ConfigChange::Approval(ApprovalMode::Auto));
        session.change(ConfigChange::RuleAdded(rule("allow ask_user")));
        assert_eq!(session.status(), RunStatus::AwaitingApproval, "{words}");
        decides(&mut session, ApprovalDecision::Once, Some("red"), None);
        assert_eq!(last(&session), "tool: c1 = The person answers: red");
        session.check_replay();
    }
}

#[test]
fn where_nobody_is_there_the_model_is_told_or_the_question_waits() {
    let told = format!("tool: c1 = {}", NOBODY_ANSWERS);
    let session = asking(|config| config.approval = ApprovalMode::Deny);
    assert_eq!(last(&session), told);
    session.check_replay();

    // A person was present; the next program has none.
    let mut session = asking(|_| {});
    session.change(ConfigChange::Approval(ApprovalMode::Deny));
    session.restart();
    assert_eq!(last(&session), told);
    session.check_replay();

    let mut session = asking(|config| {
        config.approval = ApprovalMode::Deny;
        config.ask_user = Some(AskUser::Wait);
    });
    assert_eq!(session.status(), RunStatus::AwaitingApproval);
    session.restart();
    decides(&mut session, ApprovalDecision::Once, Some("blue"), None);
    assert_eq!(last(&session), "tool: c1 = The person answers: blue");
    session.check_replay();
}

#[test]
fn a_rule_denies_it_and_a_bad_question_is_never_shown() {
    let session = asking(|config| config.rules = vec![rule("deny ask_user")]);
    assert!(last(&session).starts_with("tool: c1 = Not allowed: the rule \"deny ask_user\""));
    let mut session = asking(|_| {});
    session.change(ConfigChange::RuleAdded(rule("deny ask_user")));
    decides(&mut session, ApprovalDecision::Once, Some("red"), None);
    session.calls(&[
        ("c2", "ask_user", json!({"question": "x".repeat(2_001)})),
        (
            "c3",
            "ask_user",
            json!({"question": "Which?", "choices": ["one"]}),
        ),
        ("c4", "ask_user", json!({"choices": ["one", "two"]})),
    ]);
    let sent = session.sent();
    let told = &sent[sent.len() - 3..];
    assert!(told[0].contains("Not allowed"), "{told:#?}");
    session.check_replay();
}

#[test]
fn an_agent_without_the_setting_has_no_such_tool() {
    let session = asking(|config| config.ask_user = None);
    assert!(last(&session).starts_with("tool: c1 = There is no tool \"ask_user\"."));
    assert!(!session.request().tools.iter().any(|tool| tool.name == "ask_user"));
    assert!(
        asking(|_| {})
            .states()
            .any(|state| matches!(state, StateOutput::ApprovalRequested { .. }))
    );
}
