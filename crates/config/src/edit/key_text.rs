//! The text of a key in YAML, plain or in quotes.

/// Returns the name as it is written: in quotes if it is not a plain word.
pub(crate) fn key_text(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || "._-/".contains(c))
        && name.starts_with(|c: char| c.is_alphabetic());
    let quoted = || serde_json::Value::from(name).to_string();
    if is_plain { name.to_owned() } else { quoted() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_word_has_no_quotes() {
        for (name, text) in [
            ("max_rounds", "max_rounds"),
            ("a.b-c/d", "a.b-c/d"),
            ("2nd", "\"2nd\""),
            ("a: b", "\"a: b\""),
        ] {
            assert_eq!(key_text(name), text);
        }
    }
}
