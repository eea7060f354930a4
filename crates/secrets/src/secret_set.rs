//! The values that are known to be secret, with the properties that a reader may see: a name and an origin.

use std::fmt;

use crate::hold::WORDS;

/// The minimum length of a value that counts as a secret, in bytes. A shorter one would hide ordinary words.
pub const MIN_SECRET_BYTES: usize = 8;

/// The maximum length of a secret's name, in bytes; a longer one is cut.
const MAX_NAME_BYTES: usize = 64;

/// Common default values of programs. Hiding them would hide ordinary words and protect nothing.
const ORDINARY: &[&str] = &[
    "administrator",
    "anonymous",
    "changeit",
    "changeme",
    "database",
    "development",
    "disabled",
    "letmein1",
    "localhost",
    "mypassword",
    "mysecret",
    "not-needed",
    "password",
    "password1",
    "password123",
    "postgres",
    "production",
    "required",
    "testtest",
    "undefined",
    "username",
    "your-api-key",
    "your_api_key",
];

/// The origin of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// An environment variable.
    Variable,
    /// A key of the configuration.
    Setting,
    /// A line of a `.env` file.
    EnvFile,
    /// A token or header of an MCP server.
    Mcp,
    /// A mark set by a person.
    Person,
}

impl Origin {
    /// Returns the origin in words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Variable => "a variable of the environment",
            Self::Setting => "a key of the configuration",
            Self::EnvFile => "a line of a .env file",
            Self::Mcp => "a credential of an MCP server",
            Self::Person => "marked by a person",
        }
    }
}

/// A secret. Its value is not shown in debug output.
#[derive(Clone, PartialEq, Eq)]
pub struct KnownSecret {
    name: String,
    origin: Origin,
    value: String,
}

impl KnownSecret {
    /// Returns the name, in characters that need no escape in JSON, a shell or Markdown.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the origin.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Returns the value itself.
    pub(crate) fn value(&self) -> &str {
        &self.value
    }
}

impl fmt::Debug for KnownSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownSecret")
            .field("name", &self.name)
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

/// The known secrets, in the order in which they were added. If two have the same value, the first one gives
/// the name.
#[derive(Clone, Debug, Default)]
pub struct SecretSet {
    secrets: Vec<KnownSecret>,
}

impl SecretSet {
    /// Adds a value without the space around it. If the value has several lines, each line of at least
    /// [`MIN_SECRET_BYTES`] is a secret, because tools number, indent and cut lines. A line of more than
    /// eight words is split into parts of at most eight.
    ///
    /// Returns `false` if nothing was added: the value is shorter than [`MIN_SECRET_BYTES`] or
    /// [ordinary](is_ordinary).
    pub fn add(&mut self, name: &str, origin: Origin, value: &str) -> bool {
        let value = value.trim();
        let has_lines = value.contains(['\n', '\r']);
        let lines = value
            .lines()
            .filter(|line| !(has_lines && line.trim().starts_with("-----")));
        let mut parts: Vec<&str> = lines
            .flat_map(parts_of)
            .filter(|part| !is_ordinary(part))
            .collect();
        // All its lines are short.
        if parts.is_empty() {
            parts = parts_of(value)
                .into_iter()
                .filter(|part| !is_ordinary(part))
                .collect();
        }
        parts.iter().for_each(|part| self.push(name, origin, part));
        !parts.is_empty()
    }

    fn push(&mut self, name: &str, origin: Origin, value: &str) {
        if self.secrets.iter().all(|known| known.value != value) {
            self.secrets.push(KnownSecret {
                name: plain_name(name),
                origin,
                value: value.to_owned(),
            });
        }
    }

    /// Returns the secrets, in order.
    pub fn iter(&self) -> impl Iterator<Item = &KnownSecret> {
        self.secrets.iter()
    }

    /// Returns whether the set has no secret.
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.secrets.len()
    }
}

/// Returns the parts of a line with at most [`WORDS`] words each, of about equal length, so that the last one
/// is not short.
fn parts_of(line: &str) -> Vec<&str> {
    let mut rest = line.trim();
    let blanks = |text: &str| text.matches(|c: char| c.is_ascii_whitespace()).count();
    let words = blanks(rest) + 1;
    let each = words.div_ceil(words.div_ceil(WORDS));
    let mut parts = Vec::new();
    loop {
        let mut ends = rest.match_indices(|c: char| c.is_ascii_whitespace());
        let Some((end, _)) = ends.nth(each - 1) else {
            parts.push(rest);
            return parts;
        };
        let (part, after) = rest.split_at(end);
        parts.push(part.trim());
        rest = after.trim();
    }
}

/// Returns whether a value is too short or too common to be hidden: less than [`MIN_SECRET_BYTES`], fewer
/// than four different characters, or a common default of programs.
///
/// ```
/// use agentx_secrets::is_ordinary;
/// assert!(is_ordinary("hunter2"));
/// assert!(is_ordinary("PostgreSQL".get(..8).unwrap_or_default()));
/// assert!(is_ordinary("--------"));
/// assert!(!is_ordinary("hunter2-made-up"));
/// ```
pub fn is_ordinary(value: &str) -> bool {
    if value.len() < MIN_SECRET_BYTES {
        return true;
    }
    let mut different: Vec<char> = Vec::new();
    for c in value.chars() {
        if !different.contains(&c) {
            different.push(c);
        }
        if different.len() >= 4 {
            return ORDINARY.contains(&value.to_lowercase().as_str());
        }
    }
    true
}

/// Returns the name with `_` in place of each character that could end the replacement or need an escape.
fn plain_name(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/');
    let plain = |c| if fits(c) { c } else { '_' };
    name.chars().map(plain).take(MAX_NAME_BYTES).collect()
}
