//! Error codes and messages for callers.

use agentx_runtime::RuntimeError;
use agentx_types::wire::Problem;
use serde_json::Value;

/// Returns a problem that has only its code and message.
pub(crate) fn problem(code: &str, detail: &str) -> Box<Problem> {
    Box::new(Problem {
        code: code.to_owned(),
        detail: detail.to_owned(),
        retry_after_ms: None,
        data: Value::Null,
    })
}

/// Returns an error that the caller gets with this code and these words.
pub(crate) fn remote(code: &str, detail: &str) -> RuntimeError {
    RuntimeError::Remote {
        code: code.to_owned(),
        detail: detail.to_owned(),
    }
}
