//! Samples of every RuntimeEvent.

use agentx_types::*;
use serde_json::json;

use super::parts::*;

/// Every variant with every field set, then the smallest forms.
pub(crate) fn samples() -> Vec<RuntimeEvent> {
    [
        stream(),
        tools(),
        conversation(),
        session(),
        transport(),
        runs(),
        layers(),
        small_forms(),
    ]
    .concat()
}

fn stream() -> Vec<RuntimeEvent> {
    let asked = ToolCallRequested {
        tool_call_id: "call_1".into(),
        name: "read".into(),
        input: json!({"path": "a"}),
    };
    let answered = ToolCallAnswered {
        tool_call_id: "call_1".into(),
        result: vec![ContentPart::text("hello")],
        is_error: true,
    };
    vec![
        MessageStart {
            message_id: "msg_2".into(),
            model: "claude-x-20261101".into(),
            attempt: 1,
        }
        .into(),
        FallbackAnswers {
            message_id: "msg_2".into(),
            model: "claude-y".into(),
            prices: Some(Box::default()),
        }
        .into(),
        FallbackAnswers {
            message_id: "msg_2".into(),
            model: "claude-y".into(),
            prices: None,
        }
        .into(),
        TextDelta {
            text: "你好".into()
        }
        .into(),
        ThinkingDelta { text: "hm".into() }.into(),
        asked.into(),
        answered.into(),
        MessageStop {
            message_id: "msg_2".into(),
            stop_reason: StopReason::ToolUse,
            usage: usage(),
        }
        .into(),
        RunInterrupted {
            reason: "stopped by the user".into(),
        }
        .into(),
    ]
}

fn tools() -> Vec<RuntimeEvent> {
    let output = ToolOutput {
        tool_call_id: "call_1".into(),
        channel: OutputChannel::Progress,
        text: "50 %".into(),
    };
    let completed = ToolCompleted {
        tool_call_id: "call_1".into(),
        name: "read".into(),
        duration_ms: 12,
        details: Some(json!({"lines": 3})),
    };
    let failed = ToolFailed {
        tool_call_id: "call_1".into(),
        name: "read".into(),
        status: ToolStatus::Failed,
        error: "no such file".into(),
        duration_ms: 12,
        details: Some(json!({"errno": 2})),
    };
    vec![
        ToolPlanned {
            tool_call_id: "call_1".into(),
            name: "read".into(),
        }
        .into(),
        ToolExecuting {
            tool_call_id: "call_1".into(),
            name: "read".into(),
            input: json!({"path": "a"}),
        }
        .into(),
        output.into(),
        completed.into(),
        failed.into(),
        JobFinished {
            job: "job_1".into(),
            command: "cargo watch".into(),
            how: "exit 0, 3.20 s".into(),
        }
        .into(),
        CommandFinished {
            command: "ls".into(),
            output: "a.txt".into(),
            how: "exit 0".into(),
            by: Some("own_2".into()),
        }
        .into(),
    ]
}

fn conversation() -> Vec<RuntimeEvent> {
    vec![
        ConversationQueued {
            message_id: "msg_3".into(),
            position: 2,
        }
        .into(),
        ConversationRevised {
            message_id: "msg_3".into(),
            mode: Some(InputMode::Steer),
        }
        .into(),
        ConversationRevised {
            message_id: "msg_3".into(),
            mode: None,
        }
        .into(),
        ConversationStart {
            message_id: "msg_1".into(),
        }
        .into(),
        ConversationThinking {}.into(),
        ConversationResponding {}.into(),
        ConversationEnd {
            reason: "end_turn".into(),
        }
        .into(),
        ConversationInterrupted {
            reason: "stopped by the user".into(),
            by: None,
        }
        .into(),
    ]
}

fn session() -> Vec<RuntimeEvent> {
    let changes = [
        SessionChange::Title("Lunch".into()),
        SessionChange::Config("model".into()),
        SessionChange::Condensed,
        SessionChange::Wheel(wheel_changed()),
        SessionChange::Access(access_changed()),
    ];
    for change in &changes {
        // Exhaustive: a new change does not compile until it has a line here.
        match change {
            SessionChange::Title(_)
            | SessionChange::Config(_)
            | SessionChange::Condensed
            | SessionChange::Wheel(_)
            | SessionChange::Access(_) => {}
        }
    }
    let mut events = vec![
        AgentStarted {
            name: "main".into(),
            parent: Some("agt_1".into()),
            routes: true,
        }
        .into(),
        AgentReady {}.into(),
        AgentDestroyed {
            reason: "done".into(),
        }
        .into(),
        SessionCreated {
            model: "claude-x".into(),
            workspace: "/w".into(),
        }
        .into(),
        SessionResumed {
            epoch: 2,
            ended: vec![left_running()],
        }
        .into(),
        SessionResumed {
            epoch: 3,
            ended: vec![],
        }
        .into(),
        ForkCreated {
            parent: "ses_0".into(),
            at_seq: 41,
        }
        .into(),
        SessionDeleted {
            reason: "deleted".into(),
        }
        .into(),
    ];
    events.extend(changes.map(|change| SessionUpdated { change, by: None }.into()));
    events.push(
        SessionUpdated {
            change: SessionChange::Title("Lunch".into()),
            by: Some("own_2".into()),
        }
        .into(),
    );
    events.push(
        ConversationInterrupted {
            reason: "stopped by the user".into(),
            by: Some("own_2".into()),
        }
        .into(),
    );
    events.extend(super::condensing::changes().map(|change| ContextChanged { change }.into()));
    events
}

