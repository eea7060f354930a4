//! The mode of a program in which it is the helper: `PROGRAM __sandbox run POLICY FILE ARG0 [ARGUMENT…]`.
//! With `run-locked`, the directory for temporary files stays locked until the command ends.
//!
//! `PROGRAM __sandbox probe` tries namespaces and says `ok`, or why they do not work, after `passing: ` if
//! that may be otherwise the next time; `probe-limits` does the same with control groups.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};

use super::control_group::{self, ControlGroup};
use super::held_program::{DEVICES, HeldProgram, execute, fail};
use super::landlock::LandlockRules;
use super::proxy_door::{ProxyDoor, take_control};
use super::seccomp::InternetSockets;
use super::{namespace, restrictions, template};
use crate::helper_words::{PASSING, PROBE, PROBE_LIMITS, RUN, RUN_LOCKED, TEMPLATE};
use crate::probe_failure::ProbeFailure;
use crate::{SandboxError, SandboxPolicy, SandboxStep, temporary};

/// Runs as the helper. `arguments` are those behind [`HELPER`](crate::HELPER). If all is well it does not
/// return, because the process has become the command, or has ended as the command did.
pub(crate) fn helper_main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let done = match arguments.next().as_deref().and_then(OsStr::to_str) {
        Some(word @ (RUN | RUN_LOCKED)) => {
            let is_locked = word == RUN_LOCKED;
            run(arguments, is_locked).map(|never| match never {})
        }
        Some(TEMPLATE) => return serve_template(arguments),
        Some(PROBE) => return say_probed(namespace::probe()),
        Some(PROBE_LIMITS) => return say_probed(control_group::probe().map_err(ProbeFailure::lasting)),
        _ => Err(SandboxError::set_up(
            "reading the command line",
            "this is for AgentX itself",
        )),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

fn say_probed(probed: Result<(), ProbeFailure>) -> ExitCode {
    let said = match probed {
        Ok(()) => "ok".to_owned(),
        Err(failure) if failure.is_passing => format!("{PASSING}{}", failure.why),
        Err(failure) => failure.why,
    };
    let _ = writeln!(std::io::stdout(), "{said}");
    ExitCode::SUCCESS
}

/// Runs as the template of the policy in the next argument.
fn serve_template(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let policy = arguments.next().unwrap_or_default();
    let policy = SandboxPolicy::from_argument(&policy.to_string_lossy());
    let served = policy.and_then(|policy| {
        policy.check()?;
        temporary::make(&policy.paths.temporary)?;
        template::serve(&policy)
    });
    served.unwrap_or_else(|error| fail(&error))
}

fn run(mut arguments: impl Iterator<Item = OsString>, is_locked: bool) -> Result<Infallible, SandboxError> {
    let mut next = || {
        let missing = || SandboxError::set_up("reading the command line", "an argument is missing");
        arguments.next().ok_or_else(missing)
    };
    let policy = next()?;
    let (file, arg0) = (next()?, next()?);
    let policy = SandboxPolicy::from_argument(&policy.to_string_lossy())?;
    policy.check()?;
    let program = HeldProgram {
        file,
        arg0,
        arguments: arguments.collect(),
    };
    let control = policy.proxy.then(take_control).transpose()?;
    let temporary = &policy.paths.temporary;
    temporary::make(temporary)?;
    let lock = is_locked.then(|| temporary::locked(temporary)).transpose()?;
    let group = ControlGroup::of_policy(&policy)?;
    match policy.step {
        SandboxStep::None => {
            keep_open(lock.as_ref())?;
            Err(execute(&program, &policy, None))
        }
        SandboxStep::Landlock => {
            // A later helper removes the group, because this process becomes the command.
            group.as_ref().map(ControlGroup::join).transpose()?;
            // Other programs of this machine reach the door, too.
            let door = control
                .map(|control| ProxyDoor::open(control, true))
                .transpose()?;
            Err(by_landlock(&program, &policy, lock.as_ref(), door.as_ref()))
        }
        SandboxStep::Namespace => Err(namespace::enter(&program, &policy, group.as_ref(), lock, control)),
    }
}

/// Lets the command that this process becomes inherit the lock. Landlock also checks paths that start at the
/// open directory, so it leads nowhere else.
fn keep_open(lock: Option<&File>) -> Result<(), SandboxError> {
    let Some(lock) = lock else { return Ok(()) };
    fcntl(lock, FcntlArg::F_SETFD(FdFlag::empty()))
        .map(|_| ())
        .map_err(|error| SandboxError::set_up("the lock of the temporary files", error))
}

/// The step `landlock`: this process becomes the command.
fn by_landlock(
    program: &HeldProgram,
    policy: &SandboxPolicy,
    lock: Option<&File>,
    door: Option<&ProxyDoor>,
) -> SandboxError {
    let internet = match (policy.network, door) {
        (true, _) => InternetSockets::All,
        (false, Some(_)) => InternetSockets::Tcp,
        (false, None) => InternetSockets::None,
    };
    let held = || {
        restrictions::limit(&policy.limits, policy.step)?;
        restrictions::give_up_privileges()?;
        keep_open(lock)?;
        door.map(ProxyDoor::keep_open).transpose()?;
        let paths = &policy.paths;
        let devices = DEVICES.iter().map(Path::new);
        let write = paths.write.iter().map(AsRef::as_ref);
        let rules = LandlockRules {
            read: paths
                .read
                .iter()
                .chain(&paths.private)
                .map(AsRef::as_ref)
                .collect(),
            write: write.chain(devices).chain([paths.temporary.as_path()]).collect(),
            hidden: &paths.hidden,
            network: policy.network,
            port: door.map(|door| door.port),
        };
        restrictions::hold_by_landlock(&rules, policy.step, !policy.best_effort)?;
        restrictions::hold_by_filter(policy.step, internet)
    };
    match held() {
        Ok(()) => execute(program, policy, door),
        Err(error) => error,
    }
}
