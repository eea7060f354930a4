//! The approval mode that counts for the words of people other than the owner.

use agentx_agent::{Agent, AncestorBudgets, StepContext};
use agentx_types::*;
use serde_json::json;

use crate::harness::*;
use crate::rules::{config, rule};

/// An input of Bob, who does not own the session.
fn of_bob(text: &str, mode: InputMode) -> UserMessage {
    UserMessage {
        message_id: MessageId::with_suffix(text),
        content: vec![ContentPart::text(text)],
        mode,
        idempotency_key: None,
        by: Some("own_bob".into()),
        answer_schema: None,
    }
}

/// A session that asks, under this version of the rules, in which the owner's first run is in progress.
fn asking(version: u32) -> Session {
    let mut config = config(ApprovalMode::Ask, &[]);
    config.rules_version = version;
    let mut session = Session::new(config);
    session.say("go");
    session
}

/// Has the model change a file, and returns whether a person is asked about it.
fn is_asked(session: &mut Session, id: &str) -> bool {
    session.calls(&[(id, "change", json!({"path": "a"}))]);
    let asked = session.status() == RunStatus::AwaitingApproval;
    assert_eq!(session.running().is_empty(), asked);
    asked
}

/// Ends the call and the run.
fn finish(session: &mut Session, id: &str) {
    if session.status() == RunStatus::AwaitingApproval {
        session.decide(id, ApprovalDecision::Once);
    }
    session.result(id, "done");
    session.answer("done");
}

const AUTO: ConfigChange = ConfigChange::Approval(ApprovalMode::Auto);

/// The owner's `auto` covers the owner's inputs, before and after, and not the one that Bob queued before.
#[test]
fn a_mode_that_somebody_else_set_later_does_not_cover_a_queued_input() {
    for (version, covers) in [(RULES_VERSION, false), (8, true)] {
        let mut session = asking(version);
        session.happens(of_bob("change it", InputMode::Queue));
        session.change(AUTO);
        assert!(!is_asked(&mut session, "c1"), "the owner's own run");
        finish(&mut session, "c1");
        assert_eq!(is_asked(&mut session, "c2"), !covers, "version {version}");
        finish(&mut session, "c2");
        session.say("and again");
        assert!(!is_asked(&mut session, "c3"), "the owner's next run");
        session.check_replay();
    }
}

/// An input that joins a run binds it from then on. So do a command of somebody else that the run reads
/// about, and their answer to a question.
#[test]
fn words_that_join_a_run_bind_it_until_it_ends() {
    let steered: fn(&mut Session) = |session| session.happens(of_bob("change it", InputMode::Steer));
    let ran: fn(&mut Session) = |session| {
        session.happens(CommandRan {
            command: "echo change it".into(),
            output: "change it".into(),
            how: "exit 0".into(),
            by: Some("own_bob".into()),
        });
    };
    for joins in [steered, ran] {
        let mut session = asking(RULES_VERSION);
        joins(&mut session);
        session.change(AUTO);
        session.looks("l1");
        session.result("l1", "nothing");
        assert!(is_asked(&mut session, "c1"));
        session.check_replay();
        finish(&mut session, "c1");
        session.say("and again");
        assert!(!is_asked(&mut session, "c2"));
    }
}

/// Somebody else refuses a call of a run without questions with a note: the next call is asked about, too.
#[test]
fn a_note_of_somebody_else_ends_a_mode_without_questions_for_the_run() {
    for (note, by, asks) in [
        (Some("No. Change a in its place."), Some("own_bob"), true),
        (None, Some("own_bob"), false),
        (Some("No. Change a in its place."), None, false),
    ] {
        let mut config = config(ApprovalMode::Auto, &[]);
        config.rules_version = RULES_VERSION;
        config.rules = vec![rule("ask bash: rm*")];
        let mut session = Session::new(config);
        session.say("go");
        session.calls(&[("r", "bash", json!({"command": "rm x"}))]);
        assert_eq!(session.status(), RunStatus::AwaitingApproval);
        session.happens(Approval {
            tool_call_id: "r".into(),
            decision: ApprovalDecision::Deny,
            note: note.map(str::to_owned),
            rule: None,
            by: by.map(OwnerId::from),
            limited: true,
        });
        assert_eq!(is_asked(&mut session, "c1"), asks, "{note:?} {by:?}");
        session.check_replay();
    }
}

/// The mode of the server's settings covers everybody: it was there when they spoke.
#[test]
fn a_mode_that_was_set_before_covers_the_words_of_everybody() {
    let mut config = config(ApprovalMode::Auto, &[]);
    config.rules_version = RULES_VERSION;
    let mut session = Session::new(config);
    session.happens(of_bob("change it", InputMode::Queue));
    assert!(!is_asked(&mut session, "c1"));
    session.change(ConfigChange::Approval(ApprovalMode::Ask));
    finish(&mut session, "c1");
    session.say("again");
    assert!(is_asked(&mut session, "c2"), "a stricter mode counts at once");
}

/// An agent below gets its task without an author; the run that sends it is bound, and so is the run of the
/// agent below, whose own mode may be an earlier one.
#[test]
fn a_bound_run_binds_the_agents_that_it_writes_to() {
    for (text, asks) in [(Some("change it"), true), (None, false)] {
        let mut maker = asking(RULES_VERSION);
        if let Some(text) = text {
            maker.answer("done");
            maker.happens(of_bob(text, InputMode::Queue));
        }
        let mut above = AncestorBudgets::default();
        above.add(&maker.agent);
        let mut config = config(ApprovalMode::Auto, &[]);
        config.rules_version = RULES_VERSION;
        let mut below = Agent::new("agt_2".into(), config);
        let context = StepContext {
            above: Some(&above),
            depth: 1,
            ..StepContext::default()
        };
        let mut seq = 0;
        let mut step = |cause: Option<&ActionId>, event: EnvironmentEvent| {
            seq += 1;
            let mut draft = EventDraft::<EnvironmentEvent>::new(Source::Agent, Some("agt_2".into()), event);
            draft.cause = cause.cloned();
            below.step(&draft.into_envelope("ses_1".into(), seq, Timestamp(0)), &context)
        };
        let task = UserMessage {
            by: None,
            ..of_bob("task", InputMode::Queue)
        };
        let asked = step(None, task.into()).actions[0].action_id.clone();
        for event in stream([call("c1", "change", json!({"path": "a"}))], StopReason::ToolUse) {
            step(Some(&asked), event);
        }
        let status = below.react().and_then(|agent| Some(agent.run()?.status));
        assert_eq!(status == Some(RunStatus::AwaitingApproval), asks);
    }
}
