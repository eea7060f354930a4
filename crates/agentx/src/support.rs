//! Support for the code that `#[agentx::tool]` and `agentx::replay_test!` generate, so that a crate that uses
//! it depends on `agentx` alone.

use std::fmt::Display;
use std::future::Future;

use agentx_runtime::ToolOutcome;
use agentx_tools::ToolFailure;
use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use {schemars, serde};

/// The result of a tool that returns nothing.
const NOTHING_TO_SAY: &str = "Done.";

/// Returns the outcome of a tool's work, as the model reads it. Cancelled work is dropped at its next await.
pub async fn outcome<T, E>(
    cancel: &CancellationToken,
    work: impl Future<Output = Result<T, E>> + Send,
) -> Result<ToolOutcome, ToolFailure>
where
    T: Serialize,
    E: Display,
{
    let result = tokio::select! {
        biased;
        result = work => result,
        () = cancel.cancelled() => return Err(ToolFailure::interrupted()),
    };
    // The alternate form has the causes, if an error type keeps them.
    let value = result.map_err(|error| ToolFailure::failed(format!("{error:#}")))?;
    let value = serde_json::to_value(&value).map_err(|error| {
        ToolFailure::failed(format!("The tool's result cannot be written as JSON: {error}"))
    })?;
    Ok(ToolOutcome::success(match value {
        Value::Null => NOTHING_TO_SAY.to_owned(),
        Value::String(text) => text,
        other => other.to_string(),
    }))
}

/// Replays the fixture `text`, which was read from `path`.
///
/// # Panics
/// Panics if it is not a fixture, or at the first difference, with its place and both sides.
#[track_caller]
#[expect(clippy::panic, reason = "a test fails by panicking")]
pub fn replay_fixture(path: &str, text: &str) {
    let fixture = agentx_history::fixture::from_text(text);
    let replayed = fixture.and_then(|fixture| {
        let replayed = agentx_history::fixture::replay(&fixture);
        replayed.map_err(|difference| difference.to_string())
    });
    if let Err(why) = replayed {
        panic!("{path}: {why}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentx_types::{ContentPart, ToolStatus};

    async fn said<T: Serialize + Send>(result: Result<T, &'static str>) -> (ToolStatus, String) {
        let cancel = CancellationToken::new();
        let outcome = outcome(&cancel, std::future::ready(result)).await;
        let outcome = outcome.unwrap_or_else(ToolOutcome::from);
        let text = outcome.content.iter().filter_map(ContentPart::as_text).collect();
        (outcome.status, text)
    }

    #[tokio::test]
    async fn results_are_text_or_json_and_errors_are_failures() {
        assert_eq!(said(Ok("sun")).await, (ToolStatus::Success, "sun".to_owned()));
        assert_eq!(said(Ok([1, 2])).await, (ToolStatus::Success, "[1,2]".to_owned()));
        assert_eq!(said(Ok(())).await, (ToolStatus::Success, "Done.".to_owned()));
        assert_eq!(said::<()>(Err("no")).await, (ToolStatus::Failed, "no".to_owned()));
    }

    #[tokio::test]
    async fn work_that_is_cancelled_is_dropped() {
        let cancel = CancellationToken::new();
        cancel.cancel();
        let outcome = outcome(&cancel, std::future::pending::<Result<(), String>>()).await;
        assert_eq!(outcome.unwrap_err().status, ToolStatus::Interrupted);
    }
}
