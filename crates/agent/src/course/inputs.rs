//! Inputs that cannot be taken up at once: those that wait for the next run, and those that join the one under way.
//!
//! | mode | no run under way | a run under way |
//! | --- | --- | --- |
//! | `queue` | opens a run, or waits behind those that were held back | waits for its own, in order |
//! | `steer` | opens a run | joins before the next model call |
//! | `interrupt` | opens a run | the run is stopped; the next run begins with it |
//!
//! Nothing that a person said is lost: a steering input that no model call came for opens the next run.

use std::collections::VecDeque;
use std::sync::Arc;

use agentx_types::{
    ContentPart, InputMode, InputRevised, MediaSource, Message, MessageId, ProviderData, Role, RunId,
    StateOutput, UserMessage,
};
use serde::{Deserialize, Serialize};

use super::{Course, Step};

/// An input of a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// The run that it opens, if it opens one.
    pub run_id: RunId,
    /// The `seq` at which it came.
    pub seq: u64,
    /// What was said.
    pub message: Arc<Message>,
    /// Whether it is what an agent in the background came to: a run that it opens goes on for the one before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub goes_on: bool,
}

/// How much waits for an agent. Media in the blob store count as their names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Inputs, and notes for the next model call.
    pub messages: usize,
    /// Bytes of them together: their texts, and something for each part.
    pub bytes: usize,
}

/// What becomes of an input.
/// Told to the machine, which does it.
pub(crate) enum Taken {
    /// It opens a run.
    Opens(Input),
    /// It waits for its own.
    Waits,
    /// It joins the run under way.
    Joins,
    /// It joins the run after the one under way, which it interrupts.
    Interrupts,
}

impl Input {
    /// One that comes now.
    pub(crate) fn new(message: Message, step: &Step<'_>) -> Self {
        Self {
            run_id: RunId::of_input(step.seq),
            seq: step.seq,
            message: Arc::new(message),
            goes_on: false,
        }
    }

    /// The same of an agent in the background.
    pub(crate) fn from_background(message: Message, step: &Step<'_>) -> Self {
        Self {
            goes_on: true,
            ..Self::new(message, step)
        }
    }
}

impl Course {
    /// A person says something.
    pub(crate) fn take(&mut self, said: &UserMessage, step: &mut Step<'_>) -> Taken {
        let message = Message {
            message_id: said.message_id.clone(),
            role: Role::User,
            content: said.content.clone(),
            by: said.by.clone(),
        };
        let input = Input::new(message, step);
        if self.is_free() {
            // What is said sets free what was held back. It keeps its place behind that, unless it is wanted sooner.
            self.inputs.held = false;
            if said.mode != InputMode::Queue || self.inputs.waiting.is_empty() {
                return Taken::Opens(input);
            }
        }
        match said.mode {
            InputMode::Queue => {
                let position = self.inputs.queue(input);
                step.state(StateOutput::InputQueued {
                    message_id: said.message_id.clone(),
                    position,
                });
                let free = self.is_free();
                let next = free.then(|| self.inputs.next()).flatten();
                next.map_or(Taken::Waits, Taken::Opens)
            }
            InputMode::Steer => self.join(input, Taken::Joins),
            InputMode::Interrupt => self.join(input, Taken::Interrupts),
        }
    }

    /// A person makes something else of an input that waits. `None` where it waits no more, or is taken back. One that was held
    /// back and is wanted at once opens a run, and sets the others free.
    pub(crate) fn revise(&mut self, revised: &InputRevised) -> Option<Taken> {
        let input = self.inputs.remove(&revised.message_id)?;
        let mode = revised.mode?;
        if mode != InputMode::Queue && self.is_free() {
            self.inputs.held = false;
            return Some(Taken::Opens(input));
        }
        Some(match mode {
            InputMode::Queue => {
                self.inputs.queue(input);
                Taken::Waits
            }
            InputMode::Steer => self.join(input, Taken::Joins),
            InputMode::Interrupt => self.join(input, Taken::Interrupts),
        })
    }

    fn join(&mut self, input: Input, taken: Taken) -> Taken {
        self.inputs.steer(input);
        taken
    }

    /// Whether an input opens a run at once.
    pub(crate) fn is_free(&mut self) -> bool {
        self.active().is_none() && self.inputs.closed().is_none()
    }
}

/// About how many bytes a part takes in memory beside its texts, so that a message of many empty parts counts.
const PART_BYTES: usize = 256;

