//! The methods of the runtime that attach reactors, detach them and list them.

use std::collections::BTreeSet;
use std::time::Duration;

use agentx_bus::{Reactor, ReactorFailure, ReactorId, ResponderInfo, Restart};
use agentx_runtime::{BusModels, CommandDispatcher, ReactorInfo, SystemBus, event_logger, logs_events};
use agentx_types::{ActionKind, topic};

use crate::NodeRuntime;

/// The maximum time for a reactor to start. After that it is dropped, and `attach` fails.
const START: Duration = Duration::from_secs(30);

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

    /// Lets the responders of this runtime answer the calls of `models`, which tools of the runtime may hold.
    pub fn connect_models(&self, models: &BusModels) {
        models.connect(&self.driver.actions);
    }

    /// Returns the commands of persons that attached reactors serve.
    pub fn commands(&self) -> &CommandDispatcher {
        self.driver.actions.commands()
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
