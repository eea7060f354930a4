//! The program that the helper executes in the end, in either step, and what it says if it cannot.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use nix::unistd::Pid;

use super::proxy_door::ProxyDoor;
use crate::caches::own_caches;
use crate::{HELPER_FAILED, SandboxError, SandboxPolicy, SandboxStep, hidden_variables};

/// The program that the helper executes.
pub(super) struct HeldProgram {
    pub(super) file: OsString,
    pub(super) arg0: OsString,
    pub(super) arguments: Vec<OsString>,
}

/// Devices that do nothing but read and write.
pub(super) const DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// Says why the command was not started.
pub(super) fn fail(error: &SandboxError) -> ExitCode {
    // Without standard error there is only the exit code.
    let _ = writeln!(std::io::stderr(), "agentx: {error}");
    ExitCode::from(HELPER_FAILED)
}

/// The value of `TMPDIR`: the path by which other programs find the directory too, if it leads there.
fn temporary_of(policy: &SandboxPolicy) -> &Path {
    let (temporary, own) = (policy.paths.temporary.as_path(), Path::new("/tmp"));
    match policy.step {
        SandboxStep::None | SandboxStep::Landlock => temporary,
        SandboxStep::Namespace => match std::fs::canonicalize(temporary) {
            Ok(real) if real == own || real == temporary => temporary,
            // An earlier command has put something else in the way.
            Ok(_) | Err(_) => own,
        },
    }
}

/// Sets the variables that a sandbox sets, and removes those that lead out of it.
fn set_variables(command: &mut Command, policy: &SandboxPolicy, door: Option<&ProxyDoor>) {
    for name in hidden_variables() {
        command.env_remove(name);
    }
    let temporary = temporary_of(policy);
    for name in ["TMPDIR", "TEMP", "TMP"] {
        command.env(name, temporary);
    }
    if policy.step == SandboxStep::Landlock {
        let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
        command.envs(own_caches(&policy.paths.private, temporary, variable));
    }
    if let Some(door) = door {
        door.set_variables(command);
    }
}

/// Starts the program by `start`. A script without its first line is started by a shell, as a shell would run
/// it.
fn by_file_or_shell<T>(
    program: &HeldProgram,
    start: impl Fn(&mut Command) -> std::io::Result<T>,
) -> Result<T, SandboxError> {
    let mut command = Command::new(&program.file);
    command.arg0(&program.arg0).args(&program.arguments);
    match start(&mut command) {
        Err(error) if error.raw_os_error() == Some(nix::libc::ENOEXEC) => {
            let mut shell = Command::new("/bin/sh");
            shell.arg(&program.file).args(&program.arguments);
            start(&mut shell).map_err(|error| SandboxError::path(Path::new("/bin/sh"), error))
        }
        started => started.map_err(|error| SandboxError::path(Path::new(&program.file), error)),
    }
}

/// Executes the program, with the variables of its proxy if it has one. Returns why that failed.
pub(super) fn execute(
    program: &HeldProgram,
    policy: &SandboxPolicy,
    door: Option<&ProxyDoor>,
) -> SandboxError {
    let executed = by_file_or_shell(program, |command| -> std::io::Result<Infallible> {
        set_variables(command, policy, door);
        Err(command.exec())
    });
    match executed {
        Err(error) => error,
        Ok(never) => match never {},
    }
}

/// Starts the program with these variables, and returns its process, which the caller reaps.
pub(super) fn spawn<'a>(
    program: &HeldProgram,
    policy: &SandboxPolicy,
    variables: impl Iterator<Item = (&'a OsStr, &'a OsStr)> + Clone,
) -> Result<Pid, SandboxError> {
    let process = by_file_or_shell(program, |command| {
        command.env_clear().envs(variables.clone());
        set_variables(command, policy, None);
        command.spawn().map(|child| child.id())
    })?;
    let known = i32::try_from(process).map(Pid::from_raw);
    known.map_err(|error| SandboxError::path(Path::new(&program.file), error))
}
