//! The step `namespace`: the processes between a program and a command with its own namespaces.
//!
//! | process | is | ends |
//! | --- | --- | --- |
//! | helper | the one that the program started and waits for, with its group | as the command did |
//! | keeper | made the namespaces, which only a process with one thread can | with the helper |
//! | init | the [first process](super::first_process) of the pid namespace: made the root, reaps | with the command, or with the last process of its group |
//! | command | the requested program | by itself |

use std::convert::Infallible;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::SigSet;
use nix::unistd::{ForkResult, Gid, Uid, chdir, getcwd, pipe2};

use super::control_group::ControlGroup;
use super::first_process::{Ended, FirstReport, KILLED, end_as, leave_and_reap, wait_for};
use super::held_program::{HeldProgram, execute, fail};
use super::landlock::LandlockRules;
use super::proxy_door::ProxyDoor;
use super::seccomp::InternetSockets;
use super::{kernel, mounts, restrictions};
use crate::probe_failure::{PASSING_ERRORS, ProbeFailure};
use crate::{HELPER_FAILED, SandboxError, SandboxPolicy};

/// The most user namespaces of a person, in the file of the kernel that tells it.
const MOST_NAMESPACES: &str = "/proc/sys/user/max_user_namespaces";

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

/// Tries namespaces. Returns why they do not work here, or not now.
pub(super) fn probe() -> Result<(), ProbeFailure> {
    match kernel::fork().map_err(|error| ProbeFailure::of_error("another process", &error))? {
        ForkResult::Parent { child } => match wait_for(child) {
            Ended::Code(0) => Ok(()),
            Ended::Code(code) => Err(failure(Errno::from_raw(code.into()))),
            Ended::Signal(signal) => Err(ProbeFailure {
                why: format!("the attempt ended by signal {signal}"),
                // The kernel kills processes when memory is short.
                is_passing: signal == KILLED,
            }),
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
    match kernel::fork() {
        Ok(ForkResult::Parent { child }) => match wait_for(child) {
            Ended::Code(code) => code.into(),
            Ended::Signal(KILLED) => Errno::ENOMEM as i32,
            Ended::Signal(_) => Errno::EPERM as i32,
        },
        Ok(ForkResult::Child) => {
            use nix::mount::{MsFlags, mount};
            let none: Option<&str> = None;
            let private = mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none);
            let tried =
                private.and_then(|()| mount(Some("proc"), "/proc", Some("proc"), MsFlags::empty(), none));
            let code = tried.err().map_or(0, |error| error as i32);
            end_as(Ended::Code(u8::try_from(code).unwrap_or(1)))
        }
        Err(error) => error.raw_os_error().unwrap_or(Errno::EAGAIN as i32),
    }
}

/// Says what an error of an attempt means: whether namespaces do not work here, or only not now.
fn failure(error: Errno) -> ProbeFailure {
    let is_forbidden = || fs::read_to_string(MOST_NAMESPACES).is_ok_and(|most| most.trim() == "0");
    ProbeFailure {
        why: why_no_namespaces(error),
        is_passing: PASSING_ERRORS.contains(&(error as i32)) && !(error == Errno::ENOSPC && is_forbidden()),
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
            let Some(report) = FirstReport::read(from_init) else {
                return Ok(wait_for(child));
            };
            if !report.is_left {
                wait_for(child);
            }
            report.tell(&mut std::io::stderr());
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
        Errno::EAGAIN => " (the limit of processes is reached)",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lasts_means_that_namespaces_do_not_work() {
        for (error, is_passing) in [
            (Errno::EPERM, false),
            (Errno::EACCES, false),
            (Errno::ENOSYS, false),
            (Errno::EINVAL, false),
            (Errno::EAGAIN, true),
            (Errno::ENOMEM, true),
            (Errno::EMFILE, true),
            (Errno::ENFILE, true),
        ] {
            let found = failure(error);
            assert_eq!(found.is_passing, is_passing, "{error}");
        }
        assert!(
            failure(Errno::EPERM)
                .why
                .contains("user namespaces are forbidden")
        );
        assert!(!failure(Errno::EAGAIN).why.contains("forbidden"));
    }
}
