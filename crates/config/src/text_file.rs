//! Reads texts from files beside the configuration, up to a maximum size.

use std::path::Path;

/// The largest text that is read from a file beside the configuration.
pub(crate) const MAX_TEXT_BYTES: u64 = 1 << 20;

/// Reads a text, if the file is a regular one within the bound.
///
/// # Errors
/// Returns the reason, without the path.
pub(crate) fn read_text(path: &Path) -> Result<String, String> {
    let found = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !found.is_file() {
        return Err("it is not a regular file".into());
    }
    let size = found.len();
    if size > MAX_TEXT_BYTES {
        return Err(format!(
            "the file has {size} bytes; at most {MAX_TEXT_BYTES} are read"
        ));
    }
    std::fs::read_to_string(path).map_err(|error| error.to_string())
}
