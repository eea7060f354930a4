//! Agents that create agents: the result of a child is the answer of the call that created it, even after
//! another process has taken over, and everything that stops the parent stops the child.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

use agentx_agent::delegation_tools;
use agentx_bus::{BusDelivery, Filter, Queue, Routed as _};
use agentx_runtime::{
    ApprovalInput, Delivery, OpenRequest, Session, SessionFold, SystemBus, SystemEvent, UserInput, View,
};
use agentx_testing::{Gate, MemoryWorld, ModelScript, fixture};
use agentx_types::{
    AgentConfig, AgentKind, AgentStateId, ApprovalDecision, ApprovalMode, ConfigChange, ContentPart,
    EnvironmentEvent, IntentPattern, IntentRule, ModelRequest, ModelSpec, RULES_VERSION, Route, Routing,
    Rule, RuleEffect, RunStatus, RuntimeEvent, ToolStatus,
};
use serde_json::json;

async fn new_session(world: &MemoryWorld) -> Arc<dyn Session> {
    world.open_new(parent()).await
}

/// Returns the result of the call with this id.
fn result(world: &MemoryWorld, id: &str) -> (ToolStatus, String) {
    let results: Vec<_> = world
        .facts()
        .into_iter()
        .filter_map(|event| match event {
            EnvironmentEvent::ToolResult(result) if result.tool_call_id.as_str() == id => Some(result),
            _ => None,
        })
        .collect();
    let [result] = results.as_slice() else {
        panic!("one result, not {results:?}");
    };
    let text = result.result.iter().filter_map(ContentPart::as_text).collect();
    (result.status, text)
}

/// A replay of the log gives the same events, and the fold of the state alone gives the same state.
fn check_replay(world: &MemoryWorld, live: &[String]) {
    let mut whole = SessionFold::new(world.session_id.clone());
    let mut state = whole.clone();
    let mut again = Vec::new();
    for fact in world.log.facts(&world.session_id) {
        let derived = whole.apply(&fact);
        state.advance(&fact);
        assert_eq!(state, whole, "after event {}", fact.seq);
        again.extend(
            derived
                .events
                .iter()
                .map(|event| serde_json::to_string(event).unwrap()),
        );
    }
    assert_eq!(live, again);
}

fn scout() -> AgentConfig {
    AgentConfig {
        name: "scout".into(),
        system_prompt: "You look things up.\nSlowly.".into(),
        approval: ApprovalMode::Ask,
        ..fixture::config()
    }
}

fn parent() -> AgentConfig {
    let agents = vec![scout()];
    let tools = fixture::tools()
        .iter()
        .cloned()
        .chain(delegation_tools(&agents))
        .collect();
    AgentConfig {
        agents,
        tools,
        ..fixture::config()
    }
}

fn delegate(id: &str, background: bool) -> ModelScript {
    let input = json!({"agent": "scout", "input": "where is it?", "background": background});
    ModelScript::call(id, "delegate", input)
}

async fn say(session: &Arc<dyn Session>, text: &str) -> u64 {
    let input = UserInput::text(text);
    session.send(input).await.unwrap()
}

/// Reads until `times` runs of the root agent have ended; returns the result of the last one.
async fn until_finished(session: &Arc<dyn Session>, times: usize) -> RunStatus {
    let mut events = session.subscribe(0, View::Runtime).await.unwrap();
    let mut ended = 0;
    while let Some(delivery) = events.next().await {
        let Delivery::Runtime(event) = delivery else {
            continue;
        };
        if event.agent_state_id.as_ref() != Some(&fixture::agent_state_id()) {
            continue;
        }
        if let RuntimeEvent::RunFinished(finished) = &event.event {
            ended += 1;
            if ended == times {
                return finished.status;
            }
        }
    }
    panic!("the session ended first");
}

/// Reads until a wanted event comes.
async fn until(session: &Arc<dyn Session>, wanted: impl Fn(&RuntimeEvent) -> bool) -> Option<AgentStateId> {
    let mut events = session.subscribe(0, View::Runtime).await.unwrap();
    while let Some(delivery) = events.next().await {
        if let Delivery::Runtime(event) = delivery
            && wanted(&event.event)
        {
            return event.agent_state_id.clone();
        }
    }
    panic!("the session ended first");
}

fn said(request: &ModelRequest) -> String {
    let last = request.messages.last().unwrap();
    serde_json::to_string(&last.content).unwrap()
}

