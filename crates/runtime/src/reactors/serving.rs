//! The actions and tools that a reactor serves, for as long as it serves them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentx_bus::{Grace, ReactorTask, ResponderId};
use agentx_types::ToolSpec;
use tokio_util::sync::CancellationToken;

use crate::effects::actions::ActionDispatcher;
use crate::tools::tool_offers::ToolOffers;

/// The responders that one reactor has attached, for lists. Clones share the same state.
#[derive(Clone, Debug, Default)]
pub struct ServedBy(Arc<Mutex<BTreeSet<ResponderId>>>);

impl ServedBy {
    /// Returns whether the reactor has attached this responder.
    pub fn has(&self, responder: ResponderId) -> bool {
        self.lock().contains(&responder)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<ResponderId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A guard that keeps responders attached. Dropping it detaches them: they get no new requests, waiting
/// requests go to other responders, and requests in progress end as `unknown`. [`Serving::finish`] lets them
/// complete the requests in progress.
#[must_use = "nothing is served any more when this is dropped"]
pub struct Serving {
    actions: ActionDispatcher,
    responders: Vec<ResponderId>,
    by: ServedBy,
    /// The offers from which tools are withdrawn when nobody serves them any more.
    offers: Option<ToolOffers>,
}

impl Serving {
    pub(crate) fn new(actions: &ActionDispatcher, responder: ResponderId, by: &ServedBy) -> Self {
        by.lock().insert(responder);
        Self {
            actions: actions.clone(),
            responders: vec![responder],
            by: by.clone(),
            offers: None,
        }
    }

    /// Returns this guard, which also offers a tool while the tool is served.
    pub(crate) fn offering(mut self, offers: &ToolOffers, spec: ToolSpec) -> Self {
        for responder in &self.responders {
            offers.add(*responder, spec.clone());
        }
        self.offers = Some(offers.clone());
        self
    }

    /// Merges both into one guard.
    pub fn and(mut self, mut other: Self) -> Self {
        self.responders.append(&mut other.responders);
        self.offers = self.offers.take().or_else(|| other.offers.take());
        self
    }

    /// Serves until `stop` fires, then completes the accepted requests: the task of a reactor that only
    /// serves.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use agentx_bus::{ReactorFailure, Reactor, ReactorTask};
    /// use agentx_runtime::{SystemBus, Tool};
    /// use tokio_util::sync::CancellationToken;
    ///
    /// struct Weather { tool: Arc<dyn Tool>, stop: CancellationToken }
    ///
    /// impl Reactor<SystemBus> for Weather {
    ///     fn name(&self) -> &str { "weather" }
    ///
    ///     async fn start(&mut self, bus: SystemBus) -> Result<ReactorTask, ReactorFailure> {
    ///         Ok(bus.serve_tool(self.tool.clone()).run_until(self.stop.clone()))
    ///     }
    ///
    ///     async fn stop(&mut self) { self.stop.cancel(); }
    /// }
    /// ```
    pub fn run_until(self, stop: CancellationToken) -> ReactorTask {
        ReactorTask::new(async move {
            stop.cancelled().await;
            self.finish().await;
            Ok(())
        })
    }

    /// Accepts nothing new, and returns when the accepted requests have ended. Dropping the future early has
    /// the same effect as dropping this.
    pub async fn finish(self) {
        self.withdraw();
        for responder in &self.responders {
            self.actions.finish(*responder).await;
        }
    }

    /// Withdraws the tools from the offer. May be called again.
    fn withdraw(&self) {
        if let Some(offers) = &self.offers {
            self.responders
                .iter()
                .for_each(|responder| offers.remove(*responder));
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.withdraw();
        for responder in &self.responders {
            self.actions.detach(*responder, Grace::Now);
            self.by.lock().remove(responder);
        }
    }
}

impl fmt::Debug for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Serving").field(&self.responders).finish()
    }
}
