//! Many who read a long session at once, and those who want something else meanwhile.
#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests"
)]

use std::time::Duration;

use crate::support::*;
use agentx_types::ApprovalMode;
use futures_util::{StreamExt as _, stream};
use serde_json::json;
use tokio::net::TcpSocket;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{MaybeTlsStream, client_async};

/// A session of somebody with one message of so many bytes.
async fn long_session(world: &World, client: &mut Client, bytes: usize) -> agentx_types::SessionId {
    let session = world.session(ApprovalMode::Auto).await;
    let payload = json!({"session_id": session, "content": "long ".repeat(bytes / 5)});
    client.accepted("user_message", payload).await;
    session
}

/// The length of the message. The system keeps less of a connection that nobody reads: on Linux at most 4 MiB
/// at the server (`net.ipv4.tcp_wmem`), and [`TAKES`] at the reader.
const LONG: usize = 5_000_000;
/// The receive buffer of a reader.
const TAKES: u32 = 64 << 10;
const READERS: usize = 12;

/// Somebody who takes no more than they read.
async fn reader(world: &World, name: &str) -> Client {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(TAKES).unwrap();
    let address = world.url.strip_prefix("http://").unwrap().parse().unwrap();
    let stream = MaybeTlsStream::Plain(within(socket.connect(address)).await.unwrap());
    let request = socket_url(&world.url).into_client_request().unwrap();
    let (socket, _) = within(client_async(request, stream)).await.unwrap();
    let mut client = Client::of(socket);
    let hello = client.notice("hello").await;
    client.authenticate(&hello, &world.operator, name).await;
    client
}

/// Reads without a look at what is long; how many bytes came.
async fn until_caught_up(reader: &mut Client) -> usize {
    let mut bytes = 0;
    loop {
        let message = within(reader.socket.next()).await.unwrap().unwrap();
        let text = message.to_text().unwrap_or_default();
        bytes += text.len();
        if text.len() < 1000 && text.contains("caught_up") {
            return bytes;
        }
    }
}

/// Readers, of whom none has got all of the message before the others are answered: were the others served
/// after any of them, they would wait for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_many_read_a_long_message_others_go_on() {
    let mut options = options();
    options.limits.frame_bytes = 2 * LONG;
    // Nobody is cut off for taking nothing, however long this takes.
    options.limits.stalled = Duration::from_secs(3600);
    options.limits.silence = Duration::from_secs(3600);
    options.limits.waiting_bytes_per_person = 1 << 30;
    options.limits.waiting_bytes_in_all = 1 << 30;
    let world = World::with(options).await;
    let mut desk = world.client("desk").await;
    let session = long_session(&world, &mut desk, LONG).await;
    let mut readers = Vec::new();
    for (n, view) in ["environment", "runtime", "ui"]
        .iter()
        .cycle()
        .take(READERS)
        .enumerate()
    {
        let mut reader = reader(&world, &format!("reader{n}")).await;
        let payload = json!({"session_id": session, "after_seq": 0, "view": view});
        reader.send("subscribe", payload).await;
        readers.push(reader);
    }
    // No reader receives anything yet: a permit ends when its piece is read from the log, not when the client
    // receives it.
    let other = world.session(ApprovalMode::Auto).await;
    desk.say(&other, "echo one").await;
    let mut late = world.client("late").await;
    late.subscribe(&other, 0, "ui").await;
    late.notice("caught_up").await;
    let read = stream::iter(readers).then(|mut reader| async move { until_caught_up(&mut reader).await });
    let read: Vec<usize> = read.collect().await;
    assert!(
        read.iter().all(|bytes| *bytes > LONG),
        "all of them wait for it: {read:?}"
    );
    assert_eq!(world.state.counts().overrun.get(), 0, "and none was cut off");
    world.end().await;
}
