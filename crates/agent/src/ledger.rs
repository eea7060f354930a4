//! The tool ledger: every call of the current answer, with its progress.
//!
//! The ReAct machine adds the calls of an answer in order, advances each as facts arrive, and takes all of
//! them out when the last one has its result. Ids of calls are the model's; duplicates are made unique before
//! they are added.
//!
//! Invariant: each call gets exactly one result, in any order of the results, and only from the action that
//! performs it; any other is ignored (invariant 8). Providers refuse a conversation in which a call has no
//! result, or two; so the ledger is empty only between rounds, and all calls leave it together.

use agentx_types::{
    ActionId, AgentStateId, ContentPart, RequestedCall, Timestamp, ToolCallId, ToolResult, ToolStatus,
};
use serde::{Deserialize, Serialize};

use crate::permissions::approval::Question;
use crate::security::call_assessment::CallAssessment;

/// The stage of a call.
///
/// ```text
/// Assessing ────────▶ any of the others
/// AwaitingApproval ─▶ Running ───────────────▶ Resolved
///                  ─▶ Delegated ─▶ Answering ─▶ Resolved
///                  ─▶ Waiting ───▶ Answering ─▶ Resolved
///                  ─▶ Answering ──────────────▶ Resolved
/// ```
///
/// A call begins at any of them but `Resolved`. One that ran when its program died goes from `Running` to
/// `Answering`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum CallStage {
    /// Analyzers assess its risk; the decision waits for them.
    Assessing(CallAssessment),
    /// A person has to decide.
    AwaitingApproval(Question),
    /// The tool has the call.
    Running {
        /// The action that hands it over; the result names it as its cause.
        action_id: ActionId,
        /// Whether the action is recorded as begun. From then on a crash leaves the outcome unknown.
        started: bool,
        /// Whether it may touch files outside the workspace.
        outside_workspace: bool,
    },
    /// The agent answers it without running anything.
    Answering {
        /// The action that brings the answer.
        action_id: ActionId,
        /// The reason why nothing is run: refused, denied, invalid, interrupted, or answered by the
        /// machine itself.
        status: ToolStatus,
        /// The text of the answer, so that it can be repeated after a crash.
        text: String,
    },
    /// An agent that was made for it works on it.
    Delegated {
        /// The action that gave it its input.
        action_id: ActionId,
        /// The agent that works on it.
        child: AgentStateId,
    },
    /// It waits for a time: a timer runs in this program, and the next program starts it again.
    Waiting {
        /// The action of the timer.
        action_id: ActionId,
        /// The time at which it ends.
        due_at: Timestamp,
    },
    /// The call has its result.
    Resolved {
        /// The content that the model reads.
        content: Vec<ContentPart>,
        /// The way in which it ended, for programs.
        status: ToolStatus,
        /// Whether the result for the provider is marked as failed.
        is_error: bool,
    },
}

impl CallStage {
    /// The action that will bring the result, if one is in progress.
    pub fn action_id(&self) -> Option<&ActionId> {
        match self {
            Self::Running { action_id, .. }
            | Self::Answering { action_id, .. }
            | Self::Delegated { action_id, .. } => Some(action_id),
            // The timer brings no result: the agent answers the call when it is due.
            Self::Assessing(_) | Self::AwaitingApproval(_) | Self::Waiting { .. } | Self::Resolved { .. } => {
                None
            }
        }
    }
}

/// A call of the answer in progress. The model later reads the call and, once it is resolved, its content;
/// the other stages are not part of the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// The call as the model requested it.
    pub call: RequestedCall,
    /// The stage of the call.
    pub stage: CallStage,
}

/// The calls of one answer, in the order in which the model requested them.
///
/// ```
/// use agentx_agent::{CallStage, ToolLedger};
/// use agentx_types::{ActionId, ContentPart, RequestedCall, ToolResult, ToolStatus};
///
/// let mut ledger = ToolLedger::default();
/// let call = RequestedCall { tool_call_id: "c1".into(), name: "look".into(), input: serde_json::json!({}), invalid: None };
/// let action_id = ActionId::following(7, 0);
/// ledger.add(call, CallStage::Running { action_id: action_id.clone(), started: true, outside_workspace: false });
/// let result = ToolResult {
///     tool_call_id: "c1".into(),
///     result: vec![ContentPart::text("a.txt")],
///     is_error: false,
///     status: ToolStatus::Success,
///     details: None,
/// };
/// assert!(!ledger.resolve(&ActionId::following(7, 1), &result), "another action brings no result of this call");
/// assert!(ledger.resolve(&action_id, &result) && ledger.is_settled());
/// assert!(!ledger.resolve(&action_id, &result), "a call has one result");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolLedger {
    entries: Vec<LedgerEntry>,
}

impl ToolLedger {
    /// Adds a call at the end.
    pub fn add(&mut self, call: RequestedCall, stage: CallStage) {
        self.entries.push(LedgerEntry { call, stage });
    }

    /// The calls of the answer, in the model's order.
    pub fn entries(&self) -> &[LedgerEntry] {
        &self.entries
    }

    /// The calls, in order, to move them on.
    pub fn entries_mut(&mut self) -> &mut [LedgerEntry] {
        &mut self.entries
    }

    /// Returns whether the ledger is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns whether every call has its result. An empty ledger is settled.
    ///
    /// The machine closes the round once this is true: it moves the results into the conversation, and asks
    /// the model again or ends the run.
    pub fn is_settled(&self) -> bool {
        self.entries
            .iter()
            .all(|entry| matches!(entry.stage, CallStage::Resolved { .. }))
    }

    /// Returns whether a person has to decide about any call.
    pub fn awaits_approval(&self) -> bool {
        self.entries
            .iter()
            .any(|entry| matches!(entry.stage, CallStage::AwaitingApproval(_)))
    }

    /// Records that the action of a call has begun. Returns the call if it was not started before.
    ///
    /// `None` if no call runs by this action, or it was started already; then nothing changes.
    pub fn mark_started(&mut self, action: &ActionId) -> Option<&ToolCallId> {
        self.entries.iter_mut().find_map(|entry| match &mut entry.stage {
            CallStage::Running {
                action_id, started, ..
            } if action_id == action && !*started => {
                *started = true;
                Some(&entry.call.tool_call_id)
            }
            _ => None,
        })
    }

    /// Returns whether this action runs a call that has no result yet.
    pub fn runs(&self, action: &ActionId) -> bool {
        self.entries
            .iter()
            .any(|entry| matches!(&entry.stage, CallStage::Running { action_id, .. } if action_id == action))
    }

    /// Gives a call the result of `action`.
    ///
    /// `false` if the call is not open for this action: the call is unknown, waits for a decision, has its
    /// result already, or the result is of an earlier call with the same id.
    pub fn resolve(&mut self, action: &ActionId, result: &ToolResult) -> bool {
        let answered = |entry: &&mut LedgerEntry| {
            entry.stage.action_id() == Some(action) && entry.call.tool_call_id == result.tool_call_id
        };
        let Some(entry) = self.entries.iter_mut().find(answered) else {
            return false;
        };
        entry.stage = CallStage::Resolved {
            content: result.result.clone(),
            status: result.status,
            is_error: result.is_error,
        };
        true
    }

    /// Removes and returns all calls, when the round closes.
    pub fn drain(&mut self) -> Vec<LedgerEntry> {
        std::mem::take(&mut self.entries)
    }
}
