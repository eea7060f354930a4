//! Tests which agents are shown beside the main one, and how.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use agentx::types::{
    AgentDestroyed, AgentStarted, ApprovalRequested, ApprovalSettled, EventDraft, MessageStop, RunFinished,
    RunId, RunStarted, RunStatus, SessionId, Source, StopReason, TextDelta, Timestamp, ToolCallRequested,
    ToolCompleted, ToolExecuting, Usage,
};
use serde_json::json;

use super::super::transcript::TextPiece;
use super::*;

fn envelope(agent: &str, event: impl Into<RuntimeEvent>) -> Envelope<RuntimeEvent> {
    let draft = EventDraft::new(Source::Agent, Some(agent.into()), event);
    draft.into_envelope(SessionId::new("ses_1"), 1, Timestamp(1))
}

fn started(name: &str, parent: Option<&str>) -> AgentStarted {
    AgentStarted {
        name: name.into(),
        parent: parent.map(Into::into),
        routes: false,
    }
}

fn text(text: &str) -> TextDelta {
    TextDelta { text: text.into() }
}

fn stop() -> MessageStop {
    MessageStop {
        message_id: "msg_1".into(),
        stop_reason: StopReason::EndTurn,
        usage: Usage::default(),
    }
}

fn done(id: &str, name: &str) -> ToolCompleted {
    ToolCompleted {
        tool_call_id: id.into(),
        name: name.into(),
        duration_ms: 5,
        details: None,
    }
}

fn finished() -> RunFinished {
    RunFinished {
        run_id: RunId::new("run_1"),
        status: RunStatus::Completed,
        reason: None,
        iterations: 0,
    }
}

/// A parent gives work to a scout, who reads a file; both speak at once.
fn a_delegation() -> Vec<Envelope<RuntimeEvent>> {
    let order = ToolCallRequested {
        tool_call_id: "c1".into(),
        name: "delegate".into(),
        input: json!({"agent": "scout", "input": "look"}),
    };
    let reads = ToolExecuting {
        tool_call_id: "c2".into(),
        name: "read".into(),
        input: json!({"path": "a.txt"}),
    };
    vec![
        envelope("a", started("main", None)),
        envelope("a", text("I ask.\n")),
        envelope("a", order),
        envelope("b", started("scout", Some("a"))),
        envelope("b", text("Let me ")),
        envelope("b", text("see.\nAnd")),
        envelope("b", reads),
        envelope("b", done("c2", "read")),
        envelope("b", text("Found it.")),
        envelope("b", stop()),
        envelope("b", finished()),
        envelope("a", done("c1", "delegate")),
        envelope("a", text("It is there.")),
        envelope("a", stop()),
    ]
}

fn show(cast: &mut LiveAgents, style: AnsiStyle) -> Vec<TextPiece> {
    let mut main = TranscriptRenderer::new(style, 80);
    for event in a_delegation() {
        cast.event(&mut main, &event);
    }
    cast.end_lines(&mut main);
    main.take()
}

fn joined(pieces: &[TextPiece]) -> String {
    pieces.iter().map(|piece| piece.text.as_str()).collect()
}

#[test]
fn others_stand_beside_under_their_names() {
    let mut cast = LiveAgents::new(AnsiStyle::default(), 80);
    let shown = show(&mut cast, AnsiStyle::default());
    assert_eq!(
        joined(&shown),
        "I ask.\n● delegate  scout: look\nscout │ Let me see.\nscout │ And\n\
         scout │ ● read  a.txt\nscout │   └ ✓ 0.0s\nscout │ Found it.\n  └ ✓ 0.0s\nIt is there.\n"
    );
    let answers = shown.iter().filter(|piece| piece.region == TextRegion::Answer);
    let answer: String = answers.map(|piece| piece.text.as_str()).collect();
    assert_eq!(
        answer, "I ask.\nIt is there.\n",
        "what others say is not a part of the answer"
    );
}

#[test]
fn a_line_that_streams_can_be_seen_before_it_ends() {
    let mut cast = LiveAgents::new(AnsiStyle::default(), 80);
    let mut main = TranscriptRenderer::new(AnsiStyle::default(), 80);
    let mut seen = Vec::new();
    for event in a_delegation() {
        cast.event(&mut main, &event);
        seen.extend(cast.unfinished());
    }
    assert!(seen.contains(&"scout │ Let me ".to_owned()), "{seen:?}");
    assert!(cast.unfinished().is_empty());
}

/// A list of 40 items that a scout answers, in pieces.
fn long_answer() -> Vec<Envelope<RuntimeEvent>> {
    let items: String = (1..=40).map(|n| format!("- item **{n}**\n")).collect();
    let mut events = vec![envelope("b", started("scout", Some("a")))];
    let letters: Vec<char> = items.chars().collect();
    let pieces = letters.chunks(7).map(|piece| piece.iter().collect::<String>());
    events.extend(pieces.map(|piece| envelope("b", text(&piece))));
    events.push(envelope("b", stop()));
    events
}

