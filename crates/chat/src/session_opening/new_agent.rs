//! The agent of a session that is not open yet: that of the settings, of the server, or of a file of either.

use std::sync::Arc;

use agentx::runtime::{NamedAgent, OpenRequest, Runtime, RuntimeError, Session};
use agentx::types::{AgentConfig, ApprovalMode, ConfigChange};

/// The agent of a session that is not opened yet.
#[derive(Clone, Debug)]
pub struct NewAgent {
    /// The configuration of the agent.
    pub config: Box<AgentConfig>,
    /// The request to the place for the agent, if a file there describes it.
    named: Option<NamedAgent>,
    /// The changes that the person has made meanwhile: they count more than a file.
    changes: Vec<ConfigChange>,
}

impl NewAgent {
    /// Creates an agent from a complete configuration.
    pub fn whole(config: AgentConfig) -> Self {
        Self {
            config: Box::new(config),
            named: None,
            changes: Vec::new(),
        }
    }

    /// Creates an agent that a file describes.
    pub(crate) fn of_file(config: AgentConfig, named: NamedAgent) -> Self {
        Self {
            named: Some(named),
            ..Self::whole(config)
        }
    }

    /// Makes the agent refuse calls that it would ask about.
    pub fn refuse(&mut self) {
        self.config.approval = ApprovalMode::Deny;
        if let Some(named) = &mut self.named {
            named.approval = Some(ApprovalMode::Deny);
        }
    }

    /// Changes the agent before its first message.
    pub(crate) fn change(&mut self, change: ConfigChange) {
        match &change {
            ConfigChange::Model(model) => self.config.model = (**model).clone(),
            ConfigChange::Approval(mode) => self.config.approval = *mode,
            ConfigChange::Params(params) => self.config.params = params.clone(),
            ConfigChange::Rules(rules) => self.config.rules.clone_from(rules),
            ConfigChange::PlanMode(on) => self.config.plan_mode = Some(*on),
            _ => return,
        }
        if self.named.is_some() {
            self.changes.push(change);
        }
    }

    /// Opens a session with it.
    pub async fn open(self, runtime: &dyn Runtime) -> Result<Arc<dyn Session>, RuntimeError> {
        let Some(named) = self.named else {
            return runtime.open(OpenRequest::New(self.config)).await;
        };
        let session = runtime.open_named(named).await?;
        for change in self.changes {
            session.change(change).await?;
        }
        Ok(session)
    }
}
