//! Remembers the form of a request that a call gave up because its server answered with the same HTTP 500
//! each time. The agent then sends the request in a plainer form. That call waits longer, because the server
//! may only be down for a while, and its failure counts the attempts of all forms.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use agentx_types::{RunId, SessionId};

/// Maximum number of runs. They are forgotten beyond it, and their next calls begin like first ones.
const MOST_RUNS: usize = 1_024;

/// The attempts of a request in all its forms until now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FormAttempts {
    pub(super) attempts: u32,
    /// The time for which the server has been retried.
    pub(super) waited: Duration,
}

/// The run of a request, and the model that it is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RequestOwner {
    pub(super) session: Option<SessionId>,
    pub(super) run: Option<RunId>,
    pub(super) model: String,
}

/// The forms that were given up, by the run that continues with a plainer one.
#[derive(Debug, Default)]
pub(super) struct GivenUpForms(Mutex<BTreeMap<RequestOwner, FormAttempts>>);

impl GivenUpForms {
    /// Returns the attempts of the earlier forms, once.
    pub(super) fn take(&self, owner: &RequestOwner) -> Option<FormAttempts> {
        let mut forms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        forms.remove(owner)
    }

    /// Records that a form was given up.
    pub(super) fn keep(&self, owner: RequestOwner, all: FormAttempts) {
        let mut forms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if forms.len() >= MOST_RUNS {
            forms.clear();
        }
        forms.insert(owner, all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_counts_for_the_next_call_of_its_run_alone_and_runs_are_bounded() {
        let forms = GivenUpForms::default();
        let owner = |model: usize| RequestOwner {
            session: None,
            run: None,
            model: model.to_string(),
        };
        let all = FormAttempts {
            attempts: 7,
            waited: Duration::from_secs(15),
        };
        forms.keep(owner(1), all);
        assert_eq!(forms.take(&owner(2)), None);
        assert_eq!(forms.take(&owner(1)), Some(all));
        assert_eq!(forms.take(&owner(1)), None);
        for model in 0..3_000 {
            forms.keep(owner(model), all);
        }
        let kept = (0..3_000).filter(|model| forms.take(&owner(*model)).is_some());
        assert!(kept.count() <= MOST_RUNS);
    }
}
