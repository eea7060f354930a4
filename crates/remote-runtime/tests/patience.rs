//! A program with patience goes through times in which its server is away, and does nothing twice. No program
//! waits for long at an address where no AgentX server answers.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use agentx_remote_runtime::{ConnectOptions, RemoteRuntime};
use agentx_runtime::{OpenRequest, Runtime as _, RuntimeError};
use agentx_testing::{LogBuilder, fixture};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::fake::{Fake, Relay, options, session};

/// Nothing here takes longer.
const BOUND: Duration = Duration::from_secs(60);

async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(BOUND, what).await.unwrap()
}

/// A door to a server, which can be shut for a number of connections.
#[derive(Clone)]
struct Door {
    address: String,
    shut_for: Arc<AtomicU32>,
    cut: watch::Sender<()>,
}

impl Door {
    async fn to(fake: &Fake) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let door = Self {
            address: listener.local_addr().unwrap().to_string(),
            shut_for: Arc::default(),
            cut: watch::Sender::new(()),
        };
        fake.state().faults.origin = Some(format!("http://{}", door.address));
        let (within, to) = (door.clone(), fake.address());
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let is_shut = within
                    .shut_for
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
                    .is_ok();
                if is_shut {
                    continue;
                }
                let mut far = TcpStream::connect(&to).await.unwrap();
                let mut cut = within.cut.subscribe();
                tokio::spawn(async move {
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                        _ = cut.changed() => {}
                    }
                });
            }
        });
        door
    }

    /// Cuts what is there, and shuts the door for so many connections.
    fn shut(&self, connections: u32) {
        self.shut_for.store(connections, Ordering::SeqCst);
        self.cut.send_replace(());
    }
}

#[tokio::test]
async fn a_server_that_is_away_after_the_first_contact_is_waited_for_by_a_program_with_patience() {
    let fake = Fake::start().await;
    fake.append(&LogBuilder::opened(fixture::config()).build());
    for (patience, is_reached) in [(0, false), (30, true)] {
        let door = Door::to(&fake).await;
        let options = ConnectOptions {
            reach_within: Duration::from_secs(patience),
            ..options(&door.address)
        };
        let runtime = soon(RemoteRuntime::connect(options)).await.unwrap();
        door.shut(8);
        let found = soon(runtime.info(&session())).await;
        assert_eq!(found.is_ok(), is_reached, "{patience} s: {:?}", found.err());
        // A server that was started again has forgotten the token.
        fake.state().tokens.clear();
        door.shut(if is_reached { 8 } else { 0 });
        soon(runtime.info(&session())).await.unwrap();
    }
}

#[tokio::test]
async fn a_session_whose_creation_was_cut_off_is_made_once() {
    let fake = Fake::start().await;
    let relay = Relay::to(&fake.address()).await;
    let runtime = Arc::new(soon(fake.connect_by(&relay)).await.unwrap());
    let mut changes = fake.shared.changes.subscribe();
    let opened = tokio::spawn({
        let runtime = runtime.clone();
        async move { runtime.open(OpenRequest::New(Box::new(fixture::config()))).await }
    });
    while fake.state().creations.is_empty() {
        soon(changes.changed()).await.unwrap();
    }
    relay.cut_now();
    let made = soon(opened).await.unwrap().unwrap();
    assert_eq!(*made.id(), session());
    let keys = fake.state().creations.clone();
    assert!(
        keys.len() == 2 && keys[0] == keys[1] && !keys[0].is_empty(),
        "{keys:?}"
    );
}

/// An answer of a program that is not an AgentX server.
#[derive(Clone, Copy, Debug)]
enum Nonsense {
    /// An answer of another kind.
    Garbage,
    /// Nothing.
    Silence,
    /// Headers without an end.
    EndlessHead,
    /// A body without an end.
    EndlessBody,
}

impl Nonsense {
    async fn listen(self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                // The client may leave at any time.
                tokio::spawn(async move { self.talk(near).await.ok() });
            }
        });
        address
    }

    async fn talk(self, mut near: TcpStream) -> std::io::Result<()> {
        // Any part of a request is answered.
        let _ = near.read(&mut [0; 4096]).await?;
        let (begin, piece): (&[u8], &[u8]) = match self {
            Self::Garbage => (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n<garbage>", b""),
            Self::Silence => (b"", b""),
            Self::EndlessHead => (b"HTTP/1.1 200 OK\r\n", b"x-more: and more\r\n"),
            Self::EndlessBody => (
                b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
                b"1\r\n \r\n",
            ),
        };
        near.write_all(begin).await?;
        if piece.is_empty() {
            return near.read(&mut [0; 1]).await.map(drop);
        }
        loop {
            near.write_all(piece).await?;
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn an_address_with_another_program_is_told_within_the_limit_and_named() {
    const LIMIT: Duration = Duration::from_millis(500);
    for nonsense in [
        Nonsense::Garbage,
        Nonsense::Silence,
        Nonsense::EndlessHead,
        Nonsense::EndlessBody,
    ] {
        let address = nonsense.listen().await;
        for patience in [Duration::ZERO, LIMIT] {
            let options = ConnectOptions {
                reach_within: patience,
                longest_answer: LIMIT,
                ..options(&address)
            };
            let error = soon(RemoteRuntime::connect(options)).await.err().unwrap();
            assert!(error.to_string().contains(&address), "{nonsense:?}: {error}");
            let is_final = matches!(&error, RuntimeError::Remote { code, .. } if code == "bad_answer");
            assert_eq!(
                is_final,
                matches!(nonsense, Nonsense::Garbage),
                "another program stays another program: {error}"
            );
        }
    }
}

#[tokio::test]
async fn an_answer_that_never_comes_later_ends_at_the_limit() {
    let fake = Fake::start().await;
    let options = ConnectOptions {
        longest_answer: Duration::from_millis(500),
        ..fake.options()
    };
    let runtime = soon(RemoteRuntime::connect(options)).await.unwrap();
    let opened = soon(runtime.open(OpenRequest::New(Box::new(fixture::config())))).await;
    let error = opened.err().unwrap();
    let said = error.to_string();
    assert!(
        said.contains(&fake.address()) && said.contains("did not answer within 0.5 seconds"),
        "{said}"
    );
}
