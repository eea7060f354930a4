//! Changes a person's MCP servers: adds one, removes one, and starts one to list its tools.

use std::path::Path;
use std::sync::Arc;

use agentx::config::{
    ConfigError, LoadRequest, Loaded, SettingOrigin, Settings, add_mcp_server, remove_mcp_server,
    remove_rule, rule_in_file, rules_in_file, show_rule,
};
use agentx::mcp::{KnownServer, McpEnvironment, McpFailure, McpServers};
use agentx::runtime::Tool;
use agentx::types::{Rule, ToolSpec};
use serde_json::json;

use crate::configuration::lookup;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::mcp::servers::{DescribedServer, find, show};
use crate::render::clean::visible;
use crate::render::units::counted;
use crate::terminal::console::Console;

/// The MCP servers of the settings, beside these tools.
pub fn servers(settings: &Settings, tools: &[ToolSpec]) -> McpServers {
    let names = tools.iter().map(|tool| tool.name.clone());
    McpServers::of(settings, &agentx::node::program_environment(settings), names)
}

/// Returns a note about servers whose tools are still unknown; empty if there are none.
pub fn note(settings: &Settings) -> String {
    match settings.connect {
        Some(_) => String::new(),
        None => super::servers::note(&McpServers::unknown(settings)),
    }
}

/// A tool of an MCP server by its name, with the server that has to be closed after its last call. `tools`
/// are all tools of the runtime.
pub fn tool_of_server(
    settings: &Settings,
    tools: &[ToolSpec],
    name: &str,
) -> Option<(McpEnvironment, Arc<dyn Tool>)> {
    let is_of_server = |tool: &&ToolSpec| tool.reach.as_ref().is_some_and(|reach| reach.mcp.is_some());
    let own: Vec<ToolSpec> = tools.iter().filter(|tool| !is_of_server(tool)).cloned().collect();
    let servers = servers(settings, &own);
    servers.iter().find_map(|server| {
        let tool = server.tools().into_iter().find(|tool| tool.spec().name == name)?;
        Some((server.clone(), tool))
    })
}

/// Adds a server to the person's file, starts it once unless `no_try`, and removes it again if it does not
/// start.
///
/// # Errors
/// Returns an error if the description makes no sense, the file cannot be changed, or the output cannot be
/// written.
pub async fn add_and_try<'a>(
    described: &DescribedServer<'_>,
    request: impl Fn() -> LoadRequest<'a>,
    no_try: bool,
    json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    check_values(described, no_try, &lookup)?;
    let (added, loaded) = add(described, request())?;
    let (name, file) = (described.name, &loaded.places.user_file);
    let said = format!("added {name} to {}\n", visible(&file.to_string_lossy()));
    let Some(added) = added else {
        let key = format!("mcp.{name}");
        let about_it = loaded.warnings.iter().filter(|warning| warning.key == key);
        let why: String = about_it
            .map(|warning| format!("warning: {}\n", visible(&warning.what)))
            .collect();
        console.say(&format!("{said}{why}"));
        return Ok(Exit::Ok);
    };
    if no_try {
        console.say(&said);
        return Ok(Exit::Ok);
    }
    let connected = added.connect().await;
    added.close().await;
    if connected == Err(McpFailure::Unauthorized) {
        console.say(&format!("{said}it requires a login: `agentx mcp login {name}`\n"));
        return Ok(Exit::Ok);
    }
    if let Err(failure) = connected {
        remove_mcp_server(request(), file, name)?;
        // Its remains are replaced when it is added again.
        let _ = added.forget();
        let message = format!("MCP server {name}: {failure}; it was not added");
        return say_failure(
            &message,
            Some("--no-try adds it without starting it"),
            json,
            console,
        );
    }
    console.say(&said);
    show(&added, json, console)
}

