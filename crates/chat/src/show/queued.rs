//! The messages that wait in the queue, which are in no conversation yet.

use agentx::types::{ContentPart, Envelope, EnvironmentEvent, MessageId, RuntimeEvent, Source};

use crate::render::clean::visible;
use crate::render::rewind::own_text;
use crate::render::style::AnsiStyle;
use crate::render::table::cut;

/// The suffix of each queued input.
const REST: &str = " · queued, the agent does not have it yet";

/// The messages of people that no agent has got so far.
#[derive(Debug, Default)]
pub(super) struct QueuedMessages {
    /// The message that came last, which may have to wait.
    last: Option<(MessageId, String)>,
    waits: Vec<(MessageId, String)>,
}

impl QueuedMessages {
    /// Handles a fact, before the events that follow from it.
    pub(super) fn fact(&mut self, fact: &Envelope<EnvironmentEvent>) {
        match &fact.event {
            EnvironmentEvent::UserMessage(message) if fact.source == Source::User => {
                let texts = message.content.iter().filter_map(ContentPart::as_text);
                let texts: Vec<String> = texts.map(str::to_owned).collect();
                self.last = Some((message.message_id.clone(), own_text(&texts)));
            }
            EnvironmentEvent::InputRevised(revised) if revised.mode.is_none() => {
                self.waits.retain(|(id, _)| *id != revised.message_id);
            }
            _ => {}
        }
    }

    /// Handles an event.
    pub(super) fn event(&mut self, event: &RuntimeEvent) {
        match event {
            RuntimeEvent::ConversationQueued(queued) => {
                let last = self.last.take();
                self.waits.extend(last.filter(|(id, _)| *id == queued.message_id));
            }
            RuntimeEvent::UserMessageAdded(added) => {
                self.waits.retain(|(id, _)| *id != added.message.message_id);
            }
            _ => {}
        }
    }

    /// A line for each message, cut off at a terminal that has this many columns.
    pub(super) fn text(&self, style: AnsiStyle, columns: Option<usize>) -> String {
        let line = |(_, text): &(MessageId, String)| {
            let words = match columns {
                Some(columns) => cut(&visible(text), columns.saturating_sub(REST.len() + 2)),
                None => visible(text),
            };
            style.dim(&format!("… {words}{REST}")) + "\n"
        };
        self.waits.iter().map(line).collect()
    }
}
