//! The streamed answers of one call that its script has open.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use agentx_luau_tools::{EffectError, HostEffect};
use agentx_types::EffectOutcome;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::answer_delivery::{ModelUpdate, StreamDelta};
use super::request_text::text;
use crate::secrets::Secrets;

/// The streams of one call, by the steps that opened them.
#[derive(Default)]
pub(crate) struct CallStreams {
    open: Mutex<BTreeMap<u64, Arc<AnswerStream>>>,
}

/// A streamed answer.
pub(crate) struct AnswerStream {
    pub(super) step: u64,
    pub(super) asked: Value,
    /// Whether a crash cut the answer off, and the model is asked again.
    pub(super) again: bool,
    pub(super) cancel: CancellationToken,
    pub(super) told: tokio::sync::Mutex<ToldPieces>,
    /// Set from the request to the first read.
    pub(super) source: Mutex<Option<mpsc::Receiver<ModelUpdate>>>,
}

/// The pieces of an answer that a script got.
pub(super) struct ToldPieces {
    pub(super) delta: StreamDelta,
    pub(super) source: Option<mpsc::Receiver<ModelUpdate>>,
    /// The rest of a recorded answer.
    pub(super) rest: Option<String>,
    pub(super) problem: Option<EffectError>,
    pub(super) ended: bool,
}

impl CallStreams {
    /// Opens a stream that has not been read yet; `again` means that a crash cut it off.
    pub(crate) fn open(
        &self,
        effect: &HostEffect,
        stop: &CancellationToken,
        again: bool,
    ) -> Arc<AnswerStream> {
        self.add(effect, stop, None, again)
    }

    fn add(
        &self,
        effect: &HostEffect,
        stop: &CancellationToken,
        known: Option<Result<String, EffectError>>,
        again: bool,
    ) -> Arc<AnswerStream> {
        let (rest, problem) = match known {
            Some(Ok(whole)) => (Some(whole), None),
            Some(Err(problem)) => (Some(String::new()), Some(problem)),
            None => (None, None),
        };
        let stream = Arc::new(AnswerStream {
            step: effect.step,
            asked: effect.request.clone(),
            again,
            cancel: stop.child_token(),
            told: tokio::sync::Mutex::new(ToldPieces {
                delta: StreamDelta::default(),
                source: None,
                rest,
                problem,
                ended: false,
            }),
            source: Mutex::new(None),
        });
        self.lock().insert(effect.step, stream.clone());
        stream
    }

    /// Opens a stream whose answer is recorded.
    pub(crate) fn remember_open(
        &self,
        effect: &HostEffect,
        outcome: Option<&EffectOutcome>,
        stop: &CancellationToken,
        secrets: &Secrets,
    ) {
        let known = outcome.map(|outcome| match outcome {
            EffectOutcome::Done(value) => Ok(secrets.show(text(value, "text"))),
            EffectOutcome::Failed(failure) => {
                Err(EffectError::new(failure.code.clone(), failure.message.clone()))
            }
        });
        self.add(effect, stop, known, false);
    }

    /// Records the pieces of a stream that the script got.
    pub(crate) fn remember_received(&self, request: &Value, outcome: Option<&EffectOutcome>) {
        let (Some(stream), Some(EffectOutcome::Done(value))) = (self.find(request), outcome) else {
            return;
        };
        // No task reads while steps are replayed, so the lock is free.
        let Ok(mut told) = stream.told.try_lock() else {
            return;
        };
        if value.is_null() {
            told.ended = true;
        }
        let said = if value.get("restarted").is_some() {
            String::new()
        } else {
            told.delta.full_text().to_owned()
        };
        told.delta = StreamDelta::of(said + text(value, "chunk"));
    }

    pub(super) fn find(&self, request: &Value) -> Option<Arc<AnswerStream>> {
        let step = request.get("stream").and_then(Value::as_u64)?;
        self.lock().get(&step).cloned()
    }

    pub(super) fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Arc<AnswerStream>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets all streams: the script has ended, and so have they.
    pub(crate) fn forget_all(&self) {
        self.lock().clear();
    }
}
