//! A session with tools from files, on a log in memory and a model whose answers are listed.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentx_agent_files::definition::{LuauTool, ToolBody, ToolDefinition};
use agentx_flows::{ToolFactory, ToolFactoryParts, ToolSurroundings};
use agentx_runtime::{
    ActionDispatcher, AgentListener, Batch, BoxFuture, CallSlots, Delivery, DriverParts, Effector, EventSink,
    Journal, NewLog, OpenRequest, Session, SessionBlobs, SessionIds, SessionLog, SystemEvents, Tool,
    ToolContext, ToolOutcome, ToolOutputSink, UserInput, View, open_session,
};
use agentx_testing::{FaultyLog, ModelScript, ScriptedModel, SimulatedClock, fixture};
use agentx_types::{
    Action, ActionBody, ActionKind, AgentConfig, ApprovalMode, ContentPart, Envelope, EnvironmentEvent,
    ModelSpec, OwnerId, RuntimeEvent, SessionId, ToolResult, ToolSpec, ToolStatus,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// The time limit of any wait.
pub const LIMIT: Duration = Duration::from_secs(20);

/// A script as a definition.
pub fn luau(name: &str, script: &str, capabilities: Value) -> ToolDefinition {
    let body = LuauTool {
        lua: Some(script.to_owned()),
        capabilities: serde_json::from_value(capabilities).unwrap(),
        ..LuauTool::default()
    };
    ToolDefinition {
        name: name.to_owned(),
        description: None,
        params: None,
        access: None,
        idempotent: false,
        idempotency_key: None,
        unknown: Default::default(),
        quit: false,
        of_folder: false,
        known: Default::default(),
        body: ToolBody::Luau(body),
    }
}

/// Reads a definition from its file's text.
pub fn definition(file: Value) -> ToolDefinition {
    serde_json::from_value(file).unwrap()
}

/// Every model is known, and one secret.
pub struct Everything;

impl ToolSurroundings for Everything {
    fn model(&self, name: &str) -> Option<ModelSpec> {
        (name != "nobody").then(|| ModelSpec {
            id: name.to_owned(),
            ..fixture::config().model
        })
    }

    /// An agent from a file that asks nobody and has no rules.
    fn agent(&self, name: &str) -> Option<AgentConfig> {
        (name == "free").then(|| AgentConfig {
            name: name.to_owned(),
            approval: ApprovalMode::Auto,
            rules: Vec::new(),
            ..fixture::config()
        })
    }

    fn env(&self, name: &str) -> Option<String> {
        match name {
            "KEY" => Some("s3cret-v@lue".to_owned()),
            _ => None,
        }
    }
}

/// Calls tools as the runtime's own effector does, two at once.
struct Tools {
    tools: Mutex<BTreeMap<String, Arc<dyn Tool>>>,
    log: Arc<dyn SessionLog>,
    bus: SystemEvents,
    slots: CallSlots,
}

impl Effector for Tools {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let ActionBody::CallTool(call) = action.body.clone() else {
            panic!("a call of a tool")
        };
        let tool = self
            .tools
            .lock()
            .unwrap()
            .get(&call.name)
            .cloned()
            .expect("a tool of this name");
        let session_id = events.session_id().cloned().unwrap();
        let listener = AgentListener::new(session_id.clone(), self.log.clone(), self.bus.clone());
        let context = ToolContext {
            tool_call_id: call.tool_call_id.clone(),
            workspace: "/workspace".into(),
            outside_workspace: false,
            output: ToolOutputSink::new(events.clone(), call.tool_call_id.clone()),
            journal: Journal::of_call(events.clone(), &call, Some(listener)),
            blobs: Arc::new(SessionBlobs::new(self.log.clone(), session_id.clone())),
            session_id,
            cancel,
            values: Default::default(),
            slots: self.slots.clone(),
        };
        let slots = self.slots.clone();
        Box::pin(async move {
            let place = slots.take(tool.waits()).await;
            let outcome = tool.call(call.input.clone(), context).await;
            drop(place);
            let is_error = outcome.is_error();
            let ToolOutcome {
                content,
                status,
                details,
            } = outcome;
            events
                .emit(ToolResult {
                    tool_call_id: call.tool_call_id.clone(),
                    result: content,
                    is_error,
                    status,
                    details,
                })
                .await;
        })
    }
}

