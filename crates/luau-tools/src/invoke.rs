//! Runs an invocation from outside its lane: starts the run, performs its effects on the host, and watches
//! the time.
//!
//! An invocation runs as part of the caller's own task. So a host's futures live in the caller's runtime, and
//! dropping the invocation drops them and stops the script.
//!
//! ```text
//!  caller's task                          a lane's thread
//!  ─────────────                          ───────────────
//!  invoke(args) ── args, in a row ──────► a VM of the script's owner, globals of the run's own
//!    host.perform ◄── effect, step n ──── the script yields
//!    outcome n ─────────────────────────► the script goes on
//!    result ◄──────────────────────────── it ends
//! ```
//!
//! An invocation ends in one of three ways: the script ends, the caller cancels or drops it, or its time is
//! over. In the last two cases the script is stopped at its next safepoint, and reports its position within a
//! moment.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use serde_json::Value;
use tokio::sync::{SemaphorePermit, oneshot};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::error::{Reason, ScriptError};
use crate::host::{BoxFuture, EffectError, EffectKind, Host, HostEffect, Outcome};
use crate::json::flat_value::FlatValue;
use crate::lanes::lane_pool::RunHandle;
use crate::limits::{LimitExceeded, ScriptLimits};
use crate::run::run_channel::{CANCELLED, LaneMessage, RunReceiver, RunStart, TIMED_OUT, give_up, line};
use crate::script::Script;
use crate::waiting::spin_wait::SpinWaiter;

/// The time that a stopped script has to report its line.
const LAST_WORDS: Duration = Duration::from_millis(100);

impl Script {
    /// Runs the script with these arguments until it ends, on a thread of the crate's own.
    ///
    /// It needs a runtime of tokio with time. Dropping the future, or cancelling, stops the script.
    ///
    /// # Errors
    /// Returns an error if the script fails, exceeds a limit, or is cancelled.
    pub async fn invoke(
        &self,
        args: Value,
        host: Arc<dyn Host>,
        limits: ScriptLimits,
        cancel: CancellationToken,
    ) -> Result<Value, ScriptError> {
        let error = |reason| ScriptError::new(self.name(), reason);
        let flat = FlatValue::of(&args, limits.json_depth, limits.json)
            .map_err(|problem| error(Reason::Arguments(problem)))?;
        if limits.at_depth > limits.depth {
            return Err(error(Reason::Limit(LimitExceeded::Depth(limits.depth))));
        }
        let left = limits.wall.saturating_sub(limits.spent);
        let wall = LimitExceeded::Wall(limits.wall);
        // With no time left it is not begun: it could be faster than the clock.
        if !limits.spent.is_zero() && limits.spent >= limits.wall {
            return Err(error(Reason::Limit(wall)));
        }
        let (_room, left) = self.room(&cancel, left, &wall).await.map_err(error)?;
        let largest = (limits.json_depth, limits.json);
        let start = RunStart {
            id: next_run(),
            script: Arc::clone(&self.compiled),
            limits,
        };
        let (speaker, listener) = line(start);
        let Some(seat) = self.lanes.start(speaker, flat) else {
            return Err(error(Reason::Lost("the lane has ended".to_owned())));
        };
        // Work that can wait is done after the lane has the run.
        let end = Instant::now() + left;
        let people = Arc::clone(&host);
        let spot = seat.spot();
        let mut looks = SpinWaiter::at(&spot);
        looks.begin(seat.runs());
        drop(args);
        give_up();
        let mut invocation = Invocation {
            seat: Some(seat),
            listener,
            looks,
            host,
            largest,
            doing: None,
            arrivals: Arrivals::default(),
        };
        tokio::select! {
            biased;
            // This branch comes first: if the run ends at once, no other waker is registered.
            result = invocation.drive() => result.unwrap_or_else(|| Err(error(Reason::Lost("the lane has ended".to_owned())))),
            () = cancel.cancelled() => Err(invocation.stop(self.name(), CANCELLED, Reason::Cancelled).await),
            () = async { wait_for_timeout(end, &*people).await } => {
                Err(invocation.stop(self.name(), TIMED_OUT, Reason::Limit(wall)).await)
            }
        }
    }

