//! `bash`: runs a command line in its own shell.
//!
//! Each command is the leader of a process group and has a mark in its environment. The mark identifies its
//! child processes, even those that left the group (`setsid`, double fork). The output is read as it arrives,
//! shown as events, kept within limits, and given to the model as head and tail. Processes that still run
//! when the shell has ended become a job.

mod background_job;
mod backlog;
mod budget;
mod capture;
mod command;
mod command_end;
mod command_records;
mod command_report;
mod command_sandbox;
mod direct_command;
mod events;
mod group;
mod host_question;
mod job;
mod jobs;
mod lasting_shell;
mod left_running;
mod links;
mod options;
mod orphans;
mod outside;
mod piped_program;
mod process_mark;
mod processes;
mod pump;
mod running_command;
mod started_process;
mod unasked_reading;

use std::time::{Duration, Instant};

use agentx_runtime::{ToolContext, ToolOutcome};
use agentx_sandbox::{SandboxNetwork, SandboxRefusal, SandboxStep};
use agentx_types::Access;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

pub use budget::OutputBudget;
use capture::Capture;
use command::{Shell, StartedLine};
pub use command_records::CommandRecords;
use command_report::{CommandReport, LeftProcesses};
use command_sandbox::CommandSandbox;
use events::OutputEvents;
pub use group::kill_all_commands;
use host_question::HostQuestion;
pub(crate) use job::JobTool;
pub(crate) use jobs::JobTable;
pub(crate) use lasting_shell::{LastingShells, ShellInputTool, ShellTool, ShellWaitTool};
pub use left_running::RemainingProcess;
use links::LineToRun;
pub use links::refused_link;
pub use options::BashOptions;
pub(crate) use orphans::{any as any_left_running, end as end_left_running, named as left_running};
use outside::{OutsideAnswer, OutsideOffer};
pub use piped_program::{PipedCommand, PipedProgram, ProgramPipes};
use process_mark::ProcessMark;
pub use process_mark::{is_in_a_call, own_command_mark};
use pump::OutputDestination;
use running_command::RunningCommand;
pub use unasked_reading::refused_reading;

use crate::command_changes::CommandChanges;
use crate::failure::ToolFailure;
use crate::host_proxy::{AskAboutHost, HostAnswers, HostGate};
use crate::typed::{ToolAbout, TypedTool};

/// The arguments of `bash`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BashInput {
    /// The command line.
    command: String,
    /// Milliseconds until it is stopped.
    timeout_ms: Option<u64>,
    /// A short description of the command for the user.
    #[expect(dead_code, reason = "people read it in the call itself")]
    description: Option<String>,
    /// Start it as a job and continue; read its output with job.
    run_in_background: Option<bool>,
}

pub(crate) struct BashTool {
    options: BashOptions,
    shell: Shell,
    jobs: JobTable,
    hosts: HostAnswers,
    changes: Option<CommandChanges>,
}

impl BashTool {
    pub(crate) fn new(options: BashOptions, jobs: JobTable, hosts: HostAnswers) -> Self {
        Self {
            changes: options.rewind.clone().map(CommandChanges::new),
            options,
            shell: Shell::find(),
            jobs,
            hosts,
        }
    }

    fn timeout(&self, input: &BashInput) -> Result<Option<Duration>, ToolFailure> {
        let most = self.options.max_timeout;
        match input.timeout_ms.map(Duration::from_millis) {
            Some(asked) if asked > most || asked.is_zero() => Err(ToolFailure::invalid(format!(
                "timeout_ms is {}; it has to be 1 to {}. For what runs longer set run_in_background.",
                asked.as_millis(),
                most.as_millis()
            ))),
            asked => Ok(asked),
        }
    }

    /// Starts the command with these `options`: its own, or those without a sandbox.
    fn spawn(
        &self,
        options: &BashOptions,
        input: &BashInput,
        context: &ToolContext,
        record: OutputDestination,
        events: OutputEvents,
    ) -> Result<RunningCommand, ToolFailure> {
        let started = StartedLine {
            line: &input.command,
            workspace: &context.workspace,
            options,
            mark: ProcessMark::new(&context.session_id, &context.tool_call_id),
            gate: self.gate(options, input, context),
        };
        self.shell.spawn(started, record, events)
    }

