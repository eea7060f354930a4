//! The line between a lane and the future that awaits a run: what it begins with, what it says, and whether it shall stop. One
//! allocation for all of it, for a run may last a few microseconds.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use crate::error::ScriptError;
use crate::flat::Flat;
use crate::host::Effect;
use crate::limits::Limits;
use crate::looks::{Look, Looks, Spot};
use crate::script::Compiled;

/// What a lane says of a run. It is bounded by `Limits::pending` and `Limits::effects`.
pub(crate) enum Said {
    Began(Effect),
    Ended(Result<Flat, ScriptError>),
}

/// Why a run is stopped from outside; zero means that it is not.
pub(crate) const CANCELLED: u8 = 1;
/// The time of the run is over.
pub(crate) const TIMED_OUT: u8 = 2;

/// A run that begins.
pub(crate) struct Start {
    pub(crate) id: u64,
    pub(crate) script: Arc<Compiled>,
    /// How large the arguments are.
    pub(crate) bytes: usize,
    pub(crate) limits: Limits,
}

struct Line {
    start: Start,
    stop: AtomicU8,
    /// Something was said that nobody heard yet.
    news: AtomicBool,
    words: Mutex<Words>,
}

#[derive(Default)]
struct Words {
    began: VecDeque<Effect>,
    ended: Option<Result<Flat, ScriptError>>,
    /// Nobody will say anything more.
    over: bool,
    listener: Option<Waker>,
}

impl Line {
    fn words(&self) -> MutexGuard<'_, Words> {
        // What is behind it is whole after every single step.
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says something. Who listens is to be woken.
    fn say(&self, change: impl FnOnce(&mut Words)) -> Option<Waker> {
        let listener = {
            let mut words = self.words();
            change(&mut words);
            words.listener.take()
        };
        // Afterwards: who looks does not meet the lock.
        self.news.store(true, Ordering::Release);
        listener
    }
}

/// Both ends of a new line.
pub(crate) fn line(start: Start) -> (Speaker, Listener) {
    let line = Arc::new(Line {
        start,
        stop: AtomicU8::new(0),
        news: AtomicBool::new(false),
        words: Mutex::default(),
    });
    let speaker = Speaker {
        line: Arc::clone(&line),
        over: Cell::new(false),
    };
    (speaker, Listener(line))
}

/// The lane's end.
pub(crate) struct Speaker {
    line: Arc<Line>,
    /// All is said.
    over: Cell<bool>,
}

impl Speaker {
    pub(crate) fn start(&self) -> &Start {
        &self.line.start
    }

    pub(crate) fn began(&self, effect: Effect, wakes: &Wakes) {
        wakes.later(self.line.say(|words| words.began.push_back(effect)));
    }

    /// The last that is said.
    pub(crate) fn ended(&self, result: Result<Flat, ScriptError>, wakes: &Wakes) {
        self.over.set(true);
        wakes.later(self.line.say(|words| {
            words.ended = Some(result);
            words.over = true;
        }));
    }

    /// Why the run shall stop, or zero.
    pub(crate) fn stop(&self) -> u8 {
        self.line.stop.load(Ordering::Relaxed)
    }
}

impl Drop for Speaker {
    fn drop(&mut self) {
        if !self.over.get()
            && let Some(listener) = self.line.say(|words| words.over = true)
        {
            listener.wake();
        }
    }
}

/// Whom a lane has to wake. To wake a thread that sleeps takes longer than a short run, so it is done once for several: when the
/// lane has nothing more to do, or the first of them has waited a moment.
pub(crate) struct Wakes {
    /// The lane's: those who look see there that it goes on.
    spot: Arc<Spot>,
    all: RefCell<Vec<Waker>>,
    since: Cell<Option<Instant>>,
    /// When it was last asked what time it is: whoever computes asks often, and to ask takes time.
    lately: Cell<Instant>,
}

impl Wakes {
    pub(crate) fn of(spot: Arc<Spot>) -> Self {
        Self {
            spot,
            all: RefCell::default(),
            since: Cell::default(),
            lately: Cell::new(Instant::now()),
        }
    }
}

/// How long somebody may wait to be woken while the lane does other things.
const MOMENT: Duration = Duration::from_micros(30);
/// How many may wait to be woken.
const SEVERAL: usize = 16;

impl Wakes {
    fn later(&self, listener: Option<Waker>) {
        self.spot.said();
        let Some(listener) = listener else { return };
        let mut all = self.all.borrow_mut();
        if all.is_empty() {
            self.since.set(Some(self.lately.get()));
        }
        all.push(listener);
    }

