//! The sessions that have used servers of a data directory, in a file with one id a line. A server that was
//! killed may have left commands of them running; the next one finds those by their sessions.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use agentx_types::SessionId;

/// The name of the file.
const FILE: &str = "sessions";
/// Sessions that are looked at, at most: the newest.
const MOST: usize = 1_000;

/// Adds a session.
pub(crate) fn add(records: &Path, session: &SessionId) -> io::Result<()> {
    if session.as_str().contains(char::is_whitespace) {
        return Ok(());
    }
    fs::create_dir_all(records)?;
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(records.join(FILE))?;
    file.write_all(format!("{session}\n").as_bytes())
}

/// Returns the newest sessions, each once.
pub(crate) fn read(records: &Path) -> BTreeSet<SessionId> {
    let text = fs::read_to_string(records.join(FILE)).unwrap_or_default();
    text.lines().rev().take(MOST).map(SessionId::new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_read_as_they_were_added() {
        let place = tempfile::tempdir().unwrap();
        let records = place.path().join("new");
        assert!(read(&records).is_empty());
        for id in ["ses_1", "ses_2", "ses_1", "not one"] {
            add(&records, &SessionId::new(id)).unwrap();
        }
        let expected = ["ses_1", "ses_2"].map(SessionId::new);
        assert_eq!(read(&records), BTreeSet::from(expected));
    }
}