/// The bytes of what a part holds in memory; only people's messages and notes wait, and those have texts and media.
fn bytes_of(part: &ContentPart) -> usize {
    let texts = match part {
        ContentPart::Text(text) => text.text.len() + text.provider.as_ref().map_or(0, written),
        ContentPart::Image(media) | ContentPart::Audio(media) | ContentPart::File(media) => {
            let source = match &media.source {
                MediaSource::Base64(held) | MediaSource::Url(held) => held.len(),
                MediaSource::Blob(blob) => blob.as_str().len(),
            };
            source + media.media_type.len() + media.name.as_ref().map_or(0, String::len)
        }
        // No input has one.
        ContentPart::Thinking(_)
        | ContentPart::ToolCall(_)
        | ContentPart::ToolResult(_)
        | ContentPart::Opaque(_) => 0,
    };
    PART_BYTES + texts
}

/// How many bytes data of a provider have as JSON.
fn written(provider: &ProviderData) -> usize {
    serde_json::to_vec(provider).map_or(0, |json| json.len())
}

/// Inputs that wait.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct InputQueue {
    /// Those that open a run each, in order.
    waiting: VecDeque<Input>,
    /// Those that join the run under way before its next model call.
    steering: Vec<Input>,
    /// What the next model call is to know, and opens no run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    kept: Vec<Arc<Message>>,
    /// Why no run will be opened any more.
    closed: Option<String>,
    /// Whether none of those that wait opens a run before a person says something: the session was being closed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    held: bool,
}

impl InputQueue {
    /// Lines an input up; returns how many wait.
    pub(crate) fn queue(&mut self, input: Input) -> u32 {
        self.waiting.push_back(input);
        u32::try_from(self.waiting.len()).unwrap_or(u32::MAX)
    }

    /// Keeps an input for the next model call, whichever run makes it.
    pub(crate) fn steer(&mut self, input: Input) {
        self.steering.push(input);
    }

    /// Keeps a message until the model is asked for something else.
    pub(crate) fn keep(&mut self, message: Arc<Message>) {
        self.kept.push(message);
    }

    /// The messages that were kept for the model call that is made now.
    pub(crate) fn take_kept(&mut self) -> Vec<Arc<Message>> {
        std::mem::take(&mut self.kept)
    }

    /// Takes an input out, wherever it waits.
    fn remove(&mut self, id: &MessageId) -> Option<Input> {
        let is_it = |input: &Input| input.message.message_id == *id;
        if let Some(at) = self.steering.iter().position(is_it) {
            return Some(self.steering.remove(at));
        }
        let at = self.waiting.iter().position(is_it)?;
        self.waiting.remove(at)
    }

    /// How many join the run under way: the first of those that wait.
    pub(crate) fn joining(&self) -> usize {
        self.steering.len()
    }

    /// Whether any input wants to join the run under way.
    pub(crate) fn has_steering(&self) -> bool {
        !self.steering.is_empty()
    }

    /// The inputs that join the run under way.
    pub(crate) fn take_steering(&mut self) -> Vec<Input> {
        std::mem::take(&mut self.steering)
    }

    /// The next input that joins the run under way.
    pub(crate) fn next_steering(&mut self) -> Option<Input> {
        (!self.steering.is_empty()).then(|| self.steering.remove(0))
    }

    /// The next input that opens a run; `None` while they are held back. Steering inputs that no model call came for come first:
    /// a person's words are never lost, and the first of them takes the others along.
    pub(crate) fn next(&mut self) -> Option<Input> {
        if self.held {
            return None;
        }
        if !self.steering.is_empty() {
            return Some(self.steering.remove(0));
        }
        self.waiting.pop_front()
    }

    /// None of those that wait opens a run until a person says something.
    pub(crate) fn hold(&mut self) {
        self.held = true;
    }

    /// Whether those that wait are held back.
    pub(crate) fn is_held(&self) -> bool {
        self.held
    }

    /// No run is opened any more. `false` where that was so before.
    pub(crate) fn close(&mut self, reason: &str) -> bool {
        let news = self.closed.is_none();
        self.closed.get_or_insert_with(|| reason.to_owned());
        news
    }

    /// Why no run is opened any more, if that is so.
    pub(crate) fn closed(&self) -> Option<&str> {
        self.closed.as_deref()
    }

    /// How much waits: inputs, and what is kept for the next model call.
    pub(crate) fn backlog(&self) -> Backlog {
        let inputs = self.iter().map(|input| &input.message);
        let mut backlog = Backlog::default();
        for message in inputs.chain(&self.kept) {
            backlog.messages += 1;
            backlog.bytes += message.content.iter().map(bytes_of).sum::<usize>();
        }
        backlog
    }

    /// All that wait, in the order in which they will be taken up.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Input> {
        self.steering.iter().chain(&self.waiting)
    }
}
