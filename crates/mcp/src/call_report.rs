//! The text for the model about the end of a call: the answer, or why there is none and whether the call may
//! have had its effect.

use std::sync::Arc;
use std::time::Duration;

use agentx_runtime::{BlobStore, ToolOutcome};
use agentx_types::ToolStatus;
use rmcp::service::ServiceError;

use crate::call::RemoteCallEnd;
use crate::connection::McpConnection;
use crate::error_chain::{chain, without_types};
use crate::failure::McpFailure;
use crate::hidden::HiddenValues;
use crate::limits::{LINES_BETWEEN_CALLS, McpLimits};
use crate::oauth::wanted_scope;
use crate::result::outcome_of;

/// Reports the ends of calls of one server.
#[derive(Clone, Copy)]
pub(crate) struct CallReport<'a> {
    pub(crate) server: &'a str,
    pub(crate) hidden: &'a HiddenValues,
    pub(crate) limits: &'a McpLimits,
    /// Whether an earlier program began the call, which waited for an answer since.
    pub(crate) is_continued: bool,
}

impl CallReport<'_> {
    /// The outcome of a call that was not made because the server cannot be used.
    pub(crate) fn unusable(&self, failure: &McpFailure) -> ToolOutcome {
        self.not_made(&format!(
            "The MCP server {} cannot be used: {failure}",
            self.server
        ))
    }

    /// The outcome of a call whose request was not sent. Of one that is continued the server had an earlier
    /// request.
    fn not_made(&self, why: &str) -> ToolOutcome {
        if self.is_continued {
            return unknown(&format!(
                "{why}. So the call, which waited for an answer, was not continued"
            ));
        }
        ToolOutcome::failed(ToolStatus::Failed, format!("{why}. Nothing was done."))
    }

    /// The outcome of a call that has ended. Large results are kept in `blobs`.
    pub(crate) async fn outcome(
        &self,
        end: RemoteCallEnd,
        connection: &McpConnection,
        blobs: &Arc<dyn BlobStore>,
    ) -> ToolOutcome {
        let name = self.server;
        match end {
            RemoteCallEnd::Answered(answer) => {
                outcome_of(*answer, self.limits.result_bytes, self.hidden, blobs).await
            }
            RemoteCallEnd::Refused(why) => {
                let why = self.hidden.removed_from(&why);
                ToolOutcome::failed(
                    ToolStatus::Failed,
                    format!("The MCP server {name} refused the call: {why}"),
                )
            }
            RemoteCallEnd::NotSent(error) => {
                let why = self.failure_of(&error);
                self.not_made(&format!("The MCP server {name} could not be reached: {why}"))
            }
            RemoteCallEnd::Lost(error) => {
                let why = without_types(&chain(&error));
                let why = format!("{why}{}", connection.explanation(self.hidden));
                unknown(&format!(
                    "The connection to the MCP server {name} ended: {}",
                    self.hidden.removed_from(&why)
                ))
            }
            RemoteCallEnd::Flooded => unknown(&format!(
                "The MCP server {name} sent more than {LINES_BETWEEN_CALLS} messages since its last call"
            )),
            RemoteCallEnd::TimedOut => unknown(&format!(
                "The MCP server {name} did not answer within {}; `mcp.{name}.call_timeout` sets how long a call may take",
                seconds(self.limits.call)
            )),
            RemoteCallEnd::NotContinued(why) => unknown(&format!(
                "The call waited for an answer, and cannot be continued at the MCP server {name}: {why}"
            )),
            RemoteCallEnd::Cancelled => unknown(&format!(
                "The call was stopped after the MCP server {name} had it"
            )),
        }
    }

    /// The failure of a server that does not list its tools.
    pub(crate) fn not_listed(&self, error: &ServiceError, connection: &McpConnection) -> McpFailure {
        refused_login(error).unwrap_or_else(|| {
            let why = format!(
                "its tools cannot be listed: {}{}",
                without_types(&chain(error)),
                connection.explanation(self.hidden)
            );
            McpFailure::Connection(self.hidden.removed_from(&why))
        })
    }

    fn failure_of(&self, error: &ServiceError) -> String {
        match refused_login(error) {
            Some(failure) => failure.to_string(),
            None => self.hidden.removed_from(&without_types(&chain(error))),
        }
    }
}

/// The login or the scope that a server demands in its refusal of a request; `None` for another error.
fn refused_login(error: &ServiceError) -> Option<McpFailure> {
    if error.is_authorization_required() {
        return Some(McpFailure::Unauthorized);
    }
    let challenge = error.auth_challenge()?;
    Some(McpFailure::Scope(wanted_scope(challenge)))
}

/// The outcome of a call that the server received and whose effect is unknown. It is not repeated.
fn unknown(why: &str) -> ToolOutcome {
    let text = format!("{why}. Whether the call had its effect is not known; it was not repeated.");
    ToolOutcome::failed(ToolStatus::Unknown, text)
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f32())
}
