//! The definition of an agent, as a builder collects it, and the resulting parts of a runtime.

use std::sync::Arc;

use agentx_runtime::Tool;
use agentx_tools::Toolbox;
use agentx_types::{ApprovalMode, Limits, Rule};

use crate::error::AgentError;
use crate::model_access::{ModelAccess, Models};
use crate::tool::{AskValues, ToolWithValues};

/// The definition of an agent.
pub(crate) struct Definition {
    pub(crate) instructions: Arc<str>,
    pub(crate) door: ModelAccess,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) builtin: bool,
    pub(crate) all_tools: bool,
    pub(crate) rights: AgentPermissions,
    pub(crate) helpers: Vec<(String, Definition)>,
}

/// The permissions; a field that is `None` is taken from the configuration, if there is one.
#[derive(Default)]
pub(crate) struct AgentPermissions {
    pub(crate) approval: Option<ApprovalMode>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) limits: Option<Limits>,
}

impl Definition {
    /// Adds the models of this agent and its helpers to `models`.
    pub(crate) fn open(&self, models: &mut Models, usual: Option<&str>) -> Result<(), AgentError> {
        models.open(&self.door, usual)?;
        let mut helpers = self.helpers.iter();
        helpers.try_for_each(|(_, helper)| helper.open(models, self.door.model.as_deref().or(usual)))
    }

    pub(crate) fn wants_builtin(&self) -> bool {
        self.builtin || self.helpers.iter().any(|(_, helper)| helper.wants_builtin())
    }

    /// Registers the tools of all agents of a session in one toolbox; each agent knows its own.
    pub(crate) fn register(&self, toolbox: &mut Toolbox, asks: &Arc<AskValues>) -> Result<(), AgentError> {
        for tool in &self.tools {
            toolbox.register(ToolWithValues::wrap(tool.clone(), asks.clone()))?;
        }
        let mut helpers = self.helpers.iter();
        helpers.try_for_each(|(_, helper)| helper.register(toolbox, asks))
    }
}
