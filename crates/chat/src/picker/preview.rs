//! The last exchange of a session, from the end of its log: the last message and the answer. It reads only as
//! much as that needs, so the preview of a long session costs no more than that of a short one.

use agentx::runtime::{Delivery, Runtime, SessionInfo, View};
use agentx::types::{ContentPart, EnvironmentEvent};

use crate::render::clean::clean;

/// The numbers of last events that are read, one after the other, until the beginning of the exchange is
/// found.
const LOOK_BACK: [u64; 3] = [256, 2_048, 16_384];
/// Maximum number of characters of an answer that are shown.
const MOST: usize = 4_000;

/// The last message of the person and the last answer of the agent in a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Preview {
    /// The last message of the person.
    pub(super) said: String,
    /// The answer so far.
    pub(super) answer: String,
    /// The tools that were used in between, in order.
    pub(super) tools: Vec<String>,
}

/// Reads the end of a session. Unreadable parts are not shown.
pub(super) async fn preview(runtime: &dyn Runtime, info: &SessionInfo) -> Preview {
    for events in LOOK_BACK {
        let after = info.last_seq.saturating_sub(events);
        let found = read(runtime, info, after).await;
        if after == 0 || found.as_ref().is_none_or(|found| !found.said.is_empty()) {
            return found.unwrap_or_default();
        }
    }
    Preview::default()
}

async fn read(runtime: &dyn Runtime, info: &SessionInfo, after: u64) -> Option<Preview> {
    let watched = runtime.watch(&info.session_id, after, View::Environment, false);
    let mut subscription = watched.await.ok()?;
    let mut found = Preview::default();
    while let Some(delivery) = subscription.next().await {
        match delivery {
            Delivery::Environment(fact) => found.take(&fact.event),
            Delivery::CaughtUp(_) | Delivery::CutOff(_) => break,
            Delivery::Runtime(_) => {}
        }
    }
    found.answer = clean(&found.answer);
    Some(found)
}

impl Preview {
    fn take(&mut self, fact: &EnvironmentEvent) {
        match fact {
            EnvironmentEvent::UserMessage(message) => {
                let texts = message.content.iter().filter_map(ContentPart::as_text);
                let said: String = texts.take(1).collect();
                *self = Self {
                    said: shortened(&clean(&said)),
                    ..Self::default()
                };
            }
            // The text before the tool calls matters less than the text after them.
            EnvironmentEvent::StreamStart(_) => self.answer.clear(),
            EnvironmentEvent::TextChunk(chunk) if self.answer.len() < MOST => {
                self.answer.push_str(&chunk.text);
            }
            EnvironmentEvent::ToolCallStart(call) => self.tools.push(call.name.clone()),
            _ => {}
        }
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(MOST).collect()
}
