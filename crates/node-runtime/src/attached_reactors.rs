//! Reactors that come and go while sessions run.
//!
//! A reactor is started in three steps that are not undone by a crash of the reactor: it gets a handle of the
//! bus that remembers what is served by it, its `start` runs within 30 seconds, and its id is listed.
//! `restart` says what follows if its task fails: it is removed, or started again at once, a number of times
//! within a while.
//!
//! A request goes to the most specific responder for its topic and key, and among equals to the one attached
//! last: so a reactor comes before what the runtime has itself. Requests that the earlier one has begun stay
//! with it until it is detached. A call that was with a reactor when that was dropped is `unknown`: it may
//! have acted, so nobody repeats it.
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

/// The reactors of a runtime. Clones refer to the same set; the last one takes them down where they stand.
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
        // What happens to a reactor is in the log of the program (`tracing`) already.
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
    /// Starts a reactor: from now on it hears what is committed, and what it serves goes to it, in sessions
    /// that are open too. Tools that it brings are offered to each session that has all tools, between two of
    /// its runs.
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

    /// Stops a reactor: it is asked to end what it has, and dropped where that takes longer than `within`;
    /// what it worked on then is `unknown`. Returns whether it was there.
    pub async fn detach(&self, reactor: ReactorId, within: Duration) -> bool {
        self.reactors.set.lock().await.stop(reactor, within).await
    }

    /// Stops all reactors, the one attached last first, each within `within`. Sessions continue with what the
    /// runtime has itself.
    pub async fn detach_all(&self, within: Duration) {
        self.reactors.set.lock().await.stop_all(within).await;
    }

    /// Returns the responders, their topics and their load, in the order in which they were attached.
    pub fn responders(&self) -> Vec<ResponderInfo> {
        self.driver.actions.responders()
    }

    /// The providers whose models an environment has that is attached.
    pub(crate) fn attached_providers(&self) -> BTreeSet<String> {
        let calls = topic::of_action(ActionKind::CallModel);
        let responders = self.driver.actions.responders().into_iter();
        let served = responders.flat_map(|info| info.serves);
        served
            .filter(|(topic, _)| topic == calls)
            .filter_map(|(_, key)| Some(key.strip_suffix("/*")?.to_owned()))
            .collect()
    }

    /// The reactors, in the order in which they were attached, after what the runtime serves itself: who
    /// serves what, how much of it, and how often each was started again. One that failed for good stays in
    /// the list, with its error.
    pub fn reactors(&self) -> Vec<ReactorInfo> {
        self.reactors.all(&self.driver.actions.responders())
    }
}
