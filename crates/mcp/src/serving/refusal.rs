//! Reasons to refuse requests of clients, with the codes of the protocol.

use serde_json::{Value, json};

use super::message::{INVALID_PARAMS, RESOURCE_NOT_FOUND};

/// The reason why a request is refused.
pub(super) struct McpRefusal {
    pub(super) code: i64,
    pub(super) why: String,
    /// Further data that the protocol requires.
    pub(super) data: Option<Value>,
}

impl McpRefusal {
    pub(super) fn new(code: i64, why: impl Into<String>) -> Self {
        Self {
            code,
            why: why.into(),
            data: None,
        }
    }
}

/// The versions with a handshake have a separate code for this.
pub(super) fn no_resource(address: &str, stateless: bool) -> McpRefusal {
    let code = if stateless {
        INVALID_PARAMS
    } else {
        RESOURCE_NOT_FOUND
    };
    McpRefusal {
        data: Some(json!({ "uri": address })),
        ..McpRefusal::new(code, format!("there is no resource {address:?}"))
    }
}
