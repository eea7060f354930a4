//! Shows the sandbox of commands to a person: what works on this machine, what each step stops, and what
//! commands may reach in this directory. Also runs a single command in it.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use agentx::config::{SandboxSettings, Settings};
use agentx::node::{command_sandbox, masked_credentials, program_environment};
use agentx::sandbox::{
    CommandPlace, SandboxError, SandboxLauncher, SandboxMode, SandboxNetwork, SandboxPolicy, SandboxStep,
    SandboxedCommand, hidden_variables, promises,
};
use agentx::tools::{ProxyByHand, run_beside_proxy};
use serde_json::{Value, json};

use crate::error::ChatError;
use crate::exit::Exit;
use crate::render::clean::visible;
use crate::render::table::table;
use crate::terminal::console::Console;
use crate::tools::sandbox_arguments::SandboxCommand;
use crate::tools::sandbox_doctor;

/// The name in place of a session, for commands that a person runs.
pub(crate) const BY_HAND: &str = "by-hand";

/// The hint for a step that does not work.
const HINT: &str = "`agentx sandbox show` lists what works here";

fn refused(error: &SandboxError) -> ChatError {
    ChatError::usage(error.to_string(), HINT)
}

/// Returns the sandbox of this step. Without one, that of the settings is used; if they have none for all
/// commands, the strongest.
fn launcher(settings: &Settings, step: Option<&str>) -> Result<SandboxLauncher, ChatError> {
    let mode = match (step, settings.sandbox.mode) {
        (Some(word), _) => SandboxMode::parse(word)
            .ok_or_else(|| ChatError::usage(format!("unknown sandbox step {word:?}"), HINT))?,
        (None, SandboxMode::None) => SandboxMode::Auto,
        (None, mode) => mode,
    };
    Ok(command_sandbox(settings, mode))
}

/// Returns the sandbox of the settings; if they have none, the strongest.
pub(crate) fn launcher_of_settings(settings: &Settings) -> Result<SandboxLauncher, ChatError> {
    launcher(settings, None)
}

/// Does what `agentx sandbox` asks for; without a word, shows the sandbox.
///
/// # Errors
/// Returns an error if the step does not work here, or the output cannot be written.
pub fn run(
    command: Option<SandboxCommand>,
    settings: &Settings,
    as_json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    match command.unwrap_or(SandboxCommand::Show) {
        SandboxCommand::Show => show(settings, as_json, console),
        SandboxCommand::Doctor => {
            sandbox_doctor::report(&launcher(settings, None)?, settings, as_json, console)
        }
        SandboxCommand::Run { step, command } => run_held(settings, step.as_deref(), &command, console),
    }
}

