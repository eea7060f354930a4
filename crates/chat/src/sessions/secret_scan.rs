//! Finds secrets in sessions that are already recorded: `agentx sessions scan`. It reports places and
//! names, and never a value.

use std::collections::{BTreeMap, BTreeSet};

use agentx::config::Settings;
use agentx::history::export;
use agentx::node::known_secrets;
use agentx::runtime::{Redactor, Runtime, RuntimeError, SessionExport, SessionQuery, blobs_of};
use agentx::types::{ActionId, Envelope, EnvironmentEvent, SessionId};
use base64::Engine as _;
use serde::Serialize;
use serde_json::Value;

/// A secret in a recorded session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct FoundSecret {
    /// The session that contains the secret.
    pub session: SessionId,
    /// The event that has it, or names the stored content that has it.
    pub seq: u64,
    /// The name of the secret, or of the published form that it has.
    pub name: String,
}

/// Searches one session, or all of the person's sessions on this machine or server, for the secrets known
/// now.
///
/// # Errors
/// Returns an error if a session does not exist or cannot be read.
pub async fn scan(
    runtime: &dyn Runtime,
    settings: &Settings,
    id: Option<&str>,
) -> Result<Vec<FoundSecret>, RuntimeError> {
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
        found.extend(in_session(&redactor, &export(runtime, &session).await?));
    }
    Ok(found)
}

/// The findings as lines, and what to do about them.
pub fn describe(found: &[FoundSecret]) -> String {
    if found.is_empty() {
        return "no known secret is recorded\n".to_owned();
    }
    let lines = found.iter().map(|found| {
        let FoundSecret { session, seq, name } = found;
        format!("{session} · event {seq} · {name}\n")
    });
    let lines: String = lines.collect();
    format!(
        "{lines}hint: `agentx sessions show ID --at SEQ` shows the place, `agentx sessions delete ID` removes a session; replace a key that others may have read\n"
    )
}

/// The secrets in one session, each place once.
fn in_session(redactor: &Redactor, session: &SessionExport) -> BTreeSet<FoundSecret> {
    let mut places: BTreeSet<(u64, String)> = BTreeSet::new();
    let mut streams: BTreeMap<StreamKey, StreamText> = BTreeMap::new();
    for fact in &session.events {
        if let Some((key, text)) = piece_of(fact) {
            streams.entry(key).or_default().push(fact.seq, text);
            continue;
        }
        if let Ok(value) = serde_json::to_value(&fact.event) {
            let mut names = Vec::new();
            names_in(redactor, &value, &mut names);
            places.extend(names.into_iter().map(|name| (fact.seq, name)));
        }
    }
    for stream in streams.values() {
        let found = redactor.find(&stream.text).into_iter();
        places.extend(found.map(|found| (stream.seq_at(found.start), found.name)));
    }
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

/// Which text a piece belongs to: the kind of piece, its action and its call.
type StreamKey = (&'static str, Option<ActionId>, String);

/// A text that was recorded in pieces.
#[derive(Default)]
struct StreamText {
    text: String,
    /// The place at which each event's piece begins.
    pieces: Vec<(usize, u64)>,
}

impl StreamText {
    fn push(&mut self, seq: u64, piece: &str) {
        self.pieces.push((self.text.len(), seq));
        self.text.push_str(piece);
    }

    /// The event that has the byte at this place.
    fn seq_at(&self, place: usize) -> u64 {
        let after = self.pieces.partition_point(|(start, _)| *start <= place);
        let piece = after.checked_sub(1).and_then(|at| self.pieces.get(at));
        piece.map_or(0, |(_, seq)| *seq)
    }
}

fn piece_of(fact: &Envelope<EnvironmentEvent>) -> Option<(StreamKey, &str)> {
    let (kind, call, text) = match &fact.event {
        EnvironmentEvent::TextChunk(chunk) => ("text", String::new(), &chunk.text),
        EnvironmentEvent::ThinkingChunk(chunk) => ("thinking", String::new(), &chunk.text),
        EnvironmentEvent::ToolCallChunk(chunk) => ("arguments", chunk.tool_call_id.to_string(), &chunk.json),
        EnvironmentEvent::ToolOutputChunk(chunk) => {
            let call = format!("{} {:?}", chunk.tool_call_id, chunk.channel);
            ("output", call, &chunk.text)
        }
        _ => return None,
    };
    Some(((kind, fact.cause.clone(), call), text))
}
