//! The driver over a log in memory and a scripted model: exactly the committed facts are published, their
//! derived events follow directly, and every failure ends in an event.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use agentx_runtime::{
    ApprovalInput, BoxFuture, Delivery, Effector, EventSink, OpenRequest, RuntimeError, Session, SessionFold,
    UserInput, View,
};
use agentx_testing::{Gate, MemoryWorld, ModelScript, fixture};
use agentx_types::{
    Action, ActionBody, ActionKind, AgentConfig, ApprovalDecision, ApprovalMode, AskUser, ContentPart,
    EnvironmentEvent, InputMode, RULES_VERSION, RunStatus, RuntimeEvent, ToolResult, ToolStatus,
    Vocabulary as _,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Answers every call with its own arguments, or panics on demand.
struct Echo;

impl Effector for Echo {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let ActionBody::CallTool(call) = &action.body else {
                return;
            };
            assert!(call.input.get("panic").is_none(), "told to");
            let mut status = ToolStatus::Success;
            if call.input.get("hang").is_some() {
                cancel.cancelled().await;
                status = ToolStatus::Interrupted;
            }
            let result = vec![ContentPart::text(call.input.to_string())];
            let is_error = status != ToolStatus::Success;
            let said = ToolResult {
                tool_call_id: call.tool_call_id.clone(),
                result,
                is_error,
                status,
                details: None,
            };
            events.emit(said).await;
        })
    }
}

fn world(answers: impl IntoIterator<Item = ModelScript>) -> MemoryWorld {
    MemoryWorld::new(answers).with_effector(ActionKind::CallTool, Arc::new(Echo))
}

async fn new_session(world: &MemoryWorld, approval: ApprovalMode) -> Arc<dyn Session> {
    let config = AgentConfig {
        approval,
        ..fixture::config()
    };
    world.open_new(config).await
}

async fn say(session: &Arc<dyn Session>, text: &str) -> u64 {
    session.send(UserInput::text(text)).await.unwrap()
}

/// Reads until a run has ended; returns its result, and the tags of the events.
async fn until_finished(session: &Arc<dyn Session>) -> (RunStatus, Vec<String>) {
    let mut events = session.subscribe(0, View::Runtime).await.unwrap();
    let mut tags = Vec::new();
    while let Some(delivery) = events.next().await {
        if let Delivery::Runtime(event) = delivery {
            tags.push(event.event.tag().to_owned());
            if let RuntimeEvent::RunFinished(finished) = &event.event {
                return (finished.status, tags);
            }
        }
    }
    panic!("the session ended first: {tags:?}");
}

#[tokio::test]
async fn an_answer_goes_through_the_log() {
    let world = world([ModelScript::text("hello")]);
    let session = new_session(&world, ApprovalMode::Auto).await;
    assert_eq!(say(&session, "hi").await, 3);
    let (status, tags) = until_finished(&session).await;
    assert_eq!(status, RunStatus::Completed);
    assert!(tags.contains(&"text_delta".to_owned()), "{tags:?}");
    let expected = [
        "session_opened",
        "writer_attached",
        "user_message",
        "action_started",
        "stream_start",
        "text_chunk",
        "usage",
        "stream_end",
    ];
    assert_eq!(world.tags(), expected);
}

#[tokio::test]
async fn tools_run_and_their_results_go_back() {
    let world = world([
        ModelScript::call("call_1", "read", json!({"path": "a"})).then_call(
            "call_2",
            "read",
            json!({"path": "b"}),
        ),
        ModelScript::text("done"),
    ]);
    let session = new_session(&world, ApprovalMode::Auto).await;
    say(&session, "go").await;
    assert_eq!(until_finished(&session).await.0, RunStatus::Completed);
    let results = world.tags().iter().filter(|tag| *tag == "tool_result").count();
    assert_eq!(results, 2);
    let requests = world.model.requests();
    let ids = |index: usize| {
        requests[index]
            .messages
            .iter()
            .map(|m| m.message_id.to_string())
            .collect::<Vec<_>>()
    };
    assert!(
        ids(1).starts_with(&ids(0)),
        "the same context after a tool as before"
    );
}

