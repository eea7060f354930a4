//! Secrets in files beside the sessions: a person typed a value before AgentX knew that it is secret. The
//! lines that chats recall, drafts and memories get the replacement. A schedule needs its prompt, and the
//! values that tools of files keep belong to these tools, so secrets in them are reported and stay.
//!
//! Used by `agentx secrets add`, `/secret`, `agentx sessions redact` and `agentx sessions scan`.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use agentx::config::Settings;
use agentx::memory::{MEMORY_DATABASE, MemoryEdit, MemoryError, MemoryFilter};
use agentx::node::open_memories;
use agentx::runtime::Redactor;
use agentx_files::{FileLock, ReplaceOptions, remove_leftovers, replace_locked};
use agentx_schedule::ScheduleStore;
use agentx_terminal::{HistoryFile, LineFilter};
use serde::Serialize;

use crate::render::clean::visible;
use crate::render::units::{counted, now};
use crate::terminal::{draft, unfinished_drafts};

/// The file of typed lines.
const HISTORY: &str = "history";
/// The file of schedules.
const SCHEDULES: &str = "schedules.json";
/// The database of memories, and what is not yet in it.
const MEMORY_FILES: [&str; 2] = [MEMORY_DATABASE, "memory.db-wal"];
/// The files with the values that tools of files keep.
const TOOL_VALUES: [&str; 2] = ["flows.db", "flows.db-wal"];
/// Maximum number of bytes of such a file that are searched: 64 MiB.
const MOST_BYTES: u64 = 64 << 20;

/// A secret in a file beside the sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FoundInFile {
    /// The file, below the data directory.
    pub file: String,
    /// The place in the file, in words.
    pub place: String,
    /// The name of the secret, or of the published form that it has.
    pub name: String,
}

impl fmt::Display for FoundInFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, place, name } = self;
        write!(f, "{} · {} · {name}", visible(file), visible(place))
    }
}

/// A file beside the sessions that could not be searched, so it may have a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnreadFile {
    /// The file, below the data directory.
    pub file: String,
    /// The reason.
    pub error: String,
}

impl fmt::Display for UnreadFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, error } = self;
        write!(f, "{} could not be read: {}", visible(file), visible(error))
    }
}

/// The result of a search of the files beside the sessions.
#[derive(Debug, Default)]
pub(crate) struct SearchedFiles {
    pub(crate) found: Vec<FoundInFile>,
    pub(crate) unread: Vec<UnreadFile>,
}

/// Searches the files for what this redactor knows. Waits five seconds at most for another process that has
/// locked the memories.
pub(crate) fn find(settings: &Settings, redactor: &Redactor) -> SearchedFiles {
    let data_dir = &settings.data_dir;
    let mut search = SecretSearch {
        redactor,
        searched: SearchedFiles::default(),
    };
    let lines = search.read(HISTORY, HistoryFile::of(data_dir).read());
    for (number, line) in (1..).zip(lines) {
        search.look(HISTORY, &format!("line {number}"), &line);
    }
    for path in draft::files(data_dir) {
        search.look_into(data_dir, &path, "unsent text");
    }
    for schedule in search.read(SCHEDULES, ScheduleStore::at(data_dir).list()) {
        let place = format!("schedule {}", schedule.name);
        search.look(SCHEDULES, &place, &schedule.prompt);
    }
    for (id, text) in search.read(MEMORY_DATABASE, memories(settings)) {
        search.look(MEMORY_DATABASE, &format!("memory {id}"), &text);
    }
    let schedules = ScheduleStore::at(data_dir).unfinished();
    let unfinished = [
        HistoryFile::of(data_dir).unfinished(),
        unfinished_drafts::list(data_dir),
        schedules,
    ];
    for path in unfinished.concat() {
        search.look_into(data_dir, &path, "unfinished file");
    }
    for file in TOOL_VALUES {
        search.look_into(data_dir, &data_dir.join(file), "values that tools keep");
    }
    search.searched
}

/// A search, with what it found so far.
struct SecretSearch<'a> {
    redactor: &'a Redactor,
    searched: SearchedFiles,
}

impl SecretSearch<'_> {
    /// Returns the entries of a file, or none if it could not be read, which is noted.
    fn read<T, E: fmt::Display>(&mut self, file: &str, read: Result<Vec<T>, E>) -> Vec<T> {
        read.unwrap_or_else(|error| {
            self.searched.unread.push(UnreadFile {
                file: file.to_owned(),
                error: error.to_string(),
            });
            Vec::new()
        })
    }

    /// Searches the bytes of a file, which need not exist.
    fn look_into(&mut self, data_dir: &Path, path: &Path, place: &str) {
        let file = relative_path(data_dir, path);
        let bytes = self.read(&file, first_bytes(path));
        self.look(&file, place, &String::from_utf8_lossy(&bytes));
    }

    fn look(&mut self, file: &str, place: &str, text: &str) {
        let places = self.redactor.find(text).into_iter();
        let names: BTreeSet<String> = places.map(|place| place.name).collect();
        self.searched
            .found
            .extend(names.into_iter().map(|name| FoundInFile {
                file: file.to_owned(),
                place: place.to_owned(),
                name,
            }));
    }
}

