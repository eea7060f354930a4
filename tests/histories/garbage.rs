//! Facts without sense: any event of the vocabulary at any time, from a handful of ids, so that they collide;
//! addressed to anyone, answering anything.

use agentx_agent::fixtures;
use agentx_types::*;
use serde_json::{Value, json};

/// The choice of an event and of its contents.
pub(crate) type Dice = (u8, u8, u8, u8);

/// A fact that no world would produce.
pub(crate) fn fact(seq: u64, (what, a, b, c): Dice) -> Envelope<EnvironmentEvent> {
    let agents = [None, Some("agt_1"), Some("agt_1"), Some("agt_1"), Some("agt_2")];
    let mut draft = EventDraft::new(
        Source::Environment,
        pick(&agents, c).map(AgentStateId::from),
        event(what, a, b),
    );
    draft.run_id = pick(&[None, Some(1), Some(2), Some(seq.saturating_sub(3))], c / 5).map(RunId::of_input);
    let causes = [
        None,
        Some((seq.saturating_sub(1), 0)),
        Some((seq.saturating_sub(2), usize::from(a) % 3)),
        Some((2, 0)),
    ];
    draft.cause = pick(&causes, c / 20).map(|(seq, index)| ActionId::following(seq, index));
    let clock = [0, i64::MAX, i64::MIN, i64::try_from(seq).unwrap_or(0) * 1_000];
    draft.into_envelope("ses_1".into(), seq, Timestamp(pick(&clock, b)))
}

fn pick<T: Clone>(from: &[T], choice: u8) -> T {
    from[usize::from(choice) % from.len()].clone()
}

fn call_id(choice: u8) -> ToolCallId {
    pick(&["", "c1", "c2", "c1_3_0"], choice).into()
}

fn text(choice: u8) -> String {
    pick(&["", " ", "word", "中文\u{0}\u{202e}", "{\"a\":"], choice).into()
}

fn value(choice: u8) -> Value {
    pick(
        &[
            json!(null),
            json!({}),
            json!([1, [2]]),
            json!("x"),
            json!({"path": "../../etc", "command": "rm -rf / ; $(x"}),
            json!(1e308),
        ],
        choice,
    )
}

fn config(a: u8, b: u8) -> AgentConfig {
    let limits = Limits {
        max_iterations: pick(&[None, Some(0), Some(u32::MAX)], a),
        max_tokens: pick(&[None, Some(0), Some(u64::MAX)], b),
        max_cost: pick(&[None, Some(NanoUsd(0)), Some(NanoUsd(u64::MAX))], a),
        max_wall_ms: pick(&[None, Some(0), Some(u64::MAX)], b),
    };
    let approval = pick(&[ApprovalMode::Ask, ApprovalMode::Auto, ApprovalMode::Deny], b);
    AgentConfig {
        limits,
        agents: Vec::new(),
        routing: None,
        approval,
        ..fixtures::config()
    }
}

fn event(what: u8, a: u8, b: u8) -> EnvironmentEvent {
    match what % 4 {
        0 => from_model(what / 4, a, b),
        1 => from_people(what / 4, a, b),
        2 => from_tools(what / 4, a, b),
        _ => from_system(what / 4, a, b),
    }
}

fn from_model(what: u8, a: u8, b: u8) -> EnvironmentEvent {
    use StopReason as S;
    let reasons = [
        S::EndTurn,
        S::ToolUse,
        S::Broken,
        S::PauseTurn,
        S::ContextWindow,
        S::Interrupted,
        S::Other,
    ];
    let count = pick(&[0, 1, u64::MAX], b);
    let usage = Usage {
        input_tokens: count,
        output_tokens: count,
        cache_read_tokens: count,
        ..Usage::default()
    };
    match what % 11 {
        0 => StreamStart {
            message_id: "msg".into(),
            model: text(a),
            attempt: u32::from(b),
        }
        .into(),
        1 => TextChunk { text: text(a) }.into(),
        2 => ThinkingChunk { text: text(a) }.into(),
        3 => PartEnd {}.into(),
        4 => ToolCallStart {
            tool_call_id: call_id(a),
            name: text(b),
        }
        .into(),
        5 => ToolCallChunk {
            tool_call_id: call_id(a),
            json: text(b),
        }
        .into(),
        6 => a_call(a, b),
        7 => ProviderPart {
            api: text(a),
            attach: b.is_multiple_of(2),
            data: value(a),
        }
        .into(),
        8 => UsageReport { usage }.into(),
        9 => StreamEnd {
            stop_reason: pick(&reasons, a),
            raw: None,
        }
        .into(),
        _ => {
            let (code, message) = (text(a), text(b));
            AttemptFailed {
                attempt: 0,
                code,
                message,
                status: None,
                retry_in_ms: Some(u64::MAX),
                gives_up_in_ms: None,
                overflow: None,
                refused: None,
                longest_answer: None,
                most_media: None,
                no_thinking: false,
                refused_place: None,
            }
            .into()
        }
    }
}

