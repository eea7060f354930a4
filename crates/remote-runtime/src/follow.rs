//! Follows a session of a server: facts as they arrive, and their events, derived here by the same fold as
//! everywhere. A slow reader falls behind and catches up on its own; no other reader notices.
//!
//! # One subscription, many readers
//!
//! All readers of a session in this program share one subscription at the server ([`FeedSubscription`]). It
//! keeps the last few thousand facts, and the state of the session before them, so a second reader that
//! begins near the end needs nothing from the server. For a reader that begins earlier, the session is
//! subscribed again from there; the others skip the facts that they had.
//!
//! A reader takes at most 1,024 deliveries ahead of its front end. One that takes nothing for a while is cut
//! off from the shared stream, remembers its place, and begins again from there when its front end continues.

use std::collections::VecDeque;
use std::sync::Arc;

use agentx_runtime::{
    EventCursor, EventSource, Fact, FollowError, Follower, LiveContent, RuntimeError, SessionFold,
    SessionInfo, SessionReader, SourceItem, SourceStart, Subscription, View,
};
use agentx_types::SessionId;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::environment::{Facts, FeedSubscription};
use crate::http::Query;
use crate::remote_core::RemoteCore;

/// The distance from the end, in facts, at which the client keeps the state of a session, so that later
/// readers need nothing from the server.
const LOOK_BACK: u64 = 4096;

/// The request of a reader.
pub(crate) struct FollowRequest {
    pub(crate) session: SessionId,
    /// The reader has everything that it needs up to this event.
    pub(crate) after_seq: u64,
    /// The requested events: facts, or derived events.
    pub(crate) view: View,
    /// The fact at `after_seq`, if the reader has it: the server must have the same one.
    pub(crate) has: Option<Fact>,
    /// Whether to continue with live events after all existing ones; otherwise the subscription ends there.
    pub(crate) live: bool,
    /// Ends the following, as when its session handle is closed. The reader sees the end of its subscription.
    pub(crate) end: CancellationToken,
}

/// Follows a session. When this returns, the session certainly exists and this person may see it.
pub(crate) async fn follow(
    core: &Arc<RemoteCore>,
    wanted: FollowRequest,
) -> Result<Subscription, RuntimeError> {
    let mut reading = SessionReader::new(
        wanted.view,
        LiveContent::Facts,
        EventCursor::after(wanted.after_seq),
    );
    if let Some(fact) = &wanted.has {
        reading = reading.after_fact(fact.clone());
    }
    if !wanted.live {
        reading = reading.to_the_end();
    }
    let end = wanted.end.clone();
    let source = ConnectedSession {
        core: core.clone(),
        held: core.connection.hold(&wanted.session),
        wanted,
        facts: None,
        first: Vec::new(),
        has_begun: false,
        keeps: None,
    };
    let mut follower = Follower::new(reading, source);
    follower.begin().await?;
    let (subscription, deliver) = follower.subscription();
    tokio::spawn(async move {
        tokio::select! {
            () = deliver => {}
            () = end.cancelled() => {}
        }
    });
    Ok(subscription)
}

/// The last event of a session, by asking.
async fn head(core: &RemoteCore, session: &SessionId) -> Result<u64, RuntimeError> {
    let info: SessionInfo = core
        .http
        .json(Query::get(&["sessions", session.as_str()]))
        .await?;
    Ok(info.last_seq)
}

/// Returns whether a server may give this answer because its session ends before the requested place.
fn may_end_before(error: &RuntimeError) -> bool {
    matches!(error, RuntimeError::Refused(_) | RuntimeError::WentBack { .. })
}

/// Returns the end of the session, if the requested place is beyond it and no reader can have been there;
/// otherwise the error.
async fn end_before(
    core: &RemoteCore,
    wanted: &FollowRequest,
    error: RuntimeError,
) -> Result<u64, RuntimeError> {
    if !may_end_before(&error) || wanted.view == View::Runtime {
        return Err(error);
    }
    let head = head(core, &wanted.session).await?;
    if wanted.after_seq > head {
        Ok(head)
    } else {
        Err(error)
    }
}

