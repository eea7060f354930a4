//! What a file holds besides its definition: what is wrong with it, and what must be looked up elsewhere.

use agentx_config::yaml::Position;

use crate::mistake::Mistake;
use crate::shape::RefKind;

/// A reference and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) at: Position,
    pub(crate) kind: RefKind,
    pub(crate) name: String,
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
    /// Inline tools of the kind `built-in`: the host must have them.
    pub(crate) built_in: Vec<Placed>,
}