/// A log with the first `count` facts of another.
pub async fn prefix(facts: &[Arc<Envelope<EnvironmentEvent>>], count: usize) -> FaultyLog {
    let log = FaultyLog::new();
    let session = SessionId::new("ses_1");
    let new = NewLog::new(
        session.clone(),
        "own_test",
        facts[0].at,
        fixture::config().workspace,
    );
    log.create(new).await.unwrap();
    let writer = log.attach(&session).await.unwrap();
    let facts = facts[..count].to_vec();
    log.append(&writer, Batch::new(facts, [0; 32])).await.unwrap();
    drop(writer);
    log
}

/// Waits until a fact is in the log.
pub async fn until_fact(mut heard: agentx_runtime::Subscription, wanted: impl Fn(&EnvironmentEvent) -> bool) {
    let found = async {
        while let Some(delivery) = heard.next().await {
            if matches!(delivery, Delivery::Environment(fact) if wanted(&fact.event)) {
                return;
            }
        }
        panic!("the session ended first");
    };
    tokio::time::timeout(LIMIT, found).await.expect("in time");
}

/// A process on a log.
pub struct Place {
    pub log: FaultyLog,
    pub model: ScriptedModel,
    pub flows: ToolFactory,
    tools: Arc<Tools>,
    parts: Mutex<DriverParts>,
}

impl Place {
    pub fn new(answers: impl IntoIterator<Item = ModelScript>) -> Self {
        Self::on(FaultyLog::new(), answers)
    }

    /// Another process on the same log.
    pub fn on(log: FaultyLog, answers: impl IntoIterator<Item = ModelScript>) -> Self {
        Self::with(log, answers, |parts| parts)
    }

    pub fn with(
        log: FaultyLog,
        answers: impl IntoIterator<Item = ModelScript>,
        change: impl FnOnce(ToolFactoryParts) -> ToolFactoryParts,
    ) -> Self {
        let model = ScriptedModel::new(answers);
        Self {
            model: model.clone(),
            ..Self::with_model(log, Arc::new(model), change)
        }
    }

    pub fn with_model(
        log: FaultyLog,
        effector: Arc<dyn Effector>,
        change: impl FnOnce(ToolFactoryParts) -> ToolFactoryParts,
    ) -> Self {
        let model = ScriptedModel::new([]);
        let flows = ToolFactory::new(change(ToolFactoryParts::new(
            effector.clone(),
            Arc::new(Everything),
        )));
        let actions = ActionDispatcher::new().with(ActionKind::CallModel, effector);
        let clock = Arc::new(SimulatedClock::default());
        let parts = DriverParts {
            program: "test".into(),
            ..DriverParts::new(Arc::new(log.clone()), actions.clone(), clock)
        };
        let tools = Arc::new(Tools {
            tools: Mutex::default(),
            log: Arc::new(log.clone()),
            bus: parts.bus.read_only(),
            slots: CallSlots::new(2),
        });
        let calls: Arc<dyn Effector> = tools.clone();
        actions.serve(ActionKind::CallTool, calls);
        Self {
            log,
            model,
            flows,
            tools,
            parts: Mutex::new(parts),
        }
    }

    /// The parts of its sessions.
    pub fn parts(&self) -> DriverParts {
        self.parts.lock().unwrap().clone()
    }

    /// Adds a tool from a file.
    pub fn tool(&self, definition: ToolDefinition) -> Arc<dyn Tool> {
        let tool = self.flows.tool(&definition).unwrap();
        self.tools
            .tools
            .lock()
            .unwrap()
            .insert(definition.name, tool.clone());
        let tools = self.tools.tools.lock().unwrap();
        let specs: Arc<[ToolSpec]> = tools.values().map(|tool| tool.spec()).collect();
        self.parts.lock().unwrap().tools = specs.into();
        tool
    }