    pub(crate) fn it_is(&self, now: Instant) {
        self.lately.set(now);
    }

    /// What time it was when a script began or ended to compute, or came by a safepoint.
    pub(crate) fn lately(&self) -> Instant {
        self.lately.get()
    }

    /// Wakes them if the first has waited a moment, or they are several.
    pub(crate) fn if_due(&self) {
        let Some(since) = self.since.get() else { return };
        if self.all.borrow().len() >= SEVERAL || self.lately.get().duration_since(since) >= MOMENT {
            self.now();
        }
    }

    /// Wakes them all.
    pub(crate) fn now(&self) {
        if self.since.take().is_none() {
            return;
        }
        let mut all = self.all.take();
        self.spot.wake(&mut all);
        // Its room is used again.
        self.all.replace(all);
    }
}

/// The end of the future that awaits the run. A script whose invocation is dropped while it computes sees it at its next safepoint.
pub(crate) struct Listener(Arc<Line>);

impl Listener {
    /// The next that is said; `None` when the lane is gone.
    pub(crate) async fn hear(&self, looks: &mut Looks) -> Option<Said> {
        poll_fn(|context| {
            match looks.look(&self.0.news) {
                Look::Seen | Look::Over => {}
                Look::Again => {
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
            }
            let mut words = self.0.words();
            if let Some(effect) = words.began.pop_front() {
                return Poll::Ready(Some(Said::Began(effect)));
            }
            if let Some(result) = words.ended.take() {
                return Poll::Ready(Some(Said::Ended(result)));
            }
            if words.over {
                return Poll::Ready(None);
            }
            self.0.news.store(false, Ordering::Relaxed);
            match &mut words.listener {
                Some(listener) => listener.clone_from(context.waker()),
                none => *none = Some(context.waker().clone()),
            }
            Poll::Pending
        })
        .await
    }

    pub(crate) fn stop(&self, why: u8) {
        self.0.stop.store(why, Ordering::Relaxed);
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self
            .0
            .stop
            .compare_exchange(0, CANCELLED, Ordering::Relaxed, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::task::{Context, Wake};

    use futures_util::FutureExt;
    use serde_json::{Value, json};

    use super::*;
    use crate::host::EffectKind;

    fn new_line() -> (Speaker, Listener) {
        let compiled = crate::Script::compile("line", "return 1", crate::Libraries::new());
        let start = Start {
            id: 0,
            script: compiled.map(|script| script.compiled).ok().unwrap(),
            bytes: 2,
            limits: Limits::default(),
        };
        line(start)
    }

    fn flat(value: Value) -> Flat {
        Flat::of(&value, 9, 99).map_or_else(|_| Flat::default(), |(flat, _)| flat)
    }

    fn no_looks() -> Looks {
        Looks::at(Arc::default())
    }

    struct Counts(AtomicUsize);

    impl Wake for Counts {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn effects_come_before_the_end_and_a_listener_is_woken_by_the_last_who_may() {
        let (speaker, listener) = new_line();
        let (wakes, counts) = (Wakes::of(Arc::default()), Arc::new(Counts(AtomicUsize::new(0))));
        let waker = Waker::from(Arc::clone(&counts));
        let woken = || counts.0.load(Ordering::Relaxed);
        let mut context = Context::from_waker(&waker);
        let (mut looks, mut others) = (no_looks(), no_looks());

        let mut hears = Box::pin(listener.hear(&mut looks));
        assert!(hears.poll_unpin(&mut context).is_pending());
        let effect = Effect {
            step: 1,
            kind: EffectKind::Now,
            request: json!({}),
        };
        speaker.began(effect.clone(), &wakes);
        speaker.ended(Ok(flat(json!(7))), &wakes);
        assert_eq!(woken(), 0, "several are woken at once, later");
        wakes.now();
        assert_eq!(woken(), 1);

        let first = hears.poll_unpin(&mut context);
        assert!(matches!(first, Poll::Ready(Some(Said::Began(heard))) if heard == effect));
        let second = listener.hear(&mut others).poll_unpin_boxed(&mut context);
        assert!(matches!(second, Poll::Ready(Some(Said::Ended(Ok(value)))) if value == flat(json!(7))));
        drop(speaker);
        assert_eq!(woken(), 1, "who has heard the end is told nothing more");

        let (speaker, listener) = new_line();
        assert!(
            listener
                .hear(&mut others)
                .poll_unpin_boxed(&mut context)
                .is_pending()
        );
        drop(speaker);
        assert_eq!(woken(), 2, "who listens to a lane that is gone hears so at once");
        assert!(matches!(
            listener.hear(&mut others).poll_unpin_boxed(&mut context),
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
