//! Keeps text that a person typed and did not send in a file, so that it survives `kill -9` and a closed
//! terminal. The next chat in the same session, or the next new chat in the same directory, has it in its
//! line.
//!
//! The files are `drafts/1` to `drafts/99` in the data directory of this machine, also in a chat with a
//! server. A chat holds the lock of its file, so two chats at one place do not overwrite or take each other's
//! text. Text counts as sent when the session has accepted it. How a chat uses it: `chat/input/draft.rs`.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use agentx_files::{
    FileLock, ReplaceOptions, create_private, make_private_directory, remove_leftovers, replace_locked,
};
use agentx_terminal::LineFilter;
use agentx_terminal::clean::clean_with_tabs;
use tokio::time::Instant;

use crate::terminal::draft_header::{DraftHeader, DraftPlace, KeptDraft};
use crate::terminal::unfinished_drafts::{self, DIRECTORY};

/// Maximum number of files. If all are used, the oldest one that no chat holds makes room.
const MOST_FILES: u32 = 99;
/// The age from which a draft of another place is old, and the time for which an old one is kept: 30 days.
/// The clock may be wrong when a chat finds it old, so it is deleted only if it is still old this much later.
const LONGEST_KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Maximum length of a draft in bytes. A longer one is not written.
const LONGEST_DRAFT: usize = 1 << 20;
/// Maximum number of bytes of a file that are read: in JSON, a control character takes six.
const LONGEST_FILE: u64 = 8 << 20;
/// The time from the first change that is not written yet to the write.
const PAUSE: Duration = Duration::from_secs(1);
/// Maximum number of times that the pause doubles after a write that failed: to about a minute.
const MOST_DOUBLINGS: u32 = 6;

/// Keeps the unsent text of one chat.
#[derive(Debug, Default)]
pub(crate) struct DraftKeeper {
    /// The directory of the files; `None` if nothing is kept, as in a chat without a line editor.
    directory: Option<PathBuf>,
    filter: Option<LineFilter>,
    server: Option<String>,
    /// The directory in which a new session works.
    workspace: String,
    /// The place of the present draft, once it is known.
    place: Option<DraftPlace>,
    file: Option<DraftFile>,
    /// The files of earlier places, until their text is in the present file or was sent.
    left: Vec<DraftFile>,
    /// The state of the place, once it is known.
    after: Option<u64>,
    /// Whether the state of the place was requested.
    is_after_set: bool,
    /// The texts that were written last.
    kept: Vec<String>,
    /// The place of the cursor in the first text, now and when it was written last.
    cursor: (Option<usize>, Option<usize>),
    /// The time of the next write, if there is something to write.
    due: Option<Instant>,
    /// The number of writes that failed since the last one that did not.
    failed: u32,
}

impl DraftKeeper {
    /// Keeps drafts below this data directory; `filter` takes out what must not be in a file.
    pub(crate) fn new(
        data_dir: &Path,
        filter: Option<LineFilter>,
        server: Option<String>,
        workspace: String,
    ) -> Self {
        Self {
            directory: Some(data_dir.join(DIRECTORY)),
            filter,
            server,
            workspace,
            ..Self::default()
        }
    }

    /// Waits until something has to be written. Safe to drop.
    pub(crate) async fn due(&self) {
        match self.due {
            Some(due) => tokio::time::sleep_until(due).await,
            None => std::future::pending().await,
        }
    }

    /// The directory in which a new session works.
    pub(crate) fn workspace(&self) -> &str {
        &self.workspace
    }

    /// Returns whether something is not written yet.
    pub(crate) fn is_due(&self) -> bool {
        self.due.is_some()
    }

    /// Returns whether the draft belongs to this session; `None` means a session that has not begun.
    pub(crate) fn is_at(&self, session: Option<&str>) -> bool {
        let at = session.unwrap_or(&self.workspace);
        self.directory.is_none() || self.place.as_ref().is_some_and(|place| place.at == at)
    }

