//! Builds a runtime from a definition: its log, models and tools.

use std::sync::Arc;

use agentx_agent::secret_files;
use agentx_llm::Catalog;
use agentx_node_runtime::NodeParts;
use agentx_node_runtime::scripted::ScriptedEnvironment;
use agentx_runtime::{Redactor, SystemClock};
use agentx_secrets::{Origin, SecretSet};
use agentx_tools::Toolbox;
use agentx_types::OwnerId;

use crate::builder::AgentBuilder;
use crate::built_parts::{BuiltParts, PROGRAM, base};
use crate::definition::Definition;
use crate::error::AgentError;
use crate::model_access::Models;
use crate::work_dirs::WorkDirs;

/// The owner of the sessions in a log that only its program uses.
const OWNER: &str = "own_local";

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
        analyzers: Default::default(),
        learner: None,
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
