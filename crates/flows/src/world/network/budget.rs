//! The memory of responses while they are read: each response is bounded, but a script may send very many
//! concurrent requests.

use std::sync::Arc;

use agentx_luau_tools::EffectError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes that all answers that are read at once may take together, in KiB: 64 MiB.
const MOST_KIB: usize = 64 << 10;

/// A number of bytes that answers share. Clones share it too.
#[derive(Clone, Debug)]
pub(crate) struct AnswerBudget {
    kib: Arc<Semaphore>,
}

/// The share of one response in a budget; it is given back when this is dropped.
#[derive(Debug)]
pub(super) struct BudgetShare {
    budget: AnswerBudget,
    has: Option<OwnedSemaphorePermit>,
    unused: usize,
}

impl Default for AnswerBudget {
    fn default() -> Self {
        Self::of_kib(MOST_KIB)
    }
}

impl AnswerBudget {
    /// Creates a budget of this many KiB.
    pub(super) fn of_kib(kib: usize) -> Self {
        Self {
            kib: Arc::new(Semaphore::new(kib)),
        }
    }

    /// Returns an empty share.
    pub(super) fn share(&self) -> BudgetShare {
        BudgetShare {
            budget: self.clone(),
            has: None,
            unused: 0,
        }
    }
}

impl BudgetShare {
    /// Adds this many bytes. An answer beyond the budget is refused at once: answers that waited for each
    /// other would wait forever.
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), EffectError> {
        if bytes <= self.unused {
            self.unused -= bytes;
            return Ok(());
        }
        let kib = (bytes - self.unused).div_ceil(1024);
        let wanted = u32::try_from(kib).unwrap_or(u32::MAX);
        let taken = Arc::clone(&self.budget.kib).try_acquire_many_owned(wanted);
        let taken = taken.map_err(|_| {
            let problem =
                "http: the answers that are being read have too many bytes together; ask for fewer at once";
            EffectError::new("too_large", problem)
        })?;
        self.unused = self.unused + kib * 1024 - bytes;
        match &mut self.has {
            Some(has) => has.merge(taken),
            None => self.has = Some(taken),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_take_together_no_more_than_there_is_and_give_it_back() {
        let budget = AnswerBudget::of_kib(4);
        let (mut first, mut second) = (budget.share(), budget.share());
        assert!(first.take(1_000).is_ok() && first.take(24).is_ok());
        assert_eq!(budget.kib.available_permits(), 3, "pieces fill what was taken");
        assert!(second.take(3 << 10).is_ok());
        assert_eq!(first.take(1).map_err(|error| error.code), Err("too_large".into()));
        drop(second);
        assert!(first.take(1).is_ok());
        drop(first);
        assert_eq!(budget.kib.available_permits(), 4);
    }
}
