//! Compares two branches of one session: the event after which they part, the later messages of each, and the
//! differences of their files.

use std::collections::BTreeSet;

use agentx_runtime::{Delivery, LogError, Runtime, RuntimeError, View};
use agentx_types::{AgentStateId, ContentPart, Envelope, EnvironmentEvent, MessageId, SessionId};
use serde::Serialize;

use super::file_history::FileVersion;
use super::history::{SessionHistory, history_of};
use super::past::IrreversibleEffect;

/// The longest line of forks that is followed.
const MOST_FORKS: usize = 1_000;

/// A message on a branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BranchTurn {
    /// An input of a person.
    Input {
        /// The event.
        seq: u64,
        /// The texts of the message.
        texts: Vec<String>,
    },
    /// An answer of the model.
    Answer {
        /// The event that ends it.
        seq: u64,
        /// The text of the answer.
        text: String,
        /// The number of tool calls.
        calls: usize,
    },
}

/// A branch of the two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BranchSide {
    /// The id of the session.
    pub session_id: SessionId,
    /// The number of the last event.
    pub last_seq: u64,
    /// The turns since the fork.
    pub turns: Vec<BranchTurn>,
}

/// A file that one of the branches changed since they parted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchFile {
    /// The path of the file.
    pub path: String,
    /// The same, relative to the workspace if it is inside.
    pub shown: String,
    /// Whether each changed it.
    pub changed: [bool; 2],
    /// The content at the end of each branch: `None` if unknown, otherwise the bytes, or `None` if there is
    /// no file.
    pub left: [Option<Option<Vec<u8>>>; 2],
}

/// Two branches of a session, compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branches {
    /// The last event that both have.
    pub part_after: u64,
    /// The two branches, in the order of the request.
    pub sides: [BranchSide; 2],
    /// The files that differ, or may.
    pub files: Vec<BranchFile>,
}

/// Compares two sessions that have a beginning in common.
///
/// # Errors
/// Returns an error if they have none, or one of them cannot be read.
pub async fn branches_of(
    runtime: &dyn Runtime,
    one: &SessionId,
    other: &SessionId,
) -> Result<Branches, RuntimeError> {
    let part_after = parting(runtime, one, other).await?;
    let first = read(runtime, one, part_after).await?;
    let second = read(runtime, other, part_after).await?;
    let paths: BTreeSet<&String> = [&first, &second]
        .iter()
        .flat_map(|read| read.history.files().iter())
        .filter(|(_, trail)| trail.is_touched_since(part_after + 1))
        .map(|(path, _)| path)
        .collect();
    let mut files = Vec::new();
    for path in paths {
        let changed = [&first, &second].map(|read| read.changed(path, part_after));
        let ends = [
            first.end(path, &second, part_after),
            second.end(path, &first, part_after),
        ];
        if ends[0] == ends[1] && ends[0] != FileVersion::Unknown {
            continue;
        }
        let [left, right] = &ends;
        let left = [
            bytes(runtime, [one, other], left).await?,
            bytes(runtime, [other, one], right).await?,
        ];
        files.push(BranchFile {
            shown: first.history.show(path).to_owned(),
            path: path.clone(),
            changed,
            left,
        });
    }
    Ok(Branches {
        part_after,
        sides: [first.side, second.side],
        files,
    })
}

/// The changes that a session made to files, as far as its log has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedFiles {
    /// The files that are not as they were before: the first content is the one before the session, the
    /// second the one that it left.
    pub files: Vec<BranchFile>,
    /// The number of commands of which nobody looked which files they changed.
    pub unwatched_commands: usize,
}

/// Returns the files that the tools of a session changed.
///
/// # Errors
/// Returns an error if the session cannot be read.
pub async fn changes_of(runtime: &dyn Runtime, session: &SessionId) -> Result<ChangedFiles, RuntimeError> {
    let history = history_of(runtime, session).await?;
    let mut files = Vec::new();
    for (path, trail) in history.files() {
        let (before, after) = (trail.version_before(0), trail.end());
        if before == after && *before != FileVersion::Unknown {
            continue;
        }
        let sessions = [session, session];
        files.push(BranchFile {
            shown: history.show(path).to_owned(),
            path: path.clone(),
            changed: [false, true],
            left: [
                bytes(runtime, sessions, before).await?,
                bytes(runtime, sessions, after).await?,
            ],
        });
    }
    let is_unwatched = |done: &&IrreversibleEffect| {
        let runs = ["bash", "shell"].contains(&done.tool.as_str());
        runs && (done.files.is_none() || done.files_not_kept > 0)
    };
    Ok(ChangedFiles {
        files,
        unwatched_commands: history.irreversible_since(0).filter(is_unwatched).count(),
    })
}

