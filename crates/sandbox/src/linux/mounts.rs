//! The root directory of a command in a namespace: an empty file system with what the policy names, bound at
//! its own places.
//!
//! Every path is opened before anything is mounted, and again below the new root, without following symbolic
//! links: another command that works in the same directory at this moment could put one in the way.

use std::fs::{self, File};
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Path, PathBuf};

use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::unistd::{chdir, pivot_root};

use super::bind_mounts::{BindMount, NO_DEVICES, NO_SETUID, READ_ONLY, bindings, descriptor};
use super::held_program::DEVICES;
use super::kernel::set_mount;
use super::landlock::open;
use crate::{SandboxError, SandboxPaths};

/// Parts of `/proc` through which root changes the machine.
const PROC_READ_ONLY: [&str; 5] = ["bus", "fs", "irq", "sys", "sysrq-trigger"];

/// The new root while it is built. `at` is where it is mounted.
struct NewRoot {
    at: PathBuf,
    root: File,
}

/// Makes the new root and moves into it. The process has its own mount and pid namespaces.
pub(super) fn enter_new_root(paths: &SandboxPaths) -> Result<(), SandboxError> {
    enter(paths, |root| {
        root.own_devices()?;
        root.processes()
    })?;
    link_own_path(&paths.temporary);
    Ok(())
}

/// Makes a root of which commands get copies, and moves into it. The process has its own mount namespace.
/// [`complete_copy`] adds what each command has for itself. Its `/proc` is that of the machine: the kernel
/// lets nobody mount a new one who sees none, and each copy covers it with that.
pub(super) fn enter_template(paths: &SandboxPaths) -> Result<(), SandboxError> {
    enter(paths, |root| {
        for path in ["/dev/pts", "/dev/shm"] {
            root.directory(Path::new(path))?;
        }
        let path = Path::new("/proc");
        root.bind(&BindMount {
            from: File::from(opened(path)?),
            is_directory: true,
            at: path.to_owned(),
            attributes: 0,
        })
    })
}

/// Adds to the copy of a template, in which this process is, what belongs to one command. The process has its
/// own mount and pid namespaces.
pub(super) fn complete_copy() -> Result<(), SandboxError> {
    let top = Path::new("/");
    let root = NewRoot {
        at: top.to_owned(),
        root: File::from(opened(top)?),
    };
    root.own_devices()?;
    root.processes()
}

/// Makes a root with the files of the policy and what `add` adds, and moves into it.
fn enter(
    paths: &SandboxPaths,
    add: impl FnOnce(&NewRoot) -> Result<(), SandboxError>,
) -> Result<(), SandboxError> {
    let failed = |error| SandboxError::set_up("its own root directory", error);
    mount_plain(None, "/", None, MsFlags::MS_REC | MsFlags::MS_PRIVATE).map_err(failed)?;
    let bindings = bindings(paths)?;
    let top_links = top_links();
    let temporary = File::from(opened(&paths.temporary)?);
    // An existing directory from which nothing else is bound; the paths below are already open.
    let at = paths.temporary.parent().unwrap_or(&paths.temporary).to_owned();
    mount_plain(
        Some("tmpfs"),
        &at,
        Some("mode=0755"),
        MsFlags::MS_NOSUID | MsFlags::MS_NODEV,
    )
    .map_err(failed)?;
    let root = NewRoot {
        root: File::from(opened(&at)?),
        at,
    };
    for (name, to) in top_links {
        symlink(to, root.at.join(name)).map_err(failed)?;
    }
    root.bind(&BindMount {
        from: temporary,
        is_directory: true,
        at: "/tmp".into(),
        attributes: NO_SETUID | NO_DEVICES,
    })?;
    for binding in &bindings {
        root.bind(binding)?;
    }
    root.devices()?;
    add(&root)?;
    for hidden in &paths.hidden {
        root.hide(hidden)?;
    }
    root.links(paths)?;
    if let Some(home) = &paths.home {
        root.directory(home)?;
    }
    root.close()
}