#[test]
fn a_long_answer_of_another_agent_is_rendered_and_shortened() {
    let style = AnsiStyle::default();
    let mut cast = LiveAgents::new(style, 80).rendering(Theme::plain(), " (KEY)");
    let mut main = TranscriptRenderer::new(style, 80);
    let mut live = Vec::new();
    for event in long_answer() {
        cast.event(&mut main, &event);
        live.extend(cast.unfinished());
    }
    let shown = joined(&main.take());
    let lines: Vec<&str> = shown.lines().collect();
    let item = |n: usize| format!("scout │ • item {n}");
    let first: Vec<String> = (1..=12).map(item).collect();
    let last: Vec<String> = (37..=40).map(item).collect();
    assert_eq!(lines[..12], first);
    assert_eq!(lines[12], "scout │ … 24 lines (KEY) …");
    assert_eq!(lines[13..], last);
    let is_begun = |line: &String| line.starts_with("scout │ • item");
    assert!(live.iter().any(is_begun), "its progress is seen: {live:?}");
    assert!(cast.unfinished().is_empty());
}

#[test]
fn while_others_work_the_hint_names_the_agent_whose_lines_are_left_out() {
    let style = AnsiStyle::default();
    let mut cast = LiveAgents::new(style, 80).rendering(Theme::plain(), " (KEY)");
    let mut main = TranscriptRenderer::new(style, 80);
    let begun = RunStarted {
        run_id: RunId::new("run_1"),
        message_id: "msg_0".into(),
    };
    cast.event(&mut main, &envelope("c", started("scout", Some("a"))));
    cast.event(&mut main, &envelope("c", begun));
    for event in long_answer() {
        cast.event(&mut main, &event);
    }
    let shown = joined(&main.take());
    assert!(
        shown.contains("scout 2 │ … 24 lines (/output scout 2 shows more) …\n"),
        "{shown}"
    );
}

#[test]
fn a_rendered_answer_keeps_its_place_among_calls_and_its_looks() {
    let style = AnsiStyle {
        color: true,
        ..AnsiStyle::default()
    };
    let mut cast = LiveAgents::new(style, 80).rendering(Theme::plain(), "");
    cast.set_theme(Theme::dark());
    let mut main = TranscriptRenderer::new(style, 80);
    let mut events = a_delegation();
    events.insert(4, envelope("b", text("**Well.**\n\n")));
    for event in events {
        cast.event(&mut main, &event);
    }
    let label = format!("{} ", style.agent(0, "scout │"));
    let shown = joined(&main.take());
    assert!(
        shown.contains(&format!("{label}\u{1b}[1mWell.\u{1b}[0m\n")),
        "{shown:?}"
    );
    let plain: String = shown
        .lines()
        .map(|line| agentx_terminal::Row::from_ansi(line).text().trim_end().to_owned() + "\n")
        .collect();
    assert_eq!(
        plain,
        "I ask.\n● delegate  scout: look\nscout │ Well.\nscout │\nscout │ Let me see.\nscout │ And\n\
         scout │ ● read  a.txt\nscout │   └ ✓ 0.0s\nscout │ Found it.\n  └ ✓ 0.0s\nIt is there.\n"
    );
}

#[test]
fn the_end_of_a_delegation_names_its_agent() {
    let order = |id: &str, task: &str| ToolCallRequested {
        tool_call_id: id.into(),
        name: "delegate".into(),
        input: json!({"agent": "scout", "input": task}),
    };
    let mut cast = LiveAgents::new(AnsiStyle::default(), 80);
    let mut main = TranscriptRenderer::new(AnsiStyle::default(), 80).holding_calls();
    for event in [
        envelope("a", started("main", None)),
        envelope("a", order("c1", "one")),
        envelope("a", order("c2", "two")),
        envelope("b", started("scout", Some("a"))),
        envelope("c", started("scout", Some("a"))),
        envelope("a", done("c2", "delegate")),
        envelope("a", done("c1", "delegate")),
    ] {
        cast.event(&mut main, &event);
    }
    assert_eq!(
        joined(&main.take()),
        "● delegate  scout: one\n● delegate  scout: two\n\
         \u{20} └ delegate scout 2 ✓ 0.0s\n  └ delegate scout ✓ 0.0s\n"
    );
}

