//! The bind mounts of a policy, in their order. Every path is opened before anything is mounted.

use std::fs::{self, File, Metadata};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::kernel::descriptor;
use super::landlock::{open, open_itself};
use super::layers::{CacheLayer, LayerSet};
use crate::repository::{ITSELF, harmless_content};
use crate::{SandboxError, SandboxPaths};

/// `MOUNT_ATTR_*` of `linux/mount.h`.
pub(super) const READ_ONLY: u64 = 1;
pub(super) const NO_SETUID: u64 = 1 << 1;
pub(super) const NO_DEVICES: u64 = 1 << 2;

/// Something to be bound.
pub(super) struct BindMount {
    pub(super) from: File,
    pub(super) is_directory: bool,
    pub(super) at: PathBuf,
    pub(super) attributes: u64,
    /// The layer into which the command writes what it writes there.
    pub(super) layer: Option<CacheLayer>,
}

/// Returns the bind mounts in the order in which they have to be made: parents first.
pub(super) fn bindings(paths: &SandboxPaths) -> Result<Vec<BindMount>, SandboxError> {
    let read_only = READ_ONLY | NO_SETUID | NO_DEVICES;
    let writable = NO_SETUID | NO_DEVICES;
    for path in &paths.protected {
        make_missing(path, paths.hooks.contains(path));
    }
    let mut bindings = Vec::new();
    let mut add = |path: &Path, opened: Option<(File, Metadata)>, attributes| {
        // The process has its own.
        if let Some((from, about)) = opened
            && !path.starts_with("/proc")
            && !path.starts_with("/dev")
        {
            bindings.push(BindMount {
                from,
                is_directory: about.is_dir(),
                at: path.to_owned(),
                attributes,
                layer: None,
            });
        }
    };
    for path in &paths.read {
        add(path, open(path)?, read_only);
    }
    for path in &paths.private {
        add(path, open(path)?, writable);
    }
    for path in &paths.write {
        add(path, open(path)?, writable);
    }
    for path in &paths.protected {
        add(path, open_itself(path)?, read_only);
    }
    if !paths.private.is_empty() {
        let layers = LayerSet::take(paths)?;
        let is_private = |binding: &&mut BindMount| paths.private.contains(&binding.at);
        for binding in bindings
            .iter_mut()
            .filter(is_private)
            .filter(|binding| binding.is_directory)
        {
            binding.layer = Some(layers.layer_over(&binding.at)?);
        }
    }
    // At its own path, where other programs find it; below `/tmp` a link leads there.
    let is_reached = paths.temporary.starts_with("/tmp")
        || paths.write.iter().any(|above| paths.temporary.starts_with(above));
    if !is_reached && let Some((from, _)) = open(&paths.temporary)? {
        bindings.push(BindMount {
            from,
            is_directory: true,
            at: paths.temporary.clone(),
            attributes: writable,
            layer: None,
        });
    }
    // The sort keeps the order of equal paths: what may be written wins over what may be read, and what is
    // protected over both.
    bindings.sort_by_key(|binding| binding.at.components().count());
    Ok(bindings)
}

/// Creates a missing control file of Git, so that it can be mounted over; otherwise a command could create
/// it. The content changes nothing for Git. A file that cannot be created here cannot be created by a command
/// either.
fn make_missing(path: &Path, is_hooks: bool) {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return;
    };
    if above.ends_with("info")
        && let Some(repository) = above.parent()
        && let Ok(Some((repository, _))) = open(repository)
    {
        let _ = fs::create_dir(Path::new(&descriptor(&repository)).join("info"));
    }
    // No link on the way is followed.
    let Ok(Some((above, _))) = open(above) else {
        return;
    };
    let at = Path::new(&descriptor(&above)).join(name);
    if is_hooks || name == "hooks" {
        let _ = fs::create_dir(&at);
    } else if let Some(content) = harmless_content(path) {
        replace_earlier(&at);
        if let Ok(mut file) = File::create_new(&at) {
            let _ = file.write_all(content.as_bytes());
        }
    }
}

/// Removes a `commondir` as AgentX made it once: libgit2 takes no directory with one for a repository.
fn replace_earlier(at: &Path) {
    let is_file = fs::symlink_metadata(at).is_ok_and(|about| about.is_file());
    if is_file && at.ends_with("commondir") && fs::read(at).is_ok_and(|text| text == ITSELF[0].as_bytes()) {
        let _ = fs::remove_file(at);
    }
}
