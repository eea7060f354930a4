//! The bytes that the server holds for readers that do not take them: of each person or address, and of all
//! together.
//!
//! Each connection has bounds of its own, but a client may have many connections. If the sum is too large,
//! the connections whose bytes have waited longest are closed, until it is not.
//!
//! | the sum | the connections that are closed |
//! | --- | --- |
//! | of one person or address is over `each` | theirs, the slowest first |
//! | of all is over `all` | those of the holder of most bytes, the slowest first |
//! | of all is over twice `all` | any that would add to it |
//!
//! A connection is given [`GRACE`] first: the bytes of a large answer wait for a moment for any reader.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::settings::options::HeldBounds;

/// The time in which bytes may wait, whatever the sum is.
pub(crate) const GRACE: Duration = Duration::from_secs(1);
/// The number of bytes of a connection that are not counted: most connections hold less for a moment.
const UNCOUNTED: usize = 16 * 1024;

/// The bytes that wait for the readers of a server.
pub(crate) struct HeldBytes {
    bounds: HeldBounds,
    state: Mutex<HeldState>,
}

#[derive(Default)]
struct HeldState {
    all: usize,
    /// The number of the next connection.
    next: u64,
    connections: HashMap<u64, HeldConnection>,
    /// The sum of each holder: a person's id, or an address.
    holders: HashMap<String, usize>,
}

/// The bytes that wait for one connection.
struct HeldConnection {
    holder: String,
    /// Bytes of the piece that is being written.
    unsent: usize,
    /// Bytes in the queue behind it.
    queued: usize,
    /// The time since which something waits.
    since: Option<Instant>,
}

impl HeldConnection {
    fn bytes(&self) -> usize {
        self.unsent + self.queued
    }
}

/// The part of one connection. It is given back when the last clone is dropped.
#[derive(Clone)]
pub(crate) struct HeldShare(Arc<OwnShare>);

struct OwnShare {
    number: u64,
    all: Arc<HeldBytes>,
}

impl HeldBytes {
    pub(crate) fn new(bounds: HeldBounds) -> Self {
        Self {
            bounds,
            state: Mutex::default(),
        }
    }