#[test]
fn agents_of_one_name_are_told_apart_while_they_are_there() {
    let mut cast = LiveAgents::new(AnsiStyle::default(), 80);
    let mut main = TranscriptRenderer::new(AnsiStyle::default(), 80);
    for event in [
        envelope("a", started("story", None)),
        envelope("b", started("character", Some("a"))),
        envelope("c", started("character", Some("a"))),
        envelope("b", text("Who is there?\n")),
        envelope("c", text("It is me.\n")),
        envelope(
            "b",
            AgentDestroyed {
                reason: "done".into(),
            },
        ),
        envelope("d", started("character", Some("a"))),
        envelope("d", text("And me.\n")),
    ] {
        cast.event(&mut main, &event);
    }
    assert_eq!(
        joined(&main.take()),
        "character │ Who is there?\ncharacter 2 │ It is me.\ncharacter │ And me.\n"
    );
}

#[test]
fn all_of_them_apart() {
    let shown = show(
        &mut LiveAgents::new(AnsiStyle::default(), 80).show_separately(true),
        AnsiStyle::default(),
    );
    assert!(shown.iter().all(|piece| piece.region == TextRegion::Answer));
    let text = joined(&shown);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.first(), Some(&"main │ I ask."));
    assert_eq!(lines.last(), Some(&"main │ It is there."));
    assert!(
        lines
            .iter()
            .all(|line| line.starts_with("main │ ") || line.starts_with("scout │ "))
    );
}

#[test]
fn who_spoke_before_it_said_its_name_has_it() {
    let mut cast = LiveAgents::new(AnsiStyle::default(), 80)
        .show_separately(true)
        .with_first("main");
    let mut main = TranscriptRenderer::new(AnsiStyle::default(), 80);
    cast.event(&mut main, &envelope("a", text("One.\n")));
    cast.event(&mut main, &envelope("a", started("story", None)));
    cast.event(&mut main, &envelope("a", text("Two.\n")));
    cast.meet(&envelope("b", started("scout", Some("a"))));
    let said = envelope("b", text("Three.\n"));
    cast.event(&mut main, &said);
    assert!(cast.is_of_another(&said) && !cast.is_of_another(&envelope("a", text(""))));
    assert_eq!(
        joined(&main.take()),
        "main │ One.\nstory │ Two.\nscout │ Three.\n"
    );
}

#[test]
fn a_name_keeps_its_colour() {
    let style = AnsiStyle {
        color: true,
        ..AnsiStyle::default()
    };
    let shown = joined(&show(&mut LiveAgents::new(style, 80), style));
    let again = joined(&show(&mut LiveAgents::new(style, 80), style));
    let label = style.agent(0, "scout │");
    assert!(label.starts_with("\u{1b}["), "{label}");
    assert!(shown.contains(&label) && shown == again, "{shown}");
}

#[test]
fn who_is_alone_has_no_name() {
    let events = [
        envelope("a", started("main", None)),
        envelope("a", text("Hello")),
        envelope("a", stop()),
    ];
    let (mut cast, mut main) = (
        LiveAgents::new(AnsiStyle::default(), 80),
        TranscriptRenderer::new(AnsiStyle::default(), 80),
    );
    let mut alone = TranscriptRenderer::new(AnsiStyle::default(), 80);
    for event in &events {
        cast.event(&mut main, event);
        alone.event(&event.event);
    }
    assert_eq!(main.take(), alone.take());
}

#[test]
fn a_question_about_a_call_of_another_agent_names_the_agent_until_it_is_settled() {
    let (mut cast, mut main) = (
        LiveAgents::new(AnsiStyle::default(), 80),
        TranscriptRenderer::new(AnsiStyle::default(), 80),
    );
    let asked = |id: &str| -> RuntimeEvent {
        let asked: ApprovalRequested = serde_json::from_value(json!({
            "tool_call_id": id, "name": "bash", "input": {"command": "make"}, "reason": "",
            "suggested": {"effect": "allow", "tool": "bash"},
        }))
        .unwrap();
        asked.into()
    };
    let settled = ApprovalSettled {
        tool_call_id: "c3".into(),
        allowed: true,
    };
    let events = [
        envelope("main", started("main", None)),
        envelope("agt_1", started("scout", Some("main"))),
        envelope("agt_2", started("scout", Some("main"))),
        envelope("main", asked("c1")),
        envelope("agt_2", asked("c2")),
        envelope("agt_2", asked("c3")),
        envelope("agt_2", settled),
    ];
    for event in &events {
        cast.event(&mut main, event);
    }
    let question = |call: &str| cast.question_of(&call.into(), "? bash wants to run\n    make\n".to_owned());
    assert_eq!(question("c1"), "? bash wants to run\n    make\n");
    assert_eq!(
        question("c2"),
        "scout 2 │ ? bash wants to run\nscout 2 │     make\n"
    );
    assert_eq!(
        question("c3"),
        "? bash wants to run\n    make\n",
        "nobody is asked"
    );
}
