//! What the bytes of frames come to on a screen, as an independent terminal model sees them.

use agentx_terminal::{Markdown, Painter, Row, Style, Theme};
use proptest::prelude::*;

/// A terminal that keeps what has scrolled away.
struct Screen(vt100::Parser);

impl Screen {
    fn new(columns: u16, rows: u16) -> Self {
        Self(vt100::Parser::new(rows, columns, 10_000))
    }

    fn write(&mut self, bytes: &str) {
        self.0.process(bytes.as_bytes());
    }

    /// Every row since the beginning, without what is empty at the end.
    fn all(&mut self) -> Vec<String> {
        let (rows, columns) = self.0.screen().size();
        self.0.screen_mut().set_scrollback(usize::MAX);
        let scrolled = self.0.screen().scrollback();
        let mut all = Vec::new();
        for back in (0..=scrolled).rev() {
            self.0.screen_mut().set_scrollback(back);
            let row = self.0.screen().rows(0, columns).next().unwrap_or_default();
            all.push(row);
        }
        all.extend(self.0.screen().rows(0, columns).skip(1).take(usize::from(rows)));
        let mut all: Vec<String> = all.iter().map(|row| row.trim_end().to_owned()).collect();
        while all.last().is_some_and(String::is_empty) {
            all.pop();
        }
        all
    }
}

fn row(text: &str) -> Row {
    Row::new(text, Style::default())
}

#[test]
fn what_is_done_flows_away_and_what_lives_changes() {
    let (mut painter, mut screen) = (Painter::new(20, 6), Screen::new(20, 6));
    screen.write(&painter.frame(&[], &[row("› dra"), row("status")], Some((0, 5))));
    assert_eq!(screen.0.screen().cursor_position(), (0, 5));
    for i in 0..12 {
        screen.write(&painter.frame(
            &[row(&format!("line {i}"))],
            &[row("› draft"), row("status 2")],
            Some((0, 7)),
        ));
    }
    let mut expected: Vec<String> = (0..12).map(|i| format!("line {i}")).collect();
    expected.extend(["› draft".to_owned(), "status 2".to_owned()]);
    assert_eq!(screen.all(), expected);
    screen.write(&painter.frame(&[], &[row("›")], None));
    expected.truncate(12);
    expected.push("›".to_owned());
    assert_eq!(screen.all(), expected);
}

#[test]
fn a_word_that_streams_costs_little_more_than_its_letters() {
    let mut painter = Painter::new(80, 24);
    painter.frame(
        &[],
        &[row("It is warm"), row("› "), row("claude · 12 %")],
        Some((1, 2)),
    );
    let bytes = painter.frame(
        &[],
        &[row("It is warm in Beijing"), row("› "), row("claude · 12 %")],
        Some((1, 2)),
    );
    assert!(
        bytes.contains(" in Beijing") && !bytes.contains("warm"),
        "{bytes:?}"
    );
    assert!(bytes.len() < 11 + 25, "{} bytes: {bytes:?}", bytes.len());
    let nothing = painter.frame(
        &[],
        &[row("It is warm in Beijing"), row("› "), row("claude · 12 %")],
        Some((1, 2)),
    );
    assert_eq!(nothing, "");
}

#[test]
fn a_link_begins_and_ends_with_its_words() {
    let mut answer = Markdown::new(40, Theme::dark().with_links(true));
    answer.push("Read [this](https://a.b/c)");
    let mut painter = Painter::new(40, 6);
    let bytes = painter.frame(&[], &answer.live(), None);
    assert!(
        bytes.contains("\u{1b}]8;;https://a.b/c\u{1b}\\\u{1b}[4;94mthis\u{1b}[m\u{1b}]8;;\u{1b}\\"),
        "{bytes:?}"
    );
    answer.push(" now.");
    assert!(
        painter.frame(&[], &answer.live(), None).ends_with(" now."),
        "what stands is not written again"
    );
}

#[test]
fn what_stays_below_is_moved_and_not_written_again() {
    let (mut painter, mut screen) = (Painter::new(40, 6), Screen::new(40, 6));
    let status = row("opus answers · 2s · Esc stops");
    let mut expected = Vec::new();
    for i in 0..20 {
        let bytes = painter.frame(
            &[row(&format!("line {i}"))],
            &[row("half"), status.clone()],
            Some((0, 4)),
        );
        assert!(i == 0 || !bytes.contains("Esc stops"), "{bytes:?}");
        screen.write(&bytes);
        expected.push(format!("line {i}"));
        let shown = [&expected[..], &["half".to_owned(), status.text()]].concat();
        assert_eq!(screen.all(), shown);
    }
}

#[test]
fn a_narrower_terminal_keeps_every_line_once() {
    let (mut painter, mut screen) = (Painter::new(40, 10), Screen::new(40, 10));
    screen.write(&painter.frame(
        &[row("first"), row("second")],
        &[row("› half"), row("status")],
        Some((0, 6)),
    ));
    screen.0.screen_mut().set_size(10, 20);
    screen.write(&painter.resize(20, 10));
    screen.write(&painter.frame(&[row("third")], &[row("› half"), row("status")], Some((0, 6))));
    assert_eq!(screen.all(), ["first", "second", "third", "› half", "status"]);
}

#[test]
fn a_stream_beside_a_status_costs_at_most_three_bytes_a_byte() {
    let text =
        "The **harbour** of the old town was quiet, and `nobody` came for the boats that were tied there. "
            .repeat(40);
    let mut painter = Painter::new(80, 24);
    let mut answer = Markdown::new(80, Theme::dark());
    let mut written = 0;
    // Eight deltas of five letters are what comes between two frames.
    let letters: Vec<char> = text.chars().collect();
    for piece in letters.chunks(40) {
        answer.push(&piece.iter().collect::<String>());
        let mut live = answer.live();
        let line = live.len();
        live.extend([row("› "), row("claude · 12 % · $0.02")]);
        written += painter.frame(&answer.take_done(), &live, Some((line, 2))).len();
    }
    assert!(written <= text.len() * 3, "{written} bytes for {}", text.len());
}

proptest! {
    #[test]
    fn frames_of_anything_show_what_they_say(
        frames in prop::collection::vec(
            (prop::collection::vec("[a-z你👍 ]{0,14}", 0..5), prop::collection::vec("[a-z你👍 ]{0,14}", 0..4)),
            1..14,
        ),
    ) {
        let (mut painter, mut screen) = (Painter::new(12, 6), Screen::new(12, 6));
        let mut expected: Vec<String> = Vec::new();
        let mut live_rows: Vec<String> = Vec::new();
        for (done, live) in &frames {
            let rows = |texts: &[String]| texts.iter().map(|text| row(text).cut(12)).collect::<Vec<Row>>();
            let (done, live) = (rows(done), rows(live));
            screen.write(&painter.frame(&done, &live, None));
            expected.extend(done.iter().map(|row| row.text().trim_end().to_owned()));
            live_rows = live.iter().map(|row| row.text().trim_end().to_owned()).collect();
        }
        expected.extend(live_rows);
        while expected.last().is_some_and(String::is_empty) {
            expected.pop();
        }
        prop_assert_eq!(screen.all(), expected);
    }
}
