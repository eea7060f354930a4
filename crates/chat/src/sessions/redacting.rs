//! Takes secrets out of a recorded session: `agentx sessions redact`.

use std::io::BufRead as _;

use agentx::config::Settings;
use agentx::node::known_secrets;
use agentx::runtime::{LogError, RedactionReport, Redactor, Runtime, RuntimeError};
use agentx::types::SessionId;
use clap::Args;
use serde_json::json;

use crate::error::ChatError;
use crate::place::Place;
use crate::render::clean::visible;
use crate::render::units::counted;
use crate::secrets;
use crate::secrets::kept_files::{self, TakenOut};
use crate::sessions::secret_scan::{FoundSecret, scan_for};
use crate::terminal::console::Console;

/// The name of a value that was given without one.
const UNNAMED: &str = "redacted";

/// `agentx sessions redact`
#[derive(Args, Debug)]
#[command(
    after_help = "The chain of hashes still verifies: a fact in the session says which events were replaced. Replace \
                  a key that others may have read."
)]
pub struct RedactArguments {
    /// Session id, or a prefix of it
    pub id: String,
    /// Remove the value on standard input; a terminal asks for it
    #[arg(long, required_unless_present = "found")]
    pub value_from_stdin: bool,
    /// Remove everything that `agentx sessions scan` finds
    #[arg(long, conflicts_with = "value_from_stdin")]
    pub found: bool,
    /// The name that replaces the value
    #[arg(long, value_name = "NAME", default_value = UNNAMED, conflicts_with = "found")]
    pub name: String,
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
}

/// Takes a value, or everything that is known to be secret, out of a session.
///
/// # Errors
/// Returns an error if the session does not exist or is at a server, if it or a session that shares its
/// events is open in a program, if nobody can be asked, or if the value is unusable.
pub async fn redact(
    place: &Place,
    settings: &Settings,
    wanted: &RedactArguments,
    as_json: bool,
    console: &mut Console,
) -> Result<(), ChatError> {
    if let Some(address) = place.address() {
        return Err(ChatError::usage(
            format!(
                "`agentx sessions redact` does not work through a server: the session would have to be \
                 closed at {address}"
            ),
            "its operator runs the command on that machine, without --connect, when everybody has left \
             the session",
        ));
    }
    let runtime = place.runtime();
    let id = runtime.resolve(&wanted.id).await?;
    let redactor = if wanted.found {
        Redactor::new(&known_secrets(settings))
    } else {
        secrets::check_name(&wanted.name)?;
        let value = secrets::value("Value to take out: ", true)?;
        Redactor::of_values(&secrets::set_of(&wanted.name, &value)?)
    };
    // Whoever gives a value means it.
    if wanted.found && !wanted.yes && !confirmed(runtime, &id, &redactor, console).await? {
        console.say("nothing was taken out\n");
        return Ok(());
    }
    let done = runtime.redact(&id, redactor.clone()).await;
    let report = done.map_err(in_use)?;
    let left = scan_for(runtime, &redactor, &id).await?;
    let files = kept_files::take_out(settings, &redactor);
    if as_json {
        return console.out_pretty(&json!({"redacted": report, "left": left, "files": files}));
    }
    console.out(&described(&report))?;
    console.say(&notes(&report, &left, &files));
    Ok(())
}

/// The error of a session that is open, with what to do.
fn in_use(error: RuntimeError) -> ChatError {
    match error {
        RuntimeError::Log(error @ LogError::Busy { .. }) => ChatError::InUse {
            message: format!("{error}; nothing was taken out"),
        },
        error => error.into(),
    }
}

/// Shows what was found, and asks whether to take it out.
async fn confirmed(
    runtime: &dyn Runtime,
    id: &SessionId,
    redactor: &Redactor,
    console: &mut Console,
) -> Result<bool, ChatError> {
    if !console.terminal.input {
        return Err(ChatError::usage(
            format!("taking secrets out of {id} needs a confirmation"),
            "add --yes",
        ));
    }
    for found in scan_for(runtime, redactor, id).await? {
        console.say(&format!("{found}\n"));
    }
    console.say(&format!("take them out of {id} permanently? y/n › "));
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "yes"))
}

fn described(report: &RedactionReport) -> String {
    let RedactionReport {
        session_id,
        events,
        blobs,
        names,
        ..
    } = report;
    if names.is_empty() {
        return format!("{session_id}: nothing was found, nothing was taken out\n");
    }
    let names = visible(&names.join(", "));
    let blobs = match blobs {
        0 => String::new(),
        blobs => format!(" and {}", counted(*blobs, "stored content")),
    };
    format!(
        "{session_id}: {names} taken out of {}{blobs}\n",
        counted(*events, "event")
    )
}

/// Returns further notes for a person.
fn notes(report: &RedactionReport, left: &[FoundSecret], files: &TakenOut) -> String {
    let mut notes = String::new();
    if !report.shared_with.is_empty() {
        let others: Vec<String> = report.shared_with.iter().map(SessionId::to_string).collect();
        notes.push_str(&format!(
            "note: {} shared these events and changed too; their other events did not\n",
            others.join(", ")
        ));
    }
    for found in left {
        notes.push_str(&format!("warning: still there: {found}\n"));
    }
    if !left.is_empty() {
        notes.push_str(&format!(
            "hint: a place that names something is not replaced; `agentx sessions delete {}` removes it\n",
            report.session_id
        ));
    }
    notes.push_str(&files.notes());
    if !report.erased {
        notes.push_str(
            "warning: another program reads the database, so the write-ahead log still has it: run the command \
             once more when that program has ended\n",
        );
    }
    if !report.names.is_empty() {
        notes.push_str("hint: `agentx sessions scan` looks for it in the other sessions; replace a key that others may have read\n");
    }
    notes
}
