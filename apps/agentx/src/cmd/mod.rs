//! The commands, one per file, and the dispatch of a parsed command line.

pub(crate) mod agents;
pub(crate) mod approvals;
pub(crate) mod chat;
pub(crate) mod complete;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod context;
pub(crate) mod debug;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod fork;
pub(crate) mod help;
pub(crate) mod identity;
pub(crate) mod manual;
pub(crate) mod mcp;
pub(crate) mod mirror;
pub(crate) mod models;
pub(crate) mod replay;
pub(crate) mod rewind;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod sessions;
mod tool_restrictions;
pub(crate) mod tools;
pub(crate) mod usage;
pub(crate) mod waiting;
pub(crate) mod watch;

use std::future::Future;
use std::time::Duration;

use agentx::config::Loaded;
use agentx_chat::failure::fail;

use crate::args::{
    AgentArgs, AgentsCommand, ApprovalsCommand, Cli, Command, ConfigCommand, Global, IdentityCommand,
    McpCommand, SessionArgs, SessionsCommand, ToolsCommand,
};
use crate::compose::CommandTarget;
use crate::console::Console;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::logging;
use crate::reactor_list::list_reactors;
use crate::session_opening::Target;
use crate::start::SettingsRead::{self, Stored};
use crate::waits::WaitsCommand;
use crate::{attach, cache_why, show, spending, start};

/// Runs the command, and prints its error if it failed.
pub(crate) fn main(cli: Cli, console: &mut Console) -> Exit {
    let output = cli.failure_output();
    let ended = dispatch(cli, console).and_then(|exit| match console.finish() {
        Ok(()) | Err(ChatError::ClosedOutput) => Ok(exit),
        Err(error) => Err(error),
    });
    match ended {
        Ok(exit) => exit,
        Err(ChatError::ClosedOutput) => Exit::Ok,
        Err(error) => {
            let exit = fail(error, output, console);
            // Standard output cannot be written to, or was the first to be finished.
            let _ = console.finish();
            exit
        }
    }
}

fn dispatch(cli: Cli, console: &mut Console) -> Result<Exit, ChatError> {
    let Cli {
        global,
        agent,
        command,
    } = cli;
    tool_restrictions::refuse(command.as_ref())?;
    let command = match command {
        None => return chat::run(&global, &agent, (Target::New, false), &[], console),
        Some(command) => command,
    };
    match command {
        Command::Chat(mut args) => {
            args.prompt
                .extend(attach::mentions(&args.image, global.cwd.is_some())?);
            let target = args.session.target()?;
            let fork = args.session.fork;
            chat::run(
                &global,
                &args.agent.or(agent),
                (target, fork),
                &args.prompt,
                console,
            )
        }
        Command::Resume(args) => {
            let session = SessionArgs {
                resume: args.id,
                ..SessionArgs::default()
            };
            let target = match (args.last, &session.resume) {
                (true, _) => Target::Last,
                (false, None) => Target::Chosen,
                (false, Some(_)) => session.target()?,
            };
            chat::run(&global, &args.agent.or(agent), (target, false), &[], console)
        }
        Command::Run(mut args) => {
            args.agent = args.agent.or(agent);
            args.prompt
                .extend(attach::mentions(&args.image, global.cwd.is_some())?);
            run::run(&global, &mut args, console)
        }
        other => {
            only_for_agents(&agent, &other)?;
            without_agent(other, &global, console)
        }
    }
}

fn without_agent(command: Command, global: &Global, console: &mut Console) -> Result<Exit, ChatError> {
    match command {
        Command::Config { command } => {
            only_here("config", global)?;
            config::run(&command.unwrap_or(ConfigCommand::Show), global, console)
        }
        Command::Identity { command } => {
            only_here("identity", global)?;
            identity::run(command.unwrap_or(IdentityCommand::Show), global, console)
        }
        Command::Serve(args) => {
            only_here("serve", global)?;
            serve::run(global, &args, console)
        }
        Command::Mirror(args) => mirror::run(global, &args, console),
        Command::Debug(command) => {
            only_here("debug", global)?;
            debug::run(&command, console)
        }
        Command::Doctor(args) => {
            only_here("doctor", global)?;
            doctor::run(&args, global, console)
        }
        Command::Sandbox { command } => {
            only_here("sandbox", global)?;
            let loaded = start::settings_to_look(global)?;
            console.say(&start::notes(&loaded, SettingsRead::Sandbox));
            crate::command_sandbox::run(command, &loaded.settings, global.json, console)
        }
        Command::ExecServer(args) => {
            only_here("exec-server", global)?;
            crate::exec_server::run(&args, &start::settings_to_look(global)?.settings, console)
        }
        Command::Memory { command } => {
            only_here("memory", global)?;
            let loaded = start::settings_to_look(global)?;
            crate::memory::run(command, &loaded.settings, global.json, console)
        }
        Command::Waits { command } => {
            only_here("waits", global)?;
            waiting::run(command.unwrap_or(WaitsCommand::List), global, console)
        }
        Command::Schedule { command } => {
            only_here("schedule", global)?;
            waiting::run_schedule(command, global, console)
        }
        Command::Secrets { command } => {
            only_here("secrets", global)?;
            let loaded = start::settings_to_look(global)?;
            crate::secrets::run(command, &loaded.settings, global.json, console)
        }
        Command::Completions(args) => completions::run(&args, console),
        Command::Complete { what } => complete::run(what, global, console),
        Command::Man { command } => manual::page(&command, console),
        Command::Help { topic } => help::run(&topic, console),
        command => of_sessions(command, global, console),
    }
}

