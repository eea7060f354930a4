//! Events of agents, from tables of RuntimeEvents: each row is one event and its results.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use agentx_types::{
    AgentDestroyed, AgentReady, AgentStarted, AssistantMessageAdded, Chunk, Closed, ContentPart, Envelope,
    Eof, EventDraft, Medium, Message, MessageStart, OutputChannel, Role, RunFinished, RunId, RunInterrupted,
    RunStarted, RunStatus, RunStatusChanged, RuntimeEvent, SessionId, Source, TextDelta, ThinkingDelta,
    Timestamp, ToolCallAnswered, ToolCallRequested, ToolCompleted, ToolExecuting, ToolFailed, ToolOutput,
    ToolStatus,
};
use serde_json::json;

use super::*;

/// One row per output: the agent, the event, and its text, shortened.
type Row = (&'static str, RuntimeEvent, Option<&'static str>);

fn check(rows: Vec<Row>) {
    let mut fold = StreamFold::default();
    for (index, (agent, event, expected)) in rows.into_iter().enumerate() {
        let what = format!("row {}: {event:?}", index + 1);
        let said = fold.apply(&envelope(index, agent, event));
        assert_eq!(said.as_ref().map(short).as_deref(), expected, "{what}");
        if let Some(said) = said {
            assert_eq!(said.place(), (index as u64 + 1, 0).into(), "{what}");
            let read: StreamEvent = serde_json::from_value(serde_json::to_value(&said).unwrap()).unwrap();
            assert_eq!(read, said, "{what}");
        }
    }
}

fn envelope(index: usize, agent: &str, event: RuntimeEvent) -> Envelope<RuntimeEvent> {
    let draft = EventDraft {
        source: Source::Agent,
        agent_state_id: Some(agent.into()),
        run_id: None,
        cause: None,
        event,
    };
    let mut envelope = draft.into_envelope(SessionId::new("ses_1"), index as u64 + 1, Timestamp(1));
    envelope.index = Some(0);
    envelope
}

/// `agent/phase kind what`.
fn short(said: &StreamEvent) -> String {
    let texts = |parts: &[ContentPart]| parts.iter().filter_map(ContentPart::as_text).collect::<String>();
    let what = match &said.body {
        StreamBody::Chunk(chunk) => format!("{}:{}", chunk.medium.as_str(), chunk.text),
        StreamBody::Eof => said.run_id.as_ref().unwrap().to_string(),
        StreamBody::Closed { reason } | StreamBody::Interrupted { reason } => reason.clone(),
        StreamBody::ToolStart {
            tool_call_id,
            name,
            input,
        } => format!("{tool_call_id} {name} {input}"),
        StreamBody::ToolDone(end) => format!("{} {} = {}", end.tool_call_id, end.name, texts(&end.result)),
        StreamBody::ToolError { error, end, .. } => {
            format!("{} {error} = {}", end.tool_call_id, texts(&end.result))
        }
    };
    format!(
        "{}/{} {} {what}",
        said.agent_def,
        said.phase.as_str(),
        said.kind()
    )
}

fn started(name: &str, parent: Option<&str>, routes: bool) -> RuntimeEvent {
    AgentStarted {
        name: name.into(),
        parent: parent.map(Into::into),
        routes,
    }
    .into()
}

fn begins() -> RuntimeEvent {
    RunStarted {
        run_id: RunId::new("run_1"),
        message_id: "msg_1".into(),
    }
    .into()
}

fn status(status: RunStatus) -> RuntimeEvent {
    RunStatusChanged {
        run_id: RunId::new("run_1"),
        status,
        iterations: 0,
    }
    .into()
}

fn ends() -> RuntimeEvent {
    RunFinished {
        run_id: RunId::new("run_1"),
        status: RunStatus::Completed,
        reason: None,
        iterations: 0,
    }
    .into()
}

fn eof() -> RuntimeEvent {
    Eof {
        run_id: RunId::new("run_1"),
    }
    .into()
}

fn message(id: &str) -> RuntimeEvent {
    MessageStart {
        message_id: id.into(),
        model: "m".into(),
        attempt: 1,
    }
    .into()
}

fn text(text: &str) -> RuntimeEvent {
    TextDelta { text: text.into() }.into()
}

fn whole(medium: Medium, text: &str, call: Option<&str>) -> RuntimeEvent {
    Chunk {
        medium,
        text: text.into(),
        data: None,
        tool_call_id: call.map(Into::into),
    }
    .into()
}

fn answer() -> RuntimeEvent {
    let message = Message {
        message_id: "msg_2".into(),
        role: Role::Assistant,
        content: vec![],
        by: None,
    };
    let partial = false;
    AssistantMessageAdded { message, partial }.into()
}

