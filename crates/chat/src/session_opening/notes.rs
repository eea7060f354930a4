//! Notes about a session for its person, before the first message.

use agentx::config::{FolderTrust, Settings};
use agentx::runtime::ToolsChange;
use agentx::types::{AgentConfig, ApprovalMode, ConfigChange};

use super::{CommandLineOverrides, OpeningChanges, Place, has_no_price, mode_named};
use crate::render::clean::visible;

/// Returns a note if a cost limit counts only what the server reports, because the price of the model is
/// unknown.
pub fn note_of_cost(agent: &AgentConfig) -> Option<String> {
    let model = &agent.model;
    let counts_reports = agent.limits.max_cost.is_some() && has_no_price(agent);
    counts_reports.then(|| {
        format!(
            "note: the prices of {} are unknown, so max_cost counts only the costs that its server reports; set models.{}.prices\n",
            model.id, model.id
        )
    })
}

/// Returns a note about the tools of a resumed session: the configuration of this run decides which ones it
/// has.
pub fn note_of_tools(change: &ToolsChange) -> Option<String> {
    let part = |names: &[String], what: &str| {
        let names: Vec<_> = names.iter().map(|name| visible(name)).collect();
        (!names.is_empty()).then(|| format!("note: {what}: {}\n", names.join(", ")))
    };
    let gone = part(&change.gone, "tools of this session that are not available here");
    let back = part(&change.back, "tools added to this session");
    let both = gone.into_iter().chain(back).collect::<String>();
    (!both.is_empty()).then_some(both)
}

/// Returns a note about approvals in a local session: `--yes` applies to the program that got it, and the
/// session's rules apply while its folder is trusted. `changed` has the changes that opening it made by
/// itself.
pub fn note_of_decisions(settings: &Settings, opening: &OpeningChanges) -> Option<String> {
    let changed = &opening.changes;
    let (ran, again) = match opening.mode_before {
        Some(ApprovalMode::AcceptEdits) => (
            "edits of files were made",
            "`/approve-mode accept-edits` sets that again",
        ),
        _ => ("calls ran", "`--yes` lets them run"),
    };
    let modes = changed.iter().filter_map(|change| match change {
        ConfigChange::Approval(ApprovalMode::Ask) => Some("from now on you are asked again"),
        ConfigChange::Approval(ApprovalMode::AcceptEdits) => {
            Some("from now on you are asked about all but edits of files")
        }
        ConfigChange::Approval(ApprovalMode::Deny) => {
            Some("from now on calls that no rule allows are refused")
        }
        _ => None,
    });
    let mut text: String = modes
        .map(|now| format!("note: {ran} without asking in this session; {now} ({again})\n"))
        .collect();
    let is_taken = |change: &ConfigChange| matches!(change, ConfigChange::Rules(_));
    if changed.iter().any(is_taken) {
        let why = match settings.folder.trust {
            FolderTrust::Trusted => "they are older than your trust in this folder",
            FolderTrust::Unknown => "this folder is not trusted yet",
            FolderTrust::ReadOnly => "this folder is read-only",
            FolderTrust::Restricted => "this folder is restricted",
        };
        text.push_str(&format!(
            "note: `allow` rules of this session no longer apply: {why}\n"
        ));
    }
    (!text.is_empty()).then_some(text)
}

/// Returns a note if the command line names an approval mode that this person may not choose.
pub fn note_of_mode(
    place: &Place,
    settings: &Settings,
    agent: &CommandLineOverrides,
) -> Option<&'static str> {
    (agent.approval && mode_named(place, settings, agent).is_none()).then_some(
        "note: `--yes` has no effect here: the server's operator decides about calls that no rule allows\n",
    )
}
