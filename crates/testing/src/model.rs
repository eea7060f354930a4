//! A model whose answers are listed in advance, one for each call. Its requests are kept.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentx_runtime::{BoxFuture, Effector, EventSink};
use agentx_types::{
    Action, ActionBody, AttemptFailed, EnvironmentEvent, ErrorOccurred, MessageId, ModelRequest, StopReason,
    StreamEnd, StreamStart, TextChunk, ThinkingChunk, ToolCall, ToolCallChunk, ToolCallId, ToolCallStart,
    Usage, UsageReport,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::Gate;

/// The script of one answer: events and stalls, in order. The stream's start, its usage (10 in, 5 out) and
/// its end are added unless the script has them.
#[derive(Clone, Debug, Default)]
pub struct ModelScript {
    steps: Vec<ScriptStep>,
    usage: Option<Usage>,
    end: ScriptEnd,
}

#[derive(Clone, Debug)]
enum ScriptStep {
    Say(Vec<EnvironmentEvent>),
    Stall(Gate),
    /// An event before the stream's start.
    Before(EnvironmentEvent),
}

#[derive(Clone, Debug, Default)]
enum ScriptEnd {
    /// `tool_use` if there are calls, else `end_turn`.
    #[default]
    Natural,
    Stop(StopReason),
    Fails(ErrorOccurred),
    /// The stream breaks, and so does the call.
    Breaks(ErrorOccurred),
}

impl ModelScript {
    /// Creates an empty script.
    pub fn new() -> Self {
        Self::default()
    }

    /// Words and nothing else.
    pub fn text(text: &str) -> Self {
        Self::new().then_text(text)
    }

    /// Creates an answer with one tool call and nothing else.
    pub fn call(id: &str, name: &str, input: Value) -> Self {
        Self::new().then_call(id, name, input)
    }

    /// Creates a call that fails before any stream began.
    pub fn error(code: &str, message: &str) -> Self {
        Self {
            end: ScriptEnd::Fails(error(code, message)),
            ..Self::new()
        }
    }

    /// Then sends a text, as one chunk.
    #[must_use]
    pub fn then_text(self, text: &str) -> Self {
        self.then([TextChunk { text: text.into() }])
    }

    /// Then sends a text, a chunk for each of `pieces`.
    #[must_use]
    pub fn then_pieces(self, pieces: &[&str]) -> Self {
        self.then(pieces.iter().map(|text| TextChunk { text: (*text).into() }))
    }

    /// Adds thinking.
    #[must_use]
    pub fn then_thinking(self, text: &str) -> Self {
        self.then([ThinkingChunk { text: text.into() }])
    }

    /// Then asks for a tool, with its arguments streamed.
    #[must_use]
    pub fn then_call(self, id: &str, name: &str, input: Value) -> Self {
        let tool_call_id = ToolCallId::new(id);
        let name = name.to_owned();
        let start = ToolCallStart {
            tool_call_id: tool_call_id.clone(),
            name: name.clone(),
        };
        let chunk = ToolCallChunk {
            tool_call_id: tool_call_id.clone(),
            json: input.to_string(),
        };
        let whole = ToolCall {
            tool_call_id,
            name,
            input,
            invalid: None,
        };
        self.then([EnvironmentEvent::from(start), chunk.into(), whole.into()])
    }

    /// Then sends these events, together.
    #[must_use]
    pub fn then<E: Into<EnvironmentEvent>>(mut self, events: impl IntoIterator<Item = E>) -> Self {
        self.steps
            .push(ScriptStep::Say(events.into_iter().map(Into::into).collect()));
        self
    }

    /// Then waits until `gate` is open (or the call is interrupted).
    #[must_use]
    pub fn then_stall(mut self, gate: &Gate) -> Self {
        self.steps.push(ScriptStep::Stall(gate.clone()));
        self
    }

    /// Before the stream begins, an attempt fails and will be made again.
    #[must_use]
    pub fn after_failed_attempt(mut self, code: &str) -> Self {
        let attempt = self
            .steps
            .iter()
            .filter(|step| matches!(step, ScriptStep::Before(_)))
            .count();
        let failed = AttemptFailed {
            attempt: u32::try_from(attempt).unwrap_or(u32::MAX).saturating_add(1),
            code: code.into(),
            message: format!("the test says {code}"),
            status: None,
            retry_in_ms: Some(0),
            gives_up_in_ms: None,
            overflow: None,
            refused: None,
            longest_answer: None,
            most_media: None,
            no_thinking: false,
            refused_place: None,
        };
        self.steps.insert(attempt, ScriptStep::Before(failed.into()));
        self
    }

    /// Reports this usage.
    #[must_use]
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Stops for this reason.
    #[must_use]
    pub fn stopping(mut self, reason: StopReason) -> Self {
        self.end = ScriptEnd::Stop(reason);
        self
    }

    /// Breaks off at the end of its steps, and is not tried again.
    #[must_use]
    pub fn breaking(mut self) -> Self {
        self.end = ScriptEnd::Breaks(error("stream_broken", "the test breaks the stream"));
        self
    }

    fn attempt(&self) -> u32 {
        let failed = self
            .steps
            .iter()
            .filter(|step| matches!(step, ScriptStep::Before(_)))
            .count();
        u32::try_from(failed).unwrap_or(u32::MAX).saturating_add(1)
    }

    fn has_calls(&self) -> bool {
        let is_call = |event: &EnvironmentEvent| matches!(event, EnvironmentEvent::ToolCall(_));
        self.steps
            .iter()
            .any(|step| matches!(step, ScriptStep::Say(events) if events.iter().any(is_call)))
    }
}

fn error(code: &str, message: &str) -> ErrorOccurred {
    ErrorOccurred {
        code: code.into(),
        message: message.into(),
        recoverable: true,
    }
}

/// A model with a list of answers, one for each call. After the last it fails with `script_exhausted`. Clones
/// refer to the same model.
#[derive(Clone, Debug)]
pub struct ScriptedModel {
    shared: Arc<Mutex<ModelShared>>,
}

#[derive(Debug, Default)]
struct ModelShared {
    answers: VecDeque<ModelScript>,
    requests: Vec<Arc<ModelRequest>>,
}

impl ScriptedModel {
    /// Creates a model with these answers.
    pub fn new(answers: impl IntoIterator<Item = ModelScript>) -> Self {
        let shared = ModelShared {
            answers: answers.into_iter().collect(),
            requests: Vec::new(),
        };
        Self {
            shared: Arc::new(Mutex::new(shared)),
        }
    }

    /// Adds an answer after the others.
    pub fn push(&self, answer: ModelScript) {
        self.lock().answers.push_back(answer);
    }

    /// Returns its requests until now, in order.
    pub fn requests(&self) -> Vec<Arc<ModelRequest>> {
        self.lock().requests.clone()
    }

    /// Returns the number of answers left.
    pub fn answers_left(&self) -> usize {
        self.lock().answers.len()
    }

    fn lock(&self) -> MutexGuard<'_, ModelShared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, request: &Arc<ModelRequest>) -> ModelScript {
        let mut shared = self.lock();
        shared.requests.push(request.clone());
        let exhausted = || ModelScript::error("script_exhausted", "the test has no more answers");
        shared.answers.pop_front().unwrap_or_else(exhausted)
    }
}

