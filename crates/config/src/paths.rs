//! The paths of the configuration: the platform's directories for the user's file and data, and the nearest
//! project root for the workspace's file.

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;

use crate::mistake::ConfigError;

/// The folder of a workspace that holds its configuration.
pub const WORKSPACE_FOLDER: &str = ".agentx";
const FILE_NAME: &str = "config.yaml";
/// Sessions, rules and keys are kept by the path of a folder, as text.
const NO_TEXT: &str = "the path of this folder is not UTF-8, so AgentX cannot identify it; rename the folder";

/// All places of one start of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigPaths {
    /// The directory that the agent works in: absolute, symbolic links resolved.
    pub cwd: PathBuf,
    /// The user's file.
    pub user_file: PathBuf,
    /// Whether `AGENTX_CONFIG` names it, so that it has to exist.
    pub user_file_named: bool,
    /// The nearest directory upwards that has `.agentx` or `.git`, otherwise the working directory.
    pub workspace_root: PathBuf,
    /// The workspace's file, whether it exists or not.
    pub workspace_file: PathBuf,
    /// The default directory of sessions.
    pub data_dir: PathBuf,
}

impl ConfigPaths {
    /// Finds them for a directory; `lookup` reads the environment.
    ///
    /// # Errors
    /// Returns an error if `cwd` is not a directory, if its path is not UTF-8, or if there is no home
    /// directory.
    pub fn find(cwd: &Path, lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let cwd = std::fs::canonicalize(cwd).map_err(|error| ConfigError::file(cwd, error))?;
        if !cwd.is_dir() {
            return Err(ConfigError::file(cwd, "not a directory"));
        }
        if cwd.to_str().is_none() {
            return Err(ConfigError::file(cwd, NO_TEXT));
        }
        let named = lookup("AGENTX_CONFIG")
            .filter(|path| !path.is_empty())
            .map(|path| cwd.join(path));
        let data = lookup("AGENTX_DATA")
            .filter(|path| !path.is_empty())
            .map(|path| cwd.join(path));
        let strategy = etcetera::choose_base_strategy();
        let (user_file_named, user_file) = match (named, &strategy) {
            (Some(path), _) => (true, path),
            (None, Ok(places)) => (false, places.config_dir().join("agentx").join(FILE_NAME)),
            (None, Err(_)) => return Err(ConfigError::NoHome),
        };
        let data_dir = match (data, &strategy) {
            (Some(path), _) => path,
            (None, Ok(places)) => places.data_dir().join("agentx"),
            (None, Err(_)) => return Err(ConfigError::NoHome),
        };
        let workspace_root = root_of(&cwd).to_owned();
        let workspace_file = workspace_root.join(WORKSPACE_FOLDER).join(FILE_NAME);
        Ok(Self {
            cwd,
            user_file,
            user_file_named,
            workspace_root,
            workspace_file,
            data_dir,
        })
    }

    /// Resolves a path as a person wrote it: `~/` is the home directory, a relative path starts at `base`.
    pub(crate) fn resolve(base: &Path, written: &str) -> PathBuf {
        match (written.strip_prefix("~/"), etcetera::home_dir()) {
            (Some(rest), Ok(home)) => home.join(rest),
            _ => base.join(written),
        }
    }
}

/// The project that a directory is part of: the nearest one upwards with `.agentx` or `.git`, otherwise
/// itself.
pub(crate) fn root_of(cwd: &Path) -> &Path {
    cwd.ancestors().find(|dir| is_project(dir)).unwrap_or(cwd)
}

/// Returns whether a project begins at this directory: it has an `.agentx` or a `.git`.
pub(crate) fn is_project(dir: &Path) -> bool {
    dir.join(WORKSPACE_FOLDER).exists() || dir.join(".git").exists()
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    /// Rules, sessions and keys of `k\xff` would be those of `k\xfe`.
    #[test]
    fn a_folder_whose_path_is_no_text_is_refused() {
        let home = tempfile::tempdir().expect("a folder");
        let odd = home.path().join(std::ffi::OsStr::from_bytes(b"k\xff"));
        std::fs::create_dir(&odd).expect("it is made");
        let refused = ConfigPaths::find(&odd, &|_| None).expect_err("it is refused");
        assert!(refused.to_string().contains("not UTF-8"), "{refused}");
    }
}
