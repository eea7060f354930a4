//! The messages that wait in the queue of a session. Each one is a fact in the log, and so is every change to
//! it, so every program derives the same queue from the events.

use agentx::runtime::SessionState;
use agentx::types::{ContentPart, InputMode, MessageId, OwnerId, RunId, RuntimeEvent};

use unicode_width::UnicodeWidthStr as _;

use crate::render::clean::visible;
use crate::render::conversation::{ALONG, SpokenBy, SpokenWords};
use crate::render::person_names::PersonNames;
use crate::render::style::AnsiStyle;
use crate::render::table::cut;
use crate::render::units;

/// Maximum number of queued messages to show.
const SHOWN: usize = 5;

/// The queued messages, in the order in which the agent gets them.
#[derive(Debug, Default)]
pub(crate) struct MessageQueue {
    waits: Vec<QueuedInput>,
    /// Whether there is a waiting input that is not known here yet.
    stale: bool,
}

/// An input that waits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QueuedInput {
    /// The id of its message; `None` until it is committed.
    pub(crate) id: Option<MessageId>,
    /// The text as the person typed it.
    pub(crate) text: String,
    /// The content that goes along and is not named in the text.
    pub(crate) shared: Vec<ContentPart>,
    /// Whether it joins the current run.
    pub(crate) joins: bool,
    /// Whether this chat sent it, and not an earlier process or another front end.
    pub(crate) own: bool,
    /// Its author, if another front end sent it and the author does not own the session.
    pub(crate) by: Option<OwnerId>,
}

/// The moment at which the agent gets a queued message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueuedDelivery {
    /// The message is delivered when the run has ended.
    AfterTheRun,
    /// The message is delivered when the question is answered and the run has ended.
    AfterTheQuestion,
    /// The message is delivered when the person wants it: the session was closed while it waited.
    WhenWanted,
}

impl QueuedInput {
    /// Returns an input of this chat, which waits.
    pub(crate) fn new(text: &str, shared: Vec<ContentPart>, joins: bool) -> Self {
        Self {
            id: None,
            text: text.to_owned(),
            shared,
            joins,
            own: true,
            by: None,
        }
    }

    /// Creates a queued message from the log: its words, and its attachments. Files are named in the words.
    fn from_log(id: &MessageId, whole: &str, by: Option<&OwnerId>, joins: bool) -> Self {
        // In a message of another person, text that looks like an attachment may be their words: show all.
        let ends = ALONG.iter().filter_map(|begin| whole.find(begin));
        let end = ends.min().filter(|_| by.is_none());
        let (text, along) = whole.split_at(end.unwrap_or(whole.len()));
        let ran = along.find(ALONG[1]).map(|at| ContentPart::text(&along[at..]));
        Self {
            id: Some(id.clone()),
            text: text.to_owned(),
            shared: Vec::from_iter(ran),
            joins,
            own: false,
            by: by.cloned(),
        }
    }

    /// The run that it would begin.
    pub(crate) fn run_id(&self) -> Option<RunId> {
        run_id_of(self.id.as_ref()?)
    }
}

/// The run that an input would begin.
pub(super) fn run_id_of(id: &MessageId) -> Option<RunId> {
    let seq = id.as_str().strip_prefix("msg_")?.parse().ok()?;
    Some(RunId::of_input(seq))
}

impl MessageQueue {
    /// The queue of a session that is opened.
    pub(crate) fn from_state(state: &SessionState) -> Self {
        let mut queue = Self::default();
        queue.update(state);
        queue
    }

    /// Adds the waiting inputs of `state` that are not in the queue yet. Events report the delivered ones.
    pub(crate) fn update(&mut self, state: &SessionState) {
        self.stale = false;
        for (i, (id, text)) in state.queued.iter().enumerate() {
            if self.find(id).is_none() {
                let by = state.queued_by.get(id);
                self.put(QueuedInput::from_log(id, text, by, i < state.joining));
            }
        }
    }

    /// Returns whether the queue has to be read from the session again.
    pub(crate) fn is_stale(&self) -> bool {
        self.stale
    }

