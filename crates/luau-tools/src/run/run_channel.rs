//! The channel between a lane and the future that awaits a run: its arguments, its messages, and its stop
//! flag. All of it is one allocation, because a run may last only a few microseconds.
//!
//! The last message is the result, or nothing if the lane is gone. Effects that had begun are reported before
//! it. A stop goes in the other direction, as one byte that the script's safepoints read; it never waits for
//! anybody.

use std::cell::Cell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Poll, Waker};

use serde_json::Value;

use crate::compile::Compiled;
use crate::error::ScriptError;
use crate::host::HostEffect;
use crate::json::flat_value::{FlatValue, NearValue};
use crate::limits::ScriptLimits;
use crate::waiting::spin_wait::{SpinOutcome, SpinWaiter};
use crate::waiting::wake_queue::WakeQueue;

/// A message of a lane about a run. It is bounded by `ScriptLimits::pending` and `ScriptLimits::effects`.
pub(crate) enum LaneMessage {
    /// An effect has begun: the host is to perform it.
    Began(HostEffect),
    Ended(Result<Value, ScriptError>),
}

/// The reason why a run is stopped from outside; zero means that it is not. This one: the caller cancelled or
/// dropped it.
pub(crate) const CANCELLED: u8 = 1;
/// The time of the run is over.
pub(crate) const TIMED_OUT: u8 = 2;

/// The parameters of a new run.
pub(crate) struct RunStart {
    /// The id of the run in its lane.
    pub(crate) id: u64,
    /// The script to run.
    pub(crate) script: Arc<Compiled>,
    /// The limits of the run.
    pub(crate) limits: ScriptLimits,
}

/// The state that both ends of the channel share.
#[repr(C)]
struct RunChannel {
    start: RunStart,
    /// The reason why the run has to stop, or zero. Only the caller writes it, and the script's safepoints
    /// read it.
    stop: AtomicU8,
    _far: CachePadded,
    /// The last message; `None` inside if the lane is gone.
    last: OnceLock<Option<Result<NearValue, Box<ScriptError>>>>,
    /// Whether there are unreported effects.
    news: AtomicBool,
    _off: CachePadded,
    /// The messages that were not received yet. The lock is held for a push or a take, never while a waiter
    /// is woken.
    words: Mutex<MessageWords>,
}

