//! A session as one document: its facts and the blobs that they name. Any program can read it. It can be kept
//! together with the work that it is about, and imported elsewhere as the same session.
//!
//! An import trusts nothing in a document: it has to be complete, in order and of one session, each blob has
//! to match its hash, and the stored result is checked again. Its last fact is `session_imported`, after
//! which the session does nothing until a person writes in it: a document may say that a person allowed a
//! call.

use std::collections::BTreeSet;
use std::sync::Arc;

use agentx_runtime::{
    Batch, Delivery, EXPORT_VERSION, ExportedBlob, LogError, NewLog, Runtime, RuntimeError, SessionExport,
    SessionLog, VerifyReport, View, blobs_of,
};
use agentx_session::{DerivedDigest, Projection, SessionFold};
use agentx_types::{Envelope, EnvironmentEvent, OwnerId, SessionId, SessionImported, Source, Timestamp};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::escaped_json::plain_json;

/// The value of a document's field `format`.
const FORMAT: &str = "agentx-session";

/// A document as JSON: the head, then a line for each event.
///
/// # Errors
/// Returns an error if serialization fails, which a document from a log never causes.
pub fn to_json(document: &SessionExport) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(&head(document))?;
    // The head ends with the empty list of events.
    let end = text.rfind("[]").unwrap_or(text.len());
    text.truncate(end);
    text.push('[');
    for (index, event) in document.events.iter().enumerate() {
        text.push_str(if index == 0 { "\n" } else { ",\n" });
        text.push_str(&serde_json::to_string(event)?);
    }
    text.push_str("\n]}\n");
    // It may be viewed in a terminal; a reader gets the same values.
    Ok(plain_json(&text).into_owned())
}

/// Reads a document.
///
/// # Errors
/// Returns a description of the error in the document.
pub fn from_json(text: &str) -> Result<SessionExport, String> {
    #[derive(Deserialize)]
    struct DocumentHead {
        format: String,
        version: u32,
    }
    let head: DocumentHead =
        serde_json::from_str(text).map_err(|error| format!("not an exported session: {error}"))?;
    if head.format != FORMAT {
        return Err(format!(
            "not an exported session: its format is `{}`",
            head.format
        ));
    }
    if head.version > EXPORT_VERSION {
        return Err(format!(
            "it was exported by a newer version: format {}, this version reads {EXPORT_VERSION}",
            head.version
        ));
    }
    serde_json::from_str(text).map_err(|error| format!("it is damaged: {error}"))
}

/// Everything of a document but the events.
fn head(document: &SessionExport) -> SessionExport {
    SessionExport {
        format: document.format.clone(),
        session_id: document.session_id.clone(),
        title: document.title.clone(),
        workspace: document.workspace.clone(),
        parent: document.parent.clone(),
        hash: document.hash.clone(),
        blobs: document.blobs.clone(),
        missing_blobs: document.missing_blobs.clone(),
        events: Vec::new(),
        ..*document
    }
}

/// Returns the first error in a document, if there is one.
fn mistake(document: &SessionExport) -> Option<String> {
    if document.events.is_empty() {
        return Some("it has no events".into());
    }
    for (fact, seq) in document.events.iter().zip(1..) {
        if fact.seq != seq {
            return Some(format!("event {seq} is missing: {} is in its place", fact.seq));
        }
        if fact.session_id != document.session_id {
            return Some(format!(
                "event {seq} belongs to another session, {}",
                fact.session_id
            ));
        }
    }
    if let Some(workspace) = workspaces(document).find(|workspace| is_too_wide(workspace)) {
        return Some(format!(
            "its agent works in {workspace:?}: it needs the absolute path of a directory below the root"
        ));
    }
    match hash_of(&document.events) {
        hash if hash == document.hash => None,
        _ => Some("its events are not the exported ones: their hash differs".into()),
    }
}

/// The directories that the agents of a document work in.
fn workspaces(document: &SessionExport) -> impl Iterator<Item = &str> {
    let of_facts = document.events.iter().filter_map(|fact| match &fact.event {
        EnvironmentEvent::SessionOpened(opened) => Some(opened.config.workspace.as_str()),
        EnvironmentEvent::AgentSpawned(spawned) => Some(spawned.config.workspace.as_str()),
        _ => None,
    });
    std::iter::once(document.workspace.as_str()).chain(of_facts)
}

