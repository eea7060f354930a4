//! Past sessions for commands that read the calls in them, and the table of a rule on trial.

use agentx::config::show_rule;
use agentx::history::TrialReport;
use agentx::runtime::{Runtime, SessionQuery};
use agentx::types::{ApprovalDecision, Rule, SessionId};

use crate::error::ChatError;
use crate::render::call_summary::call_summary;
use crate::render::clean::visible;
use crate::render::table::table;
use crate::render::units;
use crate::terminal::console::Console;

const ALL: usize = 100_000;

/// Returns the named session, otherwise the latest ones, at most this many; a note says so if there are more.
pub async fn sessions_to_read(
    runtime: &dyn Runtime,
    session: Option<&str>,
    most: usize,
    console: &mut Console,
) -> Result<Vec<SessionId>, ChatError> {
    if let Some(id) = session {
        return Ok(vec![runtime.resolve(id).await?]);
    }
    let query = SessionQuery {
        owner: runtime.owner().clone(),
        workspace: None,
        limit: ALL,
        before: None,
    };
    let found = runtime.sessions(query).await?;
    if found.len() > most {
        let all = found.len();
        console.say(&format!(
            "note: checked the latest {most} of {all} sessions; `--sessions all` checks all of them\n"
        ));
    }
    Ok(found.into_iter().take(most).map(|info| info.session_id).collect())
}

/// Renders the calls that a rule would have decided differently.
pub fn trial_table(rule: &Rule, reports: &[TrialReport], limit: usize, width: usize) -> String {
    let calls: u64 = reports.iter().map(|report| report.calls).sum();
    let changed: u64 = reports.iter().map(|report| report.changed).sum();
    let mut rows = vec![
        ["SESSION", "EVENT", "WAS", "WOULD BE", "CALL"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let all = reports
        .iter()
        .flat_map(|report| report.changes.iter().map(move |change| (report, change)));
    for (report, change) in all.take(limit) {
        let answered = match change.answered {
            Some(ApprovalDecision::Deny) => ", refused",
            Some(_) => ", allowed",
            None => "",
        };
        rows.push(vec![
            report.session_id.to_string(),
            change.seq.to_string(),
            format!("{}{answered}", change.was.as_str()),
            change.would_be.as_str().to_owned(),
            format!(
                "{}  {}",
                visible(&change.name),
                call_summary(&change.name, &change.input)
            ),
        ]);
    }
    let mut text = match rows.len() {
        1 => String::new(),
        _ => table(&rows, width),
    };
    let shown = rows.len() as u64 - 1;
    if shown < changed {
        text.push_str(&format!("… and {} more\n", changed - shown));
    }
    text.push_str(&format!(
        "{}: {changed} of {} in {} would have been decided differently\n",
        visible(&show_rule(rule)),
        units::counted(calls, "call"),
        units::counted(reports.len(), "session"),
    ));
    text
}
