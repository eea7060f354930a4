//! Values for the record of a step: the data beside its outcome, and the wait until its beginning is in the
//! log.

use agentx_types::EffectBill;
use serde_json::Value;
use tokio::sync::oneshot;

use crate::effects::effect::CommitResult;

/// The data that the log keeps of a step besides its outcome.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepMetadata {
    /// The cost of the step, if it called a model.
    pub bill: Option<EffectBill>,
    /// The change of a file, if the step called a tool that changed one.
    pub details: Option<Value>,
}

impl From<EffectBill> for StepMetadata {
    fn from(bill: EffectBill) -> Self {
        Self {
            bill: Some(bill),
            details: None,
        }
    }
}

/// A starting step on its way into the log; `None` outside of a session.
#[derive(Debug)]
pub struct StartingStep(pub(super) Option<oneshot::Receiver<CommitResult>>);

impl StartingStep {
    /// Waits until the log has it. Returns `false` if the session is gone.
    pub async fn committed(self) -> bool {
        match self.0 {
            Some(committed) => matches!(committed.await, Ok(Ok(_))),
            None => true,
        }
    }
}
