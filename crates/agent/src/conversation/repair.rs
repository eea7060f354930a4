//! Decides, after a refusal or before a likely one, which parts requests leave out or send as plain text. The
//! parts are kept in `repairs`. The conversation itself does not change.
//!
//! Newer models refuse their own thinking once anything before it has changed: the instructions, the tools,
//! an earlier message (platform.claude.com/docs/en/build-with-claude/preserved-thinking). So whenever the
//! beginning of a request changes, all earlier thinking is left out permanently; later thinking fits again.
//!
//! If a refusal names a part, that part is left out; if it names nothing, the parts are tried in turn:
//! thinking, blocks, extras, roles, media, calls, and at last the latest messages. `before_repairs` keeps
//! the state from before the first repair until a model has answered (`note_accepted`); if none helps, it
//! is restored. Parts that were left out because of repeated HTTP 500s are sent again from the next run on:
//! see [`super::repeated_refusals`].

use agentx_types::{AgentConfig, Api, ContentPart, MessagePlace, ModelRequest, RequestPart, since};

use super::refusable_parts::{
    has_attached, has_media, is_block, is_exchange, is_reasoning, is_signed, is_signed_thinking,
};
use super::repairs::{ALL, Repairs};
use super::{Conversation, Entry};

/// A refusal of the last request for its form.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    /// The part that it names.
    pub(crate) part: RequestPart,
    /// The maximum number of tokens of an answer, or of pictures of a request, if the provider refuses more
    /// and names it.
    pub(crate) most: Option<u64>,
    /// Whether it is an HTTP 500 that came in each attempt: it shows nothing about later requests.
    pub(crate) is_repeated: bool,
    /// Whether the request had no reasoning, although the conversation may have some that its server is not
    /// sent.
    pub(crate) no_thinking: bool,
    /// The part of the conversation that it names by its place: see [`super::left_out`].
    pub(crate) place: Option<MessagePlace>,
}

/// Returns whether requests to the model may contain reasoning as text or encrypted, whose refusal is
/// repaired.
pub(super) fn reasons(config: &AgentConfig) -> bool {
    matches!(config.model.api, Api::OpenaiChat | Api::OpenaiResponses)
        && config.rules_version >= since::REASONING_IS_LEFT_OUT
}

/// Returns whether requests to the model may have the part.
fn is_of_api(part: RequestPart, config: &AgentConfig) -> bool {
    let api = config.model.api;
    let knows = api == Api::BedrockConverse && config.rules_version >= since::CONVERSE_SETTINGS_ARE_LEFT_OUT;
    let is_claudes = knows || api.speaks_messages();
    match part {
        RequestPart::MissingReasoning if api == Api::Anthropic => {
            config.rules_version >= since::MISSING_THINKING_IS_SENT
        }
        RequestPart::ReasoningContent | RequestPart::MissingReasoning => api == Api::OpenaiChat,
        RequestPart::Include | RequestPart::Store | RequestPart::ToolStrict => api == Api::OpenaiResponses,
        RequestPart::ThinkingBinding => api.speaks_messages(),
        RequestPart::ThinkingDisplay | RequestPart::AdaptiveThinking | RequestPart::ThinkingBudget => {
            is_claudes
        }
        RequestPart::CacheControl => is_claudes || api == Api::OpenaiChat,
        RequestPart::ToolJsonSchema => api == Api::Gemini,
        _ => true,
    }
}

/// Returns whether the model is asked by one of Gemini's APIs.
pub(super) fn is_gemini(config: &AgentConfig) -> bool {
    matches!(config.model.api, Api::Gemini | Api::GeminiInteractions)
}

impl Conversation {
    /// Records that something before the thinking of the conversation has changed: none of it is sent any
    /// more, nor that of an answer in progress. It matters only to agents with `keeps_beginning`.
    pub(crate) fn beginning_changed(&mut self, config: &AgentConfig) {
        let keeps = config
            .condensing
            .as_ref()
            .is_some_and(|condensing| condensing.keeps_beginning);
        self.begins_anew |= keeps;
    }

    /// Leaves out all earlier thinking, if anything before it has changed. It is called before a model call,
    /// and stays in effect even if repairs are undone later. Returns whether it did.
    pub(super) fn begin_anew(&mut self, config: &AgentConfig) -> bool {
        let begins_anew = std::mem::take(&mut self.begins_anew);
        if begins_anew {
            let latest = self.latest();
            let earlier = |thinking: u64| if thinking == ALL { ALL } else { latest };
            self.repairs.thinking = earlier(self.repairs.thinking);
            if let Some(before) = &mut self.before_repairs
                && config.rules_version >= since::SENT_AGAIN_UNCHANGED
            {
                before.thinking = earlier(before.thinking);
            }
            if let Some(before) = &mut self.before_repeated {
                before.repairs.thinking = earlier(before.repairs.thinking);
            }
        }
        begins_anew
    }

