//! Reads a session from a subscription of any origin: after a cut, it subscribes again from the reader's
//! place.

use std::collections::VecDeque;
use std::sync::Arc;

use agentx_session::{Delivery, EventCursor, LiveContent, SessionReader, SourceItem, SourceStart, View};
use agentx_types::SessionId;

use super::{EventSource, FollowError, Follower};
use crate::api::{Runtime, RuntimeError, Session, Subscription};
use crate::future::BoxFuture;

/// The number of deliveries that are taken at once.
const AT_ONCE: usize = 256;

/// A source of a session's events that can be read repeatedly.
pub trait StreamSource: Send + Sync {
    /// Returns the events after `after_seq`, then live ones.
    ///
    /// # Errors
    /// Returns an error if the session cannot be read.
    fn subscribe(&self, after_seq: u64) -> BoxFuture<'_, Result<Subscription, RuntimeError>>;
}

/// A session that is open in this process, in one view.
struct Written(Arc<dyn Session>, View);

/// A session that is open here.
pub(crate) fn written(session: Arc<dyn Session>, view: View) -> Arc<dyn StreamSource> {
    Arc::new(Written(session, view))
}

impl StreamSource for Written {
    fn subscribe(&self, after_seq: u64) -> BoxFuture<'_, Result<Subscription, RuntimeError>> {
        self.0.subscribe(after_seq, self.1)
    }
}

/// A session that a runtime only observes, in one view.
struct WatchedSession(Arc<dyn Runtime>, SessionId, View);

/// A session that is only looked at.
fn watched(runtime: Arc<dyn Runtime>, session: SessionId, view: View) -> Arc<dyn StreamSource> {
    Arc::new(WatchedSession(runtime, session, view))
}

impl StreamSource for WatchedSession {
    fn subscribe(&self, after_seq: u64) -> BoxFuture<'_, Result<Subscription, RuntimeError>> {
        self.0.watch(&self.1, after_seq, self.2, true)
    }
}

/// A session by subscriptions, one after another.
pub struct SubscriptionSource {
    source: Arc<dyn StreamSource>,
    /// `None` before the first, and after a cut.
    subscription: Option<Subscription>,
    /// The reason why the last one was cut off.
    cut_off: Option<String>,
    /// The place of the reader when the last one was made, if that was after a cut.
    resumed_at: Option<EventCursor>,
    /// Deliveries that were taken from the subscription and not passed on yet.
    taken: Vec<Delivery>,
}

impl SubscriptionSource {
    /// A source whose subscriptions are made by `source`.
    pub fn to(source: Arc<dyn StreamSource>) -> Self {
        Self {
            source,
            subscription: None,
            cut_off: None,
            resumed_at: None,
            taken: Vec::new(),
        }
    }

    /// A session that is open here.
    pub fn to_session(session: Arc<dyn Session>, view: View) -> Self {
        Self::to(written(session, view))
    }

    /// Creates a source for a session that is only read.
    pub fn to_watched(runtime: Arc<dyn Runtime>, session: SessionId, view: View) -> Self {
        Self::to(watched(runtime, session, view))
    }

    /// Follows it in the view that it is of, from after a place.
    pub fn follow(self, view: View, after: EventCursor) -> Follower<Self> {
        Follower::new(SessionReader::new(view, LiveContent::Derived, after), self)
    }

    /// Passes the deliveries on to the reader.
    fn forward(&mut self, heard: &mut VecDeque<SourceItem>) {
        for delivery in self.taken.drain(..) {
            heard.push_back(match delivery {
                Delivery::Environment(fact) => SourceItem::Fact(fact),
                Delivery::Runtime(event) => SourceItem::Derived(event),
                Delivery::CaughtUp(head) => SourceItem::CaughtUp(head),
                Delivery::CutOff(why) => {
                    self.subscription = None;
                    self.cut_off = Some(why);
                    SourceItem::Cut
                }
            });
        }
    }
}

impl EventSource for SubscriptionSource {
    async fn begin(&mut self, reading: &SessionReader) -> Result<SourceStart, FollowError> {
        let position = reading.position();
        if let (Some(why), true) = (&self.cut_off, self.resumed_at == Some(position)) {
            return Err(FollowError::CutOff(why.clone()));
        }
        self.subscription = Some(self.source.subscribe(reading.overlap()).await?);
        if self.cut_off.take().is_some() {
            self.resumed_at = Some(position);
        }
        Ok(SourceStart::Stream {
            head: None,
            fold: None,
        })
    }

    async fn receive(
        &mut self,
        _: &SessionReader,
        heard: &mut VecDeque<SourceItem>,
    ) -> Result<bool, FollowError> {
        let Some(subscription) = &mut self.subscription else {
            heard.push_back(SourceItem::Cut);
            return Ok(true);
        };
        let count = subscription.deliveries.recv_many(&mut self.taken, AT_ONCE).await;
        self.forward(heard);
        Ok(count > 0)
    }

    fn receive_ready(&mut self, _: &SessionReader, heard: &mut VecDeque<SourceItem>) {
        while self.taken.len() < AT_ONCE
            && let Some(subscription) = &mut self.subscription
            && let Ok(delivery) = subscription.deliveries.try_recv()
        {
            self.taken.push(delivery);
        }
        self.forward(heard);
    }
}
