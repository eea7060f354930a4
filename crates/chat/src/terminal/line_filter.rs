//! Keeps known secrets out of the lines that a chat writes to files: the history of what was typed, and
//! drafts.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use agentx::config::Settings;
use agentx::node::{MARKED_SECRETS, known_secrets};
use agentx_terminal::LineFilter;

/// Takes known secrets out of lines that are written to a file; `None` if the settings switch that off. A
/// value that any process marks is known from the next line on.
pub(crate) fn line_filter(settings: &Settings) -> Option<LineFilter> {
    let known = Mutex::new(version_of(&settings.data_dir));
    let redactor = agentx::node::redactor(settings)?;
    let settings = settings.clone();
    Some(LineFilter::new(move |line| {
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let now = version_of(&settings.data_dir);
        if *known != now {
            redactor.learn(&known_secrets(&settings));
            *known = now;
        }
        redactor.redact(line).into_owned()
    }))
}

/// The version of the file of marked values: its time and length. `None` if there is no such file.
fn version_of(data_dir: &Path) -> Option<(SystemTime, u64)> {
    let file = fs::metadata(data_dir.join(MARKED_SECRETS)).ok()?;
    Some((file.modified().ok()?, file.len()))
}