    /// The provider refuses the form of the last request: makes the next one plainer, and returns the part
    /// that it leaves out. `None` if nothing is left to change: then changes that did not help are undone.
    ///
    /// If a refusal names nothing, the request is sent once more unchanged before anything changes
    /// permanently: gateways sometimes answer 400 to a valid request, with a page or an empty body.
    ///
    /// Each part is left out once, so this ends.
    pub(crate) fn repair(&mut self, refusal: Refusal, config: &AgentConfig) -> Option<RequestPart> {
        if !self.can_replace_named(&refusal, config) && self.ask_unchanged(refusal.part, config) {
            return Some(RequestPart::Unknown);
        }
        let counts =
            refusal.part != RequestPart::Media || config.rules_version >= since::PICTURES_ARE_COUNTED;
        let refusal = Refusal {
            most: refusal.most.filter(|_| counts),
            ..refusal
        };
        let part = if self.limit_media(refusal.part, refusal.most) {
            Some(RequestPart::Media)
        } else {
            let part = self.repairable_part(&refusal, config);
            self.send_later_ones_again();
            self.leave_out(part, &refusal, config);
            part
        };
        // As plain text or in other roles, the same content may be larger; with parts left out it is smaller
        // than counted.
        let may_be_more = matches!(part, None | Some(RequestPart::ToolCalls | RequestPart::Roles));
        if may_be_more || config.rules_version < since::COUNTS_OUTLIVE_REPAIRS {
            self.counted = None;
        } else {
            // A lower count from now on does not mean that the server cut anything.
            self.counts = None;
        }
        part
    }

    /// Returns the first part that can still be left out or changed: the refused one, the one at the named
    /// place, else one that goes with it, and in the end the latest messages.
    fn repairable_part(&self, refusal: &Refusal, config: &AgentConfig) -> Option<RequestPart> {
        const IN_TURN: [RequestPart; 6] = [
            RequestPart::Thinking,
            RequestPart::Blocks,
            RequestPart::Extras,
            RequestPart::Roles,
            RequestPart::Media,
            RequestPart::ToolCalls,
        ];
        if self.has_replaced_latest() {
            return None;
        }
        let refused = refusal.part;
        let parts = match refused {
            RequestPart::Roles => &[RequestPart::Roles, RequestPart::ToolCalls][..],
            RequestPart::LongestAnswer | RequestPart::Tools => &[],
            RequestPart::ThoughtSignature => &[RequestPart::ToolCalls],
            RequestPart::StrictSchema => &[RequestPart::AnswerSchema],
            RequestPart::AnswerSchema => &[],
            RequestPart::MissingReasoning => &[RequestPart::ToolCalls],
            _ => &IN_TURN,
        };
        let first = [refused, RequestPart::NamedPart];
        let all = first.iter().chain(parts).chain(&[RequestPart::LatestMessages]);
        all.copied().find(|part| match part {
            RequestPart::NamedPart => self.can_replace_named(refusal, config),
            RequestPart::LatestMessages => self.can_replace_latest(refusal, config),
            RequestPart::LongestAnswer => self.can_shorten_answer(refusal.most, config),
            RequestPart::Thinking if refusal.no_thinking => false,
            part => self.can_leave_out(*part, refused, config),
        })
    }

