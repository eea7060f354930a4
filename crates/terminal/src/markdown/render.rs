//! Renders one block of Markdown to lines, by folding the parser's events.

use std::sync::Arc;

use pulldown_cmark::{CowStr, Event, Tag, TagEnd};

use super::events;
use super::footnotes::{FootnoteDefinition, FootnoteReference};
use super::links::can_be_followed;
use super::table::MarkdownTable;
use crate::highlight::Highlighter;
use crate::style::{Style, Theme};
use crate::text::{Line, Row};

/// The prefix of a line of code.
const CODE_MARGIN: &str = "  ";

/// The lines of a block, for this number of columns.
pub(super) fn block(text: &str, theme: &Theme, columns: usize) -> Vec<Line> {
    let mut fold = Fold::new(theme, columns);
    if let Some(footnote) = FootnoteDefinition::read(text) {
        // The mark leaves room for the text beside it.
        let mark = Row::new(&footnote.mark(), Style::default()).cut((columns / 3).max(6));
        fold.hang(&format!("{} ", mark.text()));
        events::read(&footnote.body(), |event| fold.event(event));
        fold.end_line();
        fold.outdent();
    } else {
        events::read(text, |event| fold.event(event));
    }
    fold.done()
}

/// A line of code with its colours. Its other rows have no prefix, so that it is copied as one line.
pub(super) fn code(parts: &[(String, Style)], theme: &Theme) -> Line {
    let mut line = Line {
        verbatim: true,
        first: Row::new(CODE_MARGIN, theme.faint),
        ..Line::default()
    };
    for (text, style) in parts {
        line.push(&text.replace('\t', "    "), *style);
    }
    line
}

/// A line of code without.
pub(super) fn plain_code(text: &str, theme: &Theme) -> Line {
    code(&[(text.to_owned(), Style::default())], theme)
}

struct Fold<'a> {
    theme: &'a Theme,
    columns: usize,
    lines: Vec<Line>,
    line: Line,
    /// Something of the line has been said.
    begun: bool,
    /// The styles of the open elements, the innermost last.
    styles: Vec<Style>,
    /// The number of the next item in each open list, the innermost last; `None` in one without numbers.
    lists: Vec<Option<u64>>,
    /// The prefix of rows in the open containers.
    margin: Row,
    /// The prefix of the next line instead of the margin: a bullet.
    bullet: Option<Row>,
    margins: Vec<Row>,
    link: Option<Arc<str>>,
    linked: String,
    code: Option<Highlighter>,
    table: Option<MarkdownTable>,
    /// Whether the paragraph before needs an empty row after it.
    apart: bool,
}

impl<'a> Fold<'a> {
    fn new(theme: &'a Theme, columns: usize) -> Self {
        Self {
            theme,
            columns,
            lines: Vec::new(),
            line: Line::default(),
            begun: false,
            styles: Vec::new(),
            lists: Vec::new(),
            margin: Row::default(),
            bullet: None,
            margins: Vec::new(),
            link: None,
            linked: String::new(),
            code: None,
            table: None,
            apart: false,
        }
    }

