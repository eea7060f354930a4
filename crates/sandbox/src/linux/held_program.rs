//! The program that the helper executes in the end, in either step, and what it says if it cannot.

use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use super::proxy_door::ProxyDoor;
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

/// Executes the program, with the variables of its proxy if it has one. Returns why that failed.
pub(super) fn execute(
    program: &HeldProgram,
    policy: &SandboxPolicy,
    door: Option<&ProxyDoor>,
) -> SandboxError {
    let in_environment = |command: &mut Command| {
        for name in hidden_variables() {
            command.env_remove(name);
        }
        let temporary = temporary_of(policy);
        for name in ["TMPDIR", "TEMP", "TMP"] {
            command.env(name, temporary);
        }
        if let Some(door) = door {
            door.set_variables(command);
        }
    };
    let mut command = Command::new(&program.file);
    command.arg0(&program.arg0).args(&program.arguments);
    in_environment(&mut command);
    let error = command.exec();
    if error.raw_os_error() == Some(nix::libc::ENOEXEC) {
        // A script without its first line, which a shell would run by itself.
        let mut shell = Command::new("/bin/sh");
        shell.arg(&program.file).args(&program.arguments);
        in_environment(&mut shell);
        return SandboxError::path(Path::new("/bin/sh"), shell.exec());
    }
    SandboxError::path(Path::new(&program.file), error)
}
