//! Everything outside the script that a tool from a file may use: models, agents, other tools, the network,
//! the store. Each use is checked against the grants of the file.

mod agent_spec;
pub(crate) mod agents;
mod answer_delivery;
mod answered_keys;
mod call_permission;
mod invoke;
mod json;
pub(crate) mod model_calls;
pub(crate) mod network;
mod prompt;
mod script_values;
mod shared;
mod store;
mod streams;
mod transform;

use std::sync::Arc;
use std::time::Duration;

use agentx_luau_tools::{BoxFuture, EffectError, EffectKind, HostEffect, Outcome};
use agentx_runtime::ToolContext;
use agentx_types::EffectOutcome;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::grants::Grants;
use crate::record::{EffectPerformer, PerformedEffect, RecorderHandle, milliseconds};
pub(crate) use agents::{Children, end_all};
pub(crate) use answered_keys::{KeyState, KeyedCall};
pub(crate) use call_permission::CallPermits;
pub(crate) use network::Network;
pub(crate) use shared::ToolsShared;
pub use shared::{ToolFactoryParts, ToolSurroundings};
pub(crate) use store::KeyOwner;
pub(crate) use streams::CallStreams;

/// Performs the effects of one call. Clones share the same state.
#[derive(Clone)]
pub(crate) struct CallWorld {
    pub(crate) call: Arc<FileToolCall>,
}

/// A call of a tool from a file.
pub(crate) struct FileToolCall {
    pub(crate) tool: String,
    pub(crate) shared: Arc<ToolsShared>,
    pub(crate) grants: Arc<Grants>,
    pub(crate) network: Arc<Network>,
    pub(crate) context: ToolContext,
    /// Fires when the call is stopped or has ended: its effects end then.
    pub(crate) stop: CancellationToken,
    pub(crate) recorder: RecorderHandle,
    pub(crate) streams: CallStreams,
    pub(crate) children: Children,
    /// The position of its steps in its file.
    pub(crate) origin: CallOrigin,
    pub(crate) permits: CallPermits,
}

/// The position of the steps of a call in their file.
#[derive(Clone, Debug)]
pub(crate) enum CallOrigin {
    /// In a script, after this many lines of its file.
    Script { file: String, before: u32 },
    /// Each step has a name.
    Steps(Vec<String>),
    /// The tool is a single step, without a position.
    Whole,
}

impl CallOrigin {
    /// Returns the position of a step, for people.
    fn place(&self, effect: &HostEffect) -> Option<String> {
        match self {
            Self::Script { file, before } => {
                let place = effect.place.as_ref();
                Some(match place.map(|place| (&place.library, place.line)) {
                    Some((Some(library), line)) => format!("{library}:{line}"),
                    Some((None, line)) => format!("{file}:{}", line.saturating_add(*before)),
                    None => file.clone(),
                })
            }
            Self::Steps(names) => {
                let at = usize::try_from(effect.step.checked_sub(1)?).ok()?;
                Some(format!("step {}", names.get(at)?))
            }
            Self::Whole => None,
        }
    }
}

