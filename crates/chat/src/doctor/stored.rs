//! Checks the storage of sessions: whether the database opens and is intact, whether it can be written,
//! whether there is space, and whether this machine's clock agrees with it.

use std::path::Path;

use agentx::config::{Settings, check_folder_decisions};
use agentx::node::{DATABASE, DATABASE_FORMAT, Examined, examine_database};
use agentx::types::Timestamp;

use super::DoctorCheck;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::render::units;

/// Less free space than this is an error.
const TOO_LITTLE: u64 = 64 << 20;
/// Less free space than this is worth a warning.
const LITTLE: u64 = 1 << 30;
/// The time 2026-01-01: a clock before it is wrong.
const BEFORE_THIS_PROGRAM: i64 = 1_767_225_600_000_000;
/// Maximum time, in microseconds, by which the clock of another machine may be ahead.
const AHEAD: i64 = 3_600_000_000;

/// Checks the data directory.
pub(super) fn all(data: &Path) -> Vec<DoctorCheck> {
    let examined = examine_database(&data.join(DATABASE));
    let latest = examined.as_ref().ok().and_then(|found| found.as_ref()?.latest);
    let found = match examined {
        Ok(found) => database(data, found),
        Err(error) => DoctorCheck::failed("database", &ChatError::Runtime(error.into())),
    };
    vec![found, space(data), clock(units::now(), latest)]
}

/// Returns a finding if the data directory belongs to another user, who can replace everything in it.
pub(super) fn foreign_directory(settings: &Settings) -> Option<DoctorCheck> {
    let (found, advice) = crate::configuration::foreign_data_dir(settings)?;
    Some(DoctorCheck::warn("data", found, advice))
}

/// Returns a finding if the decisions about folders cannot be read.
pub(super) fn damaged_decisions(trust_dir: &Path) -> Option<DoctorCheck> {
    let error = check_folder_decisions(trust_dir).err()?;
    Some(DoctorCheck::failed("folders", &ChatError::from(error)))
}

fn database(data: &Path, found: Option<Examined>) -> DoctorCheck {
    let name = "database";
    let path = data.join(DATABASE);
    let shown = path.display();
    let Some(found) = found else {
        return if nearest(data).is_some_and(may_write) {
            DoctorCheck::ok(name, format!("{shown} is created with the first session"))
        } else {
            let found = format!("{shown} cannot be created: {} is not writable", data.display());
            DoctorCheck::bad(
                name,
                Exit::Storage,
                found,
                "choose another directory with --data or AGENTX_DATA",
            )
        };
    };
    if !found.problems.is_empty() {
        let found = format!("{shown} is damaged: {}", found.problems.join("; "));
        let advice =
            "keep a copy of it; `agentx sessions verify ID` shows which events of a session are intact";
        return DoctorCheck::bad(name, Exit::Storage, found, advice);
    }
    if found.format > DATABASE_FORMAT {
        let words = format!(
            "{shown} has format {}, this version writes {DATABASE_FORMAT}",
            found.format
        );
        return DoctorCheck::bad(
            name,
            Exit::Storage,
            words,
            "install the version of AgentX that wrote it; this one can only read it",
        );
    }
    if !may_write(&path) || !may_write(data) {
        let found = format!("{shown} is not writable");
        let advice = "check its owner, or choose another directory with --data or AGENTX_DATA";
        return DoctorCheck::bad(name, Exit::Storage, found, advice);
    }
    let size = units::bytes(found.bytes);
    let whole = if found.checked {
        "SQLite reports no damage"
    } else {
        "too large to be checked here (`agentx sessions verify ID` checks one session)"
    };
    let words = format!(
        "{shown}: {}, {size}, format {}, {whole}",
        units::counted(found.sessions, "session"),
        found.format
    );
    if may_others_read(&path) {
        DoctorCheck::warn(
            name,
            format!("{words}; others on this machine can read it"),
            format!("make it private: `chmod 600 {shown}`"),
        )
    } else {
        DoctorCheck::ok(name, words)
    }
}

/// The directory itself, or the first above it that exists.
fn nearest(path: &Path) -> Option<&Path> {
    path.ancestors().find(|path| path.exists())
}

#[cfg(unix)]
fn may_write(path: &Path) -> bool {
    nix::unistd::access(path, nix::unistd::AccessFlags::W_OK).is_ok()
}

#[cfg(not(unix))]
fn may_write(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| !found.permissions().readonly())
}

#[cfg(unix)]
fn may_others_read(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o044 != 0)
}

#[cfg(not(unix))]
fn may_others_read(_: &Path) -> bool {
    false
}

#[cfg(unix)]
fn free(path: &Path) -> Option<u64> {
    let found = nix::sys::statvfs::statvfs(nearest(path)?).ok()?;
    Some(found.blocks_available().saturating_mul(found.fragment_size()))
}

#[cfg(not(unix))]
fn free(_: &Path) -> Option<u64> {
    None
}

fn space(data: &Path) -> DoctorCheck {
    let name = "disk";
    let Some(free) = free(data) else {
        return DoctorCheck::ok(name, "free disk space is unknown");
    };
    let found = format!("{} are free for sessions", units::bytes(free));
    let advice = "free some disk space, or choose another directory with --data or AGENTX_DATA";
    match free {
        ..TOO_LITTLE => DoctorCheck::bad(name, Exit::Storage, found, advice),
        TOO_LITTLE..LITTLE => DoctorCheck::warn(name, found, advice),
        _ => DoctorCheck::ok(name, found),
    }
}

fn clock(now: Timestamp, latest: Option<Timestamp>) -> DoctorCheck {
    let name = "clock";
    let advice = "set the clock of this machine: servers reject requests with a wrong time";
    if now.0 < BEFORE_THIS_PROGRAM {
        return DoctorCheck::bad(
            name,
            Exit::Failed,
            "the clock of this machine is before 2026",
            advice,
        );
    }
    match latest {
        Some(latest) if latest.0 > now.0.saturating_add(AHEAD) => {
            let hours = (latest.0 - now.0) / AHEAD;
            DoctorCheck::warn(
                name,
                format!("the latest stored event is {hours} h in the future, so the clock is or was wrong"),
                advice,
            )
        }
        _ => DoctorCheck::ok(name, "no stored event is in the future"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    #[test]
    fn a_clock_is_compared_with_what_is_known() {
        let now = Timestamp(BEFORE_THIS_PROGRAM + 5);
        assert_eq!(clock(Timestamp(0), None).level, Level::Bad);
        assert_eq!(clock(now, None).level, Level::Ok);
        assert_eq!(clock(now, Some(Timestamp(now.0 + 5))).level, Level::Ok);
        assert_eq!(clock(now, Some(Timestamp(now.0 + 3 * AHEAD))).level, Level::Warn);
    }
}
