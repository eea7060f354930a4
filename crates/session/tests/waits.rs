//! Waits of a session whose time is known, as its fold reports them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use agentx_session::{Derived, Projection, SessionFold, WaitKind, consequence};
use agentx_testing::fixture;
use agentx_types::*;
use serde_json::json;

const MINUTE: u64 = 60_000;

/// A session whose model was asked.
struct World {
    fold: SessionFold,
    last: Derived,
    asked: Action,
    now: Timestamp,
}

impl World {
    fn asked() -> Self {
        Self::asked_with(AgentConfig {
            wait: true,
            ..fixture::config()
        })
    }

    fn asked_with(config: AgentConfig) -> Self {
        let mut fold = SessionFold::new("ses_1".into());
        let opened = SessionOpened {
            owner: "own_1".into(),
            config: Box::new(config),
            program: "test".into(),
        };
        let said = UserMessage {
            message_id: "msg_1".into(),
            content: vec![ContentPart::text("hello")],
            mode: InputMode::Queue,
            idempotency_key: None,
            by: None,
            answer_schema: None,
        };
        let mut last = Derived::default();
        for event in [EnvironmentEvent::from(opened), said.into()] {
            let draft = EventDraft::<EnvironmentEvent>::new(Source::User, Some("agt_1".into()), event);
            let fact = fold.mint(draft, Timestamp(0));
            last = fold.apply(&fact);
        }
        let asked = last.actions[0].clone();
        let now = Timestamp(0);
        Self {
            fold,
            last,
            asked,
            now,
        }
    }

    /// A fact that answers an action.
    fn answers(&mut self, action: &Action, event: impl Into<EnvironmentEvent>) {
        let mut draft = EventDraft::<EnvironmentEvent>::new(Source::Environment, Some("agt_1".into()), event);
        draft.run_id.clone_from(&action.run_id);
        draft.cause = Some(action.action_id.clone());
        let fact = self.fold.mint(draft, self.now);
        self.last = self.fold.apply(&fact);
    }

    /// A fact that no action has caused.
    fn happens(&mut self, event: impl Into<EnvironmentEvent>) {
        let draft = EventDraft::<EnvironmentEvent>::new(Source::System, Some("agt_1".into()), event);
        let fact = self.fold.mint(draft, self.now);
        self.last = self.fold.apply(&fact);
    }

    /// The next program takes the session over.
    fn taken_over(&mut self) {
        self.happens(WriterAttached {
            epoch: 2,
            program: "test".into(),
            process: 1,
            ended: Vec::new(),
            serves: false,
            cut_off: Vec::new(),
        });
    }

    /// The action by which the tool has a call now.
    fn running(&self) -> Option<Action> {
        let is_call = |action: &&Action| matches!(action.body, ActionBody::CallTool(_));
        self.last.actions.iter().find(is_call).cloned()
    }

    fn model_says(&mut self, event: impl Into<EnvironmentEvent>) {
        let asked = self.asked.clone();
        self.answers(&asked, event);
    }

    fn model_calls(&mut self, calls: &[(&str, &str, serde_json::Value)]) {
        self.model_says(StreamStart {
            message_id: "msg_2".into(),
            model: "m".into(),
            attempt: 1,
        });
        for (id, name, input) in calls {
            self.model_says(ToolCall {
                tool_call_id: (*id).into(),
                name: (*name).to_owned(),
                input: input.clone(),
                invalid: None,
            });
        }
        self.model_says(StreamEnd {
            stop_reason: StopReason::ToolUse,
            raw: None,
        });
    }
}

#[test]
fn a_call_that_waits_is_told_with_its_time_and_its_reason() {
    let mut world = World::asked();
    world.model_calls(&[("c1", "wait", json!({"seconds": 60, "reason": "the build"}))]);
    let waits = world.fold.waits();
    assert_eq!(waits.len(), 1, "{waits:?}");
    let wait = &waits[0];
    assert_eq!(
        (wait.kind, wait.due_at),
        (WaitKind::Call, Timestamp(0).after_millis(MINUTE))
    );
    assert_eq!(wait.reason, "the build");
    assert!(world.fold.only_waits());
    let timer = world.last.actions[0].clone();
    let fact = consequence(&timer).map(|draft| draft.event);
    assert!(
        matches!(&fact, Some(EnvironmentEvent::ActionStarted(started)) if started.due_at == Some(wait.due_at)),
        "{fact:?}"
    );
    world.now = world.now.after_millis(MINUTE);
    world.answers(&timer, TimerFired { timer: Timer::Wait });
    let resumed: Vec<WaitKind> = world.fold.waits().iter().map(|wait| wait.kind).collect();
    assert_eq!(resumed, [WaitKind::Resumed]);
    assert!(!world.fold.only_waits());
}

#[test]
fn a_reminder_is_told_after_its_run_and_a_list_knows_its_time() {
    let mut world = World::asked_with(AgentConfig {
        reminders: Some(Box::default()),
        ..fixture::config()
    });
    world.model_calls(&[("c1", "remind_me", json!({"text": "call Bob", "seconds": 60}))]);
    let due_at = Timestamp(0).after_millis(MINUTE);
    assert!(
        world
            .last
            .projections
            .contains(&Projection::Reminder(Some(due_at))),
        "{:?}",
        world.last.projections
    );
    let waits = world.fold.waits();
    assert_eq!((waits[0].kind, waits[0].due_at), (WaitKind::Reminder, due_at));
    assert_eq!(waits[0].reason, "call Bob");
    assert!(!world.fold.only_waits(), "its run goes on");
    let is_timer = |action: &&Action| matches!(action.body, ActionBody::StartTimer(_));
    let timer = world.last.actions.iter().find(is_timer).unwrap().clone();
    world.now = due_at;
    world.answers(
        &timer,
        TimerFired {
            timer: Timer::Reminder,
        },
    );
    assert!(world.last.projections.contains(&Projection::Reminder(None)));
    let resumed: Vec<WaitKind> = world.fold.waits().iter().map(|wait| wait.kind).collect();
    assert_eq!(
        resumed,
        [WaitKind::Resumed],
        "its run is continued if the program dies"
    );
}

