//! Inputs that have to wait: for the next run, or to join the one in progress.
//!
//! | mode | no run in progress | a run in progress |
//! | --- | --- | --- |
//! | `queue` | opens a run, or waits behind held inputs | waits for its own, in order |
//! | `steer` | opens a run | joins before the next model call |
//! | `interrupt` | opens a run | the run is stopped; the next run begins with it |
//!
//! No input of a person is lost: a steering input without another model call opens the next run.
//!
//! The machine calls `RunLifecycle::accept_input` for each `user_message` and `RunLifecycle::revise` for each
//! `input_revised`; both return an `InputDecision`, which the machine executes. A queue can be in two special
//! states: *held*, after the session was closed, until the next input, and *closed*, once the agent is
//! closed. An input to a held queue releases the others; an input to a closed queue waits forever.

use std::collections::VecDeque;
use std::sync::Arc;

use agentx_types::{
    AgentConfig, AnswerSchema, ApprovalMode, ContentPart, InputMode, InputRevised, MediaSource, Message,
    MessageId, ProviderData, Role, RunId, StateOutput, UserMessage,
};
use serde::{Deserialize, Serialize};

use super::modes_of_words::mode_of_words;
use super::{RunLifecycle, RunStep};
use crate::limits::ancestor_budgets::stricter_of;

/// An input that waits, or opens a run: of a person, or the result of a background agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunInput {
    /// The id of the run that it opens, if it opens one. The id follows from `seq`, so it exists before the
    /// run begins.
    pub run_id: RunId,
    /// The `seq` at which it came.
    pub seq: u64,
    /// The message, as the conversation will have it.
    pub message: Arc<Message>,
    /// The answer schema of the run that it opens, if it has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_schema: Option<Arc<AnswerSchema>>,
    /// Whether it is the result of a background agent. A run that it opens continues the one before, and
    /// counts that one's spending against its own limits: otherwise agents could prolong a run forever.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub goes_on: bool,
    /// The mode that its run is at least as strict as, if it has words of another person than the owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode_of_words: Option<ApprovalMode>,
}

/// The size of an agent's input queue, by which the runtime bounds the inputs of a session. Media in the blob
/// store count as the length of their names, because only those are held in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InputBacklog {
    /// Inputs, and notes for the next model call.
    pub messages: usize,
    /// The bytes of all of them: their texts, the schemas of their answers as JSON, and 256 for each part, so
    /// that many empty parts count too.
    pub bytes: usize,
}

/// The next step of an input. The lifecycle decides it, and the machine does it.
pub(crate) enum InputDecision {
    /// Opens a run at once.
    Opens(RunInput),
    /// Waits for its own run.
    Waits,
    /// Joins the run in progress before its next model call.
    Joins,
    /// Interrupts the run in progress, and opens the next one.
    Interrupts,
}

impl RunInput {
    /// An input that comes with the fact of this step.
    pub(crate) fn new(message: Message, step: &RunStep<'_>) -> Self {
        Self {
            run_id: RunId::of_input(step.seq),
            seq: step.seq,
            message: Arc::new(message),
            answer_schema: None,
            goes_on: false,
            mode_of_words: None,
        }
    }

    /// The result of a background agent as an input: it is marked so that the run that it opens continues the
    /// one before.
    pub(crate) fn from_background(message: Message, step: &RunStep<'_>) -> Self {
        Self {
            goes_on: true,
            ..Self::new(message, step)
        }
    }
}

impl RunLifecycle {
    /// Handles an input of a person, and decides by its mode and by whether a run is in progress (the table
    /// above).
    ///
    /// Without a run in progress, the input opens one. One exception keeps the order: a `queue` input goes
    /// behind held inputs, and the first of these opens the run instead. Reports `input_queued` with the
    /// place in the queue if the input waits.
    pub(crate) fn accept_input(
        &mut self,
        said: &UserMessage,
        config: &AgentConfig,
        step: &mut RunStep<'_>,
    ) -> InputDecision {
        let message = Message {
            message_id: said.message_id.clone(),
            role: Role::User,
            content: said.content.clone(),
            by: said.by.clone(),
        };
        let mut input = RunInput::new(message, step);
        input.answer_schema.clone_from(&said.answer_schema);
        input.mode_of_words = mode_of_words(said.by.as_ref(), config, step);
        if self.is_free() {
            // An input releases held ones. It keeps its place behind them, unless its mode is more urgent.
            self.inputs.held = false;
            if said.mode != InputMode::Queue || self.inputs.waiting.is_empty() {
                return InputDecision::Opens(input);
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
                next.map_or(InputDecision::Waits, InputDecision::Opens)
            }
            InputMode::Steer => self.join(input, InputDecision::Joins),
            InputMode::Interrupt => self.join(input, InputDecision::Interrupts),
        }
    }

