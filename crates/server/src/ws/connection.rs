//! A WebSocket connection, from `hello` to its end: one task that reads and writes at the same time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentx_types::SessionId;
use agentx_types::wire::WireView;
use futures_util::StreamExt as _;
use hyper::upgrade::Upgraded;

use super::SocketOpening;
use super::allowance::Allowance;
use super::frames::ConnectionEnd;
use super::read_half::SocketReader;
use super::wire::{ClientStream, FrameBatch, Sink, halves};
use super::write_half::{SocketWriter, WriterTask};
use crate::auth::Identity;
use crate::connection_limits::Permit;
use crate::outbox::{Outbox, OutboxItem, encode};
use crate::state::ServerState;

/// The time limit of a connection's last frames.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The state that the two halves of a connection share.
pub(super) struct SocketShared {
    pub(super) state: Arc<ServerState>,
    pub(super) outbox: Arc<Outbox<WriterTask>>,
    /// The number of bytes that it may still send.
    pub(super) allowance: Arc<Allowance>,
    /// The connection's place in the server's limit.
    pub(super) permit: Option<Permit>,
    /// The address, as it is counted.
    pub(super) address: String,
    /// The subscriptions. The reading half adds them, the writing half removes those that ended.
    subscriptions: Mutex<HashMap<SessionId, WireView>>,
    /// The identity, as soon as it is known.
    identity: Mutex<Option<Identity>>,
}

impl SocketShared {
    pub(super) fn subscriptions(&self) -> MutexGuard<'_, HashMap<SessionId, WireView>> {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn identity(&self) -> MutexGuard<'_, Option<Identity>> {
        self.identity.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves a socket until it ends.
pub(super) async fn run(state: Arc<ServerState>, socket: Upgraded, entry: SocketOpening) {
    state.counts().sockets.add(1);
    let limits = &state.options().limits;
    let shared = Arc::new(SocketShared {
        outbox: Arc::new(Outbox::new(limits.waiting())),
        allowance: Arc::new(Allowance::new()),
        permit: entry.permit.clone(),
        address: entry.address.clone(),
        subscriptions: Mutex::default(),
        identity: Mutex::default(),
        state: state.clone(),
    });
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
