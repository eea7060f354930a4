//! The findings in a file in addition to its definition: its errors, and the references to resolve.

use agentx_config::yaml::TextPosition;
use serde_json::Value;

use crate::keys::key_tables::RefKind;
use crate::mistake::DefinitionMistake;

/// The key of the placeholder object for a JSON Schema until its file is read.
pub(crate) const SCHEMA_FILE: &str = "$schema_file";

/// A reference and its position.
#[derive(Clone, Debug)]
pub(crate) struct ReferenceSite {
    pub(crate) at: TextPosition,
    pub(crate) kind: RefKind,
    pub(crate) name: String,
    /// The number of enclosing agents.
    pub(crate) depth: u32,
}

/// A text and its position.
#[derive(Clone, Debug)]
pub(crate) struct LocatedText {
    pub(crate) at: TextPosition,
    pub(crate) text: String,
    /// The name of the definition that it belongs to.
    pub(crate) owner: String,
}

/// The findings in a file in addition to its definition.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileFindings {
    pub(crate) mistakes: Vec<DefinitionMistake>,
    /// Parts of a file of another program that are left out.
    pub(crate) remarks: Vec<DefinitionMistake>,
    /// Tools of another program's agent by the names that they have here.
    pub(crate) foreign_tools: Vec<LocatedText>,
    pub(crate) links: Vec<ReferenceSite>,
    pub(crate) scripts: Vec<LocatedText>,
    pub(crate) script_files: Vec<LocatedText>,
    /// The paths of files with JSON Schemas.
    pub(crate) schema_files: Vec<LocatedText>,
    /// The nesting depth of agents in this file.
    pub(crate) agents: u32,
    /// JSON Schemas, whole.
    pub(crate) schemas: Vec<(TextPosition, String, Value)>,
    /// The names of the tools that are written in it.
    pub(crate) tools: Vec<String>,
    /// Tools that a script may call.
    pub(crate) granted: Vec<LocatedText>,
    /// Inline tools of the kind `built-in`: the host must have them.
    pub(crate) built_in: Vec<LocatedText>,
}