    /// Leaves a part out of the next request, or changes it; with no part left, undoes the repairs.
    fn leave_out(&mut self, part: Option<RequestPart>, refusal: &Refusal, config: &AgentConfig) {
        let (refused, answer) = (refusal.part, refusal.most);
        let latest = self.latest();
        let newest = self.newest_media(config);
        let refuses_all_calls = self.refuses_next_calls(config);
        let before = self.before_repairs.get_or_insert_with(|| self.repairs.clone());
        match part {
            Some(RequestPart::Thinking) if refusal.is_repeated => self.leave_out_thinking_for_now(config),
            Some(RequestPart::Thinking) => self.leave_out_thinking(config),
            Some(RequestPart::Extras) => self.repairs.plain = true,
            Some(RequestPart::Blocks) if refusal.is_repeated => self.leave_out_blocks_for_now(),
            Some(RequestPart::Blocks) => self.leave_out_blocks(config),
            Some(setting) if setting.is_setting() => self.repairs.without.push(setting),
            Some(RequestPart::Media) => match newest {
                // If there are too many pictures, the newest is not at fault.
                Some(seq) if answer.is_none() && before.media_of == self.repairs.media_of => {
                    self.repairs.media_of.push(seq);
                }
                _ => {
                    self.repairs.media = latest;
                    self.repairs.media_of.clear();
                }
            },
            Some(RequestPart::Roles) => self.repairs.roles = true,
            Some(RequestPart::LongestAnswer) => self.repairs.answer = Some(answer.unwrap_or_default()),
            // A template without a role for tools refuses the next result too.
            Some(RequestPart::ToolCalls) if refused == RequestPart::Roles || refuses_all_calls => {
                self.repairs.tool_calls = ALL;
            }
            Some(RequestPart::ToolCalls) => self.repairs.tool_calls = latest,
            Some(RequestPart::NamedPart) => self.replace_named(refusal, config),
            Some(RequestPart::LatestMessages) => self.replace_latest(),
            _ => {
                let thinking = self.repairs.thinking;
                let before = self.before_repairs.take().unwrap_or_default();
                if config.rules_version >= since::SENT_AGAIN_UNCHANGED {
                    self.repairs = before;
                    self.prefix.clear();
                } else {
                    self.repairs = Repairs { thinking, ..before };
                }
            }
        }
    }

    /// Repeats the request unchanged, if it was refused without a word about why for the first time since a
    /// model has answered (from version 7 of the rules on). `false` if it has to change.
    fn ask_unchanged(&mut self, refused: RequestPart, config: &AgentConfig) -> bool {
        let is_first = refused == RequestPart::Unknown && self.before_repairs.is_none();
        let unchanged = is_first && config.rules_version >= since::SENT_AGAIN_UNCHANGED;
        if unchanged {
            self.before_repairs = Some(self.repairs.clone());
        }
        unchanged
    }

    /// Forgets whether the latest messages were replaced, and in which form the schema of an answer was
    /// refused: another run has another schema, and another model accepts others.
    ///
    /// Called at the end of a run, and before another model is called. Within a run the weaker form stays:
    /// each answer is requested in the form that the provider accepted last, so a refusal costs one request
    /// and not one for each round. The state from before the repairs forgets it as well, so that undoing them
    /// restores no form.
    pub(crate) fn forget_schema_form(&mut self) {
        let is_other =
            |part: &RequestPart| !matches!(part, RequestPart::StrictSchema | RequestPart::AnswerSchema);
        self.repairs.without.retain(is_other);
        self.latest_replaced = false;
        if let Some(before) = &mut self.before_repairs {
            before.without.retain(is_other);
        }
    }

    /// Records that a model has answered: it accepts the form of the last request, so repairs and guesses
    /// stay.
    pub(crate) fn note_accepted(&mut self) {
        self.before_repairs = None;
        self.before_guess = None;
        self.accepted = self.asked_until;
    }

    /// Returns a request in the form that the provider accepts, for requests not made from the conversation,
    /// such as those for summaries.
    pub(crate) fn repaired(&self, request: ModelRequest) -> ModelRequest {
        ModelRequest {
            plain: self.repairs.plain,
            turns: self.repairs.roles,
            without: self.repairs.without.clone(),
            params: self.limited(&request.params),
            ..request
        }
    }

    /// Returns whether requests contain pictures or other media.
    pub(crate) fn sends_media(&self) -> bool {
        self.has_media()
    }

    /// Returns whether pictures or other media are sent.
    fn has_media(&self) -> bool {
        let repairs = &self.repairs;
        repairs.most_media != Some(0)
            && self.has_where(repairs.media, |seq, part| {
                has_media(part) && !repairs.media_of.contains(&seq)
            })
    }

    /// The event of the last message with pictures or other media, if an earlier one has some too: the new
    /// ones were most likely refused. From version 6 of the rules on.
    fn newest_media(&self, config: &AgentConfig) -> Option<u64> {
        let sent = |entry: &&Entry| {
            !self.repairs.leaves_out_media(entry.seq) && entry.message.content.iter().any(has_media)
        };
        let entries = self.entries[self.window_start..].iter().rev();
        let mut with_media = entries.filter(sent).map(Entry::seq);
        let newest = with_media
            .next()
            .filter(|_| config.rules_version >= since::NEWEST_PICTURE_FIRST)?;
        with_media.any(|seq| seq != newest).then_some(newest)
    }

