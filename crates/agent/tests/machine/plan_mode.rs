//! Plan mode: the calls that it refuses, the acceptance of a plan, and the calls that stay refused.

use agentx_types::*;
use serde_json::{Value, json};

use crate::harness::*;
use crate::rules::rule;

const REFUSED: &str = "Not allowed: plan mode is on";
const ON: &str = "user: [Plan mode is on.";

fn planning(change: impl FnOnce(&mut AgentConfig)) -> Session {
    let mut session = Session::with_rules(RULES_VERSION, |config| {
        config.approval = ApprovalMode::Ask;
        change(config);
    });
    session.change(ConfigChange::PlanMode(true));
    session.say("go");
    session
}

fn plan() -> Value {
    json!({"plan": "# Plan\n\n1. Change a.txt"})
}

fn decides(session: &mut Session, id: &str, decision: ApprovalDecision, note: Option<&str>) {
    session.happens(Approval {
        tool_call_id: id.into(),
        decision,
        note: note.map(str::to_owned),
        rule: None,
        by: None,
        limited: false,
    });
}

fn last(session: &Session) -> String {
    session.sent().last().cloned().unwrap_or_default()
}

fn tools(session: &Session) -> Vec<String> {
    session
        .request()
        .tools
        .iter()
        .map(|tool| tool.name.clone())
        .collect()
}

#[test]
fn the_model_is_told_and_has_the_tool_only_once_plan_mode_was_on() {
    let mut session = Session::started_with_rules(RULES_VERSION, |_| {});
    assert!(!tools(&session).contains(&"present_plan".to_owned()));
    session.answer("done");
    session.change(ConfigChange::PlanMode(true));
    session.say("and now?");
    assert!(tools(&session).contains(&"present_plan".to_owned()));
    let told = session.sent();
    assert!(
        told.last().is_some_and(|line| line.starts_with(ON)),
        "it follows the input: {told:?}"
    );
    session.answer("I plan");
    session.change(ConfigChange::PlanMode(false));
    session.say("go on");
    assert!(
        tools(&session).contains(&"present_plan".to_owned()),
        "the prefix of requests stays"
    );
    assert!(
        session
            .sent()
            .iter()
            .any(|line| line.starts_with("user: [Plan mode is off"))
    );
    session.check_replay();
}

#[test]
fn calls_with_effects_are_refused_whatever_allows_them() {
    let accesses = [
        (Access::Internal, true),
        (Access::Read, true),
        (Access::Change, false),
        (Access::Run, false),
        (Access::Network, false),
    ];
    for mode in [ApprovalMode::Ask, ApprovalMode::Auto, ApprovalMode::Deny] {
        for (access, runs) in accesses {
            for rules in [vec![], vec![rule("allow *")], vec![rule("allow does")]] {
                let mut session = planning(|config| {
                    config.approval = mode;
                    config.rules = rules;
                    let schema = json!({"type": "object", "properties": {}});
                    config.tools = [ToolSpec::new("does", "It does.", schema, access)].into();
                });
                session.calls(&[("c1", "does", json!({}))]);
                assert_eq!(
                    session.running_ids().len(),
                    usize::from(runs),
                    "{mode:?} {access:?}"
                );
                if !runs {
                    assert!(
                        last(&session).starts_with(&format!("tool: c1 = {REFUSED}")),
                        "{}",
                        last(&session)
                    );
                }
                session.check_replay();
            }
        }
    }
}

#[test]
fn an_accepted_plan_ends_plan_mode_and_the_work_begins() {
    for words in ["1", "Accept the plan"] {
        let mut session = planning(|config| config.rules = vec![rule("allow change")]);
        session.calls(&[("c1", "present_plan", plan())]);
        assert_eq!(session.status(), RunStatus::AwaitingApproval);
        let asked = session.states().find_map(|state| match state {
            StateOutput::ApprovalRequested { question, .. } => question.clone(),
            _ => None,
        });
        assert!(asked.is_some_and(|asked| asked.is_plan && asked.question.contains("1. Change a.txt")));
        session.restart();
        session.change(ConfigChange::PlanMode(false));
        decides(&mut session, "c1", ApprovalDecision::Once, Some(words));
        assert_eq!(
            last(&session),
            "tool: c1 = The person accepts the plan. Carry it out."
        );
        session.calls(&[("c2", "change", json!({"path": "a.txt"}))]);
        assert_eq!(session.running_ids(), ["c2"]);
        session.check_replay();
    }
}