    /// Moves to another place. Returns the texts that were kept there. The file of the place before stays
    /// until its text is in another file or was sent: a kill may come in between.
    pub(crate) fn move_to(&mut self, session: Option<&str>) -> KeptDraft {
        self.due = None;
        let left = self.file.take().filter(|_| !self.kept.is_empty());
        self.left.extend(left);
        (self.after, self.is_after_set) = (None, false);
        let place = DraftPlace {
            server: self.server.clone(),
            at: session.unwrap_or(&self.workspace).to_owned(),
        };
        let found = self
            .directory
            .as_deref()
            .and_then(|directory| DraftFile::find(directory, &place));
        self.place = Some(place);
        let (file, found) = found.map(|(file, found)| (Some(file), found)).unwrap_or_default();
        self.file = file;
        self.kept.clone_from(&found.texts);
        self.cursor = (found.cursor, found.cursor);
        found
    }

    /// Says what the place has already: the number of the last event of the session, or, where no session has
    /// begun, the time at which the latest session of the directory was made, in microseconds. A message that
    /// comes later may be the draft that is written now; an earlier one is another. `None` if it is not
    /// known.
    pub(crate) fn set_after(&mut self, after: Option<u64>) {
        (self.after, self.is_after_set) = (after, true);
    }

    /// Says where the cursor is in the first of the texts that are noted next.
    pub(crate) fn set_cursor(&mut self, cursor: Option<usize>) {
        self.cursor.0 = cursor;
    }

    /// Returns whether something is to be written although the state of the place is unknown.
    pub(crate) fn wants_after(&self) -> bool {
        self.directory.is_some() && self.due.is_some() && !self.is_after_set
    }

    /// Takes note of the unsent texts: they are written a moment later, and deleted immediately when they are
    /// sent or cleared.
    pub(crate) fn note(&mut self, unsent: Vec<String>, now: Instant) {
        let has_left = !self.left.is_empty() && self.failed == 0;
        if unsent.is_empty() {
            self.remove();
        } else if unsent == self.kept && self.cursor.0 == self.cursor.1 {
            self.due = None;
            self.remove_left();
        } else if has_left || self.due.is_some_and(|due| due <= now) {
            self.write(unsent, now);
        } else {
            self.due = self.due.or(Some(now + PAUSE));
        }
    }

    /// Writes the texts. A draft that cannot be written is in the line alone until the next try: after a
    /// pause that doubles each time.
    pub(crate) fn write(&mut self, texts: Vec<String>, now: Instant) {
        self.due = None;
        if self.try_to_write(&texts).is_ok() {
            (self.kept, self.failed) = (texts, 0);
            self.cursor.1 = self.cursor.0;
            self.remove_left();
        } else {
            self.failed = (self.failed + 1).min(MOST_DOUBLINGS);
            self.due = Some(now + PAUSE * 2_u32.pow(self.failed));
        }
    }

    /// Writes the texts, unless none are kept here or they are too long.
    fn try_to_write(&mut self, texts: &[String]) -> io::Result<()> {
        let is_short = texts.iter().map(String::len).sum::<usize>() <= LONGEST_DRAFT;
        if let (Some(directory), Some(place), true) = (&self.directory, &self.place, is_short) {
            if self.file.is_none() {
                self.file = DraftFile::unused(directory);
            }
            let file = self.file.as_ref().ok_or(io::ErrorKind::Other)?;
            let filtered = texts.iter().map(|text| match &self.filter {
                Some(filter) => filter.apply(text),
                None => text.clone(),
            });
            let filtered: Vec<String> = filtered.collect();
            let header = DraftHeader {
                place: place.clone(),
                after: self.after,
                // The place in a text without its secrets is another one.
                cursor: self.cursor.0.filter(|_| filtered.first() == texts.first()),
            };
            return file.write(&header, &filtered);
        }
        Ok(())
    }

