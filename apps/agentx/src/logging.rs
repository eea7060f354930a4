//! The log of the program itself, for finding faults; off by default.

use std::path::Path;

use agentx::config::{Loaded, SettingOrigin, SettingRow, Settings, make_private_directory, private_options};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;

use crate::error::ChatError;

/// The log file of a program that draws on the terminal.
const CHAT_FILE: &str = "agentx.log";

/// Starts it, if it was asked for. A program that `draws` on the terminal keeps standard error clean.
pub(crate) fn start(settings: &Settings, draws: bool) -> Result<(), ChatError> {
    let level = match settings.log.as_str() {
        "error" => LevelFilter::ERROR,
        "warn" => LevelFilter::WARN,
        "info" => LevelFilter::INFO,
        "debug" => LevelFilter::DEBUG,
        "trace" => LevelFilter::TRACE,
        _ => return Ok(()),
    };
    // The crate `rmcp` logs what servers say, which may hold anything.
    let filter = EnvFilter::new(format!("{level},rmcp=error"));
    let in_chat = draws.then(|| settings.data_dir.join(CHAT_FILE));
    // A second start in one process (as in tests) keeps the first.
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        // If standard error has no reader any more, an error about that would end the program.
        .log_internal_errors(false);
    match settings.log_file.clone().or(in_chat) {
        Some(path) => {
            let file = open(&path)?;
            let _ = builder.with_writer(std::sync::Mutex::new(file)).try_init();
        }
        None => {
            let _ = builder.with_writer(std::io::stderr).try_init();
        }
    }
    Ok(())
}

/// Starts the log for a server: notable events go to standard error unless the settings say otherwise.
pub(crate) fn start_server(loaded: &Loaded) -> Result<(), ChatError> {
    let rows = loaded.merged.rows();
    let is_default = |row: &SettingRow| row.key == "log" && row.origin == SettingOrigin::Default;
    if !rows.iter().any(is_default) {
        return start(&loaded.settings, false);
    }
    let filter = EnvFilter::new("warn,agentx_server=info");
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_ansi(false)
        .log_internal_errors(false);
    match &loaded.settings.log_file {
        Some(path) => {
            let file = open(path)?;
            let _ = builder.with_writer(std::sync::Mutex::new(file)).try_init();
        }
        None => {
            let _ = builder.with_writer(std::io::stderr).try_init();
        }
    }
    Ok(())
}

fn open(path: &Path) -> Result<std::fs::File, ChatError> {
    let folder = path.parent().map_or(Ok(()), make_private_directory);
    folder
        .and_then(|()| private_options().create(true).append(true).open(path))
        .map_err(|error| ChatError::File {
            path: path.display().to_string(),
            what: error.to_string(),
        })
}