/// The commands about sessions, models, agents and tools, at a server too.
fn of_sessions(command: Command, global: &Global, console: &mut Console) -> Result<Exit, ChatError> {
    let json = global.json;
    match command {
        Command::Rewind(args) => with_runtime(Stored, global, console, async |place, loaded, console| {
            rewind::run(place, &loaded.settings, &args, json, console).await
        }),
        Command::Diff(args) => with_runtime(Stored, global, console, async |place, loaded, console| {
            diff::run(place, &loaded.settings, &args, json, console).await
        }),
        Command::Fork(args) => with_runtime(Stored, global, console, async |place, loaded, console| {
            fork::run(place, &loaded.settings, &args, json, console).await
        }),
        Command::Sessions { command } => {
            let command = &command.unwrap_or(SessionsCommand::ALL);
            with_runtime(Stored, global, console, async |place, loaded, console| {
                sessions::run(place, loaded, command, json, console).await
            })
        }
        Command::Show(args) => with_runtime(Stored, global, console, async |place, loaded, console| {
            let id = args.session.find(place, &loaded.settings).await?;
            show::run(place, args.wanted(id), json, console).await
        }),
        Command::Watch(args) => with_runtime(Stored, global, console, async |place, loaded, console| {
            watch::run(place, &args, (global, &loaded.settings), console).await
        }),
        Command::Usage(args) => with_runtime(Stored, global, console, async |place, loaded, console| {
            spending::tell(place, &loaded.settings.data_dir, args.into(), json, console).await
        }),
        Command::Cache(asked) => with_runtime(Stored, global, console, async |place, loaded, console| {
            cache_why::explain(place.runtime(), &loaded.settings, &asked.into(), json, console).await
        }),
        Command::Replay(args) => with_runtime(Stored, global, console, async |place, loaded, console| {
            replay::run(place, &loaded.settings, &args, json, console).await
        }),
        Command::Context(args) => with_runtime(Stored, global, console, async |place, loaded, console| {
            context::run(place, &loaded.settings, &args, json, console).await
        }),
        Command::Models { command } => models::run(command, global, console),
        Command::Reactors => with_runtime(Stored, global, console, async |place, _, console| {
            list_reactors(place.runtime(), json, console).await
        }),
        Command::Tools { command } => tools::run(command.unwrap_or(ToolsCommand::List), global, console),
        Command::Mcp { command } => mcp::run(command.unwrap_or(McpCommand::List), global, console),
        Command::Approvals { command } => {
            approvals::run(command.unwrap_or(ApprovalsCommand::ALL), global, console)
        }
        Command::Agents { command } => agents::run(command.unwrap_or(AgentsCommand::List), global, console),
        // These are done by the callers.
        Command::Chat(_)
        | Command::Resume(_)
        | Command::Run(_)
        | Command::Serve(_)
        | Command::Mirror(_)
        | Command::Config { .. }
        | Command::Identity { .. }
        | Command::Debug(_)
        | Command::Doctor(_)
        | Command::ExecServer(_)
        | Command::Memory { .. }
        | Command::Sandbox { .. }
        | Command::Schedule { .. }
        | Command::Waits { .. }
        | Command::Secrets { .. }
        | Command::Completions(_)
        | Command::Complete { .. }
        | Command::Man { .. }
        | Command::Help { .. } => Ok(Exit::Ok),
    }
}

/// Does the work of a command that reads these settings, where the sessions are.
pub(crate) fn with_runtime(
    read: SettingsRead,
    global: &Global,
    console: &mut Console,
    work: impl AsyncFnOnce(&CommandTarget, &Loaded, &mut Console) -> Result<Exit, ChatError>,
) -> Result<Exit, ChatError> {
    let loaded = start::settings_to_look(global)?;
    console.say_once(&start::notes(&loaded, read));
    logging::start(&loaded.settings, false)?;
    block_on(async {
        let place = CommandTarget::of(&loaded.settings, global.cwd.as_deref()).await?;
        place.introduce(console);
        let done = work(&place, &loaded, console).await;
        place.end_servers().await;
        done
    })
}

/// The time to wait at the end for threads that cannot be stopped: they may write to a file.
const THREADS: Duration = Duration::from_secs(2);

/// Runs a future on this thread; what it spawned is dropped with it. A thread that is stuck in a system call,
/// such as a read that never ends, does not delay the end of the program.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T, ChatError>>) -> Result<T, ChatError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| ChatError::File {
        path: "async runtime".into(),
        what: error.to_string(),
    })?;
    let end = runtime.block_on(future);
    runtime.shutdown_timeout(THREADS);
    end
}

/// Says that a command is about this machine, if a server is named for it.
pub(crate) fn only_here(command: &str, global: &Global) -> Result<(), ChatError> {
    match global.connect.as_deref() {
        None | Some("local") => Ok(()),
        Some(_) => Err(ChatError::usage(
            format!("`agentx {command}` works on this machine only, not on a server"),
            "omit --connect, or run it on the server's machine",
        )),
    }
}

fn only_for_agents(agent: &AgentArgs, command: &Command) -> Result<(), ChatError> {
    if *agent == AgentArgs::default() {
        return Ok(());
    }
    let is_serve = matches!(command, Command::Serve(_));
    Err(agentx_chat::other_programs::misplaced_options(
        is_serve && agent.model.is_some(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_never_ends_does_not_hold_the_end_of_the_program() {
        let (keep, held) = std::sync::mpsc::channel::<()>();
        let end = block_on(async {
            let (started, is_started) = tokio::sync::oneshot::channel();
            tokio::task::spawn_blocking(move || {
                let told = started.send(());
                (told, held.recv())
            });
            Ok(is_started.await.is_ok())
        });
        assert!(matches!(end, Ok(true)));
        drop(keep);
    }
}
