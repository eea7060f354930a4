//! The helper as a separate program, which also runs a command in a sandbox by hand: `agentx-held STEP
//! WORKSPACE PROGRAM [ARGUMENT…]`. For tests of this crate, and for programs whose own `main` cannot be the
//! helper.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use agentx_sandbox::{CommandPlace, SandboxLauncher, SandboxMode, SandboxNetwork, SandboxProfile};

fn main() -> ExitCode {
    if let Some(ended) = agentx_sandbox::act_as_helper() {
        return ended;
    }
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    match held(&words) {
        Ok(mut command) => complain(&command.exec().to_string()),
        Err(why) => complain(&why),
    }
}

fn complain(why: &str) -> ExitCode {
    use std::io::Write as _;
    // Without standard error there is only the exit code.
    let _ = writeln!(std::io::stderr(), "agentx-held: {why}");
    ExitCode::from(agentx_sandbox::HELPER_FAILED)
}

/// The number in a variable, if it is set.
fn number(name: &str) -> Result<Option<u64>, String> {
    let value = std::env::var(name).ok();
    let number = value.map(|value| value.parse::<u64>()).transpose();
    number.map_err(|error| format!("{name}: {error}"))
}

fn held(words: &[OsString]) -> Result<Command, String> {
    let [mode, workspace, program, arguments @ ..] = words else {
        return Err("usage: agentx-held STEP WORKSPACE PROGRAM [ARGUMENT…]".into());
    };
    let mode = mode.to_str().and_then(SandboxMode::parse).ok_or("no such step")?;
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let profile = SandboxProfile {
        home: variable("HOME"),
        cargo_home: variable("CARGO_HOME"),
        rustup_home: variable("RUSTUP_HOME"),
        program_directories: std::env::split_paths(&path).collect(),
        programs: variable("HELD_PROGRAM").into_iter().collect(),
        network: match std::env::var("HELD_NETWORK") {
            Ok(word) => SandboxNetwork::parse(&word).ok_or("no such network")?,
            Err(_) => SandboxNetwork::Off,
        },
        memory_bytes: number("HELD_MEMORY")?,
        tasks: number("HELD_TASKS")?,
        best_effort: std::env::var_os("HELD_BEST_EFFORT").is_some(),
        ..SandboxProfile::default()
    };
    let place = CommandPlace {
        workspace: Path::new(workspace),
        session: "held",
    };
    let mut all: Vec<&OsStr> = vec![program];
    all.extend(arguments.iter().map(OsString::as_os_str));
    let launcher = SandboxLauncher::of_this_program(mode, profile);
    let sandboxed = launcher
        .command(Path::new(program), &all, place)
        .map_err(|error| error.to_string())?;
    let mut command = match sandboxed {
        Some(sandboxed) => {
            let sandboxed = sandboxed.locked_by_itself();
            let mut command = Command::new(sandboxed.program);
            command.args(sandboxed.arguments);
            for name in agentx_sandbox::hidden_variables() {
                command.env_remove(name);
            }
            command
        }
        None => {
            let mut command = Command::new(program);
            command.args(arguments);
            command
        }
    };
    command.current_dir(workspace);
    Ok(command)
}
