//! Tests the picker without a terminal: its rows at any width, and the effect of keys.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use agentx::runtime::{OpenWait, SearchHit, SessionInfo, SessionWaits, WaitKind, WriterInfo};
use agentx::types::{Role, RunStatus, SessionId, Timestamp};
use agentx_terminal::{Row, Theme};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::model::{PickerModel, PickerStep, StatusMark};
use super::preview::Preview;
use super::view::{self, PickerFrame};
use crate::render::wait_times::SessionWaitTimes;

const HOUR: i64 = 3_600_000_000;

fn session(number: usize, title: &str, workspace: &str) -> SessionInfo {
    let id = SessionId::with_suffix(format!("{number:012}"));
    let changed = Timestamp((100 - i64::try_from(number).unwrap()) * HOUR);
    SessionInfo::new(id, "own_local", Timestamp(0))
        .with_title(title)
        .with_workspace(workspace)
        .with_model("scripted")
        .with_status(Some(RunStatus::Completed))
        .with_last_event(20, changed)
        .with_messages(4)
}

/// Returns a model with a row of each kind.
fn model() -> PickerModel {
    let mut model = PickerModel::new("/home/ada/hello".into(), false);
    let mut live = session(1, "count to 100", "/home/ada/hello");
    live.writer = Some(WriterInfo {
        process: 4711,
        epoch: 1,
    });
    let mut broken = session(
        2,
        "会话日志 🦀 is searched for in all languages that there are",
        "/home/ada/hello",
    );
    broken.status = Some(RunStatus::AwaitingTool);
    let mut fork = session(3, "another way", "/home/ada/hello");
    fork.parent = Some((SessionId::new("ses_000000000002"), 7));
    let mut asks = session(4, "", "/home/ada/hello");
    asks.status = Some(RunStatus::AwaitingApproval);
    let elsewhere = session(5, "the compiler's warnings", "/home/ada/compiler");
    // Pages do not come in order.
    model.add(vec![asks, elsewhere]);
    model.add(vec![live, broken, fork]);
    model
}

fn frame(columns: usize, rows: usize) -> PickerFrame {
    PickerFrame {
        columns,
        rows,
        theme: Theme::plain(),
        now: Timestamp(100 * HOUR),
    }
}

fn preview() -> Preview {
    Preview {
        said: "where are the 日志 kept?\nand why there".into(),
        tools: vec!["grep".into(), "read".into()],
        answer: "They are in `sessions.db`, one row for a run of events.\n\nSQLite keeps them.".into(),
    }
}

fn screen(model: &PickerModel, columns: usize, rows: usize) -> String {
    let (shown, cursor) = view::rows(model, Some(&preview()), &frame(columns, rows));
    assert!(shown.len() < rows, "one row stays free");
    assert!(
        shown.iter().all(|row| row.width() <= columns),
        "no row is too wide"
    );
    assert!(cursor.0 < shown.len() && cursor.1 <= columns);
    let lines: Vec<String> = shown
        .iter()
        .map(Row::text)
        .map(|row| row.trim_end().to_owned())
        .collect();
    lines.join("\n")
}

fn key(code: KeyCode) -> KeyEvent {
    KeyEvent::new(code, KeyModifiers::NONE)
}

fn typed(model: &mut PickerModel, text: &str) {
    for c in text.chars() {
        model.key(key(KeyCode::Char(c)));
    }
}

fn titles(model: &PickerModel) -> Vec<String> {
    model.shown().map(|entry| view::title(&entry.info)).collect()
}

#[test]
fn at_every_width() {
    let mut model = model();
    model.completed();
    model.key(key(KeyCode::Down));
    let mut screens = Vec::new();
    for (columns, rows) in [(40, 10), (80, 16), (300, 16)] {
        screens.push(format!("{columns} x {rows}\n{}", screen(&model, columns, rows)));
    }
    model.key(key(KeyCode::Tab));
    typed(&mut model, "compiler");
    screens.push(format!("filtered\n{}", screen(&model, 80, 12)));
    typed(&mut model, "!");
    screens.push(format!("nothing fits\n{}", screen(&model, 40, 12)));
    model.key(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL));
    model.key(key(KeyCode::Char('?')));
    screens.push(format!("help\n{}", screen(&model, 60, 24)));
    insta::assert_snapshot!("picker", screens.join("\n\n"));
    let help = screen(&model, 40, 20);
    assert!(help.contains("a fork of another session"), "it is whole:\n{help}");
    let help = screen(&model, 40, 10);
    assert!(help.contains("… enlarge the window"), "it is cut:\n{help}");
    for columns in 4..60 {
        for rows in 3..8 {
            screen(&model, columns, rows);
        }
    }
}

#[test]
fn one_message_is_one_message() {
    let mut model = PickerModel::new("/home".into(), false);
    let mut first = session(1, "one", "/home");
    first.messages = 1;
    model.add(vec![first]);
    model.completed();
    let shown = screen(&model, 80, 12);
    assert!(
        shown.contains("1 message ·") && !shown.contains("1 messages"),
        "{shown}"
    );
}

