//! The bind mounts of a policy, in their order. Every path is opened before anything is mounted.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::fd::{AsFd, AsRawFd as _};
use std::path::{Path, PathBuf};

use super::landlock::open;
use crate::repository::harmless_content;
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
}

/// Returns the bind mounts in the order in which they have to be made: parents first.
pub(super) fn bindings(paths: &SandboxPaths) -> Result<Vec<BindMount>, SandboxError> {
    let read_only = READ_ONLY | NO_SETUID | NO_DEVICES;
    let kinds = [
        (&paths.read, read_only),
        (&paths.write, NO_SETUID | NO_DEVICES),
        (&paths.protected, read_only),
    ];
    for path in &paths.protected {
        make_missing(path);
    }
    let mut bindings = Vec::new();
    for (paths, attributes) in kinds {
        for path in paths {
            // The process has its own.
            if path.starts_with("/proc") || path.starts_with("/dev") {
                continue;
            }
            if let Some((from, about)) = open(path)? {
                bindings.push(BindMount {
                    from,
                    is_directory: about.is_dir(),
                    at: path.clone(),
                    attributes,
                });
            }
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
            attributes: NO_SETUID | NO_DEVICES,
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
fn make_missing(path: &Path) {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return;
    };
    // No link on the way is followed.
    let Ok(Some((above, _))) = open(above) else {
        return;
    };
    let at = Path::new(&descriptor(&above)).join(name);
    if name == "hooks" {
        let _ = fs::create_dir(&at);
    } else if let Some(content) = harmless_content(path)
        && let Ok(mut file) = File::create_new(&at)
    {
        let _ = file.write_all(content.as_bytes());
    }
}

/// The path of an open file, which stays valid after later mounts and renames.
pub(super) fn descriptor(file: impl AsFd) -> String {
    format!("/proc/self/fd/{}", file.as_fd().as_raw_fd())
}
