//! `agentx waits`, and the watch of a server: runs what is due with the words of `agentx run`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agentx::runtime::Runtime;
use agentx_chat::waits::{
    ScheduleCommand, ServerEnd, ServerWatch, WaitsCommand, WantedRun, WatchLimit, list_waits, run_schedules,
    watch,
};
use agentx_schedule::ScheduleStore;
use clap::Parser as _;

use crate::args::{Cli, Command, Global, OutputFormat};
use crate::cmd::{block_on, run, with_runtime};
use crate::console::Console;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::run_result::RunResult;
use crate::start::SettingsRead::{All, Stored};

/// The longest wait in place of a run that a watch began; a longer one is left, and continued when it is due.
const IN_PLACE: Duration = Duration::from_secs(5);

/// Lists what waits, or continues what is due.
pub(crate) fn run(command: WaitsCommand, global: &Global, console: &mut Console) -> Result<Exit, ChatError> {
    let limit = match command {
        WaitsCommand::List => {
            return with_runtime(Stored, global, console, async |place, _, console| {
                list_waits(place.runtime(), global.json, console).await
            });
        }
        WaitsCommand::Run {
            until_empty: true,
            time,
        } => WatchLimit::UntilEmpty(time),
        WaitsCommand::Run { time, .. } => time.map_or(WatchLimit::Once, WatchLimit::For),
    };
    with_runtime(Stored, global, console, async |place, loaded, console| {
        let store = ScheduleStore::at(&loaded.settings.data_dir);
        let run = async |wanted: WantedRun, console: &mut Console| one(wanted, global, console).await;
        watch(place.runtime(), &store, limit, run, console).await
    })
}

/// Adds, lists or removes schedules.
pub(crate) fn run_schedule(
    command: Option<ScheduleCommand>,
    global: &Global,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    with_runtime(All, global, console, async |place, loaded, console| {
        run_schedules(command, place, &loaded.settings, global.json, console).await
    })
}

/// Watches beside a server, with its runtime, until a signal ends both.
pub(crate) fn beside_server(
    global: &Global,
    runtime: Arc<dyn Runtime>,
    data_dir: &Path,
) -> std::io::Result<ServerWatch> {
    // Answers belong to the sessions, not to the output of the server.
    let global = Global {
        json: true,
        ..global.clone()
    };
    let store = ScheduleStore::at(data_dir);
    let watching = move |ended: ServerEnd| {
        let mut console = Console::of_process();
        // Nobody is asked at the terminal of a server.
        console.terminal.input = false;
        let run = async |wanted: WantedRun, console: &mut Console| one(wanted, &global, console).await;
        let watching = watch(&*runtime, &store, WatchLimit::UntilStopped, run, &mut console);
        let watching = async { ended.or_end(watching).await.unwrap_or(Ok(Exit::Ok)) };
        if let Err(error) = block_on(watching) {
            tracing::error!(%error, "waits and schedules are not continued any more");
        }
    };
    ServerWatch::start(watching)
}

/// Does one run.
async fn one(wanted: WantedRun, global: &Global, console: &mut Console) -> Result<RunResult, ChatError> {
    let words = ["agentx", "run"]
        .map(str::to_owned)
        .into_iter()
        .chain(wanted.words);
    let read = Cli::try_parse_from(words).map_err(|error| ChatError::Input {
        what: error.to_string(),
    })?;
    let Some(Command::Run(mut args)) = read.command else {
        return Err(ChatError::Input {
            what: "the words of a run make no run".into(),
        });
    };
    (args.longest_wait, args.record) = (Some(IN_PLACE), wanted.record);
    if global.json {
        args.output_format = OutputFormat::Json;
    }
    let cwd: Option<PathBuf> = wanted.workspace.or_else(|| global.cwd.clone());
    run::session::run(
        &Global {
            cwd,
            ..global.clone()
        },
        &args,
        console,
    )
    .await
}