    /// Returns whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waits.is_empty()
    }

    /// Returns the queued messages.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &QueuedInput> {
        self.waits.iter()
    }

    /// Adds a message after those with the same delivery.
    pub(crate) fn put(&mut self, waiting: QueuedInput) {
        let at = if waiting.joins {
            self.waits.iter().take_while(|before| before.joins).count()
        } else {
            self.waits.len()
        };
        self.waits.insert(at, waiting);
    }

    /// Confirms that the log has the last message as this event; it waits, or the agent already has it.
    pub(crate) fn confirm(&mut self, seq: u64) {
        let last = self.waits.iter_mut().find(|waiting| waiting.id.is_none());
        if let Some(waiting) = last {
            waiting.id = Some(MessageId::with_suffix(seq));
        }
    }

    /// Drops the last message, because the log could not take it.
    pub(crate) fn drop_unconfirmed(&mut self) {
        self.waits.retain(|waiting| waiting.id.is_some());
    }

    /// Empties the queue.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    fn find(&self, id: &MessageId) -> Option<usize> {
        self.waits
            .iter()
            .position(|waiting| waiting.id.as_ref() == Some(id))
    }

    /// Handles an event; returns words that join the run under way now, and are not on the screen yet.
    pub(crate) fn event(&mut self, event: &RuntimeEvent) -> Option<SpokenWords> {
        match event {
            RuntimeEvent::ConversationQueued(queued) => {
                self.stale |= self.find(&queued.message_id).is_none();
                None
            }
            RuntimeEvent::UserMessageAdded(added) => {
                let heard = self.waits.remove(self.find(&added.message.message_id)?);
                let by = SpokenBy::of(&added.message);
                let text = heard.text;
                heard.joins.then_some(SpokenWords { by, text })
            }
            _ => None,
        }
    }

    /// Notes that an input was withdrawn, or its mode changed. Returns the former input; `None` if unchanged.
    pub(crate) fn revise(&mut self, id: &MessageId, mode: Option<InputMode>) -> Option<QueuedInput> {
        let at = self.find(id)?;
        let joins = mode.is_some_and(|mode| mode != InputMode::Queue);
        if mode.is_some() && self.waits[at].joins == joins {
            return None;
        }
        let before = self.waits.remove(at);
        if mode.is_some() {
            self.put(QueuedInput {
                joins,
                ..before.clone()
            });
        }
        Some(before)
    }

    /// Returns the rows that show the queue, one for each message.
    pub(crate) fn rows(
        &self,
        width: usize,
        style: AnsiStyle,
        names: &PersonNames,
        heard: QueuedDelivery,
    ) -> Vec<String> {
        if self.waits.is_empty() {
            return Vec::new();
        }
        let first = self.waits.len().saturating_sub(SHOWN);
        let mut rows = Vec::new();
        if first > 0 {
            rows.push(style.dim(&format!("  … {first} before")));
        }
        for (i, waiting) in self.waits.iter().enumerate().skip(first) {
            rows.push(style.dim(&waiting.row(i + 1, names, width)));
        }
        let when: &[&str] = match heard {
            QueuedDelivery::AfterTheQuestion => &[
                "sent after the question is answered and the run has ended",
                "sent when the run has ended",
            ],
            QueuedDelivery::AfterTheRun => &[
                "Alt-↑ edits the last · Ctrl-S sends it now · /queue",
                "Alt-↑ edits · Ctrl-S: now · /queue",
            ],
            QueuedDelivery::WhenWanted if self.waits.len() > 1 => &[
                "still queued · Enter sends them in order · Alt-↑ edits the last · /queue",
                "Enter sends them in order · /queue",
            ],
            QueuedDelivery::WhenWanted => &[
                "still queued from before · Enter sends it · Alt-↑ edits the last · /queue",
                "Enter sends · Alt-↑ edits · /queue",
            ],
        };
        let fits = |when: &&&str| when.width() + 4 <= width;
        let when = when
            .iter()
            .find(fits)
            .or(when.last())
            .copied()
            .unwrap_or_default();
        rows.push(style.dim(&cut(&format!("    {when}"), width)));
        rows
    }

    /// The list, for `/queue`.
    pub(crate) fn list(&self, names: &PersonNames, width: usize) -> String {
        let row = |(i, waiting): (usize, &QueuedInput)| waiting.row(i + 1, names, width) + "\n";
        self.waits.iter().enumerate().map(row).collect()
    }
}

impl QueuedInput {
    /// Returns the number, the author and the words in one row.
    fn row(&self, number: usize, names: &PersonNames, width: usize) -> String {
        let text = self.text.trim();
        let (first, more) = text.split_once('\n').unwrap_or((text, ""));
        let (sign, when) = match (&self.id, self.joins) {
            // The log does not have it yet.
            (None, _) => ("…", ""),
            (Some(_), true) => ("»", " · read next"),
            (Some(_), false) => ("›", ""),
        };
        let tail = match more.lines().count() {
            0 => when.to_owned(),
            lines => format!(" (+{}){when}", units::counted(lines, "line")),
        };
        let speaker = if self.own {
            None
        } else {
            names.speaker(self.by.as_ref())
        };
        let speaker = speaker.map(|speaker| format!("{speaker}: ")).unwrap_or_default();
        let head = format!("  {number} {sign} {speaker}{}", visible(first));
        let room = width.saturating_sub(tail.width());
        cut(&(cut(&head, room) + &tail), width)
    }
}

#[cfg(test)]
mod tests {
    use agentx::types::{ConversationQueued, Message, Role, UserMessageAdded};

    use super::*;

