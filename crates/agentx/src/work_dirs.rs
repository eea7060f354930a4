//! The directories in which an agent works and is stored, as a builder collects them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentx_runtime::{MemoryLog, Runtime, SessionLog};

use crate::error::AgentError;

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

impl WorkDirs {
    /// Returns the real path of the directory in which tools work.
    pub(crate) fn workspace(&self) -> Result<PathBuf, AgentError> {
        let here = self.workspace.as_deref().unwrap_or(Path::new("."));
        std::fs::canonicalize(here).map_err(|error| {
            AgentError::Setup(format!("cannot use the workspace {}: {error}", here.display()))
        })
    }

    /// The log that was asked for; without one, one in memory.
    pub(crate) fn log(&self) -> Result<Arc<dyn SessionLog>, AgentError> {
        if let Some(log) = &self.log {
            return Ok(log.clone());
        }
        #[cfg(feature = "sqlite")]
        if let Some(directory) = &self.data_dir {
            let directory = std::path::absolute(directory).map_err(AgentError::Storage)?;
            let (workspace, home) = (self.workspace().ok(), std::env::home_dir());
            let used: Vec<&Path> = workspace.iter().chain(&home).map(PathBuf::as_path).collect();
            agentx_sqlite_log::make_own_directory(&directory, &used).map_err(AgentError::Storage)?;
            let file = directory.join(agentx_node_runtime::DATABASE);
            return Ok(agentx_sqlite_log::SqliteLog::open(file, Default::default())?);
        }
        Ok(Arc::new(MemoryLog::new()))
    }

    /// Returns the files with its sessions, which no call may touch.
    pub(crate) fn own_files(&self, workspace: &Path) -> Result<Vec<String>, AgentError> {
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

    pub(crate) fn data_dir(&self) -> PathBuf {
        #[cfg(feature = "sqlite")]
        if let Some(directory) = &self.data_dir {
            return directory.clone();
        }
        PathBuf::new()
    }
}
