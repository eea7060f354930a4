//! `agentx sessions export` and `import`: a session as a document, and back.

use std::io::Read as _;
use std::path::Path;

use agentx::config::Settings;
use agentx::history::portable;
use agentx::runtime::{Runtime, RuntimeError};
use agentx::types::SessionId;
use serde_json::json;

use crate::args::{ExportArgs, ExportFormat, ImportArgs};
use crate::compose::CommandTarget;
use crate::console::Console;
use crate::error::ChatError;
use crate::export::{self, SessionFileFormat};
use crate::named_file::open_named;
use crate::render::{conversation, units};

const AGAIN: &str =
    "export it again on the machine it came from: agentx sessions export ID --format json -o FILE";

const READS: &str = "it reads the output of: agentx sessions export ID --format json -o FILE";

/// Exports a session.
pub(crate) async fn export(
    runtime: &dyn Runtime,
    args: &ExportArgs,
    settings: &Settings,
    console: &mut Console,
) -> Result<(), ChatError> {
    let id = runtime.resolve(&args.id).await?;
    if args.fixture {
        let (text, left_out) = export::fixture_text(runtime, &id, settings).await?;
        if left_out > 0 {
            let places = units::counted(u64::try_from(left_out).unwrap_or(u64::MAX), "place");
            console.say(&format!(
                "note: secrets and opaque parts are left out at {places}\n"
            ));
        }
        return write(&id, &text, args, console);
    }
    let format = match (args.format, &args.output) {
        (Some(ExportFormat::Html), _) => SessionFileFormat::Html,
        (Some(ExportFormat::Json), _) => SessionFileFormat::Json,
        (None, Some(file)) => SessionFileFormat::of_file(file).unwrap_or(SessionFileFormat::Markdown),
        (Some(ExportFormat::Md) | None, _) => SessionFileFormat::Markdown,
    };
    let written = export::text(runtime, &id, format).await?;
    for blob in &written.missing_blobs {
        console.say(&format!("note: {blob} no longer exists and is left out\n"));
    }
    write(&id, &written.text, args, console)
}

/// Writes an export to the requested file or to standard output.
fn write(id: &SessionId, text: &str, args: &ExportArgs, console: &mut Console) -> Result<(), ChatError> {
    match &args.output {
        None => console.out_exact(text),
        Some(file) => {
            export::write(file, text, args.force)?;
            console.say(&format!("exported {id} to {}\n", file.display()));
            Ok(())
        }
    }
}

/// Imports a session.
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
        open_named(file).and_then(|mut file| file.read_to_string(&mut text))
    };
    done.map(|_| text)
        .map_err(|error| ChatError::usage(format!("{}: {error}", file.display()), READS))
}
