//! Finds files by the beginning of a path or by a part of a name. A directory may be huge or on a slow disk,
//! so every search has bounds and returns what it has found so far.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::place_of;

/// Maximum number of entries that a search looks at while a person waits for it.
pub(crate) const LOOKED_AT: usize = 5_000;
/// Maximum time that a search takes while a person waits for it.
const QUICK: Duration = Duration::from_millis(200);
/// A search for a part of a name ends when it has found more files than this.
const FOUND: usize = 24;
/// Directories that hold generated files or the code of others.
const LEFT_OUT: [&str; 2] = ["target", "node_modules"];

/// The bounds of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WalkBounds {
    /// Maximum number of entries that it looks at.
    pub(crate) entries: usize,
    /// Maximum time that it takes.
    pub(crate) time: Duration,
}

/// A search for files below a workspace, with its bounds.
pub(crate) struct FileWalk<'a> {
    workspace: &'a Path,
    entries_left: usize,
    until: Instant,
    stop: Arc<AtomicBool>,
    /// Receives all names found so far whenever one more is found.
    on_found: &'a mut dyn FnMut(&[String]),
}

impl<'a> FileWalk<'a> {
    /// Makes a search within these bounds, which ends early once `stop` is set.
    pub(crate) fn new(
        workspace: &'a Path,
        bounds: WalkBounds,
        stop: Arc<AtomicBool>,
        on_found: &'a mut dyn FnMut(&[String]),
    ) -> Self {
        Self {
            workspace,
            entries_left: bounds.entries,
            until: Instant::now() + bounds.time,
            stop,
            on_found,
        }
    }

    /// Counts one more entry. Returns `false` if the search has to end before it.
    fn take_entry(&mut self) -> bool {
        let Some(left) = self.entries_left.checked_sub(1) else {
            return false;
        };
        self.entries_left = left;
        !self.stop.load(Ordering::Relaxed) && Instant::now() < self.until
    }

    /// The files whose paths begin with the typed text; if there are none, those whose names contain it.
    pub(crate) fn meant_by(&mut self, written: &str) -> Vec<String> {
        let found = self.beginning_with(written);
        if found.is_empty() && written.len() > 1 && !written.contains('/') {
            return self.named_so(&written.to_lowercase());
        }
        found
    }

    /// The files whose paths begin with the typed text; a directory ends with a slash.
    fn beginning_with(&mut self, written: &str) -> Vec<String> {
        let (prefix, name) = written.split_at(written.rfind('/').map_or(0, |slash| slash + 1));
        let Ok(entries) = std::fs::read_dir(place_of(prefix, self.workspace)) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for entry in entries.flatten() {
            if !self.take_entry() {
                break;
            }
            let Ok(known) = entry.file_name().into_string() else {
                continue;
            };
            let is_hidden = known.starts_with('.') && !name.starts_with('.');
            if known.starts_with(name) && !is_hidden {
                let slash = if entry.path().is_dir() { "/" } else { "" };
                found.push(format!("{prefix}{known}{slash}"));
                (self.on_found)(&found);
            }
        }
        found.sort();
        found
    }

    /// The files anywhere below whose names contain this, the nearest first.
    fn named_so(&mut self, name: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut places = VecDeque::from([String::new()]);
        while let Some(place) = places.pop_front() {
            let Ok(entries) = std::fs::read_dir(self.workspace.join(&place)) else {
                continue;
            };
            for entry in entries.flatten() {
                if !self.take_entry() {
                    places.clear();
                    break;
                }
                let (Ok(known), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else {
                    continue;
                };
                if known.starts_with('.') || LEFT_OUT.contains(&known.as_str()) {
                    continue;
                }
                if kind.is_dir() {
                    places.push_back(format!("{place}{known}/"));
                } else if known.to_lowercase().contains(name) {
                    found.push(format!("{place}{known}"));
                    (self.on_found)(&found);
                }
            }
            if found.len() > FOUND {
                break;
            }
        }
        found.sort_by_key(|path| (path.matches('/').count(), path.clone()));
        found
    }
}

/// Runs a search that a person waits for.
fn quick<T>(workspace: &Path, search: impl FnOnce(&mut FileWalk<'_>) -> T) -> T {
    let mut ignore = |_: &[String]| {};
    let bounds = WalkBounds {
        entries: LOOKED_AT,
        time: QUICK,
    };
    let mut walk = FileWalk::new(workspace, bounds, Arc::default(), &mut ignore);
    search(&mut walk)
}

/// The files whose paths begin with the typed text, as far as a quick search finds them; a directory ends
/// with a slash.
pub(crate) fn files(written: &str, workspace: &Path) -> Vec<String> {
    quick(workspace, |walk| walk.beginning_with(written))
}

/// The files anywhere below whose names contain this, as far as a quick search finds them, the nearest first.
pub(crate) fn named_so(name: &str, workspace: &Path) -> Vec<String> {
    quick(workspace, |walk| walk.named_so(name))
}
