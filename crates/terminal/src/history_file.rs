//! The file of typed lines: all chats of a data directory append to it, and commands that take secrets out of
//! it replace it. Both hold its lock, so that no line is appended to a file that was just replaced.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agentx_files::{
    FileLock, ReplaceOptions, close_to_others, leftovers, private_options, remove_leftovers, replace_locked,
};

const FILE: &str = "history";
/// Maximum time to wait for another process that writes the file. Nobody holds its lock for longer than a
/// write.
const PATIENCE: Duration = Duration::from_secs(1);

/// Returns a line as it may be written to a file, without what must not be there.
#[derive(Clone)]
pub struct LineFilter(Arc<dyn Fn(&str) -> String + Send + Sync>);

impl LineFilter {
    /// A filter that calls `filter` for each line before it is written.
    pub fn new(filter: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(filter))
    }

    /// Returns the line without what must not be written to a file.
    pub fn apply(&self, line: &str) -> String {
        (self.0)(line)
    }
}

impl fmt::Debug for LineFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LineFilter")
    }
}

/// The file of typed lines in a data directory.
///
/// ```
/// use agentx_terminal::{HistoryFile, LineFilter};
///
/// let data_dir = tempfile::tempdir()?;
/// let file = HistoryFile::of(data_dir.path());
/// std::fs::write(file.path(), "use made-up-value\n")?;
/// let filter = LineFilter::new(|line| line.replace("made-up-value", "[secret KEY]"));
/// assert_eq!(file.filter(&filter)?, 1);
/// assert_eq!(file.lines(), ["use [secret KEY]"]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct HistoryFile {
    path: PathBuf,
}

impl HistoryFile {
    /// The file in this data directory. Nothing is read or created yet.
    pub fn of(data_dir: &Path) -> Self {
        Self {
            path: data_dir.join(FILE),
        }
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The lines, the oldest first. An unreadable file counts as empty.
    pub fn lines(&self) -> Vec<String> {
        self.read().unwrap_or_default()
    }

    /// The lines, the oldest first; none if there is no file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn read(&self) -> io::Result<Vec<String>> {
        match std::fs::read(&self.path) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).lines().map(unescape).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Replaces each line by what `filter` returns for it. Returns the number of lines that changed. If none
    /// does, the file stays as it is.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or replaced, or another process holds its lock for more
    /// than a second.
    pub fn filter(&self, filter: &LineFilter) -> io::Result<usize> {
        if !self.path.exists() && self.unfinished().is_empty() {
            return Ok(0);
        }
        let lock = self.lock()?;
        let before = self.read()?;
        let after: Vec<String> = before.iter().map(|line| filter.apply(line)).collect();
        let changed = before.iter().zip(&after).filter(|(was, is)| was != is).count();
        if changed == 0 {
            remove_leftovers(&self.path, &lock);
        } else {
            self.replace(&after, &lock)?;
        }
        Ok(changed)
    }

    /// The new versions of the file that processes have not finished: most are of processes that were killed.
    pub fn unfinished(&self) -> Vec<PathBuf> {
        leftovers(&self.path)
    }

    /// Appends a line, and creates the file if there is none. A line that an earlier writer left unfinished,
    /// because it was killed or the disk was full, stays a line of its own.
    pub(crate) fn append(&self, line: &str) -> io::Result<()> {
        let _lock = self.lock()?;
        // An existing file may be readable for others. Who cannot change that still has a history.
        let _ = close_to_others(&self.path);
        let mut options = private_options();
        let mut file = options.read(true).append(true).create(true).open(&self.path)?;
        let start = if ends_within_line(&mut file)? { "\n" } else { "" };
        // One write: a kill between two would leave the line without its end.
        file.write_all(format!("{start}{}\n", escape(line)).as_bytes())
    }

