//! A session as people read it outside of any program: messages and actions, with their times. `markdown` (a
//! feature of this crate) and [`html`] write it down.

mod acts;
mod answering_models;
mod html;
#[cfg(feature = "markdown")]
mod markdown;
mod page;

use std::collections::BTreeMap;

use agentx_runtime::{Delivery, LogError, Runtime, RuntimeError, SessionFold, View};
use agentx_types::{
    AUTHOR_TAGS, AgentStateId, BlobId, ContentPart, Envelope, EnvironmentEvent, MediaSource, Message,
    MessageId, OwnerId, Role, RuntimeEvent, SessionId, Timestamp, ToolCallId, ToolCompleted, Usage, UtcTime,
};

pub use acts::{ActsOfOthers, act_of_another};
pub use answering_models::AnsweringModels;
pub use html::html;
#[cfg(feature = "markdown")]
pub use markdown::{markdown, markdown_while};

/// Pictures that have more bytes are only named.
const MOST_PICTURE_BYTES: u64 = 8 << 20;
/// The longest name of an agent.
const LONGEST_NAME: usize = 64;
/// Pictures that a page shows: none of these can hold a script.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The messages of a session, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transcript {
    /// The session.
    pub session_id: Option<SessionId>,
    /// The title.
    pub title: String,
    /// The directory that its agent works in.
    pub workspace: String,
    /// The agent's model.
    pub model: String,
    /// For a fork: the parent session, and the last event that both have.
    pub parent: Option<(SessionId, u64)>,
    /// Tokens of all its model calls.
    pub usage: Usage,
    /// Money of all its model calls, in dollars.
    pub cost_usd: f64,
    /// The messages.
    pub entries: Vec<TranscriptEntry>,
    /// Pictures that were shown, by blob.
    pub pictures: BTreeMap<BlobId, Vec<u8>>,
    /// The changes that calls made to files, as unified diffs.
    pub diffs: BTreeMap<ToolCallId, String>,
}

/// A message in a transcript.
#[derive(Clone, Debug, PartialEq)]
pub struct TranscriptEntry {
    /// The event that completed it.
    pub seq: u64,
    /// The time.
    pub at: Timestamp,
    /// The name of the agent, if it is not the one that people talk to.
    pub agent: Option<String>,
    /// The model that answered, as its server names it, if it is not the one of the answer before or of the
    /// session.
    pub model: Option<String>,
    /// The message.
    pub message: Message,
    /// Whether it broke off.
    pub partial: bool,
    /// The act of a person other than the owner, without a message: `stopped the run`. Then the message is
    /// empty.
    pub act: Option<String>,
}

impl TranscriptEntry {
    fn act(seq: u64, at: Timestamp, person: &OwnerId, what: String) -> Self {
        let message = Message {
            message_id: MessageId::new(""),
            role: Role::User,
            content: Vec::new(),
            by: Some(person.clone()),
        };
        Self {
            seq,
            at,
            agent: None,
            model: None,
            message,
            partial: false,
            act: Some(what),
        }
    }
}

/// Reads a session as people do.
///
/// # Errors
/// Returns an error if it cannot be read.
pub async fn transcript(runtime: &dyn Runtime, session: &SessionId) -> Result<Transcript, RuntimeError> {
    let (mut transcript, _) = beginning(runtime, session, usize::MAX).await?;
    add_pictures(runtime, session, &mut transcript).await?;
    Ok(transcript)
}

/// Reads the beginning of a session without its pictures, up to the message with which it has this many bytes
/// or more. Also returns whether that is all of the session.
///
/// # Errors
/// Returns an error if it cannot be read.
pub async fn beginning(
    runtime: &dyn Runtime,
    session: &SessionId,
    bytes: usize,
) -> Result<(Transcript, bool), RuntimeError> {
    let info = runtime.info(session).await?;
    let mut transcript = Transcript {
        session_id: Some(info.session_id),
        title: info.title,
        workspace: info.workspace,
        model: info.model,
        parent: info.parent,
        usage: info.usage,
        cost_usd: info.cost.as_usd(),
        ..Transcript::default()
    };
    let mut reading = TranscriptReading {
        models: AnsweringModels::of_reader(&transcript.model),
        ..TranscriptReading::default()
    };
    let mut left = bytes;
    let is_all = read_facts_while(runtime, session, |fact, events| {
        let known = transcript.entries.len();
        reading.take(&mut transcript, fact, events);
        if bytes < usize::MAX {
            let messages = transcript.entries[known..]
                .iter()
                .map(|entry| size_of(&entry.message));
            let diffs = events.iter().filter_map(|event| match &event.event {
                RuntimeEvent::ToolCompleted(done) => diff_of(done).map(str::len),
                _ => None,
            });
            left = left.saturating_sub(messages.chain(diffs).sum());
        }
        left > 0
    })
    .await?;
    Ok((transcript, is_all))
}

