//! The money that a member may spend within a day (`quotas.daily_cost`). Bills count, and so does a part of the quota
//! for each run and each call at `/mcp` that was admitted and has no bill yet. Otherwise all requests that come
//! before the first bill would be compared with the same sum.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use agentx_runtime::{Runtime as _, RuntimeError, Since, UsageBy, UsageQuery, UsageRow};
use agentx_types::{NanoUsd, OwnerId, SessionId, Timestamp};

use crate::problems::remote;
use crate::quotas::dollars::{too_dear, too_dear_by_estimate, too_dear_with};
use crate::quotas::unlisted_costs::DAY_US;
use crate::quotas::{QuotaGuard, UsageSums};
use crate::state::ServerState;

/// The number of runs and calls without a bill that count as the whole quota: as many as the sessions of a member
/// that run at once, unless the settings say otherwise.
const PARTS: u64 = 16;
/// The noted runs of a person beyond which those that have ended are forgotten.
const NOTED: usize = 64;

/// The runs of each person that were admitted, with the number of bills that their session had then.
#[derive(Default)]
pub(crate) struct AdmittedRuns(Mutex<HashMap<OwnerId, HashMap<SessionId, u64>>>);

impl AdmittedRuns {
    fn note(&self, owner: &OwnerId, session: &SessionId, bills: u64) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(owner.clone())
            .or_default()
            .insert(session.clone(), bills);
    }

    /// Returns the sessions of an owner, among those with a run, that have no new bill.
    fn without_bill(
        &self,
        owner: &OwnerId,
        running: &[SessionId],
        bills: &HashMap<SessionId, u64>,
    ) -> Vec<SessionId> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(own) = all.get_mut(owner) else {
            return Vec::new();
        };
        let is_full = own.len() > NOTED;
        own.retain(|session, had| {
            let is_same = bills.get(session).copied().unwrap_or_default() == *had;
            is_same && (!is_full || running.contains(session))
        });
        let found = own.keys().filter(|session| running.contains(session));
        let found = found.cloned().collect();
        if own.is_empty() {
            all.remove(owner);
        }
        found
    }
}

/// What a person has begun and may have no bill yet. It is read before the sums, which have the bills of what ends
/// meanwhile.
pub(crate) struct BegunWork {
    /// Inputs that were admitted and are on their way.
    pub(crate) inputs: u64,
    /// Calls at `/mcp` without a bill.
    calls: u64,
    /// Sessions with a run.
    pub(crate) running: Vec<SessionId>,
}

/// The amount that a person may still spend, as known when a call at `/mcp` began.
#[derive(Clone, Copy)]
pub(crate) struct CallBudget {
    /// The quota.
    pub(crate) most: NanoUsd,
    /// What the person's sessions cost.
    pub(crate) listed: NanoUsd,
}

impl CallBudget {
    /// Returns the amount to reserve for a model call until its bill comes, beyond its estimate: its maximum cost, bounded
    /// by a sixteenth of the quota.
    pub(crate) fn reserved(self, estimate: NanoUsd, at_most: NanoUsd) -> NanoUsd {
        let counted = at_most.min(NanoUsd(self.most.0 / PARTS));
        NanoUsd(counted.0.saturating_sub(estimate.0))
    }
}

impl ServerState {
    /// Returns the amount that a person may spend during a call at `/mcp`; `None` if their costs are not limited.
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

    /// Returns what a session cost within a day, before it is deleted: its owner's quota counts it on.
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

    /// Checks that the bills of a person are below what they may spend in a day. What costs nothing itself needs no
    /// more than that.
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

    /// Checks that a person has money for a run in `session`, or for a call outside of sessions, beside what has no
    /// bill yet. The run or call itself is not counted yet.
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

    /// Returns what a person has begun.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_counts_until_its_first_bill_or_its_end() {
        let admitted = AdmittedRuns::default();
        let ann = OwnerId::new("own_ann");
        let [one, two] = ["ses_1", "ses_2"].map(SessionId::new);
        let both = [one.clone(), two.clone()];
        admitted.note(&ann, &one, 0);
        admitted.note(&ann, &two, 3);
        let bills = |counts: &[(&SessionId, u64)]| -> HashMap<SessionId, u64> {
            counts
                .iter()
                .map(|(session, count)| ((*session).clone(), *count))
                .collect()
        };
        let none = bills(&[(&two, 3)]);
        assert_eq!(admitted.without_bill(&ann, &both, &none).len(), 2);
        let billed = bills(&[(&one, 1), (&two, 3)]);
        assert_eq!(
            admitted.without_bill(&ann, &both, &billed),
            std::slice::from_ref(&two)
        );
        assert!(admitted.without_bill(&ann, &[], &billed).is_empty());
        let all_billed = bills(&[(&two, 4)]);
        assert!(admitted.without_bill(&ann, &both, &all_billed).is_empty());
        assert!(admitted.0.lock().is_ok_and(|all| all.is_empty()));
    }
}
