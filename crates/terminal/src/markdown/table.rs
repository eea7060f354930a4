//! Tables: as wide as needed, narrower on a narrow terminal, and a list of records if even that does not fit.

use pulldown_cmark::Alignment;

use crate::style::{Style, Theme};
use crate::text::{Line, Row, Span};

/// No column is made narrower than this.
const NARROWEST: usize = 6;
/// The separator of two columns.
const BETWEEN: &str = "  ";

/// A table while it is read.
pub(super) struct MarkdownTable {
    alignments: Vec<Alignment>,
    /// The cells of each row; the first row is the head.
    rows: Vec<Vec<Line>>,
}

impl MarkdownTable {
    pub(super) fn new(alignments: Vec<Alignment>) -> Self {
        Self {
            alignments,
            rows: Vec::new(),
        }
    }

    pub(super) fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn cell(&mut self, spans: Vec<Span>) {
        if let Some(row) = self.rows.last_mut() {
            row.push(Line {
                spans,
                ..Line::default()
            });
        }
    }

    /// The lines of it, none wider than `room`.
    pub(super) fn lines(&self, room: usize, theme: &Theme) -> Vec<Line> {
        let Some(widths) = self.widths(room) else {
            return self.records(theme);
        };
        let mut lines = Vec::new();
        for (i, row) in self.rows.iter().enumerate() {
            let style = if i == 0 { theme.strong } else { Style::default() };
            lines.extend(self.row(row, &widths, style));
            if i == 0 {
                let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(Line::new(&rules.join(BETWEEN), theme.faint));
            }
        }
        lines
    }

    /// Returns the widths of the columns; `None` if they do not fit.
    fn widths(&self, room: usize) -> Option<Vec<usize>> {
        let columns = self.alignments.len();
        let mut widths = vec![1; columns];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell_width(cell).max(*width);
            }
        }
        let room = room.checked_sub(BETWEEN.len() * columns.saturating_sub(1))?;
        while widths.iter().sum::<usize>() > room {
            let widest = widths.iter_mut().max()?;
            if *widest <= NARROWEST {
                return None;
            }
            *widest -= 1;
        }
        Some(widths)
    }

    fn row(&self, cells: &[Line], widths: &[usize], style: Style) -> Vec<Line> {
        let empty = Line::default();
        let broken: Vec<Vec<Row>> = widths
            .iter()
            .enumerate()
            .map(|(i, width)| cells.get(i).unwrap_or(&empty).rows(*width))
            .collect();
        let height = broken.iter().map(Vec::len).max().unwrap_or(0);
        let line = |at: usize| {
            let mut line = Line {
                verbatim: true,
                ..Line::default()
            };
            for (i, (rows, width)) in broken.iter().zip(widths).enumerate() {
                let row = rows.get(at).cloned().unwrap_or_default();
                let free = width.saturating_sub(row.width());
                let before = match self.alignments.get(i) {
                    Some(Alignment::Right) => free,
                    Some(Alignment::Center) => free / 2,
                    _ => 0,
                };
                line.push(if i > 0 { BETWEEN } else { "" }, Style::default());
                line.push(&" ".repeat(before), Style::default());
                for span in &row.spans {
                    let look = span.style.with(style);
                    match &span.link {
                        Some(link) => line.push_link(&span.text, look, link),
                        None => line.push(&span.text, look),
                    }
                }
                if i + 1 < widths.len() {
                    line.push(&" ".repeat(free - before), Style::default());
                }
            }
            line
        };
        (0..height).map(line).collect()
    }

    /// Each row as lines of `head: cell`.
    fn records(&self, theme: &Theme) -> Vec<Line> {
        let Some((head, rows)) = self.rows.split_first() else {
            return Vec::new();
        };
        let mut lines = Vec::new();
        for (i, row) in rows.iter().enumerate() {
            if i > 0 {
                lines.push(Line::new("─", theme.faint));
            }
            for (name, cell) in head.iter().zip(row) {
                let mut line = Line::default();
                name.spans
                    .iter()
                    .for_each(|span| line.push(&span.text, span.style.with(theme.strong)));
                line.push(": ", theme.strong);
                line.spans.extend(cell.spans.clone());
                lines.push(line);
            }
        }
        lines
    }
}

fn cell_width(cell: &Line) -> usize {
    cell.spans.iter().map(|span| crate::text::width(&span.text)).sum()
}