#[tokio::test]
async fn the_answer_of_a_child_is_the_result_of_its_call() {
    let world = MemoryWorld::new([
        delegate("call_1", false),
        ModelScript::text("under the bed"),
        ModelScript::text("It is under the bed."),
    ]);
    let session = new_session(&world).await;
    let mut live = session.subscribe(0, View::Runtime).await.unwrap();
    say(&session, "find it").await;
    assert_eq!(until_finished(&session, 1).await, RunStatus::Completed);
    assert_eq!(
        result(&world, "call_1"),
        (ToolStatus::Success, "under the bed".to_owned())
    );
    let requests = world.model.requests();
    assert_eq!(requests[1].system[0].as_ref(), "You look things up.\nSlowly.");
    assert!(said(&requests[1]).contains("where is it?"));
    let state = session.state().await.unwrap();
    assert_eq!(state.usage.input_tokens, 30, "what a child spends counts");
    session.close().await;
    let mut frames = Vec::new();
    while let Some(delivery) = live.next().await {
        if let Delivery::Runtime(event) = delivery {
            frames.push(serde_json::to_string(event.as_ref()).unwrap());
        }
    }
    check_replay(&world, &frames);
}

#[tokio::test]
async fn text_from_the_web_counts_for_the_agents_above_and_below_the_one_that_read_it() {
    for (above, below) in [(true, false), (false, true), (false, false)] {
        let world = MemoryWorld::new([
            delegate("call_1", false),
            ModelScript::text("under the bed"),
            ModelScript::text("It is under the bed."),
        ]);
        let mut config = parent();
        config.web_text = above;
        config.agents[0].web_text = below;
        let session = world.open_new(config).await;
        say(&session, "find it").await;
        assert_eq!(until_finished(&session, 1).await, RunStatus::Completed);
        let made = world.facts().into_iter().find_map(|fact| match fact {
            EnvironmentEvent::AgentSpawned(spawned) => Some(spawned.config.web_text),
            _ => None,
        });
        assert_eq!(made, Some(above || below));
        let mut fold = SessionFold::new(world.session_id.clone());
        for fact in world.log.facts(&world.session_id) {
            fold.advance(&fact);
        }
        let root = fold.root_agent().unwrap();
        assert_eq!(root.config().web_text, above || below);
    }
}

#[tokio::test]
async fn one_in_the_background_comes_back_as_an_input() {
    let gate = Gate::closed();
    let world = MemoryWorld::new([
        delegate("call_1", true),
        // Both are called at the same time, in either order, so both wait.
        ModelScript::new().then_stall(&gate).then_text("one"),
        ModelScript::new().then_stall(&gate).then_text("two"),
        ModelScript::text("thanks"),
        ModelScript::text("thanks again"),
    ]);
    let session = new_session(&world).await;
    say(&session, "find it meanwhile").await;
    until(&session, |event| {
        matches!(event, RuntimeEvent::ToolResultMessageAdded(_))
    })
    .await;
    assert_eq!(result(&world, "call_1").0, ToolStatus::Success);
    gate.open();
    until(&session, |event| {
        matches!(event, RuntimeEvent::UserMessageAdded(added)
            if added.message.text().contains("in the background has ended"))
    })
    .await;
    session.close().await;
}

#[tokio::test]
async fn an_interrupt_reaches_the_child() {
    let gate = Gate::closed();
    let world = MemoryWorld::new([
        delegate("call_1", false),
        ModelScript::text("I look").then_stall(&gate),
        ModelScript::text("and on"),
    ]);
    let session = new_session(&world).await;
    say(&session, "find it").await;
    let child = until(&session, |event| matches!(event, RuntimeEvent::TextDelta(_))).await;
    assert_ne!(child, Some(fixture::agent_state_id()));
    session.interrupt(None).await.unwrap();
    assert_eq!(until_finished(&session, 1).await, RunStatus::Interrupted);
    let (status, text) = result(&world, "call_1");
    assert_eq!(status, ToolStatus::Interrupted);
    assert!(text.contains("I look"), "{text}");
    say(&session, "go on").await;
    assert_eq!(until_finished(&session, 2).await, RunStatus::Completed);
}

