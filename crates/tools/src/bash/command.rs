//! Starts a process for a command line: the shell, its environment, its pipes.

use std::ffi::{OsStr, OsString};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use agentx_sandbox::{
    CommandPlace, SandboxError, SandboxLauncher, SandboxedCommand, TemplateStart, hidden_variables,
};
use agentx_types::ToolStatus;
use nix::unistd::Pid;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Command;

use super::command_sandbox::CommandSandbox;
use super::direct_command::{DirectCommand, direct};
use super::events::OutputEvents;
use super::group::ProcessGroup;
use super::process_mark::{MARK, ProcessMark};
use super::pump::{OutputDestination, OutputPump};
use super::running_command::RunningCommand;
use super::started_process::StartedProcess;
use crate::bash::options::BashOptions;
use crate::environment::ProgramEnvironment;
use crate::failure::ToolFailure;
use crate::host_proxy::{HostGate, HostProxy, ProxyWay};
use crate::workspace::explain;

/// Variables that commands get in addition to the process's environment: plain output, no pager, no prompts.
const SETTINGS: &[(&str, &str)] = &[
    ("AGENTX", "1"),
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("CLICOLOR", "0"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("DEBIAN_FRONTEND", "noninteractive"),
];

/// Settings that would bring colour back.
const REMOVED: &[&str] = &["CLICOLOR_FORCE", "FORCE_COLOR"];

/// A command line, and how it is started.
pub(super) struct StartedLine<'a> {
    pub(super) line: &'a str,
    pub(super) workspace: &'a Path,
    /// Those of this call ([`BashOptions::for_call`]).
    pub(super) options: &'a BashOptions,
    pub(super) mark: ProcessMark,
    /// Decides about hosts, if the sandbox of the command has a proxy.
    pub(super) gate: Option<HostGate>,
}

/// A process that was started, and the pipe with its output.
struct StartedChild {
    child: StartedProcess,
    output: Receiver,
}

impl StartedChild {
    /// Starts a command. Both channels of its output share a pipe, which keeps their order.
    fn spawn(command: &mut Command) -> std::io::Result<Self> {
        let (reader, writer) = std::io::pipe()?;
        let output = Receiver::from_owned_fd(reader.into())?;
        let child = command.stdout(writer.try_clone()?).stderr(writer).spawn();
        // The command keeps its ends of the pipe, and the output ends only when they are closed.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self {
            child: StartedProcess::Own(child?),
            output,
        })
    }

    /// Starts a command in a copy of a template. `None` if the sandbox has to start it by `command` itself.
    fn from_template(
        launcher: &SandboxLauncher,
        held: &SandboxedCommand,
        command: &Command,
        workspace: &Path,
    ) -> std::io::Result<Option<Self>> {
        let (reader, writer) = std::io::pipe()?;
        let output = Receiver::from_owned_fd(reader.into())?;
        let variables = command.as_std().get_envs();
        let start = TemplateStart {
            directory: workspace,
            variables: variables
                .filter_map(|(name, value)| Some((name, value?)))
                .collect(),
            mark: OsStr::new(MARK),
            output: writer.as_fd(),
        };
        let process = launcher.start_from_template(held, &start);
        let Some(process) = process.map_err(std::io::Error::other)? else {
            return Ok(None);
        };
        let child = StartedProcess::Held(process);
        Ok(Some(Self { child, output }))
    }
}

/// The shell that runs commands.
#[derive(Clone, Debug)]
pub(super) struct Shell {
    program: PathBuf,
}

