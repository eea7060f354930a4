//! Whole values for tests in one line: models, configurations, messages, requests, actions and contexts of
//! calls.

use std::path::PathBuf;
use std::sync::Arc;

use agentx_agent::secret_files;
use agentx_runtime::{
    CallSlots, Journal, MemoryLog, RequestValues, SessionBlobs, ToolContext, ToolOutputSink,
};
use agentx_types::{
    Access, Action, ActionBody, ActionId, AgentConfig, AgentKind, AgentStateId, AnalyzerSpec, AnswerCall,
    Api, ApprovalMode, AssessRisk, CallModel, CallTool, Cancel, CloseAgent, Condense, ContentPart,
    DecideInnerCall, Guard, InputMode, InterruptAgent, Limits, Message, MessageId, ModelParams, ModelRequest,
    ModelSpec, NestedDecision, Prices, ProposeMemories, Report, Role, RunId, SendInput, SessionId,
    SpawnAgent, StartTimer, Timer, ToolCallId, ToolCallPart, ToolResultPart, ToolSpec, ToolStatus,
    UserMessage,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Returns the session of every fixture.
pub fn session_id() -> SessionId {
    SessionId::new("ses_test")
}

/// Returns the agent of every fixture.
pub fn agent_state_id() -> AgentStateId {
    AgentStateId::new("agt_test")
}

/// The id of every fixture's model.
pub const MODEL: &str = "test-model";

/// Returns a model of the provider `test`, with round prices (1 and 2 nano-dollars a token).
pub fn model(api: Api) -> ModelSpec {
    ModelSpec {
        id: MODEL.into(),
        provider: "test".into(),
        api,
        context_window: 100_000,
        max_output_tokens: 4_096,
        input: None,
        prices: Prices {
            input: 1,
            output: 2,
            cache_read: 0,
            cache_write: 0,
            cache_write_1h: None,
            long: None,
            free: false,
        },
        server: None,
        assumes_output: false,
        name: None,
    }
}

/// Returns a tool with one string argument, which is a path or a command line, depending on its access.
pub fn tool(name: &str, argument: &str, access: Access) -> ToolSpec {
    let schema = json!({
        "type": "object",
        "properties": { argument: { "type": "string" } },
        "required": [argument],
    });
    let description = format!("The tool {name} of a test.");
    let spec = ToolSpec::new(name, description, schema, access).with_idempotent(access == Access::Read);
    match access {
        Access::Read | Access::Change => spec.with_path_argument(argument),
        Access::Run => spec.with_command_argument(argument),
        Access::Internal | Access::Network => spec,
    }
}

/// Returns the tools `bash`, `read`, `write`, `edit`, `glob` and `grep`, as far as tests need them.
pub fn tools() -> Arc<[ToolSpec]> {
    Arc::from([
        tool("bash", "command", Access::Run),
        tool("read", "path", Access::Read),
        tool("write", "path", Access::Change),
        tool("edit", "path", Access::Change),
        tool("glob", "path", Access::Read),
        tool("grep", "path", Access::Read),
    ])
}

/// Returns the guard of the files that may hold secrets of a person at `/home/me`.
pub fn guard() -> Arc<Guard> {
    Arc::new(secret_files(&["~".to_owned(), "/home/me".to_owned()]))
}

/// Returns a configuration with [`tools`] that runs every call without asking.
pub fn config() -> AgentConfig {
    AgentConfig {
        kind: AgentKind::React,
        name: "test".into(),
        model: model(Api::Anthropic),
        fallbacks: Vec::new(),
        params: ModelParams::default(),
        system_prompt: "You are a test.".into(),
        instructions: Vec::new(),
        workspace: "/workspace".into(),
        tools: tools(),
        approval: ApprovalMode::Auto,
        rules: Vec::new(),
        limits: Limits::default(),
        agents: Vec::new(),
        routing: None,
        condensing: None,
        rules_version: agentx_types::RULES_VERSION,
        guard: None,
        server_rules: None,
        all_tools: false,
        tool_search: None,
        ask_user: None,
        wait: false,
        reminders: None,
        asks_at_limits: false,
        plan_mode: None,
        stuck: None,
        answer_schema: None,
        context_sources: Vec::new(),
        learning: None,
        web_text: false,
        security: None,
        built_in_agents: Vec::new(),
        built_in: None,
        history_messages: None,
    }
}

/// Returns a message of a person.
pub fn user(text: &str) -> Arc<Message> {
    message("msg_user", Role::User, vec![ContentPart::text(text)])
}

/// Returns an answer with a text.
pub fn assistant(text: &str) -> Arc<Message> {
    message("msg_assistant", Role::Assistant, vec![ContentPart::text(text)])
}

/// Returns an answer that asks for one tool.
pub fn tool_call(id: &str, name: &str, input: Value) -> Arc<Message> {
    let part = ToolCallPart {
        tool_call_id: ToolCallId::new(id),
        name: name.into(),
        input,
        provider: None,
    };
    message(
        "msg_assistant",
        Role::Assistant,
        vec![ContentPart::ToolCall(part)],
    )
}

/// Returns the result of a tool.
pub fn tool_result(id: &str, name: &str, text: &str) -> Arc<Message> {
    let part = ToolResultPart {
        tool_call_id: ToolCallId::new(id),
        name: name.into(),
        content: vec![ContentPart::text(text)],
        is_error: false,
    };
    message("msg_tool", Role::Tool, vec![ContentPart::ToolResult(part)])
}

fn message(id: &str, role: Role, content: Vec<ContentPart>) -> Arc<Message> {
    Arc::new(Message {
        message_id: MessageId::new(id),
        role,
        content,
        by: None,
    })
}

/// Returns a request with these messages, [`tools`] and a system prompt.
pub fn request(api: Api, messages: Vec<Arc<Message>>) -> ModelRequest {
    ModelRequest {
        model: model(api),
        params: ModelParams::default(),
        system: vec!["You are a test.".into()],
        messages,
        tools: tools(),
        plain: false,
        turns: false,
        without: Vec::new(),
        answer_schema: None,
    }
}

/// Returns an action that follows from the event 7 in the run of the event 6.
pub fn action(body: ActionBody) -> Arc<Action> {
    Arc::new(Action {
        action_id: ActionId::following(7, 0),
        agent_state_id: agent_state_id(),
        run_id: Some(RunId::of_input(6)),
        body,
    })
}

/// Returns the action to send `request`.
pub fn call(request: ModelRequest) -> Arc<Action> {
    action(ActionBody::CallModel(CallModel {
        request: Arc::new(request),
        taken: Arc::default(),
    }))
}

/// Returns an action that calls a model with one input.
pub fn call_model(text: &str) -> Arc<Action> {
    call(request(Api::Anthropic, vec![user(text)]))
}

/// Returns the action to run a tool.
pub fn call_tool(id: &str, name: &str, input: Value) -> Arc<Action> {
    action(ActionBody::CallTool(CallTool {
        tool_call_id: ToolCallId::new(id),
        name: name.into(),
        input,
        workspace: "/workspace".into(),
        outside_workspace: false,
        idempotent: false,
        recorded: Arc::default(),
        caller: Arc::default(),
    }))
}

/// Returns the context of a call with the id `call_1` that works in this directory. Its output and its steps
/// are discarded, its blobs are kept in memory, and nobody cancels it.
pub fn tool_context(workspace: impl Into<PathBuf>) -> ToolContext {
    ToolContext {
        tool_call_id: ToolCallId::new("call_1"),
        session_id: session_id(),
        workspace: workspace.into(),
        outside_workspace: false,
        output: ToolOutputSink::discard(),
        journal: Journal::discard(),
        blobs: Arc::new(SessionBlobs::new(Arc::new(MemoryLog::new()), session_id())),
        cancel: CancellationToken::new(),
        values: RequestValues::default(),
        slots: CallSlots::default(),
    }
}

/// Returns the request to assess a command line with an analyzer.
pub fn assess_risk(analyzer: &str) -> AssessRisk {
    AssessRisk {
        tool_call_id: ToolCallId::new("call_1"),
        analyzer: AnalyzerSpec::new(analyzer),
        tool: Box::new(tool("bash", "command", Access::Run)),
        input: json!({"command": "ls"}),
        workspace: "/workspace".into(),
        task: "hello".into(),
        evidence: Vec::new(),
        decided: Vec::new(),
    }
}

fn condense() -> Condense {
    Condense {
        from_seq: 1,
        to_seq: 2,
        kept: Vec::new(),
        tokens: 1_000,
        request: Arc::new(request(Api::Anthropic, vec![user("Sum it up.")])),
        brief: false,
        written: None,
        masked: Vec::new(),
    }
}

/// Returns the request to propose memories of one input.
pub fn propose_memories() -> ProposeMemories {
    ProposeMemories {
        inputs: vec![2],
        reflect: false,
        workspace: "/workspace".into(),
        request: Arc::new(request(Api::Anthropic, vec![user("What is worth remembering?")])),
    }
}

/// Returns one action of each kind.
pub fn actions() -> Vec<Arc<Action>> {
    let other = AgentStateId::new("agt_other");
    let answer = AnswerCall {
        tool_call_id: "call_1".into(),
        status: ToolStatus::Denied,
        content: Vec::new(),
    };
    let decide = DecideInnerCall {
        action_id: ActionId::following(3, 0),
        tool_call_id: "call_1/1".into(),
        decision: NestedDecision::Allowed {
            outside_workspace: false,
            answer: None,
        },
    };
    let message = UserMessage {
        message_id: "msg_6".into(),
        content: vec![ContentPart::text("hello")],
        mode: InputMode::Queue,
        idempotency_key: None,
        by: None,
        answer_schema: None,
    };
    let bodies = [
        ActionBody::Condense(condense()),
        ActionBody::AssessRisk(assess_risk("rules")),
        ActionBody::ProposeMemories(propose_memories()),
        ActionBody::AnswerCall(answer),
        ActionBody::StartTimer(StartTimer {
            after_ms: 0,
            timer: Timer::RunLimit,
            wait: None,
        }),
        ActionBody::Cancel(Cancel {
            action_id: ActionId::following(3, 0),
        }),
        ActionBody::DecideInnerCall(decide),
        ActionBody::Report(Report::Interrupted {
            reason: "a test".into(),
        }),
        ActionBody::SpawnAgent(SpawnAgent {
            agent_state_id: other.clone(),
            config: Box::new(config()),
        }),
        ActionBody::SendInput(SendInput {
            to: other.clone(),
            message,
        }),
        ActionBody::InterruptAgent(InterruptAgent {
            to: other.clone(),
            reason: None,
        }),
        ActionBody::CloseAgent(CloseAgent {
            agent_state_id: other,
            reason: "a test".into(),
        }),
    ];
    let others = bodies.into_iter().map(action);
    [call_model("hello"), call_tool("call_1", "bash", json!({}))]
        .into_iter()
        .chain(others)
        .collect()
}