#[tokio::test]
async fn an_interrupt_reaches_one_in_the_background_and_asks_no_model_again() {
    let gates = [Gate::closed(), Gate::closed()];
    let world = MemoryWorld::new([
        delegate("call_1", true),
        ModelScript::text("I look").then_stall(&gates[0]),
        ModelScript::text("I look").then_stall(&gates[1]),
        ModelScript::text("well"),
    ]);
    let session = new_session(&world).await;
    say(&session, "find it meanwhile").await;
    let begun = Cell::new(0);
    until(&session, |event| {
        begun.set(begun.get() + usize::from(matches!(event, RuntimeEvent::TextDelta(_))));
        begun.get() == 2
    })
    .await;
    // Both are called at the same time, in either order.
    let is_child = world.model.requests()[1].system[0].starts_with("You look things up");
    gates[usize::from(is_child)].open();
    assert_eq!(until_finished(&session, 1).await, RunStatus::Completed);
    session.interrupt(None).await.unwrap();
    let interrupted = |event: &RuntimeEvent| matches!(event, RuntimeEvent::RunFinished(finished) if finished.status == RunStatus::Interrupted);
    assert_ne!(
        until(&session, interrupted).await,
        Some(fixture::agent_state_id())
    );
    say(&session, "go on").await;
    assert_eq!(until_finished(&session, 2).await, RunStatus::Completed);
    let requests = world.model.requests();
    assert_eq!(requests.len(), 4, "who stops an agent wants no answer to that");
    assert!(said(&requests[3]).contains("go on"));
    let known = serde_json::to_string(&requests[3].messages).unwrap();
    assert!(known.contains("in the background has ended"), "{known}");
}

#[tokio::test]
async fn a_child_goes_on_in_another_process() {
    let gate = Gate::closed();
    let world = MemoryWorld::new([
        delegate("call_1", false),
        ModelScript::text("under").then_stall(&gate),
    ]);
    let session = new_session(&world).await;
    say(&session, "find it").await;
    until(&session, |event| matches!(event, RuntimeEvent::TextDelta(_))).await;
    // The process dies: it writes nothing more, and another one takes over.
    let log = world.log.crashed();
    let next = MemoryWorld::on(
        log,
        [ModelScript::text("under the bed"), ModelScript::text("found")],
    );
    let session = next
        .open(OpenRequest::Resume(world.session_id.clone(), Vec::new()))
        .await
        .unwrap();
    assert_eq!(until_finished(&session, 1).await, RunStatus::Completed);
    assert_eq!(
        result(&next, "call_1"),
        (ToolStatus::Success, "under the bed".to_owned())
    );
}

#[tokio::test]
async fn a_decision_reaches_the_child_that_waits_for_it() {
    let world = MemoryWorld::new([
        delegate("call_1", false),
        ModelScript::call("call_2", "read", json!({"path": "/etc/passwd"})),
        ModelScript::text("I may not"),
        ModelScript::text("It may not."),
    ]);
    let session = new_session(&world).await;
    say(&session, "find it").await;
    until(&session, |event| {
        matches!(event, RuntimeEvent::ApprovalRequested(_))
    })
    .await;
    session
        .approve(ApprovalInput::new("call_2".into(), ApprovalDecision::Deny))
        .await
        .unwrap();
    assert_eq!(until_finished(&session, 1).await, RunStatus::Completed);
    assert_eq!(result(&world, "call_2").0, ToolStatus::Denied);
    assert_eq!(result(&world, "call_1").1, "I may not");
}

#[tokio::test]
async fn a_child_that_fails_is_a_failed_call() {
    let world = MemoryWorld::new([
        delegate("call_1", false),
        ModelScript::error("unauthorized", "the key is wrong"),
        ModelScript::text("It could not."),
    ]);
    let session = new_session(&world).await;
    say(&session, "find it").await;
    assert_eq!(until_finished(&session, 1).await, RunStatus::Completed);
    let (status, text) = result(&world, "call_1");
    assert_eq!(status, ToolStatus::Failed);
    assert!(text.contains("the key is wrong"), "{text}");
}

