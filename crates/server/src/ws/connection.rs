//! A WebSocket connection, from `hello` to its end: one task that reads and writes at the same time.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use hyper::upgrade::Upgraded;

use super::SocketOpening;
use super::frames::ConnectionEnd;
use super::read_half::SocketReader;
use super::shared::SocketShared;
use super::wire::{ClientStream, FrameBatch, Sink, halves};
use super::write_half::SocketWriter;
use super::writer_task::WriterTask;
use crate::outbox::{OutboxItem, encode};
use crate::state::ServerState;

/// The time limit of a connection's last frames.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Serves a socket until it ends.
pub(super) async fn run(state: Arc<ServerState>, socket: Upgraded, entry: SocketOpening) {
    state.counts().sockets.add(1);
    let limits = &state.options().limits;
    let shared = Arc::new(SocketShared::new(state.clone(), &entry));
    let (mut stream, mut sink) = halves(
        socket,
        (shared.outbox.clone(), shared.allowance.clone()),
        limits.frame_bytes,
    )
    .await;
    let end = {
        let reading = Box::pin(SocketReader::new(shared.clone(), entry).run(&mut stream));
        let writing = Box::pin(SocketWriter::new(shared.clone()).run(&mut sink));
        tokio::select! {
            // Outgoing frames go first: a client that floods the server still gets its answers.
            biased;
            end = writing => end,
            end = reading => end,
            () = state.shutdown().cancelled() => ConnectionEnd::shutdown(),
        }
    };
    let unsaid = shared.outbox.drain();
    shared.outbox.close();
    let last_words = last_words(&mut sink, &mut stream, unsaid, end);
    // A client that does not read does not get them.
    let _ = tokio::time::timeout(LAST_WORDS, last_words).await;
    state.counts().sockets.sub(1);
}

/// Sends the queued frames and the reason of the end, and then reads the client's last frames, so that ours
/// are not lost.
async fn last_words(
    sink: &mut Sink,
    stream: &mut ClientStream,
    unsaid: Vec<OutboxItem<WriterTask>>,
    end: ConnectionEnd,
) -> std::io::Result<()> {
    let mut batch = FrameBatch::default();
    unsaid.iter().for_each(|said| batch.item(said));
    let ConnectionEnd::Bye(bye) = end else {
        sink.send(batch).await?;
        return sink.end().await;
    };
    tracing::debug!(code = bye.code, reason = bye.reason, "connection closed");
    batch.text(&encode(&bye.clone().into()));
    batch.close(&bye);
    sink.send(batch).await?;
    let broke = loop {
        match stream.next().await {
            Some(Ok(_)) => {}
            Some(Err(_)) => break true,
            None => break false,
        }
    };
    sink.end().await?;
    if broke {
        // Frames that still arrive are no longer handled. If they were not read, our last frames could be
        // lost.
        stream.get_mut().discard().await?;
    }
    Ok(())
}
