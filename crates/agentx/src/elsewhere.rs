//! Agents on a runtime that is there already: this process's, or a server's.

use std::path::PathBuf;
use std::sync::Arc;

use agentx_agent::secret_files;
use agentx_llm::Catalog;
use agentx_runtime::Runtime;

use crate::AgentError;
use crate::builder::Definition;
use crate::door::Models;
use crate::setup::{Made, base};

/// On a runtime of this process.
pub(crate) fn given(
    definition: Definition,
    workspace: PathBuf,
    runtime: Arc<dyn Runtime>,
) -> Result<Made, AgentError> {
    definition.check_on(&*runtime)?;
    let models = Models::new(Catalog::builtin()).offered_by(&*runtime);
    let base = base(&workspace, secret_files(&["~".to_owned()]));
    Ok(Made::on(definition, models, (None, base), runtime))
}

/// On a server.
#[cfg(feature = "remote")]
pub(crate) async fn server(
    definition: Definition,
    options: agentx_remote_runtime::ConnectOptions,
) -> Result<Made, AgentError> {
    let runtime = agentx_remote_runtime::RemoteRuntime::connect(options).await?;
    definition.check_on(&runtime)?;
    let models = Models::new(Catalog::builtin()).offered_by(&runtime);
    // The workspace, the rules and the limits are the server's.
    let usual = runtime.default_agent().await?;
    let name = format!("{}/{}", usual.model.provider, usual.model.id);
    let base = Box::new(move |model| agentx_types::AgentConfig {
        model,
        ..usual.clone()
    });
    Ok(Made::on(
        definition,
        models,
        (Some(name), base),
        Arc::new(runtime),
    ))
}

impl Definition {
    /// What it brings itself has to be where it runs.
    fn check_on(&self, runtime: &dyn Runtime) -> Result<(), AgentError> {
        let door = &self.door;
        if door.own.is_some() || door.api_key.is_some() || door.base_url.is_some() {
            let what = "models of a runtime that is there already are reached as that one says: no provider, key or address goes with it";
            return Err(AgentError::Setup(what.to_owned()));
        }
        let there = runtime.tools();
        for tool in &self.tools {
            let name = tool.spec().name;
            if there.iter().all(|spec| spec.name != name) {
                return Err(AgentError::Setup(format!(
                    "the tool `{name}` is not on the runtime that the agent is to be on: tools run there, so add it there"
                )));
            }
        }
        self.helpers
            .iter()
            .try_for_each(|(_, helper)| helper.check_on(runtime))
    }
}
