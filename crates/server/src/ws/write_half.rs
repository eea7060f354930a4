//! The writing half of a connection: answers and notices, events of its subscriptions, and heartbeats.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use agentx_runtime::{LogError, RuntimeError};
use agentx_types::SessionId;
use agentx_types::wire::{CaughtUp, Heartbeat, Problem, Unsubscribed};
use tokio::time::{Instant, Sleep};

use super::frames::ConnectionEnd;
use super::shared::SocketShared;
use super::wire::{FrameBatch, Sink};
use super::writer_task::{ClientSubscription, WriterTask};
use crate::actions::session_actions::to_problem;
use crate::auth::Identity;
use crate::feed::{FeedItem, FeedReader, Frame};
use crate::outbox::{NextFrame, OutboxItem, encode};

/// The number of frames, and of bytes, of one subscription before another one gets a turn.
const TURN: (usize, usize) = (256, 64 * 1024);
/// The number of bytes that are gathered before they are sent.
const GATHER: usize = 128 * 1024;
/// The number of answers and notices that are sent before the subscriptions get a turn.
const NOTICES: usize = 256;

/// The writing half of a connection.
pub(super) struct SocketWriter {
    shared: Arc<SocketShared>,
    subscriptions: Vec<ClientSubscription>,
    /// The index of the subscription whose turn it is.
    turn: usize,
    heartbeat: Pin<Box<Sleep>>,
    /// The generation of the operator's trust list at the last access check.
    trust: u64,
}

impl SocketWriter {
    pub(super) fn new(shared: Arc<SocketShared>) -> Self {
        let every = shared.state.options().limits.heartbeat;
        Self {
            shared,
            subscriptions: Vec::new(),
            turn: 0,
            heartbeat: Box::pin(tokio::time::sleep(every)),
            trust: 0,
        }
    }

    /// Writes until the connection has to end.
    pub(super) async fn run(mut self, sink: &mut Sink) -> ConnectionEnd {
        loop {
            let batch = std::future::poll_fn(|cx| self.poll_batch(cx)).await;
            let sent = match batch {
                Ok(batch) => self.send(sink, batch).await,
                Err(end) => return end,
            };
            if let Err(end) = sent {
                return end;
            }
        }
    }

    async fn send(&mut self, sink: &mut Sink, batch: FrameBatch) -> Result<(), ConnectionEnd> {
        let counts = self.shared.state.counts();
        counts.sent.add(batch.frames());
        counts.sent_bytes.add(batch.len() as u64);
        let stalled = self.shared.state.options().limits.stalled;
        tokio::select! {
            biased;
            written = sink.send(batch) => written.map_err(|_| ConnectionEnd::Gone),
            () = std::future::poll_fn(|cx| self.poll_over(cx)) => Err(ConnectionEnd::too_slow()),
            () = tokio::time::sleep(stalled) => Err(ConnectionEnd::too_slow()),
        }
    }

