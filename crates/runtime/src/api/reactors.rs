//! Lists of reactors: one entry for each attached reactor, and one for each responder of the runtime itself.

use agentx_bus::{ReactorStatus, ResponderInfo};
use serde::{Deserialize, Serialize};

/// A reactor in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ReactorInfo {
    /// The name.
    pub name: String,
    /// The state.
    pub state: ReactorState,
    /// The number of restarts after failures.
    pub restarts: u64,
    /// The last failure, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// The requests that it serves; empty if it only listens.
    pub serves: Vec<ServedInfo>,
}

/// The state of a reactor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReactorState {
    /// A part of the runtime, which never detaches.
    BuiltIn,
    /// Attached and working.
    Works,
    /// Failed, without a restart.
    Failed,
    /// A state that only a newer version knows.
    Unknown,
}

/// A served selector in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ServedInfo {
    /// The name of its responder, as in error messages.
    pub name: String,
    /// The requests that it gets, unless another responder serves them more specifically.
    pub on: Vec<Selector>,
    /// Maximum number of requests that it works on at once.
    pub capacity: u64,
    /// The number of requests that it works on.
    pub in_flight: u64,
    /// The number of requests that wait for it.
    pub waiting: u64,
    /// The number of requests that it has completed.
    pub settled: u64,
    /// The number of requests that it has dropped, for example by a panic: their outcome is `unknown`.
    pub lost: u64,
}

/// Requests by their topic and their key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Selector {
    /// The dotted topic, as `tools.requests`.
    pub topic: String,
    /// The name of the tool, or `provider/model`; `*` matches any.
    pub key: String,
}

impl ReactorInfo {
    /// The runtime's own responders.
    pub fn built_in(served: ResponderInfo) -> Self {
        Self {
            name: served.name.clone(),
            state: ReactorState::BuiltIn,
            restarts: 0,
            last_error: None,
            serves: vec![served.into()],
        }
    }

    /// A reactor that was attached, with its current services.
    pub fn attached(status: ReactorStatus, serves: Vec<ResponderInfo>) -> Self {
        let state = if status.works {
            ReactorState::Works
        } else {
            ReactorState::Failed
        };
        Self {
            name: status.name,
            state,
            restarts: status.restarts,
            last_error: status.last_error,
            serves: serves.into_iter().map(ServedInfo::from).collect(),
        }
    }
}

impl From<ResponderInfo> for ServedInfo {
    fn from(info: ResponderInfo) -> Self {
        let selector = |(topic, key)| Selector { topic, key };
        Self {
            name: info.name,
            on: info.serves.into_iter().map(selector).collect(),
            capacity: info.capacity as u64,
            in_flight: info.claimed as u64,
            waiting: info.waiting as u64,
            settled: info.settled,
            lost: info.lost,
        }
    }
}
