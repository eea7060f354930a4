//! `agentx mcp`: lists, shows, adds, tries and removes MCP servers, logs in, and makes tokens for `/mcp`.

use agentx::config::{LoadRequest, Settings};

use crate::args::{AgentArgs, Global, McpCommand, TokenArgs};
use crate::cmd::{block_on, only_here, with_runtime};
use crate::compose::CommandTarget;
use crate::console::Console;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::mcp_changes::{add_and_try, remove, servers, try_once};
use crate::mcp_login::{log_in, log_out};
use crate::mcp_servers::{DescribedServer, find, list, show};
use crate::mcp_serving::serve_stdio;
use crate::mcp_tokens::{McpTokenWork, do_at};
use crate::server_patience::ServerPatience;
use crate::start::{self, SettingsRead::All, SettingsRead::McpServers};

/// Does what was asked for.
pub(crate) fn run(command: McpCommand, global: &Global, console: &mut Console) -> Result<Exit, ChatError> {
    only_here("mcp", global)?;
    if let McpCommand::Serve = command {
        // It runs tools, so it does not start if the folder's settings have mistakes.
        start::settings(global, &AgentArgs::default())?;
        return with_runtime(All, global, console, async |place, loaded, console| {
            let here = || ChatError::usage("`agentx mcp serve` works on this machine only", "omit --connect");
            let tools = place.tool_server().ok_or_else(here)?;
            serve_stdio(place.shared(), tools, loaded.settings.clone(), console).await
        });
    }
    let loaded = start::settings_aloud(McpServers, global, console)?;
    let known = servers(&loaded.settings, &[]);
    let request = start::request(global, &AgentArgs::default())?;
    match command {
        McpCommand::Serve => Ok(Exit::Ok),
        McpCommand::List => {
            console.say(&crate::folder::note(&loaded));
            list(&known, global.json, console)
        }
        McpCommand::Show { name } => show(&find(&known, &name)?, global.json, console),
        McpCommand::Add(args) => {
            let described = DescribedServer {
                name: &args.name,
                env: &args.env,
                header: &args.header,
                transport: args.transport.as_deref(),
                scope: args.scope.as_deref(),
                trust_annotations: args.trust_annotations,
                target: &args.target,
            };
            let request = || LoadRequest {
                places: request.places.clone(),
                lookup: request.lookup,
                flags: request.flags.clone(),
            };
            block_on(add_and_try(
                &described,
                request,
                args.no_try,
                global.json,
                console,
            ))
        }
        McpCommand::Remove { name } => remove(&name, &loaded, request, console),
        McpCommand::Login { name } => block_on(log_in(&find(&known, &name)?, global.json, console)),
        McpCommand::Logout { name } => log_out(&find(&known, &name)?, console),
        McpCommand::Token(args) => block_on(token(&args, &loaded.settings, global.json, console)),
        McpCommand::Try { name, accept } => {
            block_on(try_once(&find(&known, &name)?, accept, global.json, console))
        }
    }
}

/// Makes, lists or takes back a token for `/mcp` of a server.
async fn token(
    args: &TokenArgs,
    settings: &Settings,
    json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    let place = CommandTarget::server(settings, &args.url, None, ServerPatience::default()).await?;
    place.introduce(console);
    let work = match &args.revoke {
        Some(id) => McpTokenWork::Revoke(id),
        None if args.list => McpTokenWork::List,
        None => McpTokenWork::Make(&args.name, args.lifetime),
    };
    do_at(&place, &settings.allow_plain_http, work, json, console).await
}
