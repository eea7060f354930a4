//! Tests the result of a screen's bytes on a terminal.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::*;
use crate::testing::terminal::FakeTerminal;
use agentx_terminal::{EditOutcome, Editor, LineHistory};

fn line(text: &str) -> Option<InputLine> {
    Some(InputLine {
        prompt: "› ".into(),
        text: text.into(),
        cursor: text.len(),
    })
}

fn screen(columns: usize, rows: usize) -> (Screen, FakeTerminal) {
    (
        Screen::new(columns, rows, Theme::plain()),
        FakeTerminal::new(columns, rows),
    )
}

#[test]
fn text_flows_above_the_line() {
    let (mut screen, mut terminal) = screen(20, 8);
    screen.print("Hello");
    screen.set_line(line("dra"));
    terminal.write(&screen.take());
    assert_eq!(terminal.lines(), ["Hello", "› dra"]);
    screen.print(" world\nsecond");
    terminal.write(&screen.take());
    assert_eq!(terminal.lines(), ["Hello world", "second", "› dra"]);
    assert_eq!(terminal.cursor(), (2, 5));
    screen.set_line(None);
    screen.print("\n");
    terminal.write(&screen.take());
    assert_eq!(terminal.lines(), ["Hello world", "second"]);
}

#[test]
fn an_answer_streams_above_how_things_stand() {
    let (mut screen, mut terminal) = screen(24, 12);
    screen.print("› hello\n");
    screen.set_status("claude · 3s".into());
    let text = "# Plan\nIt is **quite** short and has `two` lines.\n\n- one\n- two";
    for letter in text.chars() {
        screen.print_answer(letter.encode_utf8(&mut [0; 4]));
        terminal.write(&screen.take());
    }
    screen.print("12 in, 3 out\n\n");
    screen.set_status("claude · $0.01".into());
    screen.set_line(line(""));
    terminal.write(&screen.take());
    let above = [
        "› hello",
        "# Plan",
        "",
        "It is quite short and",
        "has two lines.",
        "",
        "• one",
        "• two",
        "12 in, 3 out",
        "",
    ];
    assert_eq!(terminal.lines(), [&above[..], &["claude · $0.01", "›"]].concat());
    terminal.write(&screen.leave());
    assert_eq!(terminal.lines(), above[..9]);
}

#[test]
fn long_lines_hang_behind_their_sign() {
    let (mut screen, mut terminal) = screen(16, 12);
    screen.print("  ▸ write a long parser\n  └ ✗ failed: no such file\n  │ words of a tool\n");
    terminal.write(&screen.leave());
    assert_eq!(
        terminal.lines(),
        [
            "  ▸ write a long",
            "    parser",
            "  └ ✗ failed: no",
            "    such file",
            "  │ words of a",
            "  │ tool"
        ]
    );
}

#[test]
fn what_is_said_in_passing_breaks_neither_a_list_nor_code() {
    for (begun, rest, shown) in [
        (
            "1. one\n2. tw",
            "o\n3. three\n",
            vec!["1. one", "aside", "2. two", "3. three"],
        ),
        (
            "```\nlet a = 1;\nlet b",
            " = 2;\n```\n",
            vec!["  let a = 1;", "aside", "  let b = 2;"],
        ),
    ] {
        let (mut screen, mut terminal) = screen(24, 12);
        screen.print_answer(begun);
        terminal.write(&screen.take());
        screen.print_in_passing("aside\n");
        terminal.write(&screen.take());
        screen.print_answer(rest);
        terminal.write(&screen.leave());
        assert_eq!(terminal.lines(), shown);
    }
}

#[test]
fn what_was_said_last_is_what_it_is_also_when_the_chat_is_left() {
    let (mut screen, mut terminal) = screen(24, 12);
    let piece = |region, text: &str| TextPiece {
        region,
        text: text.into(),
    };
    screen.say(&[piece(TextRegion::Answer, "It is **qu")]);
    terminal.write(&screen.take());
    screen.say(&[
        piece(TextRegion::Answer, "ite** so"),
        piece(TextRegion::Passing, "aside\n"),
        piece(TextRegion::Answer, "."),
        piece(TextRegion::Aside, "12 in, 3 out\n"),
    ]);
    terminal.write(&screen.leave());
    assert_eq!(terminal.lines(), ["aside", "It is quite so.", "12 in, 3 out"]);
}