#[test]
fn a_session_with_another_call_under_way_does_not_only_wait() {
    let mut world = World::asked();
    world.model_calls(&[
        ("c1", "wait", json!({"seconds": 60, "reason": "the build"})),
        ("c2", "bash", json!({"command": "make"})),
    ]);
    assert_eq!(world.fold.waits().len(), 1);
    assert!(!world.fold.only_waits());
}

#[test]
fn a_model_that_is_asked_again_later_is_waited_for_until_its_answer_begins() {
    let mut world = World::asked();
    assert!(world.fold.waits().is_empty());
    world.model_says(AttemptFailed {
        attempt: 1,
        code: "overloaded".into(),
        message: "try later".into(),
        status: Some(529),
        retry_in_ms: Some(MINUTE),
        gives_up_in_ms: None,
        overflow: None,
        refused: None,
        longest_answer: None,
        most_media: None,
        no_thinking: false,
        refused_place: None,
    });
    let waits: Vec<_> = world
        .fold
        .waits()
        .iter()
        .map(|wait| (wait.kind, wait.due_at))
        .collect();
    assert_eq!(waits, [(WaitKind::Retry, Timestamp(0).after_millis(MINUTE))]);
    assert!(!world.fold.only_waits(), "its program asks again by itself");
    world.model_says(StreamStart {
        message_id: "msg_2".into(),
        model: "m".into(),
        attempt: 2,
    });
    assert!(world.fold.waits().is_empty());
}

/// A session whose call runs and was given back by its server with a question to a person.
fn suspended(rules_version: u32) -> (World, Action) {
    let mut world = World::asked_with(AgentConfig {
        approval: ApprovalMode::Ask,
        rules_version,
        ..fixture::config()
    });
    world.model_calls(&[("c1", "bash", json!({"command": "make"}))]);
    world.happens(Approval {
        tool_call_id: "c1".into(),
        decision: ApprovalDecision::Once,
        note: None,
        rule: None,
        by: None,
        limited: false,
    });
    let call = world.running().unwrap();
    let begun = consequence(&call).unwrap().event;
    world.answers(&call, begun);
    let waits = EffectStarted {
        tool_call_id: "c1".into(),
        step: 1_000,
        kind: RecordedEffects::INPUT_REQUIRED.into(),
        input: json!({"state": "x"}),
    };
    world.answers(&call, waits);
    assert!(!world.fold.only_waits(), "nobody is asked yet");
    let tool = ToolSpec::new("MCP server made-up", "", json!({}), Access::Run);
    let asked = InnerCallAsked {
        tool_call_id: "c1/1".into(),
        tool: Box::new(tool),
        input: Box::new(json!({"message": "Who?"})),
        by: "MCP server made-up".into(),
        place: None,
        named: false,
        form: Some(Box::new(json!({"type": "object"}))),
        for_operator: false,
    };
    world.answers(&call, asked);
    (world, call)
}

#[test]
fn a_call_that_waits_for_an_answer_is_handed_to_its_tool_again_with_its_state() {
    let (mut world, call) = suspended(RULES_VERSION);
    assert!(world.fold.only_waits());
    assert!(world.fold.unrepeatable_calls().is_empty());
    assert_eq!(world.fold.tools_with_steps().collect::<Vec<_>>(), ["bash"]);
    world.taken_over();
    let again = world.running().unwrap();
    assert_ne!(again.action_id, call.action_id);
    let ActionBody::CallTool(handed) = &again.body else {
        panic!("{again:?}");
    };
    assert_eq!(handed.recorded.suspension().unwrap().input, json!({"state": "x"}));
    let open = world.fold.state().unwrap().pending_approvals;
    assert_eq!(open.len(), 1, "the question stays open: {open:?}");
}

#[test]
fn a_call_whose_answer_is_on_its_way_is_unknown_and_so_is_one_of_older_rules_or_of_a_copy() {
    let ended = |world: &World| {
        let answers = world.last.actions.iter();
        let mut statuses = answers.filter_map(|action| match &action.body {
            ActionBody::AnswerCall(answer) => Some(answer.status),
            _ => None,
        });
        statuses.next()
    };
    let (mut world, call) = suspended(RULES_VERSION);
    let sent = EffectEnded {
        tool_call_id: "c1".into(),
        step: 1_000,
        kind: RecordedEffects::INPUT_REQUIRED.into(),
        input: None,
        outcome: Box::new(EffectOutcome::Done(json!(null))),
        bill: None,
        details: None,
    };
    world.answers(&call, sent);
    assert!(!world.fold.only_waits());
    assert_eq!(world.fold.unrepeatable_calls().len(), 1);
    world.taken_over();
    assert_eq!(ended(&world), Some(ToolStatus::Unknown));
    let (mut world, _) = suspended(8);
    assert!(!world.fold.only_waits());
    world.taken_over();
    assert_eq!(ended(&world), Some(ToolStatus::Unknown));
    let (mut world, _) = suspended(RULES_VERSION);
    let at_seq = world.fold.last_seq();
    world.happens(SessionForked {
        parent: "ses_0".into(),
        at_seq,
        hold: true,
    });
    world.taken_over();
    assert_eq!(
        ended(&world),
        Some(ToolStatus::Unknown),
        "the original has the call"
    );
}