    /// Returns what decides about the hosts of a command; `None` if no proxy does.
    fn gate(&self, options: &BashOptions, input: &BashInput, context: &ToolContext) -> Option<HostGate> {
        let profile = options.sandbox.as_ref()?.profile();
        if !profile.network.is_by_proxy() {
            return None;
        }
        let asking = (profile.network == SandboxNetwork::Ask).then(|| {
            let asking: Box<dyn AskAboutHost> = Box::new(HostQuestion::new(context, &input.command));
            asking
        });
        let (hosts, session) = (profile.hosts.clone(), context.session_id.clone());
        Some(HostGate::new(hosts, asking, session, self.hosts.clone()))
    }
}

/// The addition to the description if commands run in a sandbox. In the mode `everyday` there may be none,
/// and then no `TMPDIR` either.
const IN_SANDBOX: &str = " Runs in a sandbox, where /tmp is not the one that other tools see: write temporary files to \
                          ${TMPDIR:-/tmp}, and give other tools the path that this stands for.";

/// A command that ran to its end.
struct FinishedCommand {
    outcome: ToolOutcome,
    /// The step of the sandbox that refused something, and the evidence of it, which has a reason.
    refused: Option<(SandboxStep, SandboxRefusal)>,
}

/// Adds the changes of files of a first attempt to those of the second, whose outcome is told.
fn add_changes(first: Option<&Value>, second: Option<&mut Value>) {
    let (Some(first), Some(second)) = (first.and_then(|first| first.get("changes")?.as_array()), second)
    else {
        return;
    };
    let later = second.get("changes").and_then(Value::as_array);
    let all: Vec<Value> = first.iter().chain(later.into_iter().flatten()).cloned().collect();
    second["changes"] = Value::Array(all);
}

impl TypedTool for BashTool {
    type Input = BashInput;

    fn about(&self) -> ToolAbout {
        let sandboxed = self.options.sandbox.as_ref().map_or("", |_| IN_SANDBOX);
        let description = format!(
            "Runs a command line with {} in the working directory; each call starts there anew. No terminal, stdin is empty. \
             Inherits the user's environment without secrets, pagers off. Stopped after {} s unless timeout_ms says otherwise. Long \
             output is truncated in the middle. For files prefer read, edit, glob, grep.{sandboxed}",
            self.shell.name(),
            self.options.timeout.as_secs()
        );
        ToolAbout::new("bash", description, Access::Run).command("command")
    }

    async fn run(&self, input: BashInput, context: ToolContext) -> Result<ToolOutcome, ToolFailure> {
        let timeout = self.timeout(&input)?;
        if input.command.trim().is_empty() {
            return Err(ToolFailure::invalid("The command is empty."));
        }
        if context.cancel.is_cancelled() {
            return Err(ToolFailure::interrupted());
        }
        let run = LineToRun {
            tool: "bash",
            line: &input.command,
            directory: &context.workspace,
        };
        if let Some(why) = links::refusal(run, &context).await {
            return Err(ToolFailure::denied(format!("The command was not run: {why}.")));
        }
        let reading = context.unasked_reading("bash", &input.command);
        let is_unasked = context.is_unasked("bash", &json!({ "command": input.command }));
        let mut options = self.options.for_call(is_unasked);
        if let Some(reading) = &reading {
            options = options.for_reading(&context.workspace);
            if let Some(why) = unasked_reading::refusal(reading, &options, &context).await {
                return Err(ToolFailure::denied(format!("The command was not run: {why}.")));
            }
        }
        if input.run_in_background == Some(true) {
            return self.background(&options, &input, &context, timeout);
        }
        let timeout = timeout.unwrap_or(options.timeout);
        self.foreground(&options, &input, &context, timeout).await
    }
}