/// The secrets that were taken out of files beside the sessions.
#[derive(Debug, Default, Serialize)]
pub(crate) struct TakenOut {
    /// The number of typed lines that changed.
    lines: usize,
    /// The number of drafts that changed.
    drafts: usize,
    /// The number of memories that changed.
    memories: usize,
    /// The files that still have a value.
    left: Vec<FoundInFile>,
    /// Files that could not be read or changed, with the reasons: they may still have a value.
    failed: Vec<String>,
}

/// Replaces what this redactor knows in the typed lines, in drafts that no chat has open, and in memories.
/// Removes the new versions of files that killed processes left. Waits a second at most for another process
/// that writes the typed lines, and five, each time that they are read or changed, for one that has locked
/// the memories.
pub(crate) fn take_out(settings: &Settings, redactor: &Redactor) -> TakenOut {
    let data_dir = &settings.data_dir;
    let mut taken = TakenOut::default();
    let lines = HistoryFile::of(data_dir);
    let line_redactor = redactor.clone();
    let filter = LineFilter::new(move |line| line_redactor.redact(line).into_owned());
    match lines.filter(&filter) {
        Ok(count) => taken.lines = count,
        Err(error) => taken.fail(lines.path(), &error),
    }
    for path in draft::files(data_dir) {
        match take_out_of_draft(&path, redactor) {
            Ok(is_changed) => taken.drafts += usize::from(is_changed),
            Err(error) => taken.fail(&path, &error),
        }
    }
    unfinished_drafts::remove(data_dir);
    if let Err(error) = ScheduleStore::at(data_dir).remove_unfinished() {
        taken.fail(&data_dir.join(SCHEDULES), &error);
    }
    match take_out_of_memories(settings, redactor) {
        Ok(count) => taken.memories = count,
        Err(error) => taken.fail(&data_dir.join(MEMORY_DATABASE), &error),
    }
    let SearchedFiles { found, unread } = find(settings, redactor);
    taken.left = found;
    for UnreadFile { file, error } in unread {
        taken.fail_to_read(&data_dir.join(file), &error);
    }
    taken
}

impl TakenOut {
    fn fail(&mut self, path: &Path, error: &dyn fmt::Display) {
        self.failed
            .push(format!("{} cannot be changed: {error}", path.display()));
    }

    /// Notes a file that could not be searched, unless it could not be changed either.
    fn fail_to_read(&mut self, path: &Path, error: &str) {
        let begin = format!("{} ", path.display());
        if !self.failed.iter().any(|failed| failed.starts_with(&begin)) {
            self.failed.push(format!("{begin}could not be read: {error}"));
        }
    }

    /// Returns the notes for a person, one per line, each with its line end.
    pub(crate) fn notes(&self) -> String {
        let counts = [
            (self.lines, "typed line"),
            (self.drafts, "draft"),
            (self.memories, "memory"),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(count, what)| named(count, what)).collect();
        let mut notes = String::new();
        if !counts.is_empty() {
            notes.push_str(&format!("note: also taken out of {}\n", counts.join(", ")));
        }
        for failed in &self.failed {
            notes.push_str(&format!("warning: {}\n", visible(failed)));
        }
        for found in &self.left {
            notes.push_str(&format!("warning: still there: {found}\n"));
        }
        if self.left.iter().any(|found| found.file.starts_with("drafts/")) {
            notes.push_str(
                "hint: a chat that is open keeps its unsent text: send it or clear the line there\n",
            );
        }
        notes.push_str(&advice(&self.left));
        notes
    }
}

/// A number of things in words.
fn named(count: usize, what: &str) -> String {
    match (count, what) {
        (2.., "memory") => format!("{count} memories"),
        (count, what) => counted(count, what),
    }
}

/// Returns advice about secrets that stay in files, one per line, each with its line end.
pub(crate) fn advice(left: &[FoundInFile]) -> String {
    let has = |file: &str| left.iter().any(|found| found.file.starts_with(file));
    let lines = [
        (
            left.iter().any(|found| found.file == SCHEDULES),
            "hint: a schedule needs its prompt; `agentx schedule remove NAME` removes it\n",
        ),
        (
            has("flows.db"),
            "hint: a tool of files keeps the value, or its database has a part of an earlier one\n",
        ),
    ];
    lines
        .into_iter()
        .filter_map(|(is_needed, line)| is_needed.then_some(line))
        .collect()
}

