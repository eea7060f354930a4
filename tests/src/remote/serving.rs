//! `agentx serve` as a separate process, on a port that stays the same when it is started again.

use std::net::SocketAddr;

use crate::{Ran, Running, World};

/// A server that runs. It is killed when this is dropped.
#[derive(Debug)]
pub struct Serving {
    running: Running,
    address: SocketAddr,
}

impl Serving {
    /// Starts it on a port of its own and waits until it says where it is.
    pub fn start(world: &World, args: &[&str]) -> Self {
        Self::at(world, SocketAddr::from(([127, 0, 0, 1], free_port())), args)
    }

    /// Starts it at this address, and waits until it is there.
    pub fn at(world: &World, address: SocketAddr, args: &[&str]) -> Self {
        let serving = Self::begin(world, address, args);
        serving.is_there();
        serving
    }

    /// Starts it at this address and waits for nothing.
    pub fn begin(world: &World, address: SocketAddr, args: &[&str]) -> Self {
        let listen = address.to_string();
        let mut all = vec!["serve", "--json", "--listen", &listen];
        all.extend(args);
        Self {
            running: world.start(&all),
            address,
        }
    }

    /// Waits until it takes connections.
    pub fn is_there(&self) {
        self.running.says(&self.address.to_string(), 1);
    }

    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address for clients.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The process.
    pub fn running(&self) -> &Running {
        &self.running
    }

    /// Kills it (-9).
    pub fn kill(self) -> Ran {
        self.running.kill()
    }

    /// Asks it to end, and waits for it.
    pub fn stop(self) -> Ran {
        self.running.signal(nix::sys::signal::Signal::SIGTERM);
        self.running.end()
    }
}

/// A port that nobody has now.
///
/// # Panics
/// Panics if there is none.
pub(super) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}
