//! Restores files to an earlier state, and previews it. The facts of the session describe each file
//! ([`SessionHistory`]); this module compares them with the disk.
//!
//! Changes of others are never lost silently: a file that differs from the session's last version needs a
//! decision of the person. The replaced contents are first kept as a blob, and both are recorded before any
//! file is changed.

mod directory_entry;
mod interrupted;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use agentx_history::{FileHistory, FileVersion, IrreversibleEffect, SessionHistory};
use agentx_runtime::{
    BlobStore, FactRecorder, PlannedFile, RestoreConflict, RestoreEffect, RestoreFile, RestorePlan,
    RestoreReport, RestoreRequest, RuntimeError,
};
use agentx_types::{
    BlobId, FileFailed, FileImage, FileReplaced, FilesRestored, FilesRestoring, SessionId, Timestamp,
};

use crate::files::unified_diff;
use directory_entry::{DirectoryEntry, PresentFile};

/// The longest diff of a file that is shown.
const DIFF_BYTES: usize = 256 * 1024;

/// A file with its current and its earlier contents.
struct RestoredFile {
    present: Option<PresentFile>,
    /// The hash of the current contents.
    seen: Option<BlobId>,
    blocked: Option<String>,
}

impl RestoredFile {
    fn of(path: &str) -> Self {
        match look(path) {
            Ok(present) => Self {
                seen: present.as_ref().map(|present| id_of(&present.bytes)),
                present,
                blocked: None,
            },
            Err(why) => Self {
                present: None,
                seen: None,
                blocked: Some(why),
            },
        }
    }
}

/// Returns the plan of a restore to the state before an event.
///
/// # Errors
/// Returns an error if a blob exists and cannot be read.
pub async fn plan_restore(
    session: &SessionId,
    history: &SessionHistory,
    to_seq: u64,
    blobs: &dyn BlobStore,
) -> Result<RestorePlan, RuntimeError> {
    let mut files = Vec::new();
    for (path, trail) in history.files() {
        if trail.is_touched_since(to_seq)
            && let Some(planned) = planned(history, path, trail, to_seq, blobs).await
        {
            files.push(planned);
        }
    }
    Ok(RestorePlan {
        session_id: session.clone(),
        to_seq,
        files,
    })
}

/// Returns the plan for one file; `None` if it is unchanged.
async fn planned(
    history: &SessionHistory,
    path: &str,
    trail: &FileHistory,
    to_seq: u64,
    blobs: &dyn BlobStore,
) -> Option<PlannedFile> {
    let target = trail.version_before(to_seq);
    let RestoredFile {
        present,
        seen,
        mut blocked,
    } = on_disk(path).await;
    if blocked.is_none() && target.matches(seen.as_ref()) {
        return None;
    }
    let becomes = match bytes_of(target, blobs).await {
        Ok(bytes) => bytes,
        Err(why) => {
            blocked.get_or_insert(why);
            None
        }
    };
    let doubt = doubt(history, trail, to_seq, path, present.as_ref(), seen.as_ref());
    let (diff, added, removed) = match &blocked {
        Some(_) => (String::new(), 0, 0),
        None => {
            let now = present.as_ref().map(|present| present.bytes.as_slice());
            unified_diff(
                now.unwrap_or_default(),
                becomes.as_deref().unwrap_or_default(),
                DIFF_BYTES,
            )
        }
    };
    Some(PlannedFile {
        path: path.to_owned(),
        shown: history.show(path).to_owned(),
        happens: match (target, &present) {
            (FileVersion::Absent, _) => RestoreEffect::Removed,
            (_, None) => RestoreEffect::BroughtBack,
            (_, Some(_)) => RestoreEffect::Changed,
        },
        seen,
        doubt,
        blocked,
        added,
        removed,
        diff,
    })
}

