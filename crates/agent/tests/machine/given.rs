//! The inputs of a step are in the actions that follow from it, and nothing adds to them afterwards.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentx_agent::{ActionCount, Agent, StepContext, Transition, fixtures};
use agentx_types::*;
use serde_json::json;

fn fact(
    seq: u64,
    cause: Option<&ActionId>,
    event: impl Into<EnvironmentEvent>,
) -> Envelope<EnvironmentEvent> {
    let mut draft =
        EventDraft::<EnvironmentEvent>::new(Source::Environment, Some("agt_1".into()), event.into());
    draft.cause = cause.cloned();
    draft.into_envelope("ses_1".into(), seq, Timestamp(0))
}

fn said() -> UserMessage {
    UserMessage {
        message_id: "msg_1".into(),
        content: vec![ContentPart::text("go")],
        mode: InputMode::Queue,
        idempotency_key: None,
        by: None,
        answer_schema: None,
    }
}

fn start(message_id: &str) -> StreamStart {
    StreamStart {
        message_id: message_id.into(),
        model: "m".into(),
        attempt: 1,
    }
}

/// The step that calls a model, and the one that calls its tool.
fn asks_and_calls(context: &StepContext<'_>) -> (Agent, Transition, Transition) {
    let mut agent = Agent::new("agt_1".into(), fixtures::config());
    let asks = agent.step(&fact(1, None, said()), context);
    let asked = Some(&asks.actions[0].action_id);
    let call = ToolCall {
        tool_call_id: "call_1".into(),
        name: "look".into(),
        input: json!({"path": "a"}),
        invalid: None,
    };
    let end = StreamEnd {
        stop_reason: StopReason::ToolUse,
        raw: None,
    };
    agent.step(&fact(2, asked, start("msg_2")), context);
    agent.step(&fact(3, asked, call), context);
    let calls = agent.step(&fact(4, asked, end), context);
    (agent, asks, calls)
}

#[test]
fn actions_are_whole_when_the_agent_returns_them() {
    let mut taken = UsedIds::default();
    taken.note(&start("msg_0").into());
    let step = RecordedEffect {
        kind: "ask".into(),
        input: json!({}),
        outcome: None,
    };
    let did = Arc::new(RecordedEffects {
        steps: [(0, step)].into(),
        ..RecordedEffects::default()
    });
    let other = ("call_10".into(), Arc::default());
    let recorded = BTreeMap::from([("call_1".into(), did.clone()), other]);
    let mut kept = ScriptValues::default();
    kept.state.insert("seen".into(), json!(1));
    let (taken, kept) = (Arc::new(taken), Arc::new(kept));
    let (agent, asks, calls) = asks_and_calls(&StepContext {
        taken: Some(&taken),
        recorded: Some(&recorded),
        kept: Some(&kept),
        depth: 2,
        ..StepContext::default()
    });
    let ActionBody::CallModel(model) = &asks.actions[0].body else {
        panic!("{asks:?}")
    };
    assert_eq!(model.taken, taken);
    let ActionBody::CallTool(call) = &calls.actions[0].body else {
        panic!("{calls:?}")
    };
    assert_eq!(call.recorded, did);
    let caller = CallingAgent {
        config: Some(agent.config().clone()),
        kept,
        depth: 2,
        approved: false,
    };
    assert_eq!(*call.caller, caller);
}

#[test]
fn ids_count_on_from_what_was_wanted_before() {
    let before = ActionCount {
        actions: 3,
        agents: 1,
    };
    let mut agent = Agent::new("agt_1".into(), fixtures::config());
    let context = StepContext {
        before,
        ..StepContext::default()
    };
    let follows = agent.step(&fact(7, None, said()), &context);
    let ids = follows.actions.iter().map(|action| action.action_id.clone());
    let expected = (3..3 + follows.acted.actions).map(|at| ActionId::following(7, at));
    assert!(ids.eq(expected) && !follows.actions.is_empty(), "{follows:?}");
    let mut sum = before;
    sum += follows.acted;
    assert_eq!((sum.actions, sum.agents), (3 + follows.actions.len(), 1));
}
