//! The text of a PDF, page by page.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pdf_extract::{Document, PlainTextOutput, output_doc_page};

use super::DocumentText;

/// The maximum number of pages that are read.
const MAX_PAGES: usize = 1_000;

/// Reads a PDF, until its text has more than `most` bytes.
pub(super) fn read(bytes: &[u8], most: usize) -> Result<DocumentText, String> {
    let mut document =
        Document::load_mem(bytes).map_err(|error| format!("it is not a whole PDF: {error}"))?;
    if document.is_encrypted() && document.decrypt("").is_err() {
        return Err("it is encrypted, and only a password opens it".to_owned());
    }
    let pages: Vec<u32> = document.get_pages().into_keys().collect();
    let (mut text, mut has_words, mut is_cut) = (String::new(), false, pages.len() > MAX_PAGES);
    for number in pages.iter().take(MAX_PAGES) {
        if text.len() > most {
            is_cut = true;
            break;
        }
        text.push_str(&format!("[page {number}]\n"));
        match page(&document, *number) {
            Some(words) if words.trim().is_empty() => {}
            Some(words) => {
                has_words = true;
                text.push_str(&tidy(&words));
            }
            None => text.push_str("[this page cannot be read]\n"),
        }
        text.push('\n');
    }
    if !has_words {
        let pages = pages.len();
        return Err(format!(
            "it has {pages} pages and no text in them; they may be pictures of text"
        ));
    }
    Ok(DocumentText {
        title: None,
        text: text.trim_end().to_owned(),
        is_cut,
    })
}

/// The text of one page; `None` if it cannot be read. The library panics at much that it does not know.
fn page(document: &Document, number: u32) -> Option<String> {
    let read = catch_unwind(AssertUnwindSafe(|| {
        let mut text = String::new();
        output_doc_page(document, &mut PlainTextOutput::new(&mut text), number).map(|()| text)
    }));
    read.ok()?.ok()
}

/// The lines of a page without blanks at their ends, and with one empty line for several.
fn tidy(text: &str) -> String {
    let mut tidy = String::with_capacity(text.len());
    let mut is_empty = true;
    for line in text.lines().map(str::trim_end) {
        if !(line.is_empty() && is_empty) {
            tidy.push_str(line);
            tidy.push('\n');
        }
        is_empty = line.is_empty();
    }
    tidy
}
