//! Renders one block of Markdown to lines, by folding the parser's events.

use std::sync::Arc;

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd};

use super::inline::closed;
use super::table::MarkdownTable;
use crate::highlight::Highlighter;
use crate::style::{Style, Theme};
use crate::text::{Line, Row};

/// The prefix of a line of code.
const CODE_MARGIN: &str = "  ";

/// Maximum length of the address of a link.
const LONGEST_LINK: usize = 2_000;

/// The lines of a block, for this number of columns.
pub(super) fn block(text: &str, theme: &Theme, columns: usize) -> Vec<Line> {
    let text = closed(text);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut fold = Fold::new(theme, columns);
    for (event, range) in Parser::new_ext(&text, options).into_offset_iter() {
        fold.event(plain_tilde(event, &text[range]));
    }
    fold.done()
}

/// Words between single tildes are not struck through: "~5 to ~10" means "about".
fn plain_tilde<'a>(event: Event<'a>, source: &str) -> Event<'a> {
    match event {
        Event::Start(Tag::Strikethrough) | Event::End(TagEnd::Strikethrough) if !source.starts_with("~~") => {
            Event::Text("~".into())
        }
        event => event,
    }
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

/// A list that is open.
struct List {
    /// The number of the next item, in an ordered list.
    next: Option<u64>,
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
    lists: Vec<List>,
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
            Event::SoftBreak => self.say(" ", Style::default()),
            Event::HardBreak => self.break_line(),
            Event::Rule => {
                self.begin_block();
                self.open_line();
                let rule = "─".repeat(self.columns.saturating_sub(self.margin.width()).min(40));
                self.line.push(&rule, self.theme.faint);
                self.end_line();
                self.apart = true;
            }
            Event::TaskListMarker(done) => self.say(if done { "☑ " } else { "☐ " }, Style::default()),
            Event::FootnoteReference(text) => self.say(&format!("[{text}]"), self.theme.faint),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.say(&text, self.theme.code),
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
            Tag::BlockQuote(_) => {
                self.begin_block();
                self.indent("│ ", self.theme.faint);
                self.styles.push(self.theme.quote);
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
                self.lists.push(List { next: first });
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
            Some(List { next: Some(number) }) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "• ".to_owned(),
        };
        let blank = " ".repeat(crate::text::width(&bullet));
        let mut first = self.margin.clone();
        first.push(&bullet, self.theme.faint);
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
        self.say(text, Style::default());
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

/// Returns whether an address may be sent to the terminal unchanged.
fn can_be_followed(url: &str) -> bool {
    let known = ["https://", "http://", "mailto:", "file://"];
    known.iter().any(|begin| url.starts_with(begin))
        && url.len() <= LONGEST_LINK
        && url.bytes().all(|byte| byte.is_ascii_graphic())
}
