//! The result of a frame's bytes on a screen, as an independent terminal model sees them.

use agentx_terminal::{LongRows, Markdown, Painter, Row, Style, Theme};
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

    /// Becomes narrower, as terminals do that do so.
    fn narrow(&mut self, columns: u16, long: LongRows) {
        let rows = self.0.screen().size().0;
        match long {
            LongRows::Cut => self.0.screen_mut().set_size(rows, columns),
            LongRows::Broken => self.break_anew(columns),
        }
    }

    fn break_anew(&mut self, columns: u16) {
        let rows = self.0.screen().size().0;
        self.become_size(columns, rows);
    }

    /// Takes another size as tmux does. A lower terminal drops rows below the cursor first, written or not;
    /// then rows at the top scroll away. A higher one takes them back. At another width each line takes as
    /// many rows as it needs, and the cursor stays with its letter. A row that the terminal broke itself is
    /// one line with the next.
    fn become_size(&mut self, columns: u16, height: u16) {
        let (rows, width) = self.0.screen().size();
        let (row, column) = self.0.screen().cursor_position();
        let mut all = self.rows();
        let at = all.len() - usize::from(rows - row);
        let dropped = rows.saturating_sub(height).min(rows - 1 - row);
        all.truncate(all.len() - usize::from(dropped));
        let (mut lines, mut cursor) = (Vec::<String>::new(), (0, 0));
        let mut continues = false;
        for (i, row) in all.into_iter().enumerate() {
            let before = match lines.last_mut().filter(|_| continues) {
                Some(line) => {
                    let before = line.chars().count();
                    line.push_str(&row.text);
                    before
                }
                None => {
                    lines.push(row.text);
                    0
                }
            };
            if i == at {
                cursor = (lines.len() - 1, before + usize::from(column.min(width - 1)));
            }
            continues = row.is_wrapped;
        }
        let (at, column) = cursor;
        while lines.len() > at + 1 && lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        let takes = |line: &String| line.chars().count().max(1).div_ceil(columns.into());
        let below: usize = lines[at + 1..].iter().map(takes).sum();
        let last = takes(&lines[at]) - 1;
        let before = (column / usize::from(columns)).min(last);
        let up = below + last - before;
        let column = column - before * usize::from(columns);
        *self = Self::new(columns, height);
        self.write(&lines.join("\r\n"));
        self.write("\r");
        if up > 0 {
            self.write(&format!("\u{1b}[{up}A"));
        }
        if column > 0 {
            self.write(&format!("\u{1b}[{column}C"));
        }
    }

    /// Every row since the beginning, without what is empty at the end.
    fn all(&mut self) -> Vec<String> {
        let mut all: Vec<String> = self.rows().into_iter().map(|row| row.text).collect();
        while all.last().is_some_and(String::is_empty) {
            all.pop();
        }
        all
    }

    /// Every line since the beginning, as a person copies them: rows that the terminal broke are one line.
    fn lines(&mut self) -> Vec<String> {
        let mut lines = vec![String::new()];
        for row in self.rows() {
            if let Some(line) = lines.last_mut() {
                line.push_str(&row.text);
            }
            if !row.is_wrapped {
                lines.push(String::new());
            }
        }
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }

    fn rows(&mut self) -> Vec<ScreenRow> {
        let (rows, columns) = self.0.screen().size();
        self.0.screen_mut().set_scrollback(usize::MAX);
        let scrolled = self.0.screen().scrollback();
        let mut all = Vec::new();
        for back in (0..=scrolled).rev() {
            self.0.screen_mut().set_scrollback(back);
            all.extend(self.seen(columns).into_iter().next());
        }
        all.extend(self.seen(columns).into_iter().skip(1).take(usize::from(rows)));
        all
    }

    /// The rows that are in sight.
    fn seen(&self, columns: u16) -> Vec<ScreenRow> {
        let rows = self.0.screen().rows(0, columns);
        let seen = rows.zip(0..).map(|(text, at)| {
            let is_wrapped = self.0.screen().row_wrapped(at);
            let text = if is_wrapped {
                text.as_str()
            } else {
                text.trim_end()
            };
            ScreenRow {
                text: text.to_owned(),
                is_wrapped,
            }
        });
        seen.collect()
    }
}

