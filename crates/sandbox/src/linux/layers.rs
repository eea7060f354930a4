//! The layers of a command over caches whose files run elsewhere as they are: it reads the person's cache,
//! and what it writes goes into a directory of its session.
//!
//! Two mounts with one upper directory would see each other's changes half, so each process that makes a root
//! takes a set of layers of its own. A lock says which sets are taken; it ends with the processes that
//! inherit it, which are those that have the mounts. The next process takes the set again with what is in it.

use std::fs::{self, File, TryLockError};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use nix::mount::{MsFlags, mount};

use super::kernel::descriptor;
use super::landlock::open;
use crate::{SandboxError, SandboxPaths, temporary};

/// The most sets of a session: each belongs to commands that run at the same time.
const MOST_SETS: u32 = 256;

/// A set of layers that this process has taken.
pub(super) struct LayerSet(PathBuf);

/// The upper layer over one cache.
pub(super) struct CacheLayer {
    pub(super) upper: File,
    work: File,
}

impl LayerSet {
    /// Takes the first set that nobody has, until this process and its children end.
    pub(super) fn take(paths: &SandboxPaths) -> Result<Self, SandboxError> {
        let above = paths.layers();
        temporary::make(&above)?;
        for number in 0..MOST_SETS {
            let lock = above.join(format!("{number}.lock"));
            let failed = |error| SandboxError::path(&lock, error);
            let mut how = File::options();
            let file = how
                .write(true)
                .create(true)
                .truncate(false)
                .open(&lock)
                .map_err(failed)?;
            match file.try_lock() {
                Ok(()) => {
                    // A program that is executed does not have it.
                    std::mem::forget(file);
                    return Ok(Self(above.join(number.to_string())));
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
        Err(SandboxError::path(
            &above,
            "too many commands of this session run at once; end some",
        ))
    }

    /// Makes the layer over a cache.
    pub(super) fn layer_over(&self, cache: &Path) -> Result<CacheLayer, SandboxError> {
        let mut hasher = DefaultHasher::new();
        cache.hash(&mut hasher);
        let layer = self.0.join(format!("{:016x}", hasher.finish()));
        // The mark that an earlier mount was volatile stands there, and the kernel refuses another one then.
        let _ = fs::remove_dir_all(layer.join("work"));
        let part = |name: &str| {
            let path = layer.join(name);
            fs::create_dir_all(&path).map_err(|error| SandboxError::path(&path, error))?;
            let opened = open(&path)?.ok_or_else(|| SandboxError::path(&path, "it is gone"))?;
            Ok(opened.0)
        };
        Ok(CacheLayer {
            upper: part("upper")?,
            work: part("work")?,
        })
    }
}

impl CacheLayer {
    /// Mounts the cache with this layer. Returns whether this file system and this kernel can do it. Nothing
    /// has to survive a crash of the machine: otherwise the end of each command would wait until the disk has
    /// all of the file system.
    pub(super) fn mount(&self, cache: &File, at: &File) -> bool {
        let options = format!(
            "lowerdir={},upperdir={},workdir={},userxattr,volatile",
            descriptor(cache),
            descriptor(&self.upper),
            descriptor(&self.work)
        );
        let kind = Some("overlay");
        let at = descriptor(at);
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        let mounted = mount(kind, at.as_str(), kind, flags, Some(options.as_str()));
        // The kernel makes directories there that their owner could not remove outside of this namespace.
        for made in ["work", "work/incompat", "work/incompat/volatile"] {
            let made = Path::new(&descriptor(&self.work)).join(made);
            let _ = fs::set_permissions(made, fs::Permissions::from_mode(0o700));
        }
        mounted.is_ok()
    }
}
