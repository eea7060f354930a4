//! Mistakes in a configuration: the position, the problem, and the nearest valid word.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::origin::{SettingOrigin, SourceLocation};

/// A mistake in a setting, with its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigMistake {
    /// The position: a place in a file, an environment variable or a flag.
    pub at: MistakeLocation,
    /// The key that it concerns, dotted; empty if it concerns the whole file.
    pub key: String,
    /// The problem, in words; never contains a secret.
    pub what: String,
    /// The nearest right key or value.
    pub nearest: Option<String>,
}

impl ConfigMistake {
    /// A mistake in a file as a whole.
    pub(crate) fn of_file(path: &Path, what: String) -> Self {
        let place = SourceLocation {
            file: path.into(),
            line: 1,
            column: 1,
        };
        Self {
            at: MistakeLocation::File(place),
            key: String::new(),
            what,
            nearest: None,
        }
    }
}

/// The position of a mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MistakeLocation {
    /// In a file.
    File(SourceLocation),
    /// In an environment variable.
    Env(String),
    /// In a flag.
    Flag(String),
}

impl fmt::Display for MistakeLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(place) => write!(f, "{}:{}:{}", place.file.display(), place.line, place.column),
            Self::Env(name) => f.write_str(name),
            Self::Flag(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for ConfigMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.at)?;
        if !self.key.is_empty() && !self.what.contains(&format!("`{}`", self.key)) {
            write!(f, "`{}`: ", self.key)?;
        }
        f.write_str(&self.what)?;
        match &self.nearest {
            Some(nearest) => write!(f, "; did you mean `{nearest}`?"),
            None => Ok(()),
        }
    }
}

impl ConfigMistake {
    /// A mistake in a value that comes from there.
    pub fn about(origin: &SettingOrigin, key: &str, what: String, nearest: Option<String>) -> Self {
        let at = match origin {
            SettingOrigin::User(place) | SettingOrigin::Workspace(place) => {
                MistakeLocation::File(place.clone())
            }
            SettingOrigin::Env(name) => MistakeLocation::Env(name.clone()),
            SettingOrigin::Flag(name) => MistakeLocation::Flag(name.clone()),
            SettingOrigin::Default => MistakeLocation::Env("default".into()),
        };
        Self {
            at,
            key: key.to_owned(),
            what,
            nearest,
        }
    }
}

/// The error of loading or changing a configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// All that is wrong in the layers that were read.
    #[error("{}", lines(.0))]
    Mistakes(Vec<ConfigMistake>),
    /// A file that could not be read or written.
    #[error("{path}: {what}", path = .path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The system's error message.
        what: String,
    },
    /// Neither a home directory nor a variable in its place.
    #[error("no home directory: neither HOME nor AGENTX_CONFIG and AGENTX_DATA are set")]
    NoHome,
    /// A change that would alter other text of the person.
    #[error("{path}: {what}", path = .path.display())]
    Edit {
        /// The path of the file.
        path: PathBuf,
        /// The cause, in words.
        what: String,
        /// The edit that a person can make by hand, for example "set `log` to info".
        text: String,
    },
}

impl ConfigError {
    pub(crate) fn file(path: impl Into<PathBuf>, error: impl fmt::Display) -> Self {
        Self::File {
            path: path.into(),
            what: error.to_string(),
        }
    }

    /// The error of writing a file. A full disk is a separate case, because it says nothing about the
    /// configuration.
    pub(crate) fn writing(path: impl Into<PathBuf>, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::file(path, format!("{NO_SPACE}; nothing was saved"))
            }
            _ => Self::file(path, error),
        }
    }

    /// Returns whether a file could not be written because the disk is full.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Self::File { what, .. } if what.starts_with(NO_SPACE))
    }

    /// The content of a file that AgentX keeps for itself makes no sense.
    pub(crate) fn damaged(path: impl Into<PathBuf>, error: impl fmt::Display) -> Self {
        Self::file(path, format!("{DAMAGED}: {error}"))
    }

    /// Returns whether a file that AgentX keeps for itself can be read, but its content makes no sense.
    pub fn is_damaged(&self) -> bool {
        matches!(self, Self::File { what, .. } if what.starts_with(DAMAGED))
    }
}

/// The first words about a file whose content makes no sense.
const DAMAGED: &str = "it is damaged";
/// The first words about a file for which the disk has no room.
const NO_SPACE: &str = "no space left";

fn lines(mistakes: &[ConfigMistake]) -> String {
    mistakes
        .iter()
        .map(ConfigMistake::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_apart() {
        let full = ConfigError::writing("config.yaml", &io::ErrorKind::StorageFull.into());
        assert!(full.is_disk_full(), "{full}");
        assert_eq!(full.to_string(), "config.yaml: no space left; nothing was saved");
        let refused = ConfigError::writing("config.yaml", &io::ErrorKind::PermissionDenied.into());
        assert!(!refused.is_disk_full(), "{refused}");
    }
}
