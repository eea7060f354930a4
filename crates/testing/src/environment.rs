//! The contract of an environment, for authors of other environments.

use std::sync::Arc;
use std::time::Duration;

use agentx_bus::{Reactors, Restart};
use agentx_runtime::{ActionDispatcher, DriverParts, Environment, SystemBus};

use crate::{FaultyLog, SimulatedClock};

/// The time limit for stopping an idle environment.
const LIMIT: Duration = Duration::from_secs(10);

/// Starts an environment and stops it: it has to serve something from its start to its stop, and nothing
/// before and after.
///
/// # Panics
/// Panics if it does not start, serves nothing, or still serves something after it was stopped.
pub async fn check_environment(environment: impl Environment) {
    let kind = environment.kind().to_owned();
    let actions = ActionDispatcher::new();
    let (log, clock) = (FaultyLog::new(), SimulatedClock::default());
    let parts = DriverParts::new(Arc::new(log), actions.clone(), Arc::new(clock));
    let mut reactors = Reactors::new(SystemBus::of(&parts), |_report| {});
    let before = actions.responders().len();
    let started = reactors.start(environment, Restart::Never).await;
    let id = started.unwrap_or_else(|failed| panic!("{kind}: {failed}"));
    assert!(actions.responders().len() > before, "{kind} serves nothing");
    assert!(reactors.stop(id, LIMIT).await, "{kind} ended by itself");
    assert_eq!(actions.responders().len(), before, "{kind} serves after its stop");
}