/// Translates an error for a reader that already has events: if the session ends before them, its log was
/// rolled back.
async fn or_went_back(
    core: &RemoteCore,
    wanted: &FollowRequest,
    reading: &SessionReader,
    error: RuntimeError,
) -> RuntimeError {
    let seq = reading.known();
    let has_events = reading.overlap() < seq;
    if !has_events || !may_end_before(&error) {
        return error;
    }
    match head(core, &wanted.session).await {
        Ok(head) if head < seq => RuntimeError::WentBack {
            session: wanted.session.clone(),
            seq,
        },
        _ => error,
    }
}

/// The source of a session's facts over a connection: facts after the requested one.
struct ConnectedSession {
    /// The server.
    core: Arc<RemoteCore>,
    /// Keeps the events coming as long as the reader lives.
    held: FeedSubscription,
    wanted: FollowRequest,
    /// The stream of facts that all readers of the session share. `None` before the first fact, and after
    /// the reader was cut off.
    facts: Option<mpsc::Receiver<Facts>>,
    /// Facts that were stored before the reading began.
    first: Vec<Fact>,
    /// Whether the session certainly exists.
    has_begun: bool,
    /// The `seq` from which the state of the session is kept for later readers; `None` once that is done.
    keeps: Option<u64>,
}

impl ConnectedSession {
    /// Subscribes to the facts that the reader needs next. Returns the `seq` of the server's last fact.
    async fn ask(&mut self, reading: &SessionReader) -> Result<u64, RuntimeError> {
        let error = match self.core.connection.follow(&self.held, reading.overlap()).await {
            Ok(began) => return Ok(began.head_seq),
            Err(error) => error,
        };
        if self.has_begun || self.wanted.has.is_some() {
            return Err(or_went_back(&self.core, &self.wanted, reading, error).await);
        }
        // A reader that wants only later facts waits from the end on.
        let head = end_before(&self.core, &self.wanted, error).await?;
        self.held = self.core.connection.hold(&self.wanted.session);
        self.facts = Some(self.held.feed.listen());
        Ok(self.core.connection.follow(&self.held, head).await?.head_seq)
    }

    /// Keeps the state of the session for later readers, once, near its end.
    fn keep(&mut self, reading: &SessionReader) {
        if let (Some(from), Some(fold)) = (self.keeps, reading.fold())
            && fold.last_seq() >= from
            && self.held.feed.remember(fold)
        {
            self.keeps = None;
        }
    }
}

impl EventSource for ConnectedSession {
    /// Waits until the stream begins: for the first time or after a cut, or until the session has ended.
    /// Missed facts are here or arrive again.
    async fn begin(&mut self, reading: &SessionReader) -> Result<SourceStart, FollowError> {
        if let Some(failure) = self.held.feed.ended() {
            let error = self.core.connection.error(failure);
            return Err(or_went_back(&self.core, &self.wanted, reading, error)
                .await
                .into());
        }
        // Listen before the request, so that no later fact is missed.
        self.facts = Some(self.held.feed.listen());
        let folds = reading.view() == View::Runtime && reading.fold().is_none();
        let after = if folds {
            self.wanted.after_seq
        } else {
            reading.overlap()
        };
        let snapshot = self.held.feed.snapshot(after, folds);
        let mut fold = folds.then(|| SessionFold::new(self.wanted.session.clone()));
        let head = match snapshot {
            Some(snapshot) => {
                fold = snapshot.fold.or(fold);
                self.first = snapshot.facts;
                if self.has_begun {
                    None
                } else {
                    Some(head(&self.core, &self.wanted.session).await?)
                }
            }
            None => Some(self.ask(reading).await?),
        };
        if let (Some(head), false) = (head, self.has_begun) {
            self.has_begun = true;
            self.keeps = folds.then(|| head.saturating_sub(LOOK_BACK));
        }
        Ok(SourceStart::Stream {
            head,
            fold: fold.map(Box::new),
        })
    }

    async fn receive(
        &mut self,
        reading: &SessionReader,
        heard: &mut VecDeque<SourceItem>,
    ) -> Result<bool, FollowError> {
        self.keep(reading);
        if !self.first.is_empty() {
            heard.extend(self.first.drain(..).map(SourceItem::Fact));
            return Ok(true);
        }
        let received = match &mut self.facts {
            Some(facts) => facts.recv().await,
            None => None,
        };
        match received {
            Some(facts) => heard.extend(facts.iter().cloned().map(SourceItem::Fact)),
            None => heard.push_back(SourceItem::Cut),
        }
        Ok(true)
    }
}
