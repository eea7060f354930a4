//! Samples of every EnvironmentEvent, and of the envelope around one.

use std::sync::Arc;

use agentx_types::*;
use serde_json::json;

use super::parts::*;

/// Every variant with every field set, then the smallest forms.
pub(crate) fn samples() -> Vec<EnvironmentEvent> {
    [
        people(),
        model_stream(),
        doing(),
        steps(),
        writers(),
        sessions(),
        agents(),
        sharing(),
        files(),
        every_change(),
        small_forms(),
        built_and_checked(),
        proposed_and_checked(),
        small_facts(),
        super::condensing::facts(),
        by_others(),
    ]
    .concat()
}

fn session_redacted() -> SessionRedacted {
    SessionRedacted {
        names: vec!["DEPLOY_TOKEN".into()],
        segments: vec![RedactedSegment {
            first_seq: 1,
            last_seq: 9,
            hash: "aa".into(),
            redacted_hash: "bb".into(),
            events: vec![3, 4],
            forks: vec![ForkPoint {
                seq: 5,
                hash: "cc".into(),
            }],
        }],
        dropped: vec!["ee".into()],
    }
}

/// Events that people cause, each by a person who does not own the session.
fn by_others() -> Vec<EnvironmentEvent> {
    let by = Some(OwnerId::new("own_2"));
    vec![
        InterruptRequested {
            reason: None,
            hold: false,
            by: by.clone(),
        }
        .into(),
        InputRevised {
            message_id: "msg_3".into(),
            mode: None,
            by: by.clone(),
        }
        .into(),
        SystemCommand {
            command: "retry".into(),
            args: json!(null),
            by: by.clone(),
        }
        .into(),
        SessionTitled {
            title: "Lunch".into(),
            by: by.clone(),
        }
        .into(),
        ConfigChanged {
            change: ConfigChange::RulesVersion(1),
            by: by.clone(),
        }
        .into(),
        AccessChanged {
            person: "own_3".into(),
            role: None,
            by: by.clone(),
        }
        .into(),
        FilesRestoring {
            to_seq: 4,
            files: vec![],
            by: by.clone(),
        }
        .into(),
        InputPinned {
            message_id: "msg_3".into(),
            pinned: false,
            by: by.clone(),
        }
        .into(),
        CondenseRequested {
            instructions: None,
            by: by.clone(),
        }
        .into(),
        ContextRestored {
            from_seq: 3,
            to_seq: 90,
            by,
        }
        .into(),
    ]
}

fn people() -> Vec<EnvironmentEvent> {
    let said = UserMessage {
        message_id: "msg_1".into(),
        content: every_content_part(),
        mode: InputMode::Steer,
        idempotency_key: Some("k1".into()),
        by: Some("own_2".into()),
        answer_schema: Some(Arc::new(AnswerSchema::new(json!({"type": "object"})))),
    };
    let approval = Approval {
        tool_call_id: "call_1".into(),
        decision: ApprovalDecision::Session,
        note: Some("carefully".into()),
        rule: Some(Box::new(rule())),
        by: Some("own_2".into()),
        limited: true,
    };
    vec![
        said.into(),
        InterruptRequested {
            reason: Some("enough".into()),
            hold: true,
            by: None,
        }
        .into(),
        InputRevised {
            message_id: "msg_3".into(),
            mode: Some(InputMode::Steer),
            by: None,
        }
        .into(),
        approval.into(),
        SystemCommand {
            command: "model".into(),
            args: json!(["claude-x"]),
            by: None,
        }
        .into(),
    ]
}

fn attempt_failed() -> AttemptFailed {
    AttemptFailed {
        attempt: 2,
        code: "rate_limited".into(),
        message: "Too many requests".into(),
        status: Some(429),
        retry_in_ms: Some(1_500),
        gives_up_in_ms: Some(60_000),
        overflow: Some(Box::new(Overflow {
            window: Some(8_192),
            asked: Some(9_001),
        })),
        refused: Some(RequestPart::Thinking),
        longest_answer: Some(4_096),
        most_media: Some(4),
        no_thinking: true,
        refused_place: Some(Box::new(MessagePlace {
            message_id: "msg_1".into(),
            part: Some(2),
        })),
    }
}

