//! Finds secrets in sessions that are already recorded, and in files beside them: `agentx sessions scan`. It
//! reports places and names, and never a value.

use std::collections::BTreeSet;
use std::fmt;

use agentx::config::Settings;
use agentx::history::export;
use agentx::node::known_secrets;
use agentx::runtime::{
    Redactor, Runtime, RuntimeError, SessionExport, SessionQuery, blobs_of, is_piece, recorded_texts,
};
use agentx::types::SessionId;
use base64::Engine as _;
use serde::Serialize;
use serde_json::Value;

use crate::secrets::kept_files::{self, advice};
use crate::secrets::{FoundInFile, UnreadFile};

/// Advice about files that could not be read.
const TRY_AGAIN: &str = "hint: close programs that use these files, or repair them, then scan once more\n";

/// Advice about secrets that were found.
const REPLACE: &str = "hint: replace a key that others may have read\n";

/// A secret that a scan found, or a file that it could not search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ScanFinding {
    /// In a recorded session.
    Session(FoundSecret),
    /// In a file of this machine.
    File(FoundInFile),
    /// A file of this machine that could not be searched.
    Unread(UnreadFile),
}

impl ScanFinding {
    fn in_session(&self) -> Option<&FoundSecret> {
        match self {
            Self::Session(found) => Some(found),
            Self::File(_) | Self::Unread(_) => None,
        }
    }

    fn in_file(&self) -> Option<&FoundInFile> {
        match self {
            Self::File(found) => Some(found),
            Self::Session(_) | Self::Unread(_) => None,
        }
    }
}

impl fmt::Display for ScanFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(found) => write!(f, "{found}"),
            Self::File(found) => write!(f, "{found}"),
            Self::Unread(file) => write!(f, "{file}"),
        }
    }
}

/// A secret in a recorded session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct FoundSecret {
    /// The session that contains the secret.
    pub session: SessionId,
    /// The event that has it, or names the stored content that has it; 0 for the title.
    pub seq: u64,
    /// The name of the secret, or of the published form that it has.
    pub name: String,
}

impl fmt::Display for FoundSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { session, seq, name } = self;
        match seq {
            0 => write!(f, "{session} · title · {name}"),
            seq => write!(f, "{session} · event {seq} · {name}"),
        }
    }
}

/// Searches one session, or all of the person's sessions on this machine or server and the files of this
/// machine, for the secrets known now.
///
/// # Errors
/// Returns an error if a session does not exist or cannot be read.
pub async fn scan(
    runtime: &dyn Runtime,
    settings: &Settings,
    id: Option<&str>,
) -> Result<Vec<ScanFinding>, RuntimeError> {
    let redactor = Redactor::new(&known_secrets(settings));
    let sessions = match id {
        Some(id) => vec![runtime.resolve(id).await?],
        None => {
            let all = SessionQuery {
                owner: runtime.owner().clone(),
                workspace: None,
                limit: usize::MAX,
                before: None,
            };
            let sessions = runtime.sessions(all).await?;
            sessions.into_iter().map(|info| info.session_id).collect()
        }
    };
    let mut found = Vec::new();
    for session in sessions {
        let in_session = scan_for(runtime, &redactor, &session).await?;
        found.extend(in_session.into_iter().map(ScanFinding::Session));
    }
    if id.is_none() {
        let in_files = kept_files::find(settings, &redactor);
        found.extend(in_files.found.into_iter().map(ScanFinding::File));
        found.extend(in_files.unread.into_iter().map(ScanFinding::Unread));
    }
    Ok(found)
}

/// Searches one session for what this redactor knows.
///
/// # Errors
/// Returns an error if the session does not exist or cannot be read.
pub async fn scan_for(
    runtime: &dyn Runtime,
    redactor: &Redactor,
    session: &SessionId,
) -> Result<Vec<FoundSecret>, RuntimeError> {
    let found = in_session(redactor, &export(runtime, session).await?);
    Ok(found.into_iter().collect())
}

