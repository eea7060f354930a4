//! The promise of an environment, for whoever writes one of their own.

use std::sync::Arc;
use std::time::Duration;

use agentx_bus::{Reactors, Restart};
use agentx_runtime::{ActionDispatcher, DriverParts, Environment, SystemBus};

use crate::{FaultyLog, SimulatedClock};

/// How long an environment that has nothing to do may take to stop.
const LIMIT: Duration = Duration::from_secs(10);

/// Starts an environment and stops it: it has to serve something from its start to its stop, and nothing before and after.
///
/// # Panics
/// Where it does not start, serves nothing, or still serves something when it is stopped.
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
