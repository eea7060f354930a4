//! The conversation, and the part of it that fits into the model's window. A window never splits a tool
//! exchange: an answer with calls stays together with all of their results. [`condense`] replaces messages by
//! summaries and restores them, and [`repair`] leaves out what a provider refuses.

mod asked_schema;
mod condense;
mod content_sizes;
mod declined_turns;
mod dropped_beginning;
mod given_context;
mod history_window;
mod latest_event;
mod left_out;
mod masking;
mod max_tokens;
mod media_limit;
mod model_switch;
mod old_pictures;
mod pinned_messages;
mod refusable_parts;
mod refused_kinds;
mod refused_tools;
mod repair;
mod repairs;
mod repeated_refusals;
mod request_prefix;
mod selection;
mod sent_messages;
mod shorten;
mod token_budget;
mod window_growth;
mod window_guess;
mod window_limit;

use std::collections::BTreeSet;
use std::sync::Arc;

use agentx_types::{
    AgentConfig, AnswerSchema, ContentPart, Message, MessageId, ModelRequest, Role, ToolCallId, Usage, since,
};
use serde::{Deserialize, Serialize};

use crate::cache::CachedValue;
use crate::token_estimate::estimate_message;
use condense::Condensed;
pub(crate) use condense::Part;
use dropped_beginning::ServerCounts;
use given_context::GivenContext;
use pinned_messages::Landmarks;
pub(crate) use repair::Refusal;
use repairs::Repairs;
use repeated_refusals::BeforeRepeated;
use request_prefix::RequestPrefix;
use window_growth::GuessedWindow;
use window_guess::BeforeGuess;

/// A message with the event that completed it. `seq` never decreases along the entries, except for a summary,
/// which has the `seq` of the first message that it replaces. `tokens` is an estimate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Entry {
    seq: u64,
    message: Arc<Message>,
    tokens: u64,
    /// Whether it is a summary.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    summary: bool,
    /// Whether a text masks its results of tools.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    masked: bool,
}

impl Entry {
    fn seq(&self) -> u64 {
        self.seq
    }
}

/// All messages, and the beginning of the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Conversation {
    entries: Vec<Entry>,
    /// The index of the first message in the window. It only moves forward, in large steps, so that requests
    /// keep their beginning and the provider can cache it.
    window_start: usize,
    /// Earlier messages that requests still contain, with their tokens: see [`pinned_messages`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    stays: Vec<(Arc<Message>, u64)>,
    /// Tokens of the last request, estimated, and how many messages there were.
    asked_tokens: u64,
    #[serde(default)]
    asked_entries: usize,
    /// The provider's count of the last request, and the number of messages then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counted: Option<(u64, usize)>,
    /// The percentage by which the provider counts more than the estimate.
    extra_percent: u64,
    /// The maximum length of a tool result, in tokens, once a window turned out to be smaller than assumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    longest_result: Option<u64>,
    /// The assumed window from before the model reported a smaller one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    assumed_window: Option<u64>,
    /// The growth of the current window, if it is a guess: see [`window_growth`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    guessed: Option<GuessedWindow>,
    /// The state from before a guess of the window that no answer has confirmed yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before_guess: Option<Box<BeforeGuess>>,
    /// The provider's counts of earlier requests, if that may show that it cuts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counts: Option<ServerCounts>,
    /// The summaries and the messages that they replace, the latest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    condensed: Vec<Condensed>,
    /// Inputs that a person pinned, so that condensing keeps them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    kept_inputs: BTreeSet<MessageId>,
    /// Whether condensing is of no use until the conversation has grown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    rests: bool,
    /// Tokens that were added since then.
    #[serde(default)]
    grown: u64,
    /// Whether a person undid what was condensed last: see [`masking`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    undone: bool,
    /// Whether anything before the thinking of the conversation has changed since the last model call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    begins_anew: bool,
    /// Tools of MCP servers that the model has found, the latest last: their order in requests never changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    found: Vec<String>,
    /// The number of declined turns in a row since a model last answered.
    #[serde(default, skip_serializing_if = "agentx_types::is_default")]
    declined_in_a_row: u32,
    /// Context from services that is not a message.
    #[serde(default, skip_serializing_if = "GivenContext::is_empty")]
    given: GivenContext,
    /// The parts that requests leave out.
    #[serde(default, skip_serializing_if = "Repairs::is_nothing")]
    repairs: Repairs,
    /// The repairs before a provider refused the last request, until it has taken one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before_repairs: Option<Repairs>,
    /// The repairs before those of this run that followed repeated HTTP 500s: see [`repeated_refusals`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before_repeated: Option<Box<BeforeRepeated>>,
    /// The latest event in the last request, and in the last one that was accepted: see [`left_out`].
    #[serde(default, skip_serializing_if = "agentx_types::is_default")]
    asked_until: u64,
    #[serde(default, skip_serializing_if = "agentx_types::is_default")]
    accepted: u64,
    /// The schema of the answer in the last request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked_schema: Option<Arc<AnswerSchema>>,
    /// Whether words replaced the latest messages in this run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    latest_replaced: bool,
    /// Tokens of the messages in the window, estimated, without what [`pinned_messages`].
    #[serde(skip)]
    window_tokens: CachedValue<u64>,
    #[serde(skip)]
    landmarks: CachedValue<Landmarks>,
    #[serde(skip)]
    call_ids: CachedValue<BTreeSet<ToolCallId>>,
    #[serde(skip)]
    prefix: CachedValue<RequestPrefix>,
}

