//! Everything outside the script that a tool from a file may use: models, agents, other tools, the network,
//! the store. Each use is checked against the grants of the file.

mod agent_spec;
pub(crate) mod agents;
mod answer_delivery;
mod answered_keys;
mod call_permission;
mod call_permits;
mod call_streams;
mod children;
mod file_tool_call;
mod invoke;
mod json;
pub(crate) mod model_calls;
pub(crate) mod network;
mod prompt;
mod request_text;
mod script_values;
mod shared;
mod store;
mod store_effects;
mod streams;
mod transform;

use std::sync::Arc;
use std::time::Duration;

use agentx_luau_tools::{BoxFuture, EffectError, EffectKind, HostEffect, Outcome};
use agentx_types::EffectOutcome;
use serde_json::{Value, json};

use crate::record::{EffectPerformer, PerformedEffect, milliseconds};
pub(crate) use agents::end_all;
pub(crate) use answered_keys::{KeyState, KeyedCall};
pub(crate) use call_permits::CallPermits;
pub(crate) use call_streams::CallStreams;
pub(crate) use children::Children;
pub(crate) use file_tool_call::{CallOrigin, FileToolCall};
pub(crate) use network::Network;
use request_text::text;
pub(crate) use shared::ToolsShared;
pub use shared::{ToolFactoryParts, ToolSurroundings};
pub(crate) use store::KeyOwner;

/// Performs the effects of one call. Clones share the same state.
#[derive(Clone)]
pub(crate) struct CallWorld {
    pub(crate) call: Arc<FileToolCall>,
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
                finish(store_effects::kept(call, effect.kind, effect.request))
            }
            EffectKind::CacheGet | EffectKind::CacheSet | EffectKind::CacheDelete => {
                finish(store_effects::cached(call, effect.kind, effect.request))
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
            EffectKind::GenerateStream => {
                call.streams
                    .remember_open(effect, outcome, &call.stop, &call.recorder.0.secrets)
            }
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
