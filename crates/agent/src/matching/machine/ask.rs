//! Asks the fast path, and then a model, for the meaning of an input; the answer is read as it arrives.
//!
//! Each input is sorted separately: the machine keeps no conversation, so earlier inputs do not change the
//! meaning of a rule. One action may have several attempts; the findings of one that broke off are forgotten.

use std::sync::Arc;

use agentx_types::{
    AttemptFailed, ContentPart, Envelope, EnvironmentEvent, Message, MessageOutput, ModelRequest, RunStatus,
    StopReason, StreamEnd, StreamOutput, ThinkingPart, since,
};
use serde::{Deserialize, Serialize};

use super::MatchAgent;
use crate::matching::{AnswerParser, FastPath, Finding, Intent, prompt};
use crate::run_lifecycle::{RunStep, StopCause};
use crate::token_estimate::{estimate_message, estimate_text};

/// The input that a model is sorting, and the findings in its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Matching {
    /// The person's input, unchanged.
    message: Arc<Message>,
    /// Reads the answer as it comes; it holds the line that has not ended.
    parser: AnswerParser,
    /// The findings until now, in the order of the answer.
    found: Vec<Finding>,
}

/// Values that follow from the rules: made once, and kept while the configuration stays. It is not written
/// down with the agent.
#[derive(Clone, Debug)]
pub(super) struct PreparedRules {
    /// The patterns that need no model.
    fast: FastPath,
    /// The description of the rules for a model.
    prompt: Arc<str>,
}

impl MatchAgent {
    /// The prepared rules, made on first use.
    fn prepared(&mut self) -> &PreparedRules {
        let routing = self.config.routing.as_deref();
        let rules = routing.map_or(&[][..], |routing| &routing.rules);
        let version = self.config.rules_version;
        self.prepared.get_or(|| PreparedRules {
            fast: FastPath::of_version(rules, version),
            prompt: Arc::from(prompt(rules)),
        })
    }

    /// The meaning of an input that needs no model: empty if there are no rules, otherwise from the fast
    /// path. `None` if a model has to be called, as for any input with a picture.
    pub(super) fn without_a_model(&mut self, message: &Message) -> Option<Vec<Intent>> {
        if self.rules().is_empty() {
            return Some(Vec::new());
        }
        let words_only = message.content.iter().all(|part| part.as_text().is_some());
        let text = words_only.then(|| message.text())?;
        self.prepared().fast.find(&text)
    }

    /// Asks a model for the meaning of an input, unless a limit forbids it.
    pub(super) fn ask_model(&mut self, message: Arc<Message>, step: &mut RunStep<'_>) {
        if let Some(cause) = self.lifecycle.used_up(&self.config.limits, step) {
            return self.begin_stop(cause, step);
        }
        self.matching = Some(Matching {
            message,
            parser: AnswerParser::default(),
            found: Vec::new(),
        });
        self.call_model(step);
    }

    /// Calls a model to sort the current input, also again after a crash. The request contains only that
    /// input.
    pub(super) fn call_model(&mut self, step: &mut RunStep<'_>) {
        let Some(message) = self.matching.as_ref().map(|matching| matching.message.clone()) else {
            return;
        };
        self.lifecycle.set_status(RunStatus::BuildingContext, step);
        let mut system = vec![self.config.system_prompt.clone(), self.prepared().prompt.clone()];
        system.retain(|part| !part.trim().is_empty());
        let config = &self.config;
        let request =
            || ModelRequest::new(config.model.clone(), config.params.clone(), system, vec![message]);
        self.lifecycle.request_model_call(&config.model, request, step);
    }

    /// The tokens of the request in progress, estimated; 0 if there is none.
    pub(super) fn estimated_request(&mut self) -> u64 {
        let Some(message) = self.matching.as_ref().map(|matching| matching.message.clone()) else {
            return 0;
        };
        let system = [self.config.system_prompt.clone(), self.prepared().prompt.clone()];
        let of_system = system.iter().map(|text| estimate_text(text)).sum::<u64>();
        of_system.saturating_add(estimate_message(&message))
    }

    /// Handles a piece of the model's answer. The person does not need it, so it is reported as thinking.
    pub(super) fn on_stream(&mut self, fact: &Envelope<EnvironmentEvent>, step: &mut RunStep<'_>) {
        if !self.lifecycle.answers_model_call(fact.cause.as_ref()) {
            return;
        }
        if let EnvironmentEvent::StreamStart(start) = &fact.event {
            // An attempt that broke off without an end still has its cost.
            self.set_aside(step);
            step.stream(StreamOutput::MessageStart {
                message_id: start.message_id.clone(),
            });
        } else if !self.lifecycle.assembler.is_open() {
            return;
        }
        self.lifecycle.assembler.feed(&fact.event);
        if let EnvironmentEvent::ModelFellBack(fallback) = &fact.event {
            self.lifecycle.fell_back(fallback);
        }
        let text = match &fact.event {
            EnvironmentEvent::TextChunk(chunk) => {
                self.read(&chunk.text);
                &chunk.text
            }
            EnvironmentEvent::ThinkingChunk(chunk) => &chunk.text,
            _ => return,
        };
        if step.is_heard() {
            step.stream(StreamOutput::ThinkingDelta { text: text.clone() });
        }
    }

    /// Reads a piece of the answer by the current rules.
    fn read(&mut self, piece: &str) {
        let routing = self.config.routing.as_deref();
        let rules = routing.map_or(&[][..], |routing| &routing.rules);
        if let Some(matching) = &mut self.matching {
            matching.parser.feed(rules, piece, &mut matching.found);
        }
    }

