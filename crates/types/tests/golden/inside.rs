//! Samples of the types that stay inside a process: every AgentOutput and every Action. The name functions
//! are exhaustive: a new variant does not compile until it is named, and a name without a line fails.

use std::sync::Arc;

use agentx_types::*;
use serde_json::json;

use super::parts::*;

macro_rules! names {
    ($function:ident($enum:ident), $list:ident: $($variant:ident = $name:literal,)*) => {
        fn $function(value: &$enum) -> &'static str {
            match value { $($enum::$variant { .. } => $name,)* }
        }
        const $list: &[&str] = &[$($name,)*];
    };
}

names! { stream_name(StreamOutput), STREAM:
    MessageStart = "stream/message_start",
    TextDelta = "stream/text_delta",
    ThinkingDelta = "stream/thinking_delta",
    ToolUseStart = "stream/tool_use_start",
    InputJsonDelta = "stream/input_json_delta",
    ToolUseStop = "stream/tool_use_stop",
    ToolResult = "stream/tool_result",
    Emitted = "stream/emitted",
    MessageStop = "stream/message_stop",
}

names! { state_name(StateOutput), STATE:
    RunStarted = "state/run_started",
    RunStatus = "state/run_status",
    RunFinished = "state/run_finished",
    InputQueued = "state/input_queued",
    ApprovalRequested = "state/approval_requested",
    LoopDetected = "state/loop_detected",
    ApprovalSettled = "state/approval_settled",
    ToolStarted = "state/tool_started",
    ToolEnded = "state/tool_ended",
    Spent = "state/spent",
    Context = "state/context",
    Closed = "state/closed",
}

names! { message_name(MessageOutput), MESSAGE:
    User = "message/user",
    Assistant = "message/assistant",
    ToolResult = "message/tool_result",
}

names! { turn_name(TurnOutput), TURN:
    Request = "turn/request",
    Response = "turn/response",
}

names! { body_name(ActionBody), BODY:
    CallModel = "call_model",
    Condense = "condense",
    BuildContext = "build_context",
    AssessRisk = "assess_risk",
    ProposeMemories = "propose_memories",
    CallTool = "call_tool",
    AnswerCall = "answer_call",
    CheckAnswer = "check_answer",
    StartTimer = "start_timer",
    Cancel = "cancel",
    DecideInnerCall = "decide_inner_call",
    Report = "report",
    SpawnAgent = "spawn_agent",
    SendInput = "send_input",
    InterruptAgent = "interrupt_agent",
    CloseAgent = "close_agent",
}

/// The name of an output: its layer and its type.
pub(crate) fn output_name(output: &AgentOutput) -> &'static str {
    match output {
        AgentOutput::Stream(output) => stream_name(output),
        AgentOutput::State(output) => state_name(output),
        AgentOutput::Message(output) => message_name(output),
        AgentOutput::Turn(output) => turn_name(output),
    }
}

/// The names of all outputs.
pub(crate) fn output_names() -> Vec<&'static str> {
    [STREAM, STATE, MESSAGE, TURN].concat()
}

/// The name of an action.
pub(crate) fn action_name(body: &ActionBody) -> &'static str {
    body_name(body)
}

/// The names of all actions.
pub(crate) const ACTION_NAMES: &[&str] = BODY;

/// Every output with every field set, then the smallest forms.
pub(crate) fn outputs() -> Vec<AgentOutput> {
    let stream = stream().into_iter().map(AgentOutput::Stream);
    let state = state().into_iter().map(AgentOutput::State);
    let message = messages().into_iter().map(AgentOutput::Message);
    let turn = turns().into_iter().map(AgentOutput::Turn);
    stream.chain(state).chain(message).chain(turn).collect()
}

fn stream() -> Vec<StreamOutput> {
    let call = || ToolCallId::new("call_1");
    vec![
        StreamOutput::MessageStart {
            message_id: "msg_2".into(),
        },
        StreamOutput::TextDelta {
            text: "你好".into()
        },
        StreamOutput::ThinkingDelta { text: "hm".into() },
        StreamOutput::ToolUseStart {
            tool_call_id: call(),
            name: "read".into(),
        },
        StreamOutput::InputJsonDelta {
            tool_call_id: call(),
            json: "{\"path\":".into(),
        },
        StreamOutput::ToolUseStop {
            tool_call_id: call(),
            input: json!({"path": "a"}),
        },
        StreamOutput::ToolResult {
            tool_call_id: call(),
            is_error: true,
        },
        StreamOutput::Emitted {
            tool_call_id: call(),
            medium: Medium::Audio,
            text: "la".into(),
            data: Some(json!({"note": "a"})),
        },
        StreamOutput::MessageStop {
            stop_reason: StopReason::ToolUse,
        },
    ]
}

