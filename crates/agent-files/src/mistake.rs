//! Errors in files with what is needed to fix them: the position, the error, and the likely intention.

use std::fmt;
use std::path::PathBuf;

use agentx_config::yaml::TextPosition;
use serde::Serialize;

/// The position of a mistake that concerns the whole file.
pub(crate) const START: TextPosition = TextPosition { line: 1, column: 1 };

/// An error in a definition file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct DefinitionMistake {
    /// The file, as the caller named its root.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u64,
    /// The column in characters, from 1.
    pub column: u64,
    /// The description of the error; never contains a secret.
    pub message: String,
    /// A suggestion how to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl DefinitionMistake {
    pub(crate) fn new(file: impl Into<PathBuf>, at: TextPosition, message: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            line: at.line,
            column: at.column,
            message: message.into(),
            hint: None,
        }
    }

    pub(crate) fn hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }
}

impl fmt::Display for DefinitionMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}:{}: {}",
            self.file.display(),
            self.line,
            self.column,
            self.message
        )?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for DefinitionMistake {}

/// Returns `did you mean …?` if a candidate is similar.
pub(crate) fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    agentx_config::nearest(word, candidates, 1)
        .first()
        .map(|near| format!("did you mean `{near}`?"))
}
