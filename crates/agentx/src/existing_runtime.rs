//! Agents on an existing runtime: this process's, or a server's.

use std::path::PathBuf;
use std::sync::Arc;

use agentx_agent::secret_files;
use agentx_llm::Catalog;
use agentx_runtime::Runtime;

use crate::built_parts::{BuiltParts, base};
use crate::definition::Definition;
use crate::error::AgentError;
use crate::model_access::Models;
use crate::work_dirs::WorkDirs;

/// On a runtime of this process.
pub(crate) fn given(
    definition: Definition,
    workspace: PathBuf,
    runtime: Arc<dyn Runtime>,
) -> Result<BuiltParts, AgentError> {
    definition.check_on(&*runtime)?;
    let models = Models::new(Catalog::builtin()).offered_by(&*runtime);
    let base = base(&workspace, secret_files(&["~".to_owned()]));
    Ok(BuiltParts::on(definition, models, (None, base), runtime))
}

/// On a server.
#[cfg(feature = "remote")]
pub(crate) async fn server(
    definition: Definition,
    options: agentx_remote_runtime::ConnectOptions,
) -> Result<BuiltParts, AgentError> {
    let runtime = agentx_remote_runtime::RemoteRuntime::connect(options).await?;
    definition.check_on(&runtime)?;
    let models = Models::new(Catalog::builtin()).offered_by(&runtime);
    // The workspace, the rules and the limits are the server's.
    let usual = runtime.default_agent().await?;
    let name = usual.model.reference();
    let base = Box::new(move |model| agentx_types::AgentConfig {
        model,
        ..usual.clone()
    });
    Ok(BuiltParts::on(
        definition,
        models,
        (Some(name), base),
        Arc::new(runtime),
    ))
}

impl WorkDirs {
    /// Checks that the used methods of the builder go together. If the session is on another runtime, that
    /// runtime stores it and has its own settings, so such options of the builder would be lost.
    ///
    /// # Errors
    /// Returns an error that names both methods and the remedy.
    pub(crate) fn check(&self) -> Result<(), AgentError> {
        let here = [
            (self.log.is_some(), ".log(..)"),
            #[cfg(feature = "sqlite")]
            (self.data_dir.is_some(), ".data_dir(..)"),
            #[cfg(feature = "config")]
            (self.settings.is_some(), ".settings(..)"),
            #[cfg(feature = "config")]
            (self.user_config, ".from_user_config()"),
        ];
        let of_place = [
            (self.workspace.is_some(), ".workspace(..)"),
            (self.runtime.is_some(), ".runtime(..)"),
        ];
        #[cfg(feature = "remote")]
        if self.remote.is_some() {
            let server = "the server keeps the session and has the tools, the workspace and the settings";
            return here
                .iter()
                .chain(&of_place)
                .try_for_each(|door| check_not_combined(door, ".remote(..)", server));
        }
        if self.runtime.is_some() {
            let runtime = "that runtime keeps the session and has the settings";
            return here
                .iter()
                .try_for_each(|door| check_not_combined(door, ".runtime(..)", runtime));
        }
        let _ = of_place;
        Ok(())
    }
}

fn check_not_combined((used, door): &(bool, &str), elsewhere: &str, why: &str) -> Result<(), AgentError> {
    if *used {
        Err(AgentError::Setup(format!(
            "`{door}` and `{elsewhere}` cannot be combined: {why}. Remove one of them"
        )))
    } else {
        Ok(())
    }
}

impl Definition {
    /// Refuses parts that must be given to the runtime itself.
    fn check_on(&self, runtime: &dyn Runtime) -> Result<(), AgentError> {
        let door = &self.door;
        if door.own.is_some() || door.api_key.is_some() || door.cloud.is_some() || door.base_url.is_some() {
            let what = "an existing runtime defines how models are reached: no provider, key or address can be added";
            return Err(AgentError::Setup(what.to_owned()));
        }
        let there = runtime.tools();
        for tool in &self.tools {
            let name = tool.spec().name;
            if there.iter().all(|spec| spec.name != name) {
                return Err(AgentError::Setup(format!(
                    "the agent's runtime has no tool `{name}`: tools run there, so add it there"
                )));
            }
        }
        self.helpers
            .iter()
            .try_for_each(|(_, helper)| helper.check_on(runtime))
    }
}
