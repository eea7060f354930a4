//! Reactors live on a bus: a reactor is started, so that it has subscribed; then it works; then it is
//! stopped.

use std::fmt;
use std::future::Future;

use futures_core::future::BoxFuture;

use crate::hub::Closed;

/// Anything that is started on a bus and stopped: an environment, a logger, a monitor, a connection to
/// another machine.
///
/// `B` is the bus on which it is started: a [`Bus`](crate::Bus), or a program's own view of one.
///
/// The value is the recipe, and [`ReactorTask`] is the running work: [`Reactors`](crate::Reactors) starts the
/// same reactor again after its work failed, so `start` builds everything that the work needs. The order of
/// calls is `start` (again after each failure), then at most one `stop`. A reactor that only answers events
/// is a [`Listener`](crate::Listener).
///
/// ```
/// use agentx_bus::{Bus, BusDelivery, ReactorFailure, Filter, Queue, Reactor, Reactors, Restart, StopHandle, ReactorTask};
/// # use std::time::Duration;
/// # struct Note(u32);
/// # impl agentx_bus::Routed for Note {
/// #     fn event_type(&self) -> &str { "note" }
/// #     fn topic(&self) -> &str { "notes" }
/// #     fn session(&self) -> Option<&str> { None }
/// #     fn agent_state(&self) -> Option<&str> { None }
/// #     fn run(&self) -> Option<&str> { None }
/// # }
///
/// #[derive(Default)]
/// struct Adder { total: std::sync::Arc<std::sync::atomic::AtomicU32>, stop: Option<StopHandle<Note>> }
///
/// impl Reactor<Bus<Note>> for Adder {
///     fn name(&self) -> &str { "adder" }
///
///     async fn start(&mut self, bus: Bus<Note>) -> Result<ReactorTask, ReactorFailure> {
///         let mut notes = bus.subscribe("adder", Filter::all(), Queue::lag(1024))?;
///         self.stop = Some(notes.stop_handle());
///         let total = self.total.clone();
///         Ok(ReactorTask::new(async move {
///             while let Ok(BusDelivery::Event(note)) = notes.recv().await {
///                 total.fetch_add(note.0, std::sync::atomic::Ordering::Relaxed);
///             }
///             Ok(())
///         }))
///     }
///
///     async fn stop(&mut self) {
///         self.stop.take().inspect(StopHandle::stop);
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bus = Bus::new();
/// let mut reactors = Reactors::new(bus.clone(), |report| eprintln!("{report}"));
/// let adder = Adder::default();
/// let total = adder.total.clone();
/// reactors.start(adder, Restart::Never).await?;
/// bus.publish(Note(2)).await?;
/// bus.publish(Note(3)).await?;
/// reactors.shutdown(Duration::from_secs(1)).await;
/// assert_eq!(total.load(std::sync::atomic::Ordering::Relaxed), 5);
/// # Ok(())
/// # }
/// ```
pub trait Reactor<B>: Send + 'static {
    /// The name in reports and logs.
    fn name(&self) -> &str;

    /// Subscribes to the needed events and returns the work. Subscribe here and not in the work, so that no
    /// event after the start is missed.
    ///
    /// # Errors
    ///
    /// Returns [`ReactorFailure`] with the reason if the reactor cannot work.
    fn start(&mut self, bus: B) -> impl Future<Output = Result<ReactorTask, ReactorFailure>> + Send;

    /// Asks the work to complete and end. It may return before the work has ended; work that outlasts its
    /// time limit is dropped. By default it does nothing.
    fn stop(&mut self) -> impl Future<Output = ()> + Send {
        async {}
    }
}

/// The work of a started reactor until it is stopped. It runs as a task of the set that started it.
///
/// If the task ends with `Ok`, the reactor is finished; with an error or a panic, it failed.
pub struct ReactorTask(BoxFuture<'static, Result<(), ReactorFailure>>);

impl ReactorTask {
    /// Work that is this future.
    pub fn new(work: impl Future<Output = Result<(), ReactorFailure>> + Send + 'static) -> Self {
        Self(Box::pin(work))
    }

    pub(crate) fn into_future(self) -> BoxFuture<'static, Result<(), ReactorFailure>> {
        self.0
    }
}

impl fmt::Debug for ReactorTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Work")
    }
}

/// The reason why a reactor could not start or continue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ReactorFailure(pub String);

impl From<Closed> for ReactorFailure {
    fn from(closed: Closed) -> Self {
        Self(closed.to_string())
    }
}

/// [`Reactor`] as an object: its futures are boxed.
pub(crate) trait AnyReactor<B>: Send {
    fn start(&mut self, bus: B) -> BoxFuture<'_, Result<ReactorTask, ReactorFailure>>;
    fn stop(&mut self) -> BoxFuture<'_, ()>;
}

impl<B: Send + 'static, R: Reactor<B>> AnyReactor<B> for R {
    fn start(&mut self, bus: B) -> BoxFuture<'_, Result<ReactorTask, ReactorFailure>> {
        Box::pin(Reactor::start(self, bus))
    }

    fn stop(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(Reactor::stop(self))
    }
}