#[tokio::test]
async fn wrong_orders_are_told_to_the_model() {
    let world = MemoryWorld::new([
        ModelScript::call("call_1", "delegate", json!({"agent": "spy", "input": "x"})),
        ModelScript::call("call_2", "delegate", json!({"agent": "scout"})),
        ModelScript::call("call_3", "agents", json!({"action": "stop"})),
        ModelScript::call("call_4", "agents", json!({})),
        ModelScript::text("well"),
    ]);
    let session = new_session(&world).await;
    say(&session, "find it").await;
    assert_eq!(until_finished(&session, 1).await, RunStatus::Completed);
    let (status, text) = result(&world, "call_1");
    assert_eq!(status, ToolStatus::Invalid);
    assert!(
        text.contains("expected one of \"scout\", got string \"spy\""),
        "{text}"
    );
    assert!(result(&world, "call_2").1.contains("missing argument \"input\""));
    assert!(result(&world, "call_3").1.contains("`id` is missing"));
    assert_eq!(result(&world, "call_4"), (ToolStatus::Success, "[]".to_owned()));
}

/// Agents call the scout to find something; no agent does anything else.
#[tokio::test]
async fn all_that_agents_want_is_heard_behind_the_fact_that_it_is_on_record_by() {
    let answers = [
        delegate("call_1", false),
        ModelScript::text("in the attic"),
        ModelScript::text("It is in the attic."),
    ];
    let world = MemoryWorld::new(answers);
    let bus = SystemBus::of(&world.parts);
    let mut heard = bus.subscribe("test", Filter::all(), Queue::lag(1_024)).unwrap();
    let session = new_session(&world).await;
    say(&session, "where is it?").await;
    let (mut on_record, mut wanted) = (BTreeSet::new(), Vec::new());
    loop {
        let BusDelivery::Event(event) = heard.recv().await.unwrap() else {
            panic!("nothing is left out");
        };
        match event.as_ref() {
            SystemEvent::Environment(fact) => on_record.extend(fact.cause.clone()),
            SystemEvent::Action(_, action) => {
                assert!(on_record.contains(&action.action_id), "{action:?}");
                wanted.push(event.event_type().to_owned());
            }
            SystemEvent::Runtime(said)
                if matches!(said.event, RuntimeEvent::RunFinished(_))
                    && said.agent_state_id == Some(fixture::agent_state_id()) =>
            {
                break;
            }
            _ => {}
        }
    }
    let expected = [
        "call_model",
        "spawn_agent",
        "send_input",
        "call_model",
        "close_agent",
        "answer_call",
        "call_model",
    ];
    assert_eq!(wanted, expected);
}

fn router() -> AgentConfig {
    let find = IntentRule {
        name: "find".into(),
        patterns: vec![IntentPattern {
            input: "find it".into(),
            output: None,
        }],
        ..IntentRule::default()
    };
    let route = Route {
        rules: vec!["find".into()],
        agent: scout(),
    };
    AgentConfig {
        kind: AgentKind::Match,
        tools: Arc::from([]),
        routing: Some(Box::new(Routing {
            rules: vec![find],
            routes: vec![route],
            default: None,
        })),
        ..fixture::config()
    }
}

#[tokio::test]
async fn a_router_gives_inputs_to_its_children() {
    let world = MemoryWorld::new([
        ModelScript::text("under the bed"),
        ModelScript::text("find"),
        ModelScript::text("still there"),
    ]);
    let session = world.open_new(router()).await;
    let mut live = session.subscribe(0, View::Runtime).await.unwrap();
    say(&session, "Find it!").await;
    assert_eq!(until_finished(&session, 1).await, RunStatus::Completed);
    say(&session, "where is it now?").await;
    assert_eq!(until_finished(&session, 2).await, RunStatus::Completed);
    let requests = world.model.requests();
    assert_eq!(requests.len(), 3, "the first input needed no model to be matched");
    assert!(said(&requests[2]).contains("matched to find"));
    assert_eq!(session.state().await.unwrap().usage.input_tokens, 30);
    session.close().await;
    let (mut frames, mut words) = (Vec::new(), String::new());
    while let Some(delivery) = live.next().await {
        if let Delivery::Runtime(event) = delivery {
            if let RuntimeEvent::TextDelta(delta) = &event.event {
                words.push_str(&delta.text);
            }
            frames.push(serde_json::to_string(event.as_ref()).unwrap());
        }
    }
    assert_eq!(
        words, "under the bedstill there",
        "a router has no words of its own"
    );
    check_replay(&world, &frames);
}