/// Checks what other programs take and this one does not: values in place of the names of variables, and
/// servers that belong to the project.
///
/// # Errors
/// Returns an error that says what does the same here.
fn check_values(
    described: &DescribedServer<'_>,
    no_try: bool,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<(), ChatError> {
    let pairs = described.env.iter().map(|pair| (pair, "--env"));
    let pairs = pairs.chain(described.header.iter().map(|pair| (pair, "--header")));
    for (pair, flag) in pairs {
        let (name, variable) = pair.split_once('=').unwrap_or((pair, pair));
        let variable = variable.trim_start_matches("${").trim_end_matches('}');
        // One that is not started now may get its variables later.
        let is_later = no_try
            && variable
                .chars()
                .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        if is_later || lookup(variable).is_some() || (flag == "--header" && !pair.contains('=')) {
            continue;
        }
        let name = visible(name);
        if !pair.contains('=') {
            return Err(ChatError::usage(
                format!("the variable {name} is not set"),
                format!("export {name}=…, then add the server"),
            ));
        }
        let hint = match flag {
            "--env" => format!("export {name}=…, then --env {name}"),
            _ => format!("export MY_TOKEN=…, then --header {name}=MY_TOKEN"),
        };
        return Err(ChatError::usage(
            format!(
                "{flag} {name}=… names no variable that is set, and values are not written into settings"
            ),
            hint,
        ));
    }
    match described.scope {
        None | Some("user") => Ok(()),
        Some(scope) => Err(ChatError::usage(
            format!(
                "`agentx mcp add` knows the scope `user` alone, not `{}`",
                visible(scope)
            ),
            "it changes your own file, which applies to all folders; put the servers of a project into its .mcp.json and trust it with `agentx config trust`",
        )),
    }
}

/// Adds a server to the person's file, and returns it; `None` if it is left out in this folder.
///
/// # Errors
/// Returns an error if the description makes no sense, or the file cannot be changed.
fn add(
    described: &DescribedServer<'_>,
    request: LoadRequest<'_>,
) -> Result<(Option<McpEnvironment>, Loaded), ChatError> {
    let server = super::servers::server_of(described)?;
    let file = request.places.user_file.clone();
    let loaded = add_mcp_server(request, &file, &server)?;
    let mut known = servers(&loaded.settings, &[]).iter().cloned().collect::<Vec<_>>();
    known.retain(|known| known.server().name == server.name);
    Ok((known.pop(), loaded))
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
    console.say(&without_its_rules(name, &loaded.places.user_file)?);
    Ok(Exit::Ok)
}

/// Removes the rules about the tools of a server that is gone from the person's file: they would be warned
/// about at every start. Returns a line about them.
fn without_its_rules(server: &str, file: &Path) -> Result<String, ChatError> {
    let begin = format!("{server}__");
    let of_server = |rule: &Rule| rule.tool.starts_with(&begin) && !rule.tool.contains('*');
    let mut removed = Vec::new();
    // The places change with each removal.
    while let Some(rule) = rules_in_file(file).into_iter().find(of_server) {
        let Some(written) = rule_in_file(file, &rule) else {
            break;
        };
        let SettingOrigin::User(place) = &written.origin else {
            break;
        };
        remove_rule(place, &rule, None)?;
        removed.push(visible(&show_rule(&rule)));
    }
    Ok(match removed.len() {
        0 => String::new(),
        count => format!(
            "removed {} for its tools: {}\n",
            counted(count, "rule"),
            removed.join(", ")
        ),
    })
}

/// Starts a server, and ends it again when its tools are listed.
///
/// # Errors
/// Returns an error if the output cannot be written. A server that cannot be started is printed as a failure.
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
        let message = format!("MCP server {}: {failure}", environment.server().name);
        let left_out = environment.server().values_left_out().join("; ");
        let hint = Some(&*left_out).filter(|left_out| !left_out.is_empty());
        return say_failure(&message, hint, json, console);
    }
    show(environment, json, console)
}

/// Says that a server does not start, to people and to a program that reads JSON.
fn say_failure(
    message: &str,
    hint: Option<&str>,
    json: bool,
    console: &mut Console,
) -> Result<Exit, ChatError> {
    if json {
        let mut error = json!({ "kind": "mcp_server", "message": message });
        if let Some(hint) = hint {
            error["hint"] = json!(hint);
        }
        console.out_pretty(&json!({ "error": error }))?;
    }
    let hint = hint.map_or(String::new(), |hint| format!("hint: {hint}\n"));
    console.say(&format!("error: {}\n{hint}", visible(message)));
    Ok(Exit::Failed)
}