fn model_stream() -> Vec<EnvironmentEvent> {
    let call = ToolCall {
        tool_call_id: "call_1".into(),
        name: "read".into(),
        input: json!({"path": "a.txt", "lines": [1, 20]}),
        invalid: Some(Box::new(InvalidInput {
            raw: "{\"path\":".into(),
            error: "EOF".into(),
        })),
    };
    vec![
        StreamStart {
            message_id: "msg_2".into(),
            model: "claude-x-20261101".into(),
            attempt: 1,
        }
        .into(),
        TextChunk {
            text: "你好 \"quoted\"\n".into(),
        }
        .into(),
        ThinkingChunk { text: "hm".into() }.into(),
        PartEnd {}.into(),
        ToolCallStart {
            tool_call_id: "call_1".into(),
            name: "read".into(),
        }
        .into(),
        ToolCallChunk {
            tool_call_id: "call_1".into(),
            json: "{\"path\":".into(),
        }
        .into(),
        call.into(),
        ProviderPart {
            api: "anthropic".into(),
            attach: true,
            data: json!({"signature": "c2ln"}),
        }
        .into(),
        UsageReport { usage: usage() }.into(),
        FallbackAsked {
            from: "anthropic/claude".into(),
            to: "openai/gpt".into(),
            code: "overloaded".into(),
            message: "busy".into(),
        }
        .into(),
        ModelFellBack {
            model: "claude-y".into(),
            prices: Some(Box::new(Prices {
                input: 5_000,
                output: 25_000,
                ..Prices::default()
            })),
        }
        .into(),
        StreamEnd {
            stop_reason: StopReason::Other,
            raw: Some("content_filter".into()),
        }
        .into(),
        attempt_failed().into(),
    ]
}

fn inner_call(place: Option<&str>, named: bool) -> InnerCallAsked {
    InnerCallAsked {
        tool_call_id: "call_1/3".into(),
        tool: Box::new(small_tool()),
        input: Box::new(json!({"command": "git push"})),
        by: "report".into(),
        place: place.map(str::to_owned),
        named,
        form: None,
        for_operator: false,
    }
}

fn steps() -> Vec<EnvironmentEvent> {
    let ended = EffectEnded {
        tool_call_id: "call_1".into(),
        step: 2,
        kind: "emit".into(),
        input: Some(Box::new(json!({"type": "chapter_start"}))),
        outcome: Box::new(EffectOutcome::Done(json!(null))),
        bill: Some(Box::new(EffectBill {
            model: "claude-x".into(),
            usage: usage(),
            cost: NanoUsd(7),
        })),
        details: None,
    };
    vec![
        EffectStarted {
            tool_call_id: "call_1".into(),
            step: 1,
            kind: "http".into(),
            input: json!({"url": "https://example.com"}),
        }
        .into(),
        ended.into(),
        inner_call(Some("tools/report.luau:12"), true).into(),
        inner_call(None, false).into(),
        InnerCallAsked {
            form: Some(Box::new(
                json!({"type": "object", "properties": {"name": {"type": "string"}}}),
            )),
            ..inner_call(None, false)
        }
        .into(),
        InnerCallAsked {
            form: Some(Box::new(json!({"type": "object"}))),
            for_operator: true,
            ..inner_call(None, false)
        }
        .into(),
        EffectEnded {
            tool_call_id: "call_1".into(),
            step: 1,
            kind: "http".into(),
            input: None,
            outcome: Box::new(EffectOutcome::Failed(EffectFailure {
                code: "timed_out".into(),
                message: "no answer in 30 s".into(),
            })),
            bill: None,
            details: None,
        }
        .into(),
        EffectEnded {
            tool_call_id: "call_1".into(),
            step: 3,
            kind: "invoke".into(),
            input: None,
            outcome: Box::new(EffectOutcome::Done(json!("Created a.txt"))),
            bill: None,
            details: Some(Box::new(json!({
                "tool": "write", "path": "/w/a.txt", "created": true, "post_image": "b3_1", "mode": 420,
            }))),
        }
        .into(),
    ]
}

