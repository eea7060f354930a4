//! The front matter of a Markdown file: YAML between two lines of `---` at its beginning.

use std::collections::BTreeMap;

use crate::yaml::{self, Yaml, YamlKey, YamlNode};

/// The line before and after the front matter.
const FENCE: &str = "---";

/// A Markdown file in its two parts, the first as a tree.
#[derive(Debug)]
pub struct MarkdownParts<'t> {
    /// The mapping between the fences. Its lines are those of the file; the columns are exact unless the
    /// values had to be quoted to be read. `None` without front matter.
    pub front: Option<Vec<(YamlKey, YamlNode)>>,
    /// The text behind it.
    pub body: &'t str,
}

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
pub struct FrontMatterError {
    /// The line of the file, from 1.
    pub line: u64,
    /// The description of the problem.
    pub what: String,
}

impl<'t> MarkdownParts<'t> {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// Returns an error if the front matter has no end, or is not a mapping in YAML.
    ///
    /// ```
    /// use agentx_config::MarkdownParts;
    /// let parts = MarkdownParts::of("---\nname: reviewer\n---\nYou review.\n").unwrap();
    /// let (key, value) = &parts.front.unwrap()[0];
    /// assert_eq!((key.name.as_str(), key.at.line, value.at.line), ("name", 2, 2));
    /// assert_eq!(parts.body, "You review.\n");
    /// ```
    pub fn of(text: &'t str) -> Result<Self, FrontMatterError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.split_inclusive('\n');
        let first = lines.next().unwrap_or_default();
        if first.trim_end() != FENCE {
            return Ok(Self {
                front: None,
                body: text,
            });
        }
        let mut end = first.len();
        for line in lines {
            if line.trim_end() == FENCE {
                return Ok(Self {
                    front: Some(mapping(&text[first.len()..end])?),
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

impl<'t> FrontMatter<'t> {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// Returns an error if the front matter has no end, or is not a mapping in YAML.
    pub(super) fn of(text: &'t str) -> Result<Self, FrontMatterError> {
        let MarkdownParts { front, body } = MarkdownParts::of(text)?;
        let texts = |(key, node): (YamlKey, YamlNode)| Some((key.name, text_of(&node.value)?));
        Ok(Self {
            fields: front.map(|front| front.into_iter().filter_map(texts).collect()),
            body,
        })
    }
}

/// Reads the mapping. If the text is not YAML, it is read once more with its values in quotes, because files
/// for other programs have values such as `first: second` or `[a] [b]`.
fn mapping(front: &str) -> Result<Vec<(YamlKey, YamlNode)>, FrontMatterError> {
    let parsed = yaml::parse(front).or_else(|error| yaml::parse(&quoted(front)).map_err(|_| error));
    let mut node = parsed.map_err(|error| FrontMatterError {
        line: error.at.line + 1,
        what: format!("its front matter is not YAML: {}", error.what),
    })?;
    move_down(&mut node);
    match node.value {
        Yaml::Map(map) => Ok(map),
        _ => Err(FrontMatterError {
            line: 2,
            what: "its front matter is not a mapping, such as `description: TEXT`".to_owned(),
        }),
    }
}

/// Moves everything one line down: the first line of the file is a fence.
fn move_down(node: &mut YamlNode) {
    node.at.line += 1;
    match &mut node.value {
        Yaml::List(items) => items.iter_mut().for_each(move_down),
        Yaml::Map(map) => {
            for (key, node) in map {
                key.at.line += 1;
                move_down(node);
            }
        }
        _ => {}
    }
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

/// Returns the text with each value on the line of its key in quotes, unless the line is YAML without them.
fn quoted(front: &str) -> String {
    let line = |line: &str| match plain_value(line).filter(|_| yaml::parse(line).is_err()) {
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
    fn only_values_that_are_not_yaml_are_quoted() {
        let text = "---\ndescription: first: second\ntools: [a, b]\nrounds: 9\n---\nbody\n";
        let front = MarkdownParts::of(text).expect("it is read").front;
        let front = front.expect("it has front matter");
        let kinds: Vec<&str> = front.iter().map(|(_, node)| node.value.kind()).collect();
        assert_eq!(kinds, ["text", "a list", "a number"]);
        let lines: Vec<u64> = front.iter().map(|(key, _)| key.at.line).collect();
        assert_eq!(lines, [2, 3, 4]);
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