    /// Deletes the draft.
    fn remove(&mut self) {
        self.due = None;
        self.remove_left();
        if !std::mem::take(&mut self.kept).is_empty()
            && let Some(file) = &self.file
        {
            file.remove();
        }
    }

    /// Deletes what was kept at earlier places.
    fn remove_left(&mut self) {
        for file in self.left.drain(..) {
            file.remove();
        }
    }
}

/// One of the files, which no other chat writes as long as this value exists.
#[derive(Debug)]
struct DraftFile {
    path: PathBuf,
    lock: FileLock,
}

impl DraftFile {
    /// Takes this file, unless another chat has it.
    fn take(path: PathBuf) -> Option<Self> {
        let lock = FileLock::take(&FileLock::path_for(&path)).ok()??;
        Some(Self { path, lock })
    }

    /// Finds the draft of a place, however old it is, if no chat has it. Deletes abandoned drafts of other
    /// places.
    fn find(directory: &Path, wanted: &DraftPlace) -> Option<(Self, KeptDraft)> {
        unfinished_drafts::remove_in(directory);
        let mut found = None;
        for (path, age) in drafts(directory) {
            let is_wanted = found.is_none() && place_of(&path).ok().as_ref() == Some(wanted);
            let is_old = age.is_some_and(|age| age > LONGEST_KEPT);
            if !is_wanted && !is_old {
                continue;
            }
            let Some(file) = Self::take(path) else {
                continue;
            };
            if is_wanted && let Ok(kept) = file.read(wanted) {
                found = Some((file, kept));
            } else if is_old && file.was_old_long_ago() {
                file.remove();
            }
        }
        found
    }

    /// Returns whether this file, which is old now, was found old long ago. The first time, this is noted in
    /// a file beside it. A note of a time that is still to come was made while the clock was wrong.
    fn was_old_long_ago(&self) -> bool {
        let changed = |path: &Path| fs::metadata(path).and_then(|file| file.modified()).ok();
        let (note, now) = (self.note_of_age(), SystemTime::now());
        let (noted, written) = (changed(&note), changed(&self.path));
        match noted.filter(|noted| Some(*noted) >= written && *noted <= now) {
            Some(noted) => now.duration_since(noted).is_ok_and(|age| age > LONGEST_KEPT),
            None => {
                // Without the note the draft is kept longer.
                let _ = fs::remove_file(&note);
                let _ = create_private(&note);
                false
            }
        }
    }

    /// The file whose time says when this one was found old.
    fn note_of_age(&self) -> PathBuf {
        self.path.with_extension("old")
    }

    /// Takes a file for a new draft.
    fn unused(directory: &Path) -> Option<Self> {
        make_private_directory(directory).ok()?;
        let mut numbers = 1..=MOST_FILES;
        let is_free = |file: &Self| !file.path.exists();
        let path_of = |number: u32| directory.join(number.to_string());
        let free = numbers.find_map(|number| {
            let path = Some(path_of(number)).filter(|path| !path.exists())?;
            Self::take(path).filter(is_free)
        });
        free.or_else(|| {
            let mut oldest_first = drafts(directory).into_iter().rev();
            oldest_first.find_map(|(path, _)| Self::take(path))
        })
    }

    fn read(&self, wanted: &DraftPlace) -> io::Result<KeptDraft> {
        let mut text = String::new();
        File::open(&self.path)?
            .take(LONGEST_FILE)
            .read_to_string(&mut text)?;
        let (header, texts) = text.split_once('\n').ok_or(io::ErrorKind::InvalidData)?;
        let header: DraftHeader = serde_json::from_str(header)?;
        if header.place != *wanted {
            return Err(io::ErrorKind::NotFound.into());
        }
        // Another program may have written the file, and a terminal would obey what is in it.
        let clean = |text: String| clean_with_tabs(&text.replace("\r\n", "\n").replace('\r', "\n"));
        let texts: Vec<String> = serde_json::from_str(texts)?;
        Ok(KeptDraft {
            texts: texts.into_iter().map(clean).collect(),
            after: header.after,
            cursor: header.cursor,
        })
    }

