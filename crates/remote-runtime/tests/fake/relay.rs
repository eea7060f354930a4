//! A TCP relay that cuts connections after any number of bytes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The relay.
#[derive(Clone)]
pub struct Relay {
    address: String,
    shared: Arc<Shared>,
}

struct Shared {
    target: String,
    /// Each connection is cut after so many bytes from the server, at most; 0 for never.
    cut_within: AtomicU64,
    dice: AtomicU64,
    cuts: AtomicUsize,
    /// Counts how often all connections were cut.
    cut_now: watch::Sender<u64>,
}

impl Shared {
    fn budget(&self) -> u64 {
        let step = |dice: u64| {
            dice.wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407)
        };
        let dice = step(
            self.dice
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |dice| Some(step(dice)))
                .unwrap(),
        );
        match self.cut_within.load(Ordering::Relaxed) {
            0 => u64::MAX,
            most => (dice >> 33) % most + 1,
        }
    }
}

impl Relay {
    pub async fn to(target: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shared = Arc::new(Shared {
            target: target.to_owned(),
            cut_within: AtomicU64::new(0),
            dice: AtomicU64::new(42),
            cuts: AtomicUsize::new(0),
            cut_now: watch::Sender::new(0),
        });
        tokio::spawn({
            let shared = shared.clone();
            async move {
                while let Ok((client, _)) = listener.accept().await {
                    tokio::spawn(relay(client, shared.clone()));
                }
            }
        });
        Self { address, shared }
    }

    pub fn address(&self) -> String {
        self.address.clone()
    }

    /// From now on connections are cut after at most so many bytes; 0 for never.
    pub fn cut_within(&self, bytes: u64) {
        self.shared.cut_within.store(bytes, Ordering::Relaxed);
    }

    /// Cuts the open connections.
    pub fn cut_now(&self) {
        self.shared.cut_now.send_modify(|times| *times += 1);
    }

    /// Waits until no connection is left.
    pub async fn all_cut(&self) {
        self.shared.cut_now.closed().await;
    }

    pub fn cuts(&self) -> usize {
        self.shared.cuts.load(Ordering::Relaxed)
    }
}

async fn relay(client: TcpStream, shared: Arc<Shared>) {
    let Ok(server) = TcpStream::connect(&shared.target).await else {
        return;
    };
    let (client_in, client_out) = client.into_split();
    let (server_in, server_out) = server.into_split();
    let budget = shared.budget();
    let mut cut_now = shared.cut_now.subscribe();
    tokio::select! {
        _ = copy(client_in, server_out, u64::MAX) => {}
        _ = cut_now.changed() => {}
        cut = copy(server_in, client_out, budget) => {
            if cut {
                shared.cuts.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// Whether the budget was spent.
async fn copy(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut budget: u64) -> bool {
    let mut buffer = [0; 4096];
    loop {
        let Ok(count) = from.read(&mut buffer).await else {
            return false;
        };
        let count = count.min(usize::try_from(budget).unwrap_or(usize::MAX));
        if count == 0 || to.write_all(&buffer[..count]).await.is_err() {
            return budget == 0;
        }
        budget -= count as u64;
        if budget == 0 {
            return true;
        }
    }
}
