//! The step `namespace`: the processes between a program and a command with its own namespaces.
//!
//! | process | is | ends |
//! | --- | --- | --- |
//! | helper | the one that the program started and waits for, with its group | as the command did |
//! | keeper | made the namespaces, which only a process with one thread can | with the helper |
//! | init | the first process of the pid namespace: made the root, reaps | with the last process inside |
//! | command | the requested program | by itself |
//!
//! Background processes of a command keep running, as without a sandbox, because `init` stays. `init` leaves
//! the group and the output, so that only those processes count as left.

use std::convert::Infallible;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sched::{CloneFlags, unshare};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{
    ForkResult, Gid, Pid, Uid, chdir, dup2_stderr, dup2_stdin, dup2_stdout, getcwd, pipe2, setsid,
};

use super::control_group::ControlGroup;
use super::held_program::{HeldProgram, execute, fail};
use super::landlock::LandlockRules;
use super::proxy_door::ProxyDoor;
use super::seccomp::InternetSockets;
use super::{kernel, mounts, restrictions};
use crate::{HELPER_FAILED, SandboxError, SandboxPolicy};

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Code(u8),
    Signal(u8),
}

/// The report of a first process that has started no command.
pub(super) const FAILED_REPORT: [u8; 3] = [0, HELPER_FAILED, 0];

/// Ends this process as a command ended: by what its first process reports, or as if that one was killed.
pub(super) fn end_as_reported(report: OwnedFd) -> ! {
    let mut bytes = [0; 3];
    match File::from(report).read_exact(&mut bytes) {
        Ok(()) => end_as(InitReport::of_bytes(bytes).ended),
        Err(_) => end_as(Ended::Signal(KILLED)),
    }
}

/// The number of the signal that ends a process without its help.
const KILLED: u8 = 9;

/// The report of `init` to the keeper: the end of the command, and whether something still runs inside.
struct InitReport {
    ended: Ended,
    is_left: bool,
}

impl InitReport {
    fn to_bytes(&self) -> [u8; 3] {
        let (kind, value) = match self.ended {
            Ended::Code(code) => (0, code),
            Ended::Signal(signal) => (1, signal),
        };
        [kind, value, u8::from(self.is_left)]
    }

    fn of_bytes([kind, value, left]: [u8; 3]) -> Self {
        let ended = if kind == 0 {
            Ended::Code(value)
        } else {
            Ended::Signal(value)
        };
        Self {
            ended,
            is_left: left != 0,
        }
    }
}

/// Starts the command in new namespaces and exits as it did. Returns only if that failed. This process keeps
/// `lock` until then. No process inside may have it: an open directory of the machine would lead out of the
/// new root. This process stays outside of `group`, so that it can say which limit was reached.
pub(super) fn enter(
    program: &HeldProgram,
    policy: &SandboxPolicy,
    group: Option<&ControlGroup>,
    lock: Option<File>,
    control: Option<OwnedFd>,
) -> SandboxError {
    let failed = |error: std::io::Error| SandboxError::set_up("another process", error);
    // Signals for the group are for the command; this process ends when that does.
    if let Err(error) = SigSet::all().thread_block() {
        return failed(error.into());
    }
    match kernel::fork() {
        Ok(ForkResult::Parent { child }) => {
            drop(control);
            let ended = wait_for(child);
            if let Some(group) = group {
                group.end();
            }
            end_as(ended)
        }
        Ok(ForkResult::Child) => {
            drop(lock);
            let joined = group.map_or(Ok(()), ControlGroup::join);
            match joined.and_then(|()| keep(program, policy, control)) {
                Ok(ended) => end_as(ended),
                Err(error) => {
                    fail(&error);
                    end_as(Ended::Code(HELPER_FAILED))
                }
            }
        }
        Err(error) => failed(error),
    }
}

/// Tries namespaces. Returns why they do not work here.
pub(super) fn probe() -> Result<(), String> {
    match kernel::fork().map_err(|error| error.to_string())? {
        ForkResult::Parent { child } => match wait_for(child) {
            Ended::Code(0) => Ok(()),
            Ended::Code(code) => Err(why_no_namespaces(Errno::from_raw(code.into()))),
            Ended::Signal(signal) => Err(format!("the attempt ended by signal {signal}")),
        },
        ForkResult::Child => {
            let code = match new_namespaces(false) {
                Ok(()) => try_a_root(),
                Err(error) => error as i32,
            };
            end_as(Ended::Code(u8::try_from(code).unwrap_or(1)))
        }
    }
}