/// Replaces the secrets in a draft, unless a chat has it open. Returns whether there was one.
fn take_out_of_draft(path: &Path, redactor: &Redactor) -> io::Result<bool> {
    let Some(lock) = FileLock::take(&FileLock::path_for(path))? else {
        return Ok(false);
    };
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        // It was sent meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let text = String::from_utf8_lossy(&bytes);
    // The replacement needs no escape in JSON.
    let Cow::Owned(without) = redactor.redact(&text) else {
        remove_leftovers(path, &lock);
        return Ok(false);
    };
    replace_locked(path, without.as_bytes(), ReplaceOptions::default(), &lock)?;
    Ok(true)
}

/// Replaces the secrets in the memories. Returns the number of memories that changed.
fn take_out_of_memories(settings: &Settings, redactor: &Redactor) -> Result<usize, MemoryError> {
    let with_secret: Vec<(i64, String)> = memories(settings)?
        .into_iter()
        .filter(|(_, text)| !redactor.find(text).is_empty())
        .collect();
    if with_secret.is_empty() && !has_remains(settings, redactor) {
        return Ok(0);
    }
    let store = open_memories(settings)?;
    let mut failed = None;
    for (id, text) in &with_secret {
        let edit = MemoryEdit {
            text: Some(redactor.redact(text).into_owned()),
            ..MemoryEdit::default()
        };
        // The others are changed all the same.
        failed = store.edit(*id, &edit, now()).err().or(failed);
    }
    store.overwrite_remains()?;
    failed.map_or(Ok(with_secret.len()), Err)
}

/// Returns whether the database has a secret in earlier texts: a command was killed before it overwrote them.
fn has_remains(settings: &Settings, redactor: &Redactor) -> bool {
    MEMORY_FILES.iter().any(|file| {
        let bytes = first_bytes(&settings.data_dir.join(file)).unwrap_or_default();
        !redactor.find(&String::from_utf8_lossy(&bytes)).is_empty()
    })
}

/// All memories with their numbers; none if there is no store.
fn memories(settings: &Settings) -> Result<Vec<(i64, String)>, MemoryError> {
    if !settings.data_dir.join(MEMORY_DATABASE).exists() {
        return Ok(Vec::new());
    }
    let listed = open_memories(settings)?.list(&MemoryFilter::default(), usize::MAX)?;
    Ok(listed
        .into_iter()
        .map(|memory| (memory.id, memory.text))
        .collect())
}

/// The first bytes of a file, [`MOST_BYTES`] at most; none if there is no file.
fn first_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match File::open(path) {
        Ok(file) => file.take(MOST_BYTES).read_to_end(&mut bytes).map(|_| bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(bytes),
        Err(error) => Err(error),
    }
}

/// The path of a file below the data directory.
fn relative_path(data_dir: &Path, path: &Path) -> String {
    let inner = path.strip_prefix(data_dir).unwrap_or(path);
    inner.display().to_string()
}

#[cfg(test)]
mod tests {
    use agentx::secrets::{Origin, SecretSet};

    use super::*;

    #[test]
    fn a_draft_that_a_chat_has_open_stays_and_is_a_draft_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1");
        fs::write(
            &path,
            "{\"at\":\"ses_1\"}\n[\"say \\\"made-up-value\\\"\",\"made-up-value\\n\"]\n",
        )
        .unwrap();
        let mut set = SecretSet::default();
        assert!(set.add("KEY", Origin::Person, "made-up-value"));
        let redactor = Redactor::of_values(&set);
        let lock = FileLock::take(&FileLock::path_for(&path)).unwrap();
        assert!(lock.is_some() && !take_out_of_draft(&path, &redactor).unwrap());
        drop(lock);
        assert!(take_out_of_draft(&path, &redactor).unwrap());
        let text = fs::read_to_string(&path).unwrap();
        let (_, texts) = text.split_once('\n').unwrap();
        let texts: Vec<String> = serde_json::from_str(texts).unwrap();
        assert_eq!(texts, ["say \"[secret KEY]\"", "[secret KEY]\n"]);
        assert!(!take_out_of_draft(&path, &redactor).unwrap(), "nothing is left");
    }

    #[test]
    fn notes_count_what_changed_and_name_what_is_left() {
        let taken = TakenOut {
            lines: 1,
            memories: 2,
            left: vec![FoundInFile {
                file: "drafts/3".to_owned(),
                place: "unsent text".to_owned(),
                name: "KEY".to_owned(),
            }],
            ..TakenOut::default()
        };
        let notes = taken.notes();
        assert!(
            notes.contains("taken out of 1 typed line, 2 memories\n"),
            "{notes}"
        );
        assert!(notes.contains("still there: drafts/3 · unsent text · KEY\nhint: a chat that is open"));
        assert_eq!(TakenOut::default().notes(), "");
    }
}
