//! The mode without questions holds only for the program that was started with it, and a stricter mode
//! reaches every agent below.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use agentx_agent::delegation_tools;
use agentx_runtime::{Delivery, OpenRequest, UserInput, View};
use agentx_testing::{FaultyLog, MemoryWorld, ModelScript, fixture};
use agentx_types::ApprovalMode::{AcceptEdits, Ask, Auto, Deny};
use agentx_types::{AgentConfig, ApprovalMode, ConfigChange, RuntimeEvent, Source, Vocabulary as _};
use serde_json::json;

fn world(log: &FaultyLog, approval: Option<ApprovalMode>, answers: Vec<ModelScript>) -> MemoryWorld {
    let mut world = MemoryWorld::on(log.clone(), answers);
    world.parts.approval = approval;
    world
}

async fn mode_when_opened(
    left: ApprovalMode,
    program: Option<ApprovalMode>,
    changes: Vec<ConfigChange>,
) -> ApprovalMode {
    let log = FaultyLog::new();
    let config = AgentConfig {
        approval: left,
        ..fixture::config()
    };
    // A new session has the requested mode, independent of the program's.
    let session = world(&log, program, vec![]).open_new(config).await;
    assert_eq!(session.state().await.unwrap().config.approval, left);
    let id = session.id().clone();
    session.close().await;
    let again = world(&log, program, vec![]);
    let session = again
        .open(OpenRequest::Resume(id.clone(), changes))
        .await
        .unwrap();
    let mode = session.state().await.unwrap().config.approval;
    let asked_again =
        |fact: &agentx_runtime::Fact| fact.source == Source::System && fact.event.tag() == "config_changed";
    let facts = log.facts(&id);
    let attached = facts
        .iter()
        .rposition(|fact| fact.event.tag() == "writer_attached");
    assert!(
        !facts[attached.unwrap()..].iter().any(asked_again),
        "it is on record before the program takes over: nothing runs under the old mode"
    );
    mode
}

#[tokio::test]
async fn a_session_that_asks_nobody_asks_again_in_a_program_that_was_not_told_so() {
    let auto = || vec![ConfigChange::Approval(Auto)];
    assert_eq!(mode_when_opened(Auto, Some(Ask), vec![]).await, Ask);
    assert_eq!(mode_when_opened(Auto, Some(Deny), vec![]).await, Deny);
    assert_eq!(mode_when_opened(Auto, Some(Auto), vec![]).await, Auto);
    assert_eq!(
        mode_when_opened(Auto, None, vec![]).await,
        Auto,
        "a server's session stays as it is"
    );
    assert_eq!(
        mode_when_opened(Auto, Some(Ask), auto()).await,
        Auto,
        "it is said again"
    );
    assert_eq!(
        mode_when_opened(Deny, Some(Ask), vec![]).await,
        Deny,
        "nothing becomes freer"
    );
    assert_eq!(mode_when_opened(Ask, Some(Auto), vec![]).await, Ask);
    assert_eq!(mode_when_opened(AcceptEdits, Some(Ask), vec![]).await, Ask);
    assert_eq!(
        mode_when_opened(AcceptEdits, Some(Auto), vec![]).await,
        AcceptEdits
    );
    assert_eq!(
        mode_when_opened(Auto, Some(AcceptEdits), vec![]).await,
        AcceptEdits
    );
    assert_eq!(mode_when_opened(Ask, Some(AcceptEdits), vec![]).await, Ask);
}

/// An agent that may create `scout`, which may run commands.
fn parent() -> AgentConfig {
    let scout = AgentConfig {
        name: "scout".into(),
        approval: Auto,
        ..fixture::config()
    };
    let agents = vec![scout];
    let tools = fixture::tools()
        .iter()
        .cloned()
        .chain(delegation_tools(&agents))
        .collect();
    AgentConfig {
        agents,
        tools,
        approval: Auto,
        ..fixture::config()
    }
}

async fn asks_in_a_child(answers: Vec<ModelScript>, mode_after: usize) -> bool {
    let log = FaultyLog::new();
    let session = world(&log, None, answers).open_new(parent()).await;
    let mut events = session.subscribe(0, View::Runtime).await.unwrap();
    let say = |text: &str| UserInput::text(text);
    if mode_after == 0 {
        session.change(ConfigChange::Approval(Ask)).await.unwrap();
    }
    session.send(say("find it")).await.unwrap();
    let mut ended = 0;
    while let Some(delivery) = events.next().await {
        let Delivery::Runtime(event) = delivery else {
            continue;
        };
        match &event.event {
            RuntimeEvent::ApprovalRequested(asked) => return asked.name == "read",
            RuntimeEvent::ToolFailed(_) => return false,
            RuntimeEvent::RunFinished(_)
                if event.agent_state_id.as_ref() == Some(&fixture::agent_state_id()) =>
            {
                ended += 1;
                if ended == mode_after {
                    session.change(ConfigChange::Approval(Ask)).await.unwrap();
                    session.send(say("once more")).await.unwrap();
                }
            }
            _ => {}
        }
    }
    panic!("the session ended first");
}

#[tokio::test]
async fn agents_below_one_that_asks_again_ask_too() {
    let order = json!({"agent": "scout", "input": "where is it?", "background": false});
    let outside = json!({"path": "/etc/hostname"});
    let answers = vec![
        ModelScript::call("call_1", "delegate", order.clone()),
        ModelScript::call("call_2", "read", outside.clone()),
    ];
    assert!(asks_in_a_child(answers, 0).await, "one that is made afterwards");
    let answers = vec![
        ModelScript::text("Nothing to do."),
        ModelScript::call("call_1", "delegate", order),
        ModelScript::call("call_2", "read", outside),
    ];
    assert!(
        asks_in_a_child(answers, 1).await,
        "one that is made in a later run"
    );
}