/// Lets a command find its `/tmp` at the path, too, that the directory has for other programs, if that is
/// below `/tmp`: by a link. This is done inside the new root, so a link that an earlier command left on the
/// way leads nowhere else than that command could go itself.
pub(super) fn link_own_path(temporary: &Path) {
    let Ok(below) = temporary.strip_prefix("/tmp") else {
        return;
    };
    // From the directory of the link back to `/tmp`. It leads there outside of the sandbox as well.
    let up: PathBuf = below.components().skip(1).map(|_| "..").collect();
    let above = temporary.parent().unwrap_or(Path::new("/tmp"));
    // Without it, `TMPDIR` is `/tmp`.
    let _ = fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(above)
        .and_then(|()| symlink(&up, temporary));
}

/// Symbolic links of the root directory, such as `/bin`.
fn top_links() -> Vec<(std::ffi::OsString, PathBuf)> {
    let entries = fs::read_dir("/").into_iter().flatten().flatten();
    let link = |entry: fs::DirEntry| Some((entry.file_name(), fs::read_link(entry.path()).ok()?));
    entries.filter_map(link).collect()
}

impl NewRoot {
    /// Binds something at its place.
    fn bind(&self, binding: &BindMount) -> Result<(), SandboxError> {
        let failed = |error: std::io::Error| SandboxError::path(&binding.at, error);
        let place = self.place(&binding.at, binding.is_directory)?;
        mount_plain(
            Some(&descriptor(&binding.from)),
            descriptor(&place),
            None,
            MsFlags::MS_BIND | MsFlags::MS_REC,
        )
        .map_err(failed)?;
        // Opened again: now the root of the mount is there.
        set_mount(self.open(&binding.at)?, binding.attributes, true).map_err(failed)
    }

    /// Makes the place of a mount, if it is not there, and opens it.
    fn place(&self, path: &Path, is_directory: bool) -> Result<File, SandboxError> {
        if let Ok(there) = self.open(path) {
            return Ok(there);
        }
        if is_directory {
            self.directory(path)?;
        } else {
            self.directory(path.parent().unwrap_or(Path::new("/")))?;
            File::create_new(self.path_in_root(path)).map_err(|error| SandboxError::path(path, error))?;
        }
        self.open(path)
    }

    fn open(&self, path: &Path) -> Result<File, SandboxError> {
        let how = OpenHow::new()
            .flags(OFlag::O_PATH | OFlag::O_CLOEXEC)
            .resolve(ResolveFlag::RESOLVE_NO_SYMLINKS | ResolveFlag::RESOLVE_BENEATH);
        let relative = path.strip_prefix("/").unwrap_or(path);
        let relative = if relative.as_os_str().is_empty() {
            Path::new(".")
        } else {
            relative
        };
        let opened = openat2(&self.root, relative, how);
        opened
            .map(File::from)
            .map_err(|error| SandboxError::path(path, error))
    }

    fn path_in_root(&self, path: &Path) -> PathBuf {
        self.at.join(path.strip_prefix("/").unwrap_or(path))
    }

    fn directory(&self, path: &Path) -> Result<(), SandboxError> {
        let made = fs::DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(self.path_in_root(path));
        made.map_err(|error| SandboxError::path(path, error))
    }

    /// `/dev` with the devices that only read and write.
    fn devices(&self) -> Result<(), SandboxError> {
        let failed = |error: std::io::Error| SandboxError::set_up("/dev", error);
        for device in DEVICES {
            let device = Path::new(device);
            self.bind(&BindMount {
                from: File::from(opened(device)?),
                is_directory: false,
                at: device.to_owned(),
                attributes: NO_SETUID,
            })?;
        }
        for (name, to) in [
            ("ptmx", "pts/ptmx"),
            ("fd", "/proc/self/fd"),
            ("stdin", "/proc/self/fd/0"),
            ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"),
        ] {
            symlink(to, self.path_in_root(Path::new("/dev")).join(name)).map_err(failed)?;
        }
        Ok(())
    }

