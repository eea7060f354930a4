//! A recording as a picture that moves: each piece of the screen once, with the times at which it is there,
//! as SVG with CSS keyframes. A journey says how long each screen is shown; what is on it comes from the run.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::stage::Stage;
use crate::svg::{END, begin, cursor_svg, row_svg};

/// The time for which a typed letter is shown before the next one, in milliseconds.
const LETTER_MS: u32 = 45;

/// The time for which something is on the screen: from, until, in milliseconds.
type Span = (u32, u32);

/// The screens of a journey.
pub(crate) struct Film {
    columns: u16,
    rows: u16,
    now: u32,
    /// The content of the screen: its rows, then the cursor; each with the time since when.
    shown: Vec<(u32, String)>,
    past: BTreeMap<Span, String>,
}

impl Film {
    pub(crate) fn new(columns: u16, rows: u16) -> Self {
        Self {
            columns,
            rows,
            now: 0,
            shown: vec![(0, String::new()); usize::from(rows) + 1],
            past: BTreeMap::new(),
        }
    }

    /// Shows the current screen for this time.
    pub(crate) fn hold(&mut self, stage: &Stage<'_>, milliseconds: u32) {
        let root = stage.root();
        for row in 0..self.rows {
            self.show(usize::from(row), row_svg(&stage.terminal, row, &root));
        }
        self.show(usize::from(self.rows), cursor_svg(&stage.terminal, self.rows));
        self.now += milliseconds;
    }

    fn show(&mut self, piece: usize, svg: String) {
        if self.shown[piece].1 == svg {
            return;
        }
        let (since, old) = std::mem::replace(&mut self.shown[piece], (self.now, svg));
        self.keep((since, self.now), &old);
    }

    fn keep(&mut self, span: Span, svg: &str) {
        if !svg.is_empty() && span.0 < span.1 {
            self.past.entry(span).or_default().push_str(svg);
        }
    }

    /// Types letter by letter, each once it is on the screen.
    pub(crate) fn type_in(&mut self, stage: &mut Stage<'_>, words: &str) {
        let (_, start) = stage.terminal.cursor();
        for (at, letter) in (start + 1..).zip(words.chars()) {
            stage.keys(&letter.to_string());
            stage.wait("a typed letter", |terminal| terminal.cursor().1 == at);
            self.hold(stage, LETTER_MS);
        }
    }

    /// The whole recording. Who wants no motion sees its end.
    pub(crate) fn svg(mut self, title: &str) -> String {
        let end = self.now;
        for (since, svg) in std::mem::take(&mut self.shown) {
            self.keep((since, end), &svg);
        }
        let mut style = format!(
            "<style>\n.f{{visibility:hidden;animation:{:.1}s step-end infinite}}\n.e{{visibility:visible}}\n\
             @media(prefers-reduced-motion:reduce){{.f{{animation:none!important}}}}\n",
            f64::from(end) / 1000.0
        );
        let mut text = String::new();
        for (number, (span, svg)) in self.past.iter().enumerate() {
            let class = if span.1 == end { "f e" } else { "f" };
            let _ = writeln!(style, "@keyframes k{number}{{{}}}", keyframes(*span, end));
            let _ = writeln!(
                text,
                "<g class=\"{class}\" style=\"animation-name:k{number}\">\n{svg}</g>"
            );
        }
        style.push_str("</style>\n");
        begin(self.columns, self.rows, title, &style) + &text + END
    }
}

/// The CSS keyframes that show something for a span of time.
fn keyframes((since, until): Span, end: u32) -> String {
    let percent = |time: u32| f64::from(time) * 100.0 / f64::from(end);
    let mut text = String::new();
    if since > 0 {
        text.push_str("0%{visibility:hidden}");
    }
    let _ = write!(text, "{:.3}%{{visibility:visible}}", percent(since));
    if until < end {
        let _ = write!(text, "{:.3}%{{visibility:hidden}}", percent(until));
    } else {
        text.push_str("to{visibility:visible}");
    }
    text
}