    /// Replaces all lines by what `shorten` makes of them.
    pub(crate) fn rewrite(&self, shorten: impl FnOnce(&mut Vec<String>)) -> io::Result<()> {
        let lock = self.lock()?;
        let mut lines = self.read()?;
        shorten(&mut lines);
        self.replace(&lines, &lock)
    }

    fn replace(&self, lines: &[String], lock: &FileLock) -> io::Result<()> {
        let text: String = lines.iter().map(|line| format!("{}\n", escape(line))).collect();
        replace_locked(&self.path, text.as_bytes(), ReplaceOptions::default(), lock)
    }

    fn lock(&self) -> io::Result<FileLock> {
        let lock = FileLock::wait(&FileLock::path_for(&self.path), PATIENCE)?;
        lock.ok_or_else(|| io::Error::other("another process is writing it; try again"))
    }
}

/// Returns whether the last line of a file has no end.
fn ends_within_line(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

fn escape(line: &str) -> String {
    line.replace('\\', "\\\\").replace('\n', "\\n")
}

fn unescape(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => text.push(if chars.next() == Some('n') { '\n' } else { '\\' }),
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_filtered_without_escapes_and_the_file_has_nothing_of_before() {
        let folder = tempfile::tempdir().unwrap();
        let file = HistoryFile::of(folder.path());
        for line in ["plain", "has made-up\nvalue \\ in it", "plain again"] {
            file.append(line).unwrap();
        }
        let leftover = folder.path().join("history.7-1.new");
        std::fs::write(&leftover, "made-up").unwrap();
        let filter = LineFilter::new(|line| line.replace("made-up\nvalue", "[secret KEY]"));
        assert_eq!(file.filter(&filter).unwrap(), 1);
        assert_eq!(
            file.lines(),
            ["plain", "has [secret KEY] \\ in it", "plain again"]
        );
        assert!(!leftover.exists(), "a killed writer left it");
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert!(!text.contains("made-up"), "{text}");
        assert_eq!(file.filter(&filter).unwrap(), 0);
    }

    #[test]
    fn a_line_that_is_typed_while_the_file_is_replaced_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = HistoryFile::of(folder.path());
        file.append("made-up").unwrap();
        let (lock, other) = (file.lock().unwrap(), file.clone());
        let appending = std::thread::spawn(move || other.append("typed meanwhile"));
        file.replace(&["[secret KEY]".to_owned()], &lock).unwrap();
        drop(lock);
        appending.join().unwrap().unwrap();
        assert_eq!(file.lines(), ["[secret KEY]", "typed meanwhile"]);
    }

    #[test]
    fn a_line_that_a_killed_writer_left_unfinished_stays_a_line_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let file = HistoryFile::of(folder.path());
        std::fs::write(file.path(), "first\ncut sho").unwrap();
        file.append("next").unwrap();
        file.append("last").unwrap();
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert_eq!(text, "first\ncut sho\nnext\nlast\n");
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_reads_what_was_typed() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let history = HistoryFile::of(folder.path());
        let mode = || history.path().metadata().unwrap().permissions().mode() & 0o777;
        history.append("first").unwrap();
        assert_eq!(mode(), 0o600);
        std::fs::set_permissions(history.path(), std::fs::Permissions::from_mode(0o644)).unwrap();
        history.append("second").unwrap();
        assert_eq!((mode(), history.read().unwrap().len()), (0o600, 2));
    }

    #[test]
    fn a_missing_file_has_nothing_to_filter_and_an_unreadable_one_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let unreadable = HistoryFile::of(folder.path());
        std::fs::create_dir(unreadable.path()).unwrap();
        assert!(unreadable.filter(&LineFilter::new(str::to_owned)).is_err());
        let missing = HistoryFile::of(&folder.path().join("none"));
        let filter = LineFilter::new(str::to_owned);
        assert_eq!(missing.filter(&filter).unwrap(), 0);
        assert!(missing.lines().is_empty() && !folder.path().join("none").exists());
    }
}
