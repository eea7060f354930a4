//! The effector that has summaries written: it asks a model as any call is asked, and says its result as one
//! fact.
//!
//! The words that the model writes one by one are nobody's answer, so they are not part of the session; what
//! they cost is.
//!
//! | what happens | fact |
//! | --- | --- |
//! | a summary that is shorter than what it stands for | `context_condensed` |
//! | it was cut off, also with all the room that there is | `condensing_failed`, `cut_off` |
//! | it is as long as what it stands for | `condensing_failed`, `frees_nothing` |
//! | the model declined, failed, was stopped, or wrote nothing | `condensing_failed`, with its code |
//!
//! If the conversation fits without the summary, or the last one failed, a model that is away is tried again
//! once, shortly, and not waited for: the run continues, and asks for one later.

use std::sync::Arc;

use agentx_agent::estimate_text;
use agentx_types::{
    Action, ActionBody, Assembler, AttemptFailed, CallModel, Condense, CondensingFailed, ContextCondensed,
    EffectBill, EnvironmentEvent, ModelRequest, StopReason, Usage,
};
use tokio_util::sync::CancellationToken;

use crate::captured_effect::CapturedEffect;
use crate::effect::{Effector, EventSink};
use crate::future::BoxFuture;

/// Tokens that a summary weighs beside its words.
const AROUND: u64 = 64;
/// Tokens for what a model reasons before it writes one.
const REASONING: u64 = 8_192;
/// Maximum number of attempts at a summary that nobody waits for.
const ATTEMPTS: u32 = 2;
/// The longest pause between two attempts, in milliseconds, that such a summary waits for.
const LONGEST_PAUSE_MS: u64 = 2_000;
/// The code of a summary that reached its longest length.
const CUT_OFF: &str = "cut_off";

/// Has summaries written by whoever performs model calls.
///
/// It asks `models` directly, not over the bus: the whole of its work is one action, with one fact at its
/// end.
pub struct Condenser {
    models: Arc<dyn Effector>,
}

/// The result of a call for a summary.
struct SummaryResult {
    /// The words of the summary, or a code and a message.
    outcome: Result<String, (String, String)>,
    /// Tokens of all that was asked for it.
    usage: Usage,
}

impl SummaryResult {
    /// Returns whether it reached its longest length.
    fn is_cut_off(&self) -> bool {
        matches!(&self.outcome, Err((code, _)) if code == CUT_OFF)
    }
}

impl Condenser {
    /// A condenser that asks models with this effector.
    pub fn new(models: Arc<dyn Effector>) -> Self {
        Self { models }
    }
}

impl Effector for Condenser {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let models = self.models.clone();
        Box::pin(async move {
            let ActionBody::Condense(condense) = &action.body else {
                return;
            };
            let answered = ask(models, &action, condense, &events, cancel).await;
            events.emit(said(condense, answered)).await;
        })
    }
}

/// Asks for it, and once more with all the room that there is where it was cut off: half a summary stands for
/// nothing.
async fn ask(
    models: Arc<dyn Effector>,
    action: &Action,
    condense: &Condense,
    events: &EventSink,
    cancel: CancellationToken,
) -> SummaryResult {
    let (room, most) = room(&condense.request);
    let first = ask_once(&models, action, with_room(condense, room), events, cancel.clone()).await;
    if !first.is_cut_off() || room >= most {
        return first;
    }
    let mut second = ask_once(&models, action, with_room(condense, most), events, cancel).await;
    second.usage += first.usage;
    second
}

/// Asks the model once, with all attempts that this takes, and reads its events up to the terminal one.
async fn ask_once(
    models: &Arc<dyn Effector>,
    action: &Action,
    request: ModelRequest,
    events: &EventSink,
    cancel: CancellationToken,
) -> SummaryResult {
    let model = request.model.id.clone();
    let is_brief = matches!(&action.body, ActionBody::Condense(condense) if condense.brief);
    let call = Arc::new(Action {
        body: ActionBody::CallModel(CallModel {
            request: Arc::new(request),
            taken: Arc::default(),
        }),
        ..action.clone()
    });
    let mut heard = SummaryProgress::default();
    heard.assembler.asks(&model);
    let mut asked = CapturedEffect::of(&**models, call, events.session_id().cloned(), cancel);
    while let Some(event) = asked.next().await {
        if let Some(answered) = heard.hear(event, events, is_brief).await {
            return answered;
        }
    }
    heard.came_to(Err((
        "no_answer".into(),
        format!("{model} ended without an answer"),
    )))
}

/// Returns the number of tokens that the answer may have at first and at most.
///
/// The request says in words how long the summary is to be; models that reason unasked need room for that
/// beside it, and what they do not use costs nothing. A quarter of the window is free.
fn room(request: &ModelRequest) -> (u64, u64) {
    let length = request.params.max_output_tokens.unwrap_or_default();
    let model = &request.model;
    let most = model.max_output_tokens.min(model.context_window / 4).max(length);
    ((length * 2).saturating_add(REASONING).min(most), most)
}