/// Returns why a person has to be asked about a file.
fn doubt(
    history: &SessionHistory,
    trail: &FileHistory,
    to_seq: u64,
    path: &str,
    present: Option<&PresentFile>,
    seen: Option<&BlobId>,
) -> Option<RestoreConflict> {
    if !trail.left(seen) {
        if *trail.end() == FileVersion::Unknown {
            return Some(RestoreConflict::NotKnown);
        }
        let at = present.map(|present| changed_at(&present.metadata));
        return Some(RestoreConflict::ChangedSince {
            during: at.and_then(|at| running_call(history, trail, at)),
            at,
        });
    }
    if let Some(change) = trail.foreign_since(to_seq) {
        return Some(RestoreConflict::ChangedBetween { seq: change.seq });
    }
    let undoes = history.restorings().iter().any(|one| one.seq == to_seq);
    if let Some(change) = trail.work_since(to_seq).filter(|_| undoes) {
        return Some(RestoreConflict::ChangedByAgent { seq: change.seq });
    }
    if let Some(change) = trail.change_by_command_since(to_seq) {
        return Some(RestoreConflict::DuringCommand { seq: change.seq });
    }
    // The path in the log's form: a workspace that is reached through a link has another name there.
    let root = std::fs::canonicalize(history.workspace());
    let inside = root.is_ok_and(|root| Path::new(path).starts_with(root));
    (!inside).then_some(RestoreConflict::Outside)
}

fn changed_at(metadata: &std::fs::Metadata) -> Timestamp {
    let seconds = metadata.mtime().saturating_mul(1_000_000);
    Timestamp(seconds.saturating_add(metadata.mtime_nsec() / 1_000))
}

/// Returns the call of the session that ran when the file was changed. File systems round times: a little
/// before its start counts too.
fn running_call(history: &SessionHistory, trail: &FileHistory, at: Timestamp) -> Option<String> {
    const STEP_US: i64 = 10_000;
    let last = trail.changes().last().map_or(0, |last| last.seq);
    let ran = |done: &&IrreversibleEffect| done.from.0 - STEP_US <= at.0 && at.0 <= done.until.0;
    let done = history.irreversible_since(last).find(ran)?;
    let said = done.input.get("command").and_then(serde_json::Value::as_str);
    Some(match said {
        Some(command) => format!("{}: {command}", done.tool),
        None => done.tool.clone(),
    })
}

/// Restores files: keeps the current contents, records the plan, writes the files, and records which failed.
///
/// # Errors
/// Returns an error if the current contents cannot be kept, or nothing can be recorded; then no file was
/// changed. If only the end cannot be recorded, the files are restored, and the session reports that it is
/// not sure.
pub async fn restore(
    history: &SessionHistory,
    wish: &RestoreRequest,
    blobs: &dyn BlobStore,
    record: &dyn FactRecorder,
) -> Result<RestoreReport, RuntimeError> {
    interrupted::remove_left(history).await;
    let mut report = RestoreReport::default();
    let work = replacements(history, wish, blobs, &mut report).await?;
    if work.is_empty() {
        report.seq = interrupted::end(history, wish.to_seq, record).await?;
        return Ok(report);
    }
    let begun = FilesRestoring {
        to_seq: wish.to_seq,
        files: work.values().map(|work| work.replaced.clone()).collect(),
        by: None,
    };
    let seq = record.record(begun.into()).await?;
    report.seq = Some(seq);
    let (mut failed, mut gone) = (Vec::new(), Vec::new());
    for (path, Replacement { replaced, bytes }) in work {
        let goes = bytes.is_none();
        match put(replaced, bytes).await {
            Ok(()) => {
                gone.extend(goes.then(|| path.clone()));
                report.restored.push(path);
            }
            Err(what) => failed.push(FileFailed { path, what }),
        }
    }
    report.directories = emptied(history.made_since(wish.to_seq), &gone).await;
    report.failed.extend(failed.iter().cloned());
    let ended = FilesRestored {
        restoring: seq,
        failed,
    };
    record.record(ended.into()).await?;
    Ok(report)
}

/// A file that gets its earlier contents back.
struct Replacement {
    /// The replacement as it is recorded.
    replaced: FileReplaced,
    /// The earlier contents; `None` if there was no file.
    bytes: Option<Vec<u8>>,
}

/// Returns the files that have to be replaced, by path, with their current contents kept as blobs. Files that
/// need no work or cannot be restored are noted in the report.
async fn replacements(
    history: &SessionHistory,
    wish: &RestoreRequest,
    blobs: &dyn BlobStore,
    report: &mut RestoreReport,
) -> Result<BTreeMap<String, Replacement>, RuntimeError> {
    let mut work = BTreeMap::new();
    for file in &wish.files {
        let fail = |what| failure(file, what);
        let Some(trail) = history.files().get(&file.path) else {
            report.failed.push(fail("this session never changed it".into()));
            continue;
        };
        let target = trail.version_before(wish.to_seq).clone();
        let standing = on_disk(&file.path).await;
        if let Some(why) = standing.blocked {
            report.failed.push(fail(why));
            continue;
        }
        if standing.seen != file.seen {
            report.failed.push(fail(CHANGED_MEANWHILE.into()));
            continue;
        }
        if target.matches(standing.seen.as_ref()) {
            report.restored.push(file.path.clone());
            continue;
        }
        match bytes_of(&target, blobs).await {
            Ok(bytes) => {
                let replaced = kept(&file.path, standing.present, &target, blobs).await?;
                work.insert(file.path.clone(), Replacement { replaced, bytes });
            }
            Err(why) => report.failed.push(fail(why)),
        }
    }
    Ok(work)
}

