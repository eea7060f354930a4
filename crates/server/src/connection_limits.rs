//! The number of connections: in all, and of each address among those that have not said who they are.
//!
//! A connection without a person costs whoever opens it nothing, so one address may hold only a share of the server's connections
//! that way. A connection that has shown a key or a token counts for its person instead.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentx_types::wire::Problem;
use axum::extract::ConnectInfo;
use axum::http::Extensions;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::auth::problem;
use crate::state::ServerState;

/// The connections of a server.
pub(crate) struct Seats {
    all: Arc<Semaphore>,
    unknown: Arc<Unknown>,
    per_address: usize,
}

/// How many connections each address has that have not said who they are.
#[derive(Default)]
struct Unknown(Mutex<HashMap<IpAddr, usize>>);

/// Why there is no room for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoSeat {
    /// The server has as many connections as it takes.
    Full,
    /// This address has too many connections that have not said who they are.
    Address,
}

/// What whoever has too many connections is told.
pub(crate) const TOO_MANY: &str =
    "too many unauthenticated connections from this address; close some, or try again in a moment";

impl NoSeat {
    /// The same as a problem.
    pub(crate) fn address() -> Box<Problem> {
        let mut too_many = problem("too_many", TOO_MANY);
        too_many.retry_after_ms = Some(1000);
        too_many
    }
}

/// That a connection is counted; it counts as long as a copy of this is somewhere.
#[derive(Clone)]
pub(crate) struct Permit(Arc<SeatCounts>);

struct SeatCounts {
    state: Arc<ServerState>,
    _seat: OwnedSemaphorePermit,
    /// For a connection of a proxy: by what those are counted whom it passes on.
    shared: Option<(Arc<Unknown>, usize)>,
    unknown: Mutex<Option<OfAddress>>,
    lingers: AtomicBool,
}

/// That a connection counts for its address. It is given back when this is dropped.
struct OfAddress {
    unknown: Arc<Unknown>,
    network: IpAddr,
}

impl Seats {
    /// `all` connections, and of each address `per_address` that have not said who they are.
    pub(crate) fn new(all: usize, per_address: usize) -> Self {
        Self {
            all: Arc::new(Semaphore::new(all)),
            unknown: Arc::default(),
            per_address,
        }
    }

    /// A connection from this address. One that is `shared` is of a proxy: each of its requests counts for another address.
    ///
    /// # Errors
    /// Returns an error if there is no room for it.
    pub(crate) fn take(
        &self,
        state: &Arc<ServerState>,
        address: IpAddr,
        shared: bool,
    ) -> Result<Permit, NoSeat> {
        let of_address = if shared {
            None
        } else {
            Some(
                self.unknown
                    .add(address, self.per_address)
                    .ok_or(NoSeat::Address)?,
            )
        };
        let seat = self.all.clone().try_acquire_owned().map_err(|_| NoSeat::Full)?;
        state.counts().connections.add(1);
        Ok(Permit(Arc::new(SeatCounts {
            state: state.clone(),
            _seat: seat,
            shared: shared.then(|| (self.unknown.clone(), self.per_address)),
            unknown: Mutex::new(of_address),
            lingers: AtomicBool::new(false),
        })))
    }

    /// Waits until there are no connections any more.
    pub(crate) async fn empty(&self, all: usize) {
        let all = u32::try_from(all).unwrap_or(u32::MAX);
        let _ = self.all.acquire_many(all).await;
    }
}

impl Permit {
    /// Whether the connection is of a proxy, and each of its requests of somebody else.
    pub(crate) fn is_shared(&self) -> bool {
        self.0.shared.is_some()
    }

    /// The connection of a proxy is used by somebody at this address from now on. `false` if that address has too many.
    pub(crate) fn used_by(&self, address: IpAddr) -> bool {
        let Some((unknown, most)) = &self.0.shared else {
            return true;
        };
        self.identified();
        let of_address = unknown.add(address, *most);
        let has_room = of_address.is_some();
        *self.0.unknown.lock().unwrap_or_else(PoisonError::into_inner) = of_address;
        has_room
    }

    /// Whoever is connected has said who they are: the connection counts for its address no more.
    pub(crate) fn identified(&self) {
        let of_address = self
            .0
            .unknown
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(of_address);
    }

    /// The client may still be sending what nobody reads: its connection is not closed under the answer.
    pub(crate) fn linger(&self) {
        self.0.lingers.store(true, Ordering::Relaxed);
    }

    /// Whether [`Permit::linger`] was asked for.
    pub(crate) fn lingers(&self) -> bool {
        self.0.lingers.load(Ordering::Relaxed)
    }
}

impl Unknown {
    /// One more of this address, where it has not `most` yet.
    fn add(self: &Arc<Self>, address: IpAddr, most: usize) -> Option<OfAddress> {
        let network = network(address);
        let mut counts = self.lock();
        let count = counts.entry(network).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(OfAddress {
            unknown: self.clone(),
            network,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for SeatCounts {
    fn drop(&mut self) {
        self.state.counts().connections.sub(1);
    }
}

impl Drop for OfAddress {
    fn drop(&mut self) {
        let mut counts = self.unknown.lock();
        if let Some(count) = counts.get_mut(&self.network) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.network);
            }
        }
    }
}

/// Where a request comes from, as it is counted.
pub(crate) fn address_of(extensions: &Extensions) -> String {
    let info = extensions.get::<ConnectInfo<SocketAddr>>();
    info.map(|info| network(info.0.ip()).to_string())
        .unwrap_or_default()
}

/// What counts as one address: of IPv6, the /64 that one customer of a network usually has (RFC 6177).
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    #[test]
    fn one_address_holds_its_share_and_gives_it_back() {
        let seats = Arc::new(Unknown::default());
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let first = seats.add(address("10.0.0.1"), 2).unwrap();
        let _second = seats.add(address("::ffff:10.0.0.1"), 2).unwrap();
        assert!(seats.add(address("10.0.0.1"), 2).is_none());
        assert!(seats.add(address("10.0.0.2"), 2).is_some());
        drop(first);
        assert!(seats.add(address("10.0.0.1"), 2).is_some());
    }

    #[test]
    fn the_addresses_of_one_ipv6_network_count_as_one() {
        let same = network("2001:db8:1:2::1".parse().unwrap());
        assert_eq!(same, network("2001:db8:1:2:ffff::9".parse().unwrap()));
        assert_ne!(same, network("2001:db8:1:3::1".parse().unwrap()));
    }
}
