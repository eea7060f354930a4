//! The settings of the service of context.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// The settings of the service.
#[derive(Clone, Debug, Default)]
pub struct ContextOptions {
    /// The program and its version.
    pub program: String,
    /// The sandbox of commands, in words.
    pub sandbox: String,
    /// Files in place of the built-in texts, by the names of their modules. They are read for each run.
    pub files: BTreeMap<String, PathBuf>,
    /// The time zone of persons who chose none; `None` for that of the machine.
    pub time_zone: Option<String>,
}