/// The size of a processor's cache line.
struct CachePadded(#[expect(dead_code, reason = "it keeps others apart")] [u8; 64]);

/// Unreported effects, and the waker of the listener.
#[derive(Default)]
struct MessageWords {
    /// Effects in the order of their steps.
    began: VecDeque<HostEffect>,
    /// The waker of the task that waits for a message.
    listener: Option<Waker>,
}

impl RunChannel {
    /// Locks the messages.
    fn messages(&self) -> MutexGuard<'_, MessageWords> {
        // Poisoning is harmless: each change under the lock is atomic.
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores the last message, and returns the waker. A spinning listener reads the message without the
    /// lock.
    fn store_last(&self, last: Option<Result<NearValue, Box<ScriptError>>>) -> Option<Waker> {
        let _ = self.last.set(last);
        self.messages().listener.take()
    }
}

/// Creates a channel, and returns both ends.
pub(crate) fn line(start: RunStart) -> (RunSender, RunReceiver) {
    let line = Arc::new(RunChannel {
        start,
        stop: AtomicU8::new(0),
        _far: CachePadded([0; 64]),
        last: OnceLock::new(),
        news: AtomicBool::new(false),
        _off: CachePadded([0; 64]),
        words: Mutex::default(),
    });
    let speaker = RunSender {
        line: Arc::clone(&line),
        over: Cell::new(false),
    };
    (
        speaker,
        RunReceiver {
            line: Some(line),
            over: false,
        },
    )
}

/// The lane's end.
pub(crate) struct RunSender {
    line: Arc<RunChannel>,
    /// Whether the last message was sent.
    over: Cell<bool>,
}

impl RunSender {
    /// Returns the input of the run.
    pub(crate) fn start(&self) -> &RunStart {
        &self.line.start
    }

    /// Reports that an effect has begun.
    pub(crate) fn began(&self, effect: HostEffect, wakes: &WakeQueue) {
        let listener = {
            let mut words = self.line.messages();
            words.began.push_back(effect);
            words.listener.take()
        };
        // Set the flag after the lock is released, so that a spinning listener does not contend for it.
        self.line.news.store(true, Ordering::Release);
        wakes.later(listener);
    }

    /// Sends the last message.
    pub(crate) fn ended(&self, result: Result<FlatValue, ScriptError>, wakes: &WakeQueue) {
        self.over.set(true);
        wakes.later(
            self.line
                .store_last(Some(result.map(NearValue::of).map_err(Box::new))),
        );
    }

    /// Returns why the run has to stop, or zero.
    pub(crate) fn stop(&self) -> u8 {
        self.line.stop.load(Ordering::Relaxed)
    }
}

impl Drop for RunSender {
    fn drop(&mut self) {
        if !self.over.get()
            && let Some(listener) = self.line.store_last(None)
        {
            listener.wake();
        }
    }
}

/// The end of the future that awaits the run. A script whose invocation is dropped while it computes is
/// stopped at its next safepoint.
pub(crate) struct RunReceiver {
    /// `None` while it is dropped.
    line: Option<Arc<RunChannel>>,
    /// Whether the last message was received.
    over: bool,
}

thread_local! {
    /// The channel that was released last on this thread. The lane releases it at about the same time, and
    /// the second one to do so waits for the other's writes; so it is dropped later, when there is time.
    static LEFT: Cell<Option<Arc<RunChannel>>> = const { Cell::new(None) };
}

/// Drops the channel that was released on this thread, so that its memory can be reused.
pub(crate) fn give_up() {
    let Ok(Some(mut line)) = LEFT.try_with(Cell::take) else {
        return;
    };
    if let Some(line) = Arc::get_mut(&mut line)
        && let Some(Some(Ok(flat))) = line.last.take()
    {
        flat.recycle();
    }
}

impl RunReceiver {
    /// Waits for the next message; `None` when the lane is gone.
    pub(crate) async fn recv(&mut self, looks: &mut SpinWaiter<'_>) -> Option<LaneMessage> {
        poll_fn(|context| {
            let Some(line) = self.line.as_deref() else {
                return Poll::Ready(None);
            };
            let heard = || line.last.get().is_some() || line.news.load(Ordering::Acquire);
            if looks.look(heard) == SpinOutcome::Again {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            // Effects that had begun before the end were reported before it.
            if let Some(last) = line.last.get()
                && !line.news.load(Ordering::Acquire)
            {
                self.over = true;
                return Poll::Ready(ended(last));
            }
            let mut words = line.messages();
            if let Some(effect) = words.began.pop_front() {
                return Poll::Ready(Some(LaneMessage::Began(effect)));
            }
            line.news.store(false, Ordering::Relaxed);
            // It may have come since; a later sender finds the registered listener.
            if let Some(last) = line.last.get() {
                self.over = true;
                return Poll::Ready(ended(last));
            }
            match &mut words.listener {
                Some(listener) => listener.clone_from(context.waker()),
                none => *none = Some(context.waker().clone()),
            }
            Poll::Pending
        })
        .await
    }

    /// Stops the script at its next safepoint. The first reason counts.
    pub(crate) fn stop(&self, why: u8) {
        if let Some(line) = &self.line {
            line.stop.store(why, Ordering::Relaxed);
        }
    }
}

/// The last message, for a listener.
fn ended(last: &Option<Result<NearValue, Box<ScriptError>>>) -> Option<LaneMessage> {
    let result = last.as_ref()?.as_ref();
    Some(LaneMessage::Ended(
        result.map(NearValue::value).map_err(|error| (**error).clone()),
    ))
}

impl Drop for RunReceiver {
    fn drop(&mut self) {
        let Some(line) = self.line.take() else { return };
        if self.over {
            give_up();
            // A thread that ends keeps nothing.
            let _ = LEFT.try_with(|left| left.set(Some(line)));
        } else {
            let _ = line
                .stop
                .compare_exchange(0, CANCELLED, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::task::{Context, Wake};

    use futures_util::FutureExt;
    use serde_json::json;

    use super::*;
    use crate::host::EffectKind;
    use crate::waiting::spin_wait::WaitSpot;

    fn new_line() -> (RunSender, RunReceiver) {
        let compiled = crate::Script::compile("line", "return 1", crate::Libraries::new());
        let start = RunStart {
            id: 0,
            script: compiled.map(|script| script.compiled).ok().unwrap(),
            limits: ScriptLimits::default(),
        };
        line(start)
    }

    fn flat(value: Value) -> FlatValue {
        FlatValue::of(&value, 9, 99).unwrap_or_default()
    }

    struct Counts(AtomicUsize);

    impl Wake for Counts {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn effects_come_before_the_end_and_a_listener_is_woken_by_the_last_who_may() {
        let (speaker, mut listener) = new_line();
        let (wakes, counts) = (
            WakeQueue::of(Arc::default()),
            Arc::new(Counts(AtomicUsize::new(0))),
        );
        let waker = Waker::from(Arc::clone(&counts));
        let woken = || counts.0.load(Ordering::Relaxed);
        let mut context = Context::from_waker(&waker);
        let spot = WaitSpot::default();
        let (mut looks, mut others) = (SpinWaiter::at(&spot), SpinWaiter::at(&spot));

        let heard = listener.recv(&mut looks).poll_unpin_boxed(&mut context);
        assert!(heard.is_pending());
        let effect = HostEffect {
            step: 1,
            kind: EffectKind::Now,
            request: json!({}),
            place: None,
        };
        speaker.began(effect.clone(), &wakes);
        speaker.ended(Ok(flat(json!(7))), &wakes);
        assert_eq!(woken(), 0, "several are woken at once, later");
        wakes.now();
        assert_eq!(woken(), 1);

        let first = listener.recv(&mut looks).poll_unpin_boxed(&mut context);
        assert!(matches!(first, Poll::Ready(Some(LaneMessage::Began(heard))) if heard == effect));
        let second = listener.recv(&mut others).poll_unpin_boxed(&mut context);
        assert!(matches!(second, Poll::Ready(Some(LaneMessage::Ended(Ok(value)))) if value == json!(7.0)));
        drop(speaker);
        assert_eq!(woken(), 1, "who has heard the end is told nothing more");

        let (speaker, mut listener) = new_line();
        assert!(
            listener
                .recv(&mut others)
                .poll_unpin_boxed(&mut context)
                .is_pending()
        );
        drop(speaker);
        assert_eq!(woken(), 2, "who listens to a lane that is gone hears so at once");
        assert!(matches!(
            listener.recv(&mut others).poll_unpin_boxed(&mut context),
            Poll::Ready(None)
        ));
    }

    #[test]
    fn a_listener_that_goes_stops_the_run_and_does_not_hide_why() {
        let (speaker, listener) = new_line();
        drop(listener);
        assert_eq!(speaker.stop(), CANCELLED);
        let (speaker, listener) = new_line();
        listener.stop(TIMED_OUT);
        drop(listener);
        assert_eq!(speaker.stop(), TIMED_OUT);
    }

    trait PollBoxed: Future + Sized {
        fn poll_unpin_boxed(self, context: &mut Context<'_>) -> Poll<Self::Output> {
            Box::pin(self).poll_unpin(context)
        }
    }

    impl<F: Future> PollBoxed for F {}
}
