//! The keys that a file may have, as data: the reader knows its keys from these tables, and the JSON Schema
//! is generated from them.

/// A key of a mapping.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MappingKey {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) required: bool,
    pub(crate) about: &'static str,
}

/// A mapping with keys that are known.
#[derive(Debug)]
pub(crate) struct MappingShape {
    /// In messages and in the schema.
    pub(crate) name: &'static str,
    pub(crate) keys: &'static [MappingKey],
    /// Exactly one of these keys must be there.
    pub(crate) one_of: &'static [&'static str],
    /// If several tables are possible, this one is chosen when this key is present.
    pub(crate) marker: Option<&'static str>,
    /// Whether unknown keys are ignored, because other programs may write them. A key that looks like a
    /// misspelt known key is refused anyway.
    pub(crate) open: bool,
}

/// The target of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RefKind {
    /// An agent file.
    Agent,
    /// A tool file.
    Tool,
    /// A rule file.
    Rule,
    /// A generator file: a model and its parameters.
    Generator,
    /// A text for the context.
    Context,
}

impl RefKind {
    /// Returns the word before the colon.
    pub fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Tool => "tool",
            Self::Rule => "rule",
            Self::Generator => "generator",
            Self::Context => "context",
        }
    }
}

/// Returns the word with its article.
pub(crate) fn article(kind: RefKind) -> String {
    let article = if kind == RefKind::Agent { "an" } else { "a" };
    format!("{article} {}", kind.word())
}

/// The allowed values of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// Any text.
    Text,
    /// Text that is not blank.
    Words,
    /// The name of a tool that a script may call, or `*`.
    Granted,
    /// The name of a definition: letters, digits, `_`, `-`, `.`.
    Name,
    /// The name of a tool, as models take it: ASCII only, at most 64.
    ToolName,
    Bool,
    /// A whole number within these bounds.
    Count(u64, u64),
    /// 0 to 2.
    Temperature,
    /// US dollars.
    Money,
    /// `90s`, `10m`.
    Duration,
    /// Bytes, or text such as `64 MiB`.
    Bytes,
    /// A choice of these words.
    Choice(&'static [&'static str]),
    /// A jq filter.
    Jq,
    /// A path within the prompt's own file, such as `.prompt`.
    This,
    /// The name of an environment variable.
    Variable,
    /// A host, with a port or without, `*.` before it or not.
    Host,
    /// An http or https URL; it may contain `${NAME}`.
    Url,
    /// Text in which `${NAME}` is replaced by an environment variable.
    Template,
    /// A template for a secret: it may not contain the secret itself.
    Secret,
    /// The text of a script.
    Script,
    /// The path of a script.
    ScriptFile,
    /// A JSON Schema.
    Schema,
    /// A JSON Schema, or the path of a JSON file with one.
    SchemaOrFile,
    /// Parameters of a tool: the short form, or a JSON Schema of an object.
    Params,
    /// A pattern of a rule, or a pattern and its output.
    Pattern,
    /// Two or three texts: subject, input, output.
    Example,
    /// Any value.
    Any,
    /// A reference.
    Ref(RefKind),
    /// A mapping with known keys.
    Map(&'static MappingShape),
    /// A mapping from names that a person chooses.
    MapOf(&'static Shape),
    List(&'static Shape),
    /// A list with at least one item.
    Some(&'static Shape),
    /// A choice of these shapes, decided by whether the value is a text, a list or a mapping, and by markers.
    Either(&'static [Shape]),
    /// A complete tool, chosen by its `type`.
    Tool,
    /// A complete agent, chosen by its `type`.
    Agent,
    /// A state of an agent, chosen by its `state_type`.
    State,
    /// A message, whose keys depend on its role.
    Message,
}

/// Returns a key that may be left out.
pub(crate) const fn may(name: &'static str, shape: Shape, about: &'static str) -> MappingKey {
    MappingKey {
        name,
        shape,
        required: false,
        about,
    }
}

/// Returns a key that must be there.
pub(crate) const fn must(name: &'static str, shape: Shape, about: &'static str) -> MappingKey {
    MappingKey {
        name,
        shape,
        required: true,
        about,
    }
}

/// Returns a table without rules beyond its keys.
pub(crate) const fn table(name: &'static str, keys: &'static [MappingKey]) -> MappingShape {
    MappingShape {
        name,
        keys,
        one_of: &[],
        marker: None,
        open: false,
    }
}

impl MappingShape {
    pub(crate) const fn one_of(mut self, keys: &'static [&'static str]) -> Self {
        self.one_of = keys;
        self
    }

    pub(crate) const fn open(mut self) -> Self {
        self.open = true;
        self
    }

    pub(crate) const fn marker(mut self, key: &'static str) -> Self {
        self.marker = Some(key);
        self
    }

    pub(crate) fn key(&self, name: &str) -> Option<&'static MappingKey> {
        self.keys.iter().find(|key| key.name == name)
    }
}