    /// A tool that agents which scripts make can call; the session's own agent does not have it.
    pub fn made_agents_call(&self, tool: Arc<dyn Tool>) {
        let name = tool.spec().name;
        self.tools.tools.lock().unwrap().insert(name, tool);
    }

    pub async fn open(&self) -> Arc<dyn Session> {
        self.open_as(|config| config).await
    }

    /// Opens a session with an agent that differs from the usual one.
    pub async fn open_as(&self, change: impl FnOnce(AgentConfig) -> AgentConfig) -> Arc<dyn Session> {
        let tools = self.parts.lock().unwrap().tools.now();
        let config = AgentConfig {
            tools,
            approval: ApprovalMode::Auto,
            ..fixture::config()
        };
        self.open_with(OpenRequest::New(Box::new(change(config)))).await
    }

    pub async fn resume(&self) -> Arc<dyn Session> {
        self.open_with(OpenRequest::Resume(SessionId::new("ses_1"), vec![]))
            .await
    }

    async fn open_with(&self, request: OpenRequest) -> Arc<dyn Session> {
        let ids = SessionIds {
            session_id: SessionId::new("ses_1"),
            agent_state_id: fixture::agent_state_id(),
            owner: OwnerId::new("own_test"),
        };
        let parts = self.parts.lock().unwrap().clone();
        open_session(parts, ids, request).await.unwrap()
    }

    /// Sends a message, and waits until the run that it opens has ended.
    pub async fn ask(&self, session: &Arc<dyn Session>, text: &str) -> Vec<RuntimeEvent> {
        let seq = self.say(session, text).await;
        self.until_done(session, seq.saturating_sub(1)).await
    }

    pub async fn say(&self, session: &Arc<dyn Session>, text: &str) -> u64 {
        let input = UserInput::text(text);
        session.send(input).await.unwrap()
    }

    /// Waits until the run of the root agent has ended.
    pub async fn until_done(&self, session: &Arc<dyn Session>, after: u64) -> Vec<RuntimeEvent> {
        let mut heard = Vec::new();
        let mut subscription = session.subscribe(after, View::Runtime).await.unwrap();
        let root = fixture::agent_state_id();
        let all = async {
            while let Some(delivery) = subscription.next().await {
                let Delivery::Runtime(event) = delivery else {
                    continue;
                };
                heard.push(event.event.clone());
                if event.agent_state_id.as_ref() == Some(&root)
                    && matches!(event.event, RuntimeEvent::RunFinished(_))
                {
                    return;
                }
            }
            panic!("the session ended before the run");
        };
        tokio::time::timeout(LIMIT, all).await.expect("in time");
        heard
    }

    pub fn facts(&self) -> Vec<EnvironmentEvent> {
        let facts = self.log.facts(&SessionId::new("ses_1"));
        facts.iter().map(|fact| fact.event.clone()).collect()
    }

    /// Returns the result of the call with this id.
    pub fn result(&self, id: &str) -> (ToolStatus, String) {
        let facts = self.facts();
        let results: Vec<&ToolResult> = facts
            .iter()
            .filter_map(|event| match event {
                EnvironmentEvent::ToolResult(result) if result.tool_call_id.as_str() == id => Some(result),
                _ => None,
            })
            .collect();
        let [result] = results.as_slice() else {
            panic!("one result, not {results:?}")
        };
        let text = result.result.iter().filter_map(ContentPart::as_text).collect();
        (result.status, text)
    }

    /// The steps of a call, in the order of the log.
    pub fn effects(&self, id: &str) -> Vec<String> {
        let step = |event: EnvironmentEvent| match event {
            EnvironmentEvent::EffectStarted(started) if started.tool_call_id.as_str() == id => {
                Some(format!("{} {} begins", started.step, started.kind))
            }
            EnvironmentEvent::EffectEnded(ended) if ended.tool_call_id.as_str() == id => {
                Some(format!("{} {}", ended.step, ended.kind))
            }
            _ => None,
        };
        self.facts().into_iter().filter_map(step).collect()
    }

    /// Returns the whole log as text.
    pub fn written(&self) -> String {
        json!(self.facts()).to_string()
    }
}
