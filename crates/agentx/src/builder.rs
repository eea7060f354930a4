//! From a sentence to an agent that one can talk to.

use std::path::PathBuf;
use std::sync::Arc;

use agentx_agent::delegation_tools;
use agentx_config::{ModelOffer, Places, Request, Settings, load};
use agentx_node_runtime::{NodeParts, NodeRuntime};
use agentx_runtime::{OpenRequest, Runtime as _, RuntimeError, Tool};
use agentx_tools::Toolbox;
use agentx_types::{AgentConfig, ApprovalMode, ConfigChange, Limits, ModelSpec, Rule, SessionId, ToolSpec};
use tempfile::TempDir;

use crate::tool::{Asks, Given, IntoTool};
use crate::{AgentError, AgentHandle};

/// What the log has as the program.
const PROGRAM: &str = concat!("agentx library ", env!("CARGO_PKG_VERSION"));

/// An agent with these standing instructions. It is told what else it is, and then [started](AgentBuilder::start).
pub fn agent(instructions: impl Into<Arc<str>>) -> AgentBuilder {
    AgentBuilder {
        definition: Definition {
            instructions: instructions.into(),
            model: None,
            tools: Vec::new(),
            builtin: false,
            rights: Rights::default(),
            helpers: Vec::new(),
        },
        place: Place::default(),
    }
}

/// An agent that is being described.
#[must_use = "an agent does nothing before it is started"]
pub struct AgentBuilder {
    definition: Definition,
    place: Place,
}

/// What an agent is.
struct Definition {
    instructions: Arc<str>,
    model: Option<String>,
    tools: Vec<Arc<dyn Tool>>,
    builtin: bool,
    rights: Rights,
    helpers: Vec<(String, Definition)>,
}

/// What it may do; what is `None` is as the configuration says.
#[derive(Default)]
struct Rights {
    approval: Option<ApprovalMode>,
    rules: Vec<Rule>,
    limits: Option<Limits>,
}

/// Where it works and is kept.
#[derive(Default)]
struct Place {
    settings: Option<Box<Settings>>,
    data_dir: Option<PathBuf>,
    workspace: Option<PathBuf>,
}

impl AgentBuilder {
    /// The model: an id, an alias or `provider/id`, as `agentx models` lists them. Without one it is what the configuration
    /// names, else that of the first provider that has a key, else the offline demo, which needs none.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.definition.model = Some(model.into());
        self
    }

    /// A tool: the name of a function with [`#[agentx::tool]`](crate::tool), or anything else that is one.
    pub fn tool<Form>(mut self, tool: impl IntoTool<Form>) -> Self {
        self.definition.tools.push(tool.into_tool());
        self
    }

    /// The tools of the program too: files, searches, command lines. They are asked about as the approval mode says.
    pub fn builtin_tools(mut self) -> Self {
        self.definition.builtin = true;
        self
    }

    /// An agent that this one may hand work to, by its name. Where it works and is kept is as for this one.
    pub fn helper(mut self, name: impl Into<String>, helper: Self) -> Self {
        self.definition.helpers.push((name.into(), helper.definition));
        self
    }

    /// Who decides about calls that no rule decides; without it, as the configuration says, and that is a person where it says
    /// nothing. Only calls of tools that change files or run programs are asked about: a run that comes to one ends for whoever
    /// awaits it with [`AgentError::Undecided`], and goes on when [`AgentHandle::approve`] or [`AgentHandle::deny`] says so.
    pub fn approval(mut self, mode: ApprovalMode) -> Self {
        self.definition.rights.approval = Some(mode);
        self
    }

    /// One approval rule more, beside those of the configuration.
    pub fn rule(mut self, rule: Rule) -> Self {
        self.definition.rights.rules.push(rule);
        self
    }

    /// When a run has to end, in the place of what the configuration says; a field that is `None` is no limit. They hold for each
    /// run by itself. A run that comes to one ends with [`AgentError::Ended`], which has what was said until then.
    ///
    /// ```
    /// use agentx::types::{Limits, NanoUsd};
    ///
    /// let limits = Limits {
    ///     max_iterations: Some(20),
    ///     max_cost: Some(NanoUsd::from_usd(0.50)),
    ///     max_wall_ms: Some(5 * 60 * 1000),
    ///     ..Limits::default()
    /// };
    /// let agent = agentx::agent("You help.").limits(limits);
    /// # drop(agent);
    /// ```
    pub fn limits(mut self, limits: Limits) -> Self {
        self.definition.rights.limits = Some(limits);
        self
    }

    /// The directory that tools work in; the current one by default.
    pub fn workspace(mut self, directory: impl Into<PathBuf>) -> Self {
        self.place.workspace = Some(directory.into());
        self
    }

    /// Keeps sessions in this directory, where [`AgentBuilder::resume`] finds them. **Without it nothing is kept**: the log is in
    /// a temporary directory that is removed with the last handle.
    pub fn data_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.place.data_dir = Some(directory.into());
        self
    }

    /// These settings in the place of those that the program would read: the user's file, the workspace's, the environment.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.place.settings = Some(Box::new(settings));
        self
    }

    /// Begins a session with this agent. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// Where the configuration has mistakes, the model is not known or lacks its key, two tools have one name, or the session
    /// cannot be kept.
    pub async fn start(self) -> Result<AgentHandle, AgentError> {
        let made = self.assemble()?;
        let config = made.config()?;
        let session = made.runtime.open(OpenRequest::New(Box::new(config))).await?;
        Ok(AgentHandle::new(session, made.runtime, made.asks, made.kept))
    }

    /// Goes on with a session of [its directory](AgentBuilder::data_dir), as it stands in its log: instructions, model, rules and
    /// the conversation are the session's, and a question that was asked is still asked. Only the tools are this builder's.
    ///
    /// # Errors
    /// As [`AgentBuilder::start`], and where there is no such session or another process writes it.
    pub async fn resume(self, session: &SessionId) -> Result<AgentHandle, AgentError> {
        let made = self.assemble()?;
        let before = made.runtime.state(session).await?.config;
        let tools = made.specs(&made.definition, &before.agents);
        let changes = match before.tools[..] == tools[..] {
            true => Vec::new(),
            false => vec![ConfigChange::Tools(tools.into())],
        };
        let session = made
            .runtime
            .open(OpenRequest::Resume(session.clone(), changes))
            .await?;
        Ok(AgentHandle::new(session, made.runtime, made.asks, made.kept))
    }

    fn assemble(self) -> Result<Made, AgentError> {
        let (settings, kept) = self.place.settle()?;
        let asks = Arc::new(Asks::default());
        let mut parts = NodeParts::from_settings(&settings, PROGRAM)?;
        let builtin = parts.tools.specs();
        if !self.definition.wants_builtin() {
            parts.tools = Toolbox::default();
        }
        self.definition.register(&mut parts.tools, &asks)?;
        Ok(Made {
            definition: self.definition,
            settings,
            builtin,
            runtime: Arc::new(NodeRuntime::new(parts)),
            asks,
            kept,
        })
    }
}

