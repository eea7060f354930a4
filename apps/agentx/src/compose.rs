//! The one place that knows which runtime there is; everything else works against the trait.

use std::sync::Arc;

use agentx::config::Settings;
use agentx::node::NodeRuntime;
use agentx::runtime::{Runtime, RuntimeError};

use crate::error::CliError;

/// The runtime of this process, assembled from the settings. Must be called inside an async runtime.
pub(crate) fn build_runtime(settings: &Settings) -> Result<Arc<dyn Runtime>, CliError> {
    std::fs::create_dir_all(&settings.data_dir).map_err(|error| CliError::DataDir {
        path: settings.data_dir.display().to_string(),
        what: error.to_string(),
    })?;
    let program = concat!("agentx ", env!("CARGO_PKG_VERSION"));
    let runtime = NodeRuntime::from_settings(settings, program).map_err(RuntimeError::Log)?;
    Ok(Arc::new(runtime))
}
