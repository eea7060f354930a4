//! Limits the number of concurrent searches: each uses all cores and has a buffer per thread, so many at once
//! would gain nothing and fill the memory.

use std::sync::Arc;

use agentx_runtime::ToolContext;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::failure::ToolFailure;
use crate::options::SearchOptions;

/// The number of searches that run at once. Clones share it.
#[derive(Clone)]
pub(crate) struct SearchPermits(Arc<Semaphore>);

impl SearchPermits {
    /// Creates permits for the number of searches in the options, at least one.
    pub(crate) fn new(options: &SearchOptions) -> Self {
        let count = options.at_once.clamp(1, Semaphore::MAX_PERMITS);
        Self(Arc::new(Semaphore::new(count)))
    }

    /// Waits for a turn, as long as a search may take. Hold it until the search has ended.
    pub(crate) async fn take(
        &self,
        options: &SearchOptions,
        context: &ToolContext,
    ) -> Result<OwnedSemaphorePermit, ToolFailure> {
        let turn = tokio::time::timeout(options.timeout, Arc::clone(&self.0).acquire_owned());
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => Err(ToolFailure::interrupted()),
            // It is never closed.
            turn = turn => turn.ok().and_then(Result::ok).ok_or_else(|| {
                let time = options.timeout;
                ToolFailure::failed(format!("Other searches were running for {time:?}; start fewer at the same time."))
            }),
        }
    }
}
