//! `agentx sessions export` and `import`: a session as a document, and back.

use agentx::config::Settings;
use agentx::openhands::ImportReport;
use agentx::runtime::RuntimeError;
use agentx::types::SessionId;
use serde_json::json;

use crate::args::{ExportArgs, ExportFormat, ImportArgs};
use crate::compose::CommandTarget;
use crate::console::Console;
use crate::error::ChatError;
use crate::export::{self, SessionFileFormat};
use crate::import::{self, EXPORT_AGAIN};
use crate::render::{conversation, units};

/// Exports a session.
pub(crate) async fn export(
    place: &CommandTarget,
    args: &ExportArgs,
    settings: &Settings,
    json: bool,
    console: &mut Console,
) -> Result<(), ChatError> {
    let runtime = place.runtime();
    let id = args.session.find(place, settings).await?;
    if args.fixture {
        let (text, left_out) = export::fixture_text(runtime, &id, settings).await?;
        if left_out > 0 {
            let places = units::counted(u64::try_from(left_out).unwrap_or(u64::MAX), "place");
            console.say(&format!(
                "note: secrets and opaque parts are left out at {places}\n"
            ));
        }
        return write(&id, &text, args, json, console);
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
    write(&id, &written.text, args, json, console)
}

/// Writes an export to the requested file or to standard output.
fn write(
    id: &SessionId,
    text: &str,
    args: &ExportArgs,
    json: bool,
    console: &mut Console,
) -> Result<(), ChatError> {
    match &args.output {
        None => console.out_exact(text),
        Some(file) => {
            export::write(file, text, args.force)?;
            let whole = std::path::absolute(file).unwrap_or_else(|_| file.clone());
            if json {
                return console.out_pretty(&json!({ "session_id": id, "file": whole }));
            }
            console.say(&format!("exported {id} to {}\n", whole.display()));
            Ok(())
        }
    }
}

/// Imports the sessions of a document, or of a log of another program.
pub(crate) async fn import(
    place: &CommandTarget,
    args: &ImportArgs,
    settings: &Settings,
    json: bool,
    console: &mut Console,
) -> Result<(), ChatError> {
    let mut imported = Vec::new();
    for mut found in import::read(&args.file, &settings.workspace, console)? {
        // The document does not say where its agent works on this machine; a server decides for itself.
        found.document.workspace = settings.workspace.to_string_lossy().into_owned();
        let lost = found.document.missing_blobs.len();
        let report = match place.runtime().import(found.document).await {
            Err(RuntimeError::Refused(what)) => return Err(ChatError::usage(what, EXPORT_AGAIN)),
            taken => taken.map_err(super::operator_only_error)?,
        };
        let id = &report.session_id;
        if json {
            let mut value = json!({ "session_id": id, "events": report.last_seq, "head": report.head });
            if let Some(read) = found.report {
                value["read"] = read.to_json();
            }
            imported.push(value);
            continue;
        }
        console.out(&format!(
            "{id}: {}, checked\n",
            units::counted(report.last_seq, "event")
        ))?;
        for line in found.report.iter().flat_map(ImportReport::lines) {
            console.say(&format!("{line}\n"));
        }
        if lost > 0 {
            console.say(&format!(
                "note: {lost} blobs were already missing when it was exported\n"
            ));
        }
        let command = place.command(&format!("resume {id}"));
        console.say(&conversation::continue_hint(&command, console.terminal.width));
    }
    match &imported[..] {
        [] => Ok(()),
        [one] => console.out_pretty(one),
        several => console.out_pretty(&json!(several)),
    }
}
