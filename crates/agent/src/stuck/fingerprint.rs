//! Fingerprints of calls, results and texts, so that the detector keeps numbers instead of texts.
//!
//! Two things are equal to the detector if their fingerprints are. A fingerprint is made in one pass over a
//! text. It is never stored in a log or compared with that of another program.

use agentx_types::ContentPart;
use serde_json::Value;

/// Maximum number of bytes of a text whose words are read one by one; more is compared as it is.
const MOST_READ: usize = 4_096;
/// Units behind a number that is a duration.
const UNITS: [&str; 9] = ["ns", "us", "µs", "ms", "s", "sec", "seconds", "min", "h"];

/// A fingerprint in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallFingerprint(u64);

impl CallFingerprint {
    /// The fingerprint of nothing, for things of this kind.
    pub(super) fn of(kind: &str) -> Self {
        let mut fingerprint = Self(0xcbf2_9ce4_8422_2325);
        fingerprint.text(kind);
        fingerprint
    }

    /// Adds a number.
    pub(super) fn number(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x517c_c1b7_2722_0a95);
        self.0 ^= self.0 >> 29;
    }

    /// Adds a text and its length.
    pub(super) fn text(&mut self, text: &str) {
        let mut chunks = text.as_bytes().chunks_exact(8);
        for chunk in chunks.by_ref() {
            self.number(chunk.iter().fold(0, |word, byte| (word << 8) | u64::from(*byte)));
        }
        let rest = chunks.remainder().iter();
        self.number(rest.fold(0, |word, byte| (word << 8) | u64::from(*byte)));
        self.number(text.len() as u64);
    }

    /// Adds a JSON value, whatever the order of its keys; `text` adds each text in it.
    pub(super) fn value(&mut self, value: &Value, text: &dyn Fn(&mut Self, &str)) {
        match value {
            Value::Null => self.number(0),
            Value::Bool(is) => self.number(1 + u64::from(*is)),
            Value::Number(number) => text(self, &number.to_string()),
            Value::String(words) => text(self, words),
            Value::Array(values) => {
                self.number(3);
                values.iter().for_each(|value| self.value(value, text));
                self.number(values.len() as u64);
            }
            Value::Object(fields) => {
                self.number(4);
                let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
                fields.sort_unstable_by_key(|(key, _)| *key);
                for (key, value) in fields {
                    self.text(key);
                    self.value(value, text);
                }
                self.number(5);
            }
        }
    }

    /// The fingerprint.
    pub(super) fn end(self) -> u64 {
        self.0
    }
}

/// The fingerprint of a call: its tool and its arguments.
pub(super) fn call(name: &str, input: &Value) -> u64 {
    let mut fingerprint = CallFingerprint::of(name);
    fingerprint.value(input, &CallFingerprint::text);
    fingerprint.end()
}

/// The fingerprint of a call that calls with nearly the same arguments share: case, blanks, quotes and, if
/// `without_numbers`, digits do not count.
pub(super) fn near_call(name: &str, input: &Value, without_numbers: bool) -> u64 {
    let mut fingerprint = CallFingerprint::of(name);
    fingerprint.value(input, &|fingerprint, words| {
        near_text(fingerprint, words, without_numbers)
    });
    fingerprint.end()
}

/// Returns the fingerprint of a result. In a failure, and in the last line in brackets that tools add, words
/// that differ each time (times, durations, addresses) do not count.
pub(super) fn result(content: &[ContentPart], is_error: bool) -> u64 {
    let mut fingerprint = CallFingerprint::of(if is_error { "error" } else { "result" });
    for part in content {
        match part.as_text() {
            Some(text) if is_error => {
                let (start, middle, end) = split(text);
                stable_text(&mut fingerprint, start);
                fingerprint.number(u64::from(!middle.is_empty()));
                stable_text(&mut fingerprint, end);
            }
            Some(text) => {
                let (before, added) = added_line(text);
                fingerprint.text(before);
                stable_text(&mut fingerprint, added);
            }
            None => fingerprint.text(&serde_json::to_string(part).unwrap_or_default()),
        }
    }
    fingerprint.end()
}

/// The fingerprint of a failure that nearly equal failures share.
pub(super) fn near_error(content: &[ContentPart]) -> u64 {
    let mut fingerprint = CallFingerprint::of("near error");
    for text in content.iter().filter_map(ContentPart::as_text) {
        near_text(&mut fingerprint, split(text).0, true);
    }
    fingerprint.end()
}

/// The fingerprint of a text.
pub(super) fn text(words: &str) -> u64 {
    let mut fingerprint = CallFingerprint::of("text");
    fingerprint.text(words.trim());
    fingerprint.end()
}

/// Splits a text into its start, the middle that is too long to be read, and its end.
fn split(text: &str) -> (&str, &str, &str) {
    if text.len() <= 2 * MOST_READ {
        return (text, "", "");
    }
    let start = text.floor_char_boundary(MOST_READ);
    let end = text.ceil_char_boundary(text.len() - MOST_READ);
    (&text[..start], &text[start..end], &text[end..])
}

