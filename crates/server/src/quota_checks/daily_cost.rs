//! Checks the money that a member may spend within a day (`quotas.daily_cost`).

use agentx_runtime::{Runtime as _, RuntimeError, Since, UsageBy, UsageQuery, UsageRow};
use agentx_types::{NanoUsd, OwnerId, SessionId, Timestamp};

use crate::problems::remote;
use crate::quotas::daily_cost::{CallBudget, PARTS};
use crate::quotas::dollars::{too_dear, too_dear_by_estimate, too_dear_with};
use crate::quotas::unlisted_costs::DAY_US;
use crate::quotas::{QuotaGuard, UsageSums};
use crate::state::ServerState;

/// Work of a person that has begun and may have no bill yet. Read it before the sums, which include the bills
/// of work that ends in between.
pub(crate) struct BegunWork {
    /// Inputs that were admitted and are on their way.
    pub(crate) inputs: u64,
    /// Calls at `/mcp` without a bill.
    calls: u64,
    /// Sessions with a run.
    pub(crate) running: Vec<SessionId>,
}

impl ServerState {
    /// Returns the amount that a person may spend during a call at `/mcp`; `None` if their costs are not
    /// limited.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub(crate) async fn call_budget(&self, owner: &OwnerId) -> Result<Option<CallBudget>, RuntimeError> {
        let Some(most) = self.quotas().cost.filter(|_| owner != self.operator()) else {
            return Ok(None);
        };
        let listed = self.sums(owner).await?.listed;
        Ok(Some(CallBudget { most, listed }))
    }

    /// Returns the cost of a session within a day, before the session is deleted: it still counts for the
    /// owner's quota.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub(crate) async fn cost_before_deletion(
        &self,
        owner: &OwnerId,
        session: &SessionId,
    ) -> Result<NanoUsd, RuntimeError> {
        if self.quotas().cost.is_none() || owner == self.operator() {
            return Ok(NanoUsd::default());
        }
        Ok(sum_of(&self.costs_of(owner, Some(session.clone())).await?))
    }

    /// Checks that a person may spend something outside of sessions. Keep the guard until it is on a bill.
    ///
    /// # Errors
    /// Returns `quota_usage` if they have spent what they may in a day.
    pub(crate) async fn check_cost(&self, owner: &OwnerId) -> Result<Option<QuotaGuard>, RuntimeError> {
        if self.quotas().cost.is_none() || owner == self.operator() {
            return Ok(None);
        }
        let _turn = self.kept.admissions.take(owner).await;
        let begun = self.begun_work(owner).await?;
        self.check_money(owner, None, &begun, &self.sums_to_admit(owner).await?)?;
        Ok(Some(self.kept.begun.add(format!("calls {owner}")).0))
    }

    /// Checks that the bills of a person are below their daily budget. That is enough for work that costs
    /// nothing itself.
    ///
    /// # Errors
    /// Returns `quota_usage` if they are not.
    pub(crate) async fn check_bills(&self, owner: &OwnerId) -> Result<(), RuntimeError> {
        match self.beyond_bills(owner).await? {
            Some(what) => Err(remote("quota_usage", &what)),
            None => Ok(()),
        }
    }

    /// Returns why a person may begin nothing more, if their bills have reached what they may spend in a day.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub(crate) async fn beyond_bills(&self, owner: &OwnerId) -> Result<Option<String>, RuntimeError> {
        let Some(most) = self.quotas().cost.filter(|_| owner != self.operator()) else {
            return Ok(None);
        };
        let billed = self.sums_to_admit(owner).await?.billed();
        Ok((billed >= most).then(|| too_dear(billed, most)))
    }

    /// Checks that a person has money for a run in `session`, or for a call outside of sessions, beside what
    /// has no bill yet. The run or call itself is not counted yet.
    ///
    /// # Errors
    /// Returns `quota_usage` if they have not.
    pub(crate) fn check_money(
        &self,
        owner: &OwnerId,
        session: Option<&SessionId>,
        begun: &BegunWork,
        sums: &UsageSums,
    ) -> Result<(), RuntimeError> {
        let Some(most) = self.quotas().cost else {
            return Ok(());
        };
        if sums.billed() >= most {
            return Err(remote("quota_usage", &too_dear(sums.billed(), most)));
        }
        if sums.cost >= most {
            let what = too_dear_by_estimate(sums.cost, sums.estimated, most);
            return Err(remote("quota_usage", &what));
        }
        let unbilled = self
            .kept
            .admitted
            .without_bill(owner, &begun.running, &sums.bills);
        let others = unbilled.iter().filter(|unbilled| Some(*unbilled) != session);
        let others = others.count() as u64 + begun.inputs + begun.calls;
        let mut cost = sums.cost;
        cost += NanoUsd((most.0 / PARTS).saturating_mul(others));
        if cost >= most {
            let what = too_dear_with(sums.cost, most, others);
            return Err(remote("quota_usage", &what));
        }
        Ok(())
    }

    /// Returns the work that a person has begun.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub(crate) async fn begun_work(&self, owner: &OwnerId) -> Result<BegunWork, RuntimeError> {
        let count = |what: &str| self.kept.begun.count(&format!("{what} {owner}"));
        // An input that is recorded between the two counts twice for a moment, and never not at all.
        let (inputs, calls) = (count("runs"), count("calls"));
        Ok(BegunWork {
            inputs,
            calls,
            running: self.runtime().under_way_of(owner).await?,
        })
    }

    /// Notes that a run may begin in a session, which has no bill before its first call has ended.
    pub(crate) fn note_admitted(&self, owner: &OwnerId, session: &SessionId, sums: &UsageSums) {
        if self.quotas().cost.is_some() {
            let bills = sums.bills.get(session).copied().unwrap_or_default();
            self.kept.admitted.note(owner, session, bills);
        }
    }

    /// Returns what each of a person's sessions cost within a day, or one of them.
    pub(crate) async fn costs_of(
        &self,
        owner: &OwnerId,
        session: Option<SessionId>,
    ) -> Result<Vec<UsageRow>, RuntimeError> {
        let query = UsageQuery {
            owner: owner.clone(),
            by: UsageBy::Session,
            session,
            since: Some(Since::At(Timestamp(self.now().0.saturating_sub(DAY_US)))),
        };
        self.runtime_of(owner).usage(query).await
    }
}

/// Returns the money of these rows.
pub(crate) fn sum_of(rows: &[UsageRow]) -> NanoUsd {
    let mut sum = NanoUsd::default();
    for row in rows {
        sum += row.cost;
    }
    sum
}
