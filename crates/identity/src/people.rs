//! The list of people whom a server trusts, in `people.json`: JSON that a person may edit too.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{KeyringError, PublicKey};

/// The role of a trusted person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrustedAs {
    /// A person with their own sessions.
    #[default]
    Member,
    /// The same, and may decide about calls of other members.
    Approver,
    /// The operator of this server.
    Operator,
}

impl TrustedAs {
    /// Returns the role as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Member => "member",
            Self::Approver => "approver",
            Self::Operator => "operator",
        }
    }
}

/// A person whom a server trusts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trusted {
    /// The public key.
    pub public_key: PublicKey,
    /// Their name there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The role.
    #[serde(default, rename = "as")]
    pub role: TrustedAs,
}

/// An entry of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PeopleEntry {
    pub(crate) public_key: PublicKey,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    #[serde(default, rename = "as")]
    pub(crate) role: TrustedAs,
    /// Identifies the grant of this role: another text each time somebody is trusted, or gets another role.
    /// Lists from before it, and entries that a person wrote, have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) grant: Option<String>,
}

impl PeopleEntry {
    pub(crate) fn new(somebody: Trusted, grant: Option<String>) -> Self {
        Self {
            public_key: somebody.public_key,
            name: somebody.name,
            role: somebody.role,
            grant,
        }
    }

    pub(crate) fn into_trusted(self) -> Trusted {
        Trusted {
            public_key: self.public_key,
            name: self.name,
            role: self.role,
        }
    }
}

/// Reads the list. Content that could not be kept when the list is written again is an error, so that nothing
/// is lost.
pub(crate) fn read(path: &Path, bytes: &[u8]) -> Result<Vec<PeopleEntry>, KeyringError> {
    let people: Vec<PeopleEntry> = serde_json::from_slice(bytes).map_err(|error| KeyringError::Damaged {
        path: path.to_owned(),
        line: error.line(),
        what: without_place(&error),
    })?;
    for (at, somebody) in people.iter().enumerate() {
        let key = somebody.public_key;
        if people[..at].iter().any(|before| before.public_key == key) {
            return Err(KeyringError::Damaged {
                path: path.to_owned(),
                line: line_of_second(bytes, &key),
                what: format!("{key} occurs twice"),
            });
        }
    }
    Ok(people)
}

/// The list as text.
pub(crate) fn write(path: &Path, people: &[PeopleEntry]) -> Result<Vec<u8>, KeyringError> {
    let mut text =
        serde_json::to_vec_pretty(people).map_err(|error| KeyringError::file(path, error.into()))?;
    text.push(b'\n');
    Ok(text)
}

/// The message of the parser, without its line and column, which come before it.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}

/// The line (from 1) of the second occurrence of a key; the last line if it is written in another form.
fn line_of_second(bytes: &[u8], key: &PublicKey) -> usize {
    let text = String::from_utf8_lossy(bytes);
    let place = text.match_indices(&key.to_string()).nth(1);
    let before = place.map_or(&*text, |(at, _)| &text[..at]);
    before.matches('\n').count() + 1
}