/// A branch as it was read.
struct BranchRead {
    history: SessionHistory,
    side: BranchSide,
}

impl BranchRead {
    fn changed(&self, path: &str, part_after: u64) -> bool {
        let trail = self.history.files().get(path);
        trail.is_some_and(|trail| trail.is_touched_since(part_after + 1))
    }

    /// The events that restored files to the point at which the branches part, and those that undid this: the
    /// result of this branch is the state before them.
    fn ways_back(&self, part_after: u64) -> BTreeSet<u64> {
        let mut ways = BTreeSet::new();
        for restoring in self.history.restorings() {
            if restoring.to_seq == part_after + 1 || ways.contains(&restoring.to_seq) {
                ways.insert(restoring.seq);
            }
        }
        ways
    }

    /// Returns the content of a path at the end of this branch. If it never touched the file, this is the
    /// content that the other branch found first.
    fn end(&self, path: &str, other: &Self, part_after: u64) -> FileVersion {
        let own = self.history.files().get(path);
        let theirs = other.history.files().get(path);
        match (own, theirs) {
            (Some(trail), _) => trail.end_without(&self.ways_back(part_after)).clone(),
            (None, Some(trail)) => trail.version_before(part_after + 1).clone(),
            (None, None) => FileVersion::Unknown,
        }
    }
}

/// The bytes of an image: `None` if it is not known. Either of the sessions may be the one that has the blob.
async fn bytes(
    runtime: &dyn Runtime,
    sessions: [&SessionId; 2],
    image: &FileVersion,
) -> Result<Option<Option<Vec<u8>>>, RuntimeError> {
    let image = match image {
        FileVersion::Absent => return Ok(Some(None)),
        FileVersion::Unknown => return Ok(None),
        FileVersion::File(image) => image,
    };
    for session in sessions {
        match runtime.blob(session, &image.blob).await {
            Err(RuntimeError::Log(LogError::NoBlob(_))) => {}
            found => return found.map(|bytes| Some(Some(bytes))),
        }
    }
    Ok(None)
}

/// The last event that both sessions have.
async fn parting(runtime: &dyn Runtime, one: &SessionId, other: &SessionId) -> Result<u64, RuntimeError> {
    let ancestors = ancestors(runtime, one).await?;
    let others = self::ancestors(runtime, other).await?;
    let common = ancestors.iter().find_map(|(session, own)| {
        let shared = others.iter().find(|(known, _)| known == session);
        shared.map(|(_, theirs)| (*own).min(*theirs))
    });
    common.ok_or_else(|| {
        RuntimeError::Refused(format!(
            "{one} and {other} are not branches of one session: they have no common origin"
        ))
    })
}

/// The session and those that it was forked from, each with the last of its events that the session has.
async fn ancestors(
    runtime: &dyn Runtime,
    session: &SessionId,
) -> Result<Vec<(SessionId, u64)>, RuntimeError> {
    let info = runtime.info(session).await?;
    let mut line = vec![(session.clone(), info.last_seq)];
    let mut parent = info.parent;
    while let Some((session, at_seq)) = parent.take() {
        let shared = line.last().map_or(at_seq, |(_, shared)| at_seq.min(*shared));
        line.push((session.clone(), shared));
        if line.len() > MOST_FORKS {
            break;
        }
        // The line ends at a parent that was deleted or belongs to another owner.
        parent = match runtime.info(&session).await {
            Ok(info) => info.parent,
            Err(RuntimeError::Log(LogError::NotFound(_))) => None,
            Err(error) => return Err(error),
        };
    }
    Ok(line)
}