#[tokio::test]
async fn replay_equals_live_to_the_byte() {
    let world = world([
        ModelScript::call("call_1", "read", json!({"path": "a"})),
        ModelScript::text("done"),
    ]);
    let session = new_session(&world, ApprovalMode::Auto).await;
    let mut live = session.subscribe(0, View::Runtime).await.unwrap();
    say(&session, "go").await;
    until_finished(&session).await;
    session.close().await;
    let mut frames = Vec::new();
    while let Some(delivery) = live.next().await {
        if let Delivery::Runtime(event) = delivery {
            frames.push(serde_json::to_string(event.as_ref()).unwrap());
        }
    }
    let mut fold = SessionFold::new(session.id().clone());
    let mut again = Vec::new();
    for fact in world.log.facts(session.id()) {
        let derived = fold.apply(&fact);
        again.extend(
            derived
                .events
                .iter()
                .map(|event| serde_json::to_string(event).unwrap()),
        );
    }
    assert_eq!(frames, again);
}

#[tokio::test]
async fn a_fold_for_the_state_alone_has_the_same_state() {
    let calls = ModelScript::call("call_1", "read", json!({"path": "a"}));
    let world = world([calls, ModelScript::text("done"), ModelScript::text("again")]);
    let session = new_session(&world, ApprovalMode::Auto).await;
    say(&session, "go").await;
    say(&session, "and on").await;
    until_finished(&session).await;
    session.close().await;
    let mut whole = SessionFold::new(session.id().clone());
    let mut state = whole.clone();
    for fact in world.log.facts(session.id()) {
        whole.apply(&fact);
        state.advance(&fact);
        assert_eq!(state, whole, "after event {}", fact.seq);
    }
}

#[tokio::test]
async fn agents_are_heard_inside_their_boundary_after_the_commit() {
    let world = world([ModelScript::text("hello")]);
    let everything = agentx_bus::Queue::wait(256);
    let filter = agentx_bus::Filter::all().agent_state(fixture::agent_state_id().as_str());
    let mut inside = world.parts.agents.subscribe("test", filter, everything).unwrap();
    let session = new_session(&world, ApprovalMode::Auto).await;
    say(&session, "hi").await;
    until_finished(&session).await;
    session.close().await;
    let mut layers = std::collections::BTreeSet::new();
    while let Ok(Some(delivery)) = inside.try_recv() {
        let event = delivery.into_event().unwrap();
        assert!(world.log.facts(session.id()).len() as u64 >= event.seq);
        layers.insert(agentx_bus::Routed::topic(event.as_ref()).to_owned());
    }
    let all = ["agent.message", "agent.state", "agent.stream", "agent.turn"].map(str::to_owned);
    assert_eq!(layers, all.into());
}

#[tokio::test]
async fn a_panicking_tool_is_an_outcome() {
    let world = world([
        ModelScript::call("call_1", "read", json!({"path": "a", "panic": 1})),
        ModelScript::text("sorry"),
    ]);
    let session = new_session(&world, ApprovalMode::Auto).await;
    say(&session, "go").await;
    assert_eq!(until_finished(&session).await.0, RunStatus::Completed);
    let facts = world.log.facts(session.id());
    let unknown = facts.iter().any(
        |fact| matches!(&fact.event, EnvironmentEvent::ToolResult(r) if r.status == ToolStatus::Unknown),
    );
    assert!(unknown, "whether it had its effect is not known");
}

