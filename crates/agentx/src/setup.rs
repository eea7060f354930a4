//! Builds a runtime from a definition: its log, models and tools.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentx_agent::{delegation_tools, secret_files};
use agentx_llm::Catalog;
use agentx_node_runtime::scripted::ScriptedEnvironment;
use agentx_node_runtime::{NodeParts, NodeRuntime};
use agentx_runtime::{MemoryLog, OpenRequest, Redactor, Runtime, SessionLog, SystemClock};
use agentx_secrets::{Origin, SecretSet};
use agentx_tools::Toolbox;
use agentx_types::{
    AgentConfig, Condensing, ConfigChange, Guard, Limits, ModelSpec, OwnerId, SessionId, StuckSettings,
    ToolSearch, ToolSpec,
};

use crate::builder::Definition;
use crate::model_access::Models;
use crate::tool::{AskValues, ToolWithValues};
use crate::{AgentBuilder, AgentError, AgentHandle};

/// The name of the program in logs.
pub(crate) const PROGRAM: &str = concat!("agentx library ", env!("CARGO_PKG_VERSION"));
/// The owner of the sessions in a log that only its program uses.
const OWNER: &str = "own_local";
/// Default number of times that a model is answered with tool results in one run, as in the configuration.
const MOST_ROUNDS: u32 = 50;

/// The directories in which an agent works and is stored.
#[derive(Default)]
pub(crate) struct WorkDirs {
    pub(crate) workspace: Option<PathBuf>,
    pub(crate) log: Option<Arc<dyn SessionLog>>,
    #[cfg(feature = "sqlite")]
    pub(crate) data_dir: Option<PathBuf>,
    #[cfg(feature = "config")]
    pub(crate) settings: Option<Box<agentx_config::Settings>>,
    #[cfg(feature = "config")]
    pub(crate) user_config: bool,
    pub(crate) runtime: Option<Arc<dyn Runtime>>,
    #[cfg(feature = "remote")]
    pub(crate) remote: Option<Box<agentx_remote_runtime::ConnectOptions>>,
}

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

impl AgentBuilder {
    pub(crate) async fn assemble(self) -> Result<BuiltParts, AgentError> {
        let Self { definition, place } = self;
        place.check()?;
        #[cfg(feature = "remote")]
        if let Some(options) = &place.remote {
            return crate::existing_runtime::server(definition, (**options).clone()).await;
        }
        if let Some(runtime) = place.runtime.clone() {
            return crate::existing_runtime::given(definition, place.workspace()?, runtime);
        }
        #[cfg(feature = "config")]
        if let Some(settings) = place.settings()? {
            return crate::configured::assemble(definition, &place, settings);
        }
        alone(definition, &place)
    }
}

impl WorkDirs {
    /// Returns the real path of the directory in which tools work.
    pub(crate) fn workspace(&self) -> Result<PathBuf, AgentError> {
        let here = self.workspace.as_deref().unwrap_or(Path::new("."));
        std::fs::canonicalize(here).map_err(|error| {
            AgentError::Setup(format!("cannot use the workspace {}: {error}", here.display()))
        })
    }

    /// The log that was asked for; without one, one in memory.
    fn log(&self) -> Result<Arc<dyn SessionLog>, AgentError> {
        if let Some(log) = &self.log {
            return Ok(log.clone());
        }
        #[cfg(feature = "sqlite")]
        if let Some(directory) = &self.data_dir {
            let file = std::path::absolute(directory)
                .map_err(AgentError::Storage)?
                .join(agentx_node_runtime::DATABASE);
            return Ok(agentx_sqlite_log::SqliteLog::open(file, Default::default())?);
        }
        Ok(Arc::new(MemoryLog::new()))
    }

    /// Returns the files with its sessions, which no call may touch.
    fn own_files(&self, workspace: &Path) -> Result<Vec<String>, AgentError> {
        let directory = self.data_dir();
        if directory.as_os_str().is_empty() {
            return Ok(Vec::new());
        }
        let directory = std::path::absolute(directory).map_err(AgentError::Storage)?;
        let directory = std::fs::canonicalize(&directory).unwrap_or(directory);
        // If the workspace lies in it, the rest there is not ours.
        let files = if workspace.starts_with(&directory) {
            [agentx_node_runtime::DATABASE, agentx_node_runtime::COMMANDS]
                .map(|file| format!("{file}**"))
                .to_vec()
        } else {
            vec!["**".to_owned()]
        };
        let directory = directory.to_string_lossy().replace('*', "\\*");
        Ok(files.iter().map(|file| format!("{directory}/{file}")).collect())
    }

