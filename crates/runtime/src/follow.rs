//! Following a session: replay and live as one stream, without a gap or a double. A reader that is too slow loses nothing
//! but time: it is cut off from the bus and comes back from the log, by `seq`.

use std::sync::Arc;
use std::time::Duration;

use agentx_bus::{Delivery as BusDelivery, Filter, Queue};
use agentx_types::{Envelope, RuntimeEvent, SessionId};
use tokio::sync::{mpsc, oneshot, watch};

use crate::driver::Command;
use crate::folding::fold_on;
use crate::{
    Delivery, Derived, DriverStatus, RuntimeError, SessionFold, SessionLog, Subscription, SystemBus,
    SystemEvent, View,
};

/// How many deliveries may wait for the reader; then the follower waits, and the bus cuts it off.
const READER_CAPACITY: usize = 1024;
/// How many events the bus keeps for a follower before it cuts it off.
const BUS_CAPACITY: usize = 8192;
/// Facts are read in pages of so many.
const PAGE: usize = 1024;
/// How often a session of another process is looked at.
const POLL: Duration = Duration::from_millis(100);

/// What a follower of a session of this process needs.
#[derive(Clone)]
pub(crate) struct Live {
    pub(crate) session: SessionId,
    pub(crate) log: Arc<dyn SessionLog>,
    pub(crate) bus: SystemBus,
    pub(crate) commands: mpsc::Sender<Command>,
    pub(crate) status: watch::Receiver<DriverStatus>,
    /// How the session stood some time before it was opened: followers that want only what is later begin here.
    pub(crate) remembered: Option<Arc<SessionFold>>,
}

/// Follows a session of this process from after `after_seq`.
pub(crate) fn live(live: Live, after_seq: u64, view: View) -> Subscription {
    let (out, deliveries) = mpsc::channel(READER_CAPACITY);
    tokio::spawn(async move {
        let mut follower = Follower {
            session: live.session.clone(),
            log: live.log.clone(),
            view,
            sent: after_seq,
            remembered: live.remembered.clone(),
            last: (after_seq, u32::MAX),
            out,
        };
        if let Err(end) = follower.follow_live(live).await {
            follower.end(end).await;
        }
    });
    Subscription { deliveries }
}

/// Reads a session that any process writes, from after `after_seq`; where `follow` is set, it goes on with what is added.
pub fn watch_log(
    log: Arc<dyn SessionLog>,
    session: SessionId,
    after_seq: u64,
    view: View,
    follow: bool,
) -> Subscription {
    let (out, deliveries) = mpsc::channel(READER_CAPACITY);
    tokio::spawn(async move {
        let mut follower = Follower {
            session,
            log,
            view,
            sent: after_seq,
            remembered: None,
            last: (after_seq, u32::MAX),
            out,
        };
        if let Err(end) = follower.follow_log(follow).await {
            follower.end(end).await;
        }
    });
    Subscription { deliveries }
}

/// Why a follower stops.
enum End {
    /// Nobody reads any more.
    ReaderGone,
    /// The session is closed.
    Closed,
    /// It cannot go on.
    Failed(String),
}

impl From<RuntimeError> for End {
    fn from(error: RuntimeError) -> Self {
        Self::Failed(error.to_string())
    }
}

struct Follower {
    session: SessionId,
    log: Arc<dyn SessionLog>,
    view: View,
    /// Everything up to this `seq` was delivered.
    sent: u64,
    /// A fold to begin with, where it is not later than what was delivered.
    remembered: Option<Arc<SessionFold>>,
    /// The last derived event that was delivered: what comes again after a cut is passed over up to here.
    last: (u64, u32),
    out: mpsc::Sender<Delivery>,
}

impl Follower {
    async fn end(&self, end: End) {
        if let End::Failed(why) = end {
            let _ = self.out.send(Delivery::CutOff(why)).await;
        }
    }

    async fn send(&self, delivery: Delivery) -> Result<(), End> {
        self.out.send(delivery).await.map_err(|_| End::ReaderGone)
    }

    async fn follow_live(&mut self, mut live: Live) -> Result<(), End> {
        let mut first = true;
        loop {
            // Registered before the head is asked for: what is committed after it comes by the bus.
            let filter = Filter::all().session(self.session.as_str());
            let mut bus = match live
                .bus
                .subscribe("follower", filter, Queue::cut_off(BUS_CAPACITY))
            {
                Ok(bus) => bus,
                Err(_) => return Err(End::Closed),
            };
            let head = match head(&live).await {
                Some(head) => head,
                None => {
                    self.log
                        .info(&self.session)
                        .await
                        .map_err(RuntimeError::from)?
                        .last_seq
                }
            };
            self.replay(head).await?;
            if std::mem::take(&mut first) {
                self.send(Delivery::CaughtUp(head)).await?;
            }
            self.pump(&mut bus, &mut live.status).await?;
        }
    }

