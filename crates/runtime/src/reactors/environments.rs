//! Environments: parts of the world that are attached to a runtime. The usual ones bring tools, or the models
//! of a provider.
//!
//! Each serves from `start` until `stop`. When it is stopped, it accepts nothing new and completes its
//! requests; when its task is dropped, they are lost (decision 034 in `issues/`).

use std::sync::Arc;

use agentx_bus::{Reactor, ReactorFailure, ReactorTask};
use tokio_util::sync::CancellationToken;

use crate::effects::effect::Effector;
use crate::reactors::serving::Serving;
use crate::reactors::system_bus::SystemBus;
use crate::tools::tool::Tool;

/// A part of the world on which agents act, and that answers in EnvironmentEvents: a reactor that serves the
/// actions on it.
///
/// In addition to a reactor, which may only listen, it promises to serve something from `start` until `stop`.
/// `check_environment` of `agentx-testing` checks that; a runtime accepts any reactor.
///
/// The `send` of other designs is a request that it serves, with the whole conversation; their `interrupt` is
/// the cancellation of that request. [`ModelEnvironment`](ModelEnvironment) is the usual one for a model.
pub trait Environment: Reactor<SystemBus> {
    /// Returns the kind of the environment, such as `claude`, `scripted` or `weather`.
    fn kind(&self) -> &str;
}

/// An environment that offers tools while it is attached.
pub struct ToolEnvironment {
    kind: String,
    tools: Vec<Arc<dyn Tool>>,
    stop: CancellationToken,
}

impl ToolEnvironment {
    /// Creates an environment of this kind with these tools. `kind` is also its name in lists. Without any
    /// tool it does not start. If two tools have the same name, the later one is used.
    pub fn new(kind: impl Into<String>, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        Self {
            kind: kind.into(),
            tools: tools.into_iter().collect(),
            stop: CancellationToken::new(),
        }
    }
}

impl Reactor<SystemBus> for ToolEnvironment {
    fn name(&self) -> &str {
        &self.kind
    }

    async fn start(&mut self, bus: SystemBus) -> Result<ReactorTask, ReactorFailure> {
        let served = self.tools.iter().map(|tool| bus.serve_tool(tool.clone()));
        let Some(serving) = served.reduce(Serving::and) else {
            return Err(ReactorFailure("it has no tools".into()));
        };
        Ok(serving.run_until(self.stop.clone()))
    }

    async fn stop(&mut self) {
        self.stop.cancel();
    }
}

impl Environment for ToolEnvironment {
    fn kind(&self) -> &str {
        &self.kind
    }
}

/// Serves the models of a provider while it is attached: it answers the calls of agents whose model has that
/// provider, and condenses their conversations.
pub struct ModelEnvironment {
    kind: String,
    provider: String,
    models: Arc<dyn Effector>,
    stop: CancellationToken,
}

impl ModelEnvironment {
    /// Creates an environment of this kind in which `models` performs the calls of models of `provider`. It
    /// takes precedence over a responder for all models, because its key is more specific.
    pub fn new(kind: impl Into<String>, provider: impl Into<String>, models: Arc<dyn Effector>) -> Self {
        Self {
            kind: kind.into(),
            provider: provider.into(),
            models,
            stop: CancellationToken::new(),
        }
    }

    /// The provider of its models, and the effector of their calls.
    pub fn into_parts(self) -> (String, Arc<dyn Effector>) {
        (self.provider, self.models)
    }
}

impl Reactor<SystemBus> for ModelEnvironment {
    fn name(&self) -> &str {
        &self.kind
    }

    async fn start(&mut self, bus: SystemBus) -> Result<ReactorTask, ReactorFailure> {
        let serving = bus.serve_models(&self.provider, self.models.clone());
        Ok(serving.run_until(self.stop.clone()))
    }

    async fn stop(&mut self) {
        self.stop.cancel();
    }
}

impl Environment for ModelEnvironment {
    fn kind(&self) -> &str {
        &self.kind
    }
}