#[tokio::test]
async fn approvals_are_asked_and_answered() {
    let world = world([
        ModelScript::call("call_1", "read", json!({"path": "/etc/passwd"})),
        ModelScript::text("ok"),
    ]);
    let session = new_session(&world, ApprovalMode::Ask).await;
    let mut events = session.subscribe(0, View::Runtime).await.unwrap();
    say(&session, "go").await;
    let asked = loop {
        match events.next().await.unwrap() {
            Delivery::Runtime(event) => {
                if let RuntimeEvent::ApprovalRequested(asked) = &event.event {
                    break asked.clone();
                }
            }
            _ => continue,
        }
    };
    let decide = |decision| ApprovalInput::new(asked.tool_call_id.clone(), decision);
    let decided = session.approve(decide(ApprovalDecision::Once)).await.unwrap();
    assert_eq!(until_finished(&session).await.0, RunStatus::Completed);
    // Whoever lost the answer sends the decision again, and gets the same one.
    let again = session.approve(decide(ApprovalDecision::Once)).await.unwrap();
    assert_eq!(again, decided);
    let refused = session.approve(decide(ApprovalDecision::Deny)).await.unwrap_err();
    assert!(matches!(refused, RuntimeError::Refused(_)), "{refused}");
}

#[tokio::test]
async fn a_question_of_the_model_is_not_answered_without_words() {
    let world = world([
        ModelScript::call("call_1", "ask_user", json!({"question": "Which?"})),
        ModelScript::text("ok"),
    ]);
    let config = AgentConfig {
        approval: ApprovalMode::Ask,
        ask_user: Some(AskUser::Decide),
        rules_version: RULES_VERSION,
        ..fixture::config()
    };
    let session = world.open_new(config).await;
    let mut events = session.subscribe(0, View::Runtime).await.unwrap();
    say(&session, "go").await;
    while !matches!(events.next().await.unwrap(), Delivery::Runtime(event) if matches!(event.event, RuntimeEvent::ApprovalRequested(_)))
    {
    }
    let decide = |note: Option<&str>| {
        ApprovalInput::new("call_1".into(), ApprovalDecision::Once).note(note.map(str::to_owned))
    };
    for nothing in [None, Some(" ")] {
        let refused = session.approve(decide(nothing)).await.unwrap_err();
        assert!(refused.to_string().contains("needs an answer"), "{refused}");
    }
    session.approve(decide(Some("red"))).await.unwrap();
    assert_eq!(until_finished(&session).await.0, RunStatus::Completed);
}

#[tokio::test]
async fn a_session_that_is_suspended_asks_its_question_again_where_it_is_opened_next() {
    let world = world([
        ModelScript::call("call_1", "read", json!({"path": "/etc/passwd"})),
        ModelScript::text("ok"),
    ]);
    let session = new_session(&world, ApprovalMode::Ask).await;
    let mut events = session.subscribe(0, View::Runtime).await.unwrap();
    say(&session, "go").await;
    loop {
        if let Delivery::Runtime(event) = events.next().await.unwrap()
            && matches!(event.event, RuntimeEvent::ApprovalRequested(_))
        {
            break;
        }
    }
    let before = session.state().await.unwrap();
    session.suspend().await;
    assert!(session.state().await.is_err(), "it was given back");
    let session = world
        .open(OpenRequest::Resume(session.id().clone(), vec![]))
        .await
        .unwrap();
    let after = session.state().await.unwrap();
    assert_eq!(after.pending_approvals, before.pending_approvals);
    assert_eq!(after.last_seq, before.last_seq + 1, "nothing but the new writer");
    let decision = ApprovalInput::new(
        after.pending_approvals[0].tool_call_id.clone(),
        ApprovalDecision::Once,
    );
    session.approve(decision).await.unwrap();
    assert_eq!(until_finished(&session).await.0, RunStatus::Completed);
}