    /// Waits for a place among the runs of the lanes. Returns it with the time that is then left.
    async fn room(
        &self,
        cancel: &CancellationToken,
        left: Duration,
        wall: &LimitExceeded,
    ) -> Result<(Option<SemaphorePermit<'_>>, Duration), Reason> {
        if cancel.is_cancelled() {
            return Err(Reason::Cancelled);
        }
        if let Ok(room) = self.lanes.room.try_acquire() {
            return Ok((Some(room), left));
        }
        let from = Instant::now();
        tokio::select! {
            // It is closed never.
            room = self.lanes.room.acquire() => Ok((room.ok(), left.saturating_sub(from.elapsed()))),
            () = cancel.cancelled() => Err(Reason::Cancelled),
            () = tokio::time::sleep(left) => Err(Reason::Limit(wall.clone())),
        }
    }
}

/// Ends when the time of a run is over that ends at `end`. Time in which it waits for a person does not
/// count.
async fn wait_for_timeout(end: Instant, host: &dyn Host) {
    let before = host.waited();
    let mut waited = Duration::ZERO;
    loop {
        tokio::time::sleep_until(end + waited).await;
        host.resumed().await;
        let all = host.waited().saturating_sub(before);
        if all <= waited {
            return;
        }
        waited = all;
    }
}

/// The id of a run, by which its lane knows it. It is unique in a process.
fn next_run() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A run as its caller holds it. Dropping it stops the script.
struct Invocation<'l> {
    // Dropped before `seat`: the run's channel is marked as stopped before its lane is notified.
    /// The lane's messages.
    listener: RunReceiver,
    /// `None` once the run has been requested to stop.
    seat: Option<RunHandle>,
    /// The strategy for waiting for the lane's messages.
    looks: SpinWaiter<'l>,
    /// The host that performs the effects.
    host: Arc<dyn Host>,
    /// The maximum nesting depth of an outcome, and its maximum size in bytes.
    largest: (usize, usize),
    /// Created by the first effect, because most runs have none.
    doing: Option<PendingEffects>,
    /// The finished effects, for scripts that wait for several.
    arrivals: Arrivals,
}

/// Effects in progress, each with its step.
type PendingEffects = FuturesUnordered<BoxFuture<'static, (u64, Outcome)>>;

/// The next effect that is done, if any is in progress.
async fn done(doing: &mut Option<PendingEffects>) -> Option<(u64, Outcome)> {
    doing.as_mut()?.next().await
}

impl Invocation<'_> {
    /// Until the run ends; `None` when the lane is gone.
    async fn drive(&mut self) -> Option<Result<Value, ScriptError>> {
        loop {
            tokio::select! {
                biased;
                said = self.listener.recv(&mut self.looks) => match said? {
                    LaneMessage::Began(effect) => self.begin(effect),
                    LaneMessage::Ended(result) => {
                        if let Some(seat) = self.seat.take() {
                            seat.ended();
                        }
                        return Some(result);
                    }
                },
                Some((step, outcome)) = done(&mut self.doing) => {
                    self.arrivals.arrived(step);
                    let outcome = self.fitting(outcome);
                    if let Some(seat) = &self.seat {
                        seat.outcome(step, outcome);
                        self.looks.begin(seat.runs());
                    }
                }
            }
        }
    }

    /// An outcome in the form for the lane.
    fn fitting(&self, outcome: Outcome) -> Result<FlatValue, EffectError> {
        let (depth, bytes) = self.largest;
        let flat = FlatValue::of(&outcome?, depth, bytes);
        flat.map_err(|problem| EffectError::new("invalid", format!("the outcome is too large: {problem}")))
    }

    /// Hands an effect to the host, in the order of the steps.
    fn begin(&mut self, effect: HostEffect) {
        let step = effect.step;
        let outcome = match effect.kind {
            EffectKind::Any => {
                let first = self.arrivals.first(&effect.request);
                self.host.observe(effect, first)
            }
            EffectKind::Ready => {
                let ready = self.arrivals.has(&effect.request);
                self.host
                    .observe(effect, Box::pin(async move { Value::Bool(ready) }))
            }
            _ => self.host.perform(effect),
        };
        let doing = self.doing.get_or_insert_with(FuturesUnordered::new);
        doing.push(Box::pin(async move { (step, outcome.await) }));
    }

    /// Stops the script and waits for its position.
    async fn stop(&mut self, name: &str, why: u8, reason: Reason) -> ScriptError {
        self.listener.stop(why);
        self.seat = None;
        let last = async {
            loop {
                match self.listener.recv(&mut self.looks).await {
                    Some(LaneMessage::Began(_)) => {}
                    Some(LaneMessage::Ended(result)) => return result.err(),
                    None => return None,
                }
            }
        };
        let mut error = ScriptError::new(name, reason);
        if let Ok(Some(last)) = timeout(LAST_WORDS, last).await
            && last.reason == error.reason
        {
            error = last;
        }
        error
    }
}