    /// A person revises a waiting input: gives it another mode, or takes it back (`mode` is empty).
    ///
    /// `None` if the input no longer waits, or is withdrawn. A held input with an urgent new mode opens a
    /// run, and releases the others. An input that goes back into the queue goes to its end.
    pub(crate) fn revise(&mut self, revised: &InputRevised) -> Option<InputDecision> {
        let input = self.inputs.remove(&revised.message_id)?;
        let mode = revised.mode?;
        if mode != InputMode::Queue && self.is_free() {
            self.inputs.held = false;
            return Some(InputDecision::Opens(input));
        }
        Some(match mode {
            InputMode::Queue => {
                self.inputs.queue(input);
                InputDecision::Waits
            }
            InputMode::Steer => self.join(input, InputDecision::Joins),
            InputMode::Interrupt => self.join(input, InputDecision::Interrupts),
        })
    }

    /// Removes and returns the notes for the next model call, whose words then bind the run in progress.
    pub(crate) fn take_kept(&mut self) -> Vec<Arc<Message>> {
        let (kept, mode) = self.inputs.take_kept();
        self.bind_run(mode);
        kept
    }

    /// Removes and returns the messages of the inputs that join the run in progress, whose words then bind
    /// it.
    pub(crate) fn take_steering(&mut self) -> Vec<Arc<Message>> {
        let joining = self.inputs.take_steering();
        joining
            .iter()
            .for_each(|input| self.bind_run(input.mode_of_words));
        joining.into_iter().map(|input| input.message).collect()
    }

    /// Removes and returns the next input that joins the run in progress, whose words then bind it.
    pub(crate) fn next_steering(&mut self) -> Option<RunInput> {
        let input = self.inputs.next_steering()?;
        self.bind_run(input.mode_of_words);
        Some(input)
    }

    /// Lines the input up for the run in progress, and hands `taken` on.
    fn join(&mut self, input: RunInput, taken: InputDecision) -> InputDecision {
        self.inputs.steer(input);
        taken
    }

    /// Returns whether an input opens a run at once: no run is in progress, and the agent is not gone.
    pub(crate) fn is_free(&self) -> bool {
        let is_over = self.run.as_ref().is_none_or(|run| run.status.is_final());
        is_over && self.inputs.closed().is_none()
    }
}

/// The approximate size of a part in memory besides its texts, so that a message of many empty parts counts.
const PART_BYTES: usize = 256;

/// The bytes that a part holds in memory; only people's messages and notes wait, and those have texts and
/// media.
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

/// Bytes of a provider's data as JSON; 0 if they cannot be written.
fn written(provider: &ProviderData) -> usize {
    serde_json::to_vec(provider).map_or(0, |json| json.len())
}

/// The inputs of one agent that wait, and whether they may open runs.
///
/// Order of being taken up: `steering` first, then `waiting`. `kept` opens nothing: the next model call takes
/// it along.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct InputQueue {
    /// Inputs that open a run each, in the order in which they came.
    waiting: VecDeque<RunInput>,
    /// Inputs that join the run in progress before its next model call. If no such call comes, they open the
    /// next run.
    steering: Vec<RunInput>,
    /// Notes for the next model call that open no run: commands that ended in the
    /// background, answers of agents that were stopped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    kept: Vec<Arc<Message>>,
    /// The mode that a run with the notes is at least as strict as, if another person than the owner has
    /// words in them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mode_of_kept: Option<ApprovalMode>,
    /// The reason why no further run opens: the agent is gone. The first reason stays.
    closed: Option<String>,
    /// Whether waiting inputs open no run until a person sends a message, because the session was being
    /// closed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    held: bool,
}

impl InputQueue {
    /// Lines an input up at the end; returns how many wait now, so that is its place, counted from 1.
    pub(crate) fn queue(&mut self, input: RunInput) -> u32 {
        self.waiting.push_back(input);
        u32::try_from(self.waiting.len()).unwrap_or(u32::MAX)
    }