    fn write(&self, header: &DraftHeader, texts: &[String]) -> io::Result<()> {
        let text = format!(
            "{}\n{}\n",
            serde_json::to_string(header)?,
            serde_json::to_string(texts)?
        );
        replace_locked(&self.path, text.as_bytes(), ReplaceOptions::default(), &self.lock)
    }

    /// Deletes the draft and what a killed writer left of it. If it cannot be deleted, it is offered once
    /// more.
    fn remove(&self) {
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(self.note_of_age());
        remove_leftovers(&self.path, &self.lock);
    }
}

/// The drafts in the directory, each with its age, the latest first; `None` is the age of one from the
/// future.
fn drafts(directory: &Path) -> Vec<(PathBuf, Option<Duration>)> {
    let is_draft = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.parse::<u32>().ok());
        number.is_some() && entry.file_type().is_ok_and(|kind| kind.is_file())
    };
    let age = |entry: &fs::DirEntry| {
        let changed = entry.metadata().and_then(|metadata| metadata.modified()).ok()?;
        SystemTime::now().duration_since(changed).ok()
    };
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let entries = entries.filter(is_draft);
    let mut drafts: Vec<_> = entries.map(|entry| (entry.path(), age(&entry))).collect();
    drafts.sort_by_key(|(_, age)| *age);
    drafts
}

/// The files of all drafts.
pub(crate) fn files(data_dir: &Path) -> Vec<PathBuf> {
    let drafts = drafts(&data_dir.join(DIRECTORY)).into_iter();
    drafts.map(|(path, _)| path).collect()
}

