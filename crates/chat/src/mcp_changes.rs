//! Changes of a person's MCP servers: one more, one less, and one that is started to know its tools.

use agentx::config::{ConfigError, LoadRequest, Loaded, Settings, add_mcp_server, remove_mcp_server};
use agentx::mcp::{KnownServer, McpEnvironment, McpServers};
use agentx::types::ToolSpec;

use crate::console::Console;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::mcp_servers::{self, DescribedServer, find, show};
use crate::render::clean::visible;

/// The MCP servers of the settings, beside these tools.
pub fn servers(settings: &Settings, tools: &[ToolSpec]) -> McpServers {
    let names = tools.iter().map(|tool| tool.name.clone());
    McpServers::of(settings, &agentx::node::program_environment(settings), names)
}

/// A note about servers whose tools nobody knows yet; empty if there are none.
pub fn note(settings: &Settings) -> String {
    match settings.connect {
        Some(_) => String::new(),
        None => mcp_servers::note(&servers(settings, &[])),
    }
}

/// Adds a server to the person's file, and returns it.
///
/// # Errors
/// Returns an error if the description makes no sense, or the file cannot be changed.
pub fn add(
    described: &DescribedServer<'_>,
    request: LoadRequest<'_>,
    console: &mut Console,
) -> Result<McpEnvironment, ChatError> {
    let server = mcp_servers::server_of(described)?;
    let file = request.places.user_file.clone();
    let loaded = add_mcp_server(request, &file, &server)?;
    let file = visible(&file.to_string_lossy());
    console.say(&format!("added {} to {file}\n", server.name));
    find(&servers(&loaded.settings, &[]), &server.name)
}

/// Removes a server from the person's file, and its cached tools.
///
/// # Errors
/// Returns an error if there is none, it is a folder's, or the file cannot be changed.
pub fn remove(
    name: &str,
    loaded: &Loaded,
    request: LoadRequest<'_>,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let server = find(&servers(&loaded.settings, &[]), name)?;
    if server.server().of_folder {
        let what = format!("{name} is a server of this folder");
        return Err(ChatError::usage(what, "remove it from the folder's .mcp.json"));
    }
    let file = &loaded.places.user_file;
    remove_mcp_server(request, file, name)?;
    server.forget().map_err(|error| ConfigError::File {
        path: loaded.settings.data_dir.clone(),
        what: error.to_string(),
    })?;
    let file = visible(&file.to_string_lossy());
    console.say(&format!("removed {name} from {file}\n"));
    Ok(Exit::Ok)
}

/// Starts a server, and ends it again when its tools are listed.
///
/// # Errors
/// Returns an error if the output cannot be written. A server that cannot be started is a failure that is
/// said.
pub async fn try_once(
    environment: &McpEnvironment,
    accept: bool,
    json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let connected = environment.connect().await;
    environment.close().await;
    let accepted = |known: KnownServer| {
        if accept {
            environment.accept_all()?;
        }
        Ok(known)
    };
    if let Err(failure) = connected.and_then(accepted) {
        let (name, why) = (&environment.server().name, failure.to_string());
        console.say(&format!("error: the MCP server {name}: {}\n", visible(&why)));
        return Ok(Exit::Failed);
    }
    show(environment, json, console)
}