fn doing() -> Vec<EnvironmentEvent> {
    let result = ToolResult {
        tool_call_id: "call_1".into(),
        result: vec![ContentPart::text("hello")],
        is_error: true,
        status: ToolStatus::TimedOut,
        details: Some(json!({"exit_code": 1})),
    };
    let output = ToolOutputChunk {
        tool_call_id: "call_1".into(),
        channel: OutputChannel::Stderr,
        text: "…\n".into(),
    };
    let down = Disconnected {
        endpoint: "api".into(),
        reason: Some("reset".into()),
        retry_in_ms: Some(250),
    };
    vec![
        ActionStarted {
            kind: ActionKind::CallTool,
            tool_call_id: Some("call_1".into()),
            due_at: Some(Timestamp(1_763_629_200_123_456)),
        }
        .into(),
        output.into(),
        result.into(),
        JobEnded {
            job: "job_1".into(),
            command: "cargo watch".into(),
            how: "exit 0, 3.20 s".into(),
        }
        .into(),
        RequestRecorded {
            idempotency_key: "key_1".into(),
            seq: 41,
            request: Some("5d41402abc4b2a76".into()),
        }
        .into(),
        CommandRan {
            command: "ls".into(),
            output: "a.txt".into(),
            how: "exit 0".into(),
            by: Some("own_2".into()),
        }
        .into(),
        Connected {
            endpoint: "api".into(),
        }
        .into(),
        down.into(),
        TimerFired {
            timer: Timer::RunLimit,
        }
        .into(),
    ]
}

/// Events about the processes that open and write a session.
fn writers() -> Vec<EnvironmentEvent> {
    vec![
        SessionOpened {
            owner: "own_1".into(),
            config: Box::new(config()),
            program: "agentx 0.1.0".into(),
        }
        .into(),
        WriterAttached {
            epoch: 2,
            program: "agentx 0.1.0".into(),
            process: 4711,
            ended: vec![left_running()],
            serves: true,
            cut_off: Vec::new(),
        }
        .into(),
        WriterAttached {
            epoch: 3,
            program: "agentx 0.1.0".into(),
            process: 4712,
            ended: vec![],
            serves: false,
            cut_off: Vec::new(),
        }
        .into(),
        WriterAttached {
            epoch: 4,
            program: "agentx 0.1.0".into(),
            process: 4713,
            ended: vec![],
            serves: false,
            cut_off: vec![cut_off_output()],
        }
        .into(),
    ]
}

/// Events about a session as a whole.
fn sessions() -> Vec<EnvironmentEvent> {
    vec![
        SessionForked {
            parent: "ses_0".into(),
            at_seq: 41,
            hold: true,
        }
        .into(),
        SessionForked {
            parent: "ses_0".into(),
            at_seq: 41,
            hold: false,
        }
        .into(),
        SessionImported {
            workspace: Some("/work".into()),
        }
        .into(),
        SessionImported { workspace: None }.into(),
        SessionTitled {
            title: "Lunch".into(),
            by: None,
        }
        .into(),
        session_redacted().into(),
        SessionClosed {
            reason: "deleted".into(),
        }
        .into(),
    ]
}

/// Events about agents and their conversations.
fn agents() -> Vec<EnvironmentEvent> {
    let (agent, child) = (AgentStateId::new("agt_1"), AgentStateId::new("agt_2"));
    vec![
        AgentSpawned {
            agent_state_id: child.clone(),
            parent: agent,
            config: Box::new(small_config()),
        }
        .into(),
        AgentClosed {
            agent_state_id: child,
            reason: "done".into(),
        }
        .into(),
        ContextCondensed {
            from_seq: 3,
            to_seq: 90,
            summary: "They said hello.".into(),
            kept: Vec::new(),
            bill: None,
            masked: Vec::new(),
        }
        .into(),
        Interrupted {
            reason: "stopped by the user".into(),
        }
        .into(),
        ErrorOccurred {
            code: "iteration_limit".into(),
            message: "50 rounds".into(),
            recoverable: true,
        }
        .into(),
    ]
}

/// Events of sharing: drivers and roles.
fn sharing() -> Vec<EnvironmentEvent> {
    vec![
        wheel_changed().into(),
        access_changed().into(),
        WheelChanged {
            seat: None,
            epoch: 4,
            reason: WheelReason::TimedOut,
        }
        .into(),
        AccessChanged {
            person: "own_2".into(),
            role: None,
            by: None,
        }
        .into(),
    ]
}

