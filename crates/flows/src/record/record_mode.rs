//! Chooses how each kind of effect is recorded.

use agentx_luau_tools::{EffectKind, HostEffect};
use serde_json::Value;

/// A shorter sleep begins again after a crash.
const LONG_SLEEP_MS: u64 = 1_000;

/// The way to record an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordMode {
    /// Only the end, in its place in the order of the steps: it is over as soon as it began.
    AtOnce,
    /// Only the end is recorded.
    Noted,
    /// The beginning before the step begins, and the end. If only the beginning is recorded, the step is
    /// repeated.
    Announced,
    /// The beginning before the step begins, and the end. If only the beginning is recorded, the outcome is
    /// unknown.
    Once,
    /// The beginning; the performer records the end, which is not an outcome for the script.
    Stream,
}

impl RecordMode {
    /// Returns how `effect` is recorded. `repeatable` returns whether a tool may be called twice.
    pub(crate) fn of(effect: &HostEffect, repeatable: impl FnOnce(&str) -> bool) -> Self {
        let text = |key: &str| {
            effect
                .request
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        match effect.kind {
            EffectKind::Emit
            | EffectKind::Log
            | EffectKind::StateGet
            | EffectKind::StateSet
            | EffectKind::HistoryAppend
            | EffectKind::HistoryRecent
            | EffectKind::HistoryRevert
            | EffectKind::MemoryGet
            | EffectKind::MemorySet
            | EffectKind::Now
            | EffectKind::Random
            | EffectKind::Uuid
            | EffectKind::Env => Self::AtOnce,
            EffectKind::Generate | EffectKind::GenerateJson | EffectKind::AgentInput => Self::Announced,
            EffectKind::GenerateStream => Self::Stream,
            EffectKind::Http
                if matches!(text("method").to_ascii_uppercase().as_str(), "" | "GET" | "HEAD") =>
            {
                Self::Announced
            }
            EffectKind::Http => Self::Once,
            EffectKind::Invoke if repeatable(text("tool")) => Self::Announced,
            EffectKind::Invoke => Self::Once,
            EffectKind::Sleep if milliseconds(effect) >= LONG_SLEEP_MS => Self::Announced,
            _ => Self::Noted,
        }
    }
}

/// Returns whether a step of this kind may call a model, directly or in a tool that it calls. Its performer
/// ends it soon after the run was stopped, and reports its cost.
pub(super) fn may_cost(kind: &str) -> bool {
    let costly = [EffectKind::Generate, EffectKind::GenerateJson, EffectKind::Invoke];
    costly.iter().any(|costly| costly.as_str() == kind)
}

/// Returns the length of a sleep.
pub(crate) fn milliseconds(effect: &HostEffect) -> u64 {
    let ms = effect.request.get("ms").and_then(Value::as_f64).unwrap_or(0.0);
    // The cast saturates; NaN becomes 0.
    ms.max(0.0) as u64
}
