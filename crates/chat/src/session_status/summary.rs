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
/// The word in the row if files of the workspace are changed without a question.
const EDITS: &str = "accept-edits";
/// The word in the row for calls that are refused without a question.
const REFUSES: &str = "deny";
/// The word in the row for plan mode.
const PLANS: &str = "plan";
/// The word in the row for a read-only folder.
const READ_ONLY: &str = "read-only";

/// The figures of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StatusSummary {
    /// The model and its window.
    pub(crate) model: ModelFigures,
    /// The tokens, money and time that the session has spent.
    pub(crate) spending: SpendingFigures,
    /// The session and its surroundings.
    pub(crate) place: SummaryPlace,
    /// The settings that decide about calls.
    pub(crate) decisions: CallDecisions,
}

/// The figures of the model that is asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ModelFigures {
    /// The name of the model.
    pub(crate) name: String,
    /// The provider of the model.
    pub(crate) provider: String,
    /// Tokens that fit into one call.
    pub(crate) window: u64,
    /// Whether that is only assumed.
    pub(crate) is_assumed: bool,
    /// The number of tokens of the window that the last call filled.
    pub(crate) filled: u64,
    /// The price of a token.
    pub(crate) prices: Prices,
}

/// Tokens, money and time of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SpendingFigures {
    /// Tokens of all calls.
    pub(crate) usage: Usage,
    /// The cost of all calls.
    pub(crate) cost: NanoUsd,
    /// The most that a run may have spent before its next call.
    pub(crate) max_cost: Option<NanoUsd>,
    /// The number of times that the model got tool results, in the present run or the last one.
    pub(crate) iterations: u32,
    /// The working time of the agent since the chat began.
    pub(crate) worked: Duration,
}

/// The session and its surroundings.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SummaryPlace {
    /// The session, once it is open.
    pub(crate) session: String,
    /// The directory it works in.
    pub(crate) workspace: String,
    /// The step of the sandbox that holds commands; empty if it is not shown, or that of another machine.
    pub(crate) sandbox: String,
}

/// The settings that decide about calls which no rule covers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct CallDecisions {
    /// The approval mode.
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
        self.model.prices == Prices::default() && !self.model.name.is_empty() && !is_demo(&self.model.name)
    }

    pub(crate) fn value(&self, name: &str) -> String {
        match name {
            "model" => self.model.name.clone(),
            "context" => format!(
                "{}/{} ({})",
                units::count(self.model.filled),
                units::window(self.model.window, self.model.is_assumed),
                units::share(self.model.filled, self.model.window)
            ),
            "tokens" => units::usage(&self.spending.usage),
            "cost" => self.cost(),
            "iterations" => units::counted(self.spending.iterations, "round"),
            "time" => units::duration(self.spending.worked.as_secs() * 1000).replace(".0s", "s"),
            "session" => self.place.session.clone(),
            "workspace" => self.place.workspace.clone(),
            "approval" => self.unusual().unwrap_or("ask").to_owned(),
            "sandbox" => self.place.sandbox.clone(),
            _ => String::new(),
        }
    }

    fn cost(&self) -> String {
        let spent = &self.spending;
        let cost = units::cost_of(spent.cost, &spent.usage, !is_demo(&self.model.name));
        if cost == units::NO_PRICE {
            // The line below an answer shows the same for one turn.
            format!("session {cost}")
        } else {
            cost
        }
    }

    /// Returns whether calls are not simply asked about, which a person should see before the first one.
    pub(crate) fn is_unusual(&self) -> bool {
        self.unusual().is_some()
    }

    /// Returns whether there are no messages yet, and nothing that a person should see before the first one.
    pub(crate) fn is_new(&self) -> bool {
        self.model.filled == 0 && !self.is_unusual()
    }

    /// Returns a word for the status row unless calls are simply asked about.
    pub(crate) fn unusual(&self) -> Option<&'static str> {
        match self.decisions.approval {
            _ if self.decisions.read_only => Some(READ_ONLY),
            _ if self.decisions.plan_mode => Some(PLANS),
            ApprovalMode::Auto if self.decisions.auto_approve => Some(AUTO_APPROVE),
            ApprovalMode::Auto => Some(NOBODY),
            ApprovalMode::AcceptEdits => Some(EDITS),
            ApprovalMode::Deny => Some(REFUSES),
            ApprovalMode::Ask => None,
        }
    }

    pub(crate) fn to_json(&self) -> String {
        json!({
            "model": self.model.name,
            "context_tokens": self.model.filled,
            "context_window": self.model.window,
            "usage": self.spending.usage,
            "cost_usd": self.spending.cost.as_usd(),
            "iterations": self.spending.iterations,
            "worked_ms": u64::try_from(self.spending.worked.as_millis()).unwrap_or(u64::MAX),
            "session": self.place.session,
            "workspace": self.place.workspace,
            "approval": self.decisions.approval,
            "plan_mode": self.decisions.plan_mode,
        })
        .to_string()
    }
}