/// The request with so many tokens for the answer.
fn with_room(condense: &Condense, room: u64) -> ModelRequest {
    let mut request = (*condense.request).clone();
    request.params.max_output_tokens = Some(room);
    request
}

/// Returns whether another attempt follows that is not worth waiting for.
fn waits_long(failed: &AttemptFailed) -> bool {
    let pause = failed.retry_in_ms;
    pause.is_some_and(|pause| pause > LONGEST_PAUSE_MS || failed.attempt >= ATTEMPTS)
}

/// The progress of a model call: the answer and the tokens so far.
#[derive(Default)]
struct SummaryProgress {
    /// The answer that comes in.
    assembler: Assembler,
    /// Tokens of the attempts that have ended.
    usage: Usage,
}

impl SummaryProgress {
    /// Applies the next event; returns the model's result if it was the last.
    async fn hear(
        &mut self,
        event: EnvironmentEvent,
        events: &EventSink,
        is_brief: bool,
    ) -> Option<SummaryResult> {
        match event {
            EnvironmentEvent::AttemptFailed(failed) if is_brief && waits_long(&failed) => {
                Some(self.came_to(Err((failed.code, failed.message))))
            }
            EnvironmentEvent::AttemptFailed(failed) => {
                // Report retries; the terminal event reports the failure.
                if failed.retry_in_ms.is_some() {
                    events.emit(failed).await;
                }
                None
            }
            EnvironmentEvent::ErrorOccurred(error) => Some(self.came_to(Err((error.code, error.message)))),
            EnvironmentEvent::StreamEnd(end) if end.stop_reason == StopReason::Broken => {
                self.usage += self.assembler.finish_partial().usage;
                None
            }
            EnvironmentEvent::StreamEnd(end) => {
                let answer = self.assembler.finish();
                self.usage += answer.usage;
                let text = answer.message.map(|message| message.text()).unwrap_or_default();
                let failed = |code: &str, message: &str| Err((code.to_owned(), message.to_owned()));
                Some(self.came_to(match end.stop_reason {
                    StopReason::Interrupted => failed("interrupted", "it was stopped"),
                    StopReason::Refusal => failed("refused", "the model declined to write a summary"),
                    StopReason::MaxTokens | StopReason::ContextWindow => {
                        failed(CUT_OFF, "the summary was cut off before its end")
                    }
                    StopReason::PauseTurn => {
                        failed(CUT_OFF, "the provider paused before the end of the summary")
                    }
                    StopReason::Other => failed(
                        CUT_OFF,
                        "it is unknown whether the summary is complete: the provider gave no known reason",
                    ),
                    StopReason::ToolUse => failed(
                        "no_summary",
                        "the model called a tool instead of writing a summary",
                    ),
                    StopReason::EndTurn | StopReason::StopSequence | StopReason::Broken
                        if text.trim().is_empty() =>
                    {
                        failed("no_summary", "the model wrote no summary")
                    }
                    StopReason::EndTurn | StopReason::StopSequence | StopReason::Broken => Ok(text),
                }))
            }
            event => {
                self.assembler.feed(&event);
                None
            }
        }
    }

    /// The end of what was heard: the outcome, and all that was spent for it.
    fn came_to(&mut self, outcome: Result<String, (String, String)>) -> SummaryResult {
        self.usage += self.assembler.finish_partial().usage;
        SummaryResult {
            outcome,
            usage: self.usage,
        }
    }
}

/// The one fact that a summary results in.
///
/// A summary that is not shorter than what it stands for is refused here: it would free nothing. Its cost
/// is reported in any case.
fn said(condense: &Condense, answered: SummaryResult) -> EnvironmentEvent {
    let SummaryResult { outcome, usage } = answered;
    let model = &condense.request.model;
    let bill = (usage != Usage::default()).then(|| Box::new(EffectBill::of(model, usage)));
    let outcome = outcome.and_then(|summary| {
        let tokens = estimate_text(&summary).saturating_add(AROUND);
        if tokens < condense.tokens {
            return Ok(summary);
        }
        let message = format!(
            "a summary (about {tokens} tokens) would be as long as what it replaces (about {}) or longer",
            condense.tokens
        );
        Err(("frees_nothing".to_owned(), message))
    });
    match outcome {
        Ok(summary) => ContextCondensed {
            from_seq: condense.from_seq,
            to_seq: condense.to_seq,
            summary,
            kept: condense.kept.clone(),
            bill,
        }
        .into(),
        Err((code, message)) => CondensingFailed { code, message, bill }.into(),
    }
}