impl Effector for ScriptedModel {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let ActionBody::CallModel(call) = &action.body else {
            return Box::pin(std::future::ready(()));
        };
        let answer = self.take(&call.request);
        let model = call.request.model.id.clone();
        Box::pin(async move {
            let interrupted = StreamEnd {
                stop_reason: StopReason::Interrupted,
                raw: None,
            };
            tokio::select! {
                biased;
                () = cancel.cancelled() => { events.emit(interrupted).await; }
                () = play(&action, model, answer, &events) => {}
            }
        })
    }
}

async fn play(action: &Action, model: String, answer: ModelScript, events: &EventSink) {
    for step in &answer.steps {
        if let ScriptStep::Before(event) = step {
            events.emit(event.clone()).await;
        }
    }
    if let ScriptEnd::Fails(error) = answer.end {
        events.emit(error).await;
        return;
    }
    let message_id = MessageId::with_suffix(&action.action_id);
    events
        .emit(StreamStart {
            message_id,
            model,
            attempt: answer.attempt(),
        })
        .await;
    for step in &answer.steps {
        match step {
            ScriptStep::Say(said) => {
                events.emit_all(said.clone()).await;
            }
            ScriptStep::Stall(gate) => gate.pass().await,
            ScriptStep::Before(_) => {}
        }
    }
    end(answer, events).await;
}

async fn end(answer: ModelScript, events: &EventSink) {
    let natural = if answer.has_calls() {
        StopReason::ToolUse
    } else {
        StopReason::EndTurn
    };
    let usage = answer.usage.unwrap_or(Usage {
        input_tokens: 10,
        output_tokens: 5,
        ..Usage::default()
    });
    let mut last: Vec<EnvironmentEvent> = vec![UsageReport { usage }.into()];
    let stop = |stop_reason| {
        EnvironmentEvent::from(StreamEnd {
            stop_reason,
            raw: None,
        })
    };
    match answer.end {
        ScriptEnd::Natural => last.push(stop(natural)),
        ScriptEnd::Stop(reason) => last.push(stop(reason)),
        ScriptEnd::Fails(error) => last.push(error.into()),
        ScriptEnd::Breaks(error) => {
            let failed = AttemptFailed {
                attempt: 1,
                code: error.code.clone(),
                message: error.message.clone(),
                status: None,
                retry_in_ms: None,
                gives_up_in_ms: None,
                overflow: None,
                refused: None,
                longest_answer: None,
                most_media: None,
                no_thinking: false,
                refused_place: None,
            };
            last.extend([stop(StopReason::Broken), failed.into(), error.into()]);
        }
    }
    events.emit_all(last).await;
}