    /// Checks whether a subscription has overflowed while nothing can be sent.
    fn poll_over(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let slots = self
            .subscriptions
            .iter()
            .map(|subscription| subscription.reader.slot());
        let overrun = slots
            .filter(|slot| slot.poll_over(cx).is_ready())
            .any(|slot| slot.is_overrun());
        if overrun || self.shared.outbox.poll_overrun(cx).is_ready() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    /// Collects the next frames to send.
    fn poll_batch(&mut self, cx: &mut Context<'_>) -> Poll<Result<FrameBatch, ConnectionEnd>> {
        let mut batch = FrameBatch::default();
        let mut frames = Vec::new();
        if let Err(end) = self
            .check_trust()
            .and_then(|()| self.take_notices(cx, &mut batch))
        {
            return Poll::Ready(Err(end));
        }
        let count = self.subscriptions.len();
        let mut ended = Vec::new();
        for offset in 0..count {
            let index = (self.turn + offset) % count;
            if batch.len() >= GATHER {
                // There is more; it is read when this is sent.
                self.turn = index;
                break;
            }
            match self.take_events(index, cx, &mut frames, &mut batch) {
                Ok(None) => {}
                Ok(Some(problem)) => ended.push((index, problem)),
                Err(end) => return Poll::Ready(Err(end)),
            }
        }
        ended.sort_unstable_by_key(|(index, _)| std::cmp::Reverse(*index));
        for (index, problem) in ended {
            self.drop_subscription(index, problem, &mut batch);
        }
        if self.heartbeat.as_mut().poll(cx).is_ready()
            && let Err(end) = self.beat(cx, &mut batch)
        {
            return Poll::Ready(Err(end));
        }
        if batch.len() == 0 {
            Poll::Pending
        } else {
            Poll::Ready(Ok(batch))
        }
    }

    /// Checks that the client is still trusted; if not, nothing more is sent.
    fn check_trust(&mut self) -> Result<(), ConnectionEnd> {
        let auth = self.shared.state.auth();
        let trust = auth.trust_generation();
        if std::mem::replace(&mut self.trust, trust) == trust {
            return Ok(());
        }
        match &*self.shared.identity() {
            Some(identity) if !auth.still_knows(identity) => Err(ConnectionEnd::not_trusted()),
            _ => Ok(()),
        }
    }

    fn take_notices(&mut self, cx: &mut Context<'_>, batch: &mut FrameBatch) -> Result<(), ConnectionEnd> {
        for _ in 0..NOTICES {
            match self.shared.outbox.poll_next(cx) {
                Poll::Pending => return Ok(()),
                Poll::Ready(NextFrame::Overrun) => return Err(ConnectionEnd::too_slow()),
                Poll::Ready(NextFrame::Item(OutboxItem::Task(WriterTask::Attach(subscription)))) => {
                    self.shared.state.counts().subscriptions.add(1);
                    self.subscriptions.push(*subscription);
                }
                Poll::Ready(NextFrame::Item(OutboxItem::Task(WriterTask::Detach(session)))) => {
                    let known = |subscription: &ClientSubscription| subscription.session == session;
                    if let Some(index) = self.subscriptions.iter().position(known) {
                        self.remove(index);
                    }
                }
                Poll::Ready(NextFrame::Item(said)) => batch.item(&said),
            }
        }
        cx.waker().wake_by_ref();
        Ok(())
    }

    /// Moves the available frames of a subscription into the batch. `Some` if it has ended.
    fn take_events(
        &mut self,
        index: usize,
        cx: &mut Context<'_>,
        frames: &mut Vec<Frame>,
        batch: &mut FrameBatch,
    ) -> Result<Option<Problem>, ConnectionEnd> {
        let Some(subscription) = self.subscriptions.get_mut(index) else {
            return Ok(None);
        };
        while batch.len() < GATHER {
            let step = subscription.reader.poll_next(cx, TURN, frames);
            for frame in frames.drain(..) {
                batch.text(&frame.text);
            }
            match step {
                Poll::Pending => return Ok(None),
                // Others get a turn; this one continues when this is sent.
                Poll::Ready(FeedItem::Frames) => return Ok(None),
                Poll::Ready(FeedItem::CaughtUp(seq)) => {
                    let session_id = subscription.session.clone();
                    batch.text(&encode(&CaughtUp { session_id, seq }.into()));
                }
                Poll::Ready(FeedItem::Overrun) => return Err(ConnectionEnd::too_slow()),
                Poll::Ready(FeedItem::Ended(problem)) => return Ok(Some(problem)),
            }
        }
        Ok(None)
    }

    fn drop_subscription(&mut self, index: usize, problem: Problem, batch: &mut FrameBatch) {
        let session_id = self.remove(index);
        self.shared.subscriptions().remove(&session_id);
        batch.text(&encode(&Unsubscribed { session_id, problem }.into()));
    }

    fn remove(&mut self, index: usize) -> SessionId {
        self.turn = 0;
        self.shared.state.counts().subscriptions.sub(1);
        self.subscriptions.swap_remove(index).session
    }

    /// Sends a heartbeat, and checks whether the client still has access.
    fn beat(&mut self, cx: &mut Context<'_>, batch: &mut FrameBatch) -> Result<(), ConnectionEnd> {
        let state = &self.shared.state;
        let every = state.options().limits.heartbeat.max(Duration::from_millis(1));
        self.heartbeat.as_mut().reset(Instant::now() + every);
        if self.heartbeat.as_mut().poll(cx).is_ready() {
            cx.waker().wake_by_ref();
        }
        let identity = self.shared.identity();
        if identity
            .as_ref()
            .is_some_and(|identity| !state.auth().still_knows(identity))
        {
            return Err(ConnectionEnd::not_trusted());
        }
        if let Some(identity) = identity.as_ref() {
            self.look_again(identity);
        }
        drop(identity);
        let at = state.now().0;
        let readers = self.subscriptions.iter().map(|subscription| &subscription.reader);
        let seen = readers.filter_map(FeedReader::seen).collect();
        batch.text(&encode(&Heartbeat { at, seen }.into()));
        batch.ping();
        Ok(())
    }

    /// Checks access again to sessions that another process writes: this process is not notified of changes
    /// there.
    fn look_again(&self, identity: &Identity) {
        let caller = identity.at("", &self.shared.address);
        let foreign = |subscription: &&ClientSubscription| subscription.membership.room().session().is_none();
        for subscription in self.subscriptions.iter().filter(foreign) {
            let (state, caller) = (self.shared.state.clone(), caller.clone());
            let (session, slot) = (subscription.session.clone(), subscription.reader.slot().clone());
            tokio::spawn(async move {
                if let Err(error @ RuntimeError::Log(LogError::NotFound(_))) =
                    state.role_of(&caller, &session).await
                {
                    slot.end(*to_problem(&error));
                }
            });
        }
    }
}

impl Drop for SocketWriter {
    fn drop(&mut self) {
        let open = self.subscriptions.len() as u64;
        self.shared.state.counts().subscriptions.sub(open);
    }
}
