//! The guarded files that a call names (secrets and the program's own, [`crate::files::closed_files`]), and
//! the rules that open them.

use agentx_types::{Guard, Rule, since};
use serde_json::Value;

use super::CallSubject;
use crate::commands::command_analysis::{ANYTHING, STAR, read_within};
use crate::files::closed_files::{self, Guarded};
use crate::files::own_names;
use crate::files::prepared_guard::PreparedGuard;
use crate::files::special_files::special_reason;
use crate::files::system_folders::destroyed_folder;

/// The place of a call whose names may be any, because its line gives more values than are checked.
const ANY_FOLDER: &str = "a folder among very many that this line may name";

impl<'a> CallSubject<'a> {
    /// The first guarded file that it names, or guarded folder that it acts on as a whole, with the reason.
    pub(super) fn first_guarded(&self, guard: &'a Guard, input: &Value) -> Option<(Guarded, String)> {
        let texts = closed_files::texts_of(self.tool, input);
        let reading = self.reading();
        let sees_values = self.version >= since::UNKNOWN_BEGINNINGS;
        let (globs, paths): (Vec<String>, Vec<String>) = reading
            .joined
            .iter()
            .filter(|_| sees_values)
            .cloned()
            .partition(|name| name.contains([STAR, ANYTHING]));
        let named = self.path.iter().chain(&reading.paths).chain(&texts).chain(&paths);
        let named = named.chain(self.typed_text());
        let globs = [reading.globs.clone(), globs].concat();
        let prepared = self.prepared(guard);
        let found = closed_files::first_guarded(prepared, named.map(String::as_str), &globs, self.version);
        if matches!(found, Some((Guarded::Own, _))) {
            return found;
        }
        let own = || own_names::own_name(prepared, reading, self.version);
        let own = sees_values.then(own).flatten().map(|name| (Guarded::Own, name));
        let around = || prepared.first_around(&self.folders_taken());
        let any = || self.unchecked_place(guard).map(|place| (Guarded::Around, place));
        own.or(found).or_else(around).or_else(any)
    }

    /// The guarded files, prepared for comparison with all names of the call.
    fn prepared(&self, guard: &'a Guard) -> &PreparedGuard<'a> {
        self.prepared
            .get_or_init(|| PreparedGuard::new(guard, self.workspace))
    }

    /// The folders on which a command acts as a whole, also those that it names by values of the line.
    fn folders_taken(&self) -> Vec<String> {
        let reading = self.reading();
        let joined = reading
            .folders_joined
            .iter()
            .filter(|_| self.version >= since::UNKNOWN_BEGINNINGS);
        reading.folders_taken.iter().chain(joined).cloned().collect()
    }

    /// A name for the place of a call whose names may be any.
    fn unchecked_place(&self, guard: &Guard) -> Option<String> {
        let may = self.version >= since::UNKNOWN_BEGINNINGS
            && !guard.own.is_empty()
            && self.reading().has_too_many_values();
        may.then(|| ANY_FOLDER.to_owned())
    }

    /// The first of the program's own files that it names.
    fn own_file(&self) -> Option<&str> {
        self.guarded_as(Guarded::Own)
    }

    /// The reason why nothing allows the call: it opens a file of the program, or it would remove the system
    /// or a home.
    pub(crate) fn never_allowed(&self) -> Option<String> {
        if let Some(path) = self.own_file() {
            const WHAT: &str = "belongs to AgentX itself (sessions, keys, settings), which no tool opens";
            let is_unclear = self.version >= since::UNCLEAR_OWN_NAMES_ARE_EXPLAINED && path.contains('*');
            return Some(if is_unclear {
                format!("{path} may name a file that {WHAT}; name the files without stars and variables")
            } else {
                format!("{path}: it {WHAT}")
            });
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
        let guard = self.guard?;
        self.prepared(guard)
            .first_around_own(&self.folders_taken())
            .or_else(|| self.unchecked_place(guard))
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
        let by_path = |pattern: &str| {
            closed_files::names_prepared_secret(self.prepared(guard), pattern, self.base(rule))
        };
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
        let guard = self.prepared(guard);
        let named = closed_files::first_guarded(guard, paths, &reading.globs, self.version);
        // The command that opens the names and the one that finds them do not show it alone.
        let found = &self.reading().folders_found;
        let around = |folders: &[String]| guard.first_around(folders).is_some();
        !around(&reading.folders_taken)
            && !*self.finds_guarded.get_or_init(|| around(found))
            && (named.is_none() || closed_files::line_names_secret(guard, pattern, self.workspace))
    }
}