/// Returns whether an agent in this directory would reach every file, or those of any directory in which its
/// session is continued: calls inside of the workspace are asked about less.
fn is_too_wide(workspace: &str) -> bool {
    let mut names = workspace
        .split(['/', '\\'])
        .filter(|part| !part.is_empty() && !part.ends_with(':'));
    let is_absolute = workspace.starts_with(['/', '\\']) || workspace.get(1..3) == Some(":\\");
    let leads_up = names.clone().any(|part| matches!(part, "." | ".."));
    !is_absolute || leads_up || names.next().is_none()
}

/// A document of facts that were not exported but made, such as those of an imported log of another program.
/// The first fact gives its id and time; a document without facts is refused by [`import`].
pub fn of_facts(
    events: Vec<Envelope<EnvironmentEvent>>,
    title: String,
    workspace: String,
    blobs: Vec<ExportedBlob>,
) -> SessionExport {
    let first = events.first();
    SessionExport {
        format: FORMAT.into(),
        version: EXPORT_VERSION,
        session_id: first.map_or_else(|| SessionId::new(""), |first| first.session_id.clone()),
        title,
        workspace,
        created_at: first.map_or(Timestamp(0), |first| first.at),
        parent: None,
        hash: hash_of(&events),
        blobs,
        missing_blobs: Vec::new(),
        events,
    }
}

/// The hash of a document with these events ([`SessionExport::hash`]).
pub fn hash_of(events: &[Envelope<EnvironmentEvent>]) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut line = Vec::new();
    for event in events {
        line.clear();
        // Facts are plain data with string keys; writing them to memory has no way to fail.
        let _ = serde_json::to_writer(&mut line, event);
        line.push(b'\n');
        hasher.update(&line);
    }
    hasher.finalize().to_hex().to_string()
}

/// A session as one document, from wherever it is.
///
/// # Errors
/// Returns an error if it cannot be read.
pub async fn export(runtime: &dyn Runtime, session: &SessionId) -> Result<SessionExport, RuntimeError> {
    let info = runtime.info(session).await?;
    let mut facts = runtime.watch(session, 0, View::Environment, false).await?;
    let (mut events, mut named) = (Vec::new(), BTreeSet::new());
    while let Some(delivery) = facts.next().await {
        match delivery {
            Delivery::Environment(fact) => {
                named.append(&mut blobs_of(&fact.event));
                events.push(Arc::unwrap_or_clone(fact));
            }
            Delivery::CaughtUp(_) => break,
            Delivery::CutOff(why) => return Err(RuntimeError::unreadable(session, why)),
            Delivery::Runtime(_) => {}
        }
    }
    let (mut blobs, mut missing_blobs) = (Vec::new(), Vec::new());
    for id in named {
        match runtime.blob(session, &id).await {
            Ok(bytes) => blobs.push(ExportedBlob {
                data: STANDARD.encode(bytes),
                id,
            }),
            Err(RuntimeError::Log(LogError::NoBlob(_))) => missing_blobs.push(id),
            Err(error) => return Err(error),
        }
    }
    Ok(SessionExport {
        format: FORMAT.into(),
        version: EXPORT_VERSION,
        session_id: info.session_id,
        title: info.title,
        workspace: info.workspace,
        created_at: info.created_at,
        parent: info.parent,
        hash: hash_of(&events),
        blobs,
        missing_blobs,
        events,
    })
}