    fn data_dir(&self) -> PathBuf {
        #[cfg(feature = "sqlite")]
        if let Some(directory) = &self.data_dir {
            return directory.clone();
        }
        PathBuf::new()
    }
}

/// Builds a runtime from the definition alone.
fn alone(definition: Definition, place: &WorkDirs) -> Result<BuiltParts, AgentError> {
    let mut models = Models::new(Catalog::builtin());
    definition.open(&mut models, None)?;
    let log = place.log()?;
    let parts = NodeParts {
        owner: OwnerId::new(OWNER),
        models: models.offered(),
        wire_options: models.wire_options(),
        network: models.network(log.clone()),
        log,
        scripted: ScriptedEnvironment::live(),
        tools: builtin(&models, place),
        clock: Arc::new(SystemClock),
        program: PROGRAM.to_owned(),
        data_dir: place.data_dir(),
        guard: None,
        redactor: redactor(&models),
        context: Default::default(),
    };
    let mut guard = secret_files(&["~".to_owned()]);
    let workspace = place.workspace()?;
    guard.own.extend(place.own_files(&workspace)?);
    let base = base(&workspace, guard);
    BuiltParts::new(definition, models, (None, base), parts)
}

/// Returns a redactor for the keys of the models; `None` if no model has a key.
fn redactor(models: &Models) -> Option<Redactor> {
    let mut secrets = SecretSet::default();
    for (provider, key) in &models.keys {
        secrets.add(provider, Origin::Setting, key.expose());
    }
    (!secrets.is_empty()).then(|| Redactor::new(&secrets))
}

/// Returns the built-in tools. Their commands get no variable of this process that looks like a secret or
/// contains one.
#[cfg(feature = "tools")]
fn builtin(models: &Models, place: &WorkDirs) -> Toolbox {
    use agentx_tools::{CommandRecords, ProgramEnvironment, ToolOptions};

    let mut options = ToolOptions::default();
    let hidden = models.keys.values();
    options.bash.environment = hidden.fold(ProgramEnvironment::default(), |environment, key| {
        environment.hide_value(key.expose())
    });
    // Processes of a killed program can be found only if its sessions are stored.
    let directory = place.data_dir();
    if !directory.as_os_str().is_empty() {
        options.bash.records = Some(CommandRecords::in_directory(
            directory.join(agentx_node_runtime::COMMANDS),
        ));
    }
    Toolbox::builtin(options)
}

#[cfg(not(feature = "tools"))]
fn builtin(_: &Models, _: &WorkDirs) -> Toolbox {
    Toolbox::default()
}

/// Default configuration of an agent.
pub(crate) fn base(workspace: &Path, guard: Guard) -> Base {
    let guard = Arc::new(guard);
    let workspace = workspace.to_string_lossy().into_owned();
    Box::new(move |model| AgentConfig {
        workspace: workspace.clone(),
        limits: Limits {
            max_iterations: Some(MOST_ROUNDS),
            ..Limits::default()
        },
        condensing: Some(Box::new(Condensing {
            keeps_beginning: true,
            ..Condensing::default()
        })),
        guard: Some(guard.clone()),
        tool_search: Some(ToolSearch::default()),
        stuck: Some(StuckSettings::default()),
        ..AgentConfig::react(model)
    })
}

impl Definition {
    /// Adds the models of this agent and its helpers to `models`.
    pub(crate) fn open(&self, models: &mut Models, usual: Option<&str>) -> Result<(), AgentError> {
        models.open(&self.door, usual)?;
        let mut helpers = self.helpers.iter();
        helpers.try_for_each(|(_, helper)| helper.open(models, self.door.model.as_deref().or(usual)))
    }

    fn wants_builtin(&self) -> bool {
        self.builtin || self.helpers.iter().any(|(_, helper)| helper.wants_builtin())
    }

    /// Registers the tools of all agents of a session in one toolbox; each agent knows its own.
    fn register(&self, toolbox: &mut Toolbox, asks: &Arc<AskValues>) -> Result<(), AgentError> {
        for tool in &self.tools {
            toolbox.register(Arc::new(ToolWithValues::new(tool.clone(), asks.clone())))?;
        }
        let mut helpers = self.helpers.iter();
        helpers.try_for_each(|(_, helper)| helper.register(toolbox, asks))
    }
}

impl BuiltParts {
    /// With a runtime of its own.
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