fn transport() -> Vec<RuntimeEvent> {
    let error = ErrorRaised {
        code: "overloaded".into(),
        message: "Overloaded".into(),
        recoverable: true,
        retry_in_ms: Some(500),
        gives_up_in_ms: Some(60_000),
        status: Some(529),
    };
    vec![
        ConnectionEstablished {
            endpoint: "api".into(),
        }
        .into(),
        ConnectionLost {
            endpoint: "api".into(),
            reason: Some("reset".into()),
        }
        .into(),
        Reconnecting {
            endpoint: "api".into(),
            retry_in_ms: 250,
        }
        .into(),
        Heartbeat {}.into(),
        error.into(),
    ]
}

fn runs() -> Vec<RuntimeEvent> {
    let run_id = RunId::of_input(12);
    let finished = RunFinished {
        run_id: run_id.clone(),
        status: RunStatus::TimedOut,
        reason: Some("50 rounds".into()),
        iterations: 50,
    };
    let asked = ApprovalRequested {
        tool_call_id: "call_1".into(),
        name: "bash".into(),
        input: json!({"command": "rm a"}),
        reason: "running asks".into(),
        suggested: rule(),
        form: None,
        question: None,
    };
    let settled = ApprovalSettled {
        tool_call_id: "call_1/3".into(),
        allowed: false,
    };
    let question = ApprovalRequested {
        form: Some(Box::new(json!({"type": "object"}))),
        question: Some(Box::new(AskedQuestion {
            question: "Which colour?".into(),
            choices: vec!["red".into(), "blue".into()],
            is_plan: true,
        })),
        ..asked.clone()
    };
    vec![
        found_loop().into(),
        LoopDetected {
            tools: Vec::new(),
            kind: LoopKind::Monologue,
            response: LoopResponse::Stop,
            ..found_loop()
        }
        .into(),
        settled.into(),
        question.into(),
        RunStarted {
            run_id: run_id.clone(),
            message_id: "msg_1".into(),
        }
        .into(),
        RunStatusChanged {
            run_id: run_id.clone(),
            status: RunStatus::AwaitingLlm,
            iterations: 3,
        }
        .into(),
        finished.into(),
        asked.into(),
        Chunk {
            medium: Medium::Named("chapters".into()),
            data: Some(serde_json::json!({"type": "chapter_start"})),
            text: "你好".into(),
            tool_call_id: Some("call_1".into()),
        }
        .into(),
        Eof { run_id }.into(),
        Closed {
            reason: "done".into(),
        }
        .into(),
    ]
}

fn layers() -> Vec<RuntimeEvent> {
    let run_id = RunId::of_input(12);
    let response = TurnResponse {
        run_id: run_id.clone(),
        text: "Hello.".into(),
        duration_ms: 1_200,
        usage: usage(),
        cost: NanoUsd(4_500_000),
        model_calls: 2,
    };
    vec![
        UserMessageAdded { message: message() }.into(),
        AssistantMessageAdded {
            message: message(),
            partial: true,
        }
        .into(),
        ToolCallMessageAdded {
            message_id: "msg_2".into(),
            tool_call_ids: vec!["call_1".into(), "call_2".into()],
        }
        .into(),
        ToolResultMessageAdded { message: message() }.into(),
        TurnRequest {
            run_id,
            text: "Hello?".into(),
        }
        .into(),
        response.into(),
    ]
}

fn small_error() -> ErrorRaised {
    ErrorRaised {
        code: "gone".into(),
        message: String::new(),
        recoverable: false,
        retry_in_ms: None,
        gives_up_in_ms: None,
        status: None,
    }
}

fn small_message() -> Message {
    Message {
        message_id: "msg_1".into(),
        role: Role::User,
        content: vec![],
        by: None,
    }
}

fn small_forms() -> Vec<RuntimeEvent> {
    let run_id = RunId::of_input(12);
    let completed = ToolCompleted {
        tool_call_id: "call_1".into(),
        name: "read".into(),
        duration_ms: 0,
        details: None,
    };
    let failed = ToolFailed {
        tool_call_id: "call_1".into(),
        name: "read".into(),
        status: ToolStatus::Denied,
        error: String::new(),
        duration_ms: 0,
        details: None,
    };
    vec![
        CommandFinished {
            command: "ls".into(),
            output: String::new(),
            how: "exit 0".into(),
            by: None,
        }
        .into(),
        completed.into(),
        failed.into(),
        ConnectionLost {
            endpoint: "api".into(),
            reason: None,
        }
        .into(),
        small_error().into(),
        AgentStarted {
            name: "main".into(),
            parent: None,
            routes: false,
        }
        .into(),
        Chunk {
            medium: Medium::Text,
            data: None,
            text: "hi".into(),
            tool_call_id: None,
        }
        .into(),
        RunFinished {
            run_id,
            status: RunStatus::Completed,
            reason: None,
            iterations: 0,
        }
        .into(),
        AssistantMessageAdded {
            message: small_message(),
            partial: false,
        }
        .into(),
    ]
}
