//! The changes that commands make to the files of the workspace, kept so that a rewind can undo them.
//!
//! `write` and `edit` know what they change; a command does not say. So the files are compared before and
//! after it. Their contents are kept in a directory outside of the workspace ([`WorkspaceShadow`]), by their
//! hash; what a command replaced, removed or made is then put into the log's blobs, and named in the details
//! of the call, in the form in which `write` names its change.
//!
//! | files | |
//! | --- | --- |
//! | of the workspace, as Git would see them | kept |
//! | that Git ignores | if [`CommandRewind::ignored_files`] says so |
//! | below `.git`, beyond a limit, links, devices, names that are not UTF-8 | never; the details count those beyond a limit |
//!
//! A file whose size, times, inode and mode are those of the last look is not read again. What a command
//! changes after its call has ended, in the background, is not kept.

mod entry_stamp;
mod found_change;
mod options;
mod read_file;
mod scan;
mod shadow;
mod store;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentx_runtime::BlobStore;
use serde_json::{Value, json};

use found_change::FoundChange;
pub use options::CommandRewind;
use shadow::WorkspaceShadow;

/// The most workspaces whose files are remembered.
const MOST_WORKSPACES: usize = 64;

/// Programs that change no file of the workspace when they stand alone.
const READERS: [&str; 14] = [
    "basename", "cat", "date", "dirname", "echo", "head", "ls", "printf", "pwd", "stat", "tail", "true",
    "uname", "wc",
];

/// A workspace in which commands run.
#[derive(Debug)]
struct WatchedWorkspace {
    shadow: Mutex<WorkspaceShadow>,
    /// The commands that run there.
    running: AtomicUsize,
}

impl WatchedWorkspace {
    fn lock(&self) -> MutexGuard<'_, WorkspaceShadow> {
        self.shadow.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps the changes of all commands of a toolbox.
#[derive(Clone, Debug)]
pub(crate) struct CommandChanges {
    options: CommandRewind,
    workspaces: Arc<Mutex<HashMap<PathBuf, Arc<WatchedWorkspace>>>>,
}

/// A command that runs.
pub(crate) struct WatchedCommand {
    workspace: Arc<WatchedWorkspace>,
}

impl CommandChanges {
    pub(crate) fn new(options: CommandRewind) -> Self {
        Self {
            options,
            workspaces: Arc::default(),
        }
    }

    /// Looks at the files before a command. `None` if it changes none, or they cannot be kept.
    pub(crate) async fn begin(&self, command: &str, workspace: &Path) -> Option<WatchedCommand> {
        if only_reads(command) {
            return None;
        }
        let workspace = std::fs::canonicalize(workspace).ok()?;
        let watched = WatchedCommand::new(self.workspace(&workspace));
        let workspace = Arc::clone(&watched.workspace);
        let look = move || {
            let others = workspace.running.load(Ordering::Relaxed) > 1;
            workspace.lock().begin(others)
        };
        let looked = tokio::task::spawn_blocking(look).await;
        looked.is_ok_and(|looked| looked.is_ok()).then_some(watched)
    }

    fn workspace(&self, path: &Path) -> Arc<WatchedWorkspace> {
        let mut workspaces = self.workspaces.lock().unwrap_or_else(PoisonError::into_inner);
        if workspaces.len() >= MOST_WORKSPACES && !workspaces.contains_key(path) {
            workspaces.retain(|_, workspace| Arc::strong_count(workspace) > 1);
        }
        let made = workspaces.entry(path.to_owned()).or_insert_with(|| {
            Arc::new(WatchedWorkspace {
                shadow: Mutex::new(WorkspaceShadow::new(path, self.options.clone())),
                running: AtomicUsize::new(0),
            })
        });
        Arc::clone(made)
    }
}

impl WatchedCommand {
    fn new(workspace: Arc<WatchedWorkspace>) -> Self {
        workspace.running.fetch_add(1, Ordering::Relaxed);
        Self { workspace }
    }

    /// Looks at the files after the command, puts what it replaced and made into the blobs, and adds the
    /// changes to the details of its outcome.
    pub(crate) async fn end(self, details: &mut Value, blobs: &dyn BlobStore) {
        let workspace = Arc::clone(&self.workspace);
        let look = move || {
            let mut shadow = workspace.lock();
            let found = shadow.end();
            found.map(|found| (found, shadow.left_out()))
        };
        let looked = tokio::task::spawn_blocking(look).await;
        let Ok(Ok((found, left_out))) = looked else {
            details["changes_unknown"] = json!(true);
            return;
        };
        let mut changes = Vec::new();
        for change in found.changes {
            changes.push(kept(change, blobs).await);
        }
        // An empty list says that nothing has changed, and no list that nobody looked.
        details["changes"] = Value::Array(changes);
        let beyond = found.beyond + left_out;
        if beyond > 0 {
            details["changes_not_kept"] = json!(beyond);
        }
    }
}

impl Drop for WatchedCommand {
    fn drop(&mut self) {
        self.workspace.running.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Puts the contents of a changed file into the blobs. Returns the change as the details have it.
async fn kept(change: FoundChange, blobs: &dyn BlobStore) -> Value {
    let (is_new, is_gone) = (change.before.is_none(), change.after.is_none());
    let mut ids = [Value::Null, Value::Null];
    let mut modes = [Value::Null, Value::Null];
    for (at, image) in [change.before, change.after].into_iter().enumerate() {
        let Some(image) = image else { continue };
        modes[at] = json!(image.mode);
        // What cannot be kept is told as not known.
        if let Some(bytes) = image.bytes
            && let Ok(id) = blobs.put_exact_blob(bytes).await
        {
            ids[at] = json!(id);
        }
    }
    let [pre_image, post_image] = ids;
    let [pre_mode, post_mode] = modes;
    json!({
        "path": change.path,
        "created": is_new,
        "removed": is_gone,
        "pre_image": pre_image,
        "pre_mode": pre_mode,
        "post_image": post_image,
        "mode": post_mode,
        "directories": change.directories,
    })
}

/// Returns whether a command line is a single program that changes no file.
fn only_reads(command: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " ./_-+=:,@%".contains(c);
    let first = command.split_whitespace().next().unwrap_or_default();
    command.chars().all(is_plain) && READERS.contains(&first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_line_of_a_reader_is_not_watched() {
        for (line, expected) in [
            ("true", true),
            ("ls -la src", true),
            ("cat a.txt", true),
            ("cat a > b", false),
            ("ls; touch x", false),
            ("echo $(touch x)", false),
            ("./ls", false),
            ("make", false),
            ("", false),
        ] {
            assert_eq!(only_reads(line), expected, "{line}");
        }
        assert!(READERS.is_sorted());
    }
}
