//! The life of one reactor after its first start: its work, the restarts, the stop. Each reactor has its own
//! driver, so that none waits for another and a panic in one stays there.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, timeout};

use crate::reactor::{AnyReactor, ReactorFailure, ReactorTask};
use crate::reactor_status::ReactorList;
use crate::report::ReactorId;
use crate::report::{ReactorChange, ReactorError, ReactorReport, Restarts};

/// Receives reports; called from the task of the reactor that the report is about.
pub(crate) type Reporter = Arc<dyn Fn(ReactorReport) + Send + Sync>;

pub(crate) struct ReactorDriver<B> {
    pub(crate) id: ReactorId,
    pub(crate) list: ReactorList,
    pub(crate) name: String,
    pub(crate) reactor: Box<dyn AnyReactor<B>>,
    pub(crate) bus: B,
    pub(crate) restarts: Restarts,
    pub(crate) reporter: Reporter,
}

/// Asks a driver to stop its reactor within a time.
pub(crate) type StopSignal = oneshot::Receiver<Duration>;

impl<B: Clone + Send + Sync + 'static> ReactorDriver<B> {
    /// Starts the reactor; its subscriptions are registered when this returns.
    pub(crate) async fn start(&mut self) -> Result<ReactorTask, ReactorError> {
        let started = unwound(self.reactor.start(self.bus.clone())).await;
        started?.map_err(|ReactorFailure(message)| ReactorError::Error(message))
    }

    /// Runs the work until it finally ends or is stopped. Dropping this drops the work too.
    pub(crate) async fn run(mut self, first: ReactorTask, stop: StopSignal) {
        let mut work = JoinSet::new();
        work.spawn(first.into_future());
        let limit = tokio::select! {
            biased;
            limit = stop => limit,
            () = self.keep_running(&mut work) => return,
        };
        // The set of reactors was dropped without a stop, so nothing needs to be drained.
        if let Ok(limit) = limit {
            self.stop(work, limit).await;
        }
    }

    async fn keep_running(&mut self, work: &mut JoinSet<Result<(), ReactorFailure>>) {
        while let Some(ended) = work.join_next().await {
            let Err(mut cause) = outcome(ended) else {
                return self.report(ReactorChange::Finished);
            };
            loop {
                let restarting = self.restarts.allow(Instant::now());
                self.report(ReactorChange::Failed { cause, restarting });
                if !restarting {
                    return;
                }
                match self.start().await {
                    Ok(again) => {
                        work.spawn(again.into_future());
                        break;
                    }
                    Err(next) => cause = next,
                }
            }
            self.report(ReactorChange::Restarted);
        }
    }

    async fn stop(mut self, mut work: JoinSet<Result<(), ReactorFailure>>, limit: Duration) {
        let stopped = timeout(limit, async {
            unwound(self.reactor.stop()).await?;
            work.join_next().await.map_or(Ok(()), outcome)
        });
        let what = match stopped.await {
            Ok(Ok(())) => ReactorChange::Stopped,
            Ok(Err(cause)) => ReactorChange::Failed {
                cause,
                restarting: false,
            },
            Err(_elapsed) => ReactorChange::Overdue,
        };
        self.report(what);
    }

    fn report(&self, what: ReactorChange) {
        self.list.record(self.id, &what);
        let report = ReactorReport {
            reactor: self.name.clone(),
            what,
        };
        report.log();
        // A panicking reporter must not stop the reactor it reports on.
        let told = catch_unwind(AssertUnwindSafe(|| (self.reporter)(report)));
        if told.is_err() {
            tracing::error!(reactor = self.name, "the reporter panicked");
        }
    }
}

fn outcome(ended: Result<Result<(), ReactorFailure>, JoinError>) -> Result<(), ReactorError> {
    match ended {
        Ok(done) => done.map_err(|ReactorFailure(message)| ReactorError::Error(message)),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => Err(ReactorError::Panic(message_of(&*panic))),
            Err(cancelled) => Err(ReactorError::Error(cancelled.to_string())),
        },
    }
}

/// Awaits a future and turns its panic into a value.
async fn unwound<T>(future: impl Future<Output = T>) -> Result<T, ReactorError> {
    let mut future = Box::pin(future);
    poll_fn(move |cx| {
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx)));
        match polled {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Err(ReactorError::Panic(message_of(&*panic))).into(),
        }
    })
    .await
}

/// The text that `panic!` was given; other payloads have none.
fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a value that is not text").to_owned()
}