/// Files that are restored.
fn files() -> Vec<EnvironmentEvent> {
    let image = |blob: &str, mode| FileImage {
        blob: blob.into(),
        mode,
    };
    let file = |path: &str, was, becomes| FileReplaced {
        path: path.into(),
        was,
        becomes,
    };
    vec![
        FilesRestoring {
            to_seq: 7,
            files: vec![
                file(
                    "/w/a",
                    Some(image("b3_0a", Some(0o644))),
                    Some(image("b3_0b", Some(0o755))),
                ),
                file("/w/b", Some(image("b3_0c", None)), None),
                file("/w/c", None, Some(image("b3_0d", None))),
            ],
            by: None,
        }
        .into(),
        FilesRestored {
            restoring: 31,
            failed: vec![FileFailed {
                path: "/w/b".into(),
                what: "permission denied".into(),
            }],
        }
        .into(),
        FilesRestored {
            restoring: 31,
            failed: vec![],
        }
        .into(),
    ]
}

fn every_change() -> Vec<EnvironmentEvent> {
    let changes = [
        ConfigChange::Model(Box::new(model())),
        ConfigChange::Model(Box::new(ModelSpec {
            server: Some("http://127.0.0.1:8080".into()),
            ..model()
        })),
        ConfigChange::Params(params()),
        ConfigChange::Limits(limits()),
        ConfigChange::Approval(ApprovalMode::Auto),
        ConfigChange::RuleAdded(rule()),
        ConfigChange::RulesVersion(1),
        ConfigChange::Guard(Some(guard().into())),
        ConfigChange::Guard(Some(
            Guard {
                secrets: vec![],
                ..Guard::default()
            }
            .into(),
        )),
        ConfigChange::Guard(None),
        ConfigChange::ServerRules(Some(server_rules().into())),
        ConfigChange::ServerRules(Some(ServerRules::default().into())),
        ConfigChange::ServerRules(None),
        ConfigChange::PlanMode(true),
        ConfigChange::Rules(vec![rule(), small_rule()]),
        ConfigChange::Tools([tool()].into()),
        ConfigChange::Instructions(instructions()),
        ConfigChange::Condensing(Some(Box::new(condensing()))),
        ConfigChange::Fallbacks(vec![model()]),
    ];
    for change in &changes {
        // Exhaustive: a new change does not compile until it has a line here.
        match change {
            ConfigChange::Model(_)
            | ConfigChange::Params(_)
            | ConfigChange::Limits(_)
            | ConfigChange::Approval(_)
            | ConfigChange::RuleAdded(_)
            | ConfigChange::Rules(_)
            | ConfigChange::RulesVersion(_)
            | ConfigChange::Guard(_)
            | ConfigChange::ServerRules(_)
            | ConfigChange::PlanMode(_)
            | ConfigChange::Tools(_)
            | ConfigChange::Instructions(_)
            | ConfigChange::Condensing(_)
            | ConfigChange::Fallbacks(_) => {}
        }
    }
    changes
        .map(|change| ConfigChanged { change, by: None }.into())
        .into()
}

fn small_forms() -> Vec<EnvironmentEvent> {
    let said = UserMessage {
        message_id: "msg_1".into(),
        content: every_small_content_part(),
        mode: InputMode::Queue,
        idempotency_key: None,
        by: None,
        answer_schema: None,
    };
    let approval = Approval {
        tool_call_id: "call_1".into(),
        decision: ApprovalDecision::Deny,
        note: None,
        rule: None,
        by: None,
        limited: false,
    };
    let call = ToolCall {
        tool_call_id: "call_1".into(),
        name: "read".into(),
        input: json!({}),
        invalid: None,
    };
    let failed = AttemptFailed {
        attempt: 1,
        code: "refused".into(),
        message: "no answer".into(),
        status: None,
        retry_in_ms: None,
        gives_up_in_ms: None,
        overflow: None,
        refused: None,
        longest_answer: None,
        most_media: None,
        no_thinking: false,
        refused_place: None,
    };
    vec![
        said.into(),
        CommandRan {
            command: "ls".into(),
            output: String::new(),
            how: "exit 0".into(),
            by: None,
        }
        .into(),
        InterruptRequested {
            reason: None,
            hold: false,
            by: None,
        }
        .into(),
        InputRevised {
            message_id: "msg_3".into(),
            mode: None,
            by: None,
        }
        .into(),
        approval.into(),
        call.into(),
        failed.into(),
    ]
}