    /// Keeps an input for the next model call of any run.
    pub(crate) fn steer(&mut self, input: RunInput) {
        self.steering.push(input);
    }

    /// Keeps a note for the next model call of any run; it opens no run itself.
    pub(crate) fn keep(&mut self, message: Arc<Message>) {
        self.kept.push(message);
    }

    /// Makes the run that takes the kept notes at least as strict as this mode.
    pub(crate) fn bind_kept(&mut self, mode: Option<ApprovalMode>) {
        self.mode_of_kept = stricter_of(self.mode_of_kept, mode);
    }

    /// Removes and returns the messages that waited for the next model call, and the mode of their words.
    pub(crate) fn take_kept(&mut self) -> (Vec<Arc<Message>>, Option<ApprovalMode>) {
        (std::mem::take(&mut self.kept), self.mode_of_kept.take())
    }

    /// Removes a waiting input. `None` if a run has it already.
    fn remove(&mut self, id: &MessageId) -> Option<RunInput> {
        let is_it = |input: &RunInput| input.message.message_id == *id;
        if let Some(at) = self.steering.iter().position(is_it) {
            return Some(self.steering.remove(at));
        }
        let at = self.waiting.iter().position(is_it)?;
        self.waiting.remove(at)
    }

    /// The number of inputs that join the run in progress: the first waiting ones.
    pub(crate) fn joining(&self) -> usize {
        self.steering.len()
    }

    /// Returns whether any input waits to join the run in progress.
    pub(crate) fn has_steering(&self) -> bool {
        !self.steering.is_empty()
    }

    /// The inputs that join the run in progress.
    pub(crate) fn take_steering(&mut self) -> Vec<RunInput> {
        std::mem::take(&mut self.steering)
    }

    /// Returns the next input that joins the run in progress. The Match machine takes these one at a time,
    /// because it sorts each separately.
    pub(crate) fn next_steering(&mut self) -> Option<RunInput> {
        (!self.steering.is_empty()).then(|| self.steering.remove(0))
    }

    /// The next input that opens a run; `None` while inputs are on hold, or if none waits.
    ///
    /// Steering inputs come first, if the run that they were to join ended before its next model call: no
    /// input is ever lost. The others join the run that the first of them opens.
    pub(crate) fn next(&mut self) -> Option<RunInput> {
        if self.held {
            return None;
        }
        if !self.steering.is_empty() {
            return Some(self.steering.remove(0));
        }
        self.waiting.pop_front()
    }

    /// Puts waiting inputs on hold until a person sends a message: a session that is being closed begins
    /// nothing new.
    pub(crate) fn hold(&mut self) {
        self.held = true;
    }

    /// Returns whether waiting inputs are on hold.
    pub(crate) fn is_held(&self) -> bool {
        self.held
    }

    /// Opens no run from now on. `false` if that was so before; the reason of then stays.
    pub(crate) fn close(&mut self, reason: &str) -> bool {
        let news = self.closed.is_none();
        self.closed.get_or_insert_with(|| reason.to_owned());
        news
    }

    /// The reason why no further run opens, if there is one.
    pub(crate) fn closed(&self) -> Option<&str> {
        self.closed.as_deref()
    }

    /// The amount that waits: inputs, and notes for the next model call.
    pub(crate) fn backlog(&self) -> InputBacklog {
        let inputs = self.iter().map(|input| &input.message);
        let schemas = self.iter().filter_map(|input| input.answer_schema.as_deref());
        // Each property of a schema takes many times the bytes of its JSON in memory. Without this count a
        // few messages with large schemas would evade a bound that counts only texts.
        let json_len = |schema| agentx_types::json_len(schema, usize::MAX).unwrap_or(usize::MAX);
        let mut backlog = InputBacklog {
            messages: 0,
            bytes: schemas.map(|answer| json_len(&answer.schema)).sum(),
        };
        for message in inputs.chain(&self.kept) {
            backlog.messages += 1;
            backlog.bytes += message.content.iter().map(bytes_of).sum::<usize>();
        }
        backlog
    }

    /// All waiting inputs, in the order in which runs will take them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &RunInput> {
        self.steering.iter().chain(&self.waiting)
    }
}