#[test]
fn what_others_are_saying_lives_until_it_is_printed() {
    let (mut screen, mut terminal) = screen(16, 8);
    screen.set_beside(vec!["teller │ Once there".into()]);
    screen.set_status("waiting".into());
    terminal.write(&screen.take());
    assert_eq!(terminal.lines(), ["teller │ Once", "there", "waiting"]);
    screen.set_beside(Vec::new());
    screen.print("teller │ Once there was one.\n");
    terminal.write(&screen.leave());
    assert_eq!(terminal.lines(), ["teller │ Once", "there was one."]);
}

#[test]
fn words_that_stream_alone_cost_what_they_have() {
    let (mut screen, _) = screen(80, 24);
    screen.set_status("claude · 3s".into());
    screen.print_answer("It is");
    screen.take();
    screen.print_answer(" warm");
    assert_eq!(screen.take(), " warm");
}

#[test]
fn a_look_lasts_over_the_end_of_a_line() {
    let (mut screen, _) = screen(20, 8);
    screen.print("\u{1b}[2mone\ntwo\u{1b}[0m\n");
    let bytes = screen.take();
    assert_eq!(bytes.matches("\u{1b}[2m").count(), 2, "{bytes:?}");
}

#[test]
fn on_a_light_background_colours_are_dark() {
    let mut screen = Screen::new(40, 8, Theme::dark());
    screen.print("\u{1b}[36m› hi\u{1b}[0m\n");
    assert!(screen.take().contains("\u{1b}[36m› hi"));
    screen.set_theme(Theme::light());
    screen.print("\u{1b}[36m› hi\u{1b}[0m\n");
    screen.set_status("\u{1b}[33mwaiting\u{1b}[0m".into());
    let bytes = screen.take();
    assert!(
        bytes.contains("\u{1b}[34m› hi") && bytes.contains("\u{1b}[35mwaiting"),
        "{bytes:?}"
    );
}

#[test]
fn a_long_line_wraps_and_keeps_its_cursor() {
    let (mut screen, mut terminal) = screen(10, 6);
    screen.set_line(Some(InputLine {
        prompt: "› ".into(),
        text: "12345678好0\nx".into(),
        cursor: 8,
    }));
    terminal.write(&screen.take());
    assert_eq!(terminal.lines(), ["› 12345678", "好0", "  x"]);
    assert_eq!(terminal.cursor(), (1, 0));
}

/// Numbers that look like any, the same for the same beginning.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).unwrap()]
    }
}

/// A person who writes, cuts, puts back and sends.
fn keys(dice: &mut Dice) -> Vec<KeyEvent> {
    let letter = |c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE);
    let control = |c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL);
    let plain = |code| KeyEvent::new(code, KeyModifiers::NONE);
    match dice.below(12) {
        0..5 => dice
            .one(&["word ", "好的 ", "éa", "🦀 x", "a longer row of words "])
            .chars()
            .map(letter)
            .collect(),
        5 | 6 => vec![control(dice.one(&['w', 'k', 'u', 'y', 'z']))],
        7 => vec![plain(dice.one(&[
            KeyCode::Left,
            KeyCode::Home,
            KeyCode::End,
            KeyCode::Up,
        ]))],
        8 => vec![plain(KeyCode::Backspace)],
        9 => vec![KeyEvent::new(KeyCode::Enter, KeyModifiers::ALT)],
        10 => vec![plain(KeyCode::Enter)],
        _ => vec![KeyEvent::new(KeyCode::Backspace, KeyModifiers::ALT), control('k')],
    }
}

