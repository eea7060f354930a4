//! Anchors: files with the hashes of all sessions, kept somewhere else. Held against one, `agentx sessions
//! verify --anchor` notices that events were lost or changed since, even if all stored hashes were rewritten
//! with them.
//!
//! An anchor has the hashes of up to 16 events of each session, evenly spread, with the last one among them:
//! a difference is somewhere between two of them. It has no words of the sessions.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use agentx::runtime::{LogError, Runtime, RuntimeError, SessionQuery};
use agentx::types::{OwnerId, SessionId, Timestamp};
use agentx_files::{ReplaceOptions, replace};
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::error::ChatError;
use crate::named_file::open_named;
use crate::render::units::{self, counted};
use crate::terminal::console::Console;
use crate::unwritten::unwritten;

/// The version of the file.
const VERSION: u32 = 1;
/// Maximum number of events of a session whose hashes an anchor has.
const POINTS: u64 = 16;
/// Maximum size of an anchor that is read: 256 MiB, more than 100,000 sessions.
const MAX_BYTES: u64 = 256 << 20;

/// `agentx sessions anchor`
#[derive(Args, Debug)]
#[command(
    after_help = "Keep the file on another machine or medium. `agentx sessions verify --anchor FILE` holds all \
                  sessions against it. A time stamp of an authority proves when it existed: \
                  `openssl ts -query -data FILE -cert`."
)]
pub struct AnchorArguments {
    /// The file to write
    pub file: PathBuf,
    /// Overwrite an existing file
    #[arg(long)]
    pub force: bool,
}

/// `agentx sessions verify`
#[derive(Args, Debug)]
pub struct VerifyArguments {
    /// Session id, or a prefix of it
    #[arg(required_unless_present_any = ["last", "anchor"])]
    pub id: Option<String>,
    /// The latest session of this directory
    #[arg(long, conflicts_with = "id")]
    pub last: bool,
    /// Hold all sessions against this file of `agentx sessions anchor`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["id", "last"])]
    pub anchor: Option<PathBuf>,
}

/// The hashes of all sessions at a time.
#[derive(Debug, Serialize, Deserialize)]
struct Anchor {
    agentx_anchor: u32,
    /// The time at which it was written.
    at: String,
    owner: OwnerId,
    sessions: Vec<AnchoredSession>,
}

#[derive(Debug, Serialize, Deserialize)]
struct AnchoredSession {
    session_id: SessionId,
    /// Some of its events with the hashes up to them, the last event last.
    points: Vec<AnchorPoint>,
}

#[derive(Debug, Serialize, Deserialize)]
struct AnchorPoint {
    seq: u64,
    hash: String,
}

/// The result of a comparison with an anchor.
#[derive(Debug, Default, Serialize)]
struct AnchorReport {
    /// The number of sessions whose anchored events are the same.
    same: usize,
    /// The number of sessions that the anchor does not have.
    newer: usize,
    /// The differences, for people.
    problems: Vec<String>,
    /// The events that could not be compared, because texts were taken out of them.
    notes: Vec<String>,
}

