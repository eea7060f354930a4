//! The history of inputs, of this and earlier starts of the program.

use std::path::Path;

use crate::history_file::{HistoryFile, LineFilter};

/// The number of lines that are kept.
const MOST: usize = 1_000;
/// Maximum length of a text in the history file. Longer texts were pasted; the latest ones are kept in memory
/// only.
pub const LONGEST: usize = 4_096;
const LONG_ONES: usize = 8;

/// Lines, the oldest first, and the person's position among them.
#[derive(Debug, Default)]
pub struct LineHistory {
    lines: Vec<String>,
    at: Option<usize>,
    draft: String,
    file: Option<HistoryFile>,
    filter: Option<LineFilter>,
}

impl LineHistory {
    /// Reads the history in this directory; an unreadable file counts as empty.
    pub fn load(data_dir: &Path) -> Self {
        let file = HistoryFile::of(data_dir);
        let mut lines = file.lines();
        let read = lines.len();
        shorten(&mut lines);
        if read > MOST && lines.len() < read {
            // A history that cannot be shortened is shortened the next time.
            let _ = file.rewrite(shorten);
        }
        Self {
            lines,
            at: None,
            draft: String::new(),
            file: Some(file),
            filter: None,
        }
    }

    /// Writes lines to the file as `filter` returns them. In memory they stay as they were typed.
    #[must_use]
    pub fn filtered(self, filter: LineFilter) -> Self {
        Self {
            filter: Some(filter),
            ..self
        }
    }

    /// Keeps a line. A history that cannot be written is kept in memory.
    pub(crate) fn add(&mut self, line: &str) {
        self.leave();
        if line.trim().is_empty() || self.lines.last().is_some_and(|last| last == line) {
            return;
        }
        // Each line once, if it was typed last.
        self.lines.retain(|before| before != line);
        self.lines.push(line.to_owned());
        if line.len() > LONGEST {
            return self.forget_long_ones();
        }
        if let Some(file) = &self.file {
            let line = match &self.filter {
                Some(filter) => filter.apply(line),
                None => line.to_owned(),
            };
            let _ = file.append(&line);
        }
    }

    fn forget_long_ones(&mut self) {
        let long = self.lines.iter().filter(|line| line.len() > LONGEST);
        let mut too_many = long.count().saturating_sub(LONG_ONES);
        self.lines.retain(|line| {
            let goes = line.len() > LONGEST && too_many > 0;
            too_many -= usize::from(goes);
            !goes
        });
    }

    /// Returns the line before; the first step keeps the current text.
    pub(crate) fn older(&mut self, draft: &str) -> Option<String> {
        let at = match self.at {
            None => {
                draft.clone_into(&mut self.draft);
                self.lines.len()
            }
            Some(at) => at,
        };
        let at = at.checked_sub(1)?;
        self.at = Some(at);
        self.lines.get(at).cloned()
    }

    /// Returns the line after; after the last one, the text that was being written.
    pub(crate) fn newer(&mut self) -> Option<String> {
        let at = self.at? + 1;
        if at < self.lines.len() {
            self.at = Some(at);
            return self.lines.get(at).cloned();
        }
        self.at = None;
        Some(std::mem::take(&mut self.draft))
    }

    /// Returns the latest line that contains this text; case matters only if the text has capitals. With
    /// `older`, the latest line before the one found last.
    pub(crate) fn find(&mut self, wanted: &str, older: bool) -> Option<String> {
        if wanted.is_empty() {
            return None;
        }
        let before = match self.at {
            Some(at) if older => at,
            Some(at) => at + 1,
            None => self.lines.len(),
        };
        let any_case = !wanted.chars().any(char::is_uppercase);
        let holds =
            |line: &String| line.contains(wanted) || (any_case && line.to_lowercase().contains(wanted));
        let at = self.lines[..before].iter().rposition(holds)?;
        self.at = Some(at);
        self.lines.get(at).cloned()
    }

    /// Returns to the line that is being written.
    pub(crate) fn leave(&mut self) {
        self.at = None;
    }
}

/// Leaves the latest lines, each once.
fn shorten(lines: &mut Vec<String>) {
    drop_doubles(lines);
    lines.drain(..lines.len().saturating_sub(MOST));
}

/// Removes duplicates, keeping the last occurrence of each line.
fn drop_doubles(lines: &mut Vec<String>) {
    let mut seen = std::collections::HashSet::new();
    let mut once: Vec<String> = Vec::with_capacity(lines.len());
    once.extend(lines.drain(..).rev().filter(|line| seen.insert(line.clone())));
    once.reverse();
    *lines = once;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_survive_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let mut history = LineHistory::load(dir.path());
        for line in ["one", "two\nlines \\n", "two\nlines \\n", "  "] {
            history.add(line);
        }
        let mut again = LineHistory::load(dir.path());
        assert_eq!(again.older("").as_deref(), Some("two\nlines \\n"));
        assert_eq!(again.older("").as_deref(), Some("one"));
        assert_eq!(again.older(""), None);
    }

    #[test]
    fn a_filter_decides_what_is_written_and_not_what_is_recalled() {
        let dir = tempfile::tempdir().unwrap();
        let filter = LineFilter::new(|line| line.replace("made-up", "[…]"));
        let mut history = LineHistory::load(dir.path()).filtered(filter);
        history.add("use made-up");
        assert_eq!(history.older("").as_deref(), Some("use made-up"));
        assert_eq!(LineHistory::load(dir.path()).lines, ["use […]"]);
    }

    #[test]
    fn long_pastes_are_recalled_and_not_written_down() {
        let dir = tempfile::tempdir().unwrap();
        let mut history = LineHistory::load(dir.path());
        let long = |n: usize| format!("{n}{}", "x".repeat(LONGEST));
        history.add("short");
        (0..LONG_ONES + 2).for_each(|n| history.add(&long(n)));
        for n in (2..LONG_ONES + 2).rev() {
            assert_eq!(history.older(""), Some(long(n)), "{n}");
        }
        assert_eq!(history.older("").as_deref(), Some("short"));
        assert_eq!(LineHistory::load(dir.path()).older("").as_deref(), Some("short"));
        assert_eq!(LineHistory::load(dir.path()).lines, ["short"]);
    }

    #[test]
    fn each_line_is_there_once_and_found_whatever_its_case() {
        let dir = tempfile::tempdir().unwrap();
        let mut history = LineHistory::load(dir.path());
        for line in ["Fix the tests", "two", "three", "two"] {
            history.add(line);
        }
        let all = |mut history: LineHistory| {
            let mut all = Vec::new();
            while let Some(line) = history.older("") {
                all.push(line);
            }
            all
        };
        assert_eq!(
            all(LineHistory::load(dir.path())),
            ["two", "three", "Fix the tests"]
        );
        assert_eq!(history.find("fix", false).as_deref(), Some("Fix the tests"));
        history.leave();
        assert_eq!(history.find("FIX", false), None);
        assert_eq!(all(history), ["two", "three", "Fix the tests"]);
    }
}
