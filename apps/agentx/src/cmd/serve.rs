//! `agentx serve`: serves the sessions of this data directory to other terminals, machines and people until
//! it is asked to stop.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentx::config::{Loaded, Settings};
use agentx::runtime::Runtime;
use agentx_server::{Reload, Server, ServerError, ServerLimits, ServerOptions};
use serde_json::json;
use tokio::sync::oneshot;

use crate::args::{AgentArgs, Global, LimitArgs, ServeArgs};
use crate::cmd::{agents, waiting};
use crate::compose::build_node;
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
    let node = build_node(settings).await?;
    agents::warn_of_mistakes(&node.mistakes, console);
    let node = Arc::new(node.runtime);
    let watched: Arc<dyn Runtime> = node.clone();
    let server = agentx_server::open(node, settings, options(args))
        .await
        .map_err(serve_error)?
        .reloading(changed_settings(global, loaded));
    if global.json {
        console.out_json(&json!({ "url": server.url(), "data_dir": settings.data_dir }))?;
        console.flush()?;
    }
    console.say(&greeting(settings, args, &server));
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
        loaded
            .map(|loaded| loaded.settings)
            .map_err(|error| visible(&error.to_string()))
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

fn greeting(settings: &Settings, args: &ServeArgs, server: &Server) -> String {
    let url = args
        .origin
        .as_deref()
        .unwrap_or(server.url())
        .trim_end_matches('/');
    let mut text = format!(
        "agentx {} serves {} at {}\n\
         \x20 drive it     agentx --connect {url} chat\n\
         \x20 watch it     agentx mirror {url} SESSION\n\
         \x20 give access  agentx identity trust PUBLIC_KEY --name NAME --as member  (see: agentx identity show)\n\
         \x20              --as operator for another machine of yours\n",
        env!("CARGO_PKG_VERSION"),
        settings.data_dir.display(),
        server.url(),
    );
    if args.listen.ip().is_loopback() && args.origin.is_none() {
        let port = server.url().rsplit(':').next().unwrap_or_default();
        text.push_str(&format!(
            "  by SSH       ssh -L {port}:127.0.0.1:{port} HOST, then as above; or --listen, with TLS\n"
        ));
    }
    let key = server.state().auth().server_key();
    text.push_str(&format!("  server key   {key}\nCtrl-C stops it\n"));
    text
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
        error @ (ServerError::ReadableTlsKey { .. } | ServerError::AlreadyServed { .. }) => {
            ChatError::usage(error.to_string(), error.hint().unwrap_or_default())
        }
        error => ChatError::Input {
            what: error.to_string(),
        },
    }
}
