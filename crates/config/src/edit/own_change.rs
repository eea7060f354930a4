//! Keeps a person's trust in the settings of a folder when they change these themselves: the file has what
//! they accepted before, and what they have just written.

use std::path::Path;

use crate::folders::folder::accept_change;
use crate::loading::load::{LoadRequest, Loaded, load};
use crate::mistake::ConfigError;

/// Accepts the text of the workspace's file after a change, if the text before counted or there was no file.
/// Returns the configuration with it, or `loaded` if nothing was accepted.
pub(crate) fn keep_trust(
    request: LoadRequest<'_>,
    loaded: Loaded,
    file: &Path,
    before: Option<&str>,
    after: &str,
) -> Result<Loaded, ConfigError> {
    let root = &loaded.places.workspace_root;
    let below = file.strip_prefix(root).ok();
    let Some(below) = below.filter(|_| file == request.places.workspace_file) else {
        return Ok(loaded);
    };
    let before = before.map(str::as_bytes);
    // The file is changed by now. If the decision cannot be recorded, the next chat asks about it.
    let kept = accept_change(&loaded.trust_dir, root, below, before, after.as_bytes());
    if kept.unwrap_or(false) {
        load(request)
    } else {
        Ok(loaded)
    }
}
