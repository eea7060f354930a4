//! Model calls of scripts: the responder for the model answers each of them, and its events go to the script.

use std::sync::Arc;

use agentx_luau_tools::{EffectError, Outcome};
use agentx_runtime::{CapturedEffect, StepMetadata, estimate_request};
use agentx_types::{
    AssembledAnswer, Assembler, EffectBill, EnvironmentEvent, ModelRequest, Role, StopReason, Usage,
};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::answer_delivery::ModelUpdate;
use super::file_tool_call::FileToolCall;
use super::json::{compiled, instructions, read_answer};
use super::prompt::{request, say};
use super::request_text::text;
use crate::record::PerformedEffect;

/// Asks a model until it has answered, or `stop` fires: then the answer ends here, with its cost until then.
/// The cost is added to `paid` when the model reports it, whatever the outcome.
///
/// The future must be polled to its end, for the sake of the bill: it is owned by the record of the run.
pub(crate) async fn ask(
    call: &FileToolCall,
    request: Arc<ModelRequest>,
    stop: &CancellationToken,
    hears: Option<&mpsc::Sender<ModelUpdate>>,
    paid: &mut Usage,
) -> Result<String, EffectError> {
    let journal = &call.context.journal;
    let model = request.model.id.clone();
    let action = journal.model_call(request);
    let cancel = stop.child_token();
    let _stops_with_us = cancel.clone().drop_guard();
    let session = journal.session().cloned();
    let mut asked = CapturedEffect::of(&*call.shared.parts.models, action, session, cancel);
    let hears = hears.map(|hears| (hears, stop));
    let mut assembler = Assembler::default();
    assembler.set_model(&model);
    // Attempts that broke off are paid for, too.
    let mut before = *paid;
    while let Some(event) = asked.next().await {
        match event {
            EnvironmentEvent::ErrorOccurred(error) => {
                return Err(EffectError::new(
                    error.code,
                    format!("{model}: {}", error.message),
                ));
            }
            EnvironmentEvent::StreamEnd(end) if end.stop_reason == StopReason::Broken => {
                assembler.finish_partial();
                before = *paid;
            }
            EnvironmentEvent::StreamEnd(end) => {
                return answered(assembler.finish(), end.stop_reason, &model);
            }
            event => {
                match &event {
                    EnvironmentEvent::StreamStart(_) => tell(hears, || ModelUpdate::Begins).await,
                    EnvironmentEvent::TextChunk(chunk) => {
                        tell(hears, || ModelUpdate::Says(chunk.text.clone())).await
                    }
                    _ => {}
                }
                assembler.feed(&event);
                *paid = before;
                *paid += assembler.usage();
            }
        }
    }
    Err(EffectError::new(
        "failed",
        format!("{model} ended without an answer"),
    ))
}

async fn tell(
    hears: Option<(&mpsc::Sender<ModelUpdate>, &CancellationToken)>,
    heard: impl FnOnce() -> ModelUpdate,
) {
    let Some((hears, stop)) = hears else { return };
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        // A reader that has gone gets no more; the answer continues, for its record.
        _ = hears.send(heard()) => {}
    }
}

fn answered(answer: AssembledAnswer, reason: StopReason, model: &str) -> Result<String, EffectError> {
    match reason {
        StopReason::Interrupted => Err(EffectError::new("interrupted", format!("{model} was stopped"))),
        StopReason::Refusal => Err(EffectError::new("refused", format!("{model} refuses to answer"))),
        _ => Ok(answer.message.map(|message| message.text()).unwrap_or_default()),
    }
}

/// Returns what a call has cost before it begins: nothing, or an estimate of what its model read if a crash
/// cut it off and it is repeated (`again`). Vendors bill what they read although nobody got the answer; how
/// much of that was written is not known.
pub(crate) fn lost(request: &ModelRequest, again: bool) -> Usage {
    let read = if again { estimate_request(request) } else { 0 };
    Usage {
        input_tokens: read,
        estimated_tokens: read,
        ..Usage::default()
    }
}

/// Returns the bill: for a failed answer, if anything was paid.
pub(crate) fn bill<T>(request: &ModelRequest, answer: &Result<T, EffectError>, usage: Usage) -> StepMetadata {
    let is_paid = answer.is_ok() || usage != Usage::default();
    let bill = is_paid.then(|| EffectBill::of(&request.model, usage));
    bill.map(StepMetadata::from).unwrap_or_default()
}

/// `generate`: the text. `again` means that a crash cut it off and it is repeated.
pub(crate) async fn generate(call: Arc<FileToolCall>, asked: Value, again: bool) -> PerformedEffect {
    let request = match request(&call, &asked) {
        Ok(request) => Arc::new(request),
        Err(error) => return Err(error).into(),
    };
    let mut paid = lost(&request, again);
    let said = ask(&call, request.clone(), &call.stop, None, &mut paid).await;
    PerformedEffect {
        extras: bill(&request, &said, paid),
        outcome: said.map(Value::String),
    }
}

/// `generate_json`: a value that fits the schema. An answer that does not fit is shown to the model once,
/// with the errors. `again` means that a crash cut it off and it is repeated.
pub(crate) async fn generate_json(call: Arc<FileToolCall>, asked: Value, again: bool) -> PerformedEffect {
    let schema = asked.get("schema").filter(|schema| !schema.is_null());
    // Compile first: with an unusable schema, paying for an answer would be useless.
    let compiled = match schema.map(compiled).transpose() {
        Ok(compiled) => compiled,
        Err(error) => return Err(error).into(),
    };
    let mut request = match request(&call, &asked) {
        Ok(request) => request,
        Err(error) => return Err(error).into(),
    };
    request.system.push(instructions(schema).into());
    let mut paid = lost(&request, again);
    let mut outcome: Outcome = Err(EffectError::new("failed", text(&asked, "model")));
    for _ in 0..2 {
        let said = match ask(&call, Arc::new(request.clone()), &call.stop, None, &mut paid).await {
            Ok(said) => said,
            Err(error) => {
                outcome = Err(error);
                break;
            }
        };
        outcome = read_answer(&said, compiled.as_ref());
        let Err(problem) = &outcome else { break };
        say(Role::Assistant, &said, &mut request.messages);
        let correction = format!(
            "This cannot be used: {}. Answer with the corrected JSON alone.",
            problem.message
        );
        say(Role::User, &correction, &mut request.messages);
    }
    PerformedEffect {
        extras: bill(&request, &outcome, paid),
        outcome,
    }
}
