//! Totals of a session, counted from its facts: events, cost, tools and their failures. A session of a server
//! gives the same totals.

use std::collections::BTreeMap;

use agentx_runtime::{Delivery, Runtime, RuntimeError, SessionInfo, StoredSize, View};
use agentx_types::{EnvironmentEvent, NanoUsd, ToolCallId, ToolStatus, Usage};
use serde::{Deserialize, Serialize};

/// Totals of one or more sessions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionStats {
    /// The number of sessions.
    pub sessions: u64,
    /// The number of events.
    pub events: u64,
    /// The number of messages.
    pub messages: u64,
    /// Answers of models that were begun, attempts that broke off included.
    pub model_calls: u64,
    /// Tokens of all model calls.
    pub usage: Usage,
    /// Money of all model calls.
    pub cost: NanoUsd,
    /// Their stored size, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<StoredSize>,
    /// Tools that were called, the most called first.
    pub tools: Vec<ToolCount>,
}

/// The number of a tool's calls, by outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCount {
    /// The name.
    pub name: String,
    /// Calls that have a result.
    pub calls: u64,
    /// The number of failed calls.
    pub failures: u64,
    /// The number of refused calls.
    pub refused: u64,
}

/// Counts these sessions together. Events that a fork shares with its parent count for the parent, unless
/// only the fork is requested.
///
/// # Errors
/// Returns an error if a session cannot be read.
pub async fn stats_of(runtime: &dyn Runtime, sessions: &[SessionInfo]) -> Result<SessionStats, RuntimeError> {
    let mut stats = SessionStats::default();
    let mut tools = BTreeMap::new();
    let alone = sessions.len() == 1;
    for info in sessions {
        let shared = match &info.parent {
            Some((_, at_seq)) if !alone => *at_seq,
            _ => 0,
        };
        stats.sessions += 1;
        stats.events += info.last_seq.saturating_sub(shared);
        stats.messages += info.messages;
        stats.usage += info.usage;
        stats.cost += info.cost;
        count(runtime, info, shared, &mut stats, &mut tools).await?;
    }
    stats.tools = tools.into_values().collect();
    stats
        .tools
        .sort_by(|one: &ToolCount, other| (other.calls, &one.name).cmp(&(one.calls, &other.name)));
    Ok(stats)
}

async fn count(
    runtime: &dyn Runtime,
    info: &SessionInfo,
    shared: u64,
    stats: &mut SessionStats,
    tools: &mut BTreeMap<String, ToolCount>,
) -> Result<(), RuntimeError> {
    let mut events = runtime
        .watch(&info.session_id, 0, View::Environment, false)
        .await?;
    let mut names: BTreeMap<ToolCallId, String> = BTreeMap::new();
    while let Some(delivery) = events.next().await {
        let fact = match delivery {
            Delivery::Environment(fact) => fact,
            Delivery::CaughtUp(_) => break,
            Delivery::CutOff(why) => return Err(RuntimeError::unreadable(&info.session_id, why)),
            Delivery::Runtime(_) => continue,
        };
        let is_own = u64::from(fact.seq > shared);
        match &fact.event {
            EnvironmentEvent::StreamStart(_) => stats.model_calls += is_own,
            EnvironmentEvent::ToolCall(call) => {
                names.insert(call.tool_call_id.clone(), call.name.clone());
            }
            EnvironmentEvent::ToolResult(result) if is_own == 1 => {
                // The log has no separate name for a nested call.
                let Some(name) = names.get(&result.tool_call_id) else {
                    continue;
                };
                let tool = tools.entry(name.clone()).or_insert_with(|| ToolCount {
                    name: name.clone(),
                    calls: 0,
                    failures: 0,
                    refused: 0,
                });
                tool.calls += 1;
                match result.status {
                    ToolStatus::Denied | ToolStatus::Refused => tool.refused += 1,
                    _ => tool.failures += u64::from(result.is_error),
                }
            }
            _ => {}
        }
    }
    Ok(())
}
