//! The forms in which a value may occur in a text: unchanged, and in common encodings.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

/// Returns the base64 forms of a value, which programs break into lines.
pub(crate) fn base64_forms(value: &str) -> BTreeSet<String> {
    let mut forms = BTreeSet::from([STANDARD.encode(value), URL_SAFE.encode(value)]);
    for before in 0..3 {
        let inner = base64_inside(value.as_bytes(), before);
        forms.insert(inner.replace('+', "-").replace('/', "_"));
        forms.insert(inner);
    }
    forms
}

/// Returns all other forms of a value, including the value itself, without duplicates.
pub(crate) fn plain_forms(value: &str) -> BTreeSet<String> {
    let mut forms = BTreeSet::from([value.to_owned()]);
    let escaped = json_escaped(value);
    let twice = json_escaped(&escaped);
    // The third level of escapes is for the quick check of an event's JSON.
    forms.insert(json_escaped(&twice));
    forms.insert(twice);
    forms.insert(escaped);
    forms.insert(ascii_escaped(value));
    for upper in [false, true] {
        let plain = percent_encoded(value, upper, |byte| {
            byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte)
        });
        forms.insert(plain.replace("%20", "+"));
        forms.insert(plain);
        forms.insert(percent_encoded(value, upper, |_| false));
        forms.insert(hex(value, upper));
    }
    forms
}

/// Returns the base64 characters that depend only on the value if `before` bytes precede it. Characters at
/// its ends share bits with the neighbours and are left out.
fn base64_inside(value: &[u8], before: usize) -> String {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(value);
    let bits = bytes.len() * 8;
    let text = STANDARD.encode(&bytes);
    let (first, end) = ((before * 8).div_ceil(6), bits / 6);
    text.get(first..end).unwrap_or_default().to_owned()
}

/// Returns the text inside the quotes of a JSON string.
fn json_escaped(value: &str) -> String {
    let quoted = serde_json::Value::from(value).to_string();
    quoted
        .get(1..quoted.len().saturating_sub(1))
        .unwrap_or_default()
        .to_owned()
}

/// Returns the text inside the quotes of an ASCII-only JSON string: other characters become `\u…`.
fn ascii_escaped(value: &str) -> String {
    let mut escaped = String::new();
    for c in json_escaped(value).chars() {
        if c.is_ascii() {
            escaped.push(c);
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                // Writing to a string does not fail.
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        }
    }
    escaped
}

fn hex(value: &str, upper: bool) -> String {
    value.bytes().fold(String::new(), |mut text, byte| {
        push_hex(&mut text, byte, upper);
        text
    })
}

fn percent_encoded(value: &str, upper: bool, stays: impl Fn(u8) -> bool) -> String {
    value.bytes().fold(String::new(), |mut text, byte| {
        if stays(byte) {
            text.push(char::from(byte));
        } else {
            text.push('%');
            push_hex(&mut text, byte, upper);
        }
        text
    })
}

fn push_hex(text: &mut String, byte: u8, upper: bool) {
    // Writing to a string does not fail.
    let _ = if upper {
        write!(text, "{byte:02X}")
    } else {
        write!(text, "{byte:02x}")
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_a_longer_text_holds_one_of_the_forms() {
        let value = "made-up+value/42";
        let forms = base64_forms(value);
        for before in 0..5 {
            for after in 0..5 {
                let text = format!("{}{value}{}", "a".repeat(before), "z".repeat(after));
                for encoded in [STANDARD.encode(&text), URL_SAFE.encode(&text)] {
                    let is_found = forms
                        .iter()
                        .any(|form| form.len() > 16 && encoded.contains(form.as_str()));
                    assert!(is_found, "{before} bytes before, {after} after");
                }
            }
        }
    }

    #[test]
    fn quotes_and_other_letters_are_escaped() {
        assert!(plain_forms("a\"b\u{e9}cdefgh").contains("a\\\"b\\u00e9cdefgh"));
        assert!(plain_forms("a b c d e f").contains("a+b+c+d+e+f"));
        assert!(plain_forms("a/b:c=d&e").contains("a%2Fb%3Ac%3Dd%26e"));
        assert!(plain_forms("AbcdeFgh").contains("4162636465466768"));
    }
}
