//! `agentx serve`: serves the sessions of this data directory to other terminals, machines and people until
//! it is asked to stop.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentx::config::{Loaded, Settings};
use agentx::runtime::Runtime;
use agentx_chat::browser::open_privately;
use agentx_chat::served::StartedServer;
use agentx_server::{Reload, Server, ServerError, ServerLimits, ServerOptions};
use serde_json::json;
use tokio::sync::oneshot;

use crate::args::{AgentArgs, Global, LimitArgs, ServeArgs};
use crate::cmd::{agents, waiting};
use crate::compose::{build_node, keyring};
use crate::console::Console;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::logging;
use crate::render::clean::visible;
use crate::render::units;
use crate::signals::Signals;
use crate::start;

/// The time to wait at the end for threads that cannot be stopped.
const THREADS: Duration = Duration::from_millis(200);

/// Answers requests until the process receives Ctrl-C or SIGTERM.
pub(crate) fn run(global: &Global, args: &ServeArgs, console: &mut Console) -> Result<Exit, ChatError> {
    let loaded = start::settings_of_run(global, &AgentArgs::default(), console)?;
    logging::start_server(&loaded)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| ChatError::File {
        path: "async runtime".into(),
        what: error.to_string(),
    })?;
    let end = runtime.block_on(serve(global, &loaded, args, console));
    runtime.shutdown_timeout(THREADS);
    end
}

async fn serve(
    global: &Global,
    loaded: &Loaded,
    args: &ServeArgs,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let settings = &loaded.settings;
    let signals = Signals::listen()?;
    // Before anything is written there.
    keyring(settings).check_owner(settings.data_owner)?;
    let node = build_node(settings).await?;
    agents::warn_of_mistakes(&node.mistakes, console);
    let node = Arc::new(node.runtime);
    let watched: Arc<dyn Runtime> = node.clone();
    let server = agentx_server::open(node, settings, options(args))
        .await
        .map_err(serve_error)?
        .with_routes(agentx_server::page::routes())
        .reloading(changed_settings(global, loaded));
    let nexus = args.nexus.then(|| agentx_nexus::routes(&server));
    let server = server.with_routes(nexus.unwrap_or_default());
    greet(settings, args, &server, global.json, console)?;
    let watching = waiting::beside_server(global, watched, &settings.data_dir)?;
    let ended = until_told(server, signals, console).await;
    if ended.is_ok() {
        // The signal that ended the server ends the run that the watch may have begun.
        watching.end().await;
    }
    ended
}

/// Reads the settings again if one of their files has changed.
fn changed_settings(global: &Global, loaded: &Loaded) -> Reload {
    let files: Vec<PathBuf> = loaded.files.iter().map(|file| file.path.clone()).collect();
    let global = global.clone();
    agentx_server::reload_when_changed(files, move || {
        let loaded = start::settings(&global, &AgentArgs::default());
        let loaded = loaded.map_err(|error| visible(&error.to_string()))?;
        Ok(loaded.settings)
    })
}

/// Runs the server until a signal: the first asks it to stop, the second ends it immediately.
async fn until_told(server: Server, mut signals: Signals, console: &mut Console) -> Result<Exit, ChatError> {
    let (stop, stopped) = oneshot::channel::<()>();
    let mut stop = Some(stop);
    let mut running = std::pin::pin!(server.run(async {
        // It also ends if the sender is gone and nothing could stop it any more.
        let _ = stopped.await;
    }));
    loop {
        tokio::select! {
            done = &mut running => {
                if let Err(ServerError::NotSaved { sessions, error }) = done {
                    let sessions = units::counted(sessions, "session");
                    console.say(&format!(
                        "could not save that {sessions} stopped: unfinished runs continue at the next start\n"
                    ));
                    return Err(ChatError::Runtime(error.into()));
                }
                done.map_err(serve_error)?;
                console.say("stopped; all sessions are saved\n");
                return Ok(Exit::Ok);
            }
            exit = signals.next() => match stop.take() {
                Some(stop) => {
                    console.say("stopping; press Ctrl-C again to stop at once\n");
                    // If there is no receiver, it has already ended.
                    let _ = stop.send(());
                }
                None => return Ok(exit),
            }
        }
    }
}

fn options(args: &ServeArgs) -> ServerOptions {
    ServerOptions {
        listen: args.listen,
        origin: args.origin.clone(),
        allow_origins: args.allow_origin.clone(),
        allow_visitors: args.allow_visitors,
        tls: args.tls_cert.clone().zip(args.tls_key.clone()),
        insecure_listen: args.insecure_listen,
        trusted_proxies: args.trusted_proxy.clone(),
        limits: limits(&args.limits),
    }
}

/// Returns the limits from the arguments, with the built-in value for each that is absent.
fn limits(args: &LimitArgs) -> ServerLimits {
    let default = ServerLimits::default();
    let or = |given: Option<NonZero<usize>>, default: usize| given.map_or(default, NonZero::get);
    let rate = args.max_rate.map_or(default.rate, NonZero::get);
    ServerLimits {
        connections: or(args.max_connections, default.connections),
        connections_per_address: or(args.max_connections_per_address, default.connections_per_address),
        connections_per_person: or(args.max_connections_per_person, default.connections_per_person),
        subscriptions: or(args.max_subscriptions, default.subscriptions),
        frame_bytes: or(args.max_frame, default.frame_bytes),
        body_bytes: or(args.max_body, default.body_bytes),
        waiting_bytes: or(args.max_waiting, default.waiting_bytes),
        rate,
        burst: args.max_burst.map_or(rate.saturating_mul(2), NonZero::get),
        ..default
    }
}

/// Prints how to use the server. The address of the page signs in, so no log of a service gets it.
fn greet(
    settings: &Settings,
    args: &ServeArgs,
    server: &Server,
    json: bool,
    console: &mut Console,
) -> Result<(), ChatError> {
    let is_shown = args.open || json || console.terminal.error;
    let page = is_shown.then(|| server.page_address()).flatten();
    if json {
        console.out_json(&json!({ "url": server.url(), "data_dir": settings.data_dir, "page": page }))?;
        console.flush()?;
    }
    let started = StartedServer {
        data_dir: &settings.data_dir,
        url: server.url(),
        origin: args.origin.as_deref(),
        is_loopback: args.listen.ip().is_loopback(),
        key: server.state().auth().server_key().to_string(),
        page: page.as_deref().filter(|_| args.open || console.terminal.error),
    };
    console.say(&started.greeting());
    let open = |page: String| open_privately(&page, &settings.data_dir, console);
    page.filter(|_| args.open).map_or(Ok(()), open)
}

/// Returns the error of a server that cannot start, with a hint.
fn serve_error(error: ServerError) -> ChatError {
    match error {
        ServerError::Options(what) => ChatError::usage(what, "`agentx help serve` explains the options"),
        ServerError::Listen { listen, what } => ChatError::Listen {
            address: listen,
            what,
        },
        ServerError::Keys(error) => error.into(),
        error @ (ServerError::ReadableTlsKey { .. }
        | ServerError::ForeignTlsKey { .. }
        | ServerError::AlreadyServed { .. }) => {
            ChatError::usage(error.to_string(), error.hint().unwrap_or_default())
        }
        error => ChatError::Input {
            what: error.to_string(),
        },
    }
}