fn failure(file: &RestoreFile, what: String) -> FileFailed {
    let path = file.path.clone();
    FileFailed { path, what }
}

const CHANGED_MEANWHILE: &str = "it has changed since it was looked at";

/// Keeps the current contents of a file.
async fn kept(
    path: &str,
    present: Option<PresentFile>,
    target: &FileVersion,
    blobs: &dyn BlobStore,
) -> Result<FileReplaced, RuntimeError> {
    let was = match present {
        Some(present) => Some(FileImage {
            mode: Some(present.metadata.permissions().mode() & 0o7777),
            blob: blobs.put_exact_blob(present.bytes).await?,
        }),
        None => None,
    };
    Ok(FileReplaced {
        path: path.to_owned(),
        was,
        becomes: match target {
            FileVersion::File(image) => Some(image.clone()),
            FileVersion::Absent | FileVersion::Unknown => None,
        },
    })
}

/// Removes empty directories that the session created for removed files; returns those that were removed.
/// Others stay without an error, because they are in use.
async fn emptied(made: BTreeSet<&str>, gone: &[String]) -> Vec<String> {
    let holds = |directory: &&str| gone.iter().any(|file| Path::new(file).starts_with(directory));
    // The innermost first: a path is sorted before those in it.
    let candidates: Vec<String> = made.into_iter().rev().filter(holds).map(str::to_owned).collect();
    let removed = blocking(move || {
        let is_removed = |path: &String| {
            let spot = DirectoryEntry::reach(Path::new(path), false).ok().flatten();
            spot.is_some_and(|spot| spot.remove_directory())
        };
        Ok(candidates.into_iter().filter(is_removed).collect())
    });
    removed.await.unwrap_or_default()
}

/// Restores one file, unless it has changed since the plan was recorded.
async fn put(replaced: FileReplaced, bytes: Option<Vec<u8>>) -> Result<(), String> {
    blocking(move || {
        let path = Path::new(&replaced.path);
        let Some(spot) = DirectoryEntry::reach(path, bytes.is_some())? else {
            return Ok(());
        };
        let there = spot.look()?;
        let seen = there.as_ref().map(|present| id_of(&present.bytes));
        if seen != replaced.was.map(|was| was.blob) {
            return Err(CHANGED_MEANWHILE.into());
        }
        match bytes {
            Some(bytes) => {
                let mode = replaced.becomes.and_then(|image| image.mode);
                spot.put(&bytes, mode, there.as_ref().map(|present| &present.metadata))
            }
            None => spot.remove(),
        }
    })
    .await
}

/// Returns the contents to restore; `None` if the file is to be removed.
async fn bytes_of(image: &FileVersion, blobs: &dyn BlobStore) -> Result<Option<Vec<u8>>, String> {
    match image {
        FileVersion::Absent => Ok(None),
        FileVersion::Unknown => Err("the session does not tell how it was".into()),
        FileVersion::File(image) => match blobs.get_blob(&image.blob, 0..u64::MAX).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) => Err(format!("how it was cannot be read: {error}")),
        },
    }
}

async fn on_disk(path: &str) -> RestoredFile {
    let path = path.to_owned();
    match blocking(move || Ok(RestoredFile::of(&path))).await {
        Ok(standing) => standing,
        Err(why) => RestoredFile {
            present: None,
            seen: None,
            blocked: Some(why),
        },
    }
}

fn look(path: &str) -> Result<Option<PresentFile>, String> {
    if !directory_entry::is_a_path(path) {
        return Err("its path is not a plain one".into());
    }
    match DirectoryEntry::reach(Path::new(path), false)? {
        Some(spot) => spot.look(),
        None => Ok(None),
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(format!("it broke: {error}")))
}

/// Returns the id that a blob of these bytes has.
fn id_of(bytes: &[u8]) -> BlobId {
    BlobId::with_suffix(blake3::hash(bytes).to_hex())
}
