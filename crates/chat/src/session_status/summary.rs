//! The figures of a session, for the row above the line and for the command that may write it.

use std::time::Duration;

use agentx::types::{ApprovalMode, NanoUsd, Prices, Usage};
use serde_json::json;

use crate::demo::is_demo;
use crate::render::units;

/// The word in the row for calls that are made without a question.
const NOBODY: &str = "auto";
/// The word in the row if `--yes` also answers the questions of rules.
const AUTO_APPROVE: &str = "auto-yes";
/// The word in the row for calls that are refused without a question.
const REFUSES: &str = "deny";
/// The word in the row for plan mode.
const PLANS: &str = "plan";
/// The word in the row for a read-only folder.
const READ_ONLY: &str = "read-only";

/// The figures of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StatusSummary {
    /// The model that is asked.
    pub(crate) model: String,
    /// The provider of the model.
    pub(crate) provider: String,
    /// Tokens that fit into one call.
    pub(crate) window: u64,
    /// Whether that is only assumed.
    pub(crate) is_assumed: bool,
    /// The number of tokens of the window that the last call filled.
    pub(crate) filled: u64,
    /// Tokens of all calls.
    pub(crate) usage: Usage,
    /// The cost of all calls.
    pub(crate) cost: NanoUsd,
    /// The price of a token.
    pub(crate) prices: Prices,
    /// The most that a run may have spent before its next call.
    pub(crate) max_cost: Option<NanoUsd>,
    /// The number of times that the model got tool results, in the present run or the last one.
    pub(crate) iterations: u32,
    /// The working time of the agent since the chat began.
    pub(crate) worked: Duration,
    /// The session, once it is open.
    pub(crate) session: String,
    /// The directory it works in.
    pub(crate) workspace: String,
    /// The step of the sandbox that holds commands; empty if it is not shown, or that of another machine.
    pub(crate) sandbox: String,
    /// The approval mode, which decides about calls.
    pub(crate) approval: ApprovalMode,
    /// Whether plan mode is on.
    pub(crate) plan_mode: bool,
    /// Whether `--yes` also answers the questions that are left in the mode `auto`.
    pub(crate) auto_approve: bool,
    /// Whether the folder is read-only: no decision lets a call change or run anything there.
    pub(crate) read_only: bool,
}

impl StatusSummary {
    /// Returns whether the prices of the model are unknown.
    pub(crate) fn has_no_price(&self) -> bool {
        self.prices == Prices::default() && !self.model.is_empty() && !is_demo(&self.model)
    }

    pub(crate) fn value(&self, name: &str) -> String {
        let percent = self.filled.saturating_mul(100) / self.window.max(1);
        match name {
            "model" => self.model.clone(),
            "context" => format!(
                "{}/{} ({percent} %)",
                units::count(self.filled),
                units::window(self.window, self.is_assumed)
            ),
            "tokens" => units::usage(&self.usage),
            "cost" => match units::cost_of(self.cost, &self.usage, !is_demo(&self.model)).as_str() {
                // The line below an answer shows the same for one turn.
                unknown @ units::NO_PRICE => format!("session {unknown}"),
                known => known.to_owned(),
            },
            "iterations" => units::counted(self.iterations, "round"),
            "time" => units::duration(self.worked.as_secs() * 1000).replace(".0s", "s"),
            "session" => self.session.clone(),
            "workspace" => self.workspace.clone(),
            "approval" => self.unusual().unwrap_or("ask").to_owned(),
            "sandbox" => self.sandbox.clone(),
            _ => String::new(),
        }
    }

    /// Returns whether calls are not simply asked about, which a person should see before the first one.
    pub(crate) fn is_unusual(&self) -> bool {
        self.unusual().is_some()
    }

    /// Returns whether there are no messages yet, and nothing that a person should see before the first one.
    pub(crate) fn is_new(&self) -> bool {
        self.filled == 0 && !self.is_unusual()
    }

    /// Returns a word for the status row unless calls are simply asked about.
    pub(crate) fn unusual(&self) -> Option<&'static str> {
        match self.approval {
            _ if self.read_only => Some(READ_ONLY),
            _ if self.plan_mode => Some(PLANS),
            ApprovalMode::Auto if self.auto_approve => Some(AUTO_APPROVE),
            ApprovalMode::Auto => Some(NOBODY),
            ApprovalMode::Deny => Some(REFUSES),
            ApprovalMode::Ask => None,
        }
    }

    pub(crate) fn to_json(&self) -> String {
        json!({
            "model": self.model,
            "context_tokens": self.filled,
            "context_window": self.window,
            "usage": self.usage,
            "cost_usd": self.cost.as_usd(),
            "iterations": self.iterations,
            "worked_ms": u64::try_from(self.worked.as_millis()).unwrap_or(u64::MAX),
            "session": self.session,
            "workspace": self.workspace,
            "approval": self.approval,
            "plan_mode": self.plan_mode,
        })
        .to_string()
    }
}
