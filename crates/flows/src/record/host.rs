//! The host that records: between a run and the world.

use agentx_luau_tools::{BoxFuture, EffectError, EffectKind, Host, HostEffect, Outcome};
use agentx_runtime::{Journal, StepMetadata};
use agentx_types::{EffectOutcome, RecordedEffect};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

use super::divergence::Divergence;
use super::long_sleep::{announced, left, same};
use super::performer::{EffectPerformer, PerformedEffect};
use super::record_mode::{RecordMode, may_cost};
use super::refusal::refusal;
use super::writer::{RecordFinish, Recorder};
use crate::secrets::Secrets;

/// Records the effects of a run, and returns recorded outcomes when it is repeated. Clones share the host.
pub struct RecordingHost<W> {
    shared: Arc<RecorderShared<W>>,
}

impl<W> Clone for RecordingHost<W> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
        }
    }
}

struct RecorderShared<W> {
    journal: Journal,
    recorder: Recorder,
    world: W,
    stop: CancellationToken,
    seen: Mutex<SeenEffects>,
}

#[derive(Default)]
struct SeenEffects {
    /// The last step that the run began.
    step: u64,
    diverged: Option<Divergence>,
}

/// The recorded part of a step.
enum Replayed {
    Nothing,
    Began(Value),
    Ended(Outcome),
    Diverged,
}

impl<W: EffectPerformer> RecordingHost<W> {
    /// Creates a host over `world` for the script with this hash. `stop` fires when the run must not
    /// continue. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// Returns an error if a different script is recorded.
    pub fn open(
        journal: Journal,
        secrets: Secrets,
        hash: &str,
        stop: CancellationToken,
        world: impl FnOnce(&RecorderHandle) -> W,
    ) -> Result<(Self, RecordFinish), Box<Divergence>> {
        let input = json!({"hash": hash});
        let prior = journal.recorded(0);
        if let Some(prior) = prior.filter(|prior| prior.kind != SCRIPT || prior.input != input) {
            return Err(Box::new(Divergence {
                step: 0,
                recorded: (prior.kind.clone(), prior.input.clone()),
                asked: Some((SCRIPT.to_owned(), input)),
            }));
        }
        let is_new = prior.is_none();
        let (recorder, finish) = Recorder::new(journal.clone(), secrets, stop.clone());
        if is_new {
            let _written = recorder.ends(0, SCRIPT, Some(input), &Ok(Value::Null), StepMetadata::default());
        }
        let handle = RecorderHandle(recorder);
        let world = world(&handle);
        let shared = RecorderShared {
            journal,
            recorder: handle.0,
            world,
            stop,
            seen: Mutex::default(),
        };
        Ok((
            Self {
                shared: Arc::new(shared),
            },
            finish,
        ))
    }

    /// Returns the performer of effects.
    pub fn world(&self) -> &W {
        &self.shared.world
    }

    /// Returns the divergence that stopped the run, if any.
    pub fn diverged(&self) -> Option<Divergence> {
        self.shared.lock().diverged.clone()
    }

    /// Checks at the end of a run that all recorded steps were repeated.
    ///
    /// # Errors
    /// Returns an error if there are more recorded steps.
    pub fn check_end(&self) -> Result<(), Box<Divergence>> {
        if let Some(divergence) = self.diverged() {
            return Err(Box::new(divergence));
        }
        let step = self.shared.lock().step;
        let next = self.shared.journal.all().steps.range(step + 1..).next();
        match next {
            Some((step, effect)) => Err(Box::new(Divergence {
                step: *step,
                recorded: (effect.kind.clone(), effect.input.clone()),
                asked: None,
            })),
            None => Ok(()),
        }
    }
}

/// The kind of step 0.
const SCRIPT: &str = "script";

/// Lets an effect performer record facts that follow an effect's outcome.
#[derive(Clone)]
pub struct RecorderHandle(pub(crate) Recorder);