/// Tries what a container may forbid although it allows namespaces: mounting a new `/proc`.
/// Returns an error number or 0.
fn try_a_root() -> i32 {
    let Ok(ForkResult::Parent { child }) = kernel::fork() else {
        use nix::mount::{MsFlags, mount};
        let none: Option<&str> = None;
        let private = mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none);
        let tried = private.and_then(|()| mount(Some("proc"), "/proc", Some("proc"), MsFlags::empty(), none));
        let code = tried.err().map_or(0, |error| error as i32);
        end_as(Ended::Code(u8::try_from(code).unwrap_or(1)));
    };
    match wait_for(child) {
        Ended::Code(code) => code.into(),
        Ended::Signal(_) => Errno::EPERM as i32,
    }
}

/// The keeper: makes the namespaces, starts `init`, and returns how the command ended.
fn keep(
    program: &HeldProgram,
    policy: &SandboxPolicy,
    control: Option<OwnedFd>,
) -> Result<Ended, SandboxError> {
    let directory = getcwd().map_err(|error| SandboxError::set_up("the working directory", error))?;
    new_namespaces(policy.network).map_err(|error| SandboxError::Unsupported {
        step: policy.step,
        why: why_no_namespaces(error),
    })?;
    let failed = |error: std::io::Error| SandboxError::set_up("another process", error);
    let (from_init, to_keeper) = pipe2(OFlag::O_CLOEXEC).map_err(|error| failed(error.into()))?;
    match kernel::fork().map_err(failed)? {
        ForkResult::Parent { child } => {
            drop(to_keeper);
            drop(control);
            let mut report = [0; 3];
            if File::from(from_init).read_exact(&mut report).is_err() {
                return Ok(wait_for(child));
            }
            let report = InitReport::of_bytes(report);
            if !report.is_left {
                wait_for(child);
            }
            Ok(report.ended)
        }
        ForkResult::Child => {
            drop(from_init);
            let Err(error) = init(program, policy, &directory, to_keeper, control);
            fail(&error);
            end_as(Ended::Code(HELPER_FAILED))
        }
    }
}

/// Explains the usual causes.
fn why_no_namespaces(error: Errno) -> String {
    let cause = match error {
        Errno::EPERM | Errno::EACCES => {
            " (user namespaces are forbidden: by a container, or by `kernel.apparmor_restrict_unprivileged_userns`)"
        }
        Errno::ENOSPC => " (`user.max_user_namespaces` is 0 or used up)",
        _ => "",
    };
    format!("{}{cause}", error.desc())
}

/// The person inside of a user namespace, who is the same one as outside; no other is there.
#[derive(Clone, Copy)]
pub(super) struct InsidePerson {
    user: Uid,
    group: Gid,
}

impl InsidePerson {
    /// The person of this process, who is not known any more in a new namespace.
    pub(super) fn present() -> Self {
        Self {
            user: Uid::effective(),
            group: Gid::effective(),
        }
    }

    /// Becomes this person in the user namespace that this process has just got.
    pub(super) fn enter(self) -> Result<(), Errno> {
        let Self { user, group } = self;
        let write = |file: &str, text: String| {
            let failed = |error: std::io::Error| error.raw_os_error().map_or(Errno::EIO, Errno::from_raw);
            fs::write(Path::new("/proc/self").join(file), text).map_err(failed)
        };
        write("setgroups", "deny".into())?;
        write("uid_map", format!("{user} {user} 1"))?;
        write("gid_map", format!("{group} {group} 1"))
    }
}

/// Makes the namespaces.
fn new_namespaces(network: bool) -> Result<(), Errno> {
    let person = InsidePerson::present();
    let mut flags = CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS;
    if !network {
        flags |= CloneFlags::CLONE_NEWNET;
    }
    unshare(flags)?;
    person.enter()
}

/// The first process inside: makes the root, takes the restrictions, starts the command, and reaps.
fn init(
    program: &HeldProgram,
    policy: &SandboxPolicy,
    directory: &Path,
    to_keeper: OwnedFd,
    control: Option<OwnedFd>,
) -> Result<Infallible, SandboxError> {
    let failed = |error: Errno| SandboxError::set_up("another process", error);
    if !policy.network {
        kernel::loopback_up().map_err(|error| SandboxError::set_up("the loopback device", error))?;
    }
    // Its network is its own, so no other program reaches the door.
    let door = control
        .map(|control| ProxyDoor::open(control, false))
        .transpose()?;
    mounts::enter_new_root(&policy.paths)?;
    chdir(directory).map_err(|error| SandboxError::path(directory, error))?;
    hold(policy)?;
    match kernel::fork().map_err(|error| SandboxError::set_up("another process", error))? {
        ForkResult::Parent { child } => leave_and_reap(child, &mut File::from(to_keeper)),
        ForkResult::Child => {
            drop(to_keeper);
            SigSet::all().thread_unblock().map_err(failed)?;
            let error = execute(program, policy, door.as_ref());
            fail(&error);
            end_as(Ended::Code(HELPER_FAILED))
        }
    }
}

