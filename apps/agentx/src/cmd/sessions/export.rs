//! `agentx sessions export` and `import`: a session as a document, and back.

use std::io::Read as _;
use std::path::Path;

use agentx::history::portable;
use agentx::runtime::{Runtime, RuntimeError};
use serde_json::json;

use crate::args::{ExportArgs, ExportFormat, ImportArgs};
use crate::compose::CommandTarget;
use crate::console::Console;
use crate::error::ChatError;
use crate::export::{self, SessionFileFormat};
use crate::render::{conversation, units};

const AGAIN: &str =
    "export it again on the machine it came from: agentx sessions export ID --format json -o FILE";

/// Writes a session down.
pub(crate) async fn export(
    runtime: &dyn Runtime,
    args: &ExportArgs,
    console: &mut Console,
) -> Result<(), ChatError> {
    let id = runtime.resolve(&args.id).await?;
    let format = match args.format {
        ExportFormat::Md => SessionFileFormat::Markdown,
        ExportFormat::Html => SessionFileFormat::Html,
        ExportFormat::Json => SessionFileFormat::Json,
    };
    let written = export::text(runtime, &id, format).await?;
    for blob in &written.missing_blobs {
        console.say(&format!("note: {blob} no longer exists and is left out\n"));
    }
    match &args.output {
        None => console.out_exact(&written.text),
        Some(file) => {
            export::write(file, &written.text, args.force)?;
            console.say(&format!("exported {id} to {}\n", file.display()));
            Ok(())
        }
    }
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
            "note: {lost} blobs were already missing when it was exported\n"
        ));
    }
    let command = place.command(&format!("resume {id}"));
    console.say(&conversation::go_on_with(&command, console.terminal.width));
    Ok(())
}

fn read(file: &Path) -> Result<String, ChatError> {
    let mut text = String::new();
    let done = if file.as_os_str() == "-" {
        std::io::stdin().lock().read_to_string(&mut text)
    } else {
        std::fs::File::open(file).and_then(|mut file| file.read_to_string(&mut text))
    };
    done.map(|_| text).map_err(|error| ChatError::File {
        path: file.display().to_string(),
        what: error.to_string(),
    })
}