#[tokio::test]
async fn a_router_goes_on_in_another_process_and_stops_with_its_child() {
    let gate = Gate::closed();
    let world = MemoryWorld::new([ModelScript::text("under").then_stall(&gate)]);
    let session = world.open_new(router()).await;
    say(&session, "find it").await;
    until(&session, |event| matches!(event, RuntimeEvent::TextDelta(_))).await;
    let next = MemoryWorld::on(
        world.log.crashed(),
        [
            ModelScript::text("under the bed"),
            ModelScript::text("under").then_stall(&gate),
        ],
    );
    let session = next
        .open(OpenRequest::Resume(world.session_id.clone(), Vec::new()))
        .await
        .unwrap();
    assert_eq!(until_finished(&session, 1).await, RunStatus::Completed);
    say(&session, "find it").await;
    session.interrupt(None).await.unwrap();
    assert_eq!(until_finished(&session, 2).await, RunStatus::Interrupted);
}

/// An agent that may delegate to built-in agents only.
fn without_files(rules_version: u32) -> AgentConfig {
    AgentConfig {
        built_in_agents: vec!["general".into(), "explore".into()],
        approval: ApprovalMode::Ask,
        rules_version,
        ..fixture::config()
    }
}

fn to_general() -> ModelScript {
    ModelScript::call("call_1", "delegate", json!({"agent": "general", "input": "look"}))
}

/// The last configuration of the agent with this id.
fn last_config(world: &MemoryWorld, id: &AgentStateId) -> AgentConfig {
    let mut fold = SessionFold::new(world.session_id.clone());
    let mut last = None;
    for fact in world.log.facts(&world.session_id) {
        fold.advance(&fact);
        last = fold.agent(id).map(|agent| agent.config().clone()).or(last);
    }
    AgentConfig::clone(&last.unwrap())
}

#[tokio::test]
async fn a_built_in_agent_at_work_follows_the_agent_that_made_it() {
    let rule = |effect, tool: &str| Rule {
        effect,
        tool: tool.to_owned(),
        argument: None,
        path: None,
        workspace: None,
        origin: None,
    };
    let allowed = rule(RuleEffect::Allow, "write");
    let mut config = without_files(RULES_VERSION);
    config.rules = vec![rule(RuleEffect::Allow, "edit")];
    let other = ModelSpec {
        id: "fixture-2".into(),
        ..config.model.clone()
    };
    let gate = Gate::closed();
    let world = MemoryWorld::new([
        to_general(),
        ModelScript::new().then_stall(&gate).then_text("done"),
        ModelScript::text("It is done."),
    ]);
    let session = world.open_new(config).await;
    let mut live = session.subscribe(0, View::Runtime).await.unwrap();
    say(&session, "go").await;
    let is_child = |event: &RuntimeEvent| match event {
        RuntimeEvent::AgentStarted(started) => started.parent.is_some(),
        _ => false,
    };
    let child = until(&session, is_child).await.unwrap();
    for change in [
        ConfigChange::Model(Box::new(other.clone())),
        ConfigChange::Approval(ApprovalMode::Auto),
        ConfigChange::Rules(vec![allowed.clone()]),
    ] {
        session.change(change).await.unwrap();
    }
    let now = last_config(&world, &child);
    assert_eq!((now.model, now.approval), (other, ApprovalMode::Auto));
    assert_eq!(now.rules, [allowed], "a rule that was taken back is gone");
    session
        .change(ConfigChange::Approval(ApprovalMode::Deny))
        .await
        .unwrap();
    assert_eq!(last_config(&world, &child).approval, ApprovalMode::Deny);
    gate.open();
    assert_eq!(until_finished(&session, 1).await, RunStatus::Completed);
    assert_eq!(result(&world, "call_1"), (ToolStatus::Success, "done".to_owned()));
    session.close().await;
    let mut frames = Vec::new();
    while let Some(delivery) = live.next().await {
        if let Delivery::Runtime(event) = delivery {
            frames.push(serde_json::to_string(event.as_ref()).unwrap());
        }
    }
    check_replay(&world, &frames);
}

#[tokio::test]
async fn an_older_session_has_no_built_in_agents() {
    let world = MemoryWorld::new([to_general(), ModelScript::text("I do it myself.")]);
    let session = world.open_new(without_files(RULES_VERSION - 1)).await;
    say(&session, "go").await;
    assert_eq!(until_finished(&session, 1).await, RunStatus::Completed);
    let (status, text) = result(&world, "call_1");
    assert_eq!(status, ToolStatus::Invalid);
    assert!(text.contains("There is no tool \"delegate\""), "{text}");
    let requests = world.model.requests();
    assert!(requests[0].tools.iter().all(|tool| tool.name != "delegate"));
}