#[test]
fn the_latest_is_first_and_only_this_directory_is_shown() {
    let mut model = model();
    let marks: Vec<StatusMark> = model.shown().map(|entry| model.mark(&entry.info)).collect();
    assert_eq!(
        marks,
        [
            StatusMark::Elsewhere,
            StatusMark::BrokeOff,
            StatusMark::Fork,
            StatusMark::Asks
        ]
    );
    let waits = SessionWaits {
        session: session(2, "", ""),
        waits: vec![OpenWait::new(WaitKind::Call, Timestamp(102 * HOUR))],
    };
    model.waits = SessionWaitTimes::from_iter([&waits]);
    let marks: Vec<StatusMark> = model.shown().map(|entry| model.mark(&entry.info)).collect();
    assert_eq!(marks[1], StatusMark::Waits);
    model.key(key(KeyCode::Down));
    assert!(screen(&model, 80, 16).contains("waits, 2h 00m left"));
    assert_eq!(model.total(), 5);
    model.key(key(KeyCode::Tab));
    assert_eq!(model.shown().len(), 5);
    assert_eq!(model.add(vec![session(5, "again", "/x")]), 0, "once is enough");
}

#[test]
fn words_narrow_the_list_and_searched_words_widen_it() {
    let mut model = model();
    typed(&mut model, "ALL lang");
    assert_eq!(model.chosen().unwrap().session_id.as_str(), "ses_000000000002");
    assert_eq!(titles(&model).len(), 1);
    assert_eq!(model.to_search().as_deref(), Some("ALL lang"));
    let hit = SearchHit {
        session_id: SessionId::new("ses_000000000003"),
        seq: 9,
        role: Role::Assistant,
        snippet: "… all languages …".into(),
    };
    model.found("ALL lang", vec![hit]);
    assert_eq!(titles(&model).len(), 2);
    assert_eq!(model.to_search(), None, "once is enough");
    assert!(screen(&model, 80, 12).contains("another way"));
    typed(&mut model, "u");
    assert_eq!(titles(&model).len(), 1, "what was found was for other words");
    model.key(KeyEvent::new(KeyCode::Char('w'), KeyModifiers::CONTROL));
    assert_eq!(model.filter, "ALL ");
    model.key(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL));
    typed(&mut model, "志");
    assert_eq!(
        model.to_search().as_deref(),
        Some("志"),
        "a character may be a word"
    );
    model.key(key(KeyCode::Backspace));
    typed(&mut model, "ab");
    assert_eq!(model.to_search(), None);
}

#[test]
fn an_id_is_matched_from_its_beginning_and_behind_what_was_said() {
    let mut model = PickerModel::new("/home".into(), false);
    let with_id = |id: &str, number: usize, title: &str| {
        let mut info = session(number, title, "/home");
        info.session_id = SessionId::new(id);
        info
    };
    model.add(vec![
        with_id("ses_57aaaaaaaaaa", 1, "by its id"),
        with_id("ses_yj57aaaaaaaa", 2, "ticket 66"),
        with_id("ses_bbbbbbbbbbbb", 3, "ticket 57"),
    ]);
    typed(&mut model, "57");
    assert_eq!(titles(&model), ["ticket 57", "by its id"]);
    model.key(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL));
    typed(&mut model, "ticket 57");
    assert_eq!(titles(&model), ["ticket 57"]);
    model.key(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL));
    typed(&mut model, "ses_yj");
    assert_eq!(titles(&model), ["ticket 66"]);
}

#[test]
fn the_chosen_one_stays_chosen_while_pages_come() {
    let mut model = model();
    model.key(key(KeyCode::Down));
    model.key(key(KeyCode::Down));
    let chosen = model.chosen().unwrap().session_id.clone();
    model.add(vec![session(0, "newer", "/home/ada/hello")]);
    assert_eq!(model.chosen().unwrap().session_id, chosen);
    model.key(key(KeyCode::End));
    model.key(key(KeyCode::PageDown));
    assert_eq!(model.at(), 4);
    model.key(key(KeyCode::Home));
    assert_eq!(model.chosen().unwrap().title, "newer");
}

#[test]
fn one_that_is_open_elsewhere_is_not_taken() {
    let mut model = model();
    assert_eq!(model.key(key(KeyCode::Enter)), PickerStep::Stay);
    assert!(screen(&model, 80, 12).contains("process 4711 has it open; `agentx watch ses_000000000001`"));
    model.key(key(KeyCode::Down));
    let second = SessionId::new("ses_000000000002");
    assert_eq!(model.key(key(KeyCode::Enter)), PickerStep::Take(second));
    assert_eq!(model.key(key(KeyCode::Esc)), PickerStep::Leave);
    let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(model.key(control_c), PickerStep::Leave);
}

#[test]
fn a_directory_without_sessions_shows_all() {
    let mut model = PickerModel::new("/nowhere".into(), true);
    model.add(vec![session(1, "one", "/home")]);
    assert!(screen(&model, 40, 8).contains("looking …"));
    model.completed();
    assert_eq!(titles(&model), ["one"]);
    model.key(key(KeyCode::Tab));
    assert!(screen(&model, 60, 8).contains("no sessions in this directory; Tab shows all"));
    assert_eq!(model.key(key(KeyCode::Enter)), PickerStep::Stay);
}

#[test]
fn what_is_pasted_is_one_line() {
    let mut model = model();
    model.paste("anoth\u{1b}er\nway");
    assert_eq!(titles(&model), ["another way (fork at 7)"]);
}