/// Leaves the group and the output to the command, and reaps until nothing is left inside.
pub(super) fn leave_and_reap(command: Pid, report: &mut File) -> Result<Infallible, SandboxError> {
    let failed = |error: Errno| SandboxError::set_up("another process", error);
    setsid().map_err(failed)?;
    let nothing = File::options().read(true).write(true).open("/dev/null");
    let nothing = nothing.map_err(|error| SandboxError::path(Path::new("/dev/null"), error))?;
    dup2_stdin(&nothing)
        .and(dup2_stdout(&nothing))
        .and(dup2_stderr(&nothing))
        .map_err(failed)?;
    reap(command, report);
    end_as(Ended::Code(0))
}

/// Takes the restrictions that the step has in common with `landlock`.
pub(super) fn hold(policy: &SandboxPolicy) -> Result<(), SandboxError> {
    restrictions::limit(&policy.limits, policy.step)?;
    restrictions::give_up_privileges()?;
    let paths = &policy.paths;
    let own = ["/tmp", "/dev"].map(Path::new);
    let system = ["/proc", "/sys"].map(Path::new);
    let rules = LandlockRules {
        read: paths.read.iter().map(AsRef::as_ref).chain(system).collect(),
        write: paths
            .write
            .iter()
            .chain(&paths.private)
            .map(AsRef::as_ref)
            .chain(own)
            .collect(),
        // Mounts have hidden it.
        hidden: &[],
        // A new network namespace contains no other machine.
        network: true,
        port: None,
    };
    // On the network of the machine there are abstract sockets, which only Landlock holds.
    let is_needed = policy.network && !policy.best_effort;
    restrictions::hold_by_landlock(&rules, policy.step, is_needed)?;
    restrictions::hold_by_filter(policy.step, InternetSockets::All)
}

/// Reaps until nothing is left inside. Says once how the command ended.
fn reap(command: Pid, report_to: &mut File) {
    let mut ended = None;
    let is_left = loop {
        let flags = ended.map(|_| WaitPidFlag::WNOHANG);
        match waitpid(None, flags) {
            Ok(WaitStatus::StillAlive) => break true,
            Ok(status) if status.pid() == Some(command) => ended = how(status).or(ended),
            Err(Errno::ECHILD) => break false,
            Ok(_) | Err(_) => {}
        }
    };
    let report = InitReport {
        ended: ended.unwrap_or(Ended::Code(HELPER_FAILED)),
        is_left,
    };
    // A process that is gone was killed with its group.
    let _ = report_to.write_all(&report.to_bytes());
    while waitpid(None, None) != Err(Errno::ECHILD) {}
}

/// Waits for a child process.
fn wait_for(child: Pid) -> Ended {
    loop {
        match waitpid(child, None) {
            Ok(status) => {
                if let Some(ended) = how(status) {
                    return ended;
                }
            }
            Err(Errno::EINTR) => {}
            Err(_) => return Ended::Code(HELPER_FAILED),
        }
    }
}

fn how(status: WaitStatus) -> Option<Ended> {
    match status {
        WaitStatus::Exited(_, code) => Some(Ended::Code(u8::try_from(code & 0xff).unwrap_or(HELPER_FAILED))),
        WaitStatus::Signaled(_, signal, _) => Some(Ended::Signal(
            u8::try_from(signal as i32).unwrap_or(HELPER_FAILED),
        )),
        _ => None,
    }
}

/// Ends this process as the command ended.
fn end_as(ended: Ended) -> ! {
    let code = match ended {
        Ended::Code(code) => code.into(),
        Ended::Signal(signal) => {
            if let Ok(signal) = Signal::try_from(i32::from(signal)) {
                // The dump of this process would be of no use.
                let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
                // If the signal does not end this process, the exit code of a shell says it.
                let _ = kill(Pid::this(), signal).and_then(|()| SigSet::all().thread_unblock());
            }
            128 + i32::from(signal)
        }
    };
    std::process::exit(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_three_bytes() {
        for report in [
            InitReport {
                ended: Ended::Code(0),
                is_left: false,
            },
            InitReport {
                ended: Ended::Code(255),
                is_left: true,
            },
            InitReport {
                ended: Ended::Signal(9),
                is_left: false,
            },
        ] {
            let read = InitReport::of_bytes(report.to_bytes());
            assert_eq!((read.ended, read.is_left), (report.ended, report.is_left));
        }
    }
}