    /// Handles the end of a stream: of an attempt, or of the answer.
    pub(super) fn on_stream_end(
        &mut self,
        fact: &Envelope<EnvironmentEvent>,
        end: &StreamEnd,
        step: &mut RunStep<'_>,
    ) {
        if !self.lifecycle.stream_ended(fact, end.stop_reason, step) {
            return;
        }
        match end.stop_reason {
            // The call is still in progress: another attempt or an error follows.
            StopReason::Broken => self.set_aside(step),
            StopReason::Interrupted => {
                self.cut_off(step);
                self.begin_stop(StopCause::interrupt("the model call was stopped"), step);
                self.proceed(step);
            }
            reason => self.on_answer(reason, step),
        }
    }

    /// Handles a complete answer: pays for it, shows it, and acts on it, unless the run is being stopped.
    fn on_answer(&mut self, reason: StopReason, step: &mut RunStep<'_>) {
        let answer = self.lifecycle.assembler.finish();
        self.lifecycle.pay(answer.usage, &self.config, step);
        if let Some(run) = self.lifecycle.active() {
            run.pending.model_call = None;
        }
        let Some(mut matching) = self.matching.take() else {
            return self.proceed(step);
        };
        // The last line of an answer that was cut off is a half.
        if reason != StopReason::MaxTokens {
            matching.parser.finish(self.rules(), &mut matching.found);
        }
        if let Some(message) = answer.message {
            let message = Arc::new(shown(message, &matching.found));
            step.message(MessageOutput::Assistant {
                message,
                partial: false,
            });
        }
        if !self.lifecycle.is_stopping() {
            self.take_answer(matching, reason, step);
        }
        self.proceed(step);
    }

    /// Acts on an answer. Findings count even if the answer was cut off; one that was cut off without
    /// findings ends the run, and so does a declined one, even with findings.
    fn take_answer(&mut self, matching: Matching, reason: StopReason, step: &mut RunStep<'_>) {
        let intents = intents(matching.found);
        let why = match reason {
            StopReason::Refusal if self.config.rules_version >= since::DECLINED_SORTING_FAILS => {
                ("content_filter", "the model declined to answer")
            }
            _ if !intents.is_empty() => return self.plan_intents(&matching.message, intents, step),
            StopReason::ContextWindow => ("context_window", "the context window of the model is full"),
            StopReason::MaxTokens => (
                "max_tokens",
                "the model used up its longest answer and named no rule",
            ),
            _ => return self.plan_intents(&matching.message, intents, step),
        };
        self.begin_stop(StopCause::error(RunStatus::Failed, why.0, why.1), step);
    }

    /// Handles a failed attempt of the model call in progress. If another one is to follow, looks whether the
    /// run may still pay for it: an answer that broke off is paid for like a whole one.
    pub(super) fn on_attempt_failed(
        &mut self,
        fact: &Envelope<EnvironmentEvent>,
        failed: &AttemptFailed,
        step: &mut RunStep<'_>,
    ) {
        if self.lifecycle.answers_model_call(fact.cause.as_ref())
            && failed.retry_in_ms.is_some()
            && self.config.rules_version >= since::LIMITS_BETWEEN_SORTINGS
            && let Some(cause) = self.lifecycle.used_up(&self.config.limits, step)
        {
            self.begin_stop(cause, step);
        }
    }

    /// Forgets the open stream's partial answer, and pays for it; another attempt begins, or an error
    /// follows.
    pub(super) fn set_aside(&mut self, step: &mut RunStep<'_>) {
        let answer = self.lifecycle.assembler.finish_partial();
        self.lifecycle.pay(answer.usage, &self.config, step);
        if let Some(matching) = &mut self.matching {
            matching.parser = AnswerParser::default();
            matching.found.clear();
        }
    }

    /// Ends the model call in progress without an answer.
    pub(super) fn cut_off(&mut self, step: &mut RunStep<'_>) {
        self.set_aside(step);
        self.matching = None;
        if let Some(run) = self.lifecycle.active() {
            run.pending.model_call = None;
        }
    }
}

/// The intents among the findings, each once: models repeat themselves.
fn intents(found: Vec<Finding>) -> Vec<Intent> {
    let mut intents: Vec<Intent> = Vec::new();
    for finding in found {
        if let Finding::Intent(intent) = finding
            && !intents.contains(&intent)
        {
            intents.push(intent);
        }
    }
    intents
}

/// The answer as it is shown: as thinking of the machine, with the parts for which the rules have no place.
fn shown(mut message: Message, found: &[Finding]) -> Message {
    let thought = |text: String| ContentPart::Thinking(ThinkingPart { text, provider: None });
    let mut parts: Vec<ContentPart> = Vec::new();
    for part in message.content {
        match part {
            ContentPart::Text(part) => parts.push(thought(part.text)),
            ContentPart::Thinking(part) => parts.push(thought(part.text)),
            _ => {}
        }
    }
    let notes = notes(found);
    if !notes.is_empty() {
        parts.push(thought(notes.join("\n")));
    }
    message.content = parts;
    message
}

/// The notes of all findings, as sentences.
fn notes(found: &[Finding]) -> Vec<String> {
    let mut notes = Vec::new();
    for finding in found {
        match finding {
            Finding::Intent(intent) => {
                notes.extend(
                    intent
                        .notes
                        .iter()
                        .map(|note| format!("{}: {note}.", intent.rule)),
                );
            }
            Finding::Words(words) => notes.push(format!("No rule is called so: {words:?}.")),
            Finding::TooMany => notes.push("There are more lines than are read.".to_owned()),
        }
    }
    notes
}