/// The window is brought down to this many percent of the budget when it is over.
const KEEP_PERCENT: u64 = 70;
/// Requests smaller than this show too little about how the provider counts.
const TELLING_TOKENS: u64 = 2_000;
/// Estimates are not corrected by more than this.
const MAX_EXTRA_PERCENT: u64 = 300;

impl Conversation {
    /// Adds a message that the event `seq` completed.
    pub(crate) fn push(&mut self, seq: u64, message: Arc<Message>) {
        let message = self.shortened(message);
        let tokens = estimate_message(&message);
        self.window_tokens.update(|sum| *sum += tokens);
        self.call_ids.update(|ids| ids.extend(calls_in(&message)));
        self.grown = self.grown.saturating_add(tokens);
        let entry = Entry {
            seq,
            message,
            tokens,
            summary: false,
            masked: false,
        };
        let at = self.entries.len();
        self.landmarks.update(|landmarks| landmarks.note(at, &entry));
        self.entries.push(entry);
    }

    /// All messages, with summaries in place of those that they replace.
    pub(crate) fn messages(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.entries.iter().map(|entry| &entry.message)
    }

    /// Returns whether a call of this name is in the conversation, or was before condensing removed it.
    pub(crate) fn has_call(&mut self, id: &ToolCallId) -> bool {
        let calls = || {
            let originals = self.condensed.iter().flat_map(Condensed::originals);
            let all = self.entries.iter().chain(originals);
            all.flat_map(|entry| calls_in(&entry.message)).collect()
        };
        self.call_ids.get_or(calls).contains(id)
    }

    /// The instructions, the tools or the model have changed.
    pub(crate) fn fixed_changed(&mut self, before: &AgentConfig, config: &AgentConfig) {
        let is_other = !before.model.is_same(&config.model);
        if is_other {
            self.another_model(&before.model, config);
        }
        self.repairs.tools_changed(&before.tools, &config.tools);
        let before = self.prefix(before).clone();
        self.prefix.clear();
        let changes_requests = *self.prefix(config) != before;
        if changes_requests {
            self.beginning_changed(config);
        }
        // Each start of the program sets again who decides about calls. Requests do not contain that, so the
        // counts stay valid.
        if changes_requests || is_other || config.rules_version < since::COUNTS_OUTLIVE_CHANGES {
            self.counted = None;
            self.drop_kept_counts();
        }
    }

    /// The model has found these tools of MCP servers: requests have them from now on, at their end.
    pub(crate) fn tools_found(&mut self, names: Vec<String>, config: &AgentConfig) {
        let before = self.found.len();
        for name in names {
            if !self.found.contains(&name) {
                self.found.push(name);
            }
        }
        if self.found.len() > before {
            self.prefix.clear();
            self.counted = None;
            self.beginning_changed(config);
        }
    }

    /// Learns from the provider's count of the last request. Returns the window to assume from now on, if the
    /// count shows that the server cut the request.
    pub(crate) fn calibrate(&mut self, usage: &Usage, config: &AgentConfig) -> Option<u64> {
        let counted = usage.read_tokens();
        if counted > 0 {
            let window = self.notice_cut(counted, config);
            if window.is_some() {
                return window;
            }
            self.counted = Some((counted, self.asked_entries));
        }
        if counted > 0 && self.asked_tokens >= TELLING_TOKENS {
            let percent = counted.saturating_mul(100) / self.asked_tokens;
            self.extra_percent = percent.saturating_sub(100).min(MAX_EXTRA_PERCENT);
        }
        None
    }

    /// The tokens of the last request, as the provider would count them: an estimate.
    pub(crate) fn estimated_request(&self) -> u64 {
        self.corrected(self.asked_tokens)
    }

    /// Returns the percentage by which the provider counts more than the estimate, as far as it is known.
    pub(crate) fn extra_percent(&self) -> u64 {
        self.extra_percent
    }

    /// Learns that the last request was too long.
    pub(crate) fn overflowed(&mut self) {
        self.extra_percent = (self.extra_percent + 50).min(MAX_EXTRA_PERCENT);
        self.counted = None;
    }

