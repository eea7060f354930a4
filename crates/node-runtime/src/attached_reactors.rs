//! Reactors that come and go while sessions run.
//!
//! A reactor is started in three steps: it gets a handle of the bus that records its services, its `start`
//! runs within 30 seconds, and its id is listed. If its task fails, it is removed or started again at once,
//! according to `restart`, a limited number of times within a period.
//!
//! A request goes to the most specific responder for its topic and key, and among equals to the one attached
//! last: so a reactor takes precedence over the runtime's own parts. Requests that the earlier responder has
//! begun stay with it until it is detached. If a reactor is dropped, the outcome of its calls is `unknown`:
//! it may have acted, so nobody repeats them.
//!
//! Reactors live as long as the last clone of the runtime. No session records them: a program attaches its
//! own after a restart.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentx_bus::{
    Reactor, ReactorFailure, ReactorId, ReactorList, Reactors, ResponderId, ResponderInfo, Restart,
};
use agentx_runtime::{ReactorInfo, ServedBy, SystemBus, event_logger, logs_events};
use agentx_types::{ActionKind, topic};
use tokio::sync::Mutex;

use crate::NodeRuntime;

/// The maximum time for a reactor to start. After that it is dropped, and `attach` fails.
const START: Duration = Duration::from_secs(30);

/// The reactors of a runtime. Clones refer to the same set; dropping the last one drops the reactors at once.
#[derive(Clone)]
pub(crate) struct AttachedReactors {
    bus: SystemBus,
    /// The runtime's own responders.
    /// They were there before any reactor, so everything else on the bus was attached.
    own: Arc<[ResponderId]>,
    /// The tasks. Starting and stopping wait for each other; hearing and serving do not.
    set: Arc<Mutex<Reactors<SystemBus>>>,
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

    async fn start(
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
    fn all(&self, responders: &[ResponderInfo]) -> Vec<ReactorInfo> {
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

impl NodeRuntime {
    /// Starts a reactor: from now on it gets committed events and the requests that it serves, also from open
    /// sessions. Its tools are offered to each session that has all tools, between two of its runs.
    ///
    /// # Errors
    /// Returns an error if it cannot start, panics while it does, or takes longer than 30 seconds.
    pub async fn attach(
        &self,
        reactor: impl Reactor<SystemBus>,
        restart: Restart,
    ) -> Result<ReactorId, ReactorFailure> {
        let name = reactor.name().to_owned();
        match tokio::time::timeout(START, self.reactors.start(reactor, restart)).await {
            Ok(started) => started,
            Err(_elapsed) => Err(ReactorFailure(format!(
                "cannot start `{name}`: it took longer than {} seconds",
                START.as_secs()
            ))),
        }
    }

    /// Starts a reactor that is not started again if it fails.
    ///
    /// # Errors
    /// Returns an error in the same cases as [`NodeRuntime::attach`].
    pub async fn attach_once(&self, reactor: impl Reactor<SystemBus>) -> Result<ReactorId, ReactorFailure> {
        self.attach(reactor, Restart::Never).await
    }

    /// Writes a line for each event from now on, if the log of the program (`tracing`) wants the level
    /// `debug`.
    pub async fn log_events(&self) {
        if logs_events()
            && let Err(error) = self.attach(event_logger(), Restart::Never).await
        {
            tracing::warn!(%error, "events are not logged");
        }
    }

    /// Stops a reactor: it is asked to complete its requests, and dropped if that takes longer than `within`;
    /// then their outcome is `unknown`. Returns whether it was attached.
    pub async fn detach(&self, reactor: ReactorId, within: Duration) -> bool {
        self.reactors.set.lock().await.stop(reactor, within).await
    }

    /// Stops all reactors, the one attached last first, each within `within`. Sessions continue with the
    /// runtime's own parts.
    pub async fn detach_all(&self, within: Duration) {
        self.reactors.set.lock().await.stop_all(within).await;
    }

    /// Returns the responders, their topics and their load, in the order in which they were attached.
    pub fn responders(&self) -> Vec<ResponderInfo> {
        self.driver.actions.responders()
    }

    /// The providers whose models an attached environment serves.
    pub(crate) fn attached_providers(&self) -> BTreeSet<String> {
        let calls = topic::of_action(ActionKind::CallModel);
        let responders = self.driver.actions.responders().into_iter();
        let served = responders.flat_map(|info| info.serves);
        served
            .filter(|(topic, _)| topic == calls)
            .filter_map(|(_, key)| Some(key.strip_suffix("/*")?.to_owned()))
            .collect()
    }

    /// The runtime's own parts, then the reactors in the order in which they were attached, each with its
    /// services, their requests, and the number of its restarts. One that finally failed stays in the list,
    /// with its error.
    pub fn reactors(&self) -> Vec<ReactorInfo> {
        self.reactors.all(&self.driver.actions.responders())
    }
}