/// A row of the terminal, and whether the terminal broke a line behind it.
struct ScreenRow {
    text: String,
    is_wrapped: bool,
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

/// The terminal model does not put signs together: a hand with a colour takes four columns there, and two by
/// our count.
#[test]
fn signs_that_take_other_columns_on_this_terminal_swallow_no_letters() {
    let (mut painter, mut screen) = (Painter::new(40, 6), Screen::new(40, 6));
    let mut said = String::new();
    for piece in ["a 👍🏽", " and", " b ❤️", " c 👩‍👩‍👧", " Q 🇩🇪", " e", " the end"]
    {
        said.push_str(piece);
        // The row below moves the cursor away, as what is waited for does.
        screen.write(&painter.frame(&[], &[row(&said), row(&format!("{} s", said.len()))], None));
        assert_eq!(screen.all()[0], said);
        let at = said.find('Q').unwrap_or(said.len());
        let column = Row::new(&said[..at], Style::default()).width();
        screen.write(&painter.frame(&[], &[row(&said), row("")], Some((0, column))));
        assert_eq!(screen.all()[0], said);
    }
    screen.write("X");
    assert_eq!(
        screen.all()[0],
        said.replace('Q', "X"),
        "the cursor is at its letter"
    );
    screen.write(&painter.frame(&[], &[row("a 👍"), row("")], None));
    assert_eq!(screen.all(), ["a 👍"], "nothing is left of what was longer there");
}

#[test]
fn rows_that_are_longer_on_this_terminal_stay_rows() {
    let text = "a hand 👍🏽 and ".repeat(12);
    let rows = agentx_terminal::Line::new(text.trim(), Style::default()).rows(40);
    let (mut painter, mut screen) = (Painter::new(40, 12), Screen::new(40, 12));
    for upto in 1..=rows.len() {
        screen.write(&painter.frame(&[], &rows[..upto], None));
    }
    screen.write(&painter.frame(&rows, &[row("› ")], None));
    let mut expected: Vec<String> = rows.iter().map(Row::text).collect();
    expected.push("›".to_owned());
    assert_eq!(screen.all(), expected);
}

#[test]
fn a_narrower_terminal_keeps_every_line_once() {
    let (mut painter, mut screen) = (Painter::new(40, 10), Screen::new(40, 10));
    screen.write(&painter.frame(
        &[row("first"), row("second")],
        &[row("› half"), row("status")],
        Some((0, 6)),
    ));
    screen.narrow(20, LongRows::Cut);
    painter.resize(20, 10, LongRows::Cut);
    screen.write(&painter.frame(&[row("third")], &[row("› half"), row("status")], Some((0, 6))));
    assert_eq!(screen.all(), ["first", "second", "third", "› half", "status"]);
}

#[test]
fn a_burst_of_sizes_leaves_no_row_twice() {
    // The program hears of each size, but the terminal has the last one when the frame is written.
    for (before, last) in [(&[18][..], 26_u16), (&[26], 18), (&[12], 38), (&[18, 33, 15], 22)] {
        let (mut painter, mut screen) = (Painter::new(40, 12), Screen::new(40, 12));
        let done = [row("first"), row("second")];
        let live = [
            row("a row of thirty-one letters now"),
            row("› half"),
            row("status"),
        ];
        screen.write(&painter.frame(&done, &live, Some((1, 6))));
        for columns in before {
            painter.resize(*columns, 12, LongRows::Broken);
        }
        painter.resize(last.into(), 12, LongRows::Broken);
        assert_eq!((painter.columns(), painter.most()), (last.into(), 11));
        screen.narrow(last, LongRows::Broken);
        screen.write(&painter.frame(&[], &[row("› half"), row("status")], Some((0, 6))));
        assert_eq!(
            screen.all(),
            ["first", "second", "› half", "status"],
            "{before:?}, {last}"
        );
    }
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

/// An answer in frames of a few letters, above a line for input, on a terminal of 20 columns; in the end it
/// flows away.
fn streamed(text: &str, painter: &mut Painter, screen: &mut Screen) {
    let mut answer = Markdown::new(20, Theme::dark());
    let letters: Vec<char> = text.chars().collect();
    for piece in letters.chunks(3) {
        answer.push(&piece.iter().collect::<String>());
        let done = answer.take_done();
        let mut live = answer.live();
        live.extend([row("› "), row("status")]);
        let cursor = Some((live.len() - 2, 2));
        screen.write(&painter.frame(&done, &live, cursor));
    }
    answer.end();
    screen.write(&painter.frame(&answer.take_done(), &[row("› "), row("status")], Some((0, 2))));
}

const LONG_CODE: &str = "let a_long_name = another_long_name(with, some, words);";

#[test]
fn a_long_line_of_code_is_copied_as_one_line() {
    let wide = "let 名前 = \"一二三四五六七八九十一二三四五\";";
    for code in [LONG_CODE, wide] {
        let (mut painter, mut screen) = (Painter::new(20, 8), Screen::new(20, 8));
        let text = format!("Look:\n\n```rust\n{code}\nx();\n```\n\nDone.\n");
        streamed(&text, &mut painter, &mut screen);
        let expected = [
            "Look:",
            "",
            &format!("  {code}"),
            "  x();",
            "",
            "Done.",
            "›",
            "status",
        ];
        assert_eq!(screen.lines(), expected);
    }
}

#[test]
fn a_long_line_of_code_in_a_list_is_copied_as_one_line_too() {
    let (mut painter, mut screen) = (Painter::new(20, 8), Screen::new(20, 8));
    let text = format!("- one:\n\n  ```\n  {LONG_CODE}\n  ```\n");
    streamed(&text, &mut painter, &mut screen);
    assert!(
        screen.lines().contains(&format!("    {LONG_CODE}")),
        "{:?}",
        screen.lines()
    );
}

#[test]
fn a_narrower_terminal_breaks_code_that_lives_anew() {
    for columns in 8..20 {
        for (live, name) in [(true, "lives"), (false, "is done")] {
            let (mut painter, mut screen) = (Painter::new(20, 12), Screen::new(20, 12));
            screen.write(&painter.frame(&[row("first")], &[row("›")], None));
            let mut answer = Markdown::new(20, Theme::dark());
            answer.push(&format!("```\n{LONG_CODE}"));
            if !live {
                answer.end();
            }
            let mut rows = answer.live();
            rows.push(row("› half"));
            let cursor = Some((rows.len() - 1, 6));
            screen.write(&painter.frame(&answer.take_done(), &rows, cursor));
            screen.narrow(columns, LongRows::Broken);
            painter.resize(columns.into(), 12, LongRows::Broken);
            answer.set_columns(columns.into());
            let mut rows = answer.live();
            rows.push(row("› half"));
            screen.write(&painter.frame(&[], &rows, None));
            let expected = ["first", &format!("  {LONG_CODE}"), "› half"];
            assert_eq!(screen.lines(), expected, "{columns} columns, and the code {name}");
        }
    }
}

/// A stream of lines above a status, on a terminal of which the program hears late.
struct ResizedStream {
    painter: Painter,
    screen: Screen,
    /// The size that the terminal has and has not told yet.
    untold: Option<(u16, u16)>,
    lines: usize,
    done: Vec<String>,
    live: Vec<String>,
}

impl ResizedStream {
    fn new(columns: u16, rows: u16) -> Self {
        Self {
            painter: Painter::new(columns.into(), rows.into()),
            screen: Screen::new(columns, rows),
            untold: None,
            lines: 0,
            done: Vec::new(),
            live: Vec::new(),
        }
    }

    fn resize(&mut self, columns: u16, rows: u16) {
        self.screen.become_size(columns, rows);
        self.untold = Some((columns, rows));
    }

    /// The program hears of the size, and no other one comes.
    fn tell(&mut self) {
        if let Some((columns, rows)) = self.untold.take() {
            self.painter.resize(columns.into(), rows.into(), LongRows::Broken);
        }
    }

    /// Paints a frame with so many new lines, of which the last ones stay alive.
    fn paint(&mut self, new: usize, stay: usize) {
        let columns = self.painter.columns();
        for _ in 0..new {
            self.live.push(format!("line {} of a long stream", self.lines));
            self.lines += 1;
        }
        let finished = self.live.len().saturating_sub(stay);
        let done: Vec<String> = self.live.drain(..finished).collect();
        let rows =
            |texts: &[String]| -> Vec<Row> { texts.iter().map(|text| row(text).cut(columns)).collect() };
        let mut live = rows(&self.live);
        let cursor = live.last().map(|row| (live.len() - 1, row.width()));
        live.push(row(&format!("status {}", self.lines)).cut(columns));
        self.screen
            .write(&self.painter.frame(&rows(&done), &live, cursor));
        self.done.extend(done);
    }

    /// Returns the heads of all lines on the screen and above it.
    fn heads(&mut self) -> Vec<String> {
        let lines = self.screen.lines().into_iter();
        let head = |line: String| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
        lines.map(head).filter(|head| head.starts_with("line ")).collect()
    }

    fn expected(&self) -> Vec<String> {
        (0..self.lines).map(|line| format!("line {line}")).collect()
    }
}

#[test]
fn a_lower_terminal_that_tells_its_height_late_loses_no_line() {
    for stay in 0..3 {
        let mut stream = ResizedStream::new(40, 20);
        for height in (8..20).rev() {
            stream.paint(2, stay);
            stream.resize(40, height);
            stream.paint(1, stay);
            if height % 4 == 0 {
                stream.tell();
            }
        }
        stream.tell();
        stream.paint(1, stay);
        assert_eq!(stream.heads(), stream.expected());
    }
}

#[test]
fn a_width_in_doubt_loses_no_line() {
    // Each size is told only when the terminal has the next one already.
    let mut stream = ResizedStream::new(40, 12);
    stream.painter.set_settled(false);
    for pair in [(14, 40), (40, 12), (12, 40), (30, 13), (13, 38), (38, 40)] {
        stream.paint(2, 2);
        let (told, has): (u16, u16) = pair;
        stream.painter.resize(told.into(), 12, LongRows::Broken);
        stream.resize(has, 12);
    }
    stream.painter.set_settled(true);
    stream.tell();
    stream.paint(1, 0);
    let heads = last_of_each(stream.heads());
    assert_eq!(heads, stream.expected(), "{:?}", stream.screen.all());
}

/// Returns each head once, where it stands last.
fn last_of_each(heads: Vec<String>) -> Vec<String> {
    let mut last: Vec<String> = Vec::new();
    for head in heads.into_iter().rev().filter(|head| !head.is_empty()) {
        if !last.contains(&head) {
            last.push(head);
        }
    }
    last.reverse();
    last
}

/// Returns the rows on a terminal that has become narrower.
fn narrowed(rows: &[String], columns: usize, long: LongRows) -> Vec<String> {
    let pieces = |row: &String| {
        let letters: Vec<char> = row.chars().collect();
        let mut pieces: Vec<String> = letters
            .chunks(columns)
            .map(|piece| piece.iter().collect())
            .collect();
        if pieces.is_empty() || long == LongRows::Cut {
            pieces.resize(1, String::new());
        }
        pieces
    };
    rows.iter().flat_map(pieces).collect()
}

proptest! {
    #[test]
    fn a_stream_keeps_each_line_once_on_a_terminal_that_changes_its_height(
        steps in prop::collection::vec(
            (0usize..4, 0usize..3, prop::collection::vec(8u16..30, 0..4), any::<bool>()),
            1..20,
        ),
    ) {
        let mut stream = ResizedStream::new(40, 24);
        for (new, stay, heights, tells) in steps {
            stream.paint(new, stay);
            for height in heights {
                stream.resize(40, height);
            }
            if tells {
                stream.tell();
            }
        }
        stream.tell();
        stream.paint(1, 0);
        prop_assert_eq!(stream.heads(), stream.expected());
    }

    #[test]
    fn a_stream_keeps_each_line_once_on_a_terminal_that_changes_its_size_between_frames(
        steps in prop::collection::vec(
            (0usize..4, 0usize..3, prop::collection::vec((12u16..40, 12u16..30), 0..4)),
            1..20,
        ),
    ) {
        let mut stream = ResizedStream::new(40, 24);
        for (new, stay, sizes) in steps {
            stream.paint(new, stay);
            for (columns, rows) in sizes {
                stream.resize(columns, rows);
            }
            stream.tell();
        }
        stream.paint(1, 0);
        prop_assert_eq!(stream.heads(), stream.expected());
    }

    #[test]
    fn a_stream_loses_no_line_while_the_size_is_in_doubt(
        steps in prop::collection::vec(
            (0usize..4, 0usize..3, (12u16..40, 12u16..30), (12u16..40, 12u16..30)),
            1..20,
        ),
    ) {
        let mut stream = ResizedStream::new(40, 24);
        stream.painter.set_settled(false);
        for (new, stay, told, has) in steps {
            stream.paint(new, stay);
            stream.painter.resize(told.0.into(), told.1.into(), LongRows::Broken);
            stream.resize(has.0, has.1);
        }
        stream.painter.set_settled(true);
        stream.tell();
        stream.paint(1, 0);
        prop_assert_eq!(last_of_each(stream.heads()), stream.expected());
    }

    #[test]
    fn a_terminal_that_becomes_narrower_loses_no_row_and_keeps_nothing_twice(
        done in prop::collection::vec("[a-z]{0,30}", 0..30),
        live in prop::collection::vec("[a-z]{0,30}", 1..5),
        cursor in (0usize..4, 0usize..30),
        steps in prop::collection::vec(8u16..30, 1..4),
        paints: bool,
        breaks: bool,
    ) {
        let long = if breaks { LongRows::Broken } else { LongRows::Cut };
        let rows = |texts: &[String]| texts.iter().map(|text| row(text)).collect::<Vec<Row>>();
        let (mut painter, mut screen) = (Painter::new(30, 20), Screen::new(30, 20));
        let cursor = (cursor.0.min(live.len() - 1), cursor.1);
        screen.write(&painter.frame(&rows(&done), &rows(&live), Some(cursor)));
        let (mut columns, mut expected) = (30, done.clone());
        for step in steps.into_iter().filter(|step| *step < 30) {
            if step >= columns {
                continue;
            }
            columns = step;
            // A terminal that breaks lines still knows them whole; one that cuts rows has lost what it cut
            // off.
            let known = if breaks { &done } else { &expected };
            expected = narrowed(known, columns.into(), long);
            screen.narrow(columns, long);
            painter.resize(columns.into(), 20, long);
            if paints {
                screen.write(&painter.frame(&[], &rows(&live), Some(cursor)));
            }
        }
        screen.write(&painter.frame(&[], &rows(&live), Some(cursor)));
        expected.extend(live.iter().map(|text| row(text).cut(columns.into()).text()));
        while expected.last().is_some_and(String::is_empty) {
            expected.pop();
        }
        prop_assert_eq!(screen.all(), expected);
    }

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
