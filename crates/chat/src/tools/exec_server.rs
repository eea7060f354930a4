//! `agentx exec-server`: a process that executes for sessions elsewhere. And the other side: the tools of a
//! session that run at the server which the settings name.

use std::net::SocketAddr;
use std::path::PathBuf;

use agentx::config::Settings;
use agentx::exec_server::{ExecKey, ExecServer, ExecServerAddress, ExecServerOptions, RemoteTools};
use agentx::node::program_environment;
use agentx::runtime::ToolEnvironment;
use agentx::sandbox::SandboxMode;
use agentx::tools::{CommandRecords, ToolOptions, Toolbox};
use clap::Args;
use serde_json::json;

use crate::error::ChatError;
use crate::exit::Exit;
use crate::terminal::console::Console;
use crate::terminal::signals::Signals;

/// The folder of the data directory for records of commands and sessions.
const RECORDS: &str = "exec-server";

/// `agentx exec-server`
#[derive(Debug, Args)]
pub struct ExecServerArgs {
    /// The address to listen at
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7411")]
    listen: SocketAddr,
    /// The directory to work in; the current one by default
    #[arg(long, value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
    /// The environment variable with the key that clients need, of at least 16 characters
    #[arg(long, value_name = "NAME", default_value = "AGENTX_EXEC_KEY")]
    key_env: String,
    /// A name, besides its address, by which clients reach it; may be repeated
    #[arg(long, value_name = "NAME")]
    host_name: Vec<String>,
}

/// Answers requests until the process receives Ctrl-C or SIGTERM.
///
/// # Errors
/// Returns an error if no key is set, if the settings want a sandbox with single hosts, or if the address
/// cannot be bound.
pub fn run(args: &ExecServerArgs, settings: &Settings, console: &mut Console) -> Result<Exit, ChatError> {
    let options = options(args, settings)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed(&error))?;
    runtime.block_on(async {
        let mut signals = Signals::listen()?;
        let server = ExecServer::open(options).await.map_err(|error| failed(&error))?;
        let url = format!("http://{}", server.address());
        console.say(&format!(
            "exec server at {url} in {}\n",
            server.directory().display()
        ));
        console.out_json(&json!({ "url": url, "directory": server.directory() }))?;
        console.flush()?;
        let stopped = async move {
            // The second signal ends the process.
            let _ = signals.next().await;
        };
        server.run(stopped).await.map_err(|error| failed(&error))?;
        Ok(Exit::Ok)
    })
}

/// Refuses settings that let commands reach single hosts: commands at an exec server have no sandbox, and
/// would reach all hosts.
fn refuse_single_hosts(settings: &Settings) -> Result<(), ChatError> {
    let mode = settings.sandbox.mode;
    let network = settings.sandbox.network_in(mode);
    if mode == SandboxMode::None || !network.is_by_proxy() {
        return Ok(());
    }
    let what = format!(
        "commands at an exec server have no sandbox, so `sandbox.network: {}` would not hold them",
        network.as_str()
    );
    let hint =
        "limit the network of the machine or container of the exec server, and set AGENTX_SANDBOX=none";
    Err(ChatError::usage(what, hint))
}

fn options(args: &ExecServerArgs, settings: &Settings) -> Result<ExecServerOptions, ChatError> {
    refuse_single_hosts(settings)?;
    let name = &args.key_env;
    let hint = "`openssl rand -hex 32` makes one; clients send it as X-Session-API-Key";
    let key = std::env::var(name).map_err(|_| ChatError::usage(format!("set {name} to a key"), hint))?;
    let environment = program_environment(settings).hide_name(name).hide_value(&key);
    let key = ExecKey::new(key).map_err(|error| ChatError::usage(error.to_string(), hint))?;
    let records = settings.data_dir.join(RECORDS);
    let mut tools = ToolOptions::default();
    tools.bash.environment = environment;
    tools.bash.records = Some(CommandRecords::in_directory(records.join("commands")));
    let directory = args
        .directory
        .clone()
        .unwrap_or_else(|| settings.workspace.clone());
    Ok(ExecServerOptions {
        listen: args.listen,
        host_names: args.host_name.clone(),
        tools,
        records: Some(records),
        ..ExecServerOptions::new(directory, key)
    })
}

fn failed(error: &dyn std::error::Error) -> ChatError {
    ChatError::usage(error.to_string(), "`agentx help exec-server` lists the options")
}

/// Returns the tools that run at the exec server of the settings; `None` if they name none. Sends nothing.
///
/// # Errors
/// Returns an error if the address, the key or the network of the sandbox does not fit.
pub async fn remote_tools(settings: &Settings) -> Result<Option<ToolEnvironment>, ChatError> {
    let Some(server) = &settings.exec_server else {
        return Ok(None);
    };
    refuse_single_hosts(settings)?;
    let usage = |what: String| ChatError::usage(what, "see `exec_server` in docs/CONFIG.md");
    let key = server.key.value().map(|key| key.expose().to_owned());
    let key = key.ok_or_else(|| usage("`exec_server.key` has no value".to_owned()))?;
    let key = ExecKey::new(key).map_err(|error| usage(error.to_string()))?;
    let address = ExecServerAddress::parse(&server.url, key).map_err(|error| usage(error.to_string()))?;
    let address = ExecServerAddress {
        insecure: server.insecure,
        ..address
    };
    let local = Toolbox::builtin(ToolOptions::default())
        .filtered(|name| settings.tools.offers(name))
        .give_to_all_agents(|name| settings.tools.asks_for(name));
    let tools = RemoteTools::of(address, &local).await;
    Ok(Some(
        tools
            .map_err(|error| usage(error.to_string()))?
            .into_environment(),
    ))
}
