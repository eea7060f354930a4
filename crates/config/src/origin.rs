//! The origins of values, so that `config show` and every error can point at the source of a setting.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A place in a file; lines and columns count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// The file.
    pub file: Arc<Path>,
    /// The line, from 1.
    pub line: u64,
    /// The column in characters, from 1.
    pub column: u64,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// The layer of a value, and the position in it. Later variants win over earlier ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingOrigin {
    /// Built in.
    Default,
    /// The user's file.
    User(SourceLocation),
    /// The workspace's file.
    Workspace(SourceLocation),
    /// An environment variable, by name.
    Env(String),
    /// A flag of the command line, as it is written.
    Flag(String),
}

impl SettingOrigin {
    /// Returns whether the value is a rule from a file of another program, such as `.claude/settings.json`,
    /// which AgentX does not change. Its own files are YAML.
    pub fn is_of_other_program(&self) -> bool {
        let ending = match self {
            Self::Workspace(place) => place.file.extension(),
            _ => None,
        };
        ending.is_some_and(|ending| ending == "json")
    }
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::User(place) | Self::Workspace(place) => write!(f, "{place}"),
            Self::Env(name) => write!(f, "env {name}"),
            Self::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// A value with its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// The place where the value was set.
    pub origin: SettingOrigin,
}

impl<T> Sourced<T> {
    /// Creates a value with its origin.
    pub fn new(value: T, origin: SettingOrigin) -> Self {
        Self { value, origin }
    }
}

/// The layer of a file.
#[derive(Clone, Debug)]
pub(crate) enum FileLayer {
    /// The user's own.
    User(PathBuf),
    /// The workspace's.
    Workspace(PathBuf),
}

impl FileLayer {
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::User(path) | Self::Workspace(path) => path,
        }
    }

    pub(crate) fn is_of_workspace(&self) -> bool {
        matches!(self, Self::Workspace(_))
    }

    pub(crate) fn origin(&self, place: SourceLocation) -> SettingOrigin {
        match self {
            Self::User(_) => SettingOrigin::User(place),
            Self::Workspace(_) => SettingOrigin::Workspace(place),
        }
    }
}
