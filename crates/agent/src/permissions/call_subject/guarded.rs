//! The guarded files that a call names (secrets and the program's own, [`crate::files::closed_files`]), and
//! the rules that open them.

use agentx_types::{Rule, since};

use super::CallSubject;
use crate::commands::command_analysis::read_within;
use crate::files::closed_files::{self, Guarded};
use crate::files::special_files::special_reason;
use crate::files::system_folders::destroyed_folder;

impl CallSubject<'_> {
    /// The first of the program's own files that it names.
    fn own_file(&self) -> Option<&str> {
        self.guarded_as(Guarded::Own)
    }

    /// The reason why nothing allows the call: it opens a file of the program, or it would remove the system
    /// or a home.
    pub(crate) fn never_allowed(&self) -> Option<String> {
        if let Some(path) = self.own_file() {
            let what = "it belongs to AgentX itself (sessions, keys, settings), which no tool opens";
            return Some(format!("{path}: {what}"));
        }
        let counts = self.version >= since::SYSTEM_IS_NEVER_REMOVED && self.runs_commands();
        let folder = counts
            .then(|| destroyed_folder(self.reading(), self.workspace, self.homes()))
            .flatten()?;
        Some(format!(
            "it would remove or change all of {folder}, which no agent does; a person who wants that runs the \
             command (in the chat with `!` before it)"
        ))
    }

    /// The first file that may hold secrets that it names, or folder that has guarded files in it and that a
    /// command acts on as a whole.
    pub(crate) fn secret(&self) -> Option<&str> {
        self.guarded_as(Guarded::Secret).or_else(|| self.folder_around())
    }

    /// The first folder with guarded files in it that a command acts on as a whole.
    pub(super) fn folder_around(&self) -> Option<&str> {
        self.guarded_as(Guarded::Around)
    }

    /// The first folder with the program's own files in it that a command acts on as a whole.
    pub(crate) fn folder_around_own(&self) -> Option<String> {
        closed_files::first_around_own(self.guard?, &self.reading().folders_taken, self.workspace)
    }

    /// The reason why no judge may allow a command line, because of the files that it names or may open.
    pub(crate) fn special_files(&self) -> Option<String> {
        let counts = self.version >= since::JUDGES_SEE_FILES_OF_LINES && self.runs_commands();
        counts
            .then(|| special_reason(self.reading(), self.workspace, self.version))
            .flatten()
    }

    /// The file that it names, if it is guarded for this reason.
    fn guarded_as(&self, wanted: Guarded) -> Option<&str> {
        let (why, path) = self.guarded.as_ref()?;
        (*why == wanted).then_some(path)
    }

    /// Returns whether a rule that allows may open the files that the call names: only a rule that names
    /// secrets opens them. Rules about command lines are compared with each command.
    pub(super) fn may_open(&self, rule: &Rule) -> bool {
        let (Some(guard), Some(_)) = (self.guard, self.secret()) else {
            return true;
        };
        let by_path = |pattern: &str| closed_files::names_secret(guard, pattern, self.base(rule));
        match (&rule.path, &rule.argument) {
            (Some(pattern), _) => by_path(pattern),
            (None, Some(pattern)) => self.runs_commands() || self.is_whole(pattern),
            (None, None) => false,
        }
    }

    /// Returns whether this part of a command line names no secret, or the pattern names one too.
    pub(super) fn may_open_in(&self, pattern: &str, command: &str) -> bool {
        let (Some(guard), Some(_)) = (self.guard, self.secret()) else {
            return true;
        };
        let reading = read_within(self.reading(), command, self.version);
        let paths = reading.paths.iter().map(String::as_str);
        let named = closed_files::first_guarded(guard, paths, &reading.globs, self.workspace, self.version);
        // The command that opens the names and the one that finds them do not show it alone.
        let found = &self.reading().folders_found;
        let around = |folders: &[String]| closed_files::first_around(guard, folders, self.workspace);
        around(&reading.folders_taken).is_none()
            && around(found).is_none()
            && (named.is_none() || closed_files::line_names_secret(guard, pattern, self.workspace))
    }
}