/// Writes the hashes of all of the person's sessions to a file.
///
/// # Errors
/// Returns an error if the sessions cannot be read, or the file exists or cannot be written.
pub async fn write(
    runtime: &dyn Runtime,
    wanted: &AnchorArguments,
    as_json: bool,
    console: &mut Console,
) -> Result<(), ChatError> {
    let mut sessions = Vec::new();
    let mut damaged = Vec::new();
    for (session_id, last_seq) in all_sessions(runtime).await? {
        match points(runtime, &session_id, last_seq).await {
            Ok(points) => sessions.push(AnchoredSession { session_id, points }),
            Err(RuntimeError::Log(LogError::Corrupt { .. })) => damaged.push(session_id),
            // It was deleted meanwhile.
            Err(RuntimeError::Log(LogError::NotFound(_))) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let count = sessions.len();
    let anchor = Anchor {
        agentx_anchor: VERSION,
        at: units::now().rfc3339(),
        owner: runtime.owner().clone(),
        sessions,
    };
    save(&anchor, wanted)?;
    for session in &damaged {
        console.say(&format!(
            "warning: {session} is damaged and not in the anchor (`agentx sessions verify {session}`)\n"
        ));
    }
    let path = wanted.file.to_string_lossy();
    if as_json {
        return console.out_pretty(&json!({"file": path, "sessions": count, "damaged": damaged}));
    }
    console.out(&format!("{path}: the hashes of {}\n", counted(count, "session")))
}

/// Holds all sessions against an anchor.
///
/// # Errors
/// Returns an error if the file is not an anchor of this person, a session lost or changed events since it
/// was written, or the sessions cannot be read.
pub async fn compare(
    runtime: &dyn Runtime,
    file: &Path,
    as_json: bool,
    console: &mut Console,
) -> Result<(), ChatError> {
    let anchor = load(file)?;
    if anchor.owner != *runtime.owner() {
        return Err(ChatError::usage(
            format!("{} is an anchor of the sessions of somebody else", file.display()),
            "name an anchor of your sessions here; --data chooses the directory of the sessions",
        ));
    }
    let mut report = AnchorReport::default();
    for session in &anchor.sessions {
        compare_session(runtime, session, &mut report).await?;
    }
    let known: BTreeSet<&SessionId> = anchor
        .sessions
        .iter()
        .map(|session| &session.session_id)
        .collect();
    let all = all_sessions(runtime).await?;
    report.newer = all.iter().filter(|(id, _)| !known.contains(id)).count();
    if as_json {
        console.out_pretty(&report)?;
    } else {
        console.out(&described(&report, &anchor.at))?;
    }
    if report.problems.is_empty() {
        return Ok(());
    }
    Err(ChatError::Changed {
        anchor: file.to_string_lossy().into_owned(),
        problems: report.problems,
    })
}

fn described(report: &AnchorReport, at: &str) -> String {
    let mut text = format!("{} as anchored at {at}", counted(report.same, "session"));
    if report.newer > 0 {
        text.push_str(&format!("; {} later", counted(report.newer, "session")));
    }
    text.push('\n');
    for note in &report.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    text
}

/// Adds the differences between a session and its anchored hashes to the report.
async fn compare_session(
    runtime: &dyn Runtime,
    anchored: &AnchoredSession,
    report: &mut AnchorReport,
) -> Result<(), ChatError> {
    let id = &anchored.session_id;
    let checked = match runtime.verify(id).await {
        Ok(checked) => checked,
        Err(RuntimeError::Log(LogError::NotFound(_))) => {
            report
                .problems
                .push(format!("{id} is missing: it was deleted or lost"));
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    let before = report.problems.len();
    let found = checked.problems.iter().map(|problem| format!("{id}: {problem}"));
    report.problems.extend(found);
    let mut same_until = 0;
    for AnchorPoint { seq, hash } in &anchored.points {
        match runtime.hash_at(id, *seq).await {
            Ok(Some(found)) if found.hash == *hash => same_until = *seq,
            Ok(Some(found)) if found.redacted => report.notes.push(format!(
                "{id}: texts were taken out of events up to {seq}, which cannot be compared any more"
            )),
            Ok(Some(_)) => {
                let first = same_until + 1;
                report
                    .problems
                    .push(format!("{id}: an event from {first} to {seq} was changed"));
                break;
            }
            Ok(None) => {
                let first = checked.last_seq + 1;
                report
                    .problems
                    .push(format!("{id}: events {first} to {seq} are missing"));
                break;
            }
            // Its place is among the problems of the check.
            Err(RuntimeError::Log(LogError::Corrupt { .. })) => break,
            Err(error) => return Err(error.into()),
        }
    }
    if report.problems.len() == before {
        report.same += 1;
    }
    Ok(())
}

/// The ids of the person's sessions, with their last events.
async fn all_sessions(runtime: &dyn Runtime) -> Result<Vec<(SessionId, u64)>, RuntimeError> {
    let all = SessionQuery {
        owner: runtime.owner().clone(),
        workspace: None,
        limit: usize::MAX,
        before: None,
    };
    let sessions = runtime.sessions(all).await?.into_iter();
    let mut found: Vec<(SessionId, u64)> = sessions.map(|info| (info.session_id, info.last_seq)).collect();
    found.sort();
    Ok(found)
}

/// Hashes of a session's events up to the last one.
async fn points(
    runtime: &dyn Runtime,
    session: &SessionId,
    last_seq: u64,
) -> Result<Vec<AnchorPoint>, RuntimeError> {
    let mut points = Vec::new();
    for seq in spread(last_seq) {
        if let Some(found) = runtime.hash_at(session, seq).await? {
            points.push(AnchorPoint {
                seq,
                hash: found.hash,
            });
        }
    }
    Ok(points)
}

/// Up to [`POINTS`] numbers from 1 to `last`, evenly spread, with `last` among them.
fn spread(last: u64) -> Vec<u64> {
    let mut spread: Vec<u64> = (1..=POINTS)
        .map(|point| last.saturating_mul(point) / POINTS)
        .filter(|seq| *seq > 0)
        .collect();
    spread.dedup();
    spread
}

fn save(anchor: &Anchor, wanted: &AnchorArguments) -> Result<(), ChatError> {
    let path = wanted.file.to_string_lossy().into_owned();
    let mut text = serde_json::to_string_pretty(anchor).map_err(|error| ChatError::File {
        path: path.clone(),
        what: error.to_string(),
    })?;
    text.push('\n');
    let options = ReplaceOptions {
        only_new: !wanted.force,
        durable: true,
        follow_link: wanted.force,
        ..ReplaceOptions::default()
    };
    replace(&wanted.file, text.as_bytes(), options).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => ChatError::usage(
            format!("{path} exists already"),
            "name another file; --force overwrites this one, and what it proves is gone then",
        ),
        _ => unwritten(&path, &error),
    })
}

fn load(file: &Path) -> Result<Anchor, ChatError> {
    let wrong = |what: String| ChatError::File {
        path: file.to_string_lossy().into_owned(),
        what,
    };
    let opened = open_named(file).map_err(|error| wrong(error.to_string()))?;
    let mut text = String::new();
    let read = opened.take(MAX_BYTES).read_to_string(&mut text);
    read.map_err(|error| wrong(error.to_string()))?;
    let anchor: Anchor = serde_json::from_str(&text)
        .map_err(|error| wrong(format!("it is not a file of `agentx sessions anchor`: {error}")))?;
    if anchor.agentx_anchor != VERSION || Timestamp::from_rfc3339(&anchor.at).is_none() {
        return Err(wrong(format!(
            "it is an anchor of version {}, and this version of AgentX reads version {VERSION}",
            anchor.agentx_anchor
        )));
    }
    Ok(anchor)
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn hashes_are_spread_over_a_session_and_the_last_event_has_one() {
        assert_eq!(spread(0), Vec::<u64>::new());
        assert_eq!(spread(3), [1, 2, 3]);
        assert_eq!(spread(16), (1..=16).collect::<Vec<u64>>());
        let long = spread(1_000);
        assert_eq!((long.len(), long.last()), (16, Some(&1_000)));
    }
}