fn state() -> Vec<StateOutput> {
    let run_id = || RunId::of_input(12);
    let asked = StateOutput::ApprovalRequested {
        tool_call_id: "call_1".into(),
        name: "bash".into(),
        input: json!({"command": "rm a"}),
        reason: "running asks".into(),
        suggested: rule(),
        form: None,
        question: Some(Box::new(AskedQuestion {
            question: "Which colour?".into(),
            choices: vec!["red".into(), "blue".into()],
            is_plan: false,
        })),
    };
    let finished = |reason| StateOutput::RunFinished {
        run_id: run_id(),
        status: RunStatus::Failed,
        reason,
        iterations: 1,
    };
    vec![
        StateOutput::RunStarted {
            run_id: run_id(),
            message_id: "msg_1".into(),
        },
        StateOutput::RunStatus {
            run_id: run_id(),
            status: RunStatus::AwaitingTool,
            iterations: 1,
        },
        finished(Some("gone".into())),
        StateOutput::InputQueued {
            message_id: "msg_3".into(),
            position: 2,
        },
        asked,
        StateOutput::LoopDetected(found_loop()),
        StateOutput::ApprovalSettled {
            tool_call_id: "call_1/3".into(),
            allowed: true,
        },
        StateOutput::ToolStarted {
            tool_call_id: "call_1".into(),
        },
        StateOutput::ToolEnded {
            tool_call_id: "call_1".into(),
            status: ToolStatus::Success,
        },
        StateOutput::Spent {
            model: "claude-x".into(),
            usage: usage(),
            cost: NanoUsd(4_500_000),
        },
        StateOutput::Context {
            change: super::condensing::changes()[0].clone(),
        },
        StateOutput::Closed {
            reason: "done".into(),
        },
        finished(None),
    ]
}

fn messages() -> Vec<MessageOutput> {
    let message = Arc::new(message());
    vec![
        MessageOutput::User {
            message: message.clone(),
        },
        MessageOutput::Assistant {
            message: message.clone(),
            partial: true,
        },
        MessageOutput::ToolResult { message },
    ]
}

fn turns() -> Vec<TurnOutput> {
    let run_id = RunId::of_input(12);
    let response = TurnOutput::Response {
        run_id: run_id.clone(),
        text: "Hello.".into(),
        duration_ms: 1_200,
        usage: usage(),
        cost: NanoUsd(4_500_000),
        model_calls: 2,
    };
    vec![
        TurnOutput::Request {
            run_id,
            text: "Hello?".into(),
        },
        response,
    ]
}

/// Every report.
fn reports() -> [Report; 3] {
    let reports = [
        Report::Interrupted {
            reason: "stopped by the user".into(),
        },
        Report::Fallback(FallbackAsked {
            from: "anthropic/claude".into(),
            to: "openai/gpt".into(),
            code: "overloaded".into(),
            message: "busy".into(),
        }),
        Report::Error {
            code: "cost_limit".into(),
            message: "2 dollars".into(),
        },
    ];
    for report in &reports {
        // Exhaustive: a new report does not compile until it has a line here.
        match report {
            Report::Interrupted { .. } | Report::Error { .. } | Report::Fallback(_) => {}
        }
    }
    reports
}

/// Decisions about calls of tools by tools.
fn decisions() -> [ActionBody; 2] {
    [
        NestedDecision::Allowed {
            outside_workspace: true,
            answer: None,
        },
        NestedDecision::Refused {
            reason: "bash is refused: the person said no.".into(),
        },
    ]
    .map(|decision| {
        ActionBody::DecideInnerCall(DecideInnerCall {
            action_id: ActionId::following(12, 0),
            tool_call_id: "call_1/3".into(),
            decision,
        })
    })
}

