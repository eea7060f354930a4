//! Changing a file: one change at a time, the earlier state kept first, the new state in place atomically.

use std::collections::HashSet;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agentx_runtime::ToolContext;
use agentx_types::BlobId;
use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::content_kind;
use crate::failure::ToolFailure;
use crate::options::FileOptions;
use crate::workspace::{Scope, explain};
use crate::{temporary, text};

/// Serialises edits of files. A model may ask for several edits of one file at once; each has to see the
/// result of the one before it.
#[derive(Clone, Default)]
pub(crate) struct EditLock {
    turn: Arc<Mutex<HashSet<PathBuf>>>,
}

/// The held lock, with the directories that were checked for files of killed processes.
pub(crate) type EditGuard = OwnedMutexGuard<HashSet<PathBuf>>;

/// The state of a file before a change.
pub(crate) struct OriginalFile {
    pub(crate) real: PathBuf,
    pub(crate) bytes: Option<Vec<u8>>,
    metadata: Option<Metadata>,
}

/// A change that was decided and not yet made.
pub(crate) struct PlannedChange {
    pub(crate) before: OriginalFile,
    pub(crate) after: Vec<u8>,
    pre_image: Option<BlobId>,
    post_image: BlobId,
}

impl EditLock {
    /// Waits for the turn.
    pub(crate) async fn lock(&self, context: &ToolContext) -> Result<EditGuard, ToolFailure> {
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => Err(ToolFailure::interrupted()),
            turn = Arc::clone(&self.turn).lock_owned() => Ok(turn),
        }
    }
}

impl OriginalFile {
    /// Reads the file at `path`; there may be none.
    pub(crate) fn read(scope: &Scope, path: &str, options: &FileOptions) -> Result<Self, ToolFailure> {
        let real = scope.resolve(path)?;
        let fail = |error: io::Error| ToolFailure::failed(format!("{path}: {}", explain(&error)));
        let metadata = match fs::metadata(&real) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self {
                    real,
                    bytes: None,
                    metadata: None,
                });
            }
            Err(error) => return Err(fail(error)),
        };
        if let Some(what) = content_kind::special(&metadata) {
            return Err(ToolFailure::failed(format!("{path} is {what}, not a file.")));
        }
        if metadata.permissions().readonly() {
            return Err(ToolFailure::failed(format!("{path} is read-only.")));
        }
        if metadata.len() > options.edit_bytes {
            return Err(ToolFailure::failed(format!(
                "{path} has {}; at most {} can be changed here, use bash.",
                text::size(metadata.len()),
                text::size(options.edit_bytes)
            )));
        }
        let bytes = fs::read(&real).map_err(fail)?;
        Ok(Self {
            real,
            bytes: Some(bytes),
            metadata: Some(metadata),
        })
    }
}

impl PlannedChange {
    /// Plans a change. The old and the new contents are kept, so that a rewind can restore the old ones,
    /// recognize the new ones, and can itself be rewound.
    pub(crate) async fn of(
        before: OriginalFile,
        after: Vec<u8>,
        context: &ToolContext,
    ) -> Result<Self, ToolFailure> {
        let pre_image = match &before.bytes {
            Some(bytes) => Some(keep(bytes, context).await?),
            None => None,
        };
        let post_image = keep(&after, context).await?;
        Ok(Self {
            before,
            after,
            pre_image,
            post_image,
        })
    }

    /// Writes the new contents and reports the change. Owns the guard, so that the next edit waits for it.
    pub(crate) async fn make(self, turn: EditGuard, diff_bytes: usize) -> Result<Value, ToolFailure> {
        // This continues when the call is cancelled, because the model has to know whether the file changed.
        let done = tokio::task::spawn_blocking(move || {
            let mut turn = turn;
            let directories = missing_above(&self.before.real);
            self.replace(&mut turn).map_err(|error| {
                ToolFailure::failed(format!("{}: {}", self.before.real.display(), explain(&error)))
            })?;
            Ok(self.details(diff_bytes, &directories))
        });
        done.await
            .unwrap_or_else(|error| Err(ToolFailure::failed(format!("The tool broke: {error}."))))
    }

