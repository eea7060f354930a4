//! Writes the record of one run, in the order in which steps take their places in it.

use agentx_luau_tools::Outcome;
use agentx_runtime::{Journal, StartingStep, StepMetadata};
use agentx_types::{EffectFailure, EffectOutcome};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::owned_effects::{EffectsStop, OwnedEffects};
use crate::secrets::Secrets;

enum RecordLine {
    Begins {
        step: u64,
        kind: &'static str,
        input: Value,
        done: oneshot::Sender<StartingStep>,
    },
    Ends(Box<RecordEnd>),
    /// The run is over; later records are not written.
    Over,
}

struct RecordEnd {
    step: u64,
    kind: &'static str,
    input: Option<Value>,
    outcome: EffectOutcome,
    extras: StepMetadata,
    done: oneshot::Sender<()>,
}

/// Receives lines, and writes those without secrets to the journal. The length of the queue is bounded by the
/// limit of a run's concurrent effects.
#[derive(Clone)]
pub(crate) struct Recorder {
    lines: mpsc::UnboundedSender<RecordLine>,
    pub(crate) secrets: Secrets,
    /// The effects that are recorded even if the run gives them up.
    pub(crate) owned: OwnedEffects,
}

/// The end of a record. Dropping it stops the run's effects.
pub struct RecordFinish {
    effects: EffectsStop,
    lines: mpsc::UnboundedSender<RecordLine>,
    writer: JoinHandle<()>,
}

impl RecordFinish {
    /// Stops the effects in progress, and waits until they and all lines that were queued before are
    /// recorded. Later lines are not.
    pub async fn flush(self) {
        self.effects.settle().await;
        let _ = self.lines.send(RecordLine::Over);
        // It only fails while the runtime shuts down.
        let _ = self.writer.await;
    }
}

impl Recorder {
    /// Returns a recorder into `journal`, and its end, which fires `stop` for the effects in progress. Must
    /// be called inside a tokio runtime.
    pub(crate) fn new(journal: Journal, secrets: Secrets, stop: CancellationToken) -> (Self, RecordFinish) {
        let (lines, queue) = mpsc::unbounded_channel();
        let writer = tokio::spawn(write(journal, queue));
        let owned = OwnedEffects::default();
        let finish = RecordFinish {
            effects: EffectsStop::new(owned.clone(), stop),
            lines: lines.clone(),
            writer,
        };
        let recorder = Self {
            lines,
            secrets,
            owned,
        };
        (recorder, finish)
    }

    /// Begins a step: its position in the record is now fixed, and it may begin when the future resolves to
    /// true. `input` is written unchanged.
    pub(crate) fn begins(
        &self,
        step: u64,
        kind: &'static str,
        input: Value,
    ) -> impl Future<Output = bool> + Send + use<> {
        let (done, begun) = oneshot::channel();
        // If the session is gone, the line is dropped, and so the step never begins.
        let _ = self.lines.send(RecordLine::Begins {
            step,
            kind,
            input,
            done,
        });
        async move {
            match begun.await {
                Ok(begun) => begun.committed().await,
                Err(_) => false,
            }
        }
    }

    /// Ends a step: its position in the record is now fixed. The future resolves when the session has taken
    /// the line, so a slow disk slows the run. `input` is written unchanged.
    pub(crate) fn ends(
        &self,
        step: u64,
        kind: &'static str,
        input: Option<Value>,
        outcome: &Outcome,
        extras: StepMetadata,
    ) -> impl Future<Output = bool> + Send + use<> {
        let (done, written) = oneshot::channel();
        let end = RecordEnd {
            step,
            kind,
            input,
            outcome: self.recorded(outcome),
            extras,
            done,
        };
        let _ = self.lines.send(RecordLine::Ends(Box::new(end)));
        async move { written.await.is_ok() }
    }

    fn recorded(&self, outcome: &Outcome) -> EffectOutcome {
        match outcome {
            Ok(value) => EffectOutcome::Done(self.secrets.hide_all(value)),
            Err(error) => EffectOutcome::Failed(EffectFailure {
                code: error.code.clone(),
                message: self.secrets.hide(&error.message),
            }),
        }
    }
}

async fn write(journal: Journal, mut lines: mpsc::UnboundedReceiver<RecordLine>) {
    while let Some(line) = lines.recv().await {
        match line {
            RecordLine::Over => return,
            RecordLine::Begins {
                step,
                kind,
                input,
                done,
            } => {
                let Some(begun) = journal.begin_later(step, kind, input).await else {
                    return;
                };
                // The run may have ended in the meantime.
                let _ = done.send(begun);
            }
            RecordLine::Ends(end) => {
                if !journal
                    .end(end.step, end.kind, end.input, end.outcome, end.extras)
                    .await
                {
                    return;
                }
                let _ = end.done.send(());
            }
        }
    }
}
