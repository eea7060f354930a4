//! The first process of a command that starts in a copy of a [template](super::template). It takes the
//! restrictions of the policy before its command is known.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;

use nix::errno::Errno;
use nix::sys::signal::SigSet;
use nix::unistd::{Pid, chdir, dup2_stderr, dup2_stdout};

use super::first_process::{FAILED_REPORT, leave_and_reap};
use super::held_program::{HeldProgram, fail, spawn};
use super::namespace::{InsidePerson, hold};
use super::template_request::{TemplateRequest, receive_with_descriptor};
use super::{kernel, mounts};
use crate::{HELPER_FAILED, SandboxError, SandboxPolicy};

/// The variable with room for the mark, in the environment of a template.
pub(crate) const ROOM: &std::ffi::CStr = c"AGENTX_TEMPLATE";

/// A command, and the descriptors that belong to it.
struct TemplateCommand {
    request: TemplateRequest,
    /// The file for the output of the command, and for the words of this process if it fails.
    output: OwnedFd,
    /// The way to the leader, which hears how the command ended.
    report: File,
}

/// Runs as the first process inside, until nothing is left there. The command comes on `way`; if none comes,
/// this process ends.
pub(super) fn run(way: UnixStream, policy: &SandboxPolicy, person: InsidePerson) -> ! {
    let prepared = prepare(policy, person);
    let Ok(Some(command)) = receive(&way) else {
        std::process::exit(0)
    };
    drop(way);
    let TemplateCommand {
        request,
        output,
        mut report,
    } = command;
    let said = dup2_stdout(&output).and_then(|()| dup2_stderr(&output));
    drop(output);
    let is_said = said.map_err(|error| SandboxError::set_up("the output", error));
    let started = is_said.and(prepared).and_then(|()| start(&request, policy));
    let Err(error) = started.and_then(|command| leave_and_reap(command, &mut report));
    fail(&error);
    // Without a leader nobody waits for it.
    let _ = report.write_all(&FAILED_REPORT);
    std::process::exit(HELPER_FAILED.into())
}

/// Waits for the command. `None` if none comes any more. This process is in the group of the command by then.
fn receive(way: &UnixStream) -> std::io::Result<Option<TemplateCommand>> {
    let (_, report) = kernel::receive_descriptor(way, &mut [0])?;
    let (Some(report), Some((request, output))) = (report, receive_with_descriptor(way)?) else {
        return Ok(None);
    };
    let command = |request| TemplateCommand {
        request,
        output,
        report: report.into(),
    };
    Ok(TemplateRequest::of_bytes(&request).map(command))
}

/// Completes the copy of the root, and takes the restrictions.
fn prepare(policy: &SandboxPolicy, person: InsidePerson) -> Result<(), SandboxError> {
    let failed = |error: Errno| SandboxError::set_up("another process", error);
    person.enter().map_err(failed)?;
    if !policy.network {
        kernel::loopback_up().map_err(|error| SandboxError::set_up("the loopback device", error))?;
    }
    mounts::complete_copy()?;
    hold(policy)
}

/// Starts the command.
fn start(request: &TemplateRequest, policy: &SandboxPolicy) -> Result<Pid, SandboxError> {
    let failed = |error: Errno| SandboxError::set_up("another process", error);
    // Those who look for the processes of a command find this one by it.
    let mark = [b"\0", request.mark.as_bytes()].concat();
    if !kernel::write_over_variable(ROOM, &mark) {
        return Err(SandboxError::set_up("another process", "its mark is too long"));
    }
    mounts::link_own_path(&policy.paths.temporary);
    let directory = Path::new(&request.directory);
    chdir(directory).map_err(|error| SandboxError::path(directory, error))?;
    let (arg0, arguments) = request.words.split_first().ok_or_else(|| failed(Errno::EINVAL))?;
    let program = HeldProgram {
        file: request.file.clone(),
        arg0: arg0.clone(),
        arguments: arguments.to_vec(),
    };
    // The command inherits what is blocked. This process is the first one of its pid namespace, which signals
    // do not end.
    SigSet::all().thread_unblock().map_err(failed)?;
    spawn(&program, policy, request.variables())
}