/// Every body of an action.
pub(crate) fn bodies() -> Vec<ActionBody> {
    let call = CallTool {
        tool_call_id: "call_1".into(),
        name: "read".into(),
        input: json!({"path": "a"}),
        workspace: "/w".into(),
        outside_workspace: true,
        idempotent: true,
        recorded: Arc::new(recorded()),
        caller: Arc::default(),
    };
    let answer = AnswerCall {
        tool_call_id: "call_1".into(),
        status: ToolStatus::Denied,
        content: vec![ContentPart::text("not allowed")],
    };
    let mut bodies = vec![
        ActionBody::CallModel(CallModel {
            request: Arc::new(request()),
            taken: Arc::new(UsedIds {
                calls: ["call_0".into()].into(),
                messages: ["msg_0".into()].into(),
            }),
        }),
        ActionBody::CallTool(call),
        ActionBody::AnswerCall(answer),
        ActionBody::StartTimer(StartTimer {
            after_ms: 60_000,
            timer: Timer::RunLimit,
            wait: Some(CallWait {
                tool_call_id: "call_1".into(),
                due_at: Timestamp(1_763_629_200_123_456),
            }),
        }),
        ActionBody::Cancel(Cancel {
            action_id: ActionId::following(12, 0),
        }),
    ];
    bodies.extend(decisions());
    bodies.extend(reports().map(ActionBody::Report));
    bodies.push(ActionBody::CheckAnswer(CheckAnswer {
        text: "{}".into(),
        answer_schema: Arc::new(AnswerSchema::new(json!({"type": "object"}))),
        attempt: 1,
    }));
    bodies.push(ActionBody::Condense(super::condensing::condense()));
    bodies.push(ActionBody::BuildContext(BuildContext {
        source: ContextSource {
            name: "memory".into(),
            max_tokens: 500,
        },
        text: "go".into(),
        by: None,
        workspace: "/work".into(),
        known: vec!["11".into()],
        agent: AskingAgent::default(),
    }));
    bodies.push(ActionBody::AssessRisk(assess_risk()));
    bodies.push(ActionBody::ProposeMemories(ProposeMemories {
        inputs: vec![3, 17],
        reflect: true,
        workspace: "/work".into(),
        request: Arc::new(request()),
    }));
    bodies.extend(of_agents());
    bodies
}

fn assess_risk() -> AssessRisk {
    AssessRisk {
        tool_call_id: "call_1".into(),
        analyzer: AnalyzerSpec::new("rules"),
        tool: Box::new(ToolSpec::new(
            "look",
            "Looks.",
            json!({"type": "object"}),
            Access::Read,
        )),
        input: json!({"path": "a.txt"}),
        workspace: "/work".into(),
        task: "look at a.txt".into(),
        evidence: vec!["it quotes a page".into()],
        decided: vec![DecidedCall {
            call: "look {}".into(),
            verdict: "rules: LOW: it only reads".into(),
            allowed: true,
        }],
    }
}

/// Actions of agents that concern other agents.
fn of_agents() -> [ActionBody; 4] {
    let message = UserMessage {
        message_id: "msg_1".into(),
        content: vec![ContentPart::text("look")],
        mode: InputMode::Queue,
        idempotency_key: None,
        by: None,
        answer_schema: None,
    };
    [
        ActionBody::SpawnAgent(SpawnAgent {
            agent_state_id: "agt_2".into(),
            config: Box::new(small_config()),
        }),
        ActionBody::SendInput(SendInput {
            to: "agt_2".into(),
            message,
        }),
        ActionBody::InterruptAgent(InterruptAgent {
            to: "agt_2".into(),
            reason: Some("enough".into()),
        }),
        ActionBody::CloseAgent(CloseAgent {
            agent_state_id: "agt_2".into(),
            reason: "its work is done".into(),
        }),
    ]
}

/// A call that was cut off in its second step.
fn recorded() -> RecordedEffects {
    let effect = |kind: &str, outcome| RecordedEffect {
        kind: kind.into(),
        input: json!({"ms": 1}),
        outcome,
    };
    let done = effect("sleep", Some(EffectOutcome::Done(json!(null))));
    RecordedEffects {
        inner: Default::default(),
        spent_ms: 0,
        steps: [(1, done), (2, effect("now", None))].into(),
    }
}

/// An action with every field set, and the smallest one.
pub(crate) fn whole_actions() -> Vec<Action> {
    let timer = ActionBody::StartTimer(StartTimer {
        after_ms: 1,
        timer: Timer::Heartbeat,
        wait: None,
    });
    let action = |run_id, body| Action {
        action_id: ActionId::following(12, 1),
        agent_state_id: "agt_1".into(),
        run_id,
        body,
    };
    let mut actions: Vec<Action> = bodies()
        .into_iter()
        .map(|body| action(Some(RunId::of_input(12)), body))
        .collect();
    actions.push(action(None, timer));
    actions
}