/// Imports a document into a log, as a session of `owner`: all of it, or nothing.
///
/// The import drops the list of people who may see it: the new owner decides that. It ends what was in
/// progress; `at` is the time of that.
///
/// # Errors
/// Returns an error if the id is taken or is not a session id, the document differs from the exported one, or
/// the log cannot be written.
pub async fn import(
    log: &dyn SessionLog,
    owner: &OwnerId,
    mut export: SessionExport,
    at: Timestamp,
) -> Result<VerifyReport, RuntimeError> {
    let id = export.session_id.clone();
    if !id.is_minted() {
        return Err(RuntimeError::Refused(unusable(&id)));
    }
    let refused = |what: String| RuntimeError::Refused(format!("{id} is not imported: {what}"));
    if let Some(mistake) = mistake(&export) {
        return Err(refused(mistake));
    }
    export.events.push(imported(&export, at));
    make(log, owner, &export).await?;
    let taken = take(log, export).await;
    let whole = match taken {
        Ok(()) => log.verify(&id).await.map_err(RuntimeError::Log),
        Err(error) => Err(error),
    };
    match whole {
        Ok(report) if report.problems.is_empty() => Ok(report),
        failed => {
            // Remove a session that was not imported completely.
            log.delete(&id).await?;
            log.collect_garbage().await?;
            Err(match failed {
                Ok(report) => refused(report.problems.join("; ")),
                Err(error) => error,
            })
        }
    }
}

/// The reason to refuse a document with another id. The id may be long, and may not be printable.
fn unusable(id: &SessionId) -> String {
    let shown: String = id.as_str().chars().take(40).collect();
    let cut = if shown.len() < id.as_str().len() {
        "…"
    } else {
        ""
    };
    format!(
        "the document is not imported: {shown:?}{cut} is not a session id, which is `ses_` and 12 lowercase letters or digits"
    )
}

/// The fact that ends what was in progress in the original.
fn imported(export: &SessionExport, at: Timestamp) -> Envelope<EnvironmentEvent> {
    let last = export.events.last();
    Envelope {
        seq: last.map_or(0, |last| last.seq).saturating_add(1),
        index: None,
        at: last.map_or(at, |last| last.at.max(at)),
        source: Source::System,
        session_id: export.session_id.clone(),
        agent_state_id: None,
        run_id: None,
        cause: None,
        event: SessionImported {
            workspace: Some(export.workspace.clone()),
        }
        .into(),
        newer: None,
    }
}

/// Creates the session, even if an empty one with this id exists.
async fn make(log: &dyn SessionLog, owner: &OwnerId, export: &SessionExport) -> Result<(), RuntimeError> {
    // The session from which it was forked need not exist here: the document has the shared events.
    let new = NewLog::new(
        export.session_id.clone(),
        owner.clone(),
        export.created_at,
        export.workspace.clone(),
    );
    match log.create(new).await {
        Err(LogError::Exists(id)) => match log.info(&id).await {
            Ok(info) if info.last_seq == 0 && info.parent.is_none() && info.owner == *owner => Ok(()),
            _ => Err(LogError::Exists(id).into()),
        },
        made => Ok(made?),
    }
}

/// Appends all facts in one batch.
async fn take(log: &dyn SessionLog, export: SessionExport) -> Result<(), RuntimeError> {
    for blob in &export.blobs {
        let bytes = STANDARD
            .decode(&blob.data)
            .map_err(|error| RuntimeError::Refused(format!("the blob {} is damaged: {error}", blob.id)))?;
        if log.put_exact_blob(bytes).await? != blob.id {
            let what = format!("the bytes of blob {} do not match its hash", blob.id);
            return Err(RuntimeError::Refused(what));
        }
    }
    let mut fold = SessionFold::new(export.session_id.clone());
    let mut digest = DerivedDigest::default();
    let mut projections = Vec::new();
    for fact in &export.events {
        let mut derived = fold.apply(fact);
        digest.add(fact, &derived);
        projections.append(&mut derived.projections);
    }
    projections.retain(Projection::holds_in_a_copy);
    let writer = log.attach(&export.session_id).await?;
    let batch = Batch::new(export.events.into_iter().map(Arc::new).collect(), digest.value())
        .with_projections(projections);
    Ok(log.append(&writer, batch).await?)
}

#[cfg(test)]
mod tests {
    use super::is_too_wide;

    #[test]
    fn a_directory_is_absolute_and_below_the_root() {
        for workspace in ["", ".", "ws", "/", "//", "/.", "/ws/..", "C:\\", "C:ws"] {
            assert!(is_too_wide(workspace), "{workspace}");
        }
        for workspace in ["/ws", "/home/me/a b", "C:\\ws", "\\\\host\\ws"] {
            assert!(!is_too_wide(workspace), "{workspace}");
        }
    }
}
