//! Encodes events as frames, each event once.

use std::sync::Arc;

use agentx_runtime::{Delivery, EventCursor, Fact, RuntimeError, Subscription};
use agentx_types::wire::Problem;
use agentx_types::{Envelope, Vocabulary};
use axum::extract::ws::Utf8Bytes;
use serde_json::Value;
use tokio::sync::mpsc;

use super::{FactSource, Feed, FilteredEvent, Frame, ViewFold};

/// The number of deliveries that are taken at once.
const AT_ONCE: usize = 256;
/// The size above which an encoder's scratch memory is freed after an event.
const SCRATCH: usize = 64 * 1024;
/// The number of facts that are read at once.
const PAGE: usize = 1024;
/// Number of facts after which another fold is kept for later readers.
const KEEP_EVERY: u64 = 8192;
/// Number of facts before the beginning of the feed at which a fold is kept too.
const LOOK_BACK: u64 = 4096;

/// Encodes events as frames of the wire protocol.
#[derive(Debug, Default)]
pub struct FrameEncoder {
    scratch: Vec<u8>,
}

impl FrameEncoder {
    /// Returns the frame of an event. `None` if it cannot be written as JSON, which never happens.
    pub fn frame<E: Vocabulary + FilteredEvent>(&mut self, event: &Envelope<E>) -> Option<Frame> {
        self.scratch.clear();
        if let Err(error) = serde_json::to_writer(&mut self.scratch, event) {
            tracing::error!(session = %event.session_id, seq = event.seq, %error, "an event cannot be encoded");
            return None;
        }
        let text = std::str::from_utf8(&self.scratch).unwrap_or_default();
        let frame = Frame {
            place: EventCursor::of(event),
            text: Utf8Bytes::from(text),
            agent: event.agent_state_id.clone(),
            medium: event.event.medium(),
        };
        if self.scratch.capacity() > SCRATCH {
            self.scratch = Vec::new();
        }
        Some(frame)
    }
}

/// Encodes facts and fills a feed with the frames.
pub(crate) struct FeedPump {
    pub(crate) feed: Arc<Feed>,
    pub(crate) source: Arc<dyn FactSource>,
    /// The state before the first fact of `facts`, or before an earlier one.
    pub(crate) fold: ViewFold,
    /// The facts after the start of the feed, as they come.
    pub(crate) facts: Subscription,
    /// A subscription from a better source, if one comes: it may begin earlier, but not after the last fact
    /// of `facts`.
    pub(crate) later: mpsc::Receiver<Subscription>,
}

impl FeedPump {
    /// Encodes facts until the subscription ends, and then ends the feed. Calls `overrun` with the number of
    /// readers that were too slow.
    pub(crate) async fn run(mut self, overrun: impl Fn(usize)) {
        let end = match self.fill(overrun).await {
            Ok(why) => why,
            Err(error) => error.to_string(),
        };
        self.feed.end(Problem {
            code: "gone".into(),
            detail: end,
            retry_after_ms: Some(1000),
            data: Value::Null,
        });
    }

    async fn fill(&mut self, overrun: impl Fn(usize)) -> Result<String, RuntimeError> {
        self.look_back().await?;
        let mut kept = self.fold.at();
        let mut encoder = FrameEncoder::default();
        let (mut waiting, mut frames) = (Vec::new(), Vec::new());
        while self.take(&mut waiting).await > 0 {
            for delivery in waiting.drain(..) {
                match delivery {
                    Delivery::Environment(fact) if fact.seq > self.fold.at() => {
                        self.fold.look(&fact, &mut encoder, |frame| frames.push(frame));
                    }
                    Delivery::Environment(_) | Delivery::Runtime(_) | Delivery::CaughtUp(_) => {}
                    Delivery::CutOff(why) => {
                        self.feed.publish(&mut frames, self.fold.at());
                        return Ok(why);
                    }
                }
            }
            overrun(self.feed.publish(&mut frames, self.fold.at()));
            if self.fold.at() >= kept + KEEP_EVERY {
                kept = self.fold.at();
                self.source.keep(self.fold.clone());
            }
        }
        Ok("the session was closed".into())
    }

    /// Takes the available deliveries and returns their number; 0 at the end.
    async fn take(&mut self, waiting: &mut Vec<Delivery>) -> usize {
        loop {
            tokio::select! {
                biased;
                Some(facts) = self.later.recv() => self.facts = facts,
                many = self.facts.deliveries.recv_many(waiting, AT_ONCE) => return many,
            }
        }
    }

    /// Folds the facts up to the start of the feed.
    async fn look_back(&mut self) -> Result<(), RuntimeError> {
        let begin = self.feed.mark();
        let keep = begin.saturating_sub(LOOK_BACK);
        self.fold.skip_to(begin);
        while self.fold.at() < begin {
            let facts = self.source.facts(self.fold.at(), PAGE).await?;
            if facts.is_empty() {
                return Ok(());
            }
            for fact in facts.iter().filter(|fact| fact.seq <= begin) {
                self.pass(fact, keep);
            }
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    fn pass(&mut self, fact: &Fact, keep: u64) {
        self.fold.pass(fact);
        if self.fold.at() == keep {
            self.source.keep(self.fold.clone());
        }
    }
}
