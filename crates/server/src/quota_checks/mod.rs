//! Checks the work that people start at a server against their quotas: sessions, bytes, runs, money,
//! connections. The operator has none; members have those of the settings; visitors only read, and are
//! counted by address.

mod daily_cost;
pub(crate) mod deleted_blobs;
mod unlisted_costs;

use std::sync::Arc;

use agentx_config::Quotas;
use agentx_runtime::{Runtime as _, RuntimeError, Session, SessionQuery};
use agentx_types::{OwnerId, RunStatus, SessionId};

use crate::problems::remote;
use crate::quota_checks::daily_cost::sum_of;
use crate::quotas::dollars::too_dear;
use crate::quotas::{ConnectionSlot, QuotaGuard, UsageSums};
use crate::state::ServerState;

/// Returns a share, in percent, as a number up to 100.
fn percent(share: u64) -> usize {
    usize::try_from(share.min(100)).unwrap_or(100)
}

impl ServerState {
    pub(crate) fn quotas(&self) -> Quotas {
        self.settings().quotas.clone()
    }

    /// Counts one more connection or stream; `None` if there are too many.
    pub(crate) fn count_in(&self, who: &ConnectionSlot<'_>) -> Option<QuotaGuard> {
        let (limits, quotas) = (&self.options().limits, self.quotas());
        let connections = &self.kept.connections;
        let in_all = |most: usize| Some(most as u64);
        if who.visitor {
            // They are many, but authenticated people need room too.
            let share = limits.connections.saturating_mul(percent(quotas.visitor_share)) / 100;
            let all = connections.add_up_to("visitors".into(), in_all(share))?;
            let name = format!("visitors at {}", who.address);
            let counted = connections.add_up_to(name, quotas.visitor_connections)?;
            return Some(counted.together_with(all));
        }
        let own = quotas.connections.filter(|_| !who.operator);
        let most = own.into_iter().chain(in_all(limits.connections_per_person)).min();
        connections.add_up_to(who.person.to_string(), most)
    }

    /// Checks that a person may create one more session. Keep the guard until the session exists.
    ///
    /// # Errors
    /// Returns `quota_storage` if they have too many sessions, or their sessions take too much space.
    pub(crate) async fn check_create(&self, owner: &OwnerId) -> Result<Option<QuotaGuard>, RuntimeError> {
        if owner == self.runtime().owner() {
            return Ok(None);
        }
        let (counted, begun) = self.kept.begun.add(format!("makes {owner}"));
        if let Some(most) = self.quotas().sessions {
            let query = SessionQuery {
                owner: owner.clone(),
                workspace: None,
                limit: usize::try_from(most).unwrap_or(usize::MAX),
                before: None,
            };
            let there = self.runtime_of(owner).sessions(query).await?.len() as u64;
            if there + begun > most {
                let what = format!(
                    "you have reached this server's limit of {most} sessions per member (`quotas.sessions`): delete one first"
                );
                return Err(remote("quota_storage", &what));
            }
        }
        self.check_bytes(owner, &self.sums_to_admit(owner).await?).await?;
        Ok(Some(counted))
    }

    /// Checks that a session of `owner` may permanently store more.
    ///
    /// # Errors
    /// Returns `quota_storage` if their sessions take too much space.
    pub(crate) async fn check_storage(&self, owner: &OwnerId) -> Result<(), RuntimeError> {
        if owner == self.runtime().owner() {
            return Ok(());
        }
        self.check_bytes(owner, &self.sums_to_admit(owner).await?).await
    }

    /// Checks that a run may start in a session of `owner`. Keep the guard until the run is recorded.
    ///
    /// # Errors
    /// Returns `quota_storage` if their sessions take too much space, `quota_usage` if they cost too much or
    /// too many run.
    pub(crate) async fn check_run(
        &self,
        owner: &OwnerId,
        session: &SessionId,
    ) -> Result<Option<QuotaGuard>, RuntimeError> {
        if owner == self.runtime().owner() {
            return Ok(None);
        }
        let _turn = self.kept.admissions.take(owner).await;
        let begun = self.begun_work(owner).await?;
        let sums = self.sums_to_admit(owner).await?;
        self.check_bytes(owner, &sums).await?;
        self.check_money(owner, Some(session), &begun, &sums)?;
        if let Some(most) = self.quotas().running {
            let others = begun.running.iter().filter(|other| *other != session).count() as u64;
            if others + begun.inputs >= most {
                let what = format!(
                    "{most} other sessions of this owner are running, which is this server's limit per member (`quotas.running_sessions`): wait for one, or stop it"
                );
                return Err(remote("quota_usage", &what));
            }
        }
        self.note_admitted(owner, session, &sums);
        Ok(Some(self.kept.begun.add(format!("runs {owner}")).0))
    }

