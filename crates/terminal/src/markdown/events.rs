//! The events of the Markdown parser, with the extensions that the renderer knows. Formulas are not among
//! them, because prices have dollar signs too. Footnotes have their own module.

use pulldown_cmark::{BlockQuoteKind, Event, OffsetIter, Options, Parser, Tag, TagEnd, TextMergeWithOffset};

/// Passes the events of a text in order to `take`. Texts that follow each other are one event.
pub(super) fn read(text: &str, mut take: impl FnMut(Event<'_>)) {
    let events = with_places(text).map(|(event, range)| (plain_tilde(event, &text[range.clone()]), range));
    for (event, _) in TextMergeWithOffset::new(events) {
        take(event);
    }
}

/// Returns the events of a text, each with its place in the text.
pub(super) fn with_places(text: &str) -> OffsetIter<'_> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_GFM;
    Parser::new_ext(text, options).into_offset_iter()
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

/// Returns the title of an alert, which is a quotation that begins with a line such as `[!NOTE]`.
pub(super) fn title_of(alert: BlockQuoteKind) -> &'static str {
    match alert {
        BlockQuoteKind::Note => "Note",
        BlockQuoteKind::Tip => "Tip",
        BlockQuoteKind::Important => "Important",
        BlockQuoteKind::Warning => "Warning",
        BlockQuoteKind::Caution => "Caution",
    }
}
