//! `agentx sessions stats`: the totals of sessions.

use agentx::history::{SessionStats, stats_of};
use agentx::runtime::{Runtime, SessionInfo, SessionQuery, UsageBy, UsageQuery};
use agentx::types::SessionId;

use crate::args::StatsArgs;
use crate::console::Console;
use crate::error::ChatError;
use crate::render::clean::visible;
use crate::render::spending;
use crate::render::{table::table, units};

/// Counts a session, or all.
pub(crate) async fn run(
    runtime: &dyn Runtime,
    args: &StatsArgs,
    json: bool,
    console: &mut Console,
) -> Result<(), ChatError> {
    let (sessions, of) = match &args.id {
        Some(id) => {
            let id = runtime.resolve(id).await?;
            (vec![runtime.info(&id).await?], Some(id))
        }
        None => (all(runtime).await?, None),
    };
    let mut stats = stats_of(runtime, &sessions).await?;
    stats.stored = runtime.stored(of.as_ref()).await?;
    if json {
        return console.out_with_dollars(&stats);
    }
    let has_unpriced = has_unpriced(runtime, of.clone()).await;
    console.out(&render(&stats, of.is_some(), has_unpriced, console.out_width()))
}

/// Returns whether the prices of a part of the calls are unknown. If that cannot be found out, the sum is
/// shown as it is.
async fn has_unpriced(runtime: &dyn Runtime, session: Option<SessionId>) -> bool {
    let query = UsageQuery {
        owner: runtime.owner().clone(),
        by: UsageBy::Model,
        session,
        since: None,
    };
    let rows = runtime.usage(query).await.unwrap_or_default();
    rows.iter().any(spending::has_unpriced)
}

async fn all(runtime: &dyn Runtime) -> Result<Vec<SessionInfo>, ChatError> {
    let query = SessionQuery {
        owner: runtime.owner().clone(),
        workspace: None,
        limit: usize::MAX / 2,
        before: None,
    };
    Ok(runtime.sessions(query).await?)
}

fn render(stats: &SessionStats, is_one: bool, has_unpriced: bool, width: usize) -> String {
    let mut rows = Vec::new();
    let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    if !is_one {
        row("sessions", stats.sessions.to_string());
    }
    row("events", stats.events.to_string());
    row("messages", stats.messages.to_string());
    row("model calls", stats.model_calls.to_string());
    row("tokens", units::usage(&stats.usage));
    row("cost", units::sum(stats.cost, &stats.usage, has_unpriced));
    if let Some(stored) = &stats.stored {
        row("stored", units::bytes(stored.facts));
        if stored.blobs > 0 {
            row(
                "blobs",
                format!("{}, {}", stored.blobs, units::bytes(stored.blob_bytes)),
            );
        }
        if stored.kept_bytes > 0 {
            row("kept by scripts", units::bytes(stored.kept_bytes));
        }
        if let Some(database) = stored.database.filter(|_| !is_one) {
            row("database", units::bytes(database));
        }
    }
    let mut text = table(&rows, width);
    if !stats.tools.is_empty() {
        let mut rows = vec![
            ["TOOL", "CALLS", "FAILED", "NOT ALLOWED"]
                .map(str::to_owned)
                .to_vec(),
        ];
        rows.extend(stats.tools.iter().map(|tool| {
            vec![
                visible(&tool.name),
                tool.calls.to_string(),
                tool.failures.to_string(),
                tool.refused.to_string(),
            ]
        }));
        text.push('\n');
        text.push_str(&table(&rows, width));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentx::runtime::StoredSize;

    #[test]
    fn what_is_stored_is_whole_in_a_narrow_terminal() {
        let stored = StoredSize {
            facts: 132_813,
            blobs: 77,
            blob_bytes: 3_250_586,
            database: Some(9_437_184),
            ..StoredSize::default()
        };
        let stats = SessionStats {
            stored: Some(stored),
            ..SessionStats::default()
        };
        let text = render(&stats, false, false, 40);
        let said: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert!(said.contains(&vec!["stored", "129.7", "KiB"]), "{text}");
        assert!(said.contains(&vec!["blobs", "77,", "3.1", "MiB"]), "{text}");
        assert!(said.contains(&vec!["database", "9.0", "MiB"]), "{text}");
    }
}
