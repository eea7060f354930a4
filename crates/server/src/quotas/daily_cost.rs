//! The money that a member may spend within a day (`quotas.daily_cost`). Bills count, and so does a part of
//! the quota for each run and each call at `/mcp` that was admitted and has no bill yet. Otherwise all
//! requests that come before the first bill would be compared with the same sum.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use agentx_types::{NanoUsd, OwnerId, SessionId};

/// The number of runs and calls without a bill that count as the whole quota: as many as the sessions of a
/// member that run at once, unless the settings say otherwise.
pub(crate) const PARTS: u64 = 16;
/// The noted runs of a person beyond which those that have ended are forgotten.
const NOTED: usize = 64;

/// The runs of each person that were admitted, with the number of bills that their session had then.
#[derive(Default)]
pub(crate) struct AdmittedRuns(Mutex<HashMap<OwnerId, HashMap<SessionId, u64>>>);

impl AdmittedRuns {
    pub(crate) fn note(&self, owner: &OwnerId, session: &SessionId, bills: u64) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(owner.clone())
            .or_default()
            .insert(session.clone(), bills);
    }

    /// Returns the sessions of an owner, among those with a run, that have no new bill.
    pub(crate) fn without_bill(
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

/// The amount that a person may still spend, as known when a call at `/mcp` began.
#[derive(Clone, Copy)]
pub(crate) struct CallBudget {
    /// The quota.
    pub(crate) most: NanoUsd,
    /// The cost of the person's sessions.
    pub(crate) listed: NanoUsd,
}

impl CallBudget {
    /// Returns the amount to reserve for a model call until its bill comes, beyond its estimate: its maximum
    /// cost, bounded by a sixteenth of the quota.
    pub(crate) fn reserved(self, estimate: NanoUsd, at_most: NanoUsd) -> NanoUsd {
        let counted = at_most.min(NanoUsd(self.most.0 / PARTS));
        NanoUsd(counted.0.saturating_sub(estimate.0))
    }
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
