//! A parsed file: its text, its tree, and positions inside of its texts (a filter or a script within YAML).

use std::path::{Path, PathBuf};

use agentx_config::yaml::{self, TextPosition, YamlError, YamlNode};

use crate::json;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileFormat {
    Yaml,
    Json,
    /// A script whose first comment may be YAML.
    Luau,
    /// An agent of Claude Code: Markdown with front matter.
    ClaudeCode,
    /// An agent of opencode: Markdown with front matter.
    OpenCode,
}

impl FileFormat {
    /// By the ending of the name.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "yaml" | "yml" => Some(Self::Yaml),
            "json" => Some(Self::Json),
            "luau" => Some(Self::Luau),
            _ => None,
        }
    }
}

/// A file.
#[derive(Clone, Debug)]
pub(crate) struct FileSource {
    /// The path as it is shown.
    pub(crate) file: PathBuf,
    pub(crate) form: FileFormat,
    pub(crate) text: String,
}

impl FileSource {
    /// Returns the tree of YAML or JSON.
    pub(crate) fn tree(&self) -> Result<YamlNode, YamlError> {
        match self.form {
            FileFormat::Json => json::parse(&self.text),
            FileFormat::Yaml | FileFormat::Luau | FileFormat::ClaudeCode | FileFormat::OpenCode => {
                yaml::parse(&self.text)
            }
        }
    }

    fn line(&self, line: u64) -> &str {
        let index = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
        self.text.lines().nth(index).unwrap_or_default()
    }

    /// Returns the position in the file of byte `offset` of the text `inner`, which is the value at `at`. It
    /// is exact in blocks (`|`) and in values on one line without escapes; else it is the start of the value.
    pub(crate) fn position_in(&self, at: TextPosition, inner: &str, offset: usize) -> TextPosition {
        let before = inner.get(..offset).unwrap_or(inner);
        let lines_before = before.matches('\n').count() as u64;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() as u64;
        match self.block_indent(at) {
            Some((first, indent)) => TextPosition {
                line: first + lines_before,
                column: indent + column + 1,
            },
            None if lines_before == 0 && !inner.contains('\n') => TextPosition {
                line: at.line,
                column: at.column + column + u64::from(self.is_quoted(at)),
            },
            None => at,
        }
    }

    /// Returns the first line of the text `inner`, which is the value at `at`, if each of its lines is a line
    /// of the file.
    pub(crate) fn first_line(&self, at: TextPosition, inner: &str) -> Option<u64> {
        match self.block_indent(at) {
            Some((first, _)) => Some(first),
            None => (!inner.contains('\n')).then_some(at.line),
        }
    }

    /// Returns the line on which the text of a block (`|`) begins, and its indentation. The YAML reader gives
    /// the position of the first letter; the sign of the block is on an earlier line, with only empty lines
    /// between.
    fn block_indent(&self, at: TextPosition) -> Option<(u64, u64)> {
        if self.form == FileFormat::Luau {
            return Some((1, 0));
        }
        let indent = at.column.saturating_sub(1);
        let own = usize::try_from(at.line.saturating_sub(1)).ok()?;
        let begins = self
            .line(at.line)
            .chars()
            .take(usize::try_from(indent).ok()?)
            .all(|c| c == ' ');
        if self.form == FileFormat::Json || !begins {
            return None;
        }
        let before: Vec<&str> = self.text.lines().take(own).collect();
        let sign = before.iter().rposition(|line| !line.trim().is_empty())?;
        let words = before.get(sign)?.split(" #").next()?.trim_end();
        let bare = words.trim_end_matches(['-', '+', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
        bare.ends_with('|').then_some((sign as u64 + 2, indent))
    }

    fn char_at(&self, at: TextPosition) -> Option<char> {
        let column = usize::try_from(at.column.saturating_sub(1)).ok()?;
        self.line(at.line).chars().nth(column)
    }

    fn is_quoted(&self, at: TextPosition) -> bool {
        matches!(self.char_at(at), Some('"' | '\''))
    }
}
