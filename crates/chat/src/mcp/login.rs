//! Logins at MCP servers: the person agrees in a browser, here or elsewhere.

use std::time::Duration;

use agentx::mcp::{McpEnvironment, PendingLogin};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::sync::mpsc;

use crate::browser::{has_browser, open_in_browser};
use crate::error::ChatError;
use crate::exit::Exit;
use crate::mcp::servers::show;
use crate::render::clean::visible;
use crate::terminal::console::Console;
use crate::terminal::signals::Signals;

/// The time to agree in a browser.
const LIMIT: Duration = Duration::from_secs(600);

/// Logs in at a server, and lists its tools.
///
/// # Errors
/// Returns an error if the output cannot be written. A failed login is reported, not returned as an error.
pub async fn log_in(
    environment: &McpEnvironment,
    json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let name = environment.server().name.clone();
    let ended = match environment.begin_login().await {
        Ok(pending) => wait(&name, pending, console).await,
        Err(failure) => Err(failure.to_string()),
    };
    match ended {
        Ok(None) => {}
        Ok(Some(stopped)) => {
            console.say(&format!(
                "stopped: nobody is logged in at {name}, and nothing was stored\n"
            ));
            return Ok(stopped);
        }
        Err(why) => {
            console.say(&format!("error: MCP server {name}: {}\n", visible(&why)));
            return Ok(Exit::Failed);
        }
    }
    console.say(&format!("logged in at {name}\n"));
    let connected = environment.connect().await;
    environment.close().await;
    if let Err(failure) = connected {
        let why = visible(&failure.to_string());
        console.say(&format!("error: MCP server {name}: {why}\n"));
        return Ok(Exit::Failed);
    }
    show(environment, json, console)
}

/// Shows the address, opens it if there is a browser, and waits for the person. Returns the exit if a signal
/// stops it.
async fn wait(name: &str, pending: PendingLogin, console: &mut Console) -> Result<Option<Exit>, String> {
    let mut signals = Signals::listen().map_err(|error| format!("signals cannot be listened to: {error}"))?;
    let scope = match &pending.scope {
        Some(scope) => format!(" (scopes: {})", visible(scope)),
        None => String::new(),
    };
    console.say(&format!(
        "{name} wants a login at {}{scope}\nopen this address in a browser:\n\n  {}\n\n\
         waiting at most {} minutes for you to agree there; Ctrl-C stops, and nothing is stored then\n\
         if the browser runs on another machine, paste here the address that it shows at the end\n",
        visible(&pending.issuer),
        pending.address,
        LIMIT.as_secs() / 60,
    ));
    if has_browser() {
        open_in_browser(pending.address.as_ref());
    }
    let (lines, pasted) = mpsc::channel(1);
    let reading = async {
        let mut input = BufReader::new(tokio::io::stdin()).lines();
        while let Ok(Some(line)) = input.next_line().await {
            if !line.trim().is_empty() && lines.send(line).await.is_err() {
                break;
            }
        }
        // The browser may still come.
        std::future::pending().await
    };
    let explain = |why: &str| console.say(&format!("{}\n", visible(why)));
    tokio::select! {
        finished = pending.finish(pasted, LIMIT, explain) => {
            finished.map(|()| None).map_err(|failure| failure.to_string())
        }
        stopped = signals.next() => Ok(Some(stopped)),
        never = reading => never,
    }
}

/// Removes the login at a server from this machine.
///
/// # Errors
/// Returns an error if its file cannot be removed.
pub fn log_out(environment: &McpEnvironment, console: &mut Console) -> Result<Exit, ChatError> {
    let name = &environment.server().name;
    let removed = environment.log_out().map_err(|error| ChatError::File {
        path: format!("the login at {name}"),
        what: error.to_string(),
    })?;
    console.say(&if removed {
        format!("logged out of {name} on this machine\n")
    } else {
        format!("there is no login at {name}\n")
    });
    Ok(Exit::Ok)
}
