//! Newer windows, limits and prices of models, which `agentx models refresh` stores in the data directory.
//! They override the built-in catalog, and the configuration overrides them. AgentX works without the file.

use std::path::{Path, PathBuf};

use agentx_llm::Catalog;
use agentx_llm::catalog::ModelConfig;
use jiff::Zoned;
use serde::{Deserialize, Serialize};

use crate::locked_file::LockedFile;
use crate::mistake::{ConfigError, ConfigMistake, MistakeLocation};
use crate::origin::SourceLocation;

/// The file of the data directory.
const STORE: &str = "models.json";
/// The largest file that is read, in bytes.
const MOST_BYTES: u64 = 16 << 20;

/// The models of a list, and when it was read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RefreshedModels {
    /// The file or address that was read.
    pub source: String,
    /// The day on which it was read, as `2026-11-28`.
    pub day: String,
    /// The models: windows, limits, prices and media. Nothing else in them counts.
    pub models: Vec<ModelConfig>,
}

impl RefreshedModels {
    /// Returns the models of a list that is read today, by the clock and the time zone of this machine.
    pub fn of_today(source: String, models: Vec<ModelConfig>) -> Self {
        Self {
            source,
            day: Zoned::now().strftime("%Y-%m-%d").to_string(),
            models,
        }
    }
}

/// Returns the path of the file in this data directory.
pub fn refreshed_models_file(data_dir: &Path) -> PathBuf {
    data_dir.join(STORE)
}

/// Reads the stored models; `None` if none are stored.
///
/// # Errors
/// Returns an error if the file cannot be read, is larger than 16 MiB, or is not what
/// [`write_refreshed_models`] writes.
pub fn refreshed_models(data_dir: &Path) -> Result<Option<RefreshedModels>, ConfigError> {
    let path = refreshed_models_file(data_dir);
    let failed = |error: std::io::Error| ConfigError::file(&path, error);
    let length = match std::fs::metadata(&path) {
        Ok(found) => found.len(),
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    if length > MOST_BYTES {
        return Err(failed(std::io::Error::other("it is larger than 16 MiB")));
    }
    let bytes = std::fs::read(&path).map_err(failed)?;
    let read = serde_json::from_slice(&bytes);
    read.map(Some).map_err(|error| failed(error.into()))
}

/// Returns whether the file does not exist. A data directory that is a file is reported by the code that
/// opens it.
fn is_missing(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

/// Writes the models, for all later starts.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn write_refreshed_models(data_dir: &Path, models: &RefreshedModels) -> Result<(), ConfigError> {
    let path = refreshed_models_file(data_dir);
    let failed = |error: std::io::Error| ConfigError::file(&path, error);
    let bytes = serde_json::to_vec_pretty(models).map_err(|error| failed(error.into()))?;
    LockedFile::open(&path)?.replace(&bytes)
}

/// Deletes the stored models. Returns whether there were any.
///
/// # Errors
/// Returns an error if the file cannot be removed.
pub fn forget_refreshed_models(data_dir: &Path) -> Result<bool, ConfigError> {
    let path = refreshed_models_file(data_dir);
    match std::fs::remove_file(&path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(ConfigError::file(&path, error)),
    }
}

/// Returns the catalog with the models stored in this data directory. A damaged file is reported as a
/// warning, and the built-in models are used.
pub(crate) fn catalog(builtin: Catalog, data_dir: &Path, warnings: &mut Vec<ConfigMistake>) -> Catalog {
    let read = refreshed_models(data_dir).unwrap_or_else(|error| {
        warnings.push(warning(data_dir, &error));
        None
    });
    with_models(builtin, read.as_ref())
}

/// The built-in catalog with these models.
pub fn catalog_of(read: Option<&RefreshedModels>) -> Catalog {
    with_models(Catalog::builtin(), read)
}

fn with_models(builtin: Catalog, read: Option<&RefreshedModels>) -> Catalog {
    let models = read.map(|read| read.models.as_slice()).unwrap_or_default();
    let figures: Vec<ModelConfig> = models.iter().cloned().map(figures_alone).collect();
    builtin.refreshed(&figures)
}

fn warning(data_dir: &Path, error: &ConfigError) -> ConfigMistake {
    let error = error.to_string();
    let place = format!("{}: ", refreshed_models_file(data_dir).display());
    let why = error.strip_prefix(&place).unwrap_or(&error);
    ConfigMistake {
        at: MistakeLocation::File(SourceLocation {
            file: refreshed_models_file(data_dir).into(),
            line: 1,
            column: 1,
        }),
        key: String::new(),
        what: format!("{why}; the built-in models are used (`agentx models refresh` writes the file again)"),
        nearest: None,
    }
}

/// Drops names and protocol options, which only the program and the configuration may set.
fn figures_alone(model: ModelConfig) -> ModelConfig {
    ModelConfig {
        name: None,
        aliases: None,
        snapshots: None,
        default_effort: None,
        note: None,
        checked: None,
        wire: None,
        ..model
    }
}