/// The findings as lines, and what to do about them.
pub fn describe(found: &[ScanFinding]) -> String {
    if found.is_empty() {
        return "no known secret is recorded\n".to_owned();
    }
    let lines: String = found.iter().map(|found| format!("{found}\n")).collect();
    let is_unread = |found: &ScanFinding| matches!(found, ScanFinding::Unread(_));
    if found.iter().all(is_unread) {
        return format!("no known secret is recorded in what could be read\n{lines}{TRY_AGAIN}");
    }
    let again = if found.iter().any(is_unread) {
        TRY_AGAIN
    } else {
        ""
    };
    let in_files: Vec<FoundInFile> = found.iter().filter_map(ScanFinding::in_file).cloned().collect();
    let files = if in_files.is_empty() {
        ""
    } else {
        "hint: `agentx sessions redact` takes it out of typed lines, drafts and memories too\n"
    };
    let in_sessions = advice_about_sessions(found.iter().filter_map(ScanFinding::in_session));
    format!("{lines}{in_sessions}{files}{REPLACE}{again}{}", advice(&in_files))
}

/// Says how to see and to take out what was found in sessions.
fn advice_about_sessions<'a>(found: impl Iterator<Item = &'a FoundSecret>) -> String {
    let mut found = found.peekable();
    let Some(FoundSecret { session, seq, .. }) = found.peek().copied() else {
        return String::new();
    };
    let place = match seq {
        0 => String::new(),
        seq => format!("`agentx sessions show {session} --at {seq}` shows the first place, "),
    };
    let others = if found.any(|found| found.session != *session) {
        "; the same for each session"
    } else {
        ""
    };
    format!("hint: {place}`agentx sessions redact {session} --found` takes out what was found{others}\n")
}

/// The secrets in one session, each place once.
fn in_session(redactor: &Redactor, session: &SessionExport) -> BTreeSet<FoundSecret> {
    let mut places: BTreeSet<(u64, String)> = BTreeSet::new();
    for fact in session.events.iter().filter(|fact| !is_piece(&fact.event)) {
        if let Ok(value) = serde_json::to_value(&fact.event) {
            let mut names = Vec::new();
            names_in(redactor, &value, &mut names);
            places.extend(names.into_iter().map(|name| (fact.seq, name)));
        }
    }
    for text in recorded_texts(&session.events) {
        let found = redactor.find(text.text()).into_iter();
        places.extend(found.map(|found| (text.seq_at(found.start), found.name)));
    }
    let title = redactor.find(&session.title).into_iter();
    places.extend(title.map(|found| (0, found.name)));
    places.extend(in_blobs(redactor, session));
    let place = |(seq, name)| FoundSecret {
        session: session.session_id.clone(),
        seq,
        name,
    };
    places.into_iter().map(place).collect()
}

/// The secrets in stored contents, at the first event that names each.
fn in_blobs(redactor: &Redactor, session: &SessionExport) -> Vec<(u64, String)> {
    let mut found = Vec::new();
    for blob in &session.blobs {
        let bytes = base64::engine::general_purpose::STANDARD.decode(&blob.data);
        let text = String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
        let mut facts = session.events.iter();
        let named = facts.find(|fact| blobs_of(&fact.event).contains(&blob.id));
        let seq = named.map_or(0, |fact| fact.seq);
        found.extend(redactor.find(&text).into_iter().map(|found| (seq, found.name)));
    }
    found
}

/// The names of the secrets in all texts of a value.
fn names_in(redactor: &Redactor, value: &Value, names: &mut Vec<String>) {
    let mut look = |text: &str| names.extend(redactor.find(text).into_iter().map(|found| found.name));
    match value {
        Value::String(text) => look(text),
        Value::Array(items) => items.iter().for_each(|item| names_in(redactor, item, names)),
        Value::Object(fields) => {
            fields.keys().for_each(|key| look(key));
            fields.values().for_each(|value| names_in(redactor, value, names));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(session: &str, seq: u64) -> ScanFinding {
        ScanFinding::Session(FoundSecret {
            session: session.into(),
            seq,
            name: "made-up".into(),
        })
    }

    #[test]
    fn the_advice_names_the_session_and_the_event() {
        let told = describe(&[found("ses_1", 17), found("ses_1", 19)]);
        let advice = "hint: `agentx sessions show ses_1 --at 17` shows the first place, `agentx sessions redact ses_1 \
                      --found` takes out what was found\n";
        assert!(told.contains(advice), "{told}");
        let told = describe(&[found("ses_1", 0), found("ses_2", 5)]);
        let advice = "hint: `agentx sessions redact ses_1 --found` takes out what was found; the same for each session\n";
        assert!(told.contains(advice), "{told}");
    }
}