#[test]
fn an_answer_alone_does_not_end_plan_mode() {
    let mut session = planning(|config| config.rules = vec![rule("allow *")]);
    session.calls(&[("c1", "present_plan", plan())]);
    decides(&mut session, "c1", ApprovalDecision::Always, Some("1"));
    assert!(
        last(&session).contains("but plan mode is still on"),
        "{}",
        last(&session)
    );
    session.calls(&[("c2", "change", json!({"path": "a.txt"}))]);
    assert!(last(&session).starts_with(&format!("tool: c2 = {REFUSED}")));
    session.check_replay();
}

#[test]
fn other_answers_continue_the_planning() {
    for (decision, note, read) in [
        (
            ApprovalDecision::Once,
            "2",
            "The person does not accept the plan yet: Keep planning",
        ),
        (
            ApprovalDecision::Once,
            "not a.txt, b.txt",
            "The person does not accept the plan yet: not a.txt, b.txt",
        ),
        (
            ApprovalDecision::Deny,
            NOBODY_ANSWERS,
            "Nobody is here to accept the plan. End your turn with the whole plan as your answer.",
        ),
    ] {
        let mut session = planning(|_| {});
        session.calls(&[("c1", "present_plan", plan())]);
        decides(&mut session, "c1", decision, Some(note));
        assert_eq!(last(&session), format!("tool: c1 = {read}"));
        session.calls(&[("c2", "change", json!({"path": "a.txt"}))]);
        assert!(last(&session).starts_with(&format!("tool: c2 = {REFUSED}")));
        session.check_replay();
    }
}

#[test]
fn where_nobody_is_there_the_plan_is_the_answer() {
    let mut session = planning(|config| config.approval = ApprovalMode::Deny);
    session.calls(&[("c1", "present_plan", plan())]);
    assert!(last(&session).starts_with("tool: c1 = Nobody is here to accept the plan."));
    session.calls(&[("c2", "present_plan", json!({"plan": ""}))]);
    assert_eq!(last(&session), "tool: c2 = `plan` is empty.");
    session.check_replay();
}

#[test]
fn a_call_that_waits_is_refused_if_plan_mode_is_on_by_the_time_of_the_answer() {
    for decision in [ApprovalDecision::Once, ApprovalDecision::Always] {
        let mut session = Session::started_with_rules(RULES_VERSION, |config| {
            config.approval = ApprovalMode::Ask;
        });
        session.calls(&[("c1", "change", json!({"path": "a.txt"}))]);
        session.change(ConfigChange::PlanMode(true));
        decides(&mut session, "c1", decision, None);
        assert!(session.running().is_empty());
        assert!(
            session
                .sent()
                .iter()
                .any(|line| line.starts_with(&format!("tool: c1 = {REFUSED}")))
        );
        session.check_replay();
    }
}

#[test]
fn a_fork_plans_too_and_agents_below_inherit_it() {
    let mut session = planning(|config| {
        config.approval = ApprovalMode::Auto;
        config.agents = vec![AgentConfig {
            name: "helper".into(),
            ..config.clone()
        }];
    });
    let below = &session.react().config().agents[0];
    assert_eq!(below.plan_mode, Some(true));
    session.fork();
    session.say("go on");
    session.calls(&[("c1", "change", json!({"path": "a.txt"}))]);
    assert!(
        last(&session).starts_with(&format!("tool: c1 = {REFUSED}")),
        "{}",
        last(&session)
    );
    session.check_replay();
}
