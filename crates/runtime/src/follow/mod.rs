//! Following a session: replay and live as one stream, without gaps or duplicates. [`SessionReader`] decides
//! the next step; [`Follower`] executes it on an [`EventSource`]. A slow reader loses no events: the source
//! cuts it off, and it continues from the log, by `seq`.

mod on_bus;
mod pages;
mod subscribed;

use std::collections::VecDeque;
use std::future::{Future, ready};
use std::sync::Arc;

use agentx_secrets::Redactor;
use agentx_session::{
    Delivery, EventCursor, Fact, LiveContent, PastRequest, ReaderStep, SessionReader, SourceItem,
    SourceStart, View,
};
use agentx_types::SessionId;
use tokio::sync::{mpsc, watch};

use crate::api::{RuntimeError, Subscription};
use crate::commands::DriverStatus;
use crate::commands::SessionCommand;
use crate::log::SessionLog;
use crate::system_events::SystemEvents;
use agentx_session::SessionFold;

pub(crate) use on_bus::BusSource;
use on_bus::FollowedDriver;
use pages::LogPollSource;
pub(crate) use pages::Pages;
pub(crate) use subscribed::written;
pub use subscribed::{StreamSource, SubscriptionSource};

/// The number of deliveries that may wait for the reader of a subscription; then its follower waits, and is
/// cut off by its source.
const READER_CAPACITY: usize = 1024;
/// The number of deliveries that are passed on together.
const AT_ONCE: usize = 256;
/// Maximum number of events that the bus keeps for a follower before it cuts the follower off.
const BUS_CAPACITY: usize = 8192;

/// The source of the events of a session. Its futures can be dropped while they wait: the next call
/// continues.
pub trait EventSource: Send {
    /// Begins to bring events, also again after a cut, so that nothing after [`SessionReader::known`] is
    /// missing; as a stream, nothing after [`SessionReader::overlap`].
    fn begin(
        &mut self,
        reading: &SessionReader,
    ) -> impl Future<Output = Result<SourceStart, FollowError>> + Send;

    /// Reads past events. The follower does not call this for a source that pushes them.
    fn read(&mut self, _wanted: PastRequest) -> impl Future<Output = Result<PastEvents, FollowError>> + Send {
        ready(Ok(PastEvents::Facts(Vec::new())))
    }

    /// Waits for items, and adds them to `heard`. Returns `false` if the session has ended.
    fn receive(
        &mut self,
        reading: &SessionReader,
        heard: &mut VecDeque<SourceItem>,
    ) -> impl Future<Output = Result<bool, FollowError>> + Send;

    /// Adds the items that have already come to `heard`, without waiting.
    fn receive_ready(&mut self, _reading: &SessionReader, _heard: &mut VecDeque<SourceItem>) {}
}

/// The events from before the source began.
#[derive(Debug)]
pub enum PastEvents {
    /// The state of the session.
    Fold(Box<SessionFold>),
    /// Facts, in order; empty at the end.
    Facts(Vec<Fact>),
}

/// The reason why a session cannot be followed on.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// The events cannot be read.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// The source was cut off again before anything new came, or some events did not come.
    #[error("{0}")]
    CutOff(String),
}

impl From<FollowError> for RuntimeError {
    fn from(error: FollowError) -> Self {
        match error {
            FollowError::Runtime(error) => error,
            FollowError::CutOff(why) => Self::Refused(why),
        }
    }
}

/// Follows a session: delivers each event after its start, once and in order, until the session ends.
pub struct Follower<S> {
    reading: SessionReader,
    source: S,
    /// Events from the source that are not processed yet.
    heard: VecDeque<SourceItem>,
}

impl<S: EventSource> Follower<S> {
    /// Follows the session of `reading`.
    pub fn new(reading: SessionReader, source: S) -> Self {
        Self {
            reading,
            source,
            heard: VecDeque::new(),
        }
    }

    /// Begins, if it has not begun: from now on, the session is known to be there.
    ///
    /// # Errors
    /// Returns an error if it cannot be followed.
    pub async fn begin(&mut self) -> Result<(), FollowError> {
        if self.reading.is_cut() {
            let began = self.source.begin(&self.reading).await?;
            self.heard.clear();
            self.reading.source_began(began);
        }
        Ok(())
    }

    /// The next delivery; `None` at the end. It can be dropped while it waits.
    ///
    /// # Errors
    /// Returns an error if the session cannot be followed further. If it cannot be reached, the call may be
    /// repeated.
    pub async fn next(&mut self) -> Result<Option<Delivery>, FollowError> {
        loop {
            match self.step() {
                ReaderStep::Deliver(delivery) => return Ok(Some(delivery)),
                ReaderStep::Begin => self.begin().await?,
                ReaderStep::Read(wanted) => match self.source.read(wanted).await? {
                    PastEvents::Fold(fold) => self.reading.folded(fold),
                    PastEvents::Facts(facts) => self.reading.page(facts),
                },
                ReaderStep::Wait => {
                    if !self.source.receive(&self.reading, &mut self.heard).await? {
                        return Ok(None);
                    }
                }
                ReaderStep::End => return Ok(None),
                ReaderStep::Missing(gap) => return Err(FollowError::CutOff(gap.to_string())),
                ReaderStep::WentBack(session, seq) => {
                    return Err(RuntimeError::WentBack { session, seq }.into());
                }
            }
        }
    }

