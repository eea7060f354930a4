//! Maintenance: rebuilds read models, and removes old sessions and unused data. Called by programs, not by
//! sessions.

use agentx_runtime::{LogError, Projection, SessionLog as _};
use agentx_types::{SessionId, Timestamp};

use crate::log::SqliteLog;
use crate::log::gc::{self, GcStage};
use crate::write::writer::WriterState;
use crate::{keys, models};

/// Maximum number of steps that release pages: those of 256 GiB.
const MOST_STEPS: usize = 65_536;

impl SqliteLog {
    /// Rebuilds the read models of a session from all its facts. Messages and costs of events that a fork
    /// shares with its parent are left out.
    ///
    /// # Errors
    /// Returns an error if the session does not exist or the store cannot be written.
    pub async fn rebuild_projections(
        &self,
        session: &SessionId,
        projections: Vec<Projection>,
    ) -> Result<(), LogError> {
        let session = session.clone();
        self.change(move |core| {
            core.transaction(|connection| {
                let row = keys::session_row(connection, &session)?;
                models::rebuild(connection, row, &projections)
            })
        })
        .await
    }

    /// Deletes sessions whose last event is older than `before`, except those that a process writes and those
    /// that a fork continues from. Returns the deleted ones; their space is freed by the next collection.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written.
    pub async fn retain(&self, before: Timestamp) -> Result<Vec<SessionId>, LogError> {
        let old = self
            .read_with(move |connection| gc::older_than(connection, before.0))
            .await?;
        let mut deleted = Vec::new();
        for id in old {
            let session = SessionId::new(id);
            match self.delete(&session).await {
                Ok(()) => deleted.push(session),
                Err(LogError::Busy { .. } | LogError::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(deleted)
    }

    /// Collects garbage like `collect_garbage`, at the given time: blobs that were put less than
    /// [`LogOptions::blob_grace`](crate::LogOptions::blob_grace) before it stay.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written.
    pub async fn collect_garbage_at(&self, now: Timestamp) -> Result<u64, LogError> {
        let grace = i64::try_from(self.options.blob_grace.as_micros()).unwrap_or(i64::MAX);
        let before = now.0.saturating_sub(grace);
        let mut stage = GcStage::Sessions;
        let (mut freed, mut is_trimmed) = (0, false);
        while !matches!(stage, GcStage::Done) {
            let step = move |core: &mut WriterState| {
                core.transaction(|connection| gc::step(connection, stage, before))
            };
            let (bytes, next) = self.change(step).await?;
            freed += bytes;
            // Another step for sessions follows only if this one removed something.
            is_trimmed |= matches!(next, GcStage::Sessions);
            stage = next;
        }
        let locks = self.locks.clone();
        self.read_with(move |_| {
            locks.sweep();
            Ok(())
        })
        .await?;
        let given = self.give_back().await?;
        if is_trimmed || freed > 0 {
            self.erase_briefly().await?;
        }
        Ok(if freed > 0 { freed } else { given })
    }

    /// Makes the file as small as it can be, in steps that appends come between. Returns by how much.
    async fn give_back(&self) -> Result<u64, LogError> {
        let mut given = 0;
        // Concurrent appends may free pages, but not forever.
        for _ in 0..MOST_STEPS {
            match self.change(|core| gc::give_back(&core.connection)).await? {
                0 => break,
                bytes => given += bytes,
            }
        }
        Ok(given)
    }
}