/// Splits the last line off a text if it is in brackets: a tool's own words about the result.
fn added_line(text: &str) -> (&str, &str) {
    let start = text.rfind('\n').map_or(0, |end| end + 1);
    let line = &text[start..];
    if line.len() <= MOST_READ && line.starts_with('[') && line.ends_with(']') {
        (&text[..start], line)
    } else {
        (text, "")
    }
}

/// Adds a text without regard to case, blanks, quotes, and digits if `without_numbers`.
fn near_text(fingerprint: &mut CallFingerprint, words: &str, without_numbers: bool) {
    let end = words.floor_char_boundary(MOST_READ);
    let mut last = ' ';
    for letter in words[..end].chars() {
        let letter = match letter {
            '\'' | '"' | '`' | '\\' => continue,
            letter if letter.is_whitespace() => ' ',
            letter if without_numbers && letter.is_ascii_digit() => '0',
            letter => letter.to_ascii_lowercase(),
        };
        if !(letter == last && (letter == ' ' || (without_numbers && letter == '0'))) {
            fingerprint.number(u64::from(letter));
        }
        last = letter;
    }
    let rest = words.len() - end;
    fingerprint.number(rest as u64);
}

/// Adds a text without the words in it that differ each time.
fn stable_text(fingerprint: &mut CallFingerprint, text: &str) {
    let mut rest = text;
    while !rest.is_empty() {
        let is_word =
            |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.' | ':' | '+' | '-');
        let end = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        let next = behind.trim_start_matches(' ');
        let unit_end = next.find(|letter| !is_word(letter)).unwrap_or(next.len());
        if is_volatile(word, &next[..unit_end]) {
            fingerprint.number(1);
        } else {
            fingerprint.text(word);
        }
        let gap = behind.find(is_word).unwrap_or(behind.len());
        fingerprint.text(&behind[..gap]);
        rest = &behind[gap..];
    }
}

/// Returns whether a word is a time, a duration, an address or an id; `next` is the word behind it.
fn is_volatile(word: &str, next: &str) -> bool {
    if !word.bytes().any(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let all = |fits: fn(char) -> bool| word.chars().all(fits);
    let number_end = word.find(|letter: char| !(letter.is_ascii_digit() || letter == '.'));
    let unit = &word[number_end.unwrap_or(word.len())..];
    let is_duration = match number_end {
        None => UNITS.contains(&next),
        Some(end) => end > 0 && UNITS.contains(&unit),
    };
    let is_address = word.len() > 3 && word.starts_with("0x");
    let is_clock = all(|letter| letter.is_ascii_digit() || ":.+-TZ".contains(letter))
        && (word.contains(':') || word.matches('-').count() == 2);
    let is_id = word.len() >= 8 && all(|letter| letter.is_ascii_hexdigit() || letter == '-');
    is_duration || is_address || is_clock || is_id
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn error(text: &str) -> u64 {
        result(&[ContentPart::text(text)], true)
    }

    fn success(text: &str) -> u64 {
        result(&[ContentPart::text(text)], false)
    }

    #[test]
    fn what_differs_each_time_does_not_count_in_a_failure() {
        for (one, other) in [
            ("no\n[exit 1, 0.20 s]", "no\n[exit 1, 1.03 s]"),
            ("2026-11-28T19:52:18Z refused", "2026-11-28T20:01:02Z refused"),
            ("at 0x7ffe12 in f", "at 0x7ffa99 in f"),
            ("took 12ms", "took 7ms"),
            ("request 3f2a9c10-77aa failed", "request 1b2a9c10-99aa failed"),
        ] {
            assert_eq!(error(one), error(other), "{one}");
        }
        for (one, other) in [
            ("5 tests failed", "4 tests failed"),
            ("not ready: 10 %", "not ready: 20 %"),
            ("exit 1", "exit 2"),
        ] {
            assert_ne!(error(one), error(other), "{one}");
        }
    }

    #[test]
    fn a_success_counts_to_the_letter_except_for_what_its_tool_adds() {
        assert_eq!(success("hi\n[exit 0, 0.01 s]"), success("hi\n[exit 0, 0.20 s]"));
        assert_ne!(
            success("12:00:01\n[exit 0, 0.01 s]"),
            success("12:00:02\n[exit 0, 0.01 s]")
        );
        let long = "x".repeat(3 * MOST_READ);
        let middle = format!("{}y{}", &long[..MOST_READ + 9], &long[MOST_READ + 10..]);
        assert_ne!(success(&long), success(&middle));
    }

    #[test]
    fn the_order_of_keys_does_not_count_and_near_arguments_are_near() {
        assert_eq!(
            call("f", &json!({"a": 1, "b": "x"})),
            call("f", &json!({"b": "x", "a": 1}))
        );
        assert_ne!(call("f", &json!({"a": 1})), call("g", &json!({"a": 1})));
        let near = |command: &str, bare| near_call("bash", &json!({ "command": command }), bare);
        assert_eq!(near("ls  -la 'x'", false), near("LS -la x", false));
        assert_ne!(near("touch a1", false), near("touch a2", false));
        assert_eq!(near("try 9", true), near("try 10", true));
    }
}
