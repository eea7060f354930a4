//! JSON that is safe for a terminal. Texts of models, tools and people may contain control characters, which
//! move the cursor or set the clipboard of a person who views them with `cat`. Documents have them escaped.
//!
//! Escaped are the control characters of ASCII (except line breaks and tabs), the further ones up to U+009F
//! (some terminals take U+009B for the beginning of a sequence), and marks that turn the direction of text
//! around (CVE-2021-42574).

use std::borrow::Cow;

use agentx_types::is_control_or_bidi;

/// A JSON text with all of them in the form `\u001b`, so that a reader gets the same values. Line breaks and
/// tabs between values stay.
pub fn plain_json(json: &str) -> Cow<'_, str> {
    // A JSON writer leaves these only within strings, where they may be escaped.
    let acts = |c: char| is_control_or_bidi(c) && !matches!(c, '\n' | '\t' | '\r');
    if !json.contains(acts) {
        return Cow::Borrowed(json);
    }
    let mut plain = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        if acts(c) {
            plain.push_str(&format!("\\u{:04x}", u32::from(c)))
        } else {
            plain.push(c)
        }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_its_values() {
        let value = serde_json::json!({"a": "\u{9b}2J\u{7f}\u{202e}\u{1b}[2J\r\n", "你": [1, "\\"]});
        for text in [value.to_string(), format!("{value:#}\r\n\t")] {
            let plain = plain_json(&text);
            assert!(
                !plain.contains(|c: char| is_control_or_bidi(c) && !c.is_ascii_whitespace()),
                "{plain:?}"
            );
            assert_eq!(
                serde_json::from_str::<serde_json::Value>(&plain).ok(),
                Some(value.clone())
            );
        }
    }
}
