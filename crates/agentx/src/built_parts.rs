//! The parts that a builder produces, and the session that they begin or continue.

use std::path::Path;
use std::sync::Arc;

use agentx_agent::delegation_tools;
use agentx_node_runtime::{NodeParts, NodeRuntime};
use agentx_runtime::{OpenRequest, Runtime};
use agentx_tools::Toolbox;
use agentx_types::{AgentConfig, ConfigChange, Guard, ModelSpec, SessionId, ToolSpec};

use crate::definition::Definition;
use crate::error::AgentError;
use crate::handle::AgentHandle;
use crate::model_access::Models;
use crate::tool::AskValues;

/// The name of the program in logs.
pub(crate) const PROGRAM: &str = concat!("agentx library ", env!("CARGO_PKG_VERSION"));

/// The parts that a builder produces.
pub(crate) struct BuiltParts {
    definition: Definition,
    models: Models,
    /// The model if none is named.
    usual_model: Option<String>,
    /// The defaults for every agent.
    base: Base,
    /// The tools of the runtime besides those that the definition brings.
    offered: Arc<[ToolSpec]>,
    runtime: Arc<dyn Runtime>,
    /// The same, if it is the builder's own.
    own: Option<Arc<NodeRuntime>>,
    asks: Arc<AskValues>,
}

/// Makes the configuration of an agent with a model.
type Base = Box<dyn Fn(ModelSpec) -> AgentConfig + Send + Sync>;

/// Default configuration of an agent.
pub(crate) fn base(workspace: &Path, guard: Guard) -> Base {
    let guard = Arc::new(guard);
    let workspace = workspace.to_string_lossy().into_owned();
    Box::new(move |model| AgentConfig {
        workspace: workspace.clone(),
        guard: Some(guard.clone()),
        ..AgentConfig::with_defaults(model)
    })
}

impl BuiltParts {
    /// Creates the parts with their own runtime.
    pub(crate) fn new(
        definition: Definition,
        models: Models,
        (usual_model, base): (Option<String>, Base),
        mut parts: NodeParts,
    ) -> Result<Self, AgentError> {
        let asks = Arc::new(AskValues::default());
        let offered = parts.tools.specs();
        if !definition.wants_builtin() {
            parts.tools = Toolbox::default();
        }
        definition.register(&mut parts.tools, &asks)?;
        let own = Arc::new(NodeRuntime::new(parts));
        Ok(Self {
            definition,
            models,
            usual_model,
            base,
            offered,
            runtime: own.clone(),
            own: Some(own),
            asks,
        })
    }

    /// On a runtime that is there already.
    pub(crate) fn on(
        definition: Definition,
        models: Models,
        (usual_model, base): (Option<String>, Base),
        runtime: Arc<dyn Runtime>,
    ) -> Self {
        Self {
            definition,
            models,
            usual_model,
            base,
            offered: runtime.tools().into(),
            runtime,
            own: None,
            asks: Arc::default(),
        }
    }

    pub(crate) async fn start(self) -> Result<AgentHandle, AgentError> {
        let usual = self.usual_model.as_deref();
        let model = self.models.resolve(&self.definition.door, usual)?;
        let config = self.config("agent", &self.definition, model)?;
        let session = self.runtime.open(OpenRequest::New(Box::new(config))).await?;
        Ok(AgentHandle::new(session, (self.runtime, self.own), self.asks))
    }

    pub(crate) async fn resume(self, session: &SessionId) -> Result<AgentHandle, AgentError> {
        let mut changes = Vec::new();
        if let Some(own) = &self.own {
            let before = own.state(session).await?.config;
            // A provider of the program replaces another one, which may be gone.
            if let Some(model) = self.models.own(&self.definition.door)
                && model.provider != before.model.provider
            {
                changes.push(ConfigChange::Model(Box::new(model)));
            }
            let tools = self.specs(&self.definition, &before.agents);
            if !self.definition.all_tools && before.tools[..] != tools[..] {
                changes.push(ConfigChange::Tools(tools.into()));
            }
        }
        let request = OpenRequest::Resume(session.clone(), changes);
        let session = self.runtime.open(request).await?;
        Ok(AgentHandle::new(session, (self.runtime, self.own), self.asks))
    }

    fn config(
        &self,
        name: &str,
        definition: &Definition,
        model: ModelSpec,
    ) -> Result<AgentConfig, AgentError> {
        let helpers = definition.helpers.iter().map(|(name, helper)| {
            let model = if helper.door.names_one() {
                self.models.resolve(&helper.door, None)?
            } else {
                model.clone()
            };
            self.config(name, helper, model)
        });
        let agents = helpers.collect::<Result<Vec<_>, _>>()?;
        let base = (self.base)(model.clone());
        let rights = &definition.rights;
        let fallbacks = self.models.fallbacks(&definition.door)?;
        Ok(AgentConfig {
            fallbacks: fallbacks.unwrap_or_else(|| base.fallbacks.clone()),
            name: name.to_owned(),
            system_prompt: definition.instructions.clone(),
            // The instructions of a project are for its coding agent, not for the agents of a program.
            instructions: Vec::new(),
            tools: self.specs(definition, &agents).into(),
            approval: rights.approval.unwrap_or(base.approval),
            rules: base.rules.iter().chain(&rights.rules).cloned().collect(),
            limits: rights.limits.unwrap_or(base.limits),
            agents,
            all_tools: definition.all_tools,
            // A program names the agents of its agent itself.
            built_in_agents: Vec::new(),
            ..base
        })
    }

    /// The tools of an agent: its own, those of the runtime if it wants them, and what it needs to hand work
    /// on.
    fn specs(&self, definition: &Definition, agents: &[AgentConfig]) -> Vec<ToolSpec> {
        let mut specs: Vec<ToolSpec> = definition.tools.iter().map(|tool| tool.spec()).collect();
        if definition.builtin || (definition.all_tools && self.own.is_none()) {
            let more = self
                .offered
                .iter()
                .filter(|tool| !tool.only_by_name && specs.iter().all(|own| own.name != tool.name));
            let more: Vec<ToolSpec> = more.cloned().collect();
            specs.extend(more);
        }
        specs.extend(delegation_tools(agents));
        specs
    }
}
