//! A memory, and its bounds.

use std::fmt;

use agentx_tools::without_tokens;
use agentx_types::{SessionId, Timestamp};
use serde::{Deserialize, Serialize};

/// Maximum length of a memory, in characters.
pub const LONGEST_TEXT: usize = 1_000;
/// Maximum number of memories of a person, in every state.
pub const MAX_MEMORIES: u64 = 200_000;
/// Maximum number of proposals that wait for a person.
pub const MAX_WAITING: u64 = 200;

/// The state of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryState {
    /// A proposal that waits for the person. No model is given it.
    Proposed,
    /// Models are given it where it fits.
    Accepted,
    /// The person does not want it. It is kept so that it is not proposed again.
    Refused,
}

impl MemoryState {
    /// The word in the database, in lists and in filters.
    pub fn word(self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::Accepted => "accepted",
            Self::Refused => "refused",
        }
    }

    /// Returns the state of this word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Proposed, Self::Accepted, Self::Refused]
            .into_iter()
            .find(|state| state.word() == word)
    }
}

/// The place in a session from which a memory comes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryOrigin {
    /// The session.
    pub session: SessionId,
    /// The event of the input in whose run it was proposed; 0 if that is unknown.
    pub seq: u64,
}

impl fmt::Display for MemoryOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.session, self.seq)
    }
}

/// A memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// The number by which the person names it. A number is never used again.
    pub id: i64,
    /// One line.
    pub text: String,
    /// Whether models get it.
    pub state: MemoryState,
    /// Whether models always get it.
    pub pinned: bool,
    /// The absolute folder in which and below which it is used; `None` for everywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Its origin; `None` if the person added it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<MemoryOrigin>,
    /// The number of the version, from 1: each edit of the text adds one.
    pub revision: u32,
    /// The time at which it was proposed or added.
    pub created_at: Timestamp,
    /// The time of the last change.
    pub changed_at: Timestamp,
}

impl Memory {
    /// The id for a session, which has another one for each version of the text: `12`, `12.2`.
    pub fn item_id(&self) -> String {
        match self.revision {
            1 => self.id.to_string(),
            revision => format!("{}.{revision}", self.id),
        }
    }

    /// Returns whether the memory is given to sessions in this folder.
    pub fn is_for(&self, workspace: &str) -> bool {
        self.folder.as_deref().is_none_or(|folder| {
            let below = workspace.strip_prefix(folder);
            below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || folder.ends_with('/'))
        })
    }
}

/// A memory to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMemory {
    /// The words.
    pub text: String,
    /// The state that it begins with.
    pub state: MemoryState,
    /// Whether models always get it.
    pub pinned: bool,
    /// The absolute folder in which it is used; `None` for everywhere.
    pub folder: Option<String>,
    /// Its origin.
    pub origin: Option<MemoryOrigin>,
    /// The call that proposes it. A call that is repeated after a crash proposes nothing twice.
    pub call: Option<String>,
}

impl NewMemory {
    /// A memory that the person adds: accepted, everywhere, not pinned.
    pub fn of_person(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            state: MemoryState::Accepted,
            pinned: false,
            folder: None,
            origin: None,
            call: None,
        }
    }
}

/// A change of a memory. `None` leaves a field as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryEdit {
    /// Other words.
    pub text: Option<String>,
    /// Another state.
    pub state: Option<MemoryState>,
    /// Whether it is pinned.
    pub pinned: Option<bool>,
    /// Another folder; `Some(None)` for everywhere.
    pub folder: Option<Option<String>>,
}

/// A filter of memories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryFilter {
    /// Only those in this state.
    pub state: Option<MemoryState>,
    /// Only those that are used in this folder.
    pub workspace: Option<String>,
}

/// The reason why something about memories failed.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// No memory has this number.
    #[error("there is no memory {0}")]
    NotFound(i64),
    /// The text cannot be a memory.
    #[error("{0}")]
    InvalidText(String),
    /// A bound is reached.
    #[error("{0}")]
    Full(String),
    /// The disk is full; nothing of the write was kept.
    #[error("no space left for {path}; nothing was saved")]
    NoSpace {
        /// The file.
        path: String,
    },
    /// The database cannot be used.
    #[error("the memories in {path} cannot be used: {what}")]
    Store {
        /// The file.
        path: String,
        /// The cause.
        what: String,
    },
}

/// The text of a memory: one line without control characters.
///
/// # Errors
/// Returns an error if nothing is left, if it is too long, or if it contains a secret.
pub(crate) fn checked_text(text: &str) -> Result<String, MemoryError> {
    let is_space = |c: char| c.is_whitespace() || c.is_control() || agentx_types::is_control_or_bidi(c);
    let words: Vec<&str> = text.split(is_space).filter(|word| !word.is_empty()).collect();
    let text = words.join(" ");
    let length = text.chars().count();
    if length == 0 {
        return Err(MemoryError::InvalidText("a memory needs words".into()));
    }
    if length > LONGEST_TEXT {
        return Err(MemoryError::InvalidText(format!(
            "a memory has at most {LONGEST_TEXT} characters, and this one has {length}"
        )));
    }
    if without_tokens(&text).is_some() {
        return Err(MemoryError::InvalidText(
            "the text looks like it contains a key or a password, which is never kept as a memory".into(),
        ));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(folder: Option<&str>) -> Memory {
        Memory {
            id: 12,
            text: "tea".into(),
            state: MemoryState::Accepted,
            pinned: false,
            folder: folder.map(str::to_owned),
            origin: None,
            revision: 1,
            created_at: Timestamp(1),
            changed_at: Timestamp(1),
        }
    }

    #[test]
    fn a_folder_covers_what_is_below_it_and_nothing_beside_it() {
        for (folder, workspace, covers) in [
            (None, "/a", true),
            (Some("/a"), "/a", true),
            (Some("/a"), "/a/b", true),
            (Some("/a"), "/ab", false),
            (Some("/a/b"), "/a", false),
            (Some("/"), "/a", true),
        ] {
            assert_eq!(memory(folder).is_for(workspace), covers, "{folder:?} {workspace}");
        }
    }

    #[test]
    fn a_text_is_one_line_within_bounds_and_no_secret() {
        assert_eq!(checked_text(" a\n- b\u{202e}c\t").unwrap(), "a - b c");
        // A made-up token in the form of a real one.
        let secret = format!("my token is ghp_{}", "a1B2".repeat(9));
        for text in ["", " \n ", &"x".repeat(LONGEST_TEXT + 1), &secret] {
            assert!(checked_text(text).is_err(), "{text}");
        }
        assert!(checked_text(&"ä".repeat(LONGEST_TEXT)).is_ok());
    }

    #[test]
    fn each_version_has_its_own_id_in_a_session() {
        let mut memory = memory(None);
        assert_eq!(memory.item_id(), "12");
        memory.revision = 2;
        assert_eq!(memory.item_id(), "12.2");
    }
}
