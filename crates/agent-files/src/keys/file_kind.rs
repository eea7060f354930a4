//! The kinds of files: the folder, the names and the shape of each, and the references that lead to it.

use std::path::Path;

use crate::keys::key_tables::{RefKind, Shape};
use crate::keys::tables::{GENERATOR, RULE};
use crate::source::FileFormat;

/// The folders and what they hold.
pub(crate) const PLACES: &[(&str, FileKind)] = &[
    ("agents", FileKind::Agent),
    ("tools", FileKind::Tool),
    ("rules", FileKind::Rule),
    ("generators", FileKind::Generator),
];

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Agent,
    Tool,
    Rule,
    Generator,
}

impl FileKind {
    pub(crate) fn of(kind: RefKind) -> Option<Self> {
        match kind {
            RefKind::Agent => Some(Self::Agent),
            RefKind::Tool => Some(Self::Tool),
            RefKind::Rule => Some(Self::Rule),
            RefKind::Generator => Some(Self::Generator),
            RefKind::Context => None,
        }
    }

    pub(crate) fn reference(self) -> RefKind {
        match self {
            Self::Agent => RefKind::Agent,
            Self::Tool => RefKind::Tool,
            Self::Rule => RefKind::Rule,
            Self::Generator => RefKind::Generator,
        }
    }

    pub(crate) fn shape(self) -> Shape {
        match self {
            Self::Agent => Shape::Agent,
            Self::Tool => Shape::Tool,
            Self::Rule => Shape::Map(&RULE),
            Self::Generator => Shape::Map(&GENERATOR),
        }
    }

    /// Returns whether a file of this name is a definition of this kind.
    pub(crate) fn is_definition(self, name: &str) -> bool {
        let form = FileFormat::of(Path::new(name));
        let fits = form.is_some_and(|form| form != FileFormat::Luau || self == Self::Tool);
        fits && !name.starts_with('.') && !name.ends_with(".d.luau")
    }
}