impl<W: EffectPerformer> Host for RecordingHost<W> {
    fn perform(&self, effect: HostEffect) -> BoxFuture<'static, Outcome> {
        let shared = self.shared.clone();
        let asked = shared.recorder.secrets.hide_all(&effect.request);
        let manner = RecordMode::of(&effect, |tool| shared.world.repeatable(tool));
        match shared.prior(&effect, &asked) {
            Replayed::Diverged => Box::pin(std::future::pending()),
            Replayed::Ended(outcome) => Box::pin(std::future::ready(outcome)),
            Replayed::Began(recorded) => shared.perform_again(effect, manner, &recorded),
            Replayed::Nothing => shared.anew(effect, manner, asked),
        }
    }

    fn observe(&self, effect: HostEffect, seen: BoxFuture<'static, Value>) -> BoxFuture<'static, Outcome> {
        let shared = self.shared.clone();
        match shared.prior(&effect, &effect.request) {
            Replayed::Diverged => Box::pin(std::future::pending()),
            Replayed::Ended(outcome) => Box::pin(std::future::ready(outcome)),
            Replayed::Began(_) | Replayed::Nothing => Box::pin(async move {
                let outcome = Ok(seen.await);
                let input = Some(effect.request);
                let ends = shared.recorder.ends(
                    effect.step,
                    effect.kind.as_str(),
                    input,
                    &outcome,
                    StepMetadata::default(),
                );
                shared.after_write(ends.await, outcome).await
            }),
        }
    }

    fn waited(&self) -> Duration {
        self.shared.journal.pauses().waited()
    }

    fn resumed(&self) -> BoxFuture<'static, ()> {
        let pauses = self.shared.journal.pauses().clone();
        Box::pin(async move { pauses.finished().await })
    }
}

impl<W: EffectPerformer> RecorderShared<W> {
    fn lock(&self) -> std::sync::MutexGuard<'_, SeenEffects> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the recorded part of the step that is requested now.
    fn prior(&self, effect: &HostEffect, asked: &Value) -> Replayed {
        let mut seen = self.lock();
        seen.step = seen.step.max(effect.step);
        if seen.diverged.is_some() {
            return Replayed::Diverged;
        }
        let Some(recorded) = self.journal.recorded(effect.step) else {
            return Replayed::Nothing;
        };
        if recorded.kind != effect.kind.as_str() || !same(effect.kind, &recorded.input, asked) {
            seen.diverged = Some(Divergence {
                step: effect.step,
                recorded: (recorded.kind.clone(), recorded.input.clone()),
                asked: Some((effect.kind.as_str().to_owned(), asked.clone())),
            });
            self.stop.cancel();
            return Replayed::Diverged;
        }
        drop(seen);
        self.ended(effect, recorded)
    }

    fn ended(&self, effect: &HostEffect, recorded: &RecordedEffect) -> Replayed {
        if recorded.outcome.is_some() {
            self.world.remember(effect, recorded.outcome.as_ref());
        }
        if effect.kind == EffectKind::GenerateStream && recorded.outcome.is_some() {
            let refused = refusal(recorded.outcome.as_ref());
            return Replayed::Ended(refused.map_or_else(|| Ok(stream_of(effect)), Err));
        }
        match &recorded.outcome {
            None => Replayed::Began(recorded.input.clone()),
            // Values of the environment are never recorded.
            Some(EffectOutcome::Done(_)) if effect.kind == EffectKind::Env => {
                Replayed::Ended(self.world.at_once(effect))
            }
            Some(EffectOutcome::Done(value)) => Replayed::Ended(Ok(self.recorder.secrets.show_all(value))),
            Some(EffectOutcome::Failed(failure)) => Replayed::Ended(Err(EffectError::new(
                failure.code.clone(),
                self.recorder.secrets.show(&failure.message),
            ))),
        }
    }

