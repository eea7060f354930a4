//! Secret values: those of the environment names that a tool is granted. In the log, each is replaced by its
//! name, `${NAME}`, and put back when it is read again.

use serde_json::{Map, Value};

/// Values shorter than this are not treated as secrets: hiding them would garble ordinary words.
const MIN_SECRET_CHARS: usize = 6;
/// The beginning of a name that replaces a value.
const OPEN: &str = "${";
/// Begins a name that was in the text itself.
const ESCAPED: &str = "${=";

/// The secrets of one tool. Without any, text is unchanged.
#[derive(Clone, Default)]
pub struct Secrets {
    /// Pairs of value and name, the longest value first: one may be part of another.
    marks: Vec<(String, String)>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.marks.iter().map(|(_, mark)| mark))
            .finish()
    }
}

impl Secrets {
    /// Creates secrets with these names and values. A value is also recognized in its JSON and URL forms.
    ///
    /// ```
    /// use agentx_flows::Secrets;
    /// let secrets = Secrets::new([("KEY", "a b/c-1234")]);
    /// assert_eq!(secrets.hide("token a b/c-1234, ?k=a%20b%2Fc-1234"), "token ${KEY}, ?k=${KEY:url}");
    /// assert_eq!(secrets.show("token ${KEY}"), "token a b/c-1234");
    /// assert_eq!(secrets.show(&secrets.hide("${KEY} ${OTHER}")), "${KEY} ${OTHER}");
    /// ```
    pub fn new<N: AsRef<str>, V: AsRef<str>>(values: impl IntoIterator<Item = (N, V)>) -> Self {
        let mut marks = Vec::new();
        for (name, value) in values {
            let (name, value) = (name.as_ref(), value.as_ref());
            if value.chars().count() < MIN_SECRET_CHARS {
                continue;
            }
            let quoted = Value::String(value.to_owned()).to_string();
            let quoted = quoted.trim_matches('"').to_owned();
            for (form, mark) in [
                (value.to_owned(), format!("${{{name}}}")),
                (quoted, format!("${{{name}:json}}")),
                (percent(value), format!("${{{name}:url}}")),
            ] {
                if !marks.iter().any(|(known, _)| *known == form) {
                    marks.push((form, mark));
                }
            }
        }
        marks.sort_by_key(|(form, _)| std::cmp::Reverse(form.len()));
        Self { marks }
    }

    /// Returns whether the tool has no secrets.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Returns a text as it may be written down.
    pub fn hide(&self, text: &str) -> String {
        if self.is_empty() {
            return text.to_owned();
        }
        let mut text = text.replace(OPEN, ESCAPED);
        for (form, mark) in &self.marks {
            let form = form.replace(OPEN, ESCAPED);
            if text.contains(&form) {
                text = text.replace(&form, mark);
            }
        }
        text
    }

    /// Returns a stored text with its secrets put back.
    pub fn show(&self, text: &str) -> String {
        if self.is_empty() || !text.contains(OPEN) {
            return text.to_owned();
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(OPEN) {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some(after) = rest.strip_prefix(ESCAPED) {
                out.push_str(OPEN);
                rest = after;
            } else if let Some((form, mark)) = self.marks.iter().find(|(_, mark)| rest.starts_with(mark)) {
                out.push_str(form);
                rest = &rest[mark.len()..];
            } else {
                out.push_str(OPEN);
                rest = &rest[OPEN.len()..];
            }
        }
        out.push_str(rest);
        out
    }

    /// Returns a value as it may be written down.
    pub fn hide_all(&self, value: &Value) -> Value {
        if self.is_empty() {
            return value.clone();
        }
        each_text(value, &|text| self.hide(text))
    }

    /// Returns a stored value with its secrets put back.
    pub fn show_all(&self, value: &Value) -> Value {
        if self.is_empty() {
            return value.clone();
        }
        each_text(value, &|text| self.show(text))
    }
}

fn each_text(value: &Value, change: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(change(text)),
        Value::Array(items) => items.iter().map(|item| each_text(item, change)).collect(),
        Value::Object(entries) => {
            let entry = |(key, value): (&String, &Value)| (change(key), each_text(value, change));
            Value::Object(entries.iter().map(entry).collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// Encodes a text for a URL: everything but letters, digits and `-._~` as `%XX`.
fn percent(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string has no way to fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
