//! Requests about all sessions of a person or a server: lists, spending, imported sessions, and freeing
//! space. The remote runtime calls them.
//!
//! Lists come in pages of 200. The client requests one page after another until it has enough, so a list of
//! all sessions of a large server takes many requests. A session that changes meanwhile may be missing or
//! occur twice.

use std::sync::Arc;

use agentx_runtime::{
    NamedAgent, RuntimeError, SessionExport, SessionInfo, SessionQuery, Since, UsageQuery, UsageRow,
    VerifyReport,
};
use agentx_types::{AgentConfig, NanoUsd, RunStatus};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::RemoteRuntime;
use crate::http::{ListPage, Query};

/// The number of sessions per page, which is the maximum of a server.
const PAGE: usize = 200;

/// The response of a server that has freed space.
#[derive(Deserialize)]
struct FreedSpace {
    freed_bytes: u64,
}

impl RemoteRuntime {
    /// Sessions; for a person who decides about calls of members, also those of members. `waiting`: only
    /// sessions in which a call waits for a person.
    ///
    /// # Errors
    /// Returns an error if the server cannot be reached.
    pub async fn sessions_with_members(
        &self,
        query: SessionQuery,
        waiting: bool,
    ) -> Result<Vec<SessionInfo>, RuntimeError> {
        let flags: &[&'static str] = if waiting {
            &["members", "waiting"]
        } else {
            &["members"]
        };
        let mut found = self.pages(query, flags).await?;
        // A server that does not know these parameters lists all.
        found.retain(|info| !waiting || info.status == Some(RunStatus::AwaitingApproval));
        Ok(found)
    }

    /// Lists the person's own sessions and those that others share with them, the latest first.
    pub(crate) async fn list(&self, query: SessionQuery) -> Result<Vec<SessionInfo>, RuntimeError> {
        self.pages(query, &[]).await
    }

    /// Lists sessions page by page, with these boolean query parameters set.
    async fn pages(
        &self,
        query: SessionQuery,
        flags: &[&'static str],
    ) -> Result<Vec<SessionInfo>, RuntimeError> {
        let mut found = Vec::new();
        let mut cursor = None;
        while found.len() < query.limit {
            let ask = Query::get(&["sessions"])
                .with("limit", Some((query.limit - found.len()).min(PAGE).to_string()))
                .with("workspace", query.workspace.clone())
                .with("before", query.before.map(|before| before.0.to_string()))
                .with("cursor", cursor);
            let ask = flags
                .iter()
                .fold(ask, |ask, flag| ask.with(flag, Some("true".into())));
            let page: ListPage<SessionInfo> = self.core().http.json(ask).await?;
            // A server that does not know these parameters lists all.
            let wanted = |info: &SessionInfo| {
                query
                    .workspace
                    .as_ref()
                    .is_none_or(|workspace| info.workspace == *workspace)
                    && query.before.is_none_or(|before| info.updated_at < before)
            };
            found.extend(page.items.into_iter().filter(wanted));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        found.truncate(query.limit);
        Ok(found)
    }

    /// Asks the server to import a session.
    pub(crate) async fn import_copy(&self, export: SessionExport) -> Result<VerifyReport, RuntimeError> {
        let body = serde_json::to_value(&export)
            .map_err(|error| RuntimeError::Refused(format!("the session cannot be encoded: {error}")))?;
        self.core().http.json(Query::post(&["import"], body)).await
    }

    /// Returns the cost of the user's own sessions, grouped according to `query`. The server computes the
    /// sums, so days are in its time zone.
    pub(crate) async fn spent(&self, query: UsageQuery) -> Result<Vec<UsageRow>, RuntimeError> {
        let by = json!(query.by);
        let (since, day) = match query.since {
            Some(Since::At(at)) => (Some(at.0.to_string()), None),
            Some(Since::Day(day)) => (None, Some(day)),
            None => (None, None),
        };
        let ask = Query::get(&["usage"])
            .with("by", by.as_str().map(str::to_owned))
            .with("session", query.session.map(|session| session.to_string()))
            .with("since", since)
            .with("since_day", day);
        self.core().http.json(ask).await
    }

    /// Raises the limit of a day (`limits.day_cost`, `limits.day_tokens`) of the server for 24 hours.
    ///
    /// # Errors
    /// Returns an error if the server cannot be reached or is older than this request, or if this person is
    /// not its operator.
    pub async fn raise_day_limit(&self, cost: NanoUsd, tokens: u64) -> Result<(), RuntimeError> {
        let body = json!({ "cost": cost, "tokens": tokens });
        let raised: Result<Value, _> = self
            .core()
            .http
            .json(Query::post(&["usage", "raise"], body))
            .await;
        raised.map(|_| ())
    }

    /// Asks the server to free space that nothing refers to any more. Returns the number of bytes.
    pub(crate) async fn give_back(&self) -> Result<u64, RuntimeError> {
        let freed: FreedSpace = self.core().http.json(Query::post(&["gc"], json!({}))).await?;
        Ok(freed.freed_bytes)
    }

    /// An agent from the server's files. The server applies the model, the approval mode and the workspace;
    /// the system prompt and the limits are replaced here.
    pub(crate) async fn named(&self, wanted: NamedAgent) -> Result<AgentConfig, RuntimeError> {
        let path = ["agents", wanted.agent.as_str()];
        let approval = wanted.approval.map(|mode| json!(mode));
        let ask = Query::get(&path)
            .with("model", wanted.model)
            .with(
                "approval",
                approval.as_ref().and_then(Value::as_str).map(str::to_owned),
            )
            .with("workspace", wanted.workspace);
        let mut config: AgentConfig = self.core().http.json(ask).await?;
        if let Some(words) = &wanted.system_prompt {
            config.system_prompt = Arc::from(words.as_str());
        }
        config.limits = wanted.limits.merged_into(config.limits);
        Ok(config)
    }
}
