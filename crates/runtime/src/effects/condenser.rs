//! The effector for summaries: it calls a model as for any call, and reports the result as one fact.
//!
//! The stream of the model is not an answer to anybody, so it is not part of the session; its cost is.
//!
//! | outcome | fact |
//! | --- | --- |
//! | the summary is shorter than its range | `context_condensed` |
//! | the action has the text, and no model is asked | `context_condensed` |
//! | it was cut off, even at the maximum length | `condensing_failed`, `cut_off` |
//! | it is as long as its range | `condensing_failed`, `frees_nothing` |
//! | the model declined, failed, was stopped, or wrote nothing | `condensing_failed`, with its code |
//!
//! If the conversation fits without the summary, or the last one failed, an unavailable model is called once
//! more after a short pause. After that the run continues, and requests a summary later.

use std::sync::Arc;

use agentx_agent::estimate_text;
use agentx_types::{
    Action, ActionBody, Assembler, AttemptFailed, CallModel, Condense, CondensingFailed, ContextCondensed,
    EffectBill, EnvironmentEvent, ModelRequest, StopReason, Usage,
};
use tokio_util::sync::CancellationToken;

use crate::effects::captured_effect::CapturedEffect;
use crate::effects::effect::{Effector, EventSink};
use crate::future::BoxFuture;

/// The tokens of a summary besides its text.
const AROUND: u64 = 64;
/// Tokens for the reasoning of a model before it writes a summary.
const REASONING: u64 = 8_192;
/// Maximum number of attempts at a summary that no run waits for.
const ATTEMPTS: u32 = 2;
/// The longest pause between two attempts, in milliseconds, that such a summary waits for.
const LONGEST_PAUSE_MS: u64 = 2_000;
/// The code of a summary that reached its longest length.
const CUT_OFF: &str = "cut_off";

/// Has summaries written by the models that answer agents.
///
/// A runtime gives it [`BusModels`](crate::BusModels): then each call is a request on `llm.requests`, so
/// whoever serves the model answers it within its capacity, and a cancelled summary cancels it there.
///
/// ```
/// use std::sync::Arc;
///
/// use agentx_runtime::{ActionDispatcher, BusModels, Condenser, Effector};
/// use agentx_types::ActionKind;
///
/// # fn actions(models: Arc<dyn Effector>) -> ActionDispatcher {
/// let over_bus = BusModels::default();
/// let actions = ActionDispatcher::new()
///     .with(ActionKind::CallModel, models)
///     .with(ActionKind::Condense, Arc::new(Condenser::new(Arc::new(over_bus.clone()))));
/// over_bus.connect(&actions);
/// # actions
/// # }
/// ```
pub struct Condenser {
    models: Arc<dyn Effector>,
}

/// The result of a call for a summary.
struct SummaryResult {
    /// The words of the summary, or a code and a message.
    outcome: Result<String, (String, String)>,
    /// The tokens of all model calls for it.
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
            if let Some(written) = &condense.written {
                events.emit(condensed(condense, written.clone(), None)).await;
                return;
            }
            let answered = ask(models, &action, condense, &events, cancel).await;
            events.emit(summary_event(condense, answered)).await;
        })
    }
}

/// Requests the summary, and once more with the maximum length if it was cut off, because half a summary is
/// useless.
async fn ask(
    models: Arc<dyn Effector>,
    action: &Action,
    condense: &Condense,
    events: &EventSink,
    cancel: CancellationToken,
) -> SummaryResult {
    let (room, most) = token_limits(&condense.request);
    let first = ask_once(&models, action, with_room(condense, room), events, cancel.clone()).await;
    if !first.is_cut_off() || room >= most {
        return first;
    }
    let mut second = ask_once(&models, action, with_room(condense, most), events, cancel).await;
    second.usage += first.usage;
    second
}

/// Calls the model once, with all its attempts, and reads its events up to the terminal one.
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
    heard.assembler.set_model(&model);
    let mut asked = CapturedEffect::of(&**models, call, events.session_id().cloned(), cancel);
    while let Some(event) = asked.next().await {
        if let Some(answered) = heard.collect(event, events, is_brief).await {
            return answered;
        }
    }
    heard.finish(Err((
        "no_answer".into(),
        format!("{model} ended without an answer"),
    )))
}

/// Returns the maximum number of tokens for the first and for the second attempt.
///
/// The text of the request asks for a certain length; models that always reason need further tokens for that,
/// and unused ones cost nothing. A quarter of the window is free.
fn token_limits(request: &ModelRequest) -> (u64, u64) {
    let length = request.params.max_output_tokens.unwrap_or_default();
    let model = &request.model;
    let most = model.max_output_tokens.min(model.context_window / 4).max(length);
    ((length * 2).saturating_add(REASONING).min(most), most)
}

/// The request with this many tokens for the answer.
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
    async fn collect(
        &mut self,
        event: EnvironmentEvent,
        events: &EventSink,
        is_brief: bool,
    ) -> Option<SummaryResult> {
        match event {
            EnvironmentEvent::AttemptFailed(failed) if is_brief && waits_long(&failed) => {
                Some(self.finish(Err((failed.code, failed.message))))
            }
            EnvironmentEvent::AttemptFailed(failed) => {
                // Report retries; the terminal event reports the failure.
                if failed.retry_in_ms.is_some() {
                    events.emit(failed).await;
                }
                None
            }
            EnvironmentEvent::ErrorOccurred(error) => Some(self.finish(Err((error.code, error.message)))),
            EnvironmentEvent::StreamEnd(end) if end.stop_reason == StopReason::Broken => {
                self.usage += self.assembler.finish_partial().usage;
                None
            }
            EnvironmentEvent::StreamEnd(end) => {
                let answer = self.assembler.finish();
                self.usage += answer.usage;
                let text = answer.message.map(|message| message.text()).unwrap_or_default();
                let failed = |code: &str, message: &str| Err((code.to_owned(), message.to_owned()));
                Some(self.finish(match end.stop_reason {
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

    /// Ends the call: its outcome, and everything that was spent for it.
    fn finish(&mut self, outcome: Result<String, (String, String)>) -> SummaryResult {
        self.usage += self.assembler.finish_partial().usage;
        SummaryResult {
            outcome,
            usage: self.usage,
        }
    }
}

/// The fact in which a summary results.
///
/// A summary that is not shorter than its range is refused here, because it would free nothing. Its cost is
/// reported in any case.
fn summary_event(condense: &Condense, answered: SummaryResult) -> EnvironmentEvent {
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
        Ok(summary) => condensed(condense, summary, bill).into(),
        Err((code, message)) => CondensingFailed { code, message, bill }.into(),
    }
}

/// The fact that this text stands for the range.
fn condensed(condense: &Condense, summary: String, bill: Option<Box<EffectBill>>) -> ContextCondensed {
    ContextCondensed {
        from_seq: condense.from_seq,
        to_seq: condense.to_seq,
        summary,
        kept: condense.kept.clone(),
        bill,
        masked: condense.masked.clone(),
    }
}