fn built_and_checked() -> Vec<EnvironmentEvent> {
    vec![
        RequestRecorded {
            idempotency_key: "key_1".into(),
            seq: 41,
            request: None,
        }
        .into(),
        ContextBuilt {
            text: "- The person likes tea.".into(),
            items: vec![super::condensing::context_item()],
            ..ContextBuilt::nothing("memory")
        }
        .into(),
        ContextBuilt {
            problem: Some("the store is locked".into()),
            ..ContextBuilt::nothing("memory")
        }
        .into(),
        ContextBuilt {
            instructions: Some("You are Ada.".into()),
            wrapping: Some(Box::new(InputWrapping {
                before: "<Context>".into(),
                after: "</Context>".into(),
            })),
            ..ContextBuilt::nothing("moment")
        }
        .into(),
        RiskAssessed {
            tool_call_id: "call_1".into(),
            analyzer: "model".into(),
            risk: SecurityRisk::High,
            reason: "it sends a key to a host that nobody named".into(),
            decision: Some(JudgeDecision::Refuse),
            bill: Some(Box::new(EffectBill {
                model: "anthropic/claude-x".into(),
                usage: usage(),
                cost: NanoUsd(3_300_000),
            })),
        }
        .into(),
        RiskAssessed {
            tool_call_id: "call_1".into(),
            analyzer: "rules".into(),
            risk: SecurityRisk::Unknown,
            reason: "the analyzer rules gave no verdict".into(),
            decision: None,
            bill: None,
        }
        .into(),
    ]
}

fn proposed_and_checked() -> Vec<EnvironmentEvent> {
    vec![
        MemoriesProposed {
            items: vec![super::condensing::context_item()],
            problem: None,
            bill: Some(Box::new(EffectBill {
                model: "anthropic/claude-x".into(),
                usage: usage(),
                cost: NanoUsd(3_300_000),
            })),
        }
        .into(),
        MemoriesProposed::failed("the answer is no list of proposals").into(),
        AnswerChecked {
            attempt: 2,
            problems: vec!["at /n: \"x\" is not of type \"integer\"".into()],
            invalid_schema: false,
        }
        .into(),
        AnswerChecked {
            attempt: 3,
            problems: Vec::new(),
            invalid_schema: false,
        }
        .into(),
        AnswerChecked {
            attempt: 1,
            problems: vec!["\"nonsense\" is not a type".into()],
            invalid_schema: true,
        }
        .into(),
    ]
}

fn small_facts() -> Vec<EnvironmentEvent> {
    let result = ToolResult {
        tool_call_id: "call_1".into(),
        result: vec![],
        is_error: false,
        status: ToolStatus::Success,
        details: None,
    };
    let usage = Usage {
        input_tokens: 1,
        output_tokens: 2,
        ..Usage::default()
    };
    vec![
        UsageReport { usage }.into(),
        ModelFellBack {
            model: "claude-y".into(),
            prices: None,
        }
        .into(),
        StreamEnd {
            stop_reason: StopReason::EndTurn,
            raw: None,
        }
        .into(),
        ActionStarted {
            kind: ActionKind::CallModel,
            tool_call_id: None,
            due_at: None,
        }
        .into(),
        result.into(),
        Disconnected {
            endpoint: "api".into(),
            reason: None,
            retry_in_ms: None,
        }
        .into(),
        ConfigChanged {
            change: ConfigChange::Params(ModelParams::default()),
            by: None,
        }
        .into(),
        ConfigChanged {
            change: ConfigChange::Limits(Limits::default()),
            by: None,
        }
        .into(),
        ConfigChanged {
            change: ConfigChange::Tools([small_tool()].into()),
            by: None,
        }
        .into(),
    ]
}

/// An envelope with every field set, and the smallest one.
pub(crate) fn envelopes() -> Vec<Envelope<EnvironmentEvent>> {
    let event = EnvironmentEvent::from(TextChunk {
        text: "你好".into()
    });
    let full = Envelope {
        seq: 17,
        index: Some(2),
        at: Timestamp(1_763_629_200_123_456),
        source: Source::Environment,
        session_id: "ses_1".into(),
        agent_state_id: Some("agt_1".into()),
        run_id: Some(RunId::of_input(12)),
        cause: Some(ActionId::following(12, 0)),
        event: event.clone(),
        newer: None,
    };
    let small = EventDraft::new(Source::User, None, event).into_envelope("ses_1".into(), 1, Timestamp(0));
    vec![full, small]
}