/// The number of bytes of a message as JSON.
fn size_of(message: &Message) -> usize {
    serde_json::to_vec(message).map_or(0, |json| json.len())
}

/// Reads a session from its first fact to its last, each with the events that follow from it.
///
/// # Errors
/// Returns an error if it cannot be read.
pub async fn each_fact(
    runtime: &dyn Runtime,
    session: &SessionId,
    mut take: impl FnMut(&Envelope<EnvironmentEvent>, &[Envelope<RuntimeEvent>]),
) -> Result<(), RuntimeError> {
    let all = read_facts_while(runtime, session, |fact, events| {
        take(fact, events);
        true
    });
    all.await.map(drop)
}

/// Does the same until `take` returns `false`. Returns whether it came to the last fact.
async fn read_facts_while(
    runtime: &dyn Runtime,
    session: &SessionId,
    mut take: impl FnMut(&Envelope<EnvironmentEvent>, &[Envelope<RuntimeEvent>]) -> bool,
) -> Result<bool, RuntimeError> {
    let mut facts = runtime.watch(session, 0, View::Environment, false).await?;
    let mut fold = SessionFold::new(session.clone());
    while let Some(delivery) = facts.next().await {
        match delivery {
            Delivery::Environment(fact) => {
                if !take(&fact, &fold.apply(&fact).events) {
                    return Ok(false);
                }
            }
            Delivery::CaughtUp(_) => break,
            Delivery::CutOff(why) => return Err(RuntimeError::unreadable(session, why)),
            Delivery::Runtime(_) => {}
        }
    }
    Ok(true)
}

/// The state while a session's transcript is read.
#[derive(Default)]
struct TranscriptReading {
    /// The first agent with an input: the one to which people send inputs.
    root: Option<Option<AgentStateId>>,
    names: BTreeMap<AgentStateId, String>,
    acts: ActsOfOthers,
    models: AnsweringModels,
}

impl TranscriptReading {
    fn take(
        &mut self,
        transcript: &mut Transcript,
        fact: &Envelope<EnvironmentEvent>,
        events: &[Envelope<RuntimeEvent>],
    ) {
        if let Some((person, what)) = self.acts.take(&fact.event) {
            let act = TranscriptEntry::act(fact.seq, fact.at, person, what);
            transcript.entries.push(act);
        }
        for event in events {
            self.event(transcript, event);
        }
    }

    fn event(&mut self, transcript: &mut Transcript, envelope: &Envelope<RuntimeEvent>) {
        if let Some((person, what)) = act_of_another(&envelope.event) {
            let act = TranscriptEntry::act(envelope.seq, envelope.at, person, what);
            transcript.entries.push(act);
            return;
        }
        let model = self.models.take(envelope).map(str::to_owned);
        let (message, partial) = match &envelope.event {
            RuntimeEvent::AgentStarted(started) => {
                let id = envelope.agent_state_id.clone();
                self.names.extend(id.map(|id| (id, plain(&started.name))));
                return;
            }
            RuntimeEvent::ToolCompleted(done) => {
                let call = done.tool_call_id.clone();
                let diff = diff_of(done).map(|diff| (call, diff.to_owned()));
                transcript.diffs.extend(diff);
                return;
            }
            RuntimeEvent::UserMessageAdded(added) => (&added.message, false),
            RuntimeEvent::AssistantMessageAdded(added) => (&added.message, added.partial),
            RuntimeEvent::ToolResultMessageAdded(added) => (&added.message, false),
            _ => return,
        };
        let root = self.root.get_or_insert_with(|| envelope.agent_state_id.clone());
        let agent = envelope.agent_state_id.as_ref();
        let agent = agent.filter(|agent| root.as_ref() != Some(*agent));
        transcript.entries.push(TranscriptEntry {
            seq: envelope.seq,
            at: envelope.at,
            agent: agent.map(|agent| {
                self.names
                    .get(agent)
                    .cloned()
                    .unwrap_or_else(|| agent.to_string())
            }),
            model,
            message: Message {
                by: message.by.clone().or_else(|| ran_by_another(message)),
                ..message.clone()
            },
            partial,
            act: None,
        });
    }
}

