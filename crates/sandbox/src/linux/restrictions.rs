//! The last restrictions of both steps: limits, capabilities, Landlock, the filter of system calls.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::kernel;
use super::landlock::{self, LandlockRules};
use super::seccomp::{FilterRules, InternetSockets, filter};
use crate::landlock_version::NEEDED_ABI;
use crate::{SandboxError, SandboxLimits, SandboxStep};

/// The capabilities that root keeps: changing owners and modes of files, and becoming another user. The
/// numbers are those of `linux/capability.h`: `CHOWN`, `DAC_OVERRIDE`, `FOWNER`, `FSETID`, `KILL`, `SETGID`,
/// `SETUID`.
const KEPT_CAPABILITIES: u64 = 1 | 1 << 1 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7;

/// Sets the limits. A limit that is lower already stays.
pub(super) fn limit(limits: &SandboxLimits, step: SandboxStep) -> Result<(), SandboxError> {
    // Outside of a namespace the number would count every process of the person.
    let processes = limits.processes.filter(|_| step == SandboxStep::Namespace);
    for (resource, most) in [
        (Resource::RLIMIT_NPROC, processes),
        (Resource::RLIMIT_FSIZE, limits.file_bytes),
        (Resource::RLIMIT_CORE, limits.core_bytes),
    ] {
        let Some(most) = most else { continue };
        let failed = |error| SandboxError::set_up("resource limits", error);
        let (_, hard) = getrlimit(resource).map_err(failed)?;
        let most = most.min(hard);
        setrlimit(resource, most, most).map_err(failed)?;
    }
    Ok(())
}

/// Takes away what would lead out of the step: inherited descriptors, new privileges, capabilities.
pub(super) fn give_up_privileges() -> Result<(), SandboxError> {
    kernel::close_on_exec().map_err(|error| SandboxError::set_up("closing descriptors", error))?;
    nix::sys::prctl::set_no_new_privs().map_err(|error| SandboxError::set_up("no new privileges", error))?;
    kernel::keep_capabilities(KEPT_CAPABILITIES)
        .map_err(|error| SandboxError::set_up("giving up capabilities", error))
}

/// Holds this process by Landlock, as far as the kernel knows it. A step that needs more than it knows does
/// not run if `is_needed`.
pub(super) fn hold_by_landlock(
    rules: &LandlockRules<'_>,
    step: SandboxStep,
    is_needed: bool,
) -> Result<(), SandboxError> {
    let abi = kernel::landlock_abi().unwrap_or(0);
    if is_needed && abi < NEEDED_ABI {
        return Err(SandboxError::Unsupported {
            step,
            why: crate::probe::missing_landlock(abi),
        });
    }
    if abi == 0 {
        return Ok(());
    }
    landlock::restrict(rules, abi)
}

/// Installs the filter of system calls, the last step before the program. `internet` counts in the step
/// `landlock`.
pub(super) fn hold_by_filter(step: SandboxStep, internet: InternetSockets) -> Result<(), SandboxError> {
    let rules = match step {
        // In a namespace without a network there is only the loopback device of the command itself, and only
        // sockets of paths that it may reach.
        SandboxStep::Namespace => FilterRules {
            internet: InternetSockets::All,
            unix: true,
            system_v: true,
        },
        SandboxStep::None | SandboxStep::Landlock => FilterRules {
            internet,
            unix: false,
            system_v: false,
        },
    };
    kernel::install_filter(&filter(rules))
        .map_err(|error| SandboxError::set_up("the system call filter", error))
}
