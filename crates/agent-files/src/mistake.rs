//! What is wrong with a file, said so that it can be mended: where it stands, what is wrong, and what was likely meant.

use std::fmt;
use std::path::PathBuf;

use agentx_config::yaml::TextPosition;
use serde::Serialize;

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct DefinitionMistake {
    /// The file, as the caller named its root.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u64,
    /// The column in characters, from 1.
    pub column: u64,
    /// What is wrong, in words; never holds a secret.
    pub message: String,
    /// What to do about it.
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

/// `did you mean …?`, where a candidate is near.
pub(crate) fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    agentx_config::nearest(word, candidates, 1)
        .first()
        .map(|near| format!("did you mean `{near}`?"))
}