/// The finished effects of the run, in the order of their completion.
#[derive(Default)]
struct Arrivals {
    /// The place of each effect that is done.
    places: HashMap<u64, usize>,
    /// The tasks that wait for the first of several effects.
    waiting: Vec<(Vec<u64>, oneshot::Sender<u64>)>,
}

impl Arrivals {
    /// Records that an effect is done, and notifies its waiters.
    fn arrived(&mut self, step: u64) {
        let place = self.places.len();
        self.places.insert(step, place);
        let mut at = 0;
        while at < self.waiting.len() {
            if self.waiting[at].0.contains(&step) {
                let (_, tell) = self.waiting.swap_remove(at);
                // A host that replays does not listen.
                let _ = tell.send(step);
            } else {
                at += 1;
            }
        }
    }

    /// The step of `{of: […]}` that came first, as soon as there is one.
    fn first(&mut self, request: &Value) -> BoxFuture<'static, Value> {
        let steps: Vec<u64> = match request.get("of").and_then(Value::as_array) {
            Some(steps) => steps.iter().filter_map(Value::as_u64).collect(),
            None => Vec::new(),
        };
        let came = steps
            .iter()
            .filter_map(|step| Some((self.places.get(step)?, *step)))
            .min();
        if let Some((_, step)) = came {
            return Box::pin(async move { Value::from(step) });
        }
        let (tell, told) = oneshot::channel();
        self.waiting.push((steps, tell));
        Box::pin(async move { told.await.map_or(Value::Null, Value::from) })
    }

    /// Returns whether the step of `{of: …}` is done.
    fn has(&self, request: &Value) -> bool {
        let step = request.get("of").and_then(Value::as_u64);
        step.is_some_and(|step| self.places.contains_key(&step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits for a person from `from` to `to`, counted from when it was made.
    struct Waits {
        made: Instant,
        from: Duration,
        to: Duration,
    }

    impl Host for Waits {
        fn perform(&self, _: HostEffect) -> BoxFuture<'static, Outcome> {
            Box::pin(std::future::ready(Ok(Value::Null)))
        }

        fn waited(&self) -> Duration {
            self.made.elapsed().clamp(self.from, self.to) - self.from
        }

        fn resumed(&self) -> BoxFuture<'static, ()> {
            let waits = self.made.elapsed() >= self.from;
            let until = if waits { self.made + self.to } else { self.made };
            Box::pin(async move { tokio::time::sleep_until(until).await })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn time_in_which_a_person_decides_does_not_count() {
        let seconds = Duration::from_secs;
        for (from, to, wall, ends) in [(1, 61, 5, 65), (1, 61, 1, 61), (9, 69, 5, 5), (0, 60, 5, 65)] {
            let made = Instant::now();
            let waits = Waits {
                made,
                from: seconds(from),
                to: seconds(to),
            };
            wait_for_timeout(made + seconds(wall), &waits).await;
            let took = made.elapsed().as_secs();
            assert_eq!(took, ends, "waits from {from} to {to}, with {wall} s");
        }
    }
}
