//! The files below a root: those of AgentX in their folders, or the agents of another program.

use std::path::Path;

use crate::keys::file_kind::{FileKind, PLACES};
use crate::source::FileFormat;

/// The program whose files are below a root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RootLayout {
    /// AgentX: `agents/`, `tools/`, `rules/`, `generators/`, `context/` and `libs/`.
    #[default]
    AgentX,
    /// Claude Code: the root is a folder of agents, `NAME.md`
    /// (<https://code.claude.com/docs/en/sub-agents>).
    ClaudeCode,
    /// opencode: the root is a folder of agents, `NAME.md` (<https://opencode.ai/docs/agents>).
    OpenCode,
}

impl RootLayout {
    /// The folders below the root, and what they hold.
    pub(crate) fn places(self) -> &'static [(&'static str, FileKind)] {
        match self {
            Self::AgentX => PLACES,
            Self::ClaudeCode | Self::OpenCode => &[("", FileKind::Agent)],
        }
    }

    /// Returns the format of a file.
    pub(crate) fn format(self, path: &Path) -> Option<FileFormat> {
        match self {
            Self::AgentX => FileFormat::of(path),
            Self::ClaudeCode => is_markdown(path).then_some(FileFormat::ClaudeCode),
            Self::OpenCode => is_markdown(path).then_some(FileFormat::OpenCode),
        }
    }

    /// Returns whether a file of this name is a definition of this kind.
    pub(crate) fn is_definition(self, kind: FileKind, name: &str) -> bool {
        match self {
            Self::AgentX => kind.is_definition(name),
            Self::ClaudeCode | Self::OpenCode => is_markdown(Path::new(name)) && !name.starts_with('.'),
        }
    }
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "md")
}