    /// Returns the part of a new connection, which counts for this holder until another one is known.
    pub(crate) fn share(self: &Arc<Self>, holder: String) -> HeldShare {
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        let connection = HeldConnection {
            holder,
            unsent: 0,
            queued: 0,
            since: None,
        };
        state.connections.insert(number, connection);
        drop(state);
        HeldShare(Arc::new(OwnShare {
            number,
            all: self.clone(),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, HeldState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeldState {
    /// Changes what waits for a connection, and the sums with it.
    fn change(&mut self, number: u64, change: impl FnOnce(&mut HeldConnection)) {
        let Some(connection) = self.connections.get_mut(&number) else {
            return;
        };
        let (before, holder) = (connection.bytes(), connection.holder.clone());
        change(connection);
        let (after, now_of) = (connection.bytes(), connection.holder.clone());
        if after == 0 {
            connection.since = None;
        }
        self.all = (self.all + after).saturating_sub(before);
        if let Some(sum) = self.holders.get_mut(&holder) {
            *sum = sum.saturating_sub(before);
            if *sum == 0 {
                self.holders.remove(&holder);
            }
        }
        if after > 0 {
            *self.holders.entry(now_of).or_default() += after;
        }
    }

    /// Returns whether the bytes of this connection have waited longest among those of its holder.
    fn is_slowest(&self, number: u64, connection: &HeldConnection) -> bool {
        let is_slower = |(other, slower): (&u64, &HeldConnection)| {
            let waits = slower.since.map(|since| (since, *other));
            slower.holder == connection.holder
                && waits.is_some()
                && waits < connection.since.map(|own| (own, number))
        };
        !self.connections.iter().any(is_slower)
    }
}

impl HeldShare {
    /// Counts the connection for this person or address from now on.
    pub(crate) fn belongs_to(&self, holder: &str) {
        let mut state = self.0.all.lock();
        state.change(self.0.number, |connection| {
            holder.clone_into(&mut connection.holder)
        });
    }

    /// Notes the bytes of the piece that is being written.
    pub(crate) fn set_unsent(&self, bytes: usize) {
        self.set(bytes, |connection| &mut connection.unsent);
    }

    /// Notes the bytes in the queue behind the piece that is being written.
    pub(crate) fn set_queued(&self, bytes: usize) {
        self.set(bytes, |connection| &mut connection.queued);
    }

    fn set(&self, bytes: usize, place: impl FnOnce(&mut HeldConnection) -> &mut usize) {
        let bytes = if bytes < UNCOUNTED { 0 } else { bytes };
        let mut state = self.0.all.lock();
        state.change(self.0.number, |connection| {
            *place(connection) = bytes;
            if bytes > 0 {
                connection.since.get_or_insert_with(Instant::now);
            }
        });
    }

    /// Returns why the connection has to be closed, if it does: the server holds too much, and most or
    /// longest for this one.
    pub(crate) fn excess(&self) -> Option<&'static str> {
        let bounds = self.0.all.bounds;
        let state = self.0.all.lock();
        let connection = state.connections.get(&self.0.number)?;
        let since = connection.since?;
        if state.all > bounds.all.saturating_mul(2) {
            return Some("the server holds too many bytes for clients that do not take them");
        }
        let own = state.holders.get(&connection.holder).copied().unwrap_or_default();
        let is_over_own = own > bounds.each;
        let is_over_all = state.all > bounds.all && state.holders.values().all(|other| *other <= own);
        if !(is_over_own || is_over_all) || since.elapsed() < GRACE {
            return None;
        }
        state.is_slowest(self.0.number, connection).then_some(
            "too many bytes wait for this client, or for its person or address, and these have waited longest",
        )
    }
}

impl Drop for OwnShare {
    fn drop(&mut self) {
        let mut state = self.all.lock();
        state.change(self.number, |connection| {
            (connection.unsent, connection.queued) = (0, 0)
        });
        state.connections.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EACH: usize = 4 << 20;
    const PIECE: usize = 3 << 20;

    fn held() -> Arc<HeldBytes> {
        let bounds = HeldBounds {
            each: EACH,
            all: 3 * EACH,
        };
        Arc::new(HeldBytes::new(bounds))
    }

    /// Returns which of these connections have to be closed, and closes them, one after the other.
    fn closed(connections: &[HeldShare]) -> Vec<usize> {
        let mut closed = Vec::new();
        for (place, share) in connections.iter().enumerate() {
            if share.excess().is_some() {
                share.set_unsent(0);
                share.set_queued(0);
                closed.push(place);
            }
        }
        closed
    }

    #[tokio::test(start_paused = true)]
    async fn the_slowest_of_who_holds_too_much_goes_first_and_others_stay() {
        let all = held();
        let mut connections = Vec::new();
        for holder in ["ann", "ann", "ann", "bob"] {
            let share = all.share("127.0.0.1".into());
            share.belongs_to(holder);
            share.set_unsent(PIECE);
            connections.push(share);
            tokio::time::advance(Duration::from_millis(10)).await;
        }
        assert!(closed(&connections).is_empty(), "any reader may take a moment");
        tokio::time::advance(GRACE).await;
        // Ann holds 9 MiB: two of her connections go, the oldest first, and Bob's stays.
        assert_eq!(closed(&connections), [0, 1]);
        assert!(closed(&connections).is_empty());
        drop(connections);
        assert_eq!(all.lock().all, 0);
        assert!(all.lock().holders.is_empty() && all.lock().connections.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn many_holders_are_bounded_together_and_whoever_holds_most_gives_way() {
        let all = held();
        let connections: Vec<HeldShare> = (0..5).map(|n| all.share(format!("10.0.0.{n}"))).collect();
        for (place, share) in connections.iter().enumerate() {
            share.set_queued(if place == 2 { PIECE + 1024 } else { PIECE });
        }
        tokio::time::advance(GRACE).await;
        // Together 15 MiB, of 12 at most.
        assert_eq!(closed(&connections), [2]);
        assert!(closed(&connections).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn far_above_the_bound_nobody_is_waited_for() {
        let all = held();
        let shares: Vec<HeldShare> = (0..9).map(|n| all.share(format!("10.0.0.{n}"))).collect();
        for share in &shares {
            share.set_unsent(PIECE);
        }
        assert!(shares[8].excess().is_some());
        shares[8].set_unsent(0);
        assert!(shares[7].excess().is_none());
        let small = all.share("10.0.0.99".into());
        small.set_unsent(UNCOUNTED - 1);
        assert_eq!((small.excess(), all.lock().connections.len()), (None, 10));
    }
}
