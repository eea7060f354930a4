//! Tests the viewer: what it shows, what keys do, and that a state that is looked up equals the state at that
//! time.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use agentx::runtime::SessionFold;
use agentx::types::{
    AgentConfig, AgentStateId, ContentPart, EnvironmentEvent, EventDraft, InputMode, MessageId, OwnerId,
    SessionId, SessionOpened, SessionTitled, Source, TextChunk, Timestamp, UserMessage,
};
use agentx_terminal::{Row, Theme};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

#[path = "../../../../crates/types/tests/golden/newer_words.rs"]
mod newer_words;

use super::panes::{self, Pane};
use super::stepper::{Stepper, StepperFlow};
use super::timeline::{Timeline, TimelineFact};
use super::view;

fn said(text: &str, seq: u64) -> EnvironmentEvent {
    UserMessage {
        message_id: MessageId::with_suffix(seq),
        content: vec![ContentPart::text(text)],
        mode: InputMode::Queue,
        idempotency_key: None,
        by: None,
        answer_schema: None,
    }
    .into()
}

fn config() -> AgentConfig {
    agentx::agent::fixtures::config()
}

/// A session of so many events: a person says something every tenth.
fn facts(count: u64) -> Vec<TimelineFact> {
    (1..=count)
        .map(|seq| {
            let event = match seq {
                1 => SessionOpened {
                    owner: OwnerId::new("own_local"),
                    config: Box::new(config()),
                    program: "test".into(),
                }
                .into(),
                seq if seq % 10 == 0 => said(&format!("input {seq} 会话"), seq),
                seq if seq % 10 == 5 => SessionTitled {
                    title: format!("title {seq}"),
                    by: None,
                }
                .into(),
                seq => TextChunk {
                    text: format!("word {seq} "),
                }
                .into(),
            };
            let draft = EventDraft::new(Source::User, Some(AgentStateId::new("agt_1")), event);
            let at = Timestamp(i64::try_from(seq).unwrap() * 250_000);
            Arc::new(draft.into_envelope(SessionId::new("ses_1"), seq, at))
        })
        .collect()
}

fn timeline(count: u64) -> Timeline {
    Timeline::new(SessionId::new("ses_1"), facts(count))
}

fn folded(facts: &[TimelineFact]) -> SessionFold {
    let mut fold = SessionFold::new(SessionId::new("ses_1"));
    for fact in facts {
        fold.advance(fact);
    }
    fold
}

fn press(stepper: &mut Stepper, code: KeyCode) -> StepperFlow {
    stepper.key(KeyEvent::new(code, KeyModifiers::NONE))
}

fn seq(stepper: &Stepper) -> u64 {
    stepper.fact().unwrap().seq
}

#[test]
fn a_state_that_is_looked_up_is_the_state_that_was() {
    let all = facts(5_000);
    let mut timeline = timeline(5_000);
    for place in [
        4_999, 0, 2_047, 2_048, 2_049, 1_023, 1_024, 3_000, 2_999, 3_001, 4_999, 10,
    ] {
        let wanted = folded(&all[..=place]);
        assert!(*timeline.fold_after(place) == wanted, "after event {}", place + 1);
    }
}

#[test]
fn keys_go_through_a_session() {
    let mut stepper = Stepper::new(timeline(100), None);
    assert_eq!(seq(&stepper), 100);
    for (code, there) in [
        (KeyCode::Left, 99),
        (KeyCode::PageUp, 89),
        (KeyCode::Right, 90),
        (KeyCode::Home, 1),
        (KeyCode::Left, 1),
        (KeyCode::PageDown, 11),
        (KeyCode::Char(']'), 20),
        (KeyCode::Char('['), 10),
        (KeyCode::End, 100),
        (KeyCode::Right, 100),
    ] {
        press(&mut stepper, code);
        assert_eq!(seq(&stepper), there, "{code:?}");
    }
    let type_in = |stepper: &mut Stepper, text: &str| {
        for c in text.chars() {
            press(stepper, KeyCode::Char(c));
        }
        press(stepper, KeyCode::Enter);
    };
    type_in(&mut stepper, "g42");
    assert_eq!(seq(&stepper), 42);
    type_in(&mut stepper, "g9999");
    assert_eq!(seq(&stepper), 100);
    type_in(&mut stepper, "gx");
    assert_eq!(stepper.note.as_deref(), Some("`x` is not the number of an event"));
    type_in(&mut stepper, "/TITLE 3");
    assert_eq!(seq(&stepper), 35);
    type_in(&mut stepper, "/会话");
    assert_eq!(seq(&stepper), 40);
    press(&mut stepper, KeyCode::Char('n'));
    assert_eq!(seq(&stepper), 50);
    press(&mut stepper, KeyCode::Char('N'));
    assert_eq!(seq(&stepper), 40);
    type_in(&mut stepper, "/nowhere at all");
    assert_eq!((seq(&stepper), stepper.note.is_some()), (40, true));
    assert_eq!(press(&mut stepper, KeyCode::Char('q')), StepperFlow::Leave);
}

