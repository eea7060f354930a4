//! Reads the text of a message from the facts: it is stored nowhere else. Called by the search.

use agentx_runtime::Fact;
use agentx_types::{AgentStateId, ContentPart, EnvironmentEvent, SessionId};
use rusqlite::Connection;

use crate::read::facts;

/// The numbers of events before its end in which the beginning of an answer is searched: most answers are
/// short.
const LOOK_BACK: [u64; 3] = [128, 1024, 4096];

/// The words of the message that event `seq` completed and that begins like this, from the facts; `None` if
/// they cannot be read.
pub(crate) fn text_of(
    connection: &Connection,
    session: &SessionId,
    agent: &AgentStateId,
    seq: u64,
    preview: &str,
) -> Option<String> {
    let completed = facts(connection, session, seq.checked_sub(1)?, 1).ok()?.pop()?;
    match &completed.event {
        EnvironmentEvent::UserMessage(message) => Some(text_in(&message.content)),
        EnvironmentEvent::ToolResult(_) if preview.is_empty() => None,
        // The last result completes the messages of all calls that were requested together.
        EnvironmentEvent::ToolResult(_) => search_back(connection, session, seq, |facts, _| {
            let mut texts = facts.iter().rev().filter_map(|fact| match &fact.event {
                EnvironmentEvent::ToolResult(result) => Some(text_in(&result.result)),
                _ => None,
            });
            texts.find(|text| text.starts_with(preview))
        }),
        _ => search_back(connection, session, seq, |facts, is_last| {
            answer_in(facts, agent, is_last)
        }),
    }
}

/// Searches the facts up to `seq`: first the latest of them, then more. In the last search, `found` gets the
/// information that there are no others.
fn search_back(
    connection: &Connection,
    session: &SessionId,
    seq: u64,
    found: impl Fn(&[Fact], bool) -> Option<String>,
) -> Option<String> {
    LOOK_BACK.into_iter().enumerate().find_map(|(turn, events)| {
        let after = seq.saturating_sub(events);
        let latest = facts(connection, session, after, usize::try_from(seq - after).ok()?).ok()?;
        found(&latest, after == 0 || turn + 1 == LOOK_BACK.len())
    })
}

fn text_in(content: &[ContentPart]) -> String {
    content.iter().filter_map(ContentPart::as_text).collect()
}

/// Returns the last answer of the agent's model, text and calls; `None` if its beginning is in earlier facts.
fn answer_in(facts: &[Fact], agent: &AgentStateId, is_last: bool) -> Option<String> {
    let own = || {
        facts
            .iter()
            .filter(|fact| fact.agent_state_id.as_ref() == Some(agent))
    };
    let is_start = |fact: &&Fact| matches!(fact.event, EnvironmentEvent::StreamStart(_));
    let start = match own().rfind(is_start) {
        Some(fact) => fact.seq,
        None if is_last => 0,
        None => return None,
    };
    let mut text = String::new();
    for fact in own().filter(|fact| fact.seq > start) {
        match &fact.event {
            EnvironmentEvent::TextChunk(chunk) => text.push_str(&chunk.text),
            EnvironmentEvent::ToolCall(call) => {
                let line = if text.is_empty() { "" } else { "\n" };
                text.push_str(&format!("{line}{} {}", call.name, call.input));
            }
            _ => {}
        }
    }
    Some(text)
}
