//! The assessment of one call: the verdicts that are there, and those that are awaited.

use agentx_types::{ActionId, RiskAssessed, RiskVerdict};
use serde::{Deserialize, Serialize};

/// The state of the assessment of a call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallAssessment {
    /// The analyzers that have not answered.
    pub awaited: Vec<AwaitedVerdict>,
    /// The verdicts, in the order in which they came.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<RiskVerdict>,
}

/// An analyzer that was asked and has not answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwaitedVerdict {
    /// The action that asked it.
    pub action_id: ActionId,
    /// Its name.
    pub analyzer: String,
}

impl CallAssessment {
    /// Returns whether the action asks for one of the awaited verdicts.
    pub fn awaits(&self, action: &ActionId) -> bool {
        self.awaited.iter().any(|awaited| awaited.action_id == *action)
    }

    /// Takes the verdict that answers `action`. `false` if it is not awaited: then nothing changes.
    ///
    /// The verdict counts for the analyzer that was asked, whatever name it bears.
    pub(crate) fn take(&mut self, action: &ActionId, said: &RiskAssessed) -> bool {
        let Some(place) = self
            .awaited
            .iter()
            .position(|awaited| awaited.action_id == *action)
        else {
            return false;
        };
        let AwaitedVerdict { analyzer, .. } = self.awaited.remove(place);
        self.verdicts.push(RiskVerdict {
            analyzer,
            ..said.verdict()
        });
        true
    }
}
