//! A screen as a picture: its cells, letter by letter with their colours, as SVG.

use std::fmt::Write as _;

use crate::stable::row_of;
use crate::terminal::Terminal;

/// A cell, and a row, in pixels.
const CELL: f32 = 8.4;
const ROW: u16 = 18;
/// Around the screen.
const MARGIN: u16 = 14;
const GROUND: &str = "#16181d";
const LETTERS: &str = "#d6d9de";
/// The sixteen colours that a terminal names.
const NAMED: [&str; 16] = [
    "#3b4048", "#e06c75", "#98c379", "#d9b26f", "#61afef", "#c678dd", "#56b6c2", "#c8ccd4", "#7a828e",
    "#ff8690", "#b5e890", "#ffd68a", "#8ac6ff", "#e29bf5", "#7fdbe6", "#ffffff",
];

/// The style of letters.
#[derive(Clone, Debug, Default, PartialEq)]
struct Look {
    color: Option<String>,
    ground: Option<String>,
    bold: bool,
    faint: bool,
    slanted: bool,
    lined: bool,
}

/// A letter with its marks, and how many cells it takes.
struct Letter {
    text: String,
    cells: u16,
    look: Look,
}

/// Draws the current screen; `root` is the folder of its world.
pub(crate) fn svg(terminal: &Terminal, columns: u16, root: &str, title: &str) -> String {
    let used = u16::try_from(terminal.screen().len()).unwrap();
    let mut text = begin(columns, used, title, "");
    for row in 0..used {
        text += &row_svg(terminal, row, root);
    }
    text += &cursor_svg(terminal, used);
    text + END
}

/// The head of a picture of so many columns and rows.
pub(crate) fn begin(columns: u16, rows: u16, title: &str, style: &str) -> String {
    let (width, height) = (
        f32::from(columns) * CELL + f32::from(MARGIN) * 2.0,
        rows * ROW + MARGIN * 2,
    );
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height}\" viewBox=\"0 0 {width:.0} \
         {height}\" role=\"img\">\n<title>{}</title>\n{style}\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{GROUND}\"/>\n\
         <g font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, 'Noto Sans Mono CJK SC', monospace\" \
         font-size=\"14\" fill=\"{LETTERS}\" xml:space=\"preserve\">\n",
        escaped(title)
    )
}

/// The end of a picture.
pub(crate) const END: &str = "</g>\n</svg>\n";

/// A row of the screen, as it is in every run.
pub(crate) fn row_svg(terminal: &Terminal, row: u16, root: &str) -> String {
    let mut text = String::new();
    write_row(&mut text, row, &letters(terminal, row, root));
    text
}

/// The cursor, if it is in or directly below the first `used` rows.
pub(crate) fn cursor_svg(terminal: &Terminal, used: u16) -> String {
    let (row, column) = terminal.cursor();
    if row > used {
        return String::new();
    }
    let (x, y) = (left(column - 1), MARGIN + (row - 1) * ROW);
    format!(
        "<rect x=\"{x:.1}\" y=\"{y}\" width=\"{CELL}\" height=\"{ROW}\" fill=\"{LETTERS}\" opacity=\"0.6\"/>\n"
    )
}

/// Letters that look alike are written together, each where its cell is.
fn write_row(text: &mut String, row: u16, letters: &[Letter]) {
    let (top, mut column) = (MARGIN + row * ROW, 0);
    let mut rest = letters;
    while let Some(first) = rest.first() {
        let alike = rest.iter().take_while(|letter| letter.look == first.look).count();
        let (run, after) = rest.split_at(alike);
        let cells: u16 = run.iter().map(|letter| letter.cells).sum();
        let words: String = run.iter().map(|letter| letter.text.as_str()).collect();
        let wide = f32::from(cells) * CELL;
        if let Some(ground) = &first.look.ground {
            let _ = writeln!(
                text,
                "<rect x=\"{:.1}\" y=\"{top}\" width=\"{wide:.1}\" height=\"{ROW}\" fill=\"{ground}\"/>",
                left(column)
            );
        }
        if !words.trim().is_empty() {
            let _ = writeln!(
                text,
                "<text x=\"{:.1}\" y=\"{}\" textLength=\"{wide:.1}\" lengthAdjust=\"spacingAndGlyphs\"{}>{}</text>",
                left(column),
                top + 13,
                first.look.attributes(),
                escaped(&words)
            );
        }
        column += cells;
        rest = after;
    }
}

