//! The first process of a command that starts in a copy of a [template](super::template).

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use nix::errno::Errno;
use nix::sys::signal::SigSet;
use nix::unistd::{Pid, chdir, dup2_stderr, dup2_stdout};

use super::held_program::{HeldProgram, fail, spawn};
use super::namespace::{FAILED_REPORT, InsidePerson, hold, leave_and_reap};
use super::template_request::TemplateRequest;
use super::{kernel, mounts};
use crate::{HELPER_FAILED, SandboxError, SandboxPolicy};

/// The variable with room for the mark, in the environment of a template.
pub(crate) const ROOM: &std::ffi::CStr = c"AGENTX_TEMPLATE";

/// A command, and the pipes of its first process.
pub(super) struct TemplateCommand {
    pub(super) request: TemplateRequest,
    /// Where the output of the command goes, and what this process says if it fails.
    pub(super) output: OwnedFd,
    /// The way to the leader, which hears how the command ended.
    pub(super) report: OwnedFd,
    /// Tells that this process is in the group of the command.
    pub(super) go: OwnedFd,
    /// The person outside.
    pub(super) person: InsidePerson,
}

impl TemplateCommand {
    /// Runs as the first process inside, until nothing is left there.
    pub(super) fn run(self, policy: &SandboxPolicy) -> ! {
        let mut report = File::from(self.report);
        let said = dup2_stdout(&self.output).and_then(|()| dup2_stderr(&self.output));
        drop(self.output);
        let prepared = said
            .map_err(|error| SandboxError::set_up("the output", error))
            .and_then(|()| prepare(&self.request, policy, self.person));
        let started = prepared.and_then(|()| start(&self.request, policy, File::from(self.go)));
        let Err(error) = started.and_then(|command| leave_and_reap(command, &mut report));
        fail(&error);
        // Without a leader nobody waits for it.
        let _ = report.write_all(&FAILED_REPORT);
        std::process::exit(HELPER_FAILED.into())
    }
}

/// Completes the copy of the root, and takes the restrictions.
fn prepare(
    request: &TemplateRequest,
    policy: &SandboxPolicy,
    person: InsidePerson,
) -> Result<(), SandboxError> {
    let failed = |error: Errno| SandboxError::set_up("another process", error);
    // Those who look for the processes of a command find this one by it.
    let mark = [b"\0", request.mark.as_bytes()].concat();
    if !kernel::write_over_variable(ROOM, &mark) {
        return Err(SandboxError::set_up("another process", "its mark is too long"));
    }
    person.enter().map_err(failed)?;
    if !policy.network {
        kernel::loopback_up().map_err(|error| SandboxError::set_up("the loopback device", error))?;
    }
    mounts::complete_copy(&policy.paths)?;
    let directory = Path::new(&request.directory);
    chdir(directory).map_err(|error| SandboxError::path(directory, error))?;
    hold(policy)
}

/// Starts the command as soon as this process is in its group.
fn start(request: &TemplateRequest, policy: &SandboxPolicy, mut go: File) -> Result<Pid, SandboxError> {
    let failed = |error: std::io::Error| SandboxError::set_up("another process", error);
    go.read_exact(&mut [0]).map_err(failed)?;
    drop(go);
    let (arg0, arguments) = request
        .words
        .split_first()
        .ok_or_else(|| failed(Errno::EINVAL.into()))?;
    let program = HeldProgram {
        file: request.file.clone(),
        arg0: arg0.clone(),
        arguments: arguments.to_vec(),
    };
    // The command inherits what is blocked. This process is the first one of its pid namespace, which signals
    // do not end.
    let unblocked = SigSet::all().thread_unblock();
    unblocked.map_err(|error| failed(error.into()))?;
    spawn(&program, policy, request.variables())
}
