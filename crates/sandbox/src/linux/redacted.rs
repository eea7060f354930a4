//! Copies of files of settings without the lines that hold credentials.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use super::kernel::descriptor;
use super::landlock::open;
use crate::tool_settings::{LONGEST, without_credentials};

/// Returns the copy that a command sees; `None` for a file that is gone or too long.
pub(super) fn redacted_copy(path: &Path) -> Option<String> {
    // As everywhere, no link on the way is followed.
    let (place, about) = open(path).ok()??;
    if !about.is_file() || about.len() > LONGEST {
        return None;
    }
    let mut bytes = Vec::new();
    let file = File::open(descriptor(&place)).ok()?;
    file.take(LONGEST).read_to_end(&mut bytes).ok()?;
    Some(without_credentials(&String::from_utf8_lossy(&bytes)))
}