    /// Writes a new file next to the old one and renames it: a reader sees one or the other, never half of
    /// it.
    fn replace(&self, looked_at: &mut HashSet<PathBuf>) -> io::Result<()> {
        let directory = self.before.real.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(directory)?;
        if looked_at.insert(directory.to_owned())
            && let Ok(directory) = File::open(directory)
        {
            temporary::remove_left(&directory);
        }
        let temporary = directory.join(temporary::name());
        let mut file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        temporary::hold(&file);
        let done = self
            .fill(&mut file)
            .and_then(|()| fs::rename(&temporary, &self.before.real));
        if done.is_err() {
            // The first error matters more than a file that could not be removed either.
            let _ = fs::remove_file(&temporary);
        }
        done
    }

    fn fill(&self, file: &mut File) -> io::Result<()> {
        if let Some(metadata) = &self.before.metadata {
            temporary::copy_permissions(metadata, file)?;
        }
        file.write_all(&self.after)
    }

    fn details(&self, diff_bytes: usize, directories: &[PathBuf]) -> Value {
        let before = self.before.bytes.as_deref().unwrap_or_default();
        let (diff, added, removed) = unified_diff(before, &self.after, diff_bytes);
        // If the mode cannot be read any more, it is left out.
        let mode = fs::metadata(&self.before.real)
            .ok()
            .map(|now| now.permissions().mode() & 0o7777);
        let mut details = json!({
            "path": self.before.real.to_string_lossy(),
            "created": self.before.bytes.is_none(),
            "bytes": self.after.len(),
            "pre_image": self.pre_image,
            "post_image": self.post_image,
            "mode": mode,
            "added": added,
            "removed": removed,
            "diff": diff,
        });
        if !directories.is_empty() {
            let made = directories.iter().map(|path| path.to_string_lossy());
            details["directories"] = made.collect();
        }
        details
    }
}

/// Returns the missing directories above a file, the outermost first: writing the file creates them, and a
/// rewind removes them again.
fn missing_above(file: &Path) -> Vec<PathBuf> {
    let above = file.ancestors().skip(1);
    let missing = above.take_while(|directory| fs::symlink_metadata(directory).is_err());
    let mut missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    missing.reverse();
    missing
}

async fn keep(bytes: &[u8], context: &ToolContext) -> Result<BlobId, ToolFailure> {
    let kept = context.blobs.put_exact_blob(bytes.to_vec()).await;
    kept.map_err(|error| {
        ToolFailure::failed(format!(
            "Nothing was changed: the file as it is could not be kept: {error}"
        ))
    })
}

/// Returns the diff as text, cut to `most` bytes, and the numbers of added and removed lines. Empty for files
/// that are not text.
pub(crate) fn unified_diff(before: &[u8], after: &[u8], most: usize) -> (String, usize, usize) {
    const PATIENCE: Duration = Duration::from_millis(200);
    if memchr::memchr(0, before).or(memchr::memchr(0, after)).is_some() {
        return (String::new(), 0, 0);
    }
    let (before, after) = (String::from_utf8_lossy(before), String::from_utf8_lossy(after));
    let diff = TextDiff::configure()
        .timeout(PATIENCE)
        .diff_lines(before.as_ref(), after.as_ref());
    let count = |tag| {
        diff.iter_all_changes()
            .filter(|change| change.tag() == tag)
            .count()
    };
    let (added, removed) = (count(ChangeTag::Insert), count(ChangeTag::Delete));
    let text = diff.unified_diff().context_radius(3).to_string();
    let shown = text::head(&text, most);
    let cut = if shown.len() < text.len() {
        "[the diff continues]\n"
    } else {
        ""
    };
    (format!("{shown}{cut}"), added, removed)
}
