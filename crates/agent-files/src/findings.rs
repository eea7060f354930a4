//! What a file holds besides its definition: what is wrong with it, and what must be looked up elsewhere.

use agentx_config::yaml::Position;
use serde_json::Value;

use crate::mistake::Mistake;
use crate::shape::RefKind;

/// A reference and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) at: Position,
    pub(crate) kind: RefKind,
    pub(crate) name: String,
    /// How many agents that are written inside of each other stand around it.
    pub(crate) depth: u32,
}

/// A text and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) at: Position,
    pub(crate) text: String,
    /// The name of the definition that it belongs to.
    pub(crate) owner: String,
}

/// What a file holds besides its definition.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    pub(crate) mistakes: Vec<Mistake>,
    pub(crate) links: Vec<Link>,
    pub(crate) scripts: Vec<Placed>,
    pub(crate) script_files: Vec<Placed>,
    /// How deep agents stand inside of each other in this file.
    pub(crate) agents: u32,
    /// JSON Schemas, whole.
    pub(crate) schemas: Vec<(Position, String, Value)>,
    /// The names of the tools that are written in it.
    pub(crate) tools: Vec<String>,
    /// Tools that a script may call.
    pub(crate) granted: Vec<Placed>,
    /// Inline tools of the kind `built-in`: the host must have them.
    pub(crate) built_in: Vec<Placed>,
}
