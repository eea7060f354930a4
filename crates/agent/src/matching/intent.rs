//! An intent: the thing that a person wants, as a rule names it.
//!
//! An `Intent` comes from the fast path or from a line of a model's answer, and is given to the agent that
//! its rule is routed to. Parts of a model's answer for which the rule has no place are not lost: the notes
//! contain them. Notes are shown with the answer and have no effect.

use std::collections::BTreeMap;
use std::fmt;

use agentx_types::VarKind;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A request of a person, matched to a rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// The name of the rule that fits.
    pub rule: String,
    /// The values, by the names of variables. A variable that the person did not mention is missing.
    pub args: BTreeMap<String, Value>,
    /// Notes about words that the rule has no place for, and about words that are not a value of their
    /// variable's kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<MatchNote>,
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

    /// Returns this intent with a variable set, in place of an earlier value.
    ///
    /// ```
    /// use agentx_agent::matching::Intent;
    /// let intent = Intent::new("volume").with("pct", 50);
    /// assert_eq!(intent.args["pct"], 50);
    /// ```
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.args.insert(name.into(), value.into());
        self
    }
}

/// A part of an answer that is kept apart because the rule has no place for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchNote {
    /// The rule has no such variable.
    UnknownKey {
        /// The key.
        key: String,
        /// The words that it was to have.
        value: String,
    },
    /// The variable has a value already; the first one counts.
    Again {
        /// The name of the variable.
        key: String,
        /// The words that came later.
        value: String,
    },
    /// The words are not of the variable's kind; they are kept as words.
    NotOfKind {
        /// The name of the variable.
        key: String,
        /// The kind that it has.
        kind: VarKind,
    },
    /// Words before the first variable.
    Stray {
        /// These words.
        text: String,
    },
    /// The line was too long, and was cut at the bound.
    Cut,
}

impl fmt::Display for MatchNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKey { key, value } => {
                write!(f, "there is no variable {key:?} (it was to be {value:?})")
            }
            Self::Again { key, value } => write!(f, "{key:?} was filled in twice (then with {value:?})"),
            Self::NotOfKind { key, kind } => {
                write!(f, "{key:?} is not of type {}; it is kept as words", kind.as_str())
            }
            Self::Stray { text } => write!(f, "{text:?} belongs to no variable"),
            Self::Cut => f.write_str("the line was too long and was cut"),
        }
    }
}
