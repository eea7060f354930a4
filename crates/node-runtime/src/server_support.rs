//! The functions of this runtime for servers, beyond those for front ends.
//!
//! The methods without an owner work on sessions of all owners: a server checks permissions before it calls
//! them. None of them takes a lease.
//!
//! After a kill a server calls [`NodeRuntime::interrupted_server_sessions`] once and opens the returned
//! sessions, so that runs continue without anybody at a keyboard. A session that a person drove on this
//! machine is not among them: its work continues when that person opens it.

use std::sync::Arc;

use agentx_runtime::{Fact, LogError, LogRows, RuntimeError, ServerRulesSource, SessionInfo};
use agentx_types::{EnvironmentEvent, OwnerId, RunStatus, SessionId};

use crate::NodeRuntime;

impl NodeRuntime {
    /// Lets the sessions that it opens ask for the rules of the server as they are now
    /// ([`NodeRuntime::bound_by`] sets those at opening).
    #[must_use]
    pub fn with_rules_of(mut self, source: Arc<dyn ServerRulesSource>) -> Self {
        self.driver.server_rules_source = Some(source);
        self
    }

    /// Returns up to `limit` facts of a session of any owner after `after_seq`, unchanged.
    ///
    /// # Errors
    /// Returns an error if the session does not exist or its data cannot be read.
    pub async fn facts(
        &self,
        session: &SessionId,
        after_seq: u64,
        limit: usize,
    ) -> Result<Vec<Fact>, RuntimeError> {
        Ok(self.log().read(session, after_seq, limit).await?)
    }

    /// Rows of a session of any owner as they are stored, from the segment on that holds the event after
    /// `after_seq`, until they have `most_bytes`.
    ///
    /// # Errors
    /// Returns an error if the session does not exist or its data cannot be read.
    pub async fn rows(
        &self,
        session: &SessionId,
        after_seq: u64,
        most_bytes: usize,
    ) -> Result<LogRows, RuntimeError> {
        Ok(self.log().rows(session, after_seq, most_bytes).await?)
    }

    /// Running sessions of every owner whose last writer was a server (alive or killed). Other interrupted
    /// sessions wait until somebody opens them. A session that cannot be read is logged and skipped.
    ///
    /// # Errors
    /// Returns an error if the list of sessions cannot be read.
    pub async fn interrupted_server_sessions(&self) -> Result<Vec<(SessionId, OwnerId)>, RuntimeError> {
        let mut found = Vec::new();
        for (session, owner) in self.log().under_way().await? {
            match self.was_served(&session).await {
                Ok(true) => found.push((session, owner)),
                Ok(false) => {}
                Err(error) => pass_over(&session, &error),
            }
        }
        Ok(found)
    }

    /// Returns the sessions of every owner in which a run is in progress or waits for a person.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn under_way(&self) -> Result<Vec<(SessionId, OwnerId)>, RuntimeError> {
        Ok(self.log().under_way().await?)
    }

    /// Returns the sessions of an owner in which a run is in progress or waits for a person.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn under_way_of(&self, owner: &OwnerId) -> Result<Vec<SessionId>, RuntimeError> {
        let all = self.under_way().await?.into_iter();
        Ok(all
            .filter(|(_, of)| of == owner)
            .map(|(session, _)| session)
            .collect())
    }

    /// Sessions of every owner in which a call waits for a person, those with the latest event first. One
    /// that cannot be read is ignored, and logged.
    ///
    /// # Errors
    /// Returns an error if the list of sessions cannot be read.
    pub async fn waiting(&self) -> Result<Vec<SessionInfo>, RuntimeError> {
        let mut found = Vec::new();
        for (session, _) in self.log().under_way().await? {
            match self.log().info(&session).await {
                Ok(info) if info.status == Some(RunStatus::AwaitingApproval) => found.push(info),
                // The session was deleted in the meantime.
                Ok(_) | Err(LogError::NotFound(_)) => {}
                Err(error) => pass_over(&session, &error.into()),
            }
        }
        found.sort_by(|one, other| {
            (other.updated_at, &other.session_id).cmp(&(one.updated_at, &one.session_id))
        });
        Ok(found)
    }

    /// Returns whether the last writer of a session was a server. The log is read from its end, in steps that
    /// become larger.
    async fn was_served(&self, session: &SessionId) -> Result<bool, RuntimeError> {
        let mut until = self.log().info(session).await?.last_seq;
        let mut step = LOOK_BACK;
        while until > 0 {
            let after = until.saturating_sub(step);
            if let Some(serves) = self.last_writer(session, after, until).await? {
                return Ok(serves);
            }
            (until, step) = (after, step.saturating_mul(2));
        }
        Ok(false)
    }

    /// Returns whether the last writer among the events after `after` up to `until` was a server; `None` if
    /// no writer is among them.
    async fn last_writer(
        &self,
        session: &SessionId,
        mut after: u64,
        until: u64,
    ) -> Result<Option<bool>, RuntimeError> {
        let mut last = None;
        while after < until {
            let count = usize::try_from(until - after).unwrap_or(usize::MAX);
            let facts = self.log().read(session, after, count).await?;
            let Some(end) = facts.last() else { break };
            after = end.seq;
            for fact in facts.iter() {
                if let EnvironmentEvent::WriterAttached(attached) = &fact.event {
                    last = Some(attached.serves);
                }
            }
        }
        Ok(last)
    }
}

/// Logs an unreadable session and continues: it must not hide the others.
pub(crate) fn pass_over(session: &SessionId, error: &RuntimeError) {
    tracing::warn!(%session, %error, "cannot be read and is skipped");
}

/// The number of events that are read first to find a session's last writer. Most sessions have fewer, or
/// were opened shortly before their end; otherwise the step doubles.
const LOOK_BACK: u64 = 512;