impl Shell {
    /// Finds bash, or sh if there is no bash.
    pub(super) fn find() -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let places = std::env::split_paths(&path).chain([PathBuf::from("/bin"), PathBuf::from("/usr/bin")]);
        let bash = places
            .map(|directory| directory.join("bash"))
            .find(|place| place.is_absolute() && place.is_file());
        Self {
            program: bash.unwrap_or_else(|| "/bin/sh".into()),
        }
    }

    /// `bash` or `sh`.
    pub(super) fn name(&self) -> &str {
        self.program.file_name().and_then(OsStr::to_str).unwrap_or("sh")
    }

    /// Starts a line in a process group of its own.
    pub(super) fn spawn(
        &self,
        mut started: StartedLine<'_>,
        record: OutputDestination,
        events: OutputEvents,
    ) -> Result<RunningCommand, ToolFailure> {
        let options = started.options;
        if let Some(records) = &options.records {
            records.prepare();
        }
        let (child, sandbox) = self.start(&mut started)?;
        let StartedChild { child, output } = child;
        let mark = started.mark;
        let leader = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .map(Pid::from_raw);
        let Some(leader) = leader else {
            return Err(ToolFailure::failed("The shell could not be started."));
        };
        let recorded = options
            .records
            .as_ref()
            .and_then(|records| records.begin(leader, &mark));
        let group = ProcessGroup::new(leader, mark, recorded);
        Ok(
            RunningCommand::new(child, group, OutputPump::new(output, record, events), options)
                .held_by(sandbox),
        )
    }

    /// Starts the line as the options say. Returns the sandbox that holds it.
    fn start(
        &self,
        started: &mut StartedLine<'_>,
    ) -> Result<(StartedChild, Option<CommandSandbox>), ToolFailure> {
        let gate = started.gate.take();
        let StartedLine {
            line,
            workspace,
            options,
            ref mark,
            ..
        } = *started;
        let held = self.held(line, workspace, options, mark);
        let held = held.map_err(|error| ToolFailure::failed(error.to_string()))?;
        if let (Some(launcher), Some(held)) = (&options.sandbox, held) {
            let mut command = Command::new(&held.program);
            command.arg0("agentx").args(&held.arguments);
            let sandbox = CommandSandbox::new(held.policy.clone(), workspace);
            let sandbox = sandbox.of_unasked(options.unasked_sandbox.is_some());
            prepare(&mut command, workspace, options, &mark.to_string()).env("PWD", workspace);
            for name in hidden_variables() {
                command.env_remove(name);
            }
            let failed = |error: std::io::Error| spawn_failure(line, workspace, &error);
            let Some(gate) = gate.filter(|_| sandbox.has_proxy()) else {
                let started = StartedChild::from_template(launcher, &held, &command, workspace);
                let started = match started.map_err(failed)? {
                    Some(started) => started,
                    None => StartedChild::spawn(&mut command).map_err(failed)?,
                };
                return Ok((started, Some(sandbox)));
            };
            let masked = options
                .credentials
                .variables(sandbox.temporary())
                .map_err(failed)?;
            let (theirs, ours) = ProxyWay::new(None).map_err(failed)?.split();
            let started = StartedChild::spawn(command.envs(masked).stdin(theirs)).map_err(failed)?;
            let proxy = HostProxy::start(ours, gate, options.credentials.clone()).map_err(failed)?;
            return Ok((started, Some(sandbox.with_proxy(proxy))));
        }
        let started = self.start_bare(line, workspace, options, &mark.to_string());
        let started = started.map_err(|error| spawn_failure(line, workspace, &error))?;
        Ok((started, None))
    }

    /// Returns what starts the line in a sandbox, if there is one.
    fn held(
        &self,
        line: &str,
        workspace: &Path,
        options: &BashOptions,
        mark: &ProcessMark,
    ) -> Result<Option<SandboxedCommand>, SandboxError> {
        let Some(launcher) = &options.sandbox else {
            return Ok(None);
        };
        let place = CommandPlace {
            workspace,
            session: mark.session(),
        };
        match self.direct(line, workspace) {
            Some(direct) => {
                let words: Vec<&OsStr> = direct.words.iter().map(|word| OsStr::new(*word)).collect();
                launcher.command(&direct.program, &words, place)
            }
            None => {
                let words = [self.name(), "-c", line].map(OsStr::new);
                launcher.command(&self.program, &words, place)
            }
        }
    }

    /// Returns the command that starts this shell, which has to be bash, on a terminal, and the sandbox that
    /// holds it.
    pub(super) fn on_terminal(
        &self,
        workspace: &Path,
        options: &BashOptions,
        mark: &ProcessMark,
    ) -> Result<(Command, Option<CommandSandbox>), ToolFailure> {
        let words = ["bash", "--norc", "--noprofile", "--noediting", "-i"].map(OsStr::new);
        let place = CommandPlace {
            workspace,
            session: mark.session(),
        };
        let held = match &options.sandbox {
            Some(launcher) => launcher.command(&self.program, &words, place),
            None => Ok(None),
        };
        let held = held.map_err(|error| ToolFailure::failed(error.to_string()))?;
        let mut command = Command::new(held.as_ref().map_or(&self.program, |held| &held.program));
        match &held {
            Some(held) => command.arg0("agentx").args(&held.arguments),
            None => command.args(&words[1..]),
        };
        command
            .current_dir(workspace)
            .env_clear()
            .envs(environment(std::env::vars_os(), &options.environment))
            .env(MARK, mark.to_string())
            .env("PWD", workspace);
        for name in hidden_variables().iter().filter(|_| held.is_some()) {
            command.env_remove(name);
        }
        let sandbox = held.map(|held| {
            let sandbox = CommandSandbox::new(held.policy, workspace);
            sandbox.of_unasked(options.unasked_sandbox.is_some())
        });
        if let Some(sandbox) = sandbox.as_ref().filter(|sandbox| sandbox.has_proxy()) {
            let masked = options.credentials.variables(sandbox.temporary());
            command.envs(masked.map_err(|error| spawn_failure("", workspace, &error))?);
        }
        Ok((command, sandbox))
    }

    /// Starts the program that the line names if no shell is needed, else the shell.
    fn start_bare(
        &self,
        line: &str,
        workspace: &Path,
        options: &BashOptions,
        mark: &str,
    ) -> std::io::Result<StartedChild> {
        if let Some(direct) = self.direct(line, workspace) {
            let mut command = Command::new(&direct.program);
            command.arg0(direct.words[0]).args(&direct.words[1..]);
            // A file that only a shell can run (a script without a `#!` line) is left to the shell.
            let prepared = prepare(&mut command, workspace, options, mark);
            if let Ok(started) = StartedChild::spawn(prepared.env("PWD", workspace)) {
                return Ok(started);
            }
        }
        let mut command = Command::new(&self.program);
        command.arg("-c").arg(line);
        StartedChild::spawn(prepare(&mut command, workspace, options, mark))
    }

    /// Returns the program to start without a shell. If bash is to read a file first, or inherits functions,
    /// the line needs bash.
    fn direct<'a>(&self, line: &'a str, workspace: &Path) -> Option<DirectCommand<'a>> {
        let own_words = |(name, _): (OsString, OsString)| {
            let name = name.to_string_lossy();
            name == "BASH_ENV" || name.starts_with("BASH_FUNC_")
        };
        if self.name() != "bash" || std::env::vars_os().any(own_words) {
            return None;
        }
        direct(line, workspace, &std::env::var("PATH").ok()?)
    }
}