    /// Delivers what the bus brings, until it cuts this follower off.
    async fn pump(
        &mut self,
        bus: &mut agentx_bus::Subscription<SystemEvent>,
        status: &mut watch::Receiver<DriverStatus>,
    ) -> Result<(), End> {
        let mut waiting = Vec::new();
        loop {
            let received = tokio::select! {
                biased;
                received = bus.recv_many(&mut waiting, 256) => received,
                ended = ended(status) => {
                    // All that was published is in the queue by now.
                    while let Ok(Some(delivery)) = bus.try_recv() {
                        self.deliver(delivery).await?;
                    }
                    return Err(ended);
                }
            };
            for delivery in waiting.drain(..) {
                self.deliver(delivery).await?;
            }
            if received.is_err() {
                return Ok(());
            }
        }
    }

    async fn deliver(&mut self, delivery: BusDelivery<SystemEvent>) -> Result<(), End> {
        let Some(event) = delivery.into_event() else {
            return Ok(());
        };
        match (self.view, event.as_ref()) {
            (View::Environment, SystemEvent::Environment(fact)) if fact.seq > self.sent => {
                self.sent = fact.seq;
                self.send(Delivery::Environment(fact.clone())).await
            }
            // A fact is published before what it means: from here on, its meaning is to be delivered.
            (View::Runtime, SystemEvent::Environment(fact)) if fact.seq > self.sent + 1 => {
                self.sent = fact.seq - 1;
                Ok(())
            }
            (View::Runtime, SystemEvent::Runtime(event)) => self.send_meaning(event.clone()).await,
            _ => Ok(()),
        }
    }

    async fn send_meaning(&mut self, event: Arc<Envelope<RuntimeEvent>>) -> Result<(), End> {
        let place = (event.seq, event.index.unwrap_or(0));
        if place <= self.last {
            return Ok(());
        }
        self.last = place;
        self.send(Delivery::Runtime(event)).await
    }

    /// Delivers everything up to `head` from the log.
    async fn replay(&mut self, head: u64) -> Result<(), End> {
        match self.view {
            View::Environment => {
                while self.sent < head {
                    let facts = self
                        .log
                        .read(&self.session, self.sent, PAGE)
                        .await
                        .map_err(RuntimeError::from)?;
                    if facts.is_empty() {
                        return Ok(());
                    }
                    for fact in facts.into_iter().filter(|fact| fact.seq <= head) {
                        self.sent = fact.seq;
                        self.send(Delivery::Environment(fact)).await?;
                    }
                }
                Ok(())
            }
            View::Runtime if self.sent < head => self.replay_meaning(head).await,
            View::Runtime => Ok(()),
        }
    }

    async fn replay_meaning(&mut self, head: u64) -> Result<(), End> {
        let remembered = self
            .remembered
            .as_deref()
            .filter(|fold| fold.last_seq() <= self.sent);
        let fold = remembered.map_or_else(|| SessionFold::new(self.session.clone()), SessionFold::clone);
        let mut fold = fold_on(self.log.as_ref(), fold, self.sent).await?;
        while fold.last_seq() < head {
            let facts = self
                .log
                .read(&self.session, fold.last_seq(), PAGE)
                .await
                .map_err(RuntimeError::from)?;
            if facts.is_empty() {
                break;
            }
            for fact in facts.iter().filter(|fact| fact.seq <= head) {
                let mut derived = Derived::default();
                fold.apply(fact, &mut derived);
                for event in derived.events {
                    self.send_meaning(Arc::new(event)).await?;
                }
                self.sent = fact.seq;
            }
        }
        Ok(())
    }

    async fn follow_log(&mut self, follow: bool) -> Result<(), End> {
        let mut first = true;
        loop {
            let head = self
                .log
                .info(&self.session)
                .await
                .map_err(RuntimeError::from)?
                .last_seq;
            self.replay(head).await?;
            if std::mem::take(&mut first) {
                self.send(Delivery::CaughtUp(head)).await?;
            }
            if !follow {
                return Err(End::Closed);
            }
            tokio::select! {
                () = tokio::time::sleep(POLL) => {}
                () = self.out.closed() => return Err(End::ReaderGone),
            }
        }
    }
}

async fn head(live: &Live) -> Option<u64> {
    let (reply, answer) = oneshot::channel();
    live.commands.send(Command::Head { reply }).await.ok()?;
    answer.await.ok()?.ok()
}

/// Waits until the session is closed or cannot go on.
async fn ended(status: &mut watch::Receiver<DriverStatus>) -> End {
    match status
        .wait_for(|status| *status != DriverStatus::Open)
        .await
        .as_deref()
    {
        Ok(DriverStatus::Failed(why)) => End::Failed(why.to_string()),
        _ => End::Closed,
    }
}
