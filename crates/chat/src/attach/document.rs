//! Attaches the text of a PDF or a notebook.

use agentx::CancellationToken;
use agentx::tools::{DocumentReader as _, LARGEST_NOTEBOOK, is_named_as_notebook, notebook_markdown};
use agentx::web::DocumentHelper;

use super::LONGEST_TEXT;

/// Maximum size of an attached document in bytes; its text has the limit of an attached text.
pub(super) const LARGEST_DOCUMENT: u64 = LARGEST_NOTEBOOK;

/// A document whose text is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DocumentKind {
    Pdf,
    Notebook,
}

impl DocumentKind {
    /// Returns the kind of the document with this name; `None` if it is not a document.
    pub(super) fn named(name: &str) -> Option<Self> {
        if is_named_as_notebook(name) {
            return Some(Self::Notebook);
        }
        name.to_ascii_lowercase().ends_with(".pdf").then_some(Self::Pdf)
    }

    /// Returns the text of a document.
    ///
    /// # Errors
    /// Returns the reason why it cannot be attached, in words for the person.
    pub(super) fn text(self, name: &str, bytes: Vec<u8>) -> Result<String, String> {
        let read = match self {
            Self::Pdf => pdf_text(bytes),
            Self::Notebook => notebook_markdown(&bytes),
        };
        let text = read.map_err(|why| format!("{name} cannot be attached: {why}"))?;
        if text.len() as u64 > LONGEST_TEXT {
            return Err(format!(
                "{name} has {} bytes of text, and at most {LONGEST_TEXT} can be attached; write the name without @, and the \
                 agent reads what it needs",
                text.len()
            ));
        }
        Ok(text)
    }
}

fn pdf_text(bytes: Vec<u8>) -> Result<String, String> {
    let helper = DocumentHelper::of_this_program().ok_or("this program reads no PDFs")?;
    helper.pdf_text(bytes, &CancellationToken::new())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

    use super::*;

    #[test]
    fn a_notebook_is_attached_as_its_text_and_a_huge_one_is_refused() {
        assert_eq!(DocumentKind::named("a/b.IPYNB"), Some(DocumentKind::Notebook));
        assert_eq!(DocumentKind::named("b.pdf"), Some(DocumentKind::Pdf));
        assert_eq!(DocumentKind::named("pdf"), None);
        let notebook = |words: &str| {
            format!("{{\"cells\": [{{\"cell_type\": \"markdown\", \"source\": \"{words}\"}}]}}")
        };
        let text = |words: &str| DocumentKind::Notebook.text("b.ipynb", notebook(words).into_bytes());
        assert_eq!(text("# Words").unwrap(), "[cell 1: markdown]\n# Words\n");
        assert!(
            text(&"x".repeat(300_000))
                .unwrap_err()
                .contains("write the name without @")
        );
        let broken = DocumentKind::Notebook.text("b.ipynb", b"{}".to_vec());
        assert!(
            broken
                .unwrap_err()
                .starts_with("b.ipynb cannot be attached: it is not a notebook")
        );
    }
}