    /// Ends the runs and the calls at `/mcp` of members whose bills have reached their cost quota, because
    /// the cost is not known before they begin; estimates end nothing. A call that waits for a person costs
    /// nothing, and continues waiting.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub(crate) async fn end_runs_over_cost_quota(&self) -> Result<(), RuntimeError> {
        let Some(most) = self.quotas().cost else {
            return Ok(());
        };
        for person in self.client_calls.people() {
            if person != *self.operator() && self.sums(&person).await?.billed() >= most {
                self.client_calls.stop(&person);
            }
        }
        for (session, owner) in self.runtime().under_way().await? {
            if owner == *self.operator() {
                continue;
            }
            let cost = self.sums(&owner).await?.billed();
            let room = self.rooms().find(&session).await.filter(|_| cost >= most);
            let Some(open) = room.as_ref().and_then(|room| room.session()) else {
                continue;
            };
            // A session that fails must not keep the others running.
            if let Err(error) = end_one(&**open, too_dear(cost, most)).await {
                tracing::warn!(%session, %error, "cannot stop session, although its owner's budget is used up");
            }
        }
        Ok(())
    }

    /// Returns the size and cost of a person's sessions, possibly from the cache.
    pub(crate) async fn sums(&self, owner: &OwnerId) -> Result<UsageSums, RuntimeError> {
        match self.kept.cached_sums(owner) {
            Some(sums) => Ok(sums),
            None => self.read_sums(owner).await,
        }
    }

    /// Returns the size and cost of a person's sessions, from the cache only if it leads to a refusal: else
    /// many small requests would be admitted by the same sum.
    pub(crate) async fn sums_to_admit(&self, owner: &OwnerId) -> Result<UsageSums, RuntimeError> {
        let quotas = self.quotas();
        let is_over = |sums: &UsageSums| {
            quotas.bytes.is_some_and(|most| sums.bytes >= most)
                || quotas.cost.is_some_and(|most| sums.cost >= most)
        };
        match self.kept.cached_sums(owner).filter(is_over) {
            Some(sums) => Ok(sums),
            None => self.read_sums(owner).await,
        }
    }

    async fn read_sums(&self, owner: &OwnerId) -> Result<UsageSums, RuntimeError> {
        let runtime = self.runtime_of(owner);
        let mut sums = UsageSums::default();
        if self.quotas().bytes.is_some() {
            let stored = runtime.stored(None).await?.unwrap_or_default();
            sums.kept = stored.kept_bytes;
            sums.bytes = stored
                .facts
                .saturating_add(stored.blob_bytes)
                .saturating_add(sums.kept);
        }
        if self.quotas().cost.is_some() {
            let rows = self.costs_of(owner, None).await?;
            sums.listed = sum_of(&rows);
            for (session, cost) in self.kept.unlisted.deletions(owner, self.now()) {
                // One that is still listed has its cost there.
                if !rows.iter().any(|row| row.key == session.as_str()) {
                    sums.listed += cost;
                }
            }
            sums.cost = sums.listed;
            let (unlisted, estimated) = self.kept.unlisted.spent(owner, self.now());
            sums.cost += unlisted;
            sums.estimated = estimated;
            let bills = rows.into_iter().map(|row| (SessionId::new(row.key), row.calls));
            sums.bills = Arc::new(bills.collect());
        }
        self.kept.cache_sums(owner, &sums);
        Ok(sums)
    }
}

/// Ends the run of one session, and holds its queue back. A call that waits for a person continues waiting.
async fn end_one(open: &dyn Session, why: String) -> Result<(), RuntimeError> {
    let waits = [RunStatus::AwaitingApproval, RunStatus::Stopping];
    let run = open.state().await?.run;
    if run.is_some_and(|run| !run.status.is_final() && !waits.contains(&run.status)) {
        open.halt(Some(why)).await?;
    }
    Ok(())
}
