//! Limits on connections: in all, and of unauthenticated ones per address.
//!
//! An unauthenticated connection costs its client nothing, so one address may hold only a share of the
//! server's connections that way. A connection that has shown a key or a token counts for its person instead.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentx_types::OwnerId;
use agentx_types::wire::Problem;
use axum::extract::ConnectInfo;
use axum::http::Extensions;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::connections::held_bytes::{HeldBytes, HeldShare};
use crate::counts::ServerCounters;
use crate::problems::problem;
use crate::settings::options::ServerLimits;

/// The number of connections on trial at the same time: they have no place of their address.
const TRIALS: usize = 64;

/// The connections of a server.
#[derive(Clone)]
pub(crate) struct ConnectionLimiter {
    all: Arc<Semaphore>,
    unknown: Arc<UnauthenticatedCounts>,
    per_address: usize,
    trials: Arc<Semaphore>,
    held: Arc<HeldBytes>,
}

/// The number of unauthenticated connections of each address.
#[derive(Default)]
struct UnauthenticatedCounts(Mutex<HashMap<IpAddr, usize>>);

/// The reason why a connection is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionRefused {
    /// The server has as many connections as it takes.
    Full,
    /// This address has too many unauthenticated connections.
    Address,
}

/// The message to a client that has too many connections.
pub(crate) const TOO_MANY: &str =
    "too many unauthenticated connections from this address; close some, or try again in a moment";

impl ConnectionRefused {
    /// Returns the problem of [`Self::Address`].
    pub(crate) fn address() -> Box<Problem> {
        let mut too_many = problem("too_many", TOO_MANY);
        too_many.retry_after_ms = Some(1000);
        too_many
    }
}

/// The slot of a connection in the limit. It is released when the last clone is dropped.
#[derive(Clone)]
pub(crate) struct Permit(Arc<ConnectionCounts>);

struct ConnectionCounts {
    counts: Arc<ServerCounters>,
    _seat: OwnedSemaphorePermit,
    /// For a proxy's connection: the counts of the clients behind it.
    shared: Option<(Arc<UnauthenticatedCounts>, usize)>,
    unknown: Mutex<Option<AddressSlot>>,
    /// Held until the client of a connection on trial has named a person.
    trial: Mutex<Option<OwnedSemaphorePermit>>,
    held: HeldShare,
    lingers: AtomicBool,
}

/// The place of a connection.
#[derive(Default)]
struct ConnectionPlace {
    /// For a proxy's connection: the counts of the clients behind it.
    shared: Option<(Arc<UnauthenticatedCounts>, usize)>,
    /// The slot of its address.
    of_address: Option<AddressSlot>,
    /// For a connection on trial.
    trial: Option<OwnedSemaphorePermit>,
}

/// The slot of a connection in the limit of its address. It is released when this is dropped.
struct AddressSlot {
    unknown: Arc<UnauthenticatedCounts>,
    network: IpAddr,
}

impl ConnectionLimiter {
    /// Creates a limiter of all connections, of the unauthenticated ones of each address, and of the bytes
    /// that wait for their readers.
    pub(crate) fn new(limits: &ServerLimits) -> Self {
        Self {
            all: Arc::new(Semaphore::new(limits.connections)),
            unknown: Arc::default(),
            per_address: limits.connections_per_address,
            trials: Arc::new(Semaphore::new(TRIALS)),
            held: Arc::new(HeldBytes::new(limits.held())),
        }
    }

    /// Returns the permit for a connection from this address, and counts it in `counts` while it is open. A
    /// `shared` connection is a proxy's: each of its requests counts for its own client's address.
    ///
    /// # Errors
    /// Returns an error if there is no room for it.
    pub(crate) fn take(
        &self,
        counts: &Arc<ServerCounters>,
        address: IpAddr,
        shared: bool,
    ) -> Result<Permit, ConnectionRefused> {
        let of_address = if shared {
            None
        } else {
            Some(
                self.unknown
                    .add(address, self.per_address)
                    .ok_or(ConnectionRefused::Address)?,
            )
        };
        let place = ConnectionPlace {
            shared: shared.then(|| (self.unknown.clone(), self.per_address)),
            of_address,
            trial: None,
        };
        self.permit(counts, address, place).ok_or(ConnectionRefused::Full)
    }

    /// Returns the permit for a connection on trial, whose address has no room: its first request has to name
    /// a person. `None` if there is no room for it.
    pub(crate) fn on_trial(&self, counts: &Arc<ServerCounters>, address: IpAddr) -> Option<Permit> {
        let trial = self.trials.clone().try_acquire_owned().ok()?;
        let place = ConnectionPlace {
            trial: Some(trial),
            ..ConnectionPlace::default()
        };
        self.permit(counts, address, place)
    }

