//! The parts that the table tests of the receptors share: facts by short names, and one `check` that feeds a
//! table to a receptor. Fact number N of a table has `seq` N and happens N seconds after the epoch.
//!
//! Compiled only for tests. A new event of a receptor has to occur in [`a_long_session`], with which three
//! tests check all receptors together (one emitter for each event, the same memory from `receive` and `note`,
//! and resuming between any two facts).

use std::sync::Arc;

use agentx_types::*;
use serde_json::json;

use super::Receptor;

/// The agent that every fact of a table is addressed to.
pub(super) const AGENT: &str = "agt_1";

/// Feeds each fact of the table and compares its events.
pub(super) fn check(mut receptor: impl Receptor, table: Vec<(EnvironmentEvent, Vec<RuntimeEvent>)>) {
    for (index, (event, expected)) in table.into_iter().enumerate() {
        let mut out = Vec::new();
        let tag = event.tag().to_owned();
        receptor.receive(&envelope(index, event), &mut out);
        assert_eq!(out, expected, "row {} ({tag})", index + 1);
    }
}

/// Row `index` of a table as a fact.
pub(super) fn envelope(index: usize, event: EnvironmentEvent) -> Envelope<EnvironmentEvent> {
    let seq = index as u64 + 1;
    EventDraft {
        source: Source::Environment,
        agent_state_id: Some(AgentStateId::new(AGENT)),
        run_id: None,
        cause: None,
        event,
    }
    .into_envelope(
        SessionId::new("ses_1"),
        seq,
        Timestamp(i64::try_from(seq).unwrap() * 1_000_000),
    )
}

/// A ReAct agent `main` with one tool, `finish`, which ends the run.
pub(super) fn config() -> AgentConfig {
    let finish = ToolSpec::new("finish", "", json!({}), Access::Internal)
        .with_idempotent(true)
        .with_quit(true);
    AgentConfig {
        kind: AgentKind::React,
        name: "main".into(),
        model: ModelSpec {
            id: "m-1".into(),
            provider: "p".into(),
            api: Api::Scripted,
            context_window: 1000,
            max_output_tokens: 100,
            input: None,
            prices: Prices::default(),
            server: None,
            assumes_output: false,
            name: None,
        },
        params: ModelParams::default(),
        system_prompt: Arc::from(""),
        instructions: vec![],
        workspace: "/w".into(),
        tools: Arc::from([finish]),
        approval: ApprovalMode::Ask,
        rules: vec![],
        limits: Limits::default(),
        agents: Vec::new(),
        fallbacks: Vec::new(),
        routing: None,
        condensing: None,
        rules_version: 0,
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
        context_sources: Vec::new(),
        learning: None,
        web_text: false,
        security: None,
        built_in_agents: Vec::new(),
        built_in: None,
        history_messages: None,
        answer_schema: None,
    }
}

pub(super) fn session_opened() -> EnvironmentEvent {
    SessionOpened {
        owner: OwnerId::new("own_1"),
        config: Box::new(config()),
        program: "agentx 1".into(),
    }
    .into()
}

/// A person sends "hi".
pub(super) fn user(id: &str, mode: InputMode) -> EnvironmentEvent {
    UserMessage {
        message_id: id.into(),
        content: vec![ContentPart::text("hi")],
        mode,
        idempotency_key: None,
        by: None,
        answer_schema: None,
    }
    .into()
}

/// The model call that takes an input up.
pub(super) fn model_asked() -> EnvironmentEvent {
    ActionStarted {
        kind: ActionKind::CallModel,
        tool_call_id: None,
        due_at: None,
    }
    .into()
}

pub(super) fn stream_start(id: &str) -> EnvironmentEvent {
    StreamStart {
        message_id: id.into(),
        model: "m-1".into(),
        attempt: 1,
    }
    .into()
}

pub(super) fn text(text: &str) -> EnvironmentEvent {
    TextChunk { text: text.into() }.into()
}

pub(super) fn stream_end(stop_reason: StopReason) -> EnvironmentEvent {
    StreamEnd {
        stop_reason,
        raw: None,
    }
    .into()
}

pub(super) fn tool_call(id: &str, name: &str) -> EnvironmentEvent {
    ToolCall {
        tool_call_id: id.into(),
        name: name.into(),
        input: json!({"path": "a"}),
        invalid: None,
    }
    .into()
}

pub(super) fn tool_started(id: &str) -> EnvironmentEvent {
    ActionStarted {
        kind: ActionKind::CallTool,
        tool_call_id: Some(id.into()),
        due_at: None,
    }
    .into()
}

pub(super) fn tool_result(id: &str, text: &str) -> EnvironmentEvent {
    let result = vec![ContentPart::text(text)];
    ToolResult {
        tool_call_id: id.into(),
        result,
        is_error: false,
        status: ToolStatus::Success,
        details: None,
    }
    .into()
}

/// A call that ended otherwise than well.
pub(super) fn tool_failure(id: &str, status: ToolStatus, text: &str) -> EnvironmentEvent {
    ToolResult {
        tool_call_id: id.into(),
        result: vec![ContentPart::text(text)],
        is_error: true,
        status,
        details: None,
    }
    .into()
}

