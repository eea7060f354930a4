//! The mode of a program in which it is the helper: `PROGRAM __sandbox run POLICY FILE ARG0 [ARGUMENT…]`.
//!
//! `PROGRAM __sandbox probe` tries namespaces and says `ok`, or why they do not work.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use super::held_program::{DEVICES, HeldProgram, execute, fail};
use super::landlock::LandlockRules;
use super::{namespace, restrictions};
use crate::{SandboxError, SandboxPolicy, SandboxStep, temporary};

/// Runs as the helper. `arguments` are those behind [`HELPER`](crate::HELPER). If all is well it does not
/// return, because the process has become the command, or has ended as the command did.
pub(crate) fn helper_main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let done = match arguments.next().as_deref().and_then(OsStr::to_str) {
        Some("run") => run(arguments).map(|never| match never {}),
        Some("probe") => return probe(),
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

fn probe() -> ExitCode {
    let said = match namespace::probe() {
        Ok(()) => "ok".to_owned(),
        Err(why) => why,
    };
    let _ = writeln!(std::io::stdout(), "{said}");
    ExitCode::SUCCESS
}

fn run(mut arguments: impl Iterator<Item = OsString>) -> Result<Infallible, SandboxError> {
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
    temporary::make(&policy.paths.temporary)?;
    match policy.step {
        SandboxStep::None => Err(execute(&program, &policy)),
        SandboxStep::Landlock => Err(by_landlock(&program, &policy)),
        SandboxStep::Namespace => Err(namespace::enter(&program, &policy)),
    }
}

/// The step `landlock`: this process becomes the command.
fn by_landlock(program: &HeldProgram, policy: &SandboxPolicy) -> SandboxError {
    let held = || {
        restrictions::limit(&policy.limits, policy.step)?;
        restrictions::give_up_privileges()?;
        let paths = &policy.paths;
        let devices = DEVICES.iter().map(Path::new);
        let write = paths.write.iter().map(AsRef::as_ref);
        let rules = LandlockRules {
            read: paths.read.iter().map(AsRef::as_ref).collect(),
            write: write.chain(devices).chain([paths.temporary.as_path()]).collect(),
            hidden: &paths.hidden,
            network: policy.network,
        };
        restrictions::hold_by_landlock(&rules, policy.step, !policy.best_effort)?;
        restrictions::hold_by_filter(policy.step, policy.network)
    };
    match held() {
        Ok(()) => execute(program, policy),
        Err(error) => error,
    }
}
