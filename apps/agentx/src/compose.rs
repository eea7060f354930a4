//! The one place that knows which runtime there is; everything else works against the trait.

use std::sync::Arc;

use agentx_config::Settings;
use agentx_runtime::Runtime;

use crate::error::CliError;

/// The runtime of this process, assembled from the settings.
pub(crate) fn build_runtime(settings: &Settings) -> Result<Arc<dyn Runtime>, CliError> {
    let what = "this build has no runtime".to_owned();
    Err(CliError::File {
        path: settings.data_dir.display().to_string(),
        what,
    })
}
