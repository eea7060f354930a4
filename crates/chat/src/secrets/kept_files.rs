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
use crate::terminal::draft;

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

/// Searches the files for what this redactor knows. A file that cannot be read has no findings.
pub(crate) fn find(settings: &Settings, redactor: &Redactor) -> Vec<FoundInFile> {
    let data_dir = &settings.data_dir;
    let mut search = SecretSearch {
        redactor,
        found: Vec::new(),
    };
    for (number, line) in (1..).zip(HistoryFile::of(data_dir).lines()) {
        search.look("history", &format!("line {number}"), &line);
    }
    for path in draft::files(data_dir) {
        let bytes = fs::read(&path).unwrap_or_default();
        let file = relative_path(data_dir, &path);
        search.look(&file, "unsent text", &String::from_utf8_lossy(&bytes));
    }
    for schedule in ScheduleStore::at(data_dir).list().unwrap_or_default() {
        let place = format!("schedule {}", schedule.name);
        search.look("schedules.json", &place, &schedule.prompt);
    }
    for (id, text) in memories(settings) {
        search.look(MEMORY_DATABASE, &format!("memory {id}"), &text);
    }
    for file in TOOL_VALUES {
        let mut bytes = Vec::new();
        let opened = File::open(data_dir.join(file)).map(|file| file.take(MOST_BYTES));
        if opened.is_ok_and(|mut file| file.read_to_end(&mut bytes).is_ok()) {
            let text = String::from_utf8_lossy(&bytes);
            search.look(file, "values that tools keep", &text);
        }
    }
    search.found
}

/// The secrets that were found so far.
struct SecretSearch<'a> {
    redactor: &'a Redactor,
    found: Vec<FoundInFile>,
}

impl SecretSearch<'_> {
    fn look(&mut self, file: &str, place: &str, text: &str) {
        let places = self.redactor.find(text).into_iter();
        let names: BTreeSet<String> = places.map(|place| place.name).collect();
        self.found.extend(names.into_iter().map(|name| FoundInFile {
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
    /// Files that could not be changed, with the reasons.
    failed: Vec<String>,
}

/// Replaces what this redactor knows in the typed lines, in drafts that no chat has open, and in memories.
/// Waits a second at most for another process that writes the typed lines, and five for one that writes
/// memories.
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
    match take_out_of_memories(settings, redactor) {
        Ok(count) => taken.memories = count,
        Err(error) => taken.fail(&data_dir.join(MEMORY_DATABASE), &error),
    }
    taken.left = find(settings, redactor);
    taken
}

impl TakenOut {
    fn fail(&mut self, path: &Path, error: &dyn fmt::Display) {
        self.failed
            .push(format!("{} cannot be changed: {error}", path.display()));
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
            has("schedules.json"),
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
    let with_secret: Vec<(i64, String)> = memories(settings)
        .into_iter()
        .filter(|(_, text)| !redactor.find(text).is_empty())
        .collect();
    if with_secret.is_empty() {
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

/// All memories with their numbers. A store that cannot be read has none.
fn memories(settings: &Settings) -> Vec<(i64, String)> {
    if !settings.data_dir.join(MEMORY_DATABASE).exists() {
        return Vec::new();
    }
    let listed = open_memories(settings).and_then(|store| store.list(&MemoryFilter::default(), usize::MAX));
    let listed = listed.unwrap_or_default().into_iter();
    listed.map(|memory| (memory.id, memory.text)).collect()
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
