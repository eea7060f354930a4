//! Resolves names when files are read: agents over the settings, models, texts and variables. Tools of files
//! use it, and so do callers that open a session with an agent by its name.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use agentx_agent::{BUILT_IN_AGENTS, DELEGATE};
use agentx_agent_files::definition::MachineKind as FileKind;
use agentx_agent_files::{FileOrigin, Library};
use agentx_config::{ModelOffer, SCRIPTED_MODEL, Settings, nearest};
use agentx_flows::ToolSurroundings;
use agentx_runtime::{AgentInfo, AgentOrigin, Agents, ModelInfo, NamedAgent, RuntimeError};
use agentx_types::{AgentConfig, AgentKind, ModelSpec, ToolSpec};

use crate::agent::{Assembly, AssemblyError};
use crate::own_agents::summary_line;

/// The number of names that are proposed for one that is not known.
const NEAREST: usize = 3;

/// Returns the value of an environment variable, if it is set.
pub type VariableSource = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Resolves names of agents, models, texts and variables.
pub(crate) struct AgentCatalog {
    settings: Settings,
    models: Vec<ModelInfo>,
    library: Arc<Library>,
    variables: VariableSource,
    /// All tools that there are, once they are known.
    tools: OnceLock<Arc<[ToolSpec]>>,
}

impl AgentCatalog {
    pub(crate) fn new(
        settings: Settings,
        models: Vec<ModelInfo>,
        library: Arc<Library>,
        variables: VariableSource,
    ) -> Self {
        Self {
            settings,
            models,
            library,
            variables,
            tools: OnceLock::new(),
        }
    }

    /// Sets the list of tools, including those of files, which had to be made first. Only the first call
    /// counts.
    pub(crate) fn set_tools(&self, tools: Arc<[ToolSpec]>) {
        // An earlier lookup found none.
        let _ = self.tools.set(tools);
    }

    pub(crate) fn choose(&self, name: &str) -> Result<ModelSpec, Vec<String>> {
        let offers: Vec<ModelOffer<'_>> = self
            .models
            .iter()
            .map(|info| ModelOffer {
                spec: &info.spec,
                aliases: &info.aliases,
            })
            .collect();
        self.settings
            .choose_model(name, &offers)
            .map_err(|unknown| unknown.nearest)
    }

    /// Returns the defaults of an agent whose file leaves everything out.
    fn base(&self, model: ModelSpec) -> AgentConfig {
        let known = self.tools.get().map(|tools| tools.to_vec()).unwrap_or_default();
        // A file names the tools of its agent, and may name those that no other agent gets.
        let by_name = known.iter().filter(|tool| tool.only_by_name);
        let by_name = by_name.filter(|tool| self.settings.tools.offers(&tool.name));
        let by_name: Vec<ToolSpec> = by_name.cloned().collect();
        let mut base = self.settings.agent(model, known);
        base.tools = base.tools.iter().cloned().chain(by_name).collect();
        base
    }

    fn assemble(&self, name: &str, base: &AgentConfig) -> Result<AgentConfig, AssemblyError> {
        self.with_assembly(base, |assembly| assembly.agent(name))
    }