/// Nothing in it needs code between fork and exec, so that the standard library can use posix_spawn.
fn prepare<'c>(
    command: &'c mut Command,
    workspace: &Path,
    options: &BashOptions,
    mark: &str,
) -> &'c mut Command {
    command
        .current_dir(workspace)
        .env_clear()
        .envs(environment(std::env::vars_os(), &options.environment))
        .process_group(0)
        .env(MARK, mark)
        .stdin(Stdio::null())
}

fn spawn_failure(command: &str, workspace: &Path, error: &std::io::Error) -> ToolFailure {
    const LONGEST: usize = 100_000;
    if command.contains('\0') {
        return ToolFailure::invalid("The command has a NUL in it.");
    }
    if command.len() > LONGEST {
        let text = format!(
            "The command of {} bytes is too long to start; write it to a file and run that.",
            command.len()
        );
        return ToolFailure::failed(text);
    }
    if let Some(SandboxError::NoAnswer { .. }) = error.get_ref().and_then(|inner| inner.downcast_ref()) {
        return ToolFailure {
            status: ToolStatus::Unknown,
            text: format!("{error}. Look at what it may have done before you run it again."),
        };
    }
    let why = if workspace.is_dir() {
        explain(error)
    } else {
        format!("{} is not a directory", workspace.display())
    };
    ToolFailure::failed(format!("The shell could not be started: {why}."))
}

/// Returns the environment of a command.
fn environment<'a>(
    own: impl Iterator<Item = (OsString, OsString)> + 'a,
    passed: &'a ProgramEnvironment,
) -> impl Iterator<Item = (OsString, OsString)> + 'a {
    let colours = |name: &OsString| name.to_str().is_some_and(|name| REMOVED.contains(&name));
    passed.of(own).filter(move |(name, _)| !colours(name)).chain(
        SETTINGS
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into())),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_beside_what_is_passed_on() {
        let own = ["HOME", "OPENAI_API_KEY", "FORCE_COLOR", "TERM"];
        let own = own.iter().map(|name| (OsString::from(name), OsString::from("x")));
        let passed = ProgramEnvironment::default();
        let names: Vec<_> = environment(own, &passed).map(|(name, _)| name).collect();
        assert_eq!(names[..2], ["HOME", "TERM"].map(OsString::from));
        let git = |name: &&OsString| name.to_string_lossy().starts_with("GIT_CONFIG_");
        assert_eq!(names.iter().filter(git).count(), 11);
        assert_eq!(names.len(), 2 + 11 + SETTINGS.len());
    }
}
