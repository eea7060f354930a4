//! Who awaits a run that has just been told something looks for its answer a moment before it sleeps, for to sleep and to be woken
//! takes longer than most runs. It gives its turn away each time it has looked, so that whatever else its thread has to do goes on. One
//! at a time looks at a lane: it keeps its thread awake for all the others.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crate::lanes::Desk;

/// One who looks, or may.
pub(crate) struct Looks {
    desk: Arc<Desk>,
    until: Option<Instant>,
}

/// How long it looks.
const LOOKS: Duration = Duration::from_micros(20);

impl Looks {
    pub(crate) const fn at(desk: Arc<Desk>) -> Self {
        Self { desk, until: None }
    }

    /// The lane was told something.
    pub(crate) fn begin(&mut self) {
        if self.until.is_some()
            || (several_processors() && !self.desk.looked_at.swap(true, Ordering::Relaxed))
        {
            self.until = Some(Instant::now() + LOOKS);
        }
    }

    /// Whether to look once more.
    pub(crate) fn go_on(&mut self) -> bool {
        let more = self.until.is_some_and(|until| Instant::now() < until);
        if !more {
            self.end();
        }
        more
    }

    /// There is news, or nothing to look for.
    pub(crate) fn end(&mut self) {
        if self.until.take().is_some() {
            self.desk.looked_at.store(false, Ordering::Relaxed);
        }
    }
}

impl Drop for Looks {
    fn drop(&mut self) {
        self.end();
    }
}

/// Whether another thread may do something while this one looks.
pub(crate) fn several_processors() -> bool {
    static SEVERAL: OnceLock<bool> = OnceLock::new();
    *SEVERAL.get_or_init(|| thread::available_parallelism().is_ok_and(|processors| processors.get() > 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_looks_at_a_lane_at_a_time_and_not_for_long() {
        let desk = Arc::<Desk>::default();
        let (mut first, mut second) = (Looks::at(Arc::clone(&desk)), Looks::at(desk));
        first.begin();
        second.begin();
        assert_eq!(first.until.is_some(), several_processors());
        assert!(second.until.is_none() && !second.go_on());
        first.end();
        second.begin();
        assert_eq!(second.until.is_some(), several_processors());
        second.until = second.until.map(|_| Instant::now());
        assert!(!second.go_on(), "its time is over");
        first.begin();
        assert_eq!(first.until.is_some(), several_processors());
    }
}
