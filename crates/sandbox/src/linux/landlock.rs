//! The rule set of Landlock for a policy: which rights each path gets, and which paths need a rule.

use std::fs::{File, Metadata};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, ResolveFlag, openat2};

use super::kernel::{RulesetAttr, landlock_port_rule, landlock_restrict, landlock_rule, landlock_ruleset};
use crate::SandboxError;

/// Rights of `linux/landlock.h`.
const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const MAKE_CHAR: u64 = 1 << 6;
const MAKE_BLOCK: u64 = 1 << 11;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;
/// All rights of the first version.
const FIRST: u64 = (1 << 13) - 1;

const READ: u64 = EXECUTE | READ_FILE | READ_DIR;
/// The rights that a file can have.
const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;

const BIND_TCP: u64 = 1;
const CONNECT_TCP: u64 = 1 << 1;
const NETWORK: u64 = BIND_TCP | CONNECT_TCP;
/// Abstract sockets, and signals.
const SCOPES: u64 = 1 | 1 << 1;

/// The permitted paths and networks, as Landlock rules.
pub(crate) struct LandlockRules<'a> {
    pub(crate) read: Vec<&'a Path>,
    pub(crate) write: Vec<&'a Path>,
    pub(crate) hidden: &'a [PathBuf],
    /// Whether TCP is unrestricted.
    pub(crate) network: bool,
    /// The only port to which TCP sockets may connect otherwise, at any host.
    pub(crate) port: Option<u16>,
}

/// Returns the rights that this version of the interface knows.
fn handled(abi: u32) -> u64 {
    let since = |version, right| if abi >= version { right } else { 0 };
    FIRST | since(2, REFER) | since(3, TRUNCATE) | since(5, IOCTL_DEV)
}

fn attributes(abi: u32, network: bool) -> (RulesetAttr, usize) {
    let attr = RulesetAttr {
        handled_access_fs: handled(abi),
        handled_access_net: if abi >= 4 && !network { NETWORK } else { 0 },
        scoped: if abi >= 6 { SCOPES } else { 0 },
    };
    let fields = match abi {
        ..4 => 1,
        4..6 => 2,
        6.. => 3,
    };
    (attr, fields * size_of::<u64>())
}

/// Holds this process to the rules. Needs `no_new_privs`.
pub(crate) fn restrict(rules: &LandlockRules<'_>, abi: u32) -> Result<(), SandboxError> {
    let failed = |error| SandboxError::set_up("Landlock", error);
    let (attr, size) = attributes(abi, rules.network);
    let ruleset = landlock_ruleset(&attr, size).map_err(failed)?;
    let writing = handled(abi) & !(MAKE_CHAR | MAKE_BLOCK);
    let mut set = RuleSet {
        ruleset,
        handled: handled(abi),
    };
    for path in &rules.write {
        set.allow(path, writing)?;
    }
    for path in &rules.read {
        set.allow_reading(path, rules.hidden)?;
    }
    if let (Some(port), true) = (rules.port, attr.handled_access_net != 0) {
        landlock_port_rule(&set.ruleset, CONNECT_TCP, port).map_err(failed)?;
    }
    landlock_restrict(&set.ruleset).map_err(failed)
}

struct RuleSet {
    ruleset: OwnedFd,
    handled: u64,
}

impl RuleSet {
    /// Permits reading a path without the hidden paths below it. Landlock cannot exclude anything from a
    /// directory, so the entries beside a hidden path get separate rules.
    fn allow_reading(&mut self, path: &Path, hidden: &[PathBuf]) -> Result<(), SandboxError> {
        if hidden.iter().any(|hidden| path.starts_with(hidden)) {
            return Ok(());
        }
        if !hidden.iter().any(|hidden| hidden.starts_with(path)) {
            return self.allow(path, READ);
        }
        self.allow(path, READ_DIR)?;
        let Ok(entries) = std::fs::read_dir(path) else {
            return Ok(());
        };
        for entry in entries.flatten() {
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            if !is_link {
                self.allow_reading(&entry.path(), hidden)?;
            }
        }
        Ok(())
    }

    /// Lets a path be used with these rights. A path that is not there needs no rule.
    fn allow(&mut self, path: &Path, rights: u64) -> Result<(), SandboxError> {
        let Some((opened, about)) = open(path)? else {
            return Ok(());
        };
        let rights = if about.is_dir() { rights } else { rights & OF_FILES };
        let rights = rights & self.handled;
        if rights == 0 {
            return Ok(());
        }
        landlock_rule(&self.ruleset, rights, &opened).map_err(|error| SandboxError::path(path, error))
    }
}

/// Opens a path as a place, without following a symbolic link anywhere on the way: paths of a policy have
/// none, and one that appears was put there to lead elsewhere.
pub(crate) fn open(path: &Path) -> Result<Option<(File, Metadata)>, SandboxError> {
    open_with(path, OFlag::empty())
}

/// Opens a path in the same way, but a link at its end as what it is.
pub(crate) fn open_itself(path: &Path) -> Result<Option<(File, Metadata)>, SandboxError> {
    open_with(path, OFlag::O_NOFOLLOW)
}

fn open_with(path: &Path, more: OFlag) -> Result<Option<(File, Metadata)>, SandboxError> {
    let how = OpenHow::new()
        .flags(OFlag::O_PATH | OFlag::O_CLOEXEC | more)
        .resolve(ResolveFlag::RESOLVE_NO_SYMLINKS);
    match openat2(AT_FDCWD, path, how) {
        Ok(opened) => {
            let opened = File::from(opened);
            let about = opened
                .metadata()
                .map_err(|error| SandboxError::path(path, error))?;
            Ok(Some((opened, about)))
        }
        Err(nix::errno::Errno::ENOENT | nix::errno::Errno::EACCES | nix::errno::Errno::ENOTDIR) => Ok(None),
        Err(error) => Err(SandboxError::path(path, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_asked_for_what_it_knows() {
        for (abi, network, fs, net, scoped, size) in [
            (1, false, 0x1fff, 0, 0, 8),
            (2, false, 0x3fff, 0, 0, 8),
            (3, false, 0x7fff, 0, 0, 8),
            (4, false, 0x7fff, 3, 0, 16),
            (5, true, 0xffff, 0, 0, 16),
            (7, false, 0xffff, 3, 3, 24),
        ] {
            let expected = RulesetAttr {
                handled_access_fs: fs,
                handled_access_net: net,
                scoped,
            };
            assert_eq!(attributes(abi, network), (expected, size), "{abi}");
        }
    }
}
