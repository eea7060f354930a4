//! `agentx sessions export` and `import`: a session as a document, and back.

use std::io::{ErrorKind, Read as _, Write as _};
use std::path::Path;

use agentx::history::transcript::{html, markdown, transcript};
use agentx::history::{export as document, portable};
use agentx::runtime::{Runtime, RuntimeError};
use serde_json::json;

use crate::args::{ExportArgs, ExportFormat, ImportArgs};
use crate::compose::CommandTarget;
use crate::console::Console;
use crate::error::ChatError;
use crate::render::{conversation, units};

/// What to do about a file that is not what it should be.
const AGAIN: &str = "write it down again where it came from: agentx sessions export ID --format json -o FILE";

/// Writes a session down.
pub(crate) async fn export(
    runtime: &dyn Runtime,
    args: &ExportArgs,
    console: &mut Console,
) -> Result<(), ChatError> {
    let id = runtime.resolve(&args.id).await?;
    let text = match args.format {
        ExportFormat::Md => markdown(&transcript(runtime, &id).await?),
        ExportFormat::Html => html(&transcript(runtime, &id).await?),
        ExportFormat::Json => {
            let document = document(runtime, &id).await?;
            for blob in &document.missing_blobs {
                console.say(&format!("note: {blob} is not there any more and is left out\n"));
            }
            portable::to_json(&document).map_err(std::io::Error::from)?
        }
    };
    match &args.output {
        None => console.out_exact(&text),
        Some(file) => {
            write(file, &text, args.force)?;
            console.say(&format!("{id} is in {}\n", file.display()));
            Ok(())
        }
    }
}

/// Writes a file whole or not at all: what was there stays if the disk is full. A session may hold what is nobody else's business, so the file
/// is for its owner alone.
fn write(file: &Path, text: &str, force: bool) -> Result<(), ChatError> {
    let there = std::fs::metadata(file).ok();
    let written = match &there {
        Some(_) if !force => Err(ErrorKind::AlreadyExists.into()),
        // A device or a pipe stays what it is.
        Some(found) if !found.is_file() => std::fs::write(file, text),
        _ => replace(file, text, force),
    };
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => ChatError::usage(
            format!("{} is there already", file.display()),
            "name another file, or write over it with --force",
        ),
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
    let placed = match force {
        true => beside.persist(&real),
        false => beside.persist_noclobber(&real),
    };
    placed.map(drop).map_err(|failed| failed.error)
}

/// Takes a session in.
pub(crate) async fn import(
    place: &CommandTarget,
    args: &ImportArgs,
    json: bool,
    console: &mut Console,
) -> Result<(), ChatError> {
    let text = read(&args.file)?;
    let document = portable::from_json(&text)
        .map_err(|what| ChatError::usage(format!("{}: {what}", args.file.display()), AGAIN))?;
    let lost = document.missing_blobs.len();
    let report = match place.runtime().import(document).await {
        Err(RuntimeError::Refused(what)) => return Err(ChatError::usage(what, AGAIN)),
        taken => taken.map_err(super::operator_only_error)?,
    };
    let id = &report.session_id;
    if json {
        return console
            .out_pretty(&json!({ "session_id": id, "events": report.last_seq, "head": report.head }));
    }
    console.out(&format!(
        "{id}: {}, checked\n",
        units::counted(report.last_seq, "event")
    ))?;
    if lost > 0 {
        console.say(&format!(
            "note: {lost} blobs were not there any more when it was exported\n"
        ));
    }
    let command = place.command(&format!("resume {id}"));
    console.say(&conversation::go_on_with(&command, console.terminal.width));
    Ok(())
}

fn read(file: &Path) -> Result<String, ChatError> {
    let mut text = String::new();
    let done = match file.as_os_str() == "-" {
        true => std::io::stdin().lock().read_to_string(&mut text),
        false => std::fs::File::open(file).and_then(|mut file| file.read_to_string(&mut text)),
    };
    done.map(|_| text).map_err(|error| ChatError::File {
        path: file.display().to_string(),
        what: error.to_string(),
    })
}
