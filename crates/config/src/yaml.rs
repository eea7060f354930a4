//! YAML as a tree in which every key and value knows its line and column, so that all mistakes of a file can
//! be shown in one go. The size of the tree is bounded: a file of aliases of aliases is an error, and does
//! not fill the memory.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

/// The largest file that is read.
pub const MAX_BYTES: usize = 1 << 20;

/// Line and column, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextPosition {
    /// The line, from 1.
    pub line: u64,
    /// The column in characters, from 1.
    pub column: u64,
}

/// A value and its start.
#[derive(Clone, Debug)]
pub struct YamlNode {
    /// The position of the start.
    pub at: TextPosition,
    /// The value.
    pub value: Yaml,
}

impl YamlNode {
    /// The value without positions, as JSON; a number that JSON does not have (`.nan`, `.inf`) is `null`.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Yaml::Null => serde_json::Value::Null,
            Yaml::Bool(value) => (*value).into(),
            Yaml::Int(value) => (*value).into(),
            Yaml::Float(value) => (*value).into(),
            Yaml::Text(value) => value.as_str().into(),
            Yaml::List(items) => items.iter().map(Self::to_json).collect(),
            Yaml::Map(map) => map
                .iter()
                .map(|(key, node)| (key.name.clone(), node.to_json()))
                .collect(),
        }
    }
}

/// A YAML value, without its position.
#[derive(Clone, Debug)]
pub enum Yaml {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Another number.
    Float(f64),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<YamlNode>),
    /// A mapping, in the order of the file; each key once.
    Map(Vec<(YamlKey, YamlNode)>),
}

/// A key of a mapping.
#[derive(Clone, Debug)]
pub struct YamlKey {
    /// The position of the start.
    pub at: TextPosition,
    /// The name.
    pub name: String,
}

/// A text that is not YAML, or too much of it.
#[derive(Clone, Debug)]
pub struct YamlError {
    /// The position at which the reader stopped.
    pub at: TextPosition,
    /// The description of the problem.
    pub what: String,
}

impl Yaml {
    /// Returns the name of the kind, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "true or false",
            Self::Int(_) | Self::Float(_) => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Map(_) => "a mapping",
        }
    }

    /// Returns the same, but a number as itself, so that its author recognizes it.
    pub fn found(&self) -> String {
        match self {
            Self::Int(int) => int.to_string(),
            Self::Float(float) => float.to_string(),
            other => other.kind().to_owned(),
        }
    }
}

/// Reads a whole file; an empty one (or one with only comments) is an empty mapping.
///
/// # Errors
/// Returns an error if it is not YAML, or more than is read.
pub fn parse(text: &str) -> Result<YamlNode, YamlError> {
    let start = TextPosition { line: 1, column: 1 };
    if text.len() > MAX_BYTES {
        let what = format!("the file has {} bytes; at most {MAX_BYTES} are read", text.len());
        return Err(YamlError { at: start, what });
    }
    let parsed: Result<Option<YamlNode>, _> = serde_saphyr::from_str_with_options(text, options());
    match parsed {
        Ok(Some(node)) if !matches!(node.value, Yaml::Null) => Ok(node),
        Ok(_) => Ok(YamlNode {
            at: start,
            value: Yaml::Map(Vec::new()),
        }),
        Err(error) => {
            let at = error.location().map_or(start, position);
            Err(YamlError {
                at,
                what: in_words(&first_line(&error.without_snippet().to_string())),
            })
        }
    }
}

fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 100_000,
            max_aliases: 1_000,
            max_anchors: 1_000,
            max_recorded_anchor_events: 100_000,
            max_depth: 40,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 20_000,
            max_replay_stack_depth: 16,
        },
        strict_booleans: true,
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::Error,
    }
}

fn position(location: serde_saphyr::Location) -> TextPosition {
    TextPosition {
        line: location.line().max(1),
        column: location.column().max(1),
    }
}

/// The parser's own words without its position, which is shown in its own way.
fn first_line(message: &str) -> String {
    let line = message.lines().next().unwrap_or("not YAML");
    let ends = [" at line ", " (line ", ", set DuplicateKeyPolicy"];
    let cut = ends
        .iter()
        .filter_map(|end| line.find(end))
        .min()
        .unwrap_or(line.len());
    line[..cut].trim_end_matches([':', ',']).to_owned()
}

