//! The set of reactors of one bus: it starts them, owns their tasks and stops them in order.

use std::fmt;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::driver::{ReactorDriver, Reporter};
use crate::reactor::{Reactor, ReactorFailure};
use crate::reactor_status::ReactorList;
use crate::report::{ReactorId, ReactorReport, Restart, Restarts};

/// Starts reactors on a bus, or on a program's own view of one, and owns them until they are stopped.
///
/// A reactor that panics or fails is reported, then started again or removed according to its [`Restart`];
/// others do not notice. [`Reactors::shutdown`] stops them one after the other, the last started first: start
/// recorders and displays before producers, so that the producers end while the others still listen. Dropping
/// the set drops all work at once.
///
/// ```
/// use agentx_bus::{Bus, Filter, Listener, Queue, Reactors, Restart};
/// # use std::sync::{Arc, Mutex};
/// # use std::time::Duration;
/// # struct Note(u32);
/// # impl agentx_bus::Routed for Note {
/// #     fn event_type(&self) -> &str { "note" }
/// #     fn topic(&self) -> &str { "notes" }
/// #     fn session(&self) -> Option<&str> { None }
/// #     fn agent_state(&self) -> Option<&str> { None }
/// #     fn run(&self) -> Option<&str> { None }
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bus = Bus::new();
/// let reports = Arc::new(Mutex::new(Vec::new()));
/// let sink = reports.clone();
/// let mut reactors = Reactors::new(bus.clone(), move |report| sink.lock().unwrap().push(report.to_string()));
///
/// let picky = Listener::new("picky", Filter::all(), Queue::wait(8), |_bus: Bus<Note>, delivery| async move {
///     assert!(delivery.into_event().is_some_and(|note| note.0 < 10), "too big");
/// });
/// reactors.start(picky, Restart::Never).await?;
/// bus.publish(Note(11)).await?;
/// reactors.shutdown(Duration::from_secs(1)).await;
///
/// assert_eq!(*reports.lock().unwrap(), ["reactor `picky` panicked: too big; it is removed"]);
/// # Ok(())
/// # }
/// ```
pub struct Reactors<B> {
    bus: B,
    reporter: Reporter,
    running: Vec<RunningReactor>,
    list: ReactorList,
    started: u64,
}

/// A driver's task and the way to ask it for a stop.
struct RunningReactor {
    id: ReactorId,
    list: ReactorList,
    stop: oneshot::Sender<Duration>,
    task: JoinHandle<()>,
}

impl Drop for RunningReactor {
    fn drop(&mut self) {
        // Reactors that finally failed stay in the list.
        if !self.task.is_finished() {
            self.list.remove(self.id);
        }
        self.task.abort();
    }
}

impl<B: Clone + Send + Sync + 'static> Reactors<B> {
    /// A set without reactors. Changes are reported to `reporter`, which must be quick.
    pub fn new(bus: B, reporter: impl Fn(ReactorReport) + Send + Sync + 'static) -> Self {
        Self {
            bus,
            reporter: std::sync::Arc::new(reporter),
            running: Vec::new(),
            list: ReactorList::default(),
            started: 0,
        }
    }

    /// Starts a reactor. When this returns, its subscriptions are registered and it works.
    ///
    /// # Errors
    ///
    /// Returns [`ReactorFailure`] if the reactor could not start, or panicked. It is then not in the set,
    /// independent of its restart policy.
    pub async fn start(
        &mut self,
        reactor: impl Reactor<B>,
        restart: Restart,
    ) -> Result<ReactorId, ReactorFailure> {
        self.start_on(self.bus.clone(), reactor, restart).await
    }

    /// Starts a reactor on a separate view of the bus, by which a program distinguishes it from others.
    ///
    /// # Errors
    ///
    /// Returns [`ReactorFailure`] if the reactor could not start, or panicked. It is then not in the set,
    /// independent of its restart policy.
    pub async fn start_on(
        &mut self,
        bus: B,
        reactor: impl Reactor<B>,
        restart: Restart,
    ) -> Result<ReactorId, ReactorFailure> {
        self.started += 1;
        let id = ReactorId(self.started);
        let mut driver = ReactorDriver {
            id,
            list: self.list.clone(),
            name: reactor.name().to_owned(),
            reactor: Box::new(reactor),
            bus,
            restarts: Restarts::new(restart),
            reporter: self.reporter.clone(),
        };
        let work = driver.start().await;
        let work =
            work.map_err(|cause| ReactorFailure(format!("cannot start `{}`: it {cause}", driver.name)))?;
        self.list.started(id, &driver.name);
        let (stop, stopped) = oneshot::channel();
        self.running.retain(|running| !running.task.is_finished());
        self.running.push(RunningReactor {
            id,
            list: self.list.clone(),
            stop,
            task: tokio::spawn(driver.run(work, stopped)),
        });
        Ok(id)
    }

    /// Stops one reactor: asks it to, waits until its work has ended, and drops it if that takes longer than
    /// `limit`. False if it was gone already.
    pub async fn stop(&mut self, id: ReactorId, limit: Duration) -> bool {
        let Some(place) = self.running.iter().position(|running| running.id == id) else {
            self.list.remove(id);
            return false;
        };
        stop(self.running.remove(place), limit).await
    }

    /// Stops all, the last started first, each within `limit`. The bus stays open: close it afterwards.
    pub async fn shutdown(mut self, limit: Duration) {
        self.stop_all(limit).await;
    }

    /// Stops all, the last started first, each within `limit`. Others may be started in the set later.
    pub async fn stop_all(&mut self, limit: Duration) {
        while let Some(running) = self.running.pop() {
            stop(running, limit).await;
        }
    }

    /// Returns the list of reactors; it stays current while others are started and stopped.
    pub fn list(&self) -> ReactorList {
        self.list.clone()
    }

    /// The number of reactors that are in the set and neither finished nor removed.
    pub fn running(&self) -> usize {
        self.running
            .iter()
            .filter(|running| !running.task.is_finished())
            .count()
    }
}

/// Waits for the driver, which keeps to the limit; false if it had ended before.
async fn stop(mut running: RunningReactor, limit: Duration) -> bool {
    let (unused, _) = oneshot::channel();
    let asked = std::mem::replace(&mut running.stop, unused).send(limit).is_ok();
    // The driver reports the failure of the reactor, so the end of its own task adds nothing.
    let _ended = (&mut running.task).await;
    running.list.remove(running.id);
    asked
}

impl<B> fmt::Debug for Reactors<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reactors({})", self.running.len())
    }
}