    /// Terminals and shared memory of its own.
    fn own_devices(&self) -> Result<(), SandboxError> {
        let failed = |error: std::io::Error| SandboxError::set_up("/dev", error);
        for (path, kind, options) in [
            ("/dev/pts", "devpts", "newinstance,ptmxmode=0666,mode=620"),
            ("/dev/shm", "tmpfs", "mode=1777"),
        ] {
            self.directory(Path::new(path))?;
            let flags = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
            mount_plain(
                Some(kind),
                self.path_in_root(Path::new(path)),
                Some(options),
                flags,
            )
            .map_err(failed)?;
        }
        Ok(())
    }

    /// `/proc` of the new pid namespace.
    fn processes(&self) -> Result<(), SandboxError> {
        let failed = |error: std::io::Error| SandboxError::set_up("its own /proc", error);
        let path = Path::new("/proc");
        self.directory(path)?;
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        mount_plain(Some("proc"), self.path_in_root(path), None, flags).map_err(failed)?;
        for part in PROC_READ_ONLY.map(|part| path.join(part)) {
            let Ok(from) = self.open(&part) else { continue };
            self.bind(&BindMount {
                from,
                is_directory: true,
                at: part,
                attributes: READ_ONLY | NO_SETUID | NO_DEVICES,
            })?;
        }
        Ok(())
    }

    /// Puts something empty over what is hidden, if it is there.
    fn hide(&self, path: &Path) -> Result<(), SandboxError> {
        let failed = |error: std::io::Error| SandboxError::path(path, error);
        let Ok(place) = self.open(path) else {
            return Ok(());
        };
        let is_directory = place.metadata().map_err(failed)?.is_dir();
        let place = descriptor(&place);
        if is_directory {
            let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC | MsFlags::MS_RDONLY;
            mount_plain(Some("tmpfs"), &place, Some("mode=0755"), flags).map_err(failed)
        } else {
            mount_plain(Some("/dev/null"), &place, None, MsFlags::MS_BIND).map_err(failed)
        }
    }

    /// Links on the way to what is bound. One whose place is taken already is not needed.
    fn links(&self, paths: &SandboxPaths) -> Result<(), SandboxError> {
        for link in &paths.links {
            let at = self.path_in_root(&link.at);
            if let Some(above) = link.at.parent()
                && self.directory(above).is_ok()
                && fs::symlink_metadata(&at).is_err()
            {
                // Below something that is read-only the link is there already, or not needed.
                let _ = symlink(&link.to, &at);
            }
        }
        Ok(())
    }

    /// Makes it the root, and lets go of the old one.
    fn close(self) -> Result<(), SandboxError> {
        let failed = |error| SandboxError::set_up("its own root directory", error);
        set_mount(&self.root, READ_ONLY | NO_SETUID | NO_DEVICES, false)
            .map_err(|error| SandboxError::set_up("its own root directory", error))?;
        chdir(&self.at).map_err(failed)?;
        pivot_root(".", ".").map_err(failed)?;
        umount2(".", MntFlags::MNT_DETACH).map_err(failed)?;
        chdir("/").map_err(failed)
    }
}

fn opened(path: &Path) -> Result<std::os::fd::OwnedFd, SandboxError> {
    let found = open(path)?;
    let (file, _) = found.ok_or_else(|| SandboxError::path(path, "it is not there"))?;
    Ok(file.into())
}

fn mount_plain(
    source: Option<&str>,
    at: impl AsRef<Path>,
    options: Option<&str>,
    flags: MsFlags,
) -> std::io::Result<()> {
    // The kind of a new file system is its source as well.
    let kind = source.filter(|_| !flags.contains(MsFlags::MS_BIND));
    mount(source, at.as_ref(), kind, flags, options)?;
    Ok(())
}