    fn done(mut self) -> Vec<Line> {
        self.end_line();
        self.lines
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) if self.theme.marks => self.say(&format!("`{text}`"), Style::default()),
            Event::Code(text) => self.say(&text, self.theme.code),
            Event::Html(text) | Event::InlineHtml(text) => self.literal(&text),
            // Models break a line where they mean a new one, and seldom mark that as Markdown wants it.
            Event::SoftBreak | Event::HardBreak => self.break_line(),
            Event::Rule => {
                self.begin_block();
                self.open_line();
                let rule = "─".repeat(self.columns.saturating_sub(self.margin.width()).min(40));
                self.line.push(&rule, self.theme.faint);
                self.end_line();
                self.apart = true;
            }
            Event::TaskListMarker(done) => self.say(if done { "☑ " } else { "☐ " }, Style::default()),
            // The parser is not asked for these.
            Event::FootnoteReference(_) | Event::InlineMath(_) | Event::DisplayMath(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.begin_block(),
            Tag::Heading { level, .. } => {
                self.begin_block();
                self.styles.push(self.theme.heading);
                if !self.theme.color {
                    self.say(&format!("{} ", "#".repeat(level as usize)), Style::default());
                }
            }
            Tag::BlockQuote(alert) => {
                self.begin_block();
                self.indent("│ ", self.theme.faint);
                self.styles.push(self.theme.quote);
                if let Some(alert) = alert {
                    self.say(events::title_of(alert), self.theme.strong);
                    self.end_line();
                }
            }
            Tag::CodeBlock(kind) => {
                self.begin_block();
                let language = match kind {
                    pulldown_cmark::CodeBlockKind::Fenced(language) => language,
                    pulldown_cmark::CodeBlockKind::Indented => CowStr::Borrowed(""),
                };
                self.code = Some(Highlighter::new(&language));
            }
            Tag::List(first) => {
                self.end_line();
                self.apart = false;
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::Emphasis => self.turn("*", Some(self.theme.emphasis)),
            Tag::Strong => self.turn("**", Some(self.theme.strong)),
            Tag::Strikethrough => self.turn("~~", Some(self.theme.gone)),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.styles.push(self.theme.link);
                (self.link, self.linked) = (Some(Arc::from(&*dest_url)), String::new());
            }
            Tag::Table(alignments) => {
                self.begin_block();
                self.table = Some(MarkdownTable::new(alignments));
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.begin_row();
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => {
                self.end_line();
                self.apart = true;
            }
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.end_line();
                self.apart = true;
            }
            TagEnd::BlockQuote(_) => {
                self.styles.pop();
                self.end_line();
                self.outdent();
                self.apart = true;
            }
            TagEnd::CodeBlock => {
                self.code = None;
                self.apart = true;
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.apart = self.lists.is_empty();
            }
            TagEnd::Item => {
                self.end_line();
                self.outdent();
                self.apart = false;
            }
            TagEnd::Emphasis => self.turn("*", None),
            TagEnd::Strong => self.turn("**", None),
            TagEnd::Strikethrough => self.turn("~~", None),
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::Table => self.end_table(),
            TagEnd::TableCell => {
                if let Some(table) = &mut self.table {
                    table.cell(std::mem::take(&mut self.line.spans));
                    self.begun = false;
                }
            }
            _ => {}
        }
    }

    /// Begins another look, or ends the last one. If the theme keeps marks, adds the mark.
    fn turn(&mut self, mark: &str, begins: Option<Style>) {
        if begins.is_none() {
            self.styles.pop();
        }
        if self.theme.marks {
            self.say(mark, Style::default());
        }
        self.styles.extend(begins);
    }

    fn item(&mut self) {
        self.end_line();
        let bullet = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "• ".to_owned(),
        };
        self.hang(&bullet);
    }

    /// Begins a part with a mark before its first row; its other rows are indented as far. If the part begins
    /// another one, the row has both marks.
    fn hang(&mut self, mark: &str) {
        let blank = " ".repeat(crate::text::width(mark));
        let mut first = self.bullet.take().unwrap_or_else(|| self.margin.clone());
        first.push(mark, self.theme.faint);
        self.indent(&blank, Style::default());
        self.bullet = Some(first);
    }

    fn end_link(&mut self) {
        self.styles.pop();
        let Some(url) = self.link.take() else { return };
        // A link whose text is its address is not printed twice. A link whose text is another address is
        // printed with its own.
        let is_same = url.trim_start_matches("mailto:") == self.linked;
        let is_followed = self.theme.links && can_be_followed(&url) && !self.linked.contains("://");
        if !is_same && !is_followed && !url.is_empty() {
            self.say(&format!(" ({url})"), self.theme.faint);
        }
    }

    fn end_table(&mut self) {
        let Some(table) = self.table.take() else { return };
        let room = self.columns.saturating_sub(self.margin.width());
        for line in table.lines(room, self.theme) {
            self.open_line();
            self.line.spans.extend(line.spans);
            self.line.verbatim = line.verbatim;
            self.end_line();
        }
        self.apart = true;
    }

    fn text(&mut self, text: &str) {
        if let Some(code) = &mut self.code {
            let theme = *self.theme;
            let lines: Vec<Line> = text
                .lines()
                .map(|line| self::code(&code.line(line, &theme), &theme))
                .collect();
            for line in lines {
                self.end_line();
                self.open_line();
                self.line.first.push(CODE_MARGIN, Style::default());
                self.line.rest = Row::default();
                self.line.spans = line.spans;
                self.line.verbatim = true;
                self.end_line();
            }
            return;
        }
        let mut rest = text;
        while let Some(found) = FootnoteReference::find(rest, self.line.last_char()) {
            if !found.before.is_empty() {
                self.say(found.before, Style::default());
            }
            self.say(&format!("[{}]", found.label), self.theme.faint);
            rest = found.after;
        }
        if !rest.is_empty() {
            self.say(rest, Style::default());
        }
    }

    /// HTML is shown as it is.
    fn literal(&mut self, text: &str) {
        for (i, line) in text.split('\n').enumerate() {
            if i > 0 {
                self.end_line();
            }
            if !line.is_empty() {
                self.say(line, Style::default());
            }
        }
    }

    fn say(&mut self, text: &str, over: Style) {
        if self.table.is_none() {
            self.open_line();
        }
        if self.link.is_some() {
            self.linked.push_str(text);
        }
        let style = self
            .styles
            .iter()
            .fold(Style::default(), |all, style| all.with(*style));
        let (text, style) = (text.replace('\t', "    "), style.with(over));
        match self
            .link
            .as_ref()
            .filter(|url| self.theme.links && can_be_followed(url))
        {
            Some(url) => self.line.push_link(&text, style, url),
            None => self.line.push(&text, style),
        }
        self.begun = true;
    }

    fn begin_block(&mut self) {
        self.end_line();
        if std::mem::take(&mut self.apart) {
            self.lines.push(Line {
                first: self.margin.clone(),
                ..Line::default()
            });
        }
    }

    fn open_line(&mut self) {
        if self.begun {
            return;
        }
        self.line.first = self.bullet.take().unwrap_or_else(|| self.margin.clone());
        self.line.rest = self.margin.clone();
        self.begun = true;
    }

    fn break_line(&mut self) {
        if self.table.is_some() {
            return self.say(" ", Style::default());
        }
        if self.link.is_some() {
            self.linked.push(' ');
        }
        self.end_line();
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.begun) {
            self.lines.push(std::mem::take(&mut self.line));
        }
    }

    fn indent(&mut self, with: &str, style: Style) {
        self.margins.push(self.margin.clone());
        self.margin.push(with, style);
    }

    fn outdent(&mut self) {
        // An item without a word still has its bullet.
        if let Some(bullet) = self.bullet.take() {
            self.lines.push(Line {
                first: bullet,
                ..Line::default()
            });
        }
        self.margin = self.margins.pop().unwrap_or_default();
    }
}
