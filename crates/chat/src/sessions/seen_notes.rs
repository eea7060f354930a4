//! Remembers the notes that a person has seen about a session or a folder, so that they are not repeated each
//! time the session continues, or a chat starts in the folder.
//!
//! It is a small file beside the log, for the latest sessions only. If it cannot be read or written, notes
//! are shown once more, which does no harm.

use std::fs;
use std::path::Path;

use agentx::types::SessionId;
use agentx_files::{ReplaceOptions, replace};

/// The name of the file beside the log.
const FILE: &str = "told";
/// Sessions that are remembered.
const MOST: usize = 500;

/// Records the note `what` about the session; an empty `what` removes the note. Returns whether it is new.
pub fn is_news(data_dir: &Path, session: &SessionId, what: &str) -> bool {
    is_news_about(data_dir, session.as_str(), what)
}

/// Records a note about a session or a folder as [`is_news`] does. What it is about has neither tabs nor line
/// ends, or its notes are always new.
pub fn is_news_about(data_dir: &Path, about: &str, what: &str) -> bool {
    let file = data_dir.join(FILE);
    let before = fs::read_to_string(&file).unwrap_or_default();
    if about.contains(['\t', '\n', '\r']) {
        return !what.is_empty();
    }
    let Some(after) = noted(&before, about, what) else {
        return false;
    };
    // If it cannot be written, the note is shown once more.
    let _ = replace(&file, after.as_bytes(), ReplaceOptions::default());
    !what.is_empty()
}

/// Returns the notes with this one, the latest last; `None` if it is already there.
fn noted(before: &str, session: &str, what: &str) -> Option<String> {
    let of_session = |line: &&str| line.split_once('\t').is_some_and(|(id, _)| id == session);
    let said = before
        .lines()
        .find(of_session)
        .and_then(|line| line.split_once('\t'));
    if said.map_or("", |(_, said)| said) == what {
        return None;
    }
    let mut lines: Vec<&str> = before.lines().filter(|line| !of_session(line)).collect();
    let line = format!("{session}\t{what}");
    if !what.is_empty() {
        lines.push(&line);
    }
    let first = lines.len().saturating_sub(MOST);
    Some(lines[first..].iter().map(|line| format!("{line}\n")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_is_news_once_and_again_when_it_has_changed() {
        let place = tempfile::tempdir().unwrap();
        let (one, two) = (SessionId::new("ses_1"), SessionId::new("ses_2"));
        let news = |session, what| is_news(place.path(), session, what);
        assert!(!news(&one, ""), "nothing is not news");
        assert!(news(&one, "brew, bake") && news(&two, "brew"));
        assert!(!news(&one, "brew, bake") && !news(&two, "brew"));
        assert!(news(&one, "brew"));
        assert!(
            !news(&one, "") && news(&one, "brew"),
            "it came back, and went again"
        );
        assert!(
            is_news(&place.path().join("none"), &one, "brew"),
            "it cannot be kept"
        );
    }

    #[test]
    fn a_folder_has_its_own_notes() {
        let place = tempfile::tempdir().unwrap();
        let news = |about: &str| is_news_about(place.path(), about, "1 agent");
        assert!(news("/ws") && !news("/ws") && news("/other"));
        assert!(news("/a\tb") && news("/a\tb"), "such a name cannot be kept");
    }

    #[test]
    fn only_the_latest_are_remembered() {
        let mut notes = String::new();
        for n in 0..MOST + 3 {
            notes = noted(&notes, &format!("ses_{n}"), "brew").unwrap();
        }
        assert_eq!(notes.lines().count(), MOST);
        assert!(notes.starts_with("ses_3\t") && notes.ends_with(&format!("ses_{}\tbrew\n", MOST + 2)));
    }
}