/// Returns the place of a draft, from the first line of its file.
fn place_of(path: &Path) -> io::Result<DraftPlace> {
    let mut line = String::new();
    BufReader::new(File::open(path)?.take(LONGEST_FILE)).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

/// Deletes the drafts of a session that was deleted, unless a chat has them open.
pub(crate) fn forget_drafts(data_dir: &Path, session: &str) {
    for (path, _) in drafts(&data_dir.join(DIRECTORY)) {
        if place_of(&path).is_ok_and(|place| place.at == session)
            && let Some(file) = DraftFile::take(path)
        {
            file.remove();
        }
    }
}

/// The sessions of this machine, not of a server, in which drafts are kept.
pub(crate) fn sessions_with_drafts(data_dir: &Path) -> Vec<String> {
    let places = drafts(&data_dir.join(DIRECTORY)).into_iter();
    let places = places.filter_map(|(path, _)| place_of(&path).ok());
    let of_sessions = places.filter(|place| place.server.is_none() && place.at.starts_with("ses_"));
    of_sessions.map(|place| place.at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_the_cursor_is_kept_with_the_text() {
        let data = tempfile::tempdir().unwrap();
        let mut chat = keeper(data.path());
        chat.move_to(None);
        chat.set_cursor(Some(2));
        typed(&mut chat, &["half a line\nand more"]);
        let now = Instant::now();
        chat.set_cursor(Some(5));
        chat.note(vec!["half a line\nand more".to_owned()], now);
        assert!(chat.is_due(), "the cursor has moved");
        chat.note(vec!["half a line\nand more".to_owned()], now + PAUSE);
        drop(chat);
        let kept = keeper(data.path()).move_to(None);
        assert_eq!(
            (kept.texts, kept.cursor),
            (vec!["half a line\nand more".to_owned()], Some(5))
        );
    }

    fn keeper(data_dir: &Path) -> DraftKeeper {
        DraftKeeper::new(data_dir, None, None, "/home/ada/hello".to_owned())
    }

    /// Notes texts and lets the time pass after which they are written.
    fn typed(keeper: &mut DraftKeeper, texts: &[&str]) {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let now = Instant::now();
        keeper.note(texts.clone(), now);
        keeper.note(texts, now + PAUSE);
    }

    #[test]
    fn a_draft_outlives_its_chat_and_goes_when_it_is_sent() {
        let data = tempfile::tempdir().unwrap();
        let mut chat = keeper(data.path());
        assert!(chat.move_to(None).texts.is_empty());
        typed(&mut chat, &["fix\nthe tests", "then the docs"]);
        // The lock of a killed process is free.
        drop(chat);
        let mut next = keeper(data.path());
        assert!(next.move_to(Some("ses_1")).texts.is_empty(), "another place");
        assert_eq!(next.move_to(None).texts, ["fix\nthe tests", "then the docs"]);
        next.note(Vec::new(), Instant::now());
        drop(next);
        assert!(keeper(data.path()).move_to(None).texts.is_empty());
        assert!(drafts(&data.path().join(DIRECTORY)).is_empty());
    }

    #[test]
    fn what_a_killed_chat_left_of_its_first_draft_goes_and_that_of_an_open_chat_stays() {
        let data = tempfile::tempdir().unwrap();
        let directory = data.path().join(DIRECTORY);
        let mut open = keeper(data.path());
        open.move_to(None);
        typed(&mut open, &["open"]);
        for name in ["1.7-1.new", "2.7-1.new", "2.8-3.new", "notes.7-1.new"] {
            fs::write(directory.join(name), "half").unwrap();
        }
        assert_eq!(unfinished_drafts::list(data.path()).len(), 3);
        unfinished_drafts::remove(data.path());
        assert_eq!(
            unfinished_drafts::list(data.path()),
            [directory.join("1.7-1.new")]
        );
        assert!(directory.join("notes.7-1.new").exists(), "it is of no draft");
        drop(open);
        assert_eq!(keeper(data.path()).move_to(None).texts, ["open"]);
        assert!(
            unfinished_drafts::list(data.path()).is_empty(),
            "the next chat removes it"
        );
    }

    #[test]
    fn a_session_that_begins_takes_the_draft_along() {
        let data = tempfile::tempdir().unwrap();
        let mut chat = keeper(data.path());
        chat.move_to(None);
        typed(&mut chat, &["and then"]);
        assert!(chat.move_to(Some("ses_1")).texts.is_empty() && chat.is_at(Some("ses_1")));
        typed(&mut chat, &["and then"]);
        drop(chat);
        let mut next = keeper(data.path());
        assert!(next.move_to(None).texts.is_empty());
        assert_eq!(next.move_to(Some("ses_1")).texts, ["and then"]);
    }

    #[test]
    fn two_chats_at_one_place_keep_out_of_each_others_drafts() {
        let data = tempfile::tempdir().unwrap();
        let (mut one, mut two) = (keeper(data.path()), keeper(data.path()));
        one.move_to(None);
        typed(&mut one, &["one"]);
        assert!(two.move_to(None).texts.is_empty(), "that chat is still open");
        typed(&mut two, &["two"]);
        drop((one, two));
        let (mut first, mut second) = (keeper(data.path()), keeper(data.path()));
        let mut found = [first.move_to(None).texts, second.move_to(None).texts].concat();
        found.sort();
        assert_eq!(found, ["one", "two"]);
    }

    #[test]
    fn what_is_written_is_the_owners_alone_without_secrets_and_not_too_long() {
        let data = tempfile::tempdir().unwrap();
        let mut chat = keeper(data.path());
        chat.filter = Some(LineFilter::new(|line| line.replace("made-up", "[…]")));
        chat.move_to(None);
        typed(&mut chat, &["use made-up"]);
        typed(&mut chat, &[&"x".repeat(LONGEST_DRAFT + 1)]);
        drop(chat);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let file = data.path().join(DIRECTORY).join("1");
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(keeper(data.path()).move_to(None).texts, ["use […]"]);
    }

    #[test]
    fn nothing_is_written_before_a_moment_has_passed_and_nothing_for_what_was_sent_by_then() {
        let data = tempfile::tempdir().unwrap();
        let mut chat = keeper(data.path());
        chat.move_to(None);
        let now = Instant::now();
        chat.note(vec!["hel".to_owned()], now);
        chat.note(vec!["hello".to_owned()], now + PAUSE / 2);
        assert_eq!(chat.due, Some(now + PAUSE), "typing on does not put it off");
        chat.note(Vec::new(), now + PAUSE / 2);
        assert!(chat.due.is_none() && !data.path().join(DIRECTORY).exists());
    }

    #[test]
    fn a_draft_that_could_not_be_written_is_written_when_it_can_be() {
        let data = tempfile::tempdir().unwrap();
        let directory = data.path().join(DIRECTORY);
        // No directory can be made where a file is.
        fs::write(&directory, "").unwrap();
        let mut chat = keeper(data.path());
        chat.move_to(None);
        let text = vec!["hello".to_owned()];
        let now = Instant::now();
        chat.note(text.clone(), now);
        chat.note(text.clone(), now + PAUSE);
        assert_eq!(chat.due, Some(now + PAUSE * 3));
        chat.note(text.clone(), now + PAUSE * 3);
        assert_eq!(chat.due, Some(now + PAUSE * 7), "the pause grows");
        fs::remove_file(&directory).unwrap();
        chat.note(text.clone(), now + PAUSE * 7);
        assert!(chat.due.is_none());
        drop(chat);
        assert_eq!(keeper(data.path()).move_to(None).texts, text);
    }

    #[test]
    fn the_latest_of_several_drafts_comes_back_first_and_without_what_drives_a_terminal() {
        let data = tempfile::tempdir().unwrap();
        let chats: Vec<_> = ["one", "two\u{1b}[2J\u{7}", "three"]
            .into_iter()
            .map(|text| {
                let mut chat = keeper(data.path());
                chat.move_to(None);
                typed(&mut chat, &[text]);
                chat
            })
            .collect();
        drop(chats);
        for (name, seconds) in [("1", 30), ("2", 10), ("3", 20)] {
            let file = File::options()
                .write(true)
                .open(data.path().join(DIRECTORY).join(name));
            let changed = SystemTime::now() - Duration::from_secs(seconds);
            file.unwrap().set_modified(changed).unwrap();
        }
        let mut next = keeper(data.path());
        let found = next.move_to(None).texts;
        assert!(found[0].starts_with("two"), "{found:?}");
        assert!(!found[0].contains(['\u{1b}', '\u{7}']), "{found:?}");
        assert_eq!(keeper(data.path()).move_to(None).texts, ["three"]);
    }

    #[test]
    fn the_drafts_of_a_deleted_session_are_deleted() {
        let data = tempfile::tempdir().unwrap();
        for session in ["ses_1", "ses_2"] {
            let mut chat = keeper(data.path());
            chat.move_to(Some(session));
            typed(&mut chat, &["a secret plan"]);
        }
        forget_drafts(data.path(), "ses_1");
        assert_eq!(sessions_with_drafts(data.path()), ["ses_2"]);
        assert!(keeper(data.path()).move_to(Some("ses_1")).texts.is_empty());
    }

    #[test]
    fn the_file_of_a_place_stays_until_its_text_is_in_the_file_of_the_next_place_or_was_sent() {
        let data = tempfile::tempdir().unwrap();
        let mut chat = keeper(data.path());
        chat.move_to(None);
        typed(&mut chat, &["and then"]);
        let before = data.path().join(DIRECTORY).join("1");
        chat.move_to(Some("ses_1"));
        assert!(before.exists(), "nothing else has the text yet");
        chat.note(vec!["and then".to_owned()], Instant::now());
        let texts = || keeper(data.path()).move_to(Some("ses_1")).texts;
        assert!(!before.exists() && texts().is_empty(), "this chat still has it");
        drop(chat);
        assert_eq!(texts(), ["and then"]);
        let mut chat = keeper(data.path());
        chat.move_to(Some("ses_1"));
        chat.move_to(Some("ses_2"));
        chat.note(Vec::new(), Instant::now());
        assert!(drafts(&data.path().join(DIRECTORY)).is_empty(), "it was sent");
    }

    #[test]
    fn a_draft_knows_what_its_place_had_already() {
        let data = tempfile::tempdir().unwrap();
        let mut chat = keeper(data.path());
        chat.move_to(Some("ses_1"));
        assert!(!chat.wants_after(), "there is nothing to write");
        chat.note(vec!["continue".to_owned()], Instant::now());
        assert!(chat.wants_after());
        chat.set_after(Some(17));
        typed(&mut chat, &["continue"]);
        drop(chat);
        assert_eq!(keeper(data.path()).move_to(Some("ses_1")).after, Some(17));
        // A file of an earlier version.
        let earlier = "{\"at\":\"ses_1\"}\n[\"continue\"]\n";
        fs::write(data.path().join(DIRECTORY).join("1"), earlier).unwrap();
        let found = keeper(data.path()).move_to(Some("ses_1"));
        assert_eq!((found.after, found.texts), (None, vec!["continue".to_owned()]));
    }

    #[test]
    fn a_clock_that_was_wrong_once_deletes_no_draft_and_an_old_one_goes_in_time() {
        let data = tempfile::tempdir().unwrap();
        let directory = data.path().join(DIRECTORY);
        let mut chat = keeper(data.path());
        chat.move_to(Some("ses_1"));
        typed(&mut chat, &["precious"]);
        drop(chat);
        let days_ago = |name: &str, days: u32| {
            let file = File::options().write(true).open(directory.join(name)).unwrap();
            let changed = SystemTime::now() - Duration::from_secs(24 * 60 * 60) * days;
            file.set_modified(changed).unwrap();
        };
        let in_another_place = || keeper(data.path()).move_to(None).texts;
        days_ago("1", 31);
        assert!(in_another_place().is_empty());
        assert!(directory.join("1").exists(), "the clock may be wrong");
        // It comes back at its own place, however old it is.
        assert_eq!(keeper(data.path()).move_to(Some("ses_1")).texts, ["precious"]);
        // A note that was made before the draft was written again, or by a clock that was ahead, counts for
        // nothing.
        days_ago("1.old", 32);
        in_another_place();
        assert!(directory.join("1").exists());
        let ahead = File::options().write(true).open(directory.join("1.old")).unwrap();
        let tomorrow = SystemTime::now() + Duration::from_secs(24 * 60 * 60);
        ahead.set_modified(tomorrow).unwrap();
        days_ago("1", 90);
        in_another_place();
        assert!(directory.join("1").exists());
        days_ago("1.old", 29);
        in_another_place();
        assert!(directory.join("1").exists());
        days_ago("1.old", 31);
        in_another_place();
        assert!(!directory.join("1").exists() && !directory.join("1.old").exists());
    }

    #[test]
    fn a_damaged_file_is_no_draft() {
        let data = tempfile::tempdir().unwrap();
        let directory = data.path().join(DIRECTORY);
        fs::create_dir(&directory).unwrap();
        for (name, text) in [
            ("1", "half"),
            ("2", "{\"at\":\"/home/ada/hello\"}\n[\"cut o"),
            ("x", ""),
        ] {
            fs::write(directory.join(name), text).unwrap();
        }
        let mut chat = keeper(data.path());
        assert!(chat.move_to(None).texts.is_empty());
        typed(&mut chat, &["new"]);
        assert!(directory.join("3").exists());
    }
}