#[test]
fn what_was_cut_is_not_shown_whatever_streams_meanwhile() {
    for seed in 1..60 {
        let mut dice = Dice(seed * 7919);
        let columns = dice.one(&[12, 20, 41]);
        let (mut screen, mut terminal) = screen(columns, 12);
        let mut editor = Editor::with_keys(LineHistory::default(), false);
        for _ in 0..80 {
            match dice.below(8) {
                0 => screen.print_answer(dice.one(&["a word", " and\n\n", "- one\n", "`code`\n", "好的"])),
                1 => screen.print_in_passing("› said\n"),
                2 => screen.set_status(dice.one(&["", "model · 3s", "model · 4s"]).into()),
                3 => screen.set_queue(vec![
                    "  1 › waits".into();
                    usize::try_from(dice.below(3)).unwrap()
                ]),
                _ => keys(&mut dice).into_iter().for_each(|key| {
                    if let EditOutcome::Submit(said) = editor.key(key) {
                        screen.print_in_passing(&format!("› {}\n", said.replace('\n', " ")));
                    }
                }),
            }
            let written = InputLine {
                prompt: "› ".into(),
                text: editor.text().to_owned(),
                cursor: editor.cursor(),
            };
            let expected = layout(&written, columns, 11);
            screen.set_line(Some(written));
            terminal.write(&screen.take());
            let shown = terminal.lines();
            let (row, column) = terminal.cursor();
            let first = terminal.scrolled() + row - expected.row;
            let below: Vec<&str> = shown.iter().skip(first).map(|row| row.trim_end()).collect();
            let wanted: Vec<&str> = expected.rows.iter().map(|row| row.trim_end()).collect();
            let wanted = wanted.join("\n");
            assert_eq!(
                below.join("\n").trim_end(),
                wanted.trim_end(),
                "seed {seed}: {shown:#?}"
            );
            let column_on_screen = expected.column.min(columns - 1);
            assert_eq!(column, column_on_screen, "seed {seed}: {shown:#?}");
        }
    }
}

#[test]
fn an_open_question_stays_in_sight_whatever_is_printed_after_it() {
    let question = "? bash wants to run\n    command: rm a\n  because it may\n";
    let piece = |region, text: &str| TextPiece {
        region,
        text: text.into(),
    };
    let (mut screen, mut terminal) = screen(24, 10);
    screen.set_status("bash runs".into());
    screen.set_line(line(""));
    screen.say(&[
        piece(TextRegion::Aside, "before\n"),
        piece(TextRegion::Question, question),
    ]);
    screen.set_asked(Some(true));
    terminal.write(&screen.take());
    let asked = ["? bash wants to run", "    command: rm a", "  because it may"];
    assert_eq!(
        terminal.lines(),
        [&["before"], &asked[..], &["bash runs", "›"]].concat()
    );
    screen.print(&"a row of output\n".repeat(5));
    terminal.write(&screen.take());
    let below = [&asked[..], &["bash runs", "›"]].concat();
    assert!(
        ends_with(&terminal, &below),
        "it stands above the line, not the output"
    );
    screen.print(&"a row of output\n".repeat(9));
    terminal.write(&screen.take());
    assert!(ends_with(&terminal, &below));
    // Also after the screen is cleared, is narrower, and shows words of other agents.
    screen.clear();
    terminal.write(&screen.take());
    assert!(ends_with(&terminal, &below));
    screen.set_beside(vec!["other │ words".into(); 20]);
    screen.resize(16, 10);
    let mut terminal = FakeTerminal::new(16, 10);
    terminal.write(&screen.take());
    let narrow = [
        "? bash wants to",
        "run",
        "    command: rm",
        "    a",
        "  because it may",
        "bash runs",
        "›",
    ];
    assert!(ends_with(&terminal, &narrow));
    // It is answered: it is printed, and changes no more.
    screen.set_asked(None);
    screen.set_beside(Vec::new());
    screen.print("  allowed once\n");
    terminal.write(&screen.take());
    assert!(ends_with(&terminal, &["  allowed once", "bash runs", "›"]));
}

