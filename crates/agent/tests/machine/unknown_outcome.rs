//! A call whose program died while it ran, of a tool that is set so: a person is asked what became of it.

use agentx_types::*;
use serde_json::json;

use crate::harness::*;

/// The words to the model if nobody knows.
const UNKNOWN: &str = "It may or may not have had its effect";

/// A call of `change` that asks, beside one of `look`, both cut off by a crash.
fn cut_off(set: impl FnOnce(&mut AgentConfig)) -> Session {
    let mut session = Session::with(|config| {
        config.rules_version = RULES_VERSION;
        config.ask_user = Some(AskUser::Decide);
        let mut tools = config.tools.to_vec();
        for tool in tools.iter_mut().filter(|tool| tool.name == "change") {
            tool.asks_unknown = true;
        }
        config.tools = tools.into();
        set(config);
    });
    session.say("go");
    session.calls(&[
        ("a", "change", json!({"path": "x"})),
        ("b", "look", json!({"path": "y"})),
    ]);
    session.restart();
    session
}

/// A person's answer to the question about the call `a`.
fn say(session: &mut Session, decision: ApprovalDecision, note: Option<&str>) {
    session.happens(Approval {
        tool_call_id: "a".into(),
        decision,
        note: note.map(str::to_owned),
        rule: None,
        by: None,
        limited: false,
    });
}

/// The result of the call `a` in the conversation.
fn result(session: &Session) -> String {
    let lines = session.conversation();
    let line = lines.iter().find_map(|line| line.strip_prefix("tool: a = "));
    line.unwrap_or_default().to_owned()
}

/// The recorded outcome of the call `a`.
fn recorded(session: &Session) -> Option<ToolStatus> {
    session.log.iter().find_map(|fact| match &fact.event {
        Event::ToolResult(result) if result.tool_call_id.as_str() == "a" => Some(result.status),
        _ => None,
    })
}

#[test]
fn a_person_says_what_became_of_a_call_and_the_model_reads_it() {
    for (answer, expected) in [
        ("1", "The person looked and says that it was done."),
        ("Not done", "The person looked and says that it was not done."),
        (
            "I cannot tell, ask Ann",
            "The person says: I cannot tell, ask Ann",
        ),
    ] {
        let mut session = cut_off(|_| {});
        assert_eq!(session.status(), RunStatus::AwaitingApproval);
        assert_eq!(session.running().len(), 1, "the other call is repeated");
        session.result("b", "seen");
        assert!(session.asked().is_none(), "the model waits for the answer");
        say(&mut session, ApprovalDecision::Once, None);
        assert!(session.asked().is_none(), "a decision without words says nothing");
        say(&mut session, ApprovalDecision::Once, Some(answer));
        assert!(session.asked().is_some(), "{answer}");
        let result = result(&session);
        assert!(result.contains(expected), "{answer}: {result}");
        assert_eq!(result.contains(UNKNOWN), answer.starts_with('I'), "{result}");
        session.answer("done");
        session.check_replay();
    }
}

#[test]
fn a_call_that_is_to_run_again_is_decided_like_a_new_one() {
    let mut session = cut_off(|_| {});
    say(&mut session, ApprovalDecision::Once, Some("run again"));
    assert_eq!(session.running().len(), 2);
    session.result("a", "changed");
    session.result("b", "seen");
    assert_eq!(result(&session), "changed");
    session.check_replay();

    let deny = Rule {
        effect: RuleEffect::Deny,
        tool: "change".into(),
        argument: None,
        path: None,
        workspace: None,
        origin: None,
    };
    let mut session = cut_off(|_| {});
    session.change(ConfigChange::Rules(vec![deny]));
    assert_eq!(
        session.status(),
        RunStatus::AwaitingApproval,
        "it has run already"
    );
    say(&mut session, ApprovalDecision::Once, Some("3"));
    session.result("b", "seen");
    assert!(
        result(&session).starts_with("Not allowed"),
        "{}",
        result(&session)
    );
}

#[test]
fn if_nobody_can_answer_the_model_is_told_that_nobody_knows() {
    let mut session = cut_off(|config| config.ask_user = None);
    session.result("b", "seen");
    assert!(result(&session).contains(UNKNOWN), "{}", result(&session));

    // The question is open, and the next program cannot ask.
    let mut session = cut_off(|_| {});
    session.change(ConfigChange::Approval(ApprovalMode::Deny));
    session.restart();
    session.result("b", "seen");
    assert!(result(&session).contains(UNKNOWN), "{}", result(&session));

    let mut session = cut_off(|_| {});
    say(&mut session, ApprovalDecision::Deny, None);
    session.result("b", "seen");
    assert!(result(&session).contains(UNKNOWN), "{}", result(&session));
}

#[test]
fn the_question_survives_a_restart_and_a_stop_never_says_that_the_call_was_not_run() {
    let mut session = cut_off(|_| {});
    session.restart();
    assert_eq!(session.status(), RunStatus::AwaitingApproval);
    assert_eq!(recorded(&session), None);
    session.interrupt();
    assert_eq!(recorded(&session), Some(ToolStatus::Unknown));
    session.check_replay();

    let mut session = cut_off(|_| {});
    session.fork();
    assert_eq!(recorded(&session), Some(ToolStatus::Unknown));
}

#[test]
fn other_tools_are_told_about_as_before() {
    let mut session = cut_off(|config| {
        let mut tools = config.tools.to_vec();
        tools.iter_mut().for_each(|tool| tool.asks_unknown = false);
        config.tools = tools.into();
    });
    session.result("b", "seen");
    assert!(result(&session).contains(UNKNOWN), "{}", result(&session));
}