/// The difference that a call made to a file.
fn diff_of(done: &ToolCompleted) -> Option<&str> {
    let diff = done.details.as_ref()?.get("diff")?.as_str()?;
    (!diff.is_empty()).then_some(diff)
}

/// The person who ran the command that the message reports, if it is not the owner of the session. The
/// machine adds such a message in its own name and marks the person in its text.
fn ran_by_another(message: &Message) -> Option<OwnerId> {
    let text = message
        .content
        .first()
        .filter(|_| message.role == Role::User)?
        .as_text()?;
    let mark = text.strip_prefix('<')?.strip_prefix(AUTHOR_TAGS[1])?;
    let (person, _) = mark.strip_prefix(" person=\"")?.split_once('"')?;
    (!person.is_empty()).then(|| OwnerId::new(person))
}

/// A name on one line: a script may call its agents anything.
fn plain(name: &str) -> String {
    name.chars()
        .filter(|sign| !sign.is_control())
        .take(LONGEST_NAME)
        .collect()
}

async fn add_pictures(
    runtime: &dyn Runtime,
    session: &SessionId,
    transcript: &mut Transcript,
) -> Result<(), RuntimeError> {
    let mut named = Vec::new();
    for entry in &transcript.entries {
        pictures_of(&entry.message.content, &mut named);
    }
    for id in named {
        if transcript.pictures.contains_key(&id) {
            continue;
        }
        match runtime.blob(session, &id).await {
            Ok(bytes) if bytes.len() as u64 <= MOST_PICTURE_BYTES => {
                transcript.pictures.insert(id, bytes);
            }
            Ok(_) | Err(RuntimeError::Log(LogError::NoBlob(_))) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn pictures_of(content: &[ContentPart], named: &mut Vec<BlobId>) {
    for part in content {
        match part {
            ContentPart::Image(media) if PICTURES.contains(&media.media_type.as_str()) => {
                if let MediaSource::Blob(blob) = &media.source {
                    named.push(blob.clone());
                }
            }
            ContentPart::ToolResult(result) => pictures_of(&result.content, named),
            _ => {}
        }
    }
}

/// A point in time as `2026-11-21 16:30:12`, UTC.
pub fn time_of(at: Timestamp) -> String {
    let UtcTime {
        year,
        month,
        day,
        hour,
        minute,
        second,
    } = at.utc();
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, date) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_399, "2000-02-28 23:59:59"),
            (951_782_400, "2000-02-29 00:00:00"),
            (951_868_800, "2000-03-01 00:00:00"),
            (1_795_178_175, "2026-11-20 12:36:15"),
            (4_107_542_400, "2100-03-01 00:00:00"),
            (-1, "1969-12-31 23:59:59"),
        ] {
            assert_eq!(time_of(Timestamp(seconds * 1_000_000)), date);
        }
    }

    #[test]
    fn a_command_of_another_person_is_that_persons() {
        let said = |text: &str| Message {
            message_id: "msg_1".into(),
            role: Role::User,
            content: vec![ContentPart::text(text)],
            by: None,
        };
        let ran =
            "<ran_by_another_person person=\"own_b\" command=\"id\">\nroot\nexit 0\n</ran_by_another_person>";
        assert_eq!(ran_by_another(&said(ran)), Some("own_b".into()));
        for text in [
            "",
            "hi",
            "<ran_by_another_person person=\"\" x>",
            "<ran_by_the_person command=\"id\">",
        ] {
            assert_eq!(ran_by_another(&said(text)), None);
        }
    }
}
