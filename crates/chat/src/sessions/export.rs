//! A session as a file: `agentx sessions export` and `/export` of a chat.

use std::io::ErrorKind;
use std::path::Path;

use agentx::config::Settings;
use agentx::history::transcript::{html, markdown, transcript};
use agentx::history::{export as document, fixture, portable};
use agentx::runtime::{Runtime, RuntimeError};
use agentx::tools::{ProgramEnvironment, without_tokens};
use agentx::types::SessionId;
use agentx_files::{ReplaceOptions, replace};

use crate::error::ChatError;
use crate::render::clean::visible;
use crate::unwritten::unwritten;

/// The format of a session file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionFileFormat {
    /// The conversation, to be read.
    Markdown,
    /// The conversation as a page.
    Html,
    /// All events as JSON, which can be imported again.
    Json,
}

impl SessionFileFormat {
    /// The format that the end of a file's name asks for; Markdown without an end.
    ///
    /// # Errors
    /// Returns an error if the name has another end than those of the formats.
    pub fn of_file(file: &Path) -> Result<Self, ChatError> {
        let Some(ending) = file.extension() else {
            return Ok(Self::Markdown);
        };
        match ending.to_string_lossy().to_ascii_lowercase().as_str() {
            "md" | "markdown" => Ok(Self::Markdown),
            "html" | "htm" => Ok(Self::Html),
            "json" => Ok(Self::Json),
            other => Err(ChatError::usage(
                format!("a session cannot be written as `.{}`", visible(other)),
                "name a file that ends with .md (to read), .html (a page) or .json (to import again)",
            )),
        }
    }
}

/// The text of an exported session.
#[derive(Debug)]
pub struct ExportedSession {
    /// The contents of the file.
    pub text: String,
    /// Contents that the session refers to and that are gone.
    pub missing_blobs: Vec<String>,
}

/// Exports a session in this format.
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

/// Exports a session as a test, without anything that has the form of a secret. Fails if the session contains
/// a value of the environment or of the settings that may be a secret.
///
/// # Errors
/// Returns an error if the session cannot be read or contains such a value.
pub async fn fixture_text(
    runtime: &dyn Runtime,
    id: &SessionId,
    settings: &Settings,
) -> Result<(String, usize), ChatError> {
    let wrong = |what: String| ChatError::Runtime(RuntimeError::Refused(what));
    let facts = document(runtime, id).await?.events;
    let made = fixture::make(id.clone(), facts, &without_tokens).map_err(wrong)?;
    let secrets = ProgramEnvironment::default().secrets();
    let found = |text: &str| {
        let variable = secrets.iter().find(|(_, value)| text.contains(value.as_str()));
        match variable {
            Some((name, _)) => Some(format!("the value of the variable {}", visible(name))),
            None if settings.holds_key(text) => Some("a key of your settings".to_owned()),
            None => without_tokens(text).map(|_| "something with the form of a secret".to_owned()),
        }
    };
    let remains = fixture::find_remaining_secrets(&made, &found);
    if !remains.is_empty() {
        let first = remains.first().map_or(0, |remains| remains.seq);
        let named: Vec<String> = remains
            .iter()
            .map(|remains| format!("{} (seq {})", remains.what, remains.seq))
            .collect();
        return Err(ChatError::usage(
            format!("no fixture is written, because {id} holds {}", named.join(", ")),
            format!(
                "record the bug in another session, without the secret; `agentx sessions show {id} --at {first}` shows the place"
            ),
        ));
    }
    let text =
        fixture::to_text(&made).map_err(|error| wrong(format!("it cannot be written as JSON: {error}")))?;
    Ok((text, made.left_out))
}

/// Writes a file atomically: the old file stays if the disk is full. A session may contain secrets, so only
/// the owner can read the file.
///
/// # Errors
/// Returns an error if the file exists and `force` is not set, or it cannot be written.
pub fn write(file: &Path, text: &str, force: bool) -> Result<(), ChatError> {
    let there = std::fs::metadata(file).ok();
    let written = match &there {
        Some(_) if !force => Err(ErrorKind::AlreadyExists.into()),
        // A device or a pipe is not replaced.
        Some(found) if !found.is_file() => std::fs::write(file, text),
        _ => {
            let options = ReplaceOptions {
                follow_link: true,
                only_new: !force,
                ..ReplaceOptions::default()
            };
            replace(file, text.as_bytes(), options)
        }
    };
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => ChatError::usage(
            format!("{} already exists", file.display()),
            "choose another file, or overwrite it with --force",
        ),
        ErrorKind::NotFound => ChatError::File {
            path: file.display().to_string(),
            what: "its directory does not exist".to_owned(),
        },
        _ => unwritten(&file.display().to_string(), &error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_name_is_that_of_a_format() {
        let of = |name: &str| SessionFileFormat::of_file(Path::new(name)).ok();
        assert_eq!(of("talk.md"), Some(SessionFileFormat::Markdown));
        assert_eq!(of("talk"), Some(SessionFileFormat::Markdown));
        assert_eq!(of("talk.HTML"), Some(SessionFileFormat::Html));
        assert_eq!(of("talk.json"), Some(SessionFileFormat::Json));
        for other in ["talk.pdf", "talk.txt", "talk.md.gz"] {
            let error = SessionFileFormat::of_file(Path::new(other))
                .unwrap_err()
                .render_at(None);
            assert!(
                error.contains(".md") && error.contains(".html") && error.contains(".json"),
                "{error}"
            );
        }
    }

    #[test]
    fn an_error_names_the_file_that_was_typed() {
        let folder = tempfile::tempdir().unwrap();
        let part = folder.path().join("part");
        std::fs::write(&part, "a file").unwrap();
        let file = part.join("talk.md");
        let error = write(&file, "text", false).unwrap_err().to_string();
        let why = error.strip_prefix(&format!("{}: ", file.display()));
        assert!(why.is_some_and(|why| !why.contains(".tmp")), "{error}");
    }
}