    /// Returns the next delivery if it is available without waiting. Deliveries from the log are not.
    pub fn try_next(&mut self) -> Option<Delivery> {
        loop {
            match self.step() {
                ReaderStep::Deliver(delivery) => return Some(delivery),
                ReaderStep::Wait => self.source.receive_ready(&self.reading, &mut self.heard),
                ReaderStep::Begin
                | ReaderStep::Read(_)
                | ReaderStep::End
                | ReaderStep::Missing(_)
                | ReaderStep::WentBack(..) => {
                    return None;
                }
            }
            if self.heard.is_empty() {
                return None;
            }
        }
    }

    /// Adds the next deliveries to `out`: at least one, at most `limit`. Returns `false` at the end.
    ///
    /// # Errors
    /// Returns an error for the same reasons as [`Follower::next`].
    pub async fn next_many(&mut self, out: &mut Vec<Delivery>, limit: usize) -> Result<bool, FollowError> {
        let Some(first) = self.next().await? else {
            return Ok(false);
        };
        out.push(first);
        while out.len() < limit
            && let Some(delivery) = self.try_next()
        {
            out.push(delivery);
        }
        Ok(true)
    }

    /// Returns the position up to which everything was delivered.
    pub fn position(&self) -> EventCursor {
        self.reading.position()
    }

    /// Returns the next step that needs more than the events that the source returned.
    fn step(&mut self) -> ReaderStep {
        loop {
            let step = self.reading.step();
            if !matches!(step, ReaderStep::Wait) {
                return step;
            }
            let Some(heard) = self.heard.pop_front() else {
                return step;
            };
            self.reading.feed(heard);
        }
    }
}

impl<S: EventSource + 'static> Follower<S> {
    /// A bounded subscription to the deliveries of this follower, and the future that makes them.
    pub fn subscription(self) -> (Subscription, impl Future<Output = ()> + Send) {
        let (out, deliveries) = mpsc::channel(READER_CAPACITY);
        (Subscription { deliveries }, self.deliver(out))
    }

    /// Delivers until the session ends or the reader is gone.
    async fn deliver(mut self, out: mpsc::Sender<Delivery>) {
        let mut batch = Vec::new();
        let mut goes_on = true;
        while goes_on {
            let more = tokio::select! {
                biased;
                more = self.next_many(&mut batch, AT_ONCE) => more,
                () = out.closed() => return,
            };
            goes_on = more.unwrap_or_else(|error| {
                batch.push(Delivery::CutOff(error.to_string()));
                false
            });
            let Ok(places) = out.reserve_many(batch.len()).await else {
                return;
            };
            for (place, delivery) in places.zip(batch.drain(..)) {
                place.send(delivery);
            }
        }
    }
}

/// The parts that a follower of a session of this process needs.
#[derive(Clone)]
pub(crate) struct LiveSource {
    pub(crate) session: SessionId,
    /// The log in which its past is read.
    pub(crate) log: Arc<dyn SessionLog>,
    /// The bus on which its facts and their meaning are published.
    pub(crate) bus: SystemEvents,
    /// The commands of its driver, which knows the last committed fact.
    pub(crate) commands: mpsc::Sender<SessionCommand>,
    /// Replaces secrets in messages before they are compared with recorded ones.
    pub(crate) redactor: Option<Redactor>,
    /// The status of its driver: the end of the driver is the end of the stream.
    pub(crate) status: watch::Receiver<DriverStatus>,
    /// The state of the session some time before it was opened: followers that want only later events begin
    /// here.
    pub(crate) remembered: Option<Arc<SessionFold>>,
}

/// Follows a session of this process from after `after_seq`.
pub(crate) fn live(live: LiveSource, after_seq: u64, view: View) -> Subscription {
    let reading = SessionReader::new(view, LiveContent::Derived, EventCursor::after(after_seq));
    let pages = Pages {
        session: live.session,
        log: live.log,
        remembered: live.remembered,
    };
    let driver = FollowedDriver {
        commands: live.commands,
        status: live.status,
    };
    spawned(Follower::new(
        reading,
        BusSource::of_session(pages, live.bus, driver),
    ))
}

/// Reads a session that any process writes, starting after `after_seq`. With `follow`, it keeps reading as
/// facts are added.
pub fn watch_log(
    log: Arc<dyn SessionLog>,
    session: SessionId,
    after_seq: u64,
    view: View,
    follow: bool,
) -> Subscription {
    let mut reading = SessionReader::new(view, LiveContent::Facts, EventCursor::after(after_seq));
    if !follow {
        reading = reading.to_the_end();
    }
    let pages = Pages {
        session,
        log,
        remembered: None,
    };
    spawned(Follower::new(reading, LogPollSource(pages)))
}

/// A subscription whose follower runs in its own task.
fn spawned<S: EventSource + 'static>(follower: Follower<S>) -> Subscription {
    let (subscription, deliver) = follower.subscription();
    tokio::spawn(deliver);
    subscription
}
