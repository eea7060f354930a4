//! `agentx mcp`: the servers of tools that a person has, and what is known of them.

use agentx::config::{ConfigError, LoadRequest, Loaded, Settings, add_mcp_server, remove_mcp_server};
use agentx::mcp::{KnownServer, McpEnvironment, McpServers};

use crate::args::{AddServerArgs, AgentArgs, Global, McpCommand};
use crate::cmd::{block_on, only_here};
use crate::compose;
use crate::console::Console;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::mcp_servers::{self, DescribedServer, find, list, show};
use crate::render::clean::visible;
use crate::start::{self, lookup};

/// Does what was asked for.
pub(crate) fn run(command: McpCommand, global: &Global, console: &mut Console) -> Result<Exit, ChatError> {
    only_here("mcp", global)?;
    let loaded = start::settings_aloud(global, &AgentArgs::default(), console)?;
    match command {
        McpCommand::List => list(&all(&loaded), global.json, console),
        McpCommand::Show { name } => show(&find(&all(&loaded), &name)?, global.json, console),
        McpCommand::Add(args) => add(&args, &loaded, global, console),
        McpCommand::Remove { name } => remove(&name, &loaded, global, console),
        McpCommand::Try { name, accept } => {
            try_once(&find(&all(&loaded), &name)?, accept, global.json, console)
        }
    }
}

/// A note about servers whose tools nobody knows yet; empty if there are none.
pub(crate) fn note(settings: &Settings) -> String {
    match settings.connect {
        Some(_) => String::new(),
        None => mcp_servers::note(&compose::servers(settings, &[])),
    }
}

/// Every server of the settings.
fn all(loaded: &Loaded) -> McpServers {
    compose::servers(&loaded.settings, &[])
}

fn add(
    args: &AddServerArgs,
    loaded: &Loaded,
    global: &Global,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let server = mcp_servers::server_of(&DescribedServer {
        name: &args.name,
        env: &args.env,
        header: &args.header,
        trust_annotations: args.trust_annotations,
        target: &args.target,
    })?;
    let request = LoadRequest {
        places: start::places(global)?,
        lookup: &lookup,
        flags: Vec::new(),
    };
    let loaded = add_mcp_server(request, &loaded.places.user_file, &server)?;
    let file = visible(&loaded.places.user_file.to_string_lossy());
    console.say(&format!("added {} to {file}\n", server.name));
    if args.no_try {
        return Ok(Exit::Ok);
    }
    try_once(&find(&all(&loaded), &server.name)?, false, global.json, console)
}

fn remove(name: &str, loaded: &Loaded, global: &Global, console: &mut Console) -> Result<Exit, ChatError> {
    let server = find(&all(loaded), name)?;
    if server.server().of_folder {
        let hint = "remove it from the folder's .mcp.json";
        return Err(ChatError::usage(
            format!("{name} is a server of this folder"),
            hint,
        ));
    }
    let request = LoadRequest {
        places: start::places(global)?,
        lookup: &lookup,
        flags: Vec::new(),
    };
    let file = &loaded.places.user_file;
    remove_mcp_server(request, file, name)?;
    let forgotten = server.forget();
    forgotten.map_err(|error| ConfigError::File {
        path: loaded.settings.data_dir.clone(),
        what: error.to_string(),
    })?;
    console.say(&format!(
        "removed {name} from {}\n",
        visible(&file.to_string_lossy())
    ));
    Ok(Exit::Ok)
}

/// Starts a server, and ends it again when its tools are listed.
fn try_once(
    environment: &McpEnvironment,
    accept: bool,
    json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let connected = block_on(async {
        let connected = environment.connect().await;
        environment.close().await;
        Ok(connected)
    })?;
    let accepted = |known: KnownServer| {
        if accept {
            environment.accept_all()?;
        }
        Ok(known)
    };
    let done = connected.and_then(accepted);
    if let Err(failure) = done {
        let (name, why) = (&environment.server().name, failure.to_string());
        console.say(&format!("error: the MCP server {name}: {}\n", visible(&why)));
        return Ok(Exit::Failed);
    }
    show(environment, json, console)
}
