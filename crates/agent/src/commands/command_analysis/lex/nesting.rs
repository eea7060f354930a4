//! Finds the end of a substitution that contains others and quotes.
//!
//! `$(a "$(b ')')" c)` ends at its last parenthesis. One pass with a stack of open parentheses and double
//! quotes takes time in proportion to the text, so deep nesting cannot hold up a server. The lines of a
//! here-document within it have neither quotes nor parentheses.

use super::here_document::HereDocument;

/// Returns the position of the parenthesis that closes the one before `text`, in bytes; `None` if there is
/// none.
pub(crate) fn end_of_substitution(text: &str) -> Option<usize> {
    let mut open = vec!['('];
    let mut documents: Vec<HereDocument> = Vec::new();
    let is_arithmetic = text.starts_with('(');
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let quoted = open.last() == Some(&'"');
        match c {
            '<' if !quoted && !is_arithmetic && text[at..].starts_with("<<") => {
                let arrows = text[at..].bytes().take_while(|byte| *byte == b'<').count();
                if arrows == 2 {
                    documents.extend(delimiter(&text[at + arrows..]));
                }
                chars.by_ref().take(arrows - 1).for_each(drop);
            }
            '\n' if !quoted && !documents.is_empty() => {
                let mut rest = &text[at + 1..];
                for document in documents.drain(..) {
                    rest = document.take(rest).1;
                }
                let behind = text.len() - rest.len();
                while chars.next_if(|(at, _)| *at < behind).is_some() {}
            }
            '\\' => {
                chars.next();
            }
            '"' if quoted => {
                open.pop();
            }
            '"' => open.push('"'),
            '$' if quoted && chars.peek().is_some_and(|(_, next)| *next == '(') => {
                chars.next();
                open.push('(');
            }
            _ if quoted => {}
            '\'' => {
                chars.find(|(_, c)| *c == '\'');
            }
            '(' => open.push('('),
            ')' => {
                open.pop();
                if open.is_empty() {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Returns the position of the brace that closes a `${` before `text`, in bytes; `None` if there is none.
///
/// It skips inner `${…}` and `$(…)`. Quotes in `${…}` count depending on the operator and on quotes around
/// it. If a quote precedes that brace, the first closing brace is the end. Then more of the line is read as
/// commands, not less.
pub(crate) fn end_of_parameter(text: &str) -> Option<usize> {
    let mut open = 1_usize;
    let mut at = 0;
    while let Some(found) = text[at..].find(['}', '$', '\'', '"', '\\', '`']) {
        at += found;
        let rest = &text[at..];
        at += match rest.as_bytes()[0] {
            b'}' if open == 1 => return Some(at),
            b'}' => {
                open -= 1;
                1
            }
            b'$' if rest.starts_with("${") => {
                open += 1;
                2
            }
            b'$' if rest.starts_with("$(") => end_of_substitution(&rest[2..])? + 3,
            b'$' => 1,
            _ => return text.find('}'),
        };
    }
    None
}

/// Returns the here-document whose delimiter is at the beginning of a text.
fn delimiter(text: &str) -> Option<HereDocument> {
    let tabs = text.starts_with('-');
    let word = text.trim_start_matches('-').trim_start_matches([' ', '\t']);
    let mut end = String::new();
    let mut quote = None;
    let mut quoted = false;
    let mut chars = word.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (Some('\''), c) => end.push(c),
            (None, '\'' | '"') => (quote, quoted) = (Some(c), true),
            (_, '\\') => {
                quoted = true;
                end.extend(chars.next());
            }
            (None, c) if c.is_whitespace() || ";&|<>()".contains(c) => break,
            (_, c) => end.push(c),
        }
    }
    (!end.is_empty() || quoted).then_some(HereDocument { end, quoted, tabs })
}
