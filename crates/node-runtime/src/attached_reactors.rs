//! Reactors that come and go while sessions run.
//!
//! A reactor is started in three steps: it gets a handle of the bus that records its services, its `start`
//! runs within 30 seconds, and its id is listed. If its task fails, it is removed or restarted immediately,
//! according to `restart`, a limited number of times within a period.
//!
//! A request goes to the most specific responder for its topic and key, and among equals to the one attached
//! last: so a reactor takes precedence over the runtime's own parts. Requests that the earlier responder has
//! begun stay with it until it is detached. If a reactor is dropped, the outcome of its calls is `unknown`:
//! it may have acted, so they are not repeated.
//!
//! Reactors live as long as the last clone of the runtime. No session records them: a program attaches its
//! own after a restart.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError};

use agentx_bus::{
    Reactor, ReactorFailure, ReactorId, ReactorList, Reactors, ResponderId, ResponderInfo, Restart,
};
use agentx_runtime::{ReactorInfo, ServedBy, SystemBus};
use tokio::sync::Mutex;

/// The reactors of a runtime. Clones refer to the same set; dropping the last one drops the reactors at once.
#[derive(Clone)]
pub(crate) struct AttachedReactors {
    bus: SystemBus,
    /// The runtime's own responders.
    /// They were there before any reactor, so everything else on the bus was attached.
    own: Arc<[ResponderId]>,
    /// The tasks. Starting and stopping wait for each other; hearing and serving do not.
    pub(crate) set: Arc<Mutex<Reactors<SystemBus>>>,
    /// The list of reactors, readable while one of them starts or stops.
    list: ReactorList,
    /// The responders of each reactor, for lists.
    served: Arc<StdMutex<BTreeMap<ReactorId, ServedBy>>>,
}

impl AttachedReactors {
    pub(crate) fn on(bus: SystemBus) -> Self {
        // The log of the program (`tracing`) already has the reports about reactors.
        let set = Reactors::new(bus.clone(), |_report| {});
        Self {
            own: bus.responders().iter().map(|info| info.id).collect(),
            bus,
            list: set.list(),
            set: Arc::new(Mutex::new(set)),
            served: Arc::default(),
        }
    }

    /// Starts a reactor, and lists it with the responders that it brings.
    pub(crate) async fn start(
        &self,
        reactor: impl Reactor<SystemBus>,
        restart: Restart,
    ) -> Result<ReactorId, ReactorFailure> {
        let (bus, served) = self.bus.for_reactor();
        let id = self.set.lock().await.start_on(bus, reactor, restart).await?;
        let there = self.list.now();
        let mut known = self.served();
        known.insert(id, served);
        known.retain(|id, _| there.iter().any(|status| status.id == *id));
        Ok(id)
    }

    fn served(&self) -> MutexGuard<'_, BTreeMap<ReactorId, ServedBy>> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The runtime's own, then those that were attached, each with those of these responders that are its.
    pub(crate) fn all(&self, responders: &[ResponderInfo]) -> Vec<ReactorInfo> {
        let served = self.served();
        let is_own = |info: &&ResponderInfo| self.own.contains(&info.id);
        let built_in = responders.iter().filter(is_own).cloned();
        let mut all: Vec<ReactorInfo> = built_in.map(ReactorInfo::built_in).collect();
        for status in self.list.now() {
            let by = served.get(&status.id);
            let is_its = |info: &&ResponderInfo| by.is_some_and(|by| by.has(info.id));
            let serves = responders.iter().filter(is_its).cloned().collect();
            all.push(ReactorInfo::attached(status, serves));
        }
        all
    }
}
