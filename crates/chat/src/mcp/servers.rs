//! MCP servers for a person: their state, their tools and the changes of these, and a new server that a
//! command line describes.

use agentx::config::{McpServerSettings, McpTarget, McpValue, nearest};
use agentx::mcp::{KnownServer, McpEnvironment, McpLogin, McpServerState, McpServers};
use agentx::types::ToolSpec;
use serde_json::{Value, json};

use crate::error::ChatError;
use crate::exit::Exit;
use crate::mcp::command_line;
use crate::mcp::last_use::word_with_age;
use crate::render::clean::visible;
use crate::render::table::table;
use crate::render::units;
use crate::terminal::console::Console;

/// A server to add. It contains the names of variables, never their values.
#[derive(Clone, Copy, Debug)]
pub struct DescribedServer<'a> {
    /// The server's name in the configuration.
    pub name: &'a str,
    /// The variables that a program gets: NAME, or NAME=VARIABLE.
    pub env: &'a [String],
    /// The headers for an address: NAME=VARIABLE.
    pub header: &'a [String],
    /// The transport as other programs name it: `stdio` or `http`.
    pub transport: Option<&'a str>,
    /// The place where other programs would write it: `user`, `project` or `local`.
    pub scope: Option<&'a str>,
    /// Whether its annotations are believed.
    pub trust_annotations: bool,
    /// The program and its arguments, or the address.
    pub target: &'a [String],
}

/// Returns a note about these servers, whose tools are still unknown; empty if there are none.
pub fn note(names: &[&str]) -> String {
    match names.first() {
        Some(first) => format!(
            "note: the tools of these MCP servers are not known yet, so they are not offered: {}\nhint: `agentx mcp try {first}` (`/mcp try {first}` in a chat) starts it once\n",
            names.join(", ")
        ),
        None => String::new(),
    }
}

/// The server of this name.
///
/// # Errors
/// Returns an error with the nearest name if there is none.
pub fn find(servers: &McpServers, name: &str) -> Result<McpEnvironment, ChatError> {
    let found = servers.iter().find(|known| known.server().name == name).cloned();
    found.ok_or_else(|| {
        let names = servers.iter().map(|known| known.server().name.as_str());
        let hint = match nearest(name, names, 1).first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`agentx mcp list` lists them; those of an untrusted folder are left out".to_owned(),
        };
        ChatError::usage(format!("there is no MCP server {name:?}"), hint)
    })
}

/// Lists the servers.
///
/// # Errors
/// Returns an error if the output cannot be written.
pub fn list(servers: &McpServers, json: bool, console: &mut Console) -> Result<Exit, ChatError> {
    if json {
        let rows: Vec<Value> = servers.iter().map(in_json).collect();
        console.out_pretty(&rows)?;
        return Ok(Exit::Ok);
    }
    console.out(&table_of(servers, console.out_width()))?;
    if servers.iter().next().is_none() {
        console.say(&format!("hint: {HOW_TO_ADD}\n"));
    }
    Ok(Exit::Ok)
}

/// The commands that add a server.
pub(crate) const HOW_TO_ADD: &str = "`agentx mcp add NAME -- COMMAND` or `agentx mcp add NAME URL` adds one";

