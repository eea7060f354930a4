//! Reads what `agentx sessions import` imports: an exported session, or a log of OpenHands, in a file or a
//! folder.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use agentx::config::leads_out;
use agentx::history::portable;
use agentx::openhands::{
    ImportOptions, ImportReport, Log, LogFile, LogReadError, MOST_BYTES, MOST_EVENTS, import,
};
use agentx::runtime::{ExportedBlob, SessionExport};

use crate::error::ChatError;
use crate::named_file::open_named;
use crate::render::clean::visible;
use crate::render::units::now;
use crate::terminal::console::Console;

/// The advice about a document that is refused.
pub const EXPORT_AGAIN: &str =
    "export it again on the machine it came from: agentx sessions export ID --format json -o FILE";
const READS: &str = "it reads the output of `agentx sessions export ID --format json -o FILE`, and logs of OpenHands: a file \
                     of events, or the folder of a conversation";

/// A session to import.
#[derive(Debug)]
pub struct FoundSession {
    /// The session as a document.
    pub document: SessionExport,
    /// The contents of a log of another program, and the parts that the document leaves out.
    pub report: Option<ImportReport>,
}

/// Reads the sessions of a file or a folder; `-` is standard input. The agents of logs of other programs work
/// in `workspace` if a person continues them. Links that lead out of the folder are not followed; notes say
/// so.
///
/// # Errors
/// Returns an error if it cannot be read, is too large, or is neither of the two.
pub fn read(path: &Path, workspace: &Path, console: &mut Console) -> Result<Vec<FoundSession>, ChatError> {
    if path.is_dir() {
        return logs_of_folder(path, console).and_then(|logs| of_logs(&logs, path, workspace));
    }
    let mut left = MOST_BYTES;
    let text = text_of(path, &mut left)?;
    let why = match portable::from_json(&text) {
        Ok(document) => {
            return Ok(vec![FoundSession {
                document,
                report: None,
            }]);
        }
        Err(why) => why,
    };
    match Log::read_all(&text, None) {
        Ok(logs) => of_logs(&logs, path, workspace),
        Err(LogReadError::Other(_)) => Err(refused(path, &why, EXPORT_AGAIN)),
        Err(error) => Err(refused(path, &error.to_string(), READS)),
    }
}

fn of_logs(logs: &[Log], path: &Path, workspace: &Path) -> Result<Vec<FoundSession>, ChatError> {
    let options = ImportOptions {
        workspace: workspace.to_string_lossy().into_owned(),
        now: now(),
        program: concat!("agentx ", env!("CARGO_PKG_VERSION")).into(),
        ..ImportOptions::default()
    };
    let session = |log: &Log| {
        let made = import(log, &options).map_err(|error| refused(path, &error.to_string(), READS))?;
        let blobs = made.blobs.into_iter().map(|(id, data)| ExportedBlob { id, data });
        Ok(FoundSession {
            document: portable::of_facts(made.events, made.title, made.workspace, blobs.collect()),
            report: Some(made.report),
        })
    };
    logs.iter().map(session).collect()
}

/// The log of a conversation's folder: `events/` with a file for each event, or `events.jsonl`.
fn logs_of_folder(folder: &Path, console: &mut Console) -> Result<Vec<Log>, ChatError> {
    let mut left = MOST_BYTES;
    let parent = folder.parent().filter(|_| folder.ends_with("events"));
    let mut state = None;
    for folder in [Some(folder), parent].into_iter().flatten() {
        for name in ["base_state.json", "metadata.json"] {
            let file = folder.join(name);
            if state.is_none() && file.is_file() && stays_in(folder, &file, console) {
                state = Some(file);
            }
        }
    }
    let state = state.map(|state| file_of(&state, &mut left)).transpose()?;
    let lines = folder.join("events.jsonl");
    let read = if lines.is_file() && stays_in(folder, &lines, console) {
        let text = text_of(&lines, &mut left)?;
        Log::read_all(&text, state.as_ref())
    } else {
        let inner = folder.join("events");
        let has_inner = inner.is_dir() && stays_in(folder, &inner, console);
        let mut files = Vec::new();
        for path in events_in(if has_inner { &inner } else { folder })? {
            if stays_in(folder, &path, console) {
                files.push(file_of(&path, &mut left)?);
            }
        }
        if files.is_empty() {
            return Err(refused(folder, "the folder has no events of OpenHands", READS));
        }
        Log::of_folder(files, state.as_ref()).map(|log| vec![log])
    };
    read.map_err(|error| refused(folder, &error.to_string(), READS))
}

/// The files of events in a folder: `12.json` of V0, `event-00012-….json` of V1.
fn events_in(folder: &Path) -> Result<Vec<PathBuf>, ChatError> {
    let entries = std::fs::read_dir(folder).map_err(|error| refused(folder, &error.to_string(), READS))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry
            .map_err(|error| refused(folder, &error.to_string(), READS))?
            .path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let Some(stem) = name.strip_suffix(".json") else {
            continue;
        };
        if !(stem.bytes().all(|letter| letter.is_ascii_digit()) || stem.starts_with("event-")) {
            continue;
        }
        if files.len() >= MOST_EVENTS {
            return Err(refused(
                folder,
                &format!("the log is too large: more than {MOST_EVENTS} events"),
                READS,
            ));
        }
        files.push(path);
    }
    Ok(files)
}

/// Returns whether a file of a folder that may come from elsewhere is in it, and says so if a link leads out:
/// the file there is the person's, and a session that is imported is shown and passed on.
fn stays_in(folder: &Path, file: &Path, console: &mut Console) -> bool {
    let is_outside = leads_out(folder, file);
    if is_outside {
        let file = visible(&file.display().to_string());
        console.say(&format!(
            "note: {file} is not read, because it is a link that leads out of the folder\n"
        ));
    }
    !is_outside
}

fn file_of(path: &Path, left: &mut u64) -> Result<LogFile, ChatError> {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    Ok(LogFile {
        name,
        text: text_of(path, left)?,
    })
}

/// The text of a file, of which at most `left` bytes are read; the rest of them is left for others.
fn text_of(path: &Path, left: &mut u64) -> Result<String, ChatError> {
    let mut text = String::new();
    let most = *left + 1;
    let done = if path.as_os_str() == "-" {
        std::io::stdin().lock().take(most).read_to_string(&mut text)
    } else {
        open_named(path).and_then(|file| file.take(most).read_to_string(&mut text))
    };
    let length = done.map_err(|error| refused(path, &error.to_string(), READS))?;
    *left = left.checked_sub(length as u64).ok_or_else(|| {
        refused(
            path,
            &format!("it has more than {} MiB", MOST_BYTES / 1024 / 1024),
            READS,
        )
    })?;
    Ok(text)
}

fn refused(path: &Path, what: &str, advice: &str) -> ChatError {
    ChatError::usage(format!("{}: {what}", path.display()), advice)
}
