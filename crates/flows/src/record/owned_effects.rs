//! Owns the effects of a run that may cost money. A run may end while a model still answers: it gives up a
//! call (`ctx.timeout`, `await_any`, a promise that nobody awaits), fails, or is stopped. The call then ends
//! without the run, and its cost is recorded.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};

/// The time for effects that were stopped to say what they have cost. A model call says so at once; a tool
/// that does not stop is dropped.
const BILL_PATIENCE: Duration = Duration::from_secs(5);

/// The effects in progress. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct OwnedEffects {
    running: Arc<Mutex<JoinSet<()>>>,
}

impl OwnedEffects {
    /// Runs an effect to its end, whether or not the returned future is polled; `None` if it was lost.
    pub(crate) fn run<F>(&self, effect: F) -> impl Future<Output = Option<F::Output>> + Send + use<F>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let (told, ended) = oneshot::channel();
        self.spawn(async move {
            // The run may have ended in the meantime.
            let _ = told.send(effect.await);
        });
        async move { ended.await.ok() }
    }

    /// Runs an effect to its end; nobody waits for it but the end of the run.
    pub(crate) fn spawn(&self, effect: impl Future<Output = ()> + Send + 'static) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        while running.try_join_next().is_some() {}
        running.spawn(effect);
    }

    /// Waits until all effects have ended. Those that take too long are dropped.
    async fn settled(&self) {
        let mut running = std::mem::take(&mut *self.running.lock().unwrap_or_else(PoisonError::into_inner));
        let all = async { while running.join_next().await.is_some() {} };
        if tokio::time::timeout(BILL_PATIENCE, all).await.is_err() {
            tracing::warn!("a tool that a script called did not stop in time; what it costs is on no bill");
        }
    }
}

/// Stops the effects of a run when it is dropped or settled.
pub(super) struct EffectsStop {
    owned: OwnedEffects,
    stop: DropGuard,
}

impl EffectsStop {
    /// `stop` tells all effects of the run to end.
    pub(super) fn new(owned: OwnedEffects, stop: CancellationToken) -> Self {
        let stop = stop.drop_guard();
        Self { owned, stop }
    }

    /// Stops the effects, and waits until their costs are recorded.
    pub(super) async fn settle(self) {
        drop(self.stop);
        self.owned.settled().await;
    }
}
