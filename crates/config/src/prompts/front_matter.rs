//! The front matter of a Markdown file: YAML between two lines of `---` at its beginning.

use std::collections::BTreeMap;

use crate::yaml::{self, Yaml};

/// The line before and after the front matter.
const FENCE: &str = "---";

/// A Markdown file in its two parts.
#[derive(Debug)]
pub(super) struct FrontMatter<'t> {
    /// The fields that are texts, numbers or lists of such; `None` without front matter.
    pub(super) fields: Option<BTreeMap<String, String>>,
    /// The text behind it.
    pub(super) body: &'t str,
}

/// The reason why a front matter cannot be read.
#[derive(Debug)]
pub(super) struct FrontMatterError {
    /// The line of the file, from 1.
    pub(super) line: u64,
    /// The description of the problem.
    pub(super) what: String,
}

impl<'t> FrontMatter<'t> {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// Returns an error if the front matter has no end, or is not a mapping in YAML.
    pub(super) fn of(text: &'t str) -> Result<Self, FrontMatterError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.split_inclusive('\n');
        let first = lines.next().unwrap_or_default();
        if first.trim_end() != FENCE {
            return Ok(Self {
                fields: None,
                body: text,
            });
        }
        let mut end = first.len();
        for line in lines {
            if line.trim_end() == FENCE {
                return Ok(Self {
                    fields: Some(fields(&text[first.len()..end])?),
                    body: &text[end + line.len()..],
                });
            }
            end += line.len();
        }
        Err(FrontMatterError {
            line: 1,
            what: "its front matter has no end; write a line with only `---` after it".to_owned(),
        })
    }
}

/// Reads the fields. If the text is not YAML, it is read once more with its values in quotes, because files
/// for other programs have values such as `first: second` or `[a] [b]`.
fn fields(front: &str) -> Result<BTreeMap<String, String>, FrontMatterError> {
    let parsed = yaml::parse(front).or_else(|error| yaml::parse(&quoted(front)).map_err(|_| error));
    let node = parsed.map_err(|error| FrontMatterError {
        line: error.at.line + 1,
        what: format!("its front matter is not YAML: {}", error.what),
    })?;
    let Yaml::Map(map) = node.value else {
        return Err(FrontMatterError {
            line: 2,
            what: "its front matter is not a mapping, such as `description: TEXT`".to_owned(),
        });
    };
    let fields = map.into_iter();
    Ok(fields
        .filter_map(|(key, node)| Some((key.name, text_of(&node.value)?)))
        .collect())
}

/// Returns a value as text; `None` for nothing and for mappings.
fn text_of(value: &Yaml) -> Option<String> {
    match value {
        Yaml::Null | Yaml::Map(_) => None,
        Yaml::Bool(value) => Some(value.to_string()),
        Yaml::Int(value) => Some(value.to_string()),
        Yaml::Float(value) => Some(value.to_string()),
        Yaml::Text(value) => Some(value.clone()),
        Yaml::List(items) => {
            let items: Vec<String> = items.iter().filter_map(|item| text_of(&item.value)).collect();
            Some(format!("[{}]", items.join(", ")))
        }
    }
}

/// Returns the text with each value on the line of its key in quotes, unless it has some.
fn quoted(front: &str) -> String {
    let line = |line: &str| match plain_value(line) {
        Some((key, value)) => format!("{key}: '{}'\n", value.replace('\'', "''")),
        None => format!("{line}\n"),
    };
    front.lines().map(line).collect()
}

/// Returns the key and the value of a line that is not indented and whose value is not quoted.
fn plain_value(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(": ")?;
    let value = value.trim();
    let is_key = key.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    let is_plain = !value.is_empty() && !value.starts_with(['"', '\'', '|', '>']);
    (is_key && is_plain).then_some((key, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(text: &str, name: &str) -> String {
        let read = FrontMatter::of(text).expect("it is read");
        let fields = read.fields.expect("it has front matter");
        fields.get(name).cloned().unwrap_or_default()
    }

    #[test]
    fn values_are_read_as_other_programs_write_them() {
        for (front, name, value) in [
            ("description: plain", "description", "plain"),
            ("description: \"a: b\"", "description", "a: b"),
            (
                "description: first: it's second",
                "description",
                "first: it's second",
            ),
            ("argument-hint: [file] [style]", "argument-hint", "[file] [style]"),
            ("argument-hint: [file]", "argument-hint", "[file]"),
            ("description: >\n  two\n  lines", "description", "two lines"),
            ("user-invocable: false", "user-invocable", "false"),
            ("metadata:\n  author: ada\nname: x", "name", "x"),
        ] {
            let text = format!("---\n{front}\n---\nbody\n");
            assert_eq!(field(&text, name).trim(), value, "{front}");
            assert_eq!(FrontMatter::of(&text).expect("it is read").body, "body\n");
        }
    }

    #[test]
    fn a_file_without_front_matter_is_all_text() {
        let read = FrontMatter::of("# Title\n---\n").expect("it is read");
        assert!(read.fields.is_none() && read.body == "# Title\n---\n");
    }

    #[test]
    fn what_cannot_be_read_says_where_and_why() {
        for (text, line, what) in [
            ("---\nname: x\n", 1, "has no end"),
            ("---\n- a\n---\n", 2, "not a mapping"),
            ("---\nname: \"x\nb: c\n---\n", 3, "not YAML"),
        ] {
            let error = FrontMatter::of(text).expect_err("it is refused");
            assert!(error.what.contains(what), "{text:?}: {}", error.what);
            assert_eq!(error.line, line, "{text:?}: {}", error.what);
        }
    }
}