    fn with_assembly<R>(&self, base: &AgentConfig, then: impl FnOnce(&Assembly<'_>) -> R) -> R {
        then(&Assembly {
            library: &self.library,
            base,
            model: &|name| self.choose(name),
            address: &|model| self.settings.address_of(model).map(str::to_owned),
            is_connected: &|model| self.settings.is_connected(model),
            lookup: &|name| self.variable(name),
        })
    }

    /// Returns whether a file describes an agent of this name, with mistakes or without.
    fn has_file(&self, name: &str) -> bool {
        let broken = self.library.check().iter().map(|mistake| mistake.file.as_path());
        let is_file = |file: &Path| file.file_stem().is_some_and(|stem| stem == name);
        let mut agents = broken.filter(|file| {
            let folder = file.parent();
            folder.is_some_and(|folder| folder.ends_with("agents") || folder.ends_with("agent"))
        });
        self.library.agents().contains_key(name) || agents.any(is_file)
    }

    /// The names of the agents of files to which this agent of the settings may delegate work without listing
    /// them. An agent that has the tool already lists its own.
    fn own_agents(&self, config: &AgentConfig) -> Vec<String> {
        let lists = config.tools.iter().any(|tool| tool.name == DELEGATE) || !config.agents.is_empty();
        if lists || config.built_in_agents.is_empty() || !self.settings.tools.own_agents {
            return Vec::new();
        }
        let of_files = self.library.agents().iter().filter(|(name, loaded)| {
            let foreign = loaded.definition.foreign.as_ref();
            let is_other = **name != config.name && !BUILT_IN_AGENTS.contains(&name.as_str());
            is_other && !foreign.is_some_and(|choices| choices.only_by_name)
        });
        of_files.map(|(name, _)| name.clone()).collect()
    }

    /// Returns a variable for an agent's instructions: any but the keys that this program runs on, which no
    /// model needs to see.
    fn variable(&self, name: &str) -> Option<String> {
        let is_key = self.settings.key_variables().contains(name);
        let value = (!is_key).then(|| (self.variables)(name)).flatten();
        value.filter(|value| !self.settings.holds_key(value))
    }

    /// Returns the requested model, else that of the settings.
    fn model_for(&self, wanted: &NamedAgent) -> Result<ModelSpec, RuntimeError> {
        let usual = || self.settings.model_or_default().value;
        let name = wanted.model.clone().unwrap_or_else(usual);
        self.choose(&name)
            .map_err(|nearest| RuntimeError::UnknownModel { model: name, nearest })
    }

    fn to_runtime_error(&self, error: AssemblyError) -> RuntimeError {
        let what = error.to_string();
        match error {
            AssemblyError::NoAgent { name, known } => {
                let near = nearest(&name, known.iter().map(String::as_str), NEAREST);
                RuntimeError::UnknownAgent {
                    nearest: near.into_iter().map(str::to_owned).collect(),
                    agent: name,
                }
            }
            AssemblyError::Mistakes { name: agent, .. } | AssemblyError::Missing { agent, .. } => {
                RuntimeError::BadAgent { agent, what }
            }
        }
    }
}

impl Agents for AgentCatalog {
    fn list(&self) -> Vec<AgentInfo> {
        let agents = self.library.agents().iter();
        agents
            .map(|(name, loaded)| AgentInfo {
                name: name.clone(),
                kind: match loaded.definition.kind {
                    FileKind::React => AgentKind::React,
                    FileKind::Match => AgentKind::Match,
                },
                origin: match loaded.origin {
                    FileOrigin::Workspace => AgentOrigin::Workspace,
                    FileOrigin::User => AgentOrigin::User,
                },
                description: summary_line(&loaded.definition),
            })
            .collect()
    }

    fn resolve(&self, wanted: &NamedAgent) -> Result<AgentConfig, RuntimeError> {
        let mut base = self.base(self.model_for(wanted)?);
        base.limits = wanted.limits.merged_into(base.limits);
        base.approval = wanted.approval.unwrap_or(base.approval);
        if let Some(workspace) = &wanted.workspace {
            base.workspace.clone_from(workspace);
        }
        let assembled = self.assemble(&wanted.agent, &base);
        let mut config = assembled.map_err(|error| self.to_runtime_error(error))?;
        if wanted.model.is_some() {
            config.model = base.model;
        }
        if let Some(system_prompt) = &wanted.system_prompt {
            config.system_prompt = Arc::from(system_prompt.as_str());
        }
        Ok(config)
    }

    fn complete_agents(&self, config: AgentConfig) -> AgentConfig {
        let names = config.built_in_agents.iter();
        let replaced: Vec<String> = names.filter(|name| self.has_file(name)).cloned().collect();
        let own = self.own_agents(&config);
        if replaced.is_empty() && own.is_empty() {
            return config;
        }
        let base = AgentConfig {
            approval: config.approval,
            rules: config.rules.clone(),
            limits: config.limits,
            workspace: config.workspace.clone(),
            ..self.base(config.model.clone())
        };
        self.with_assembly(&base, |assembly| {
            assembly.complete_agents(config, &replaced, &own)
        })
    }
}

impl ToolSurroundings for AgentCatalog {
    fn model(&self, name: &str) -> Option<ModelSpec> {
        self.choose(name).ok()
    }

    fn agent(&self, name: &str) -> Option<AgentConfig> {
        self.library.agents().get(name)?;
        let wanted = self.settings.model_or_default().value;
        let model = self.model(&wanted).or_else(|| self.model(SCRIPTED_MODEL))?;
        self.assemble(name, &self.base(model)).ok()
    }

    fn context(&self, name: &str) -> Option<String> {
        self.library.context(name).map(str::to_owned)
    }

    fn env(&self, name: &str) -> Option<String> {
        (self.variables)(name)
    }
}