#[test]
fn lines_that_come_while_a_question_is_open_are_printed_above_it_and_repeat_nothing() {
    let piece = |region, text: &str| TextPiece {
        region,
        text: text.into(),
    };
    let (mut screen, mut terminal) = screen(40, 24);
    screen.set_line(line(""));
    let first = "? edit wants to change a\n    1 -a\n    1 +b\n";
    screen.say(&[piece(TextRegion::Question, first)]);
    screen.set_asked(Some(true));
    terminal.write(&screen.take());
    // The first one is answered, and the second is asked before the first call has ended.
    let second = |line: usize| format!("? edit wants to change a\n    {line} -c\n    {line} +d\n");
    screen.say(&[
        piece(TextRegion::QuestionEnd, ""),
        piece(TextRegion::Aside, "  allowed once\n"),
        piece(TextRegion::Question, &second(7)),
    ]);
    screen.set_asked(Some(true));
    terminal.write(&screen.take());
    screen.say(&[
        piece(TextRegion::Aside, "● edit  a\n  └ ✓ 0.0s\n"),
        piece(TextRegion::QuestionChange, &second(8)),
    ]);
    screen.set_beside(vec!["● bash  make".into()]);
    screen.set_asked(Some(true));
    terminal.write(&screen.take());
    let above = [
        "? edit wants to change a",
        "    1 -a",
        "    1 +b",
        "  allowed once",
        "● edit  a",
        "  └ ✓ 0.0s",
    ];
    let asked = ["? edit wants to change a", "    8 -c", "    8 +d"];
    assert_eq!(
        terminal.lines(),
        [&above[..], &["● bash  make"], &asked, &["›"]].concat()
    );
    screen.set_beside(Vec::new());
    screen.say(&[
        piece(TextRegion::QuestionEnd, ""),
        piece(TextRegion::Aside, "  refused\n"),
    ]);
    screen.set_asked(None);
    terminal.write(&screen.leave());
    assert_eq!(terminal.lines(), [&above[..], &asked, &["  refused"]].concat());
}

#[test]
fn a_question_that_has_no_more_room_is_printed_once() {
    let (mut screen, mut terminal) = screen(40, 14);
    let rows: Vec<String> = (1..=8).map(|n| format!("    +line {n}\n")).collect();
    let question = format!("? write wants to write a\n{}", rows.concat());
    screen.set_line(line(""));
    screen.say(&[TextPiece {
        region: TextRegion::Question,
        text: question,
    }]);
    screen.set_asked(Some(true));
    terminal.write(&screen.take());
    screen.set_line(line(&"a long answer ".repeat(20)));
    terminal.write(&screen.take());
    screen.set_line(line(""));
    screen.set_asked(None);
    screen.print("  refused\n");
    terminal.write(&screen.leave());
    let shown = terminal.lines().concat();
    assert_eq!(shown.matches("? write wants to write a").count(), 1, "{shown}");
    assert!(shown.ends_with("    +line 8  refused"), "{shown}");
}

/// Returns whether these are the last rows.
fn ends_with(terminal: &FakeTerminal, rows: &[&str]) -> bool {
    let lines = terminal.lines();
    assert!(lines.len() >= rows.len());
    lines[lines.len() - rows.len()..] == *rows
}

#[test]
fn of_a_question_longer_than_the_screen_both_ends_are_in_sight() {
    let (mut screen, mut terminal) = screen(40, 10);
    let rows: Vec<String> = (1..=40).map(|n| format!("    +line {n}\n")).collect();
    let question = format!("? write wants to write a\n{}  because\n  always\n", rows.concat());
    screen.set_line(line(""));
    screen.say(&[TextPiece {
        region: TextRegion::Question,
        text: question,
    }]);
    screen.set_asked(Some(true));
    terminal.write(&screen.take());
    assert!(ends_with(
        &terminal,
        &[
            "? write wants to write a",
            "    +line 1",
            "    +line 2",
            "    +line 3",
            "  … 36 more rows (Ctrl-O shows all)",
            "    +line 40",
            "  because",
            "  always",
            "›",
        ]
    ));
    assert!(screen.hides_question(), "it never stood whole on the screen");
}

#[test]
fn a_question_that_stood_whole_on_the_screen_hides_nothing() {
    for rows in [10, 4] {
        let (mut screen, mut terminal) = screen(40, rows);
        assert!(!screen.hides_question(), "there is none");
        screen.set_line(line(""));
        screen.say(&[TextPiece {
            region: TextRegion::Question,
            text: "? bash wants to run a command\n  command: make\n  because\n  always\n".to_owned(),
        }]);
        screen.set_asked(Some(true));
        terminal.write(&screen.take());
        assert_eq!(screen.hides_question(), rows == 4, "{rows} rows");
    }
}