    /// Returns whether leaving out `part` would change the next request. Some parts are only tried if the
    /// refusal names them, or if the API knows them.
    fn can_leave_out(&self, part: RequestPart, refused: RequestPart, config: &AgentConfig) -> bool {
        match part {
            RequestPart::Thinking => {
                self.has(self.repairs.thinking, is_signed_thinking)
                    || (reasons(config) && self.has(self.repairs.reasoning, is_reasoning))
                    || (is_gemini(config) && self.has(self.repairs.signatures, is_signed))
            }
            RequestPart::Extras => {
                let asks_for_reasoning = config.model.api == Api::OpenaiResponses || is_gemini(config);
                let knows_extras = config.model.api.speaks_messages()
                    || (refused == RequestPart::Extras && asks_for_reasoning)
                    || (refused == RequestPart::Extras
                        && config.rules_version >= since::NAMED_EXTRAS
                        && !config.tools.is_empty());
                !self.repairs.plain && knows_extras
            }
            RequestPart::Media => self.has_media(),
            RequestPart::ToolCalls => self.has(self.repairs.tool_calls, is_exchange),
            RequestPart::Roles => {
                let is_named =
                    refused == RequestPart::Roles || config.rules_version >= since::ROLES_ARE_REPAIRED;
                let has_no_roles =
                    config.model.api.speaks_messages() || config.model.api == Api::OpenaiResponses;
                let has_roles = !has_no_roles && !is_gemini(config);
                is_named && !self.repairs.roles && has_roles
            }
            RequestPart::Blocks => {
                let attached = || {
                    config.rules_version >= since::REASONING_IS_LEFT_OUT
                        && self.has(self.repairs.attached, has_attached)
                };
                let are_sent = config.model.api.speaks_messages()
                    || config.rules_version < since::BLOCKS_ARE_LEFT_OUT_WHERE_SENT;
                config.rules_version >= since::SETTINGS_ARE_LEFT_OUT
                    && are_sent
                    && (self.has(self.repairs.blocks, is_block) || attached())
            }
            part if !is_of_api(part, config) => false,
            RequestPart::ReasoningContent
                if self.repairs.without.contains(&RequestPart::MissingReasoning) =>
            {
                false
            }
            RequestPart::EmptyText if config.model.api != Api::OpenaiChat || !self.has_calls_alone() => false,
            setting => {
                let is_new = setting.is_setting() && !self.repairs.without.contains(&setting);
                is_new && config.rules_version >= since::SETTINGS_ARE_LEFT_OUT
            }
        }
    }

    /// Returns whether calls were written in words before, and the refused request has those of just one
    /// answer since: so the provider took none, and refuses the next ones too. It may have refused a single
    /// call otherwise.
    fn refuses_next_calls(&self, config: &AgentConfig) -> bool {
        let in_words = self.repairs.tool_calls;
        let has_calls = |entry: &&Entry| {
            let is_call = |part: &ContentPart| matches!(part, ContentPart::ToolCall(_));
            entry.seq > in_words && entry.message.content.iter().any(is_call)
        };
        config.rules_version >= since::REFUSED_CALLS_STAY_IN_WORDS
            && in_words > 0
            && self.entries.iter().filter(has_calls).count() == 1
    }

    /// Returns whether an answer with calls and no text is sent.
    fn has_calls_alone(&self) -> bool {
        let is_call = |part: &ContentPart| matches!(part, ContentPart::ToolCall(_));
        let has_text = |part: &ContentPart| part.as_text().is_some_and(|text| !text.trim().is_empty());
        self.entries[self.window_start..].iter().any(|entry| {
            let content = &entry.message.content;
            content.iter().any(is_call) && !content.iter().any(has_text)
        })
    }

    /// Returns whether requests contain a part of this kind that is newer than the event `from`.
    pub(super) fn has(&self, from: u64, kind: fn(&ContentPart) -> bool) -> bool {
        self.has_where(from, |_, part| kind(part))
    }

    /// Returns whether requests contain a part that is newer than the event `from` and for which `kind`
    /// returns true; `kind` also gets the event of its message. Pinned messages count as older than
    /// everything.
    fn has_where(&self, from: u64, kind: impl Fn(u64, &ContentPart) -> bool) -> bool {
        let entries = self.entries[self.window_start..].iter();
        let later = entries
            .filter(|entry| entry.seq > from)
            .map(|entry| (entry.seq, &entry.message));
        let stays = self
            .stays
            .iter()
            .filter(|_| from == 0)
            .map(|(message, _)| (1, message));
        let mut all = later.chain(stays);
        all.any(|(seq, message)| message.content.iter().any(|part| kind(seq, part)))
    }
}