    /// Returns a permit; `None` if the server has as many connections as it takes.
    fn permit(
        &self,
        counts: &Arc<ServerCounters>,
        address: IpAddr,
        place: ConnectionPlace,
    ) -> Option<Permit> {
        let seat = self.all.clone().try_acquire_owned().ok()?;
        counts.connections.add(1);
        Some(Permit(Arc::new(ConnectionCounts {
            counts: counts.clone(),
            _seat: seat,
            shared: place.shared,
            unknown: Mutex::new(place.of_address),
            trial: Mutex::new(place.trial),
            held: self.held.share(network(address).to_string()),
            lingers: AtomicBool::new(false),
        })))
    }

    /// Waits until all connections are closed.
    pub(crate) async fn empty(&self, all: usize) {
        let all = u32::try_from(all).unwrap_or(u32::MAX);
        let _ = self.all.acquire_many(all).await;
    }
}

impl Permit {
    /// Returns whether the connection is a proxy's, so that each request on it may be another person's.
    pub(crate) fn is_shared(&self) -> bool {
        self.0.shared.is_some()
    }

    /// Counts this connection of a proxy for a client at this address from now on. Returns `false` if that
    /// address has too many.
    pub(crate) fn used_by(&self, address: IpAddr) -> bool {
        let Some((unknown, most)) = &self.0.shared else {
            return true;
        };
        self.identified();
        self.0.held.belongs_to(&network(address).to_string());
        let of_address = unknown.add(address, *most);
        let has_room = of_address.is_some();
        *self.0.unknown.lock().unwrap_or_else(PoisonError::into_inner) = of_address;
        has_room
    }

    /// Returns whether the first request of the connection still has to name a person.
    pub(crate) fn is_on_trial(&self) -> bool {
        self.0
            .trial
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
    }

    /// Notes that the client has authenticated: the connection no longer counts for its address.
    pub(crate) fn identified(&self) {
        let trial = self.0.trial.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(trial);
        let of_address = self
            .0
            .unknown
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(of_address);
    }

    /// Notes who has authenticated: the connection, and the bytes that wait for it, count for this person.
    pub(crate) fn belongs_to(&self, person: &OwnerId) {
        self.identified();
        self.0.held.belongs_to(person.as_str());
    }

    /// Returns the part of the connection in the bytes that the server holds for readers.
    pub(crate) fn held(&self) -> &HeldShare {
        &self.0.held
    }

    /// Keeps the connection open for a moment after the answer, because the client may still be sending a
    /// body that is not read.
    pub(crate) fn linger(&self) {
        self.0.lingers.store(true, Ordering::Relaxed);
    }

    /// Returns whether [`Permit::linger`] was called.
    pub(crate) fn lingers(&self) -> bool {
        self.0.lingers.load(Ordering::Relaxed)
    }
}

impl UnauthenticatedCounts {
    /// Counts one more connection of this address, if it has fewer than `most`.
    fn add(self: &Arc<Self>, address: IpAddr, most: usize) -> Option<AddressSlot> {
        let network = network(address);
        let mut counts = self.lock();
        let count = counts.entry(network).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(AddressSlot {
            unknown: self.clone(),
            network,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectionCounts {
    fn drop(&mut self) {
        self.counts.connections.sub(1);
    }
}

impl Drop for AddressSlot {
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

/// Returns the address of a request, as it is counted.
pub(crate) fn address_of(extensions: &Extensions) -> String {
    let info = extensions.get::<ConnectInfo<SocketAddr>>();
    info.map(|info| network(info.0.ip()).to_string())
        .unwrap_or_default()
}

/// Returns the network that counts as one address: for IPv6, the /64 that one customer of a network usually
/// has (RFC 6177).
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
        let connections = Arc::new(UnauthenticatedCounts::default());
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let first = connections.add(address("10.0.0.1"), 2).unwrap();
        let _second = connections.add(address("::ffff:10.0.0.1"), 2).unwrap();
        assert!(connections.add(address("10.0.0.1"), 2).is_none());
        assert!(connections.add(address("10.0.0.2"), 2).is_some());
        drop(first);
        assert!(connections.add(address("10.0.0.1"), 2).is_some());
    }

    #[test]
    fn the_addresses_of_one_ipv6_network_count_as_one() {
        let same = network("2001:db8:1:2::1".parse().unwrap());
        assert_eq!(same, network("2001:db8:1:2:ffff::9".parse().unwrap()));
        assert_ne!(same, network("2001:db8:1:3::1".parse().unwrap()));
    }
}
