//! Calls that need neither a rule nor a question: they touch nothing, read inside the workspace with a tool
//! for files or with a command line that certainly does no more, or change a file while the person accepts
//! edits. Rules that deny or ask are asked first.

use agentx_types::{Access, ApprovalMode};

use super::CallSubject;
use crate::commands::reading_commands::{ReadingLine, reading_line};
use crate::commands::severity::runs_git;
use crate::tools::described_tools;

/// The tool that runs command lines as they are written.
const BASH: &str = "bash";

/// The tools whose changes of files `accept-edits` allows. A tool that somebody else describes may be named
/// like one of them, so it must not have a description from elsewhere.
const EDITING: &[&str] = &["edit", "write"];

impl CallSubject<'_> {
    /// The reason why the call is allowed in this mode without a rule, and never because of a file that may
    /// hold secrets.
    pub(crate) fn allowed_by_default(&self, mode: ApprovalMode) -> Option<&'static str> {
        match self.tool.access {
            _ if self.secret().is_some() || described_tools::has_changed(self.tool) => None,
            Access::Internal => Some("it touches nothing"),
            Access::Read if !self.is_outside() && !self.is_elsewhere() => {
                Some("reading inside the workspace is allowed")
            }
            Access::Run if self.reads_workspace().is_some() => {
                Some("it only reads the workspace, which `tools.reading_commands` allows")
            }
            Access::Change if mode == ApprovalMode::AcceptEdits && self.edits_workspace() => {
                Some("the approval mode `accept-edits` allows changes of files in the workspace")
            }
            Access::Read | Access::Change | Access::Run | Access::Network => None,
        }
    }

    /// The effects of a command line that certainly only reads the workspace, in a folder that the person
    /// trusts; `None` for any other call. Programs that Git runs have to be accepted before.
    pub(crate) fn reads_workspace(&self) -> Option<ReadingLine> {
        self.may_read_unasked()
            .then(|| reading_line(&self.argument, self.workspace, self.version))
            .flatten()
    }

    /// Returns whether command lines of this call may run without a question if they only read.
    pub(super) fn may_read_unasked(&self) -> bool {
        let Some(guard) = self.guard.filter(|guard| guard.reading_commands) else {
            return false;
        };
        let is_bash = self.tool.name == BASH && self.tool.reach.is_none() && self.runs_commands();
        is_bash
            && self.member_directory.is_none()
            && self.guarded.is_none()
            && !self.reading().hides
            && !self.reading().beyond_stars
            && (guard.git.is_empty() || !runs_git(&self.argument, self.version))
    }

    /// Returns whether it changes an ordinary file of the workspace, with a tool of the program itself.
    fn edits_workspace(&self) -> bool {
        EDITING.contains(&self.tool.name.as_str())
            && self.tool.reach.is_none()
            && self.path.is_some()
            && !self.is_outside()
            && !self.is_elsewhere()
            && !self.changes_what_runs()
    }
}
