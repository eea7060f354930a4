//! Words for a full-text index (FTS5) in any language: how a text is indexed, and the queries that find it.
//!
//! Chinese, Japanese and Korean are written without spaces, so their runs are indexed as overlapping pairs of
//! characters and a last single one: 会话日志 becomes `会话 话日 日志 志`. A word of two characters is then one term, a
//! longer one a phrase, a single character the beginning of a term.

/// Returns whether a character belongs to a script that is written without spaces.
pub(crate) fn is_dense(c: char) -> bool {
    matches!(u32::from(c), 0x3040..=0x30ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xac00..=0xd7af | 0xf900..=0xfaff
        | 0x2_0000..=0x3_ffff)
}

/// Returns a text in its indexed form: the tokenizer `unicode61` then separates the words.
///
/// ```
/// assert_eq!(agentx_sqlite_log::search_words::indexed_form("a中b"), "a 中 b");
/// ```
pub fn indexed_form(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut previous = None;
    for c in text.chars() {
        match (previous, is_dense(c)) {
            (Some(first), true) => out.extend([first, c, ' ']),
            (Some(last), false) => out.extend([last, ' ', c]),
            (None, true) => out.push(' '),
            (None, false) => out.push(c),
        }
        previous = is_dense(c).then_some(c);
    }
    out.extend(previous);
    out
}

/// Returns the pieces of a text, each of one script: words with what joins them, and runs without spaces.
pub fn pieces(words: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut last = None;
    for c in words.chars().filter(|c| *c != '"' && *c != '\0') {
        let kind = (!c.is_whitespace()).then(|| is_dense(c));
        match (kind, pieces.last_mut()) {
            (None, _) => {}
            (Some(_), Some(piece)) if kind == last => piece.push(c),
            (Some(_), _) => pieces.push(c.to_string()),
        }
        last = kind;
    }
    pieces.retain(|piece| piece.chars().any(char::is_alphanumeric));
    pieces
}

/// Returns the FTS5 query for a piece of [`pieces`]: words may continue if `more` is `*`, phrases of dense
/// scripts may not. A single character of such a script is the beginning of a pair.
pub fn match_expression(piece: &str, more: &str) -> String {
    let chars: Vec<char> = piece.chars().collect();
    match chars.as_slice() {
        [first, _, ..] if is_dense(*first) => {
            let pairs: Vec<String> = chars.windows(2).map(String::from_iter).collect();
            format!("\"{}\"", pairs.join(" "))
        }
        [only] if is_dense(*only) => format!("\"{piece}\"*"),
        _ => format!("\"{piece}\"{more}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_scripts_become_pairs() {
        assert_eq!(indexed_form("看会话日志 ok"), " 看会 会话 话日 日志 志  ok");
        assert_eq!(indexed_form("a中b"), "a 中 b");
    }
}