    fn heard(id: &str) -> RuntimeEvent {
        let message = Message {
            message_id: id.into(),
            role: Role::User,
            content: vec![ContentPart::text("x")],
            by: None,
        };
        UserMessageAdded { message }.into()
    }

    fn rows(queue: &MessageQueue, width: usize, heard: QueuedDelivery) -> Vec<String> {
        let names = PersonNames::new([("own_b".into(), "Bob".to_owned())].into());
        queue.rows(width, AnsiStyle::default(), &names, heard)
    }

    fn texts(queue: &MessageQueue) -> Vec<&str> {
        queue.iter().map(|waiting| waiting.text.as_str()).collect()
    }

    #[test]
    fn what_waits_is_shown_in_the_order_in_which_it_is_heard() {
        let mut queue = MessageQueue::default();
        for (seq, (text, joins)) in [("one", false), ("two\nrows\nmore", false), ("now", true)]
            .iter()
            .enumerate()
        {
            queue.put(QueuedInput::new(text, Vec::new(), *joins));
            queue.confirm(seq as u64 + 3);
        }
        assert_eq!(
            rows(&queue, 60, QueuedDelivery::AfterTheRun),
            [
                "  1 » now · read next",
                "  2 › one",
                "  3 › two (+2 lines)",
                "    Alt-↑ edits the last · Ctrl-S sends it now · /queue",
            ]
        );
        assert_eq!(queue.event(&heard("msg_5")).unwrap().text, "now");
        assert_eq!(queue.event(&heard("msg_3")), None, "the run says it");
        assert_eq!(texts(&queue), ["two\nrows\nmore"]);
        assert_eq!(
            rows(&queue, 20, QueuedDelivery::AfterTheRun)[0],
            "  1 › two (+2 lines)"
        );
        assert_eq!(
            rows(&queue, 19, QueuedDelivery::AfterTheRun)[0],
            "  1 › t… (+2 lines)"
        );
    }

    #[test]
    fn what_others_said_waits_under_their_names() {
        let mut queue = MessageQueue::default();
        for (id, by) in [
            ("msg_3", Some("own_b")),
            ("msg_4", Some("own_c")),
            ("msg_5", None),
        ] {
            let by = by.map(OwnerId::new);
            queue.put(QueuedInput::from_log(&id.into(), "hi", by.as_ref(), false));
        }
        let shown = rows(&queue, 60, QueuedDelivery::AfterTheRun);
        assert_eq!(shown[..3], ["  1 › Bob: hi", "  2 › own_c: hi", "  3 › hi"]);
        let hidden = "hi\n\n<file path=\"a\">\nsay yes\n</file>";
        let shown = |by: Option<&OwnerId>| QueuedInput::from_log(&"msg_6".into(), hidden, by, false).text;
        assert_eq!(shown(None), "hi");
        assert_eq!(
            shown(Some(&"own_b".into())),
            hidden,
            "nothing of theirs is left out"
        );
    }

    #[test]
    fn what_is_held_back_says_how_it_is_sent() {
        let mut queue = MessageQueue::default();
        queue.put(QueuedInput::new("one", Vec::new(), false));
        queue.confirm(3);
        assert_eq!(
            rows(&queue, 80, QueuedDelivery::WhenWanted),
            [
                "  1 › one",
                "    still queued from before · Enter sends it · Alt-↑ edits the last · /queue",
            ]
        );
    }

    #[test]
    fn what_is_revised_elsewhere_is_so_here_too() {
        let mut queue = MessageQueue::default();
        for (seq, text) in ["one", "two"].iter().enumerate() {
            queue.put(QueuedInput::new(text, Vec::new(), false));
            queue.confirm(seq as u64 + 3);
        }
        assert!(queue.revise(&"msg_4".into(), Some(InputMode::Steer)).is_some());
        assert!(queue.revise(&"msg_4".into(), Some(InputMode::Steer)).is_none());
        assert_eq!(texts(&queue), ["two", "one"]);
        let back = queue.revise(&"msg_3".into(), None).unwrap();
        assert_eq!(back.run_id(), Some(RunId::of_input(3)));
        assert!(queue.revise(&"msg_3".into(), None).is_none());
        assert_eq!(texts(&queue), ["two"]);
        let queued = ConversationQueued {
            message_id: "msg_9".into(),
            position: 1,
        };
        queue.event(&queued.into());
        assert!(queue.is_stale(), "somebody else said something");
    }

    #[test]
    fn what_waited_before_has_its_words_and_what_went_along() {
        let whole = "see @a.txt\n\n<file path=\"a.txt\">\none\n</file>\n\n<ran_by_the_person command=\"ls\">\na.txt\n</ran_by_the_person>";
        let waiting = QueuedInput::from_log(&"msg_3".into(), whole, None, false);
        assert_eq!(waiting.text, "see @a.txt");
        assert_eq!(
            waiting.shared.len(),
            1,
            "the file is named in the words, what was run is not"
        );
    }
}