#[test]
fn a_step_fits_every_screen() {
    let mut stepper = Stepper::new(timeline(40), Some(30));
    let mut screens = Vec::new();
    for (columns, rows) in [(40, 12), (80, 24)] {
        for _ in Pane::ALL {
            let (shown, _) = view::rows(&mut stepper, columns, rows, &Theme::plain());
            let text: Vec<String> = shown.iter().map(|row| row.text().trim_end().to_owned()).collect();
            screens.push(format!("{columns} x {rows}\n{}", text.join("\n")));
            press(&mut stepper, KeyCode::Tab);
        }
    }
    insta::assert_snapshot!("step", screens.join("\n\n"));
    for columns in 4..90 {
        for rows in 3..12 {
            for help in [false, true] {
                stepper.help = help;
                press(&mut stepper, KeyCode::Down);
                let (shown, cursor) = view::rows(&mut stepper, columns, rows, &Theme::plain());
                assert!(shown.len() < rows, "one row stays free at {columns} x {rows}");
                assert!(shown.iter().map(Row::width).all(|width| width <= columns));
                assert!(cursor.is_some_and(|(row, _)| row < shown.len()));
            }
        }
        press(&mut stepper, KeyCode::Tab);
    }
}

#[test]
fn a_session_without_events_is_shown_too() {
    let mut stepper = Stepper::new(timeline(0), None);
    for code in [KeyCode::Right, KeyCode::End, KeyCode::Char(']'), KeyCode::Tab] {
        press(&mut stepper, code);
        let (shown, _) = view::rows(&mut stepper, 40, 10, &Theme::plain());
        assert!(shown.iter().any(|row| row.text().contains("no events yet")));
    }
}

#[test]
fn programs_get_a_step_whole() {
    let mut timeline = timeline(40);
    let fact = timeline.facts()[29].clone();
    let value = panes::value(&fact, timeline.fold_after(29));
    assert_eq!(value["seq"], 30);
    assert_eq!(value["words"], "a person says: input 30 会话");
    assert_eq!(value["event"]["event"], "user_message");
    assert_eq!(value["context"]["system"], "You are a fixture.");
    assert!(value["state"]["last_seq"] == 30 && value["context"]["messages"].is_array());
}

/// Events of a newer version are shown unchanged, in every pane.
#[test]
fn facts_with_new_words_are_shown() {
    let opened = facts(1).remove(0);
    let mut fold = SessionFold::new(SessionId::new("ses_1"));
    fold.apply(&opened);
    for (new, seq) in newer_words::newer("environment.jsonl").into_iter().zip(2..) {
        let frame = serde_json::json!({
            "seq": seq, "at": seq, "source": "system", "session_id": "ses_1", "agent_state_id": "agt_1",
            "event": new.event["event"], "payload": new.event["payload"],
        });
        let fact: agentx::types::Envelope<EnvironmentEvent> = serde_json::from_value(frame.clone()).unwrap();
        fold.apply(&fact);
        for pane in Pane::ALL {
            assert!(!panes::lines(pane, &fact, &fold, &Theme::plain()).is_empty());
        }
        assert_eq!(panes::value(&fact, &fold)["event"], frame);
    }
}