#[tokio::test]
async fn a_session_that_is_closed_lets_nothing_begin_that_waits() {
    let gate = Gate::closed();
    let world = world([
        ModelScript::text("half ").then_stall(&gate),
        ModelScript::text("again"),
        ModelScript::text("and b"),
    ]);
    let session = new_session(&world, ApprovalMode::Auto).await;
    let mut events = session.subscribe(0, View::Runtime).await.unwrap();
    say(&session, "go").await;
    loop {
        if let Delivery::Runtime(event) = events.next().await.unwrap()
            && matches!(event.event, RuntimeEvent::TextDelta(_))
        {
            break;
        }
    }
    say(&session, "b").await;
    session.close().await;
    assert_eq!(world.model.requests().len(), 1, "only what ran was asked");

    let resume = || OpenRequest::Resume(session.id().clone(), vec![]);
    let again = world.open(resume()).await.unwrap();
    let state = again.state().await.unwrap();
    assert_eq!(state.run.map(|run| run.status), Some(RunStatus::Interrupted));
    let waits: Vec<&str> = state.queued.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!((waits, state.held), (vec!["b"], true));

    let (first, _) = state.queued[0].clone();
    again.revise(first, Some(InputMode::Steer)).await.unwrap();
    let state = again.state().await.unwrap();
    assert!(state.queued.is_empty() && !state.held);
    again.close().await;
    assert_eq!(world.model.requests().len(), 2);
}

#[tokio::test]
async fn an_interrupt_stops_model_and_tool_and_the_session_goes_on() {
    let gate = Gate::closed();
    let world = world([
        ModelScript::text("partial").then_stall(&gate),
        ModelScript::call("call_1", "read", json!({"path": "a", "hang": 1})),
        ModelScript::text("fine"),
    ]);
    let session = new_session(&world, ApprovalMode::Auto).await;
    for tag in ["text_chunk", "action_started"] {
        say(&session, "go").await;
        let mut facts = session.subscribe(0, View::Environment).await.unwrap();
        let mut started = 0;
        loop {
            let Some(Delivery::Environment(fact)) = facts.next().await else {
                continue;
            };
            started += u32::from(fact.event.tag() == tag);
            if started == if tag == "text_chunk" { 1 } else { 3 } {
                break;
            }
        }
        let seq = session.interrupt(None).await.unwrap();
        let mut facts = session.subscribe(seq, View::Environment).await.unwrap();
        loop {
            let Some(delivery) = facts.next().await else {
                panic!("closed")
            };
            if matches!(delivery, Delivery::Environment(fact) if fact.event.tag() == "interrupted") {
                break;
            }
        }
    }
    let seq = say(&session, "and now?").await;
    let mut events = session.subscribe(seq, View::Runtime).await.unwrap();
    loop {
        let Some(delivery) = events.next().await else {
            panic!("closed")
        };
        if let Delivery::Runtime(event) = delivery
            && let RuntimeEvent::RunFinished(finished) = &event.event
        {
            assert_eq!(finished.status, RunStatus::Completed);
            break;
        }
    }
}

#[tokio::test]
async fn trying_again_after_a_run_that_failed_asks_again_what_is_there() {
    let world = world([
        ModelScript::error("billing", "no money"),
        ModelScript::text("Here I am."),
    ]);
    let session = new_session(&world, ApprovalMode::Auto).await;
    let _ = session.retry().await;
    assert!(world.model.requests().is_empty(), "nothing is unanswered yet");
    say(&session, "Are you there?").await;
    assert_eq!(until_finished(&session).await.0, RunStatus::Failed);
    let seq = session.retry().await.unwrap();
    let mut events = session.subscribe(seq, View::Runtime).await.unwrap();
    let status = loop {
        if let Delivery::Runtime(event) = events.next().await.expect("the session goes on")
            && let RuntimeEvent::RunFinished(finished) = &event.event
        {
            break finished.status;
        }
    };
    assert_eq!(status, RunStatus::Completed);
    assert_eq!(world.model.requests().len(), 2);
    let last = world.model.requests().pop().unwrap();
    assert_eq!(last.messages.len(), 1, "the question stands there once");
    let _ = session.retry().await;
    let state = session.state().await.unwrap();
    assert_eq!(state.run.unwrap().status, RunStatus::Completed, "all is answered");
}

