//! Following a session from a front end: what a subscription delivers, and a new one where it was cut off.

use std::sync::Arc;

use agentx::runtime::{Delivery, Session, Subscription, View};

use crate::error::CliError;
use crate::exit::Exit;

/// A subscription that mends itself. Derived events are told apart by `(seq, index)`, so nothing comes twice.
pub(crate) struct Follower {
    session: Arc<dyn Session>,
    view: View,
    subscription: Subscription,
    seen: (u64, u64),
    cut_off: Option<String>,
    progressed: bool,
}

impl Follower {
    /// Begins after `after_seq`.
    pub(crate) async fn new(session: Arc<dyn Session>, after_seq: u64, view: View) -> Result<Self, CliError> {
        let subscription = session.subscribe(after_seq, view).await?;
        let seen = (after_seq, u64::MAX);
        Ok(Self {
            session,
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
                self.subscribe_again().await?;
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
            // A session that cannot go on knows why better than its events do.
            self.session.state().await?;
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
        self.subscription = self.session.subscribe(after, self.view).await?;
        self.cut_off = None;
        self.progressed = false;
        Ok(())
    }
}