fn asked(id: &str, name: &str, input: serde_json::Value) -> RuntimeEvent {
    ToolCallRequested {
        tool_call_id: id.into(),
        name: name.into(),
        input,
    }
    .into()
}

fn runs(id: &str) -> RuntimeEvent {
    ToolExecuting {
        tool_call_id: id.into(),
        name: "read".into(),
        input: json!({"path": "a"}),
    }
    .into()
}

fn answered(id: &str, text: &str) -> RuntimeEvent {
    ToolCallAnswered {
        tool_call_id: id.into(),
        result: vec![ContentPart::text(text)],
        is_error: false,
    }
    .into()
}

fn done(id: &str, name: &str) -> RuntimeEvent {
    ToolCompleted {
        tool_call_id: id.into(),
        name: name.into(),
        duration_ms: 5,
        details: None,
    }
    .into()
}

fn failed(id: &str, status: ToolStatus, error: &str) -> RuntimeEvent {
    ToolFailed {
        tool_call_id: id.into(),
        name: "read".into(),
        status,
        error: error.into(),
        duration_ms: 5,
        details: None,
    }
    .into()
}

#[test]
fn an_answer_comes_piece_by_piece_and_once() {
    let thought = ThinkingDelta { text: "hm".into() };
    check(vec![
        ("a", started("main", None, false), None),
        ("a", AgentReady {}.into(), None),
        ("a", begins(), None),
        ("a", status(RunStatus::AwaitingLlm), None),
        ("a", message("msg_2"), None),
        ("a", thought.into(), Some("main/thinking chunk thinking:hm")),
        ("a", text("Hel"), Some("main/thinking chunk text:Hel")),
        ("a", text("lo"), Some("main/thinking chunk text:lo")),
        ("a", whole(Medium::Thinking, "hm", None), None),
        ("a", whole(Medium::Text, "Hello", None), None),
        ("a", answer(), None),
        ("a", eof(), Some("main/finished eof run_1")),
        ("a", ends(), None),
        // An answer that did not come piece by piece becomes one output.
        ("a", begins(), None),
        (
            "a",
            whole(Medium::Text, "At once", None),
            Some("main/thinking chunk text:At once"),
        ),
        ("a", answer(), None),
        ("a", eof(), Some("main/finished eof run_1")),
    ]);
}

#[test]
fn a_tool_starts_before_it_runs_and_ends_once() {
    let output = ToolOutput {
        tool_call_id: "c1".into(),
        channel: OutputChannel::Stdout,
        text: "line".into(),
    };
    check(vec![
        ("a", started("main", None, false), None),
        ("a", begins(), None),
        ("a", message("msg_2"), None),
        ("a", asked("c1", "read", json!({"path": "a"})), None),
        ("a", status(RunStatus::AwaitingTool), None),
        (
            "a",
            runs("c1"),
            Some("main/tool tool_start c1 read {\"path\":\"a\"}"),
        ),
        ("a", output.into(), Some("main/tool chunk tool:line")),
        // Text that a script emits is always an output, whether or not the model said the same.
        (
            "a",
            whole(Medium::Text, "emitted", Some("c1")),
            Some("main/tool chunk text:emitted"),
        ),
        (
            "a",
            whole(Medium::Audio, "[1]", Some("c1")),
            Some("main/tool chunk audio:[1]"),
        ),
        ("a", answered("c1", "ok"), None),
        ("a", done("c1", "read"), Some("main/tool tool_done c1 read = ok")),
        (
            "a",
            runs("c2"),
            Some("main/tool tool_start c2 read {\"path\":\"a\"}"),
        ),
        ("a", answered("c2", "it broke"), None),
        (
            "a",
            failed("c2", ToolStatus::Failed, "it broke"),
            Some("main/tool tool_error c2 it broke = it broke"),
        ),
        // A call that never ran has no start; a result without text is empty.
        (
            "a",
            failed("c3", ToolStatus::Denied, "no"),
            Some("main/tool tool_error c3 no = "),
        ),
    ]);
}