pub(super) fn interrupted(reason: &str) -> EnvironmentEvent {
    Interrupted {
        reason: reason.into(),
    }
    .into()
}

/// A program of another person than the owner.
pub(super) fn seat() -> Seat {
    Seat {
        person: "own_2".into(),
        client: "laptop".into(),
    }
}

pub(super) fn driven_by(seat: Option<Seat>, reason: WheelReason) -> EnvironmentEvent {
    WheelChanged {
        seat,
        epoch: 1,
        reason,
    }
    .into()
}

/// A session in which every event of every receptor comes up, each fact in the run that it belongs to.
pub(super) fn a_long_session() -> Vec<Envelope<EnvironmentEvent>> {
    let mut waiting = std::collections::VecDeque::new();
    let mut run = None;
    let mut facts: Vec<_> = events_of_a_long_session()
        .into_iter()
        .enumerate()
        .map(|(index, event)| envelope(index, event))
        .collect();
    for fact in &mut facts {
        if matches!(fact.event, EnvironmentEvent::UserMessage(_)) {
            waiting.push_back(RunId::of_input(fact.seq));
        }
        run = run.or_else(|| waiting.pop_front());
        fact.run_id = run.clone();
        let ends = match &fact.event {
            EnvironmentEvent::StreamEnd(end) => end.stop_reason == StopReason::EndTurn,
            event => matches!(
                event,
                EnvironmentEvent::Interrupted(_) | EnvironmentEvent::ErrorOccurred(_)
            ),
        };
        if ends {
            run = None;
        }
    }
    facts
}

fn events_of_a_long_session() -> Vec<EnvironmentEvent> {
    let attached = WriterAttached {
        epoch: 2,
        program: "agentx 1".into(),
        process: 1,
        ended: Vec::new(),
        serves: false,
        cut_off: Vec::new(),
    };
    let down = Disconnected {
        endpoint: "api".into(),
        reason: None,
        retry_in_ms: Some(10),
    };
    let mut facts = vec![
        session_opened(),
        attached.into(),
        SessionTitled {
            title: "t".into(),
            by: None,
        }
        .into(),
        driven_by(Some(seat()), WheelReason::Taken),
        AccessChanged {
            person: "own_2".into(),
            role: Some(SessionRole::Drive),
            by: None,
        }
        .into(),
        Connected {
            endpoint: "api".into(),
        }
        .into(),
        down.into(),
        TimerFired {
            timer: Timer::Heartbeat,
        }
        .into(),
    ];
    facts.extend(a_run_with_tools());
    facts.extend(commands_beside_runs());
    facts.extend(runs_that_are_stopped());
    facts.extend([
        SessionForked {
            parent: SessionId::new("ses_0"),
            at_seq: 30,
            hold: false,
        }
        .into(),
        AgentClosed {
            agent_state_id: AGENT.into(),
            reason: "done".into(),
        }
        .into(),
        SessionClosed {
            reason: "deleted".into(),
        }
        .into(),
    ]);
    facts
}

fn commands_beside_runs() -> [EnvironmentEvent; 2] {
    let ended = JobEnded {
        job: "job_1".into(),
        command: "make".into(),
        how: "exit 0, 3.20 s".into(),
    };
    let ran = CommandRan {
        command: "ls".into(),
        output: "a.txt".into(),
        how: "exit 0".into(),
        by: None,
    };
    [ended.into(), ran.into()]
}

fn a_run_with_tools() -> Vec<EnvironmentEvent> {
    let output = ToolOutputChunk {
        tool_call_id: "c1".into(),
        channel: OutputChannel::Stdout,
        text: "out".into(),
    };
    vec![
        user("msg_a", InputMode::Queue),
        model_asked(),
        stream_start("msg_1"),
        ThinkingChunk { text: "hm".into() }.into(),
        text("a"),
        text("b"),
        tool_call("c1", "read"),
        tool_call("c2", "read"),
        UsageReport {
            usage: Usage {
                output_tokens: 3,
                ..Usage::default()
            },
        }
        .into(),
        ModelFellBack {
            model: "other".into(),
            prices: None,
        }
        .into(),
        user("msg_b", InputMode::Queue),
        user("msg_x", InputMode::Queue),
        InputRevised {
            message_id: "msg_x".into(),
            mode: None,
            by: None,
        }
        .into(),
        stream_end(StopReason::ToolUse),
        tool_started("c1"),
        output.into(),
        tool_result("c1", "ok"),
        tool_failure("c2", ToolStatus::Denied, "no"),
        model_asked(),
        stream_start("msg_2"),
        stream_end(StopReason::EndTurn),
    ]
}

fn runs_that_are_stopped() -> Vec<EnvironmentEvent> {
    let error = ErrorOccurred {
        code: "gone".into(),
        message: "gone".into(),
        recoverable: true,
    };
    vec![
        model_asked(),
        stream_start("msg_3"),
        interrupted("user"),
        user("msg_c", InputMode::Queue),
        error.into(),
        user("msg_d", InputMode::Queue),
    ]
}