/// Rephrases the parser's messages about its own limits and interface for the author of the file.
fn in_words(what: &str) -> String {
    const TOO_MANY: &str = "the file holds too many values, anchors or aliases";
    for (beginning, words) in [
        ("budget breached: Depth", "nested more than 40 deep"),
        ("budget breached: ", TOO_MANY),
        ("alias replay limit exceeded", TOO_MANY),
        (
            "recursive references",
            "an alias (`*name`) refers to a value that contains it",
        ),
        (
            "multiple YAML documents",
            "a second document begins here (`---`); a file holds one",
        ),
        ("recursion limit exceeded", "nested more than 40 deep"),
        ("tabs disallowed", "tab character; YAML is indented with spaces"),
        (
            "mapping values are not allowed",
            "a key is not allowed here; check the indentation, or quote the text if it contains `: `",
        ),
        (
            "invalid indentation in multiline quoted",
            "unclosed quotes; close them, or indent this line",
        ),
        (
            "alias references unknown anchor",
            "unknown alias (`*name`); define it with `&name` before its value",
        ),
    ] {
        if what.starts_with(beginning) {
            return words.to_owned();
        }
    }
    what.to_owned()
}

impl<'de> Deserialize<'de> for YamlNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Yaml>::deserialize(deserializer)?;
        Ok(Self {
            at: position(spanned.referenced),
            value: spanned.value,
        })
    }
}

impl<'de> Deserialize<'de> for Yaml {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(YamlVisitor)
    }
}

struct YamlVisitor;

impl<'de> Visitor<'de> for YamlVisitor {
    type Value = Yaml;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Yaml, E> {
        Ok(Yaml::Null)
    }

    fn visit_none<E>(self) -> Result<Yaml, E> {
        Ok(Yaml::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Yaml, D::Error> {
        Yaml::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Yaml, E> {
        Ok(Yaml::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Yaml, E> {
        Ok(Yaml::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Yaml, E> {
        Ok(i64::try_from(value).map_or(Yaml::Float(value as f64), Yaml::Int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Yaml, E> {
        Ok(Yaml::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Yaml, E> {
        Ok(Yaml::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Yaml, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Yaml::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Yaml, A::Error> {
        let mut map = Vec::new();
        while let Some(key) = entries.next_key::<Spanned<String>>()? {
            let at = position(key.referenced);
            map.push((YamlKey { at, name: key.value }, entries.next_value()?));
        }
        Ok(Yaml::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_know_their_places() {
        let Ok(node) = parse("# first\nmodel: x\nlimits:\n  max_cost: 1.5\n") else {
            panic!("not read")
        };
        let Yaml::Map(map) = node.value else {
            panic!("not a map")
        };
        assert_eq!((map[0].0.at.line, map[0].0.at.column), (2, 1));
        assert_eq!((map[0].1.at.line, map[0].1.at.column), (2, 8));
        let Yaml::Map(limits) = &map[1].1.value else {
            panic!("not a map")
        };
        assert_eq!((limits[0].0.at.line, limits[0].0.at.column), (4, 3));
        assert!(matches!(limits[0].1.value, Yaml::Float(cost) if cost == 1.5));
    }

    #[test]
    fn nothing_is_an_empty_mapping() {
        for text in ["", "\n", "# only words\n", "~\n"] {
            let node = parse(text).unwrap_or_else(|broken| panic!("{text:?}: {}", broken.what));
            assert!(matches!(node.value, Yaml::Map(map) if map.is_empty()), "{text:?}");
        }
    }

    #[test]
    fn an_alias_bomb_is_an_error() {
        let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for i in 1..9 {
            let last = i - 1;
            let aliases = vec![format!("*a{last}"); 10].join(", ");
            text.push_str(&format!("a{i}: &a{i} [{aliases}]\n"));
        }
        assert!(parse(&text).is_err());
    }

    #[test]
    fn what_is_no_yaml_says_what_to_do() {
        for (text, at, what) in [
            ("a:\n\tb: 1\n", (2, 2), "indented with spaces"),
            ("a: b: c\n", (1, 5), "quote the text"),
            ("a: \"b\nc: d\n", (2, 1), "close them, or indent this"),
            ("a: *b\n", (1, 4), "define it with `&name` before"),
            (
                &format!("a: {}", "[".repeat(5_000)),
                (1, 259),
                "nested more than 40 deep",
            ),
        ] {
            let Err(broken) = parse(text) else {
                panic!("{text:?} was read")
            };
            assert_eq!(
                (broken.at.line, broken.at.column),
                at,
                "{text:?}: {}",
                broken.what
            );
            assert!(broken.what.contains(what), "{text:?}: {}", broken.what);
        }
    }

    #[test]
    fn broken_text_says_where() {
        let Err(broken) = parse("model: x\n  y: [1\n") else {
            panic!("read")
        };
        assert!(broken.at.line >= 2, "{} {}", broken.at.line, broken.what);
        assert!(!broken.what.contains(" line "), "{}", broken.what);
    }
}
