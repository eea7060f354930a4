//! What a person wants, as a rule names it.

use std::collections::BTreeMap;
use std::fmt;

use agentx_types::VarKind;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One thing that a person wants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// The rule that fits.
    pub rule: String,
    /// What is filled in, by variable.
    pub args: BTreeMap<String, Value>,
    /// What was said beside that, and what did not come to a value of its kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

impl Intent {
    /// An intent with nothing filled in.
    pub fn new(rule: impl Into<String>) -> Self {
        Self {
            rule: rule.into(),
            args: BTreeMap::new(),
            notes: Vec::new(),
        }
    }

    /// The same with a variable filled in.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.args.insert(name.into(), value.into());
        self
    }
}

/// Something in an answer that is kept apart because the rule has no place for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// The rule has no such variable.
    UnknownKey {
        /// Which.
        key: String,
        /// What it was to be.
        value: String,
    },
    /// The variable is filled in already; what came first counts.
    Again {
        /// Which.
        key: String,
        /// What it was to be.
        value: String,
    },
    /// The words are not of the variable's kind; they are kept as words.
    NotOfKind {
        /// Which variable.
        key: String,
        /// Of which kind.
        kind: VarKind,
    },
    /// Words before the first variable.
    Stray {
        /// They.
        text: String,
    },
    /// The line was too long; what is beyond the bound is gone.
    Cut,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKey { key, value } => {
                write!(f, "there is no variable {key:?} (it was to be {value:?})")
            }
            Self::Again { key, value } => write!(f, "{key:?} was filled in twice (then with {value:?})"),
            Self::NotOfKind { key, kind } => {
                write!(f, "{key:?} is no {}; it is kept as words", kind.as_str())
            }
            Self::Stray { text } => write!(f, "{text:?} belongs to no variable"),
            Self::Cut => f.write_str("the line was too long and was cut"),
        }
    }
}