impl BashTool {
    fn background(
        &self,
        options: &BashOptions,
        input: &BashInput,
        context: &ToolContext,
        timeout: Option<Duration>,
    ) -> Result<ToolOutcome, ToolFailure> {
        self.jobs.check_room(&context.session_id)?;
        let running = self.spawn(
            options,
            input,
            context,
            OutputDestination::Nothing,
            OutputEvents::none(),
        )?;
        let sandbox = running.sandbox();
        let job = self.jobs.adopt(
            &context.session_id,
            &input.command,
            running,
            (timeout, context.output.clone()),
        )?;
        let id = job.id();
        let text = format!("Started {id}. Read its output or kill it with job {{\"id\": \"{id}\"}}.");
        let mut details = json!({ "job": id, "running": true });
        if let Some(sandbox) = sandbox {
            details["sandbox"] = sandbox.details(None);
        } else if let Some(unheld) = options.unheld(&context.workspace) {
            details["sandbox"] = unheld;
        }
        Ok(ToolOutcome::success(text).with_details(details))
    }

    /// Runs the command. If its sandbox refused it something, a person may have it run once more without one.
    async fn foreground(
        &self,
        options: &BashOptions,
        input: &BashInput,
        context: &ToolContext,
        timeout: Duration,
    ) -> Result<ToolOutcome, ToolFailure> {
        let held = self.attempt(options, input, context, timeout).await?;
        let Some((step, refused)) = held.refused else {
            return Ok(held.outcome);
        };
        let offer = OutsideOffer {
            command: &input.command,
            step,
            reason: refused.reason.as_deref().unwrap_or(refused.words),
            path: refused.path.as_ref(),
        };
        match offer.ask(context).await {
            OutsideAnswer::None => Ok(held.outcome),
            OutsideAnswer::Leave => Ok(offer.left(held.outcome)),
            OutsideAnswer::Run => {
                let outside = BashOptions {
                    sandbox: None,
                    unasked_sandbox: None,
                    ..options.clone()
                };
                let mut again = self.attempt(&outside, input, context, timeout).await?;
                add_changes(held.outcome.details.as_ref(), again.outcome.details.as_mut());
                Ok(offer.ran(again.outcome))
            }
        }
    }

    async fn attempt(
        &self,
        options: &BashOptions,
        input: &BashInput,
        context: &ToolContext,
        timeout: Duration,
    ) -> Result<FinishedCommand, ToolFailure> {
        let started = Instant::now();
        let record = OutputDestination::Call(Capture::new(&self.options));
        let events = OutputEvents::new(context.output.clone(), &self.options);
        let watched = match &self.changes {
            Some(changes) => changes.begin(&input.command, &context.workspace).await,
            None => None,
        };
        let mut running = self.spawn(options, input, context, record, events)?;
        let end = running.run(&context.cancel, Some(timeout)).await;
        let (capture, duration) = (running.take_capture(), started.elapsed());
        let sandbox = running.sandbox();
        let step = sandbox.as_ref().map(CommandSandbox::step);
        let rest = if end.is_exit() && running.is_left() {
            self.adopt_rest(input, context, running).await
        } else {
            LeftProcesses::None
        };
        let report = CommandReport {
            end,
            duration,
            limit: Some(timeout),
            rest,
            sandbox,
        };
        let (mut outcome, refused) = report.outcome(capture, &context.blobs).await;
        if step.is_none()
            && let Some(details) = &mut outcome.details
            && let Some(unheld) = options.unheld(&context.workspace)
        {
            details["sandbox"] = unheld;
        }
        if let (Some(watched), Some(details)) = (watched, &mut outcome.details) {
            watched.end(details, &*context.blobs).await;
        }
        // A command that was stopped is not known to have failed.
        let refused = step
            .filter(|_| end.is_exit())
            .zip(refused.filter(|refused| refused.reason.is_some()));
        Ok(FinishedCommand { outcome, refused })
    }

    /// Turns the processes that the shell left behind into a job; if there is no room for another one, kills
    /// them.
    async fn adopt_rest(
        &self,
        input: &BashInput,
        context: &ToolContext,
        mut running: RunningCommand,
    ) -> LeftProcesses {
        if self.jobs.check_room(&context.session_id).is_err() {
            running.stop().await;
            return LeftProcesses::Killed;
        }
        match self.jobs.adopt(
            &context.session_id,
            &input.command,
            running,
            (None, context.output.clone()),
        ) {
            Ok(job) => LeftProcesses::Job(job.id().to_owned()),
            Err(_) => LeftProcesses::Killed,
        }
    }
}
