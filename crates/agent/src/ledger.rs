//! The tool ledger: every call of the answer that is being worked on, and how far each has come. Each call gets exactly
//! one result, in whatever order results come; results for calls that are not open are passed over.

use agentx_types::{ActionId, ContentPart, ToolCallId, ToolStatus};
use serde::{Deserialize, Serialize};

use crate::approval::Question;
use crate::assembler::RequestedCall;

/// How far a call has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum CallStage {
    /// A person has to decide.
    AwaitingApproval(Question),
    /// It was handed to the tool.
    Running {
        /// By this action.
        action_id: ActionId,
        /// Whether the action is on record as begun.
        started: bool,
        /// Whether it may touch what lies outside the workspace.
        outside_workspace: bool,
    },
    /// It is answered without running anything.
    Answering {
        /// By this action.
        action_id: ActionId,
        /// Why.
        status: ToolStatus,
        /// With this text.
        text: String,
    },
    /// It has its result.
    Resolved {
        /// What the model reads.
        content: Vec<ContentPart>,
        /// How it ended.
        status: ToolStatus,
        /// Whether as a failure.
        is_error: bool,
    },
}

/// One call of the answer that is being worked on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// What the model asked for.
    pub call: RequestedCall,
    /// How far it has come.
    pub stage: CallStage,
}

/// The calls of one answer, in the order in which the model asked for them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolLedger {
    entries: Vec<LedgerEntry>,
}

impl ToolLedger {
    /// Adds a call.
    pub fn add(&mut self, call: RequestedCall, stage: CallStage) {
        self.entries.push(LedgerEntry { call, stage });
    }

    /// The calls, in order.
    pub fn entries(&self) -> &[LedgerEntry] {
        &self.entries
    }

    /// The calls, in order, to move them on.
    pub fn entries_mut(&mut self) -> &mut [LedgerEntry] {
        &mut self.entries
    }

    /// Whether there is no call at all.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether every call has its result.
    pub fn is_settled(&self) -> bool {
        self.entries
            .iter()
            .all(|entry| matches!(entry.stage, CallStage::Resolved { .. }))
    }

    /// Whether a person has to decide about any call.
    pub fn awaits_approval(&self) -> bool {
        self.entries
            .iter()
            .any(|entry| matches!(entry.stage, CallStage::AwaitingApproval(_)))
    }

    /// The call that waits for a decision under this id.
    pub fn awaiting(&mut self, id: &ToolCallId) -> Option<&mut LedgerEntry> {
        self.open_entry(id)
            .filter(|entry| matches!(entry.stage, CallStage::AwaitingApproval(_)))
    }

    /// Records that the action of a call has begun.
    pub fn mark_started(&mut self, action: &ActionId) {
        for entry in &mut self.entries {
            if let CallStage::Running {
                action_id, started, ..
            } = &mut entry.stage
                && action_id == action
            {
                *started = true;
            }
        }
    }

    /// Gives a call its result. `false` where no such call is open: it is unknown, or it has its result already.
    pub fn resolve(
        &mut self,
        id: &ToolCallId,
        content: &[ContentPart],
        status: ToolStatus,
        is_error: bool,
    ) -> bool {
        let Some(entry) = self.open_entry(id) else {
            return false;
        };
        entry.stage = CallStage::Resolved {
            content: content.to_vec(),
            status,
            is_error,
        };
        true
    }

    /// Takes all calls out.
    pub fn take(&mut self) -> Vec<LedgerEntry> {
        std::mem::take(&mut self.entries)
    }

    fn open_entry(&mut self, id: &ToolCallId) -> Option<&mut LedgerEntry> {
        self.entries.iter_mut().find(|entry| {
            entry.call.tool_call_id == *id && !matches!(entry.stage, CallStage::Resolved { .. })
        })
    }
}