#[test]
fn work_for_another_agent_starts_when_that_agent_does() {
    let order = |agent: &str| json!({"agent": agent, "input": "go"});
    let gone = AgentDestroyed {
        reason: "done".into(),
    };
    let closed = Closed {
        reason: "done".into(),
    };
    check(vec![
        ("a", started("main", None, false), None),
        ("a", begins(), None),
        ("a", asked("c1", "delegate", order("scout")), None),
        ("a", asked("c2", "delegate", order("cook")), None),
        ("a", status(RunStatus::AwaitingTool), None),
        (
            "b",
            started("cook", Some("a"), false),
            Some("main/tool tool_start c2 delegate {\"agent\":\"cook\",\"input\":\"go\"}"),
        ),
        ("b", begins(), None),
        ("b", text("soup"), Some("cook/thinking chunk text:soup")),
        (
            "a",
            whole(Medium::Audio, "~", Some("c9")),
            Some("main/agent chunk audio:~"),
        ),
        ("b", eof(), Some("cook/finished eof run_1")),
        ("b", ends(), None),
        ("b", gone.into(), None),
        ("b", closed.into(), Some("cook/finished closed done")),
        ("a", answered("c2", "soup"), None),
        (
            "a",
            done("c2", "delegate"),
            Some("main/tool tool_done c2 delegate = soup"),
        ),
        // Nobody waits for this one any more.
        (
            "a",
            failed("c1", ToolStatus::Interrupted, "stopped"),
            Some("main/tool tool_error c1 stopped = "),
        ),
        ("d", started("scout", Some("a"), false), None),
        (
            "a",
            RunInterrupted {
                reason: "user".into(),
            }
            .into(),
            Some("main/tool interrupted user"),
        ),
        ("a", eof(), Some("main/finished eof run_1")),
    ]);
}

#[test]
fn one_that_sorts_inputs_has_phases_of_its_own() {
    check(vec![
        ("a", started("router", None, true), None),
        (
            "a",
            whole(Medium::Text, "x", Some("c")),
            Some("router/ chunk text:x"),
        ),
        ("a", begins(), None),
        ("a", text("chat"), Some("router/matching chunk text:chat")),
        ("a", status(RunStatus::AwaitingTool), None),
        ("b", started("chat", Some("a"), false), None),
        ("b", begins(), None),
        (
            "a",
            whole(Medium::Audio, "x", Some("c")),
            Some("router/executing chunk audio:x"),
        ),
        ("a", status(RunStatus::Stopping), None),
        (
            "a",
            whole(Medium::Audio, "x", Some("c")),
            Some("router/executing chunk audio:x"),
        ),
        ("a", eof(), Some("router/ eof run_1")),
    ]);
}

#[test]
fn the_tree_of_agents_is_known() {
    let mut fold = StreamFold::default();
    let rows = [
        ("a", started("main", None, false)),
        ("b", started("scout", Some("a"), false)),
        ("c", started("cook", Some("b"), true)),
        (
            "b",
            Closed {
                reason: "done".into(),
            }
            .into(),
        ),
    ];
    for (index, (agent, event)) in rows.into_iter().enumerate() {
        fold.apply(&envelope(index, agent, event));
    }
    let agents: Vec<_> = fold.agents().collect();
    let short = |agent: &AgentEntry| {
        let parent = agent
            .parent
            .as_ref()
            .map_or("-", |parent| parent.as_str())
            .to_owned();
        format!(
            "{} {} {parent} {}",
            agent.agent_state_id, agent.name, agent.closed
        )
    };
    let listed: Vec<String> = agents.iter().map(short).collect();
    assert_eq!(listed, ["a main - false", "b scout a true", "c cook b false"]);
    assert!(fold.is_closed(&"b".into()) && !fold.is_closed(&"a".into()) && !fold.is_closed(&"z".into()));
}

#[test]
fn a_selection_takes_its_medium_and_the_ends() {
    let event = |body| StreamEvent {
        seq: 1,
        index: 0,
        at: Timestamp(1),
        agent_def: "main".into(),
        agent_state_id: "a".into(),
        run_id: None,
        phase: Phase::Tool,
        body,
    };
    let chunk = |medium| {
        event(StreamBody::Chunk(StreamChunk {
            medium,
            text: String::new(),
            data: None,
            message_id: None,
            tool_call_id: None,
        }))
    };
    let start = event(StreamBody::ToolStart {
        tool_call_id: "c".into(),
        name: "read".into(),
        input: json!({}),
    });
    let end = event(StreamBody::Closed {
        reason: String::new(),
    });
    let words = Select::agent("a").medium(Medium::Text);
    let tools = Select::named("main").medium(Medium::Tool);
    for (select, expected) in [
        (Select::all(), [true, true, true, true]),
        (words, [true, false, false, true]),
        (tools, [false, false, true, true]),
        (Select::agent("b"), [false; 4]),
        (Select::named("a"), [false; 4]),
    ] {
        let events = [&chunk(Medium::Text), &chunk(Medium::Audio), &start, &end];
        assert_eq!(events.map(|event| select.wants(event)), expected, "{select:?}");
    }
}
