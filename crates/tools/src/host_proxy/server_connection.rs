//! The connection of the proxy to a server.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use super::gate::HostGate;
use super::request_head::RequestHead;

/// The time to look a name up.
const LOOKUP_TIME: Duration = Duration::from_secs(20);
/// The time to connect to one address.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// The most addresses of a name that are tried.
const MOST_ADDRESSES: usize = 8;

/// A host that is not reached.
pub(super) enum Unreached {
    /// One of its addresses is not of the public internet, and no other one is left.
    Local,
    /// It does not answer.
    Failed(String),
}

impl From<Unreached> for io::Error {
    fn from(unreached: Unreached) -> Self {
        match unreached {
            Unreached::Local => Self::other("it leads to an address that is not of the public internet"),
            Unreached::Failed(why) => Self::other(why),
        }
    }
}

/// Connects to the host of a request, at an address that it may lead to.
pub(super) async fn connect(gate: &HostGate, head: &RequestHead) -> Result<TcpStream, Unreached> {
    let host = head.host.as_str();
    let found = match timeout(LOOKUP_TIME, lookup_host((host, head.port))).await {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => return Err(Unreached::Failed(format!("{host} is not found: {error}"))),
        Err(_) => return Err(Unreached::Failed(format!("{host} is not found in time"))),
    };
    let found: Vec<SocketAddr> = found.collect();
    let may_be_reached = |place: &&SocketAddr| gate.allows_address(host, place.ip());
    let allowed: Vec<SocketAddr> = found.iter().filter(may_be_reached).copied().collect();
    if allowed.is_empty() && !found.is_empty() {
        return Err(Unreached::Local);
    }
    let mut why = format!("{host} has no address");
    for place in allowed.into_iter().take(MOST_ADDRESSES) {
        match timeout(CONNECT_TIME, TcpStream::connect(place)).await {
            Ok(Ok(server)) => return Ok(server),
            Ok(Err(error)) => why = format!("{host} does not answer: {error}"),
            Err(_) => why = format!("{host} does not answer in time"),
        }
    }
    Err(Unreached::Failed(why))
}
