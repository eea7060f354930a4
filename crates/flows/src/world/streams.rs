//! Answers of models that a script reads while they arrive. The complete answer is recorded when the model
//! has finished, however much of it the script has read: the model is not called again after a crash.

use std::sync::{Arc, PoisonError};

use agentx_luau_tools::{EffectError, EffectKind, Outcome};
use agentx_runtime::StepMetadata;
use agentx_types::Usage;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::answer_delivery::{ModelUpdate, ScriptPiece};
use super::call_streams::{AnswerStream, ToldPieces};
use super::file_tool_call::FileToolCall;
use super::model_calls::{ask, bill, lost};
use super::prompt::request;
use crate::record::REFUSED;

/// The number of pieces that an answer may be ahead of the script.
const AHEAD: usize = 256;
/// Maximum number of bytes of waiting pieces to pass on together.
const TOGETHER: usize = 4 << 10;

/// Asks the model, and returns `{stream}` to read from. A request that no model accepts is refused at once,
/// and the refusal is the recorded outcome of the step.
pub(crate) async fn begin(call: Arc<FileToolCall>, stream: Arc<AnswerStream>) -> Outcome {
    let Err(problem) = request(&call, &stream.asked) else {
        stream.begin(&call);
        return Ok(json!({"stream": stream.step}));
    };
    call.streams.lock().remove(&stream.step);
    let recorded = Ok(json!({REFUSED: problem.to_value()}));
    let kind = EffectKind::GenerateStream.as_str();
    let ends = call
        .recorder
        .0
        .ends(stream.step, kind, None, &recorded, StepMetadata::default());
    if ends.await {
        Err(problem)
    } else {
        // The session is gone: do nothing any more.
        std::future::pending().await
    }
}

impl AnswerStream {
    /// Asks the model.
    fn begin(self: &Arc<Self>, call: &Arc<FileToolCall>) {
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        if source.is_none() {
            let (pieces, said) = mpsc::channel(AHEAD);
            *source = Some(said);
            // It ends with the stream, and only the end of the call waits for it.
            call.recorder
                .0
                .owned
                .spawn(run(self.clone(), call.clone(), pieces));
        }
    }

    /// The error of an answer that was stopped because nobody reads it any more.
    fn closed(&self) -> Option<EffectError> {
        let problem = || EffectError::new("closed", "the stream was closed before its end");
        self.cancel.is_cancelled().then(problem)
    }

    fn taken(&self) -> Option<mpsc::Receiver<ModelUpdate>> {
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        source.take()
    }
}

/// Asks the model, and records its complete answer.
async fn run(stream: Arc<AnswerStream>, call: Arc<FileToolCall>, pieces: mpsc::Sender<ModelUpdate>) {
    let asked = request(&call, &stream.asked).map(Arc::new);
    let mut paid = asked
        .as_ref()
        .map_or_else(|_| Usage::default(), |request| lost(request, stream.again));
    let said = match &asked {
        Err(problem) => Err(problem.clone()),
        Ok(request) => ask(&call, request.clone(), &stream.cancel, Some(&pieces), &mut paid)
            .await
            .map_err(|problem| stream.closed().unwrap_or(problem)),
    };
    let paid = asked
        .map(|request| bill(&request, &said, paid))
        .unwrap_or_default();
    let recorded: Outcome = said.map(|text| json!({"text": text}));
    let ended = recorded.clone().map(|_| ());
    let recorder = &call.recorder.0;
    recorder
        .ends(
            stream.step,
            EffectKind::GenerateStream.as_str(),
            None,
            &recorded,
            paid,
        )
        .await;
    tokio::select! {
        biased;
        () = stream.cancel.cancelled() => {}
        _ = pieces.send(ModelUpdate::Ends(ended)) => {}
    }
}

/// Returns the next piece of an answer, or null at its end.
pub(crate) async fn receive(call: &Arc<FileToolCall>, asked: &Value) -> Outcome {
    let stream = call
        .streams
        .find(asked)
        .ok_or_else(|| EffectError::new("not_found", "there is no such stream; it may have been closed"))?;
    let mut told = stream.told.lock().await;
    if told.ended {
        return Ok(Value::Null);
    }
    if let Some(whole) = told.rest.take() {
        return from_record(&mut told, &whole);
    }
    if told.source.is_none() {
        stream.begin(call);
        told.source = stream.taken();
        if !told.delta.full_text().is_empty() {
            told.delta.begin();
        }
    }
    told.live().await
}

/// Returns the rest of a recorded answer.
fn from_record(told: &mut ToldPieces, whole: &str) -> Outcome {
    if let Some(problem) = told.problem.take() {
        told.ended = true;
        return Err(problem);
    }
    told.delta.begin();
    let piece = told.delta.add(whole).or_else(|| told.delta.end());
    // The next read returns its end.
    told.rest = None;
    told.ended = true;
    match piece {
        Some(piece) => Ok(piece.to_value()),
        None => Ok(Value::Null),
    }
}

impl ToldPieces {
    async fn live(&mut self) -> Outcome {
        let Some(source) = &mut self.source else {
            return Ok(Value::Null);
        };
        let mut together: Option<ScriptPiece> = None;
        loop {
            let said = match &together {
                None => source.recv().await,
                Some(piece) if piece.text.len() < TOGETHER => source.try_recv().ok(),
                Some(_) => None,
            };
            let piece = match said {
                Some(ModelUpdate::Begins) => {
                    self.delta.begin();
                    continue;
                }
                Some(ModelUpdate::Says(text)) => self.delta.add(&text),
                Some(ModelUpdate::Ends(Err(problem))) => {
                    self.ended = true;
                    match together {
                        // The script gets the text first; the next read returns the error.
                        Some(piece) => {
                            self.ended = false;
                            self.rest = Some(String::new());
                            self.problem = Some(problem);
                            return Ok(piece.to_value());
                        }
                        None => return Err(problem),
                    }
                }
                Some(ModelUpdate::Ends(Ok(()))) => {
                    self.ended = true;
                    self.delta.end()
                }
                None if together.is_none() => {
                    self.ended = true;
                    None
                }
                None => break,
            };
            together = join(together, piece);
            if self.ended {
                break;
            }
        }
        Ok(together.map_or(Value::Null, |piece| piece.to_value()))
    }
}

/// Two pieces as one.
fn join(before: Option<ScriptPiece>, next: Option<ScriptPiece>) -> Option<ScriptPiece> {
    match (before, next) {
        (Some(_), Some(next)) if next.restarted => Some(next),
        (Some(before), Some(next)) => Some(ScriptPiece {
            text: before.text + &next.text,
            restarted: before.restarted,
        }),
        (before, next) => next.or(before),
    }
}

/// Closes a stream, which is not read any further.
pub(crate) fn close(call: &FileToolCall, asked: &Value) -> Outcome {
    let step = asked.get("stream").and_then(Value::as_u64).unwrap_or_default();
    if let Some(stream) = call.streams.lock().remove(&step) {
        stream.cancel.cancel();
    }
    Ok(Value::Null)
}
