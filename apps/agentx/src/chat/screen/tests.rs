//! What the bytes of a screen come to on a terminal.

use super::*;
use crate::testing::terminal::FakeTerminal;

fn line(text: &str) -> Option<Line> {
    Some(Line {
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
fn a_long_line_wraps_and_keeps_its_cursor() {
    let (mut screen, mut terminal) = screen(10, 6);
    screen.set_line(Some(Line {
        prompt: "› ".into(),
        text: "12345678好0\nx".into(),
        cursor: 8,
    }));
    terminal.write(&screen.take());
    assert_eq!(terminal.lines(), ["› 12345678", "好0", "  x"]);
    assert_eq!(terminal.cursor(), (1, 0));
}
