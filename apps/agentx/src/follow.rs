//! Following a session from a front end: what a subscription delivers, and a new one where it was cut off.

use std::sync::Arc;

use agentx::runtime::{Delivery, Runtime, RuntimeError, Session, Subscription, View};
use agentx::types::SessionId;

use crate::error::CliError;
use crate::exit::Exit;

/// How long is waited before a server that cannot be reached is asked for a session's events again.
const AGAIN: std::time::Duration = std::time::Duration::from_secs(1);

/// Where events come from.
enum Source {
    /// A session that is open here.
    Session(Arc<dyn Session>),
    /// One that is only looked at.
    Watched(Arc<dyn Runtime>, SessionId),
}

impl Source {
    async fn subscribe(&self, after_seq: u64, view: View) -> Result<Subscription, RuntimeError> {
        match self {
            Self::Session(session) => session.subscribe(after_seq, view).await,
            Self::Watched(runtime, id) => runtime.watch(id, after_seq, view, true).await,
        }
    }

    /// A session that cannot go on knows why better than its events do.
    async fn complaint(&self) -> Result<(), RuntimeError> {
        match self {
            Self::Session(session) => session.state().await.map(drop),
            Self::Watched(..) => Ok(()),
        }
    }
}

/// A subscription that mends itself. Derived events are told apart by `(seq, index)`, so nothing comes twice.
pub(crate) struct Follower {
    source: Source,
    view: View,
    subscription: Subscription,
    seen: (u64, u64),
    cut_off: Option<String>,
    progressed: bool,
}

impl Follower {
    /// Begins after `after_seq`.
    pub(crate) async fn new(session: Arc<dyn Session>, after_seq: u64, view: View) -> Result<Self, CliError> {
        Self::of(Source::Session(session), after_seq, view).await
    }

    /// Looks at a session, beginning after `after_seq`.
    pub(crate) async fn watching(
        runtime: Arc<dyn Runtime>,
        session: SessionId,
        after_seq: u64,
        view: View,
    ) -> Result<Self, CliError> {
        Self::of(Source::Watched(runtime, session), after_seq, view).await
    }

    async fn of(source: Source, after_seq: u64, view: View) -> Result<Self, CliError> {
        let subscription = source.subscribe(after_seq, view).await?;
        let seen = (after_seq, u64::MAX);
        Ok(Self {
            source,
            view,
            subscription,
            seen,
            cut_off: None,
            progressed: true,
        })
    }

    /// The next delivery that is not known yet; `None` at the end. Safe to drop while it waits.
    pub(crate) async fn next(&mut self) -> Result<Option<Delivery>, CliError> {
        loop {
            if self.cut_off.is_some() {
                match self.subscribe_again().await {
                    // A server comes back, or the person has enough of waiting.
                    Err(CliError::Runtime(RuntimeError::Unreachable { .. })) => {
                        tokio::time::sleep(AGAIN).await;
                        continue;
                    }
                    done => done?,
                }
            }
            let Some(delivery) = self.subscription.next().await else {
                return Ok(None);
            };
            if let Some(fresh) = self.take(delivery) {
                return Ok(Some(fresh));
            }
        }
    }

    /// The next delivery that is there already.
    pub(crate) fn ready(&mut self) -> Option<Delivery> {
        while self.cut_off.is_none() {
            let delivery = self.subscription.deliveries.try_recv().ok()?;
            if let Some(fresh) = self.take(delivery) {
                return Some(fresh);
            }
        }
        None
    }

    /// The `seq` up to which everything was delivered or is being delivered.
    pub(crate) fn seq(&self) -> u64 {
        self.seen.0
    }

    fn take(&mut self, delivery: Delivery) -> Option<Delivery> {
        let key = match &delivery {
            Delivery::Environment(envelope) => (envelope.seq, 0),
            Delivery::Runtime(envelope) => (envelope.seq, u64::from(envelope.index.unwrap_or(0))),
            Delivery::CaughtUp(_) => return Some(delivery),
            Delivery::CutOff(why) => {
                self.cut_off = Some(why.clone());
                return None;
            }
        };
        if key <= self.seen {
            return None;
        }
        self.seen = key;
        self.progressed = true;
        Some(delivery)
    }

    /// Can be dropped while it waits: it is still cut off then.
    async fn subscribe_again(&mut self) -> Result<(), CliError> {
        if !self.progressed {
            self.source.complaint().await?;
            let why = self.cut_off.take().unwrap_or_default();
            let message = format!("the session cannot be followed: {why}");
            return Err(CliError::Run {
                exit: Exit::Storage,
                code: "cut_off".into(),
                message,
            });
        }
        // The last event may have been delivered in part: it is read again, and what is known of it is left out.
        let after = self.seen.0.saturating_sub(1);
        self.subscription = self.source.subscribe(after, self.view).await?;
        self.cut_off = None;
        self.progressed = false;
        Ok(())
    }
}