/// Shows the sandbox.
///
/// # Errors
/// Returns an error if the output cannot be written.
pub fn show(settings: &Settings, as_json: bool, console: &mut Console) -> Result<Exit, ChatError> {
    let launcher = shown_launcher(settings);
    let place = CommandPlace {
        workspace: &settings.workspace,
        session: BY_HAND,
    };
    let policy = launcher.policy(place);
    if as_json {
        console.out_pretty(&as_value(settings, &launcher, policy.as_ref()))?;
        return Ok(Exit::Ok);
    }
    let mut text = format!("{}\n\n", summary(settings, &launcher));
    match &policy {
        Ok(policy) => text.push_str(&reach(policy)),
        Err(error) => text.push_str(&format!("{error}\n\n")),
    }
    text.push_str(&credentials_words(&settings.sandbox));
    let mut rows = vec![
        ["A COMMAND MAY TRY TO", "NONE", "LANDLOCK", "NAMESPACE"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for promise in promises() {
        let steps = SandboxStep::ALL.map(|step| promise.stopped_by(step).unwrap_or("not stopped").to_owned());
        rows.push([vec![promise.attempt.to_owned()], steps.to_vec()].concat());
    }
    text.push_str(&table(&rows, console.out_width()));
    console.out(&text)?;
    Ok(Exit::Ok)
}

/// Returns the step that holds commands in the working directory in this mode, as a word of settings;
/// "unavailable" if they do not run because it does not work.
pub(crate) fn step_word(settings: &Settings, mode: SandboxMode) -> String {
    let step = command_sandbox(settings, mode).step_in(&settings.workspace);
    step.map_or("unavailable", SandboxStep::as_str).to_owned()
}

/// Returns the sandbox that is shown: that of the settings, or of commands about which nobody is asked; if
/// neither has one, the strongest.
pub(crate) fn shown_launcher(settings: &Settings) -> SandboxLauncher {
    let sandbox = &settings.sandbox;
    let mut modes = [sandbox.mode, sandbox.unasked].into_iter();
    let mode = modes.find(|mode| *mode != SandboxMode::None);
    command_sandbox(settings, mode.unwrap_or(SandboxMode::Auto))
}

/// Describes the current sandbox for commands, and the possible ones.
pub(crate) fn summary(settings: &Settings, launcher: &SandboxLauncher) -> String {
    let support = launcher.support();
    let here: Vec<String> = [SandboxStep::Landlock, SandboxStep::Namespace]
        .into_iter()
        .map(|step| match support.why_not(step) {
            None => format!("{step} works here"),
            Some(why) => format!("{step} does not work here: {why}"),
        })
        .collect();
    let sandbox = &settings.sandbox;
    let network = network_words(launcher.profile().network);
    let why = launcher.why_not_held(&settings.workspace).unwrap_or_default();
    let now = match (sandbox.mode, launcher.step_in(&settings.workspace)) {
        (SandboxMode::None, _) if sandbox.unasked == SandboxMode::None => {
            "none: commands run without a sandbox (`sandbox.mode` is none)".to_owned()
        }
        (SandboxMode::None, step) => unset_words(step, network, &why),
        (SandboxMode::Everyday, Ok(SandboxStep::None)) => {
            format!("none: commands run without a sandbox: {why} (`sandbox.mode` is everyday)")
        }
        (_, Ok(SandboxStep::None)) => {
            "none: no step works on this machine, and `sandbox.best_effort` allows running without one"
                .to_owned()
        }
        (_, Ok(step)) => format!("{step}: commands of `bash` run in a sandbox, {network}"),
        (_, Err(error)) => format!("commands do not run: {error}"),
    };
    format!("{now}\n{}{}", here.join("\n"), limits_words(settings, launcher))
}

/// Describes the sandbox of commands if nobody set `sandbox.mode`: this step is that of the commands about
/// which nobody is asked.
fn unset_words(step: Result<SandboxStep, SandboxError>, network: &str, why: &str) -> String {
    let unasked = match step {
        Ok(SandboxStep::None) => format!("also none: {why}"),
        Ok(step) => format!("{step}, {network}"),
        Err(error) => format!("they do not run: {error}"),
    };
    format!(
        "none while you or your rules decide about commands; if nobody is asked (`--yes`, `approval: auto`, a command that only reads), {unasked} (`sandbox.mode` is not set)"
    )
}

/// Describes the limits that the settings ask for, and whether they can be held; empty if they ask for none.
fn limits_words(settings: &Settings, launcher: &SandboxLauncher) -> String {
    let sandbox = &settings.sandbox;
    let memory = sandbox
        .memory_bytes
        .map(|bytes| format!("{} MiB of memory", bytes >> 20));
    let processes = sandbox.processes.map(|most| format!("{most} processes"));
    let wanted: Vec<String> = memory.into_iter().chain(processes).collect();
    if wanted.is_empty() {
        return String::new();
    }
    let wanted = wanted.join(" and ");
    match launcher.limits_support() {
        Ok(()) => format!("\ncommands have at most {wanted}"),
        Err(why) if sandbox.best_effort => {
            format!("\ncommands cannot be held to {wanted}, and `sandbox.best_effort` allows that: {why}")
        }
        Err(why) => format!("\ncommands cannot be held to {wanted} here: {why}"),
    }
}

/// Describes the network of commands.
pub(crate) fn network_words(network: SandboxNetwork) -> &'static str {
    match network {
        SandboxNetwork::On => "with a network",
        SandboxNetwork::Off => "without a network",
        SandboxNetwork::Hosts => "with the hosts of `sandbox.hosts` as their network",
        SandboxNetwork::Ask => {
            "with the hosts of `sandbox.hosts`, and those that you allow, as their network"
        }
    }
}

/// Lists the variables of which commands see placeholders; empty if there are none.
fn credentials_words(sandbox: &SandboxSettings) -> String {
    if sandbox.credentials.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = sandbox
        .credentials
        .iter()
        .map(|masked| {
            let hosts: Vec<String> = masked.hosts.iter().map(ToString::to_string).collect();
            let set = match masked.value.value() {
                None => "not set",
                Some(_) if !sandbox.network.is_some_and(SandboxNetwork::is_by_proxy) => {
                    "no command gets it or a placeholder, because `sandbox.network` is neither hosts nor ask"
                }
                Some(_) if sandbox.unasked == SandboxMode::None => {
                    "no command gets it or a placeholder, because `sandbox.mode` is none"
                }
                Some(_) if sandbox.mode == SandboxMode::None => {
                    "a placeholder for commands about which nobody is asked"
                }
                Some(_) => "a placeholder for commands",
            };
            format!("  {} for {}: {set}", masked.variable, hosts.join(", "))
        })
        .collect();
    format!("credentials that the proxy puts in:\n{}\n\n", lines.join("\n"))
}

fn reach(policy: &SandboxPolicy) -> String {
    let mut text = String::new();
    for (title, paths) in [
        ("can be written", &policy.paths.write),
        ("can be read", &policy.paths.read),
        ("never reached", &policy.paths.hidden),
    ] {
        let paths: Vec<String> = paths
            .iter()
            .map(|path| visible(&path.to_string_lossy()))
            .collect();
        text.push_str(&format!("{title}:\n  {}\n", paths.join("\n  ")));
    }
    text.push('\n');
    text
}

fn as_value(
    settings: &Settings,
    launcher: &SandboxLauncher,
    policy: Result<&SandboxPolicy, &SandboxError>,
) -> Value {
    let support = launcher.support();
    let steps = SandboxStep::ALL.map(|step| {
        let why = support.why_not(step);
        json!({ "step": step, "works": why.is_none(), "why_not": why })
    });
    let limits = launcher.limits_support();
    let promises = promises().iter().map(|promise| {
        json!({ "attempt": promise.attempt, "landlock": promise.landlock, "namespace": promise.namespace })
    });
    let credentials = settings.sandbox.credentials.iter().map(|masked| {
        let hosts: Vec<String> = masked.hosts.iter().map(ToString::to_string).collect();
        json!({ "variable": masked.variable, "hosts": hosts, "is_set": masked.value.value().is_some() })
    });
    json!({
        "on": settings.sandbox.mode != SandboxMode::None,
        "unasked": step_word(settings, settings.sandbox.unasked),
        "landlock_abi": support.landlock_abi,
        "steps": steps,
        "limits": { "works": limits.is_ok(), "why_not": limits.as_ref().err() },
        "credentials": credentials.collect::<Vec<_>>(),
        "policy": policy.ok(),
        "error": policy.err().map(ToString::to_string),
        "promises": promises.collect::<Vec<_>>(),
    })
}

/// Runs a command in the sandbox: this process becomes the command.
///
/// # Errors
/// Returns an error if the command cannot be held as the step promises, or not be started.
pub fn run_held(
    settings: &Settings,
    step: Option<&str>,
    words: &[OsString],
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let launcher = launcher(settings, step)?;
    let words: Vec<&OsStr> = words.iter().map(OsString::as_os_str).collect();
    let Some(program) = words.first() else {
        return Err(ChatError::usage(
            "a command is missing",
            "agentx sandbox run -- COMMAND",
        ));
    };
    let place = CommandPlace {
        workspace: &settings.workspace,
        session: BY_HAND,
    };
    let held = launcher
        .command(Path::new(program), &words, place)
        .map_err(|error| refused(&error))?;
    let is_held = held.is_some();
    let proxy_place = held
        .as_ref()
        .filter(|held| held.policy.proxy)
        .map(|held| held.policy.paths.temporary.clone());
    if !is_held && settings.sandbox.mode == SandboxMode::Everyday {
        console.say("it runs without a sandbox, because none works here: see `agentx sandbox show`\n");
    }
    let mut command = started(held, program, &words[1..]);
    let variables = program_environment(settings);
    command
        .current_dir(&settings.workspace)
        .env_clear()
        .envs(variables.variables());
    if is_held {
        for name in hidden_variables() {
            command.env_remove(name);
        }
    }
    console.finish()?;
    if let Some(temporary) = proxy_place {
        let proxy = ProxyByHand {
            hosts: launcher.profile().hosts.clone(),
            credentials: masked_credentials(settings, &variables),
            temporary,
        };
        return run_by_proxy(command, proxy, console);
    }
    become_command(&mut command, &program.to_string_lossy())
}

/// Returns the process to start: the helper, or the program itself if nothing holds it.
fn started(held: Option<SandboxedCommand>, program: &OsStr, words: &[&OsStr]) -> std::process::Command {
    match held {
        Some(held) => {
            let held = held.locked_by_itself();
            let mut command = std::process::Command::new(held.program);
            command.args(held.arguments);
            command
        }
        None => {
            let mut command = std::process::Command::new(program);
            command.args(words);
            command
        }
    }
}

/// Runs a command whose network is a proxy in this process, which therefore stays. This process ends as the
/// command does.
#[cfg(unix)]
fn run_by_proxy(
    command: std::process::Command,
    proxy: ProxyByHand,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    use std::os::unix::process::ExitStatusExt as _;
    let ran = run_beside_proxy(command, proxy);
    let (status, refused) = ran.map_err(|error| ChatError::usage(format!("the command: {error}"), HINT))?;
    if let Some(host) = refused {
        console.say(&format!(
            "the sandbox did not let it reach {}: `sandbox.hosts` has to name it\n",
            visible(&host)
        ));
    }
    let by_signal = status.signal().map(|signal| 128 + signal);
    std::process::exit(status.code().or(by_signal).unwrap_or(1))
}

#[cfg(not(unix))]
fn run_by_proxy(_: std::process::Command, _: ProxyByHand, _: &mut Console) -> Result<Exit, ChatError> {
    Err(ChatError::usage("the sandbox works only on Linux", ""))
}

#[cfg(unix)]
fn become_command(command: &mut std::process::Command, name: &str) -> Result<Exit, ChatError> {
    use std::os::unix::process::CommandExt as _;
    let error = command.exec();
    Err(ChatError::usage(format!("{}: {error}", visible(name)), ""))
}

#[cfg(not(unix))]
fn become_command(_: &mut std::process::Command, _: &str) -> Result<Exit, ChatError> {
    Err(ChatError::usage("the sandbox works only on Linux", ""))
}
