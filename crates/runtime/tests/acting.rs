//! Acting over the bus: one responder performs each action, and responders come and go while a session runs.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use agentx_bus::{Grace, KeyPattern, Serve};
use agentx_runtime::{ActionDispatcher, BoxFuture, Delivery, Effector, EventSink, Session, UserInput, View};
use agentx_testing::{Gate, MemoryWorld, ModelScript, fixture, run_ended};
use agentx_types::{
    Action, ActionBody, ActionKind, AgentConfig, ApprovalMode, ContentPart, ContextChange, EnvironmentEvent,
    LearningSettings, RunStatus, RuntimeEvent, SessionId, ToolCallId, ToolResult, ToolStatus,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// The time that a test waits for an event before it fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// Answers every call with its own name.
#[derive(Clone, Default)]
struct Named {
    name: &'static str,
    /// The gate at which calls wait before they answer.
    gate: Option<Gate>,
}

impl Named {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }
}

impl Effector for Named {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        _: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let this = self.clone();
        Box::pin(async move {
            let ActionBody::CallTool(call) = &action.body else {
                return;
            };
            if let Some(gate) = &this.gate {
                gate.pass().await;
            }
            let said = ToolResult {
                tool_call_id: call.tool_call_id.clone(),
                result: vec![ContentPart::text(this.name)],
                is_error: false,
                status: ToolStatus::Success,
                details: None,
            };
            events.emit(said).await;
        })
    }
}

fn reads() -> Serve {
    Serve::new("reads").on("tools.requests", KeyPattern::new("read"))
}

struct World {
    memory: MemoryWorld,
    actions: ActionDispatcher,
    session: Arc<dyn Session>,
}

impl World {
    /// A session whose model calls the tool `read` this many times, once in each answer, and then ends.
    async fn new(id: &str, actions: &ActionDispatcher, calls: usize) -> Self {
        let call = |number| {
            ModelScript::call(
                &format!("call_{number}"),
                "read",
                json!({"path": "a", "n": number}),
            )
        };
        let answers = (0..calls).map(call).chain([ModelScript::text("done")]);
        let own = actions.clone();
        let mut memory = MemoryWorld::new(answers);
        // Each session has its own model, and the shared tools.
        let models = Serve::new(id).on("llm.requests", KeyPattern::new(&format!("{id}/*")));
        own.serve_as(models, Arc::new(memory.model.clone()));
        memory.parts.actions = own.clone();
        memory.session_id = SessionId::new(id);
        let mut config = AgentConfig {
            approval: ApprovalMode::Auto,
            ..fixture::config()
        };
        config.model.provider = id.to_owned();
        config.limits.max_iterations = Some(1_000);
        let session = memory.open_new(config).await;
        Self {
            memory,
            actions: own,
            session,
        }
    }

    async fn say(&self) {
        let content = vec![ContentPart::text("go")];
        let input = UserInput::new(content);
        self.session.send(input).await.unwrap();
    }

    async fn finished(&self) -> RunStatus {
        run_ended(&*self.session, 0).await
    }

    /// Returns the results of the calls: status and text.
    fn results(&self) -> Vec<(ToolCallId, ToolStatus, String)> {
        let facts = self.memory.log.facts(self.session.id());
        let result = |event: &EnvironmentEvent| match event {
            EnvironmentEvent::ToolResult(result) => {
                let Some(ContentPart::Text(text)) = result.result.first() else {
                    panic!("it has no words");
                };
                Some((result.tool_call_id.clone(), result.status, text.text.clone()))
            }
            _ => None,
        };
        facts.iter().filter_map(|fact| result(&fact.event)).collect()
    }

    fn texts(&self) -> Vec<String> {
        self.results().into_iter().map(|(_, _, text)| text).collect()
    }
}

#[tokio::test]
async fn a_call_that_nobody_serves_fails_by_name_and_the_run_goes_on() {
    let world = World::new("ses_1", &ActionDispatcher::new(), 1).await;
    world.say().await;
    assert_eq!(world.finished().await, RunStatus::Completed);
    let (_, status, text) = &world.results()[0];
    assert_eq!(*status, ToolStatus::Failed);
    assert_eq!(
        text,
        "Nobody serves the tool read in this program any more; nothing was done. To have it, attach a reactor that serves it \
         (`NodeRuntime::attach`)."
    );
}

#[tokio::test]
async fn proposals_of_memories_that_nobody_serves_fail_by_name_and_are_not_awaited_any_more() {
    let memory = MemoryWorld::new((0..3).map(|_| ModelScript::text("ok")));
    let config = AgentConfig {
        learning: Some(LearningSettings {
            threshold_turns: 1,
            reflect_turns: 0,
        }),
        ..fixture::config()
    };
    let session = memory.open_new(config).await;
    let mut events = session.subscribe(0, View::Runtime).await.unwrap();
    session.send(UserInput::text("one")).await.unwrap();
    for (text, failures) in [("two", 1), ("three", 2)] {
        session.send(UserInput::text(text)).await.unwrap();
        let told = async {
            loop {
                if let Delivery::Runtime(event) = events.next().await.unwrap()
                    && let RuntimeEvent::ContextChanged(changed) = &event.event
                    && let ContextChange::Proposed { problem, .. } = &changed.change
                {
                    return problem.clone().unwrap();
                }
            }
        };
        let problem = tokio::time::timeout(PATIENCE, told).await.unwrap();
        assert!(problem.contains("memories.requests"), "{problem}");
        let tags = memory.tags();
        let proposed = tags.iter().filter(|tag| *tag == "memories_proposed");
        assert_eq!(proposed.count(), failures);
    }
}

#[tokio::test]
async fn a_responder_that_comes_later_gets_what_it_serves_and_leaves_again() {
    let actions = ActionDispatcher::new().with(ActionKind::CallTool, Arc::new(Named::new("built in")));
    let gate = Gate::closed();
    let special = Named {
        gate: Some(gate.clone()),
        ..Named::new("special")
    };
    let world = World::new("ses_1", &actions, 2).await;
    let special_id = world.actions.serve_as(reads(), Arc::new(special));
    world.say().await;
    gate.reached().await;
    // It settles its calls; the next call goes to the remaining one.
    world.actions.detach(special_id, Grace::Finish);
    gate.open();
    assert_eq!(world.finished().await, RunStatus::Completed);
    assert_eq!(world.texts(), ["special", "built in"]);
}

#[tokio::test]
async fn a_responder_that_is_gone_in_the_middle_of_a_call_leaves_it_unknown() {
    let actions = ActionDispatcher::new().with(ActionKind::CallTool, Arc::new(Named::new("built in")));
    let gate = Gate::closed();
    let special = Named {
        gate: Some(gate.clone()),
        ..Named::new("special")
    };
    let world = World::new("ses_1", &actions, 2).await;
    let special_id = world.actions.serve_as(reads(), Arc::new(special));
    world.say().await;
    gate.reached().await;
    world.actions.detach(special_id, Grace::Now);
    assert_eq!(world.finished().await, RunStatus::Completed);
    gate.open();
    let statuses: Vec<ToolStatus> = world.results().iter().map(|(_, status, _)| *status).collect();
    assert_eq!(statuses, [ToolStatus::Unknown, ToolStatus::Success]);
}