/// Names only: settings have keys, and instructions may be private.
impl std::fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tools = self.definition.tools.iter().map(|tool| tool.spec().name);
        f.debug_struct("AgentBuilder")
            .field("model", &self.definition.model)
            .field("tools", &tools.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl Place {
    /// The settings, and the directory that goes when nobody needs it any more.
    fn settle(self) -> Result<(Settings, Option<Arc<TempDir>>), AgentError> {
        let here = self.workspace.unwrap_or_else(|| PathBuf::from("."));
        let lookup = |name: &str| std::env::var(name).ok();
        let mut settings = match self.settings {
            Some(settings) => *settings,
            None => {
                let places = Places::find(&here, &lookup)?;
                let request = Request {
                    places,
                    lookup: &lookup,
                    flags: Vec::new(),
                };
                load(request)?.settings
            }
        };
        let kept = match self.data_dir {
            Some(directory) => {
                settings.data_dir = std::path::absolute(directory)?;
                None
            }
            None => {
                let directory = tempfile::Builder::new().prefix("agentx-").tempdir()?;
                settings.data_dir = directory.path().to_owned();
                Some(Arc::new(directory))
            }
        };
        Ok((settings, kept))
    }
}

impl Definition {
    fn wants_builtin(&self) -> bool {
        self.builtin || self.helpers.iter().any(|(_, helper)| helper.wants_builtin())
    }

    /// One box has the tools of all agents of a session; each agent knows its own.
    fn register(&self, toolbox: &mut Toolbox, asks: &Arc<Asks>) -> Result<(), AgentError> {
        for tool in &self.tools {
            toolbox.register(Arc::new(Given::new(tool.clone(), asks.clone())))?;
        }
        self.helpers
            .iter()
            .try_for_each(|(_, helper)| helper.register(toolbox, asks))
    }
}

/// What a builder comes to.
struct Made {
    definition: Definition,
    settings: Settings,
    /// The tools of the program.
    builtin: Arc<[ToolSpec]>,
    runtime: Arc<NodeRuntime>,
    asks: Arc<Asks>,
    kept: Option<Arc<TempDir>>,
}

impl Made {
    fn config(&self) -> Result<AgentConfig, AgentError> {
        let name = self.definition.model.clone();
        let model = self.model(&name.unwrap_or_else(|| self.settings.model_or_default().value))?;
        self.config_of("agent", &self.definition, &model)
    }

    fn config_of(
        &self,
        name: &str,
        definition: &Definition,
        parents: &ModelSpec,
    ) -> Result<AgentConfig, AgentError> {
        let model = match &definition.model {
            Some(model) => self.model(model)?,
            None => parents.clone(),
        };
        let helpers = definition.helpers.iter();
        let helpers = helpers.map(|(name, helper)| self.config_of(name, helper, &model));
        let agents = helpers.collect::<Result<Vec<_>, _>>()?;
        let base = self.settings.agent(model, Vec::new());
        let rights = &definition.rights;
        Ok(AgentConfig {
            name: name.to_owned(),
            system_prompt: definition.instructions.clone(),
            // What a project tells its coding agent is not for the agents of a program.
            instructions: Vec::new(),
            tools: self.specs(definition, &agents).into(),
            approval: rights.approval.unwrap_or(base.approval),
            rules: base.rules.iter().chain(&rights.rules).cloned().collect(),
            limits: rights.limits.unwrap_or(base.limits),
            agents,
            ..base
        })
    }

    /// The tools of an agent: its own, those of the program if it wants them, and what it needs to hand work on.
    fn specs(&self, definition: &Definition, agents: &[AgentConfig]) -> Vec<ToolSpec> {
        let mut specs: Vec<ToolSpec> = definition.tools.iter().map(|tool| tool.spec()).collect();
        if definition.builtin {
            specs.extend(self.builtin.iter().cloned());
        }
        specs.extend(delegation_tools(agents));
        specs
    }

    fn model(&self, name: &str) -> Result<ModelSpec, AgentError> {
        let known = self.runtime.models();
        let offers: Vec<ModelOffer<'_>> = known
            .iter()
            .map(|info| ModelOffer {
                spec: &info.spec,
                aliases: &info.aliases,
            })
            .collect();
        let chosen = self.settings.choose_model(name, &offers);
        Ok(chosen.map_err(|unknown| RuntimeError::UnknownModel {
            model: unknown.name,
            nearest: unknown.nearest,
        })?)
    }
}
