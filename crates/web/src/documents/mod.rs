//! A separate process reads documents whose formats need a library (HTML, PDF), because they come from
//! strangers: a document that needs too much memory or time, or breaks the library, ends only that process.
//!
//! `helper` is the inside of that process, `process` starts it and enforces its limits. Both know the
//! [`DocumentFormat`] and the answer.

mod helper;
#[cfg(feature = "documents")]
mod html;
#[cfg(feature = "documents")]
mod pdf;
mod process;

pub use helper::act_as_document_helper;
pub use process::DocumentHelper;

use serde::{Deserialize, Serialize};

/// The word on the command line with which a program becomes the helper.
pub(crate) const HELPER: &str = "__document";

/// A format that the helper reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentFormat {
    /// A page of the web, in UTF-8.
    Html,
    /// A PDF.
    Pdf,
}

impl DocumentFormat {
    /// Returns the word for the format on the helper's command line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Pdf => "pdf",
        }
    }

    /// Returns the format with this word.
    #[cfg(feature = "documents")]
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        [Self::Html, Self::Pdf]
            .into_iter()
            .find(|format| format.word() == word)
    }
}

/// A document as Markdown or text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentText {
    /// The title, if the document has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The text.
    pub text: String,
    /// Whether the rest of a very long text was left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
}

/// The answer of the helper on its standard output.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HelperAnswer {
    /// The document.
    Document(DocumentText),
    /// The reason why it cannot be read.
    Refused(String),
}