impl EffectPerformer for CallWorld {
    fn permit(&self, effect: &HostEffect) -> Option<BoxFuture<'static, Result<(), EffectError>>> {
        match effect.kind {
            EffectKind::Invoke => call_permission::permit(&self.call, effect),
            _ => None,
        }
    }

    fn perform(&self, effect: HostEffect, again: bool) -> BoxFuture<'static, PerformedEffect> {
        let call = self.call.clone();
        match effect.kind {
            EffectKind::Generate => Box::pin(model_calls::generate(call, effect.request, again)),
            EffectKind::GenerateJson => Box::pin(model_calls::generate_json(call, effect.request, again)),
            EffectKind::GenerateStream => {
                let opened = call.streams.open(&effect, &call.stop, again);
                finish(streams::begin(call, opened))
            }
            EffectKind::StreamRecv => finish(async move { streams::receive(&call, &effect.request).await }),
            EffectKind::StreamClose => finish(std::future::ready(streams::close(&call, &effect.request))),
            EffectKind::StreamOpen => {
                finish(std::future::ready(transform::transformer(&call, &effect.request)))
            }
            EffectKind::StreamSend | EffectKind::StreamCloseSend => finish(std::future::ready(Err(missing(
                "stream of the host's own that takes anything",
            )))),
            EffectKind::Http => {
                finish(async move { call.network.request(&call.grants, &effect.request).await })
            }
            EffectKind::Invoke => Box::pin(invoke::invoke(call, effect.step, effect.request)),
            EffectKind::Sleep => {
                let time = Duration::from_millis(milliseconds(&effect));
                finish(async move {
                    tokio::time::sleep(time).await;
                    Ok(Value::Null)
                })
            }
            EffectKind::KvGet | EffectKind::KvSet | EffectKind::KvDelete | EffectKind::KvList => {
                finish(store::kept(call, effect.kind, effect.request))
            }
            EffectKind::CacheGet | EffectKind::CacheSet | EffectKind::CacheDelete => {
                finish(store::cached(call, effect.kind, effect.request))
            }
            EffectKind::AgentCreate => finish(agent_spec::create(call, effect.step, effect.request)),
            EffectKind::AgentInput => finish(agents::input(call, effect.step, effect.request, again)),
            EffectKind::AgentNext => finish(async move { agents::next(&call, &effect.request).await }),
            EffectKind::AgentCollect => finish(async move { agents::collect(&call, &effect.request).await }),
            EffectKind::AgentInterrupt => {
                finish(async move { agents::interrupt(&call, &effect.request).await })
            }
            EffectKind::AgentClose => finish(async move { agents::close(&call, &effect.request).await }),
            // A tool gets its arguments and nothing else.
            EffectKind::Recv => finish(std::future::ready(Ok(Value::Null))),
            _ => finish(std::future::ready(self.at_once(&effect))),
        }
    }

    fn at_once(&self, effect: &HostEffect) -> Outcome {
        let call = &self.call;
        match effect.kind {
            EffectKind::Now => Ok(json!(now())),
            EffectKind::Random => random().map(|bits| json!(bits & ((1 << 53) - 1))),
            EffectKind::Uuid => uuid().map(Value::String),
            EffectKind::Emit => Ok(Value::Null),
            EffectKind::Log => {
                log(&call.tool, &effect.request);
                Ok(Value::Null)
            }
            EffectKind::Env => {
                let name = text(&effect.request, "name");
                call.grants.variable(name)?;
                Ok(call
                    .shared
                    .parts
                    .known
                    .env(name)
                    .map_or(Value::Null, Value::String))
            }
            other => script_values::kept(call, effect).unwrap_or_else(|| Err(missing(other.as_str()))),
        }
    }

    fn remember(&self, effect: &HostEffect, outcome: Option<&EffectOutcome>) {
        let call = &self.call;
        match effect.kind {
            EffectKind::GenerateStream => call.streams.remember_open(effect, outcome, call),
            EffectKind::StreamRecv => call.streams.remember_received(&effect.request, outcome),
            EffectKind::AgentCreate
            | EffectKind::AgentInput
            | EffectKind::AgentNext
            | EffectKind::AgentCollect
            | EffectKind::AgentClose => {
                call.children.remember(effect, outcome);
            }
            _ => {}
        }
    }

    fn repeatable(&self, tool: &str) -> bool {
        self.call
            .shared
            .tool(tool)
            .is_some_and(|tool| tool.spec().idempotent)
    }
}

/// Returns a text of a request; empty if there is none.
pub(crate) fn text<'a>(request: &'a Value, key: &str) -> &'a str {
    request.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn finish(outcome: impl Future<Output = Outcome> + Send + 'static) -> BoxFuture<'static, PerformedEffect> {
    Box::pin(async move { outcome.await.into() })
}

fn missing(what: &str) -> EffectError {
    EffectError::new("unavailable", format!("there is no {what} for a tool"))
}

/// Seconds since 1970.
fn now() -> f64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0.0, |now| now.as_secs_f64())
}

fn random() -> Result<u64, EffectError> {
    let bits = getrandom::u64();
    bits.map_err(|error| EffectError::new("failed", format!("the system gives no random numbers: {error}")))
}

/// Returns a random UUID (version 4).
fn uuid() -> Result<String, EffectError> {
    let (high, low) = (random()?, random()?);
    let high = (high & !0xf000) | 0x4000;
    let low = (low & !(0b11 << 62)) | (0b10 << 62);
    Ok(format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    ))
}

fn log(tool: &str, request: &Value) {
    let message = text(request, "message");
    match text(request, "level") {
        "error" => tracing::error!(tool, message, "a script says"),
        "warn" => tracing::warn!(tool, message, "a script says"),
        "debug" => tracing::debug!(tool, message, "a script says"),
        _ => tracing::info!(tool, message, "a script says"),
    }
}