    /// Sets the size of the conversation, in tokens: the model stopped because its window was full.
    pub(crate) fn set_counted_tokens(&mut self, tokens: u64) {
        self.counted = Some((tokens, self.entries.len()));
    }

    /// Prepares the next model call of the run that answers `input`: moves the window on if the conversation
    /// no longer fits. `input` is `None` before the first message. Returns whether earlier thinking is left
    /// out from now on, because something before it has changed.
    pub(crate) fn prepare_window(&mut self, config: &AgentConfig, input: Option<&MessageId>) -> bool {
        let prefix = self.prefix(config).tokens;
        let budget = self.budget(config);
        let latest = self.keep_latest(config, input);
        let moved = latest | self.fit(budget) | self.leave_out_oversized_input(budget, config, input);
        let mut changed = moved;
        if moved || (self.window_start > 0 && config.condensing.is_some()) {
            let stays = self.staying(config, budget, input);
            changed |= stays != self.stays;
            self.stays = stays;
        }
        changed |= self.shorten_tool_results(config) | self.replaces_media();
        if changed {
            self.beginning_changed(config);
        }
        let begins_anew = self.begin_anew(config);
        self.asked_tokens = prefix.saturating_add(self.tokens_in_window());
        self.asked_entries = self.entries.len();
        if config.rules_version >= since::REFUSED_PARTS_ARE_REPLACED {
            self.asked_until = self.latest();
        }
        begins_anew
    }

    /// The whole request for the next model call.
    pub(crate) fn request(&mut self, config: &AgentConfig) -> ModelRequest {
        let RequestPrefix { system, tools, .. } = self.prefix(config).clone();
        ModelRequest {
            model: config.model.clone(),
            params: self.fitting(config),
            system,
            messages: self.window(),
            tools,
            plain: self.repairs.plain,
            turns: self.repairs.roles,
            without: self.repairs.without.clone(),
            answer_schema: None,
        }
    }

    /// The parts of a request before its messages. Code that changes configuration or tools clears it.
    fn prefix(&mut self, config: &AgentConfig) -> &RequestPrefix {
        let condensed = !self.condensed.is_empty();
        let left_out = &self.repairs.tools;
        self.prefix
            .get_or(|| RequestPrefix::of(config, condensed, left_out, &self.found, &self.given))
    }

    /// Moves the window on until the messages are well below `budget`, once they are above. Returns whether
    /// it moved.
    fn fit(&mut self, budget: u64) -> bool {
        let mut kept = self.tokens_in_window();
        if self.corrected(kept) <= budget {
            return false;
        }
        let goal = budget.saturating_mul(KEEP_PERCENT) / 100;
        let units = self.units(self.window_start);
        let mut window_start = self.window_start;
        // The last two units stay regardless of their size: the last action, and its consequence.
        for (start, end) in units.iter().take(units.len().saturating_sub(2)) {
            if self.corrected(kept) <= goal {
                break;
            }
            kept -= self.tokens(*start, *end);
            window_start = *end;
        }
        self.window_start = window_start;
        self.window_tokens.clear();
        self.counted = None;
        true
    }

    /// Estimates the tokens of the messages of a request, including those that stay from before the window.
    fn tokens_in_window(&mut self) -> u64 {
        let window = &self.entries[self.window_start..];
        let sum = || window.iter().map(|entry| entry.tokens).sum::<u64>();
        let in_window = *self.window_tokens.get_or(sum);
        in_window + self.stays.iter().map(|(_, tokens)| tokens).sum::<u64>()
    }

    /// Tokens of the entries `start..end`, estimated.
    fn tokens(&self, start: usize, end: usize) -> u64 {
        self.entries[start..end].iter().map(|entry| entry.tokens).sum()
    }

    /// Returns whether every call in a unit has its result.
    fn is_whole(&self, unit: (usize, usize)) -> bool {
        calls_in(&self.entries[unit.0].message).count() == unit.1 - unit.0 - 1
    }

    /// The ranges that must not be split, from `start` on: a message, or an answer with calls and all that
    /// follows until their results are in.
    fn units(&self, start: usize) -> Vec<(usize, usize)> {
        let mut units: Vec<(usize, usize)> = Vec::new();
        for index in start..self.entries.len() {
            match units.last_mut() {
                Some(unit) if self.entries[index].message.role == Role::Tool => unit.1 = index + 1,
                _ => units.push((index, index + 1)),
            }
        }
        units
    }
}

/// The ids of the calls in a message of the model, in their order.
fn calls_in(message: &Message) -> impl Iterator<Item = ToolCallId> {
    message.content.iter().filter_map(|part| match part {
        ContentPart::ToolCall(call) => Some(call.tool_call_id.clone()),
        _ => None,
    })
}