/// The servers, a row each, with their states and how many tools they have.
pub(crate) fn table_of(servers: &McpServers, width: usize) -> String {
    let mut rows = vec![
        ["SERVER", "STATE", "TOOLS", "FROM", "RUNS"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for environment in servers.iter() {
        let (server, known) = (environment.server(), environment.known());
        let tools = known
            .identity
            .as_ref()
            .map_or_else(|| "?".to_owned(), |_| environment.specs().len().to_string());
        let from = if server.of_folder { "folder" } else { "you" };
        let state = word_with_age(environment);
        rows.push(vec![
            server.name.clone(),
            state,
            tools,
            from.to_owned(),
            visible(&server.shown),
        ]);
    }
    table(&rows, width)
}

fn in_json(environment: &McpEnvironment) -> Value {
    let (server, known) = (environment.server(), environment.known());
    let state = environment.state_for_all();
    let failure = match &state {
        McpServerState::Failed(why) => Some(why.clone()),
        _ => None,
    };
    let tools = environment.specs();
    let tools: Vec<Value> = tools.iter().map(tool_in_json).collect();
    json!({
        "name": server.name,
        "state": state.word(),
        "failure": failure,
        "runs": server.shown,
        "variables": server.variables(),
        "of_folder": server.of_folder,
        "trust_annotations": server.trust_annotations,
        "sampling": server.sampling,
        "login": environment.login().map(|login| json!({
            "issuer": login.issuer,
            "scope": login.scope,
            "expires_at": login.expires_at,
            "renewable": login.renewable,
        })),
        "identity": known.identity,
        "tools": tools,
        "left_out": known.left_out,
    })
}

fn tool_in_json(spec: &ToolSpec) -> Value {
    let reach = spec.reach.as_deref();
    json!({
        "name": spec.name,
        "tool": reach.and_then(|reach| reach.mcp.clone()),
        "description": spec.description,
        "input_schema": spec.input_schema,
        "access": spec.access,
        "idempotent": spec.idempotent,
        "changed": reach.and_then(|reach| reach.changed.clone()),
    })
}

/// Shows a server: its environment, its tools and its state.
///
/// # Errors
/// Returns an error if the output cannot be written.
pub fn show(environment: &McpEnvironment, json: bool, console: &mut Console) -> Result<Exit, ChatError> {
    if json {
        console.out_pretty(&in_json(environment))?;
        return Ok(Exit::Ok);
    }
    let server = environment.server();
    let known = environment.known();
    console.out(&format!("{}: {}\n", server.name, visible(&server.shown)))?;
    if let McpTarget::Program { directory, .. } = &server.target
        && !std::env::current_dir().is_ok_and(|here| here == *directory)
    {
        console.out(&format!("starts in {}\n", visible(&directory.to_string_lossy())))?;
    }
    if !server.variables().is_empty() {
        console.out(&format!(
            "gets the values of: {}\n",
            server.variables().join(", ")
        ))?;
    }
    for left_out in server.values_left_out() {
        console.out(&format!("{}\n", visible(&left_out)))?;
    }
    for detail in &server.details {
        console.out(&format!("{}\n", visible(detail)))?;
    }
    if server.trust_annotations {
        console.out("AgentX trusts its tool annotations\n")?;
    }
    if server.sampling {
        console.out("it may call the agent's model (sampling)\n")?;
    }
    if let Some(login) = environment.login() {
        console.out(&format!("{}\n", login_in_words(&login)))?;
    }
    console.out(&state_in_words(environment, &known))?;
    console.out(&tools_in_words(environment))?;
    Ok(Exit::Ok)
}

fn login_in_words(login: &McpLogin) -> String {
    let scope = login
        .scope
        .as_ref()
        .map(|scope| format!(", scopes: {}", visible(scope)));
    let how_long = match (login.renewable, login.expires_at) {
        (true, _) => ", renewed automatically".to_owned(),
        (false, Some(end)) => {
            let now = u64::try_from(units::now().0 / 1_000_000).unwrap_or_default();
            match end.saturating_sub(now) {
                0 => ", expired".to_owned(),
                left => format!(", expires in {}", units::duration(left.saturating_mul(1000))),
            }
        }
        (false, None) => String::new(),
    };
    format!(
        "logged in at {}{}{how_long}",
        visible(&login.issuer),
        scope.unwrap_or_default()
    )
}

fn state_in_words(environment: &McpEnvironment, known: &KnownServer) -> String {
    let state = environment.state_for_all();
    let mut text = format!("state: {}", word_with_age(environment));
    if let McpServerState::Failed(why) = &state {
        text.push_str(&format!(": {}", visible(why)));
    }
    if state == McpServerState::NeedsLogin {
        text.push_str(&format!(": run `agentx mcp login {}`", environment.server().name));
    }
    if state == McpServerState::Configured {
        text.push_str(
            ": it was never started, so AgentX does not know its tools; `agentx mcp try` starts it",
        );
    }
    if let Some(identity) = &known.identity {
        let (name, version) = (visible(&identity.name), visible(&identity.version));
        let itself = match format!("{name} {version}").trim() {
            "" => "gives no name".to_owned(),
            itself => format!("reports itself as {itself}"),
        };
        text.push_str(&format!("\n{itself} (protocol {})", visible(&identity.protocol)));
    }
    text + "\n"
}

/// Describes the offered tools, their changes, and the tools that are left out.
fn tools_in_words(environment: &McpEnvironment) -> String {
    let mut text = String::new();
    let known = environment.known();
    for spec in environment.specs() {
        let first = spec.description.lines().next().unwrap_or_default();
        text.push_str(&format!("  {}  {}\n", spec.name, visible(first)));
        let name = spec
            .reach
            .as_ref()
            .and_then(|reach| reach.mcp.as_ref()?.split_once('/'));
        if let Some(changed) = name.and_then(|(_, name)| known.whole_change(name)) {
            text.push_str("    changed since you accepted it; AgentX asks before the next call:\n");
            text.extend(changed.lines().map(|line| format!("      {}\n", visible(line))));
        }
    }
    for tool in known.left_out {
        text.push_str(&format!(
            "  {:?} is not offered: {}\n",
            tool.name,
            visible(&tool.why)
        ));
    }
    text
}

/// Checks the transport that other programs want named: here it follows from the address or the command.
fn check_transport(named: Option<&str>, is_address: bool) -> Result<(), ChatError> {
    let (what, hint) = match (named, is_address) {
        (None, _) | (Some("http" | "streamable-http"), true) | (Some("stdio"), false) => return Ok(()),
        (Some("http" | "streamable-http"), false) => (
            "the transport `http` needs an address",
            "agentx mcp add NAME https://…",
        ),
        (Some("stdio"), true) => (
            "the transport `stdio` needs a command",
            "agentx mcp add NAME -- COMMAND",
        ),
        (Some(_), _) => (
            "the transports are `stdio` and `http`",
            "use `--transport http`: servers of the older `sse` mostly answer at an address for `http` too",
        ),
    };
    Err(ChatError::usage(what, hint))
}

/// Checks that an address has no arguments.
fn check_address(args: &DescribedServer<'_>, address: &str, rest: &[String]) -> Result<(), ChatError> {
    if let Some(option) = rest.iter().find(|word| word.starts_with('-')) {
        let option = visible(option);
        return Err(ChatError::usage(
            format!("{option} comes after the address, and an address takes no arguments"),
            format!(
                "put options before the address: agentx mcp add {} OPTIONS {}",
                args.name,
                visible(address)
            ),
        ));
    }
    if rest.is_empty() && args.env.is_empty() {
        return Ok(());
    }
    Err(ChatError::usage(
        "an address takes no arguments and no --env",
        "use --header NAME=VARIABLE",
    ))
}

/// Reads `NAME=VARIABLE`, or with `same` also the name of a variable alone.
fn variable_of(pair: &str, same: bool) -> Result<McpValue, ChatError> {
    let (name, variable) = match pair.split_once('=') {
        Some((name, variable)) => (name, variable),
        None if same => (pair, pair),
        None => (pair, ""),
    };
    let variable = variable.trim_start_matches("${").trim_end_matches('}');
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if variable.is_empty() || !variable.chars().all(is_name) {
        let what = format!("{name} needs the name of the environment variable that has its value");
        return Err(ChatError::usage(
            what,
            "values are not written into settings; export them",
        ));
    }
    Ok(McpValue {
        name: name.to_owned(),
        from: vec![variable.to_owned()],
        value: None,
    })
}

/// The server that the arguments describe. Values are only ever named.
///
/// # Errors
/// Returns an error if it makes no sense.
pub fn server_of(args: &DescribedServer<'_>) -> Result<McpServerSettings, ChatError> {
    let (first, rest) = args.target.split_first().ok_or_else(|| {
        ChatError::usage(
            "a server needs a command or an address",
            "agentx mcp add NAME -- COMMAND",
        )
    })?;
    let is_address = first.starts_with("http://") || first.starts_with("https://");
    check_transport(args.transport, is_address)?;
    if first.starts_with('-') {
        return Err(ChatError::usage(
            format!("{} is not an option of `agentx mcp add`", visible(first)),
            "put options before or after the name, then `--`, then the command: agentx mcp add NAME --env VARIABLE -- COMMAND",
        ));
    }
    let mut server = if is_address {
        check_address(args, first, rest)?;
        McpServerSettings::address(args.name, first)
    } else {
        if !args.header.is_empty() {
            return Err(ChatError::usage(
                "headers are only for an address, not for a program",
                "use --env NAME",
            ));
        }
        command_line::program_of(args.name, first, rest)
    };
    server.trust_annotations = args.trust_annotations;
    match &mut server.target {
        McpTarget::Program { variables, .. } => {
            *variables = args
                .env
                .iter()
                .map(|pair| variable_of(pair, true))
                .collect::<Result<_, _>>()?;
        }
        McpTarget::Address { headers, .. } => {
            *headers = args
                .header
                .iter()
                .map(|pair| variable_of(pair, false))
                .collect::<Result<_, _>>()?;
        }
    }
    Ok(server)
}