    /// Performs a step that is not recorded.
    fn anew(
        self: Arc<Self>,
        effect: HostEffect,
        manner: RecordMode,
        asked: Value,
    ) -> BoxFuture<'static, Outcome> {
        let (step, kind) = (effect.step, effect.kind.as_str());
        match manner {
            RecordMode::AtOnce => {
                let outcome = self.world.at_once(&effect);
                let recorded = match (&outcome, effect.kind) {
                    (Ok(_), EffectKind::Env) => Ok(Value::Null),
                    _ => outcome.clone(),
                };
                let ends = self
                    .recorder
                    .ends(step, kind, Some(asked), &recorded, StepMetadata::default());
                Box::pin(async move { self.after_write(ends.await, outcome).await })
            }
            RecordMode::Noted => {
                let performed = self.world.perform(effect, false);
                Box::pin(self.to_its_end(step, kind, Some(asked), performed))
            }
            RecordMode::Announced | RecordMode::Once | RecordMode::Stream => {
                let Some(permit) = self.world.permit(&effect) else {
                    return self.announce(effect, manner, asked);
                };
                Box::pin(async move {
                    match permit.await {
                        Ok(()) => self.announce(effect, manner, asked).await,
                        Err(error) => self.end_refused(step, kind, Some(asked), error).await,
                    }
                })
            }
        }
    }

    /// Records that a step begins, and performs it.
    fn announce(
        self: Arc<Self>,
        effect: HostEffect,
        manner: RecordMode,
        asked: Value,
    ) -> BoxFuture<'static, Outcome> {
        let (step, kind) = (effect.step, effect.kind.as_str());
        let input = announced(&effect, asked);
        let begins = self.recorder.begins(step, kind, input);
        let performed = self.world.perform(effect, false);
        Box::pin(async move {
            // Its agent may have ended the call because of this very step.
            if !begins.await || self.stop.is_cancelled() {
                return self.stop_for_lost_session().await;
            }
            if manner == RecordMode::Stream {
                return performed.await.outcome;
            }
            self.to_its_end(step, kind, None, performed).await
        })
    }

    /// Ends a step that was not permitted without beginning it.
    async fn end_refused(
        &self,
        step: u64,
        kind: &'static str,
        asked: Option<Value>,
        error: EffectError,
    ) -> Outcome {
        let outcome = Err(error);
        let extras = Default::default();
        let ends = self.recorder.ends(step, kind, asked, &outcome, extras);
        self.after_write(ends.await, outcome).await
    }

    /// Performs a step that a crash cut off, if that is harmless.
    fn perform_again(
        self: Arc<Self>,
        effect: HostEffect,
        manner: RecordMode,
        recorded: &Value,
    ) -> BoxFuture<'static, Outcome> {
        let (step, kind) = (effect.step, effect.kind.as_str());
        if manner == RecordMode::Once {
            let outcome = Err(EffectError::new(
                "unknown_outcome",
                format!(
                    "{kind}: the program stopped while this was under way; it may or may not have had its effect, and is not \
                     done twice"
                ),
            ));
            let ends = self.recorder.ends(step, kind, None, &outcome, Default::default());
            return Box::pin(async move { self.after_write(ends.await, outcome).await });
        }
        let effect = left(effect, recorded);
        if let Some(permit) = self.world.permit(&effect) {
            return Box::pin(async move {
                if let Err(error) = permit.await {
                    return self.end_refused(step, kind, None, error).await;
                }
                let performed = self.world.perform(effect, true);
                self.to_its_end(step, kind, None, performed).await
            });
        }
        let performed = self.world.perform(effect, true);
        if manner == RecordMode::Stream {
            return Box::pin(async move { performed.await.outcome });
        }
        Box::pin(self.to_its_end(step, kind, None, performed))
    }

    async fn to_its_end(
        self: Arc<Self>,
        step: u64,
        kind: &'static str,
        input: Option<Value>,
        performed: BoxFuture<'static, PerformedEffect>,
    ) -> Outcome {
        let recorder = self.recorder.clone();
        let ended = async move {
            let PerformedEffect { outcome, extras } = performed.await;
            let written = recorder.ends(step, kind, input, &outcome, extras).await;
            (outcome, written)
        };
        if !may_cost(kind) {
            let (outcome, written) = ended.await;
            return self.after_write(written, outcome).await;
        }
        // The run may give it up; then it ends without the run, and is on the bill all the same.
        let ended = self.recorder.owned.run(ended);
        tokio::select! {
            biased;
            () = self.stop.cancelled() => std::future::pending().await,
            ended = ended => match ended {
                Some((outcome, written)) => self.after_write(written, outcome).await,
                None => Err(EffectError::new("failed", format!("{kind}: it was lost before its end"))),
            },
        }
    }

    async fn after_write(&self, written: bool, outcome: Outcome) -> Outcome {
        if written {
            outcome
        } else {
            self.stop_for_lost_session().await
        }
    }

    /// Stops the run, because the session is gone.
    async fn stop_for_lost_session(&self) -> Outcome {
        self.stop.cancel();
        std::future::pending().await
    }
}

/// Returns the value that a script gets for a stream; it is identified by its step.
pub(crate) fn stream_of(effect: &HostEffect) -> Value {
    json!({"stream": effect.step})
}