/// The letters of a row, as they are in every run, without blanks at the end.
fn letters(terminal: &Terminal, row: u16, root: &str) -> Vec<Letter> {
    let mut letters: Vec<Letter> = terminal
        .cells(row)
        .iter()
        .filter(|cell| !cell.is_wide_continuation())
        .map(|cell| Letter {
            text: if cell.has_contents() {
                cell.contents().to_owned()
            } else {
                " ".to_owned()
            },
            cells: if cell.is_wide() { 2 } else { 1 },
            look: Look::of(cell),
        })
        .collect();
    while letters
        .last()
        .is_some_and(|letter| letter.text == " " && letter.look.ground.is_none())
    {
        letters.pop();
    }
    // Whether a blank is bold or coloured depends on what was painted before; nobody sees it.
    let mut before = Look::default();
    for letter in &mut letters {
        if letter.text == " " && letter.look.ground.is_none() && !letter.look.lined {
            letter.look = Look {
                ground: None,
                lined: false,
                ..before
            };
        }
        before = letter.look.clone();
    }
    let plain: String = letters.iter().map(|letter| letter.text.as_str()).collect();
    let mut stable = row_of(&plain, root).chars().collect::<Vec<_>>().into_iter();
    for letter in &mut letters {
        letter.text = stable.by_ref().take(letter.text.chars().count()).collect();
    }
    letters.retain(|letter| !letter.text.is_empty());
    letters
}

impl Look {
    fn of(cell: &vt100::Cell) -> Self {
        let (color, ground) = (color(cell.fgcolor()), color(cell.bgcolor()));
        let (color, ground) = if cell.inverse() {
            (
                Some(ground.unwrap_or_else(|| GROUND.to_owned())),
                Some(color.unwrap_or_else(|| LETTERS.to_owned())),
            )
        } else {
            (color, ground)
        };
        Self {
            color,
            ground,
            bold: cell.bold(),
            faint: cell.dim(),
            slanted: cell.italic(),
            lined: cell.underline(),
        }
    }

    fn attributes(&self) -> String {
        let mut text = String::new();
        if let Some(color) = &self.color {
            let _ = write!(text, " fill=\"{color}\"");
        }
        let others = [
            (self.bold, " font-weight=\"bold\""),
            (self.faint, " opacity=\"0.6\""),
            (self.slanted, " font-style=\"italic\""),
            (self.lined, " text-decoration=\"underline\""),
        ];
        text.extend(
            others
                .iter()
                .filter(|(is, _)| *is)
                .map(|(_, attribute)| *attribute),
        );
        text
    }
}

fn color(color: vt100::Color) -> Option<String> {
    match color {
        vt100::Color::Default => None,
        vt100::Color::Rgb(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
        vt100::Color::Idx(index @ 0..=15) => Some(NAMED[usize::from(index)].to_owned()),
        vt100::Color::Idx(index @ 16..=231) => {
            let part = |n: u8| if n == 0 { 0 } else { 55 + n * 40 };
            let index = index - 16;
            let (red, green, blue) = (part(index / 36), part(index / 6 % 6), part(index % 6));
            Some(format!("#{red:02x}{green:02x}{blue:02x}"))
        }
        vt100::Color::Idx(index) => {
            let grey = 8 + (index - 232) * 10;
            Some(format!("#{grey:02x}{grey:02x}{grey:02x}"))
        }
    }
}

fn left(column: u16) -> f32 {
    f32::from(MARGIN) + f32::from(column) * CELL
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
