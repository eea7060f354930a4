//! Fixes the meaning of a text whose rows are final: each sign that the parser shows as it is gets a
//! backslash, so that nothing that comes later can give it a meaning.

use pulldown_cmark::{Event, LinkType, Tag, TagEnd};

use super::blocks::BlockKind;
use super::events;
use super::footnotes::FootnoteDefinition;

/// Maximum number of passes. One is enough for nearly all texts: a backslash may separate two signs that the
/// parser has read as one.
const PASSES: usize = 8;

/// The signs that may get a meaning from a later one. A line that is the head of a table has bars.
const SIGNS: [char; 7] = ['*', '_', '~', '`', '[', '<', '|'];

/// Returns the beginning of a block with a backslash before each sign that is shown as it is. Returns `None`
/// if something other than a paragraph may be open at its end: text of a quote, a table or code has no
/// meaning without what precedes it.
pub(super) fn fixed(text: &str, kind: BlockKind) -> Option<String> {
    if let Some(footnote) = FootnoteDefinition::read(text).filter(|_| kind == BlockKind::Footnote) {
        return Some(footnote.with_body(&fixed_text(&footnote.body(), true)?));
    }
    fixed_text(text, kind.is_container())
}

fn fixed_text(text: &str, is_contained: bool) -> Option<String> {
    let mut text = text.to_owned();
    for _ in 0..PASSES {
        let signs = shown_signs(&text, is_contained)?;
        if signs.is_empty() {
            return Some(text);
        }
        let (mut escaped, mut from) = (String::with_capacity(text.len() + signs.len()), 0);
        for at in signs {
            escaped.push_str(&text[from..at]);
            escaped.push('\\');
            from = at;
        }
        escaped.push_str(&text[from..]);
        text = escaped;
    }
    None
}

/// Returns the places of the signs that are shown as they are and have no backslash.
fn shown_signs(text: &str, is_contained: bool) -> Option<Vec<usize>> {
    let (mut signs, mut end, mut in_address) = (Vec::new(), 0, false);
    for (event, range) in events::with_places(text) {
        match event {
            Event::Start(Tag::Link { link_type, .. }) => {
                in_address = matches!(link_type, LinkType::Autolink | LinkType::Email);
            }
            Event::End(TagEnd::Link) => in_address = false,
            Event::Start(Tag::List(_) | Tag::Item) if is_contained => {}
            Event::Start(
                Tag::Paragraph | Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Image { .. },
            ) => {}
            Event::Start(_) => return None,
            Event::Text(_) if !in_address => {
                let is_escaped = end < range.start && text[..range.start].ends_with('\\');
                let found = text[range.clone()].match_indices(SIGNS);
                let places = found.map(|(at, _)| range.start + at);
                signs.extend(places.filter(|at| !is_escaped || *at > range.start));
                end = range.end;
            }
            _ => {}
        }
    }
    Some(signs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_that_is_shown_gets_a_backslash_and_one_with_a_meaning_does_not() {
        for (text, expected) in [
            ("plain", "plain"),
            ("*a* **b** `c` ~~d~~ [e](f)", "*a* **b** `c` ~~d~~ [e](f)"),
            ("2 * 3 and *so", r"2 \* 3 and \*so"),
            ("a `b and ``c d", r"a \`b and \`\`c d"),
            ("***a* b", r"\*\**a* b"),
            ("[a and ![b](c", r"\[a and !\[b](c"),
            (r"\*a and \\*b", r"\*a and \\\*b"),
            ("<a href=", r"\<a href="),
            ("<https://a.b/c_d> and <b>", "<https://a.b/c_d> and <b>"),
            ("&#42;a &lt;", "&#42;a &lt;"),
            ("~5 to ~~6", r"\~5 to \~\~6"),
            ("a|b", r"a\|b"),
        ] {
            let once = fixed(text, BlockKind::Text);
            assert_eq!(once.as_deref(), Some(expected), "{text:?}");
            assert_eq!(fixed(expected, BlockKind::Text).as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_part_that_needs_its_beginning_is_not_fixed() {
        for text in ["> a", "    a", "a\n\n<div>\nb", "| a |\n|---|\n", "- a"] {
            assert_eq!(fixed(text, BlockKind::Text), None, "{text:?}");
        }
        assert_eq!(fixed("- *a", BlockKind::Item).as_deref(), Some(r"- \*a"));
        let note = "[^a_b]: *so\n    and _on\n\n    end";
        let expected = "[^a_b]: \\*so\n    and \\_on\n    \n    end";
        assert_eq!(fixed(note, BlockKind::Footnote).as_deref(), Some(expected));
    }
}