async fn read(
    runtime: &dyn Runtime,
    session: &SessionId,
    part_after: u64,
) -> Result<BranchRead, RuntimeError> {
    let mut history = SessionHistory::default();
    let mut talk = BranchMessages::default();
    let mut events = runtime.watch(session, 0, View::Environment, false).await?;
    while let Some(delivery) = events.next().await {
        match delivery {
            Delivery::Environment(fact) => {
                history.take(&fact);
                talk.take(&fact, part_after);
            }
            Delivery::CaughtUp(_) => break,
            Delivery::CutOff(why) => return Err(RuntimeError::unreadable(session, why)),
            Delivery::Runtime(_) => {}
        }
    }
    let side = BranchSide {
        session_id: session.clone(),
        last_seq: history.last_seq(),
        turns: talk.turns,
    };
    Ok(BranchRead { history, side })
}

/// The messages of a branch since the fork.
#[derive(Default)]
struct BranchMessages {
    root: Option<AgentStateId>,
    text: String,
    calls: usize,
    turns: Vec<BranchTurn>,
    /// The messages of people among the turns, with their events.
    inputs: Vec<(MessageId, u64)>,
}

impl BranchMessages {
    fn take(&mut self, fact: &Envelope<EnvironmentEvent>, part_after: u64) {
        use EnvironmentEvent as E;
        if let E::SessionOpened(_) = &fact.event {
            self.root.clone_from(&fact.agent_state_id);
        }
        if fact.seq <= part_after || fact.agent_state_id.is_some() && fact.agent_state_id != self.root {
            return;
        }
        match &fact.event {
            E::UserMessage(message) => {
                let texts = message.content.iter().filter_map(ContentPart::as_text);
                self.inputs.push((message.message_id.clone(), fact.seq));
                self.turns.push(BranchTurn::Input {
                    seq: fact.seq,
                    texts: texts.map(str::to_owned).collect(),
                });
            }
            // An input that was withdrawn while it was queued does not count.
            E::InputRevised(revised) if revised.mode.is_none() => self.taken_back(&revised.message_id),
            E::StreamStart(_) => {
                self.text.clear();
                self.calls = 0;
            }
            E::TextChunk(chunk) => self.text.push_str(&chunk.text),
            E::ToolCall(_) => self.calls += 1,
            E::StreamEnd(_) => self.turns.push(BranchTurn::Answer {
                seq: fact.seq,
                text: std::mem::take(&mut self.text),
                calls: std::mem::take(&mut self.calls),
            }),
            _ => {}
        }
    }

    fn taken_back(&mut self, message: &MessageId) {
        let taken = self.inputs.iter().find(|(id, _)| id == message);
        if let Some(&(_, at)) = taken {
            self.turns
                .retain(|turn| !matches!(turn, BranchTurn::Input { seq, .. } if *seq == at));
        }
    }
}

#[cfg(test)]
mod tests {
    use agentx_types::{EventDraft, InputMode, InputRevised, Source, Timestamp, UserMessage};

    use super::*;

    #[test]
    fn a_message_that_was_taken_back_was_not_said() {
        let said = |id: &str| UserMessage {
            message_id: id.into(),
            content: vec![ContentPart::text(id)],
            mode: InputMode::Queue,
            idempotency_key: None,
            by: None,
            answer_schema: None,
        };
        let revised = |id: &str, mode| InputRevised {
            message_id: id.into(),
            mode,
            by: None,
        };
        let events: Vec<EnvironmentEvent> = vec![
            said("msg_1").into(),
            said("msg_2").into(),
            said("msg_3").into(),
            revised("msg_2", None).into(),
            revised("msg_3", Some(InputMode::Steer)).into(),
        ];
        let mut talk = BranchMessages::default();
        for (seq, event) in (1..).zip(events) {
            let draft = EventDraft::new(Source::User, None, event);
            talk.take(&draft.into_envelope("ses_1".into(), seq, Timestamp(0)), 0);
        }
        let seqs = talk.turns.iter().map(|turn| match turn {
            BranchTurn::Input { seq, .. } | BranchTurn::Answer { seq, .. } => *seq,
        });
        assert_eq!(seqs.collect::<Vec<_>>(), [1, 3]);
    }
}
