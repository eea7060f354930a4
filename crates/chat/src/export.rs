//! A session as a file: `agentx sessions export` and `/export` of a chat.

use std::io::{ErrorKind, Write as _};
use std::path::Path;

use agentx::history::transcript::{html, markdown, transcript};
use agentx::history::{export as document, portable};
use agentx::runtime::{Runtime, RuntimeError};
use agentx::types::SessionId;

use crate::error::ChatError;

/// What the file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionFileFormat {
    /// The conversation, to be read.
    Markdown,
    /// The conversation as a page.
    Html,
    /// All events, to be imported again.
    Json,
}

impl SessionFileFormat {
    /// The format that the name of a file asks for: Markdown, unless it ends with `.html` or `.json`.
    pub(crate) fn of_file(file: &Path) -> Self {
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("html" | "htm") => Self::Html,
            Some("json") => Self::Json,
            _ => Self::Markdown,
        }
    }
}

/// A session, written down.
#[derive(Debug)]
pub struct ExportedSession {
    /// The contents of the file.
    pub text: String,
    /// Contents that the session refers to and that are gone.
    pub missing_blobs: Vec<String>,
}

/// Writes a session down in this format.
///
/// # Errors
/// Returns an error if the session cannot be read.
pub async fn text(
    runtime: &dyn Runtime,
    id: &SessionId,
    format: SessionFileFormat,
) -> Result<ExportedSession, RuntimeError> {
    let whole = |text| ExportedSession {
        text,
        missing_blobs: Vec::new(),
    };
    Ok(match format {
        SessionFileFormat::Markdown => whole(markdown(&transcript(runtime, id).await?)),
        SessionFileFormat::Html => whole(html(&transcript(runtime, id).await?)),
        SessionFileFormat::Json => {
            let document = document(runtime, id).await?;
            let text = portable::to_json(&document)
                .map_err(|error| RuntimeError::Refused(format!("it cannot be written as JSON: {error}")))?;
            ExportedSession {
                text,
                missing_blobs: document.missing_blobs.iter().map(ToString::to_string).collect(),
            }
        }
    })
}

/// Writes a file whole or not at all: what was there stays if the disk is full. A session may hold secrets, so the file is for its owner
/// alone.
///
/// # Errors
/// Returns an error if the file exists and `force` is not set, or it cannot be written.
pub fn write(file: &Path, text: &str, force: bool) -> Result<(), ChatError> {
    let there = std::fs::metadata(file).ok();
    let written = match &there {
        Some(_) if !force => Err(ErrorKind::AlreadyExists.into()),
        // A device or a pipe stays what it is.
        Some(found) if !found.is_file() => std::fs::write(file, text),
        _ => replace(file, text, force),
    };
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => ChatError::usage(
            format!("{} already exists", file.display()),
            "choose another file, or overwrite it with --force",
        ),
        // The error of the library names a temporary file.
        ErrorKind::NotFound => ChatError::File {
            path: file.display().to_string(),
            what: "its directory does not exist".to_owned(),
        },
        _ => ChatError::File {
            path: file.display().to_string(),
            what: error.to_string(),
        },
    })
}

fn replace(file: &Path, text: &str, force: bool) -> std::io::Result<()> {
    let real = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let folder = real.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut beside = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    beside.write_all(text.as_bytes())?;
    let placed = if force {
        beside.persist(&real)
    } else {
        beside.persist_noclobber(&real)
    };
    placed.map(drop).map_err(|failed| failed.error)
}
