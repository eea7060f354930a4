//! Counts the costs that no session lists, and keeps them on the disk.

use std::sync::Arc;

use agentx_types::{NanoUsd, OwnerId};

use crate::state::ServerState;

impl ServerState {
    /// Counts a cost that no session lists: of one that is deleted now, or of a call outside of sessions. It counts at
    /// once; [`Self::keep_unlisted`] writes it to the disk.
    pub(crate) fn count_unlisted(&self, owner: &OwnerId, cost: NanoUsd) {
        if cost > NanoUsd::default() {
            self.kept.unlisted.add(owner, self.now(), cost);
        }
    }

    /// Begins to write the costs that no session lists to the disk, and does not wait.
    pub(crate) fn keep_unlisted_soon(self: &Arc<Self>) {
        let state = self.clone();
        tokio::spawn(async move { state.keep_unlisted().await });
    }

    /// Writes the costs that no session lists to the disk, as far as it does not have them.
    pub(crate) async fn keep_unlisted(self: &Arc<Self>) {
        let state = self.clone();
        let written = tokio::task::spawn_blocking(move || state.kept.unlisted.write(state.now()));
        // It cannot panic, and it is not waited for if the server ends.
        let _ = written.await;
    }
}