fn a_call(a: u8, b: u8) -> EnvironmentEvent {
    let invalid = (b > 200).then(|| {
        Box::new(InvalidInput {
            raw: text(a),
            error: text(b),
        })
    });
    ToolCall {
        tool_call_id: call_id(a),
        name: pick(&["look", "change", "finish", ""], b).into(),
        input: value(a / 4),
        invalid,
    }
    .into()
}

fn from_people(what: u8, a: u8, b: u8) -> EnvironmentEvent {
    let mode = pick(&[InputMode::Queue, InputMode::Steer, InputMode::Interrupt], a);
    let decision = pick(
        &[
            ApprovalDecision::Once,
            ApprovalDecision::Session,
            ApprovalDecision::Deny,
        ],
        a,
    );
    match what % 4 {
        0 => {
            let content = if b.is_multiple_of(3) {
                vec![]
            } else {
                vec![ContentPart::text(text(b))]
            };
            UserMessage {
                message_id: text(a).as_str().into(),
                content,
                mode,
                idempotency_key: Some(text(b)),
                by: None,
                answer_schema: None,
            }
            .into()
        }
        1 if b.is_multiple_of(2) => InputRevised {
            message_id: text(a).as_str().into(),
            mode: (!a.is_multiple_of(3)).then_some(mode),
            by: None,
        }
        .into(),
        1 => InterruptRequested {
            reason: None,
            hold: false,
            by: None,
        }
        .into(),
        2 => Approval {
            tool_call_id: call_id(b),
            decision,
            note: None,
            rule: None,
            by: None,
            limited: false,
        }
        .into(),
        _ => SystemCommand {
            command: text(a),
            args: value(b),
            by: None,
        }
        .into(),
    }
}

fn from_tools(what: u8, a: u8, b: u8) -> EnvironmentEvent {
    let kinds = [
        ActionKind::CallModel,
        ActionKind::CallTool,
        ActionKind::Cancel,
        ActionKind::Report,
    ];
    let statuses = [ToolStatus::Success, ToolStatus::Failed, ToolStatus::Unknown];
    let result = vec![ContentPart::text(text(b))];
    match what % 6 {
        0 => ActionStarted {
            kind: pick(&kinds, a),
            tool_call_id: (b > 90).then(|| call_id(b)),
            due_at: None,
        }
        .into(),
        1 => ToolOutputChunk {
            tool_call_id: call_id(a),
            channel: OutputChannel::Stderr,
            text: text(b),
        }
        .into(),
        2 => {
            let (status, is_error) = (pick(&statuses, b), a > 100);
            ToolResult {
                tool_call_id: call_id(a),
                result,
                is_error,
                status,
                details: Some(value(b)),
            }
            .into()
        }
        3 => TimerFired {
            timer: pick(&[Timer::RunLimit, Timer::Heartbeat], a),
        }
        .into(),
        4 => Connected { endpoint: text(a) }.into(),
        _ => Disconnected {
            endpoint: text(a),
            reason: None,
            retry_in_ms: Some(u64::from(b)),
        }
        .into(),
    }
}

fn from_system(what: u8, a: u8, b: u8) -> EnvironmentEvent {
    let agent = AgentStateId::from(pick(&["agt_1", "agt_2", ""], a));
    let (low, high) = (pick(&[0, 3, u64::MAX], a), pick(&[0, 5, u64::MAX], b));
    match what % 11 {
        0 => SessionOpened {
            owner: "own_1".into(),
            config: Box::new(config(a, b)),
            program: text(a),
        }
        .into(),
        1 => WriterAttached {
            epoch: low,
            program: text(a),
            process: 0,
            ended: Vec::new(),
            serves: false,
            cut_off: Vec::new(),
        }
        .into(),
        2 => SessionForked {
            parent: "ses_1".into(),
            at_seq: high,
            hold: true,
        }
        .into(),
        3 => SessionTitled {
            title: text(a),
            by: None,
        }
        .into(),
        4 => SessionClosed { reason: text(a) }.into(),
        5 => ConfigChanged {
            change: ConfigChange::Limits(config(a, b).limits),
            by: None,
        }
        .into(),
        6 => AgentSpawned {
            agent_state_id: agent.clone(),
            parent: agent,
            config: Box::new(config(a, b)),
        }
        .into(),
        7 => AgentClosed {
            agent_state_id: agent,
            reason: text(b),
        }
        .into(),
        8 => ContextCondensed {
            from_seq: low,
            to_seq: high,
            summary: text(a),
            kept: Vec::new(),
            bill: None,
            masked: Vec::new(),
        }
        .into(),
        9 => Interrupted { reason: text(a) }.into(),
        _ => ErrorOccurred {
            code: text(a),
            message: text(b),
            recoverable: a > 9,
        }
        .into(),
    }
}
