//! The agents of one call, with the answer that a script reads from each.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use agentx_luau_tools::{EffectError, EffectKind, HostEffect};
use agentx_runtime::AgentHearing;
use agentx_types::{AgentStateId, EffectOutcome};
use serde_json::Value;

use super::answer_delivery::StreamDelta;
use super::request_text::text;

/// The agents of one call.
#[derive(Default)]
pub(crate) struct Children {
    all: Mutex<BTreeMap<String, Arc<FlowChild>>>,
}

pub(super) struct FlowChild {
    pub(super) id: AgentStateId,
    pub(super) turn: tokio::sync::Mutex<ChildTurn>,
}

/// An input and its answer.
#[derive(Default)]
pub(super) struct ChildTurn {
    /// The `seq` of the input; `None` before the first.
    pub(super) input: Option<u64>,
    pub(super) ears: Option<AgentHearing>,
    /// The position up to which the script has read.
    pub(super) told: (u64, u32),
    pub(super) delta: StreamDelta,
    /// The last answer.
    pub(super) answer: String,
    pub(super) ended: Option<Result<(), EffectError>>,
}

impl Children {
    pub(super) fn add(&self, id: &AgentStateId) {
        let child = FlowChild {
            id: id.clone(),
            turn: tokio::sync::Mutex::default(),
        };
        self.lock()
            .entry(id.to_string())
            .or_insert_with(|| Arc::new(child));
    }

    pub(super) fn find(&self, request: &Value) -> Result<Arc<FlowChild>, EffectError> {
        let id = text(request, "agent");
        let found = self.lock().get(id).cloned();
        found.ok_or_else(|| {
            EffectError::new(
                "not_found",
                format!("this call has no agent {id:?}; it may have closed it"),
            )
        })
    }

    pub(super) fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<FlowChild>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a recorded step.
    pub(crate) fn remember(&self, effect: &HostEffect, outcome: Option<&EffectOutcome>) {
        let Some(EffectOutcome::Done(value)) = outcome else {
            return;
        };
        match effect.kind {
            EffectKind::AgentCreate => return self.add(&AgentStateId::new(text(value, "agent"))),
            EffectKind::AgentClose => {
                self.lock().remove(text(&effect.request, "agent"));
                return;
            }
            _ => {}
        }
        let Ok(child) = self.find(&effect.request) else {
            return;
        };
        // No task waits while steps are replayed, so the lock is free.
        let Ok(mut turn) = child.turn.try_lock() else {
            return;
        };
        match effect.kind {
            EffectKind::AgentInput => {
                *turn = ChildTurn {
                    input: value.get("seq").and_then(Value::as_u64),
                    ..ChildTurn::default()
                };
            }
            EffectKind::AgentNext if !value.is_null() => {
                let at = value.get("at").cloned().unwrap_or_default();
                turn.told = serde_json::from_value(at).unwrap_or_default();
            }
            _ => turn.ended = Some(Ok(())),
        }
    }
}