#[tokio::test]
async fn a_full_disk_stops_the_session_and_claims_nothing() {
    let gate = Gate::closed();
    let world = world([ModelScript::text("a").then_stall(&gate).then_text("b")]);
    let session = new_session(&world, ApprovalMode::Auto).await;
    let mut events = session.subscribe(0, View::Environment).await.unwrap();
    say(&session, "go").await;
    while !matches!(events.next().await, Some(Delivery::Environment(fact)) if fact.event.tag() == "text_chunk")
    {
    }
    world.log.set_full(true);
    gate.open();
    let last = loop {
        match events.next().await {
            Some(Delivery::CutOff(why)) => break why,
            Some(Delivery::Environment(fact)) => {
                assert!(fact.event.tag() != "stream_end", "published without a commit")
            }
            Some(_) => {}
            None => panic!("ended without a reason"),
        }
    };
    assert!(last.contains("no space"), "{last}");
    assert!(matches!(
        session.interrupt(None).await,
        Err(RuntimeError::Log(agentx_runtime::LogError::Full { .. }))
    ));
    // With space again the session continues: the model call is repeated.
    world.log.set_full(false);
    world.model.push(ModelScript::text("again"));
    drop(session);
    let session = world
        .open(OpenRequest::Resume(world.session_id.clone(), Vec::new()))
        .await
        .unwrap();
    assert_eq!(until_finished(&session).await.0, RunStatus::Completed);
}

#[tokio::test]
async fn one_writer_at_a_time() {
    let world = world([]);
    let session = new_session(&world, ApprovalMode::Auto).await;
    let second = world
        .open(OpenRequest::Resume(session.id().clone(), Vec::new()))
        .await;
    assert!(matches!(
        second,
        Err(RuntimeError::Log(agentx_runtime::LogError::Busy { .. }))
    ));
    session.close().await;
    world
        .open(OpenRequest::Resume(session.id().clone(), Vec::new()))
        .await
        .unwrap();
}

#[tokio::test]
async fn the_same_input_twice_is_one_input() {
    let world = world([ModelScript::text("once")]);
    let session = new_session(&world, ApprovalMode::Auto).await;
    let input = UserInput::text("hi").key(Some("k".into()));
    let first = session.send(input.clone()).await.unwrap();
    assert_eq!(session.send(input).await.unwrap(), first);
    assert_eq!(
        world.tags().iter().filter(|tag| *tag == "user_message").count(),
        1
    );
}

#[tokio::test]
async fn a_subscriber_anywhere_sees_the_same_stream() {
    let world = world([ModelScript::text("one two three"), ModelScript::text("four")]);
    let session = new_session(&world, ApprovalMode::Auto).await;
    say(&session, "a").await;
    until_finished(&session).await;
    for view in [View::Environment, View::Runtime] {
        let head = session.state().await.unwrap().last_seq;
        let whole = collect(&session, 0, view, head).await;
        for after in 0..=head {
            let part = collect(&session, after, view, head).await;
            let expected: Vec<_> = whole.iter().filter(|(seq, _)| *seq > after).cloned().collect();
            assert_eq!(part, expected, "after {after} in {view:?}");
        }
    }
}

/// Returns everything until the subscription has caught up.
async fn collect(session: &Arc<dyn Session>, after: u64, view: View, head: u64) -> Vec<(u64, String)> {
    let mut events = session.subscribe(after, view).await.unwrap();
    let mut all = Vec::new();
    loop {
        match events.next().await.unwrap() {
            Delivery::Environment(fact) => {
                all.push((fact.seq, serde_json::to_string(fact.as_ref()).unwrap()))
            }
            Delivery::Runtime(event) => all.push((event.seq, serde_json::to_string(event.as_ref()).unwrap())),
            Delivery::CaughtUp(seq) => {
                assert_eq!(seq, head);
                return all;
            }
            Delivery::CutOff(why) => panic!("{why}"),
        }
    }
}
