//! The tool `find_tools`: a model searches the tools of MCP servers, if all of them would take too much of
//! its window. The machine answers the call itself, from the configuration in the log.
//!
//! | in a request | when |
//! | --- | --- |
//! | every tool | the tools of servers take at most their share of the window ([`ToolSearch`](agentx_types::ToolSearch)), and the API accepts that many |
//! | other tools, `find_tools`, and found tools in the order in which they were found | otherwise |
//!
//! The result of a call names the found tools, so the log determines each later request: the ranking of a
//! newer program does not change the requests of older sessions. A tool that was not found can still be
//! called, by the same rules; its schema is in the requests after that.

use agentx_types::{Access, AgentConfig, Api, ToolSpec, since};
use serde_json::{Value, json};

use crate::token_estimate::estimate_tool;
use crate::tools::tool_ranking;

/// The tool that searches the tools of MCP servers.
pub const FIND_TOOLS: &str = "find_tools";
/// The most tools that one search finds.
pub const MOST_FOUND: usize = 5;
/// The most tools that OpenAI's APIs take in a request: "Invalid 'tools': array too long. Expected an array
/// with maximum length 128" (<https://github.com/zed-industries/zed/issues/32946>).
const MOST_TOOLS: usize = 128;
/// The most tools that Gemini takes: "At most 512 function declarations can be specified."
/// (<https://github.com/google-gemini/gemini-cli/issues/19083>).
const MOST_DECLARATIONS: usize = 512;
/// Maximum number of servers that the description of `find_tools` names.
const SERVERS_NAMED: usize = 40;
/// Maximum length of the description of a tool in an answer, in characters.
const ABOUT_CHARS: usize = 160;

/// Returns whether a tool is one of an MCP server.
pub fn is_of_server(tool: &ToolSpec) -> bool {
    server_of(tool).is_some()
}

/// The name of the server that has a tool.
fn server_of(tool: &ToolSpec) -> Option<&str> {
    let of = tool.reach.as_ref()?.mcp.as_deref()?;
    Some(of.split_once('/').map_or(of, |(server, _)| server))
}

/// The most tools that the model's API takes; `None` if no such number is known.
fn most_tools(config: &AgentConfig) -> Option<usize> {
    let (most, since) = match config.model.api {
        Api::OpenaiChat | Api::OpenaiResponses => (MOST_TOOLS, since::TOO_MANY_TOOLS_ARE_SEARCHED),
        Api::Gemini => (MOST_DECLARATIONS, since::TOO_MANY_DECLARATIONS_ARE_COUNTED),
        _ => return None,
    };
    (config.rules_version >= since).then_some(most)
}

/// Returns `find_tools` if the tools of servers are searched: together they take more than their share of the
/// window, or the API does not accept that many tools but would without those of servers (from version 9 of
/// the rules on). `None` if the window is unknown, or if the agent has its own tool with that name.
pub(crate) fn offered(config: &AgentConfig) -> Option<ToolSpec> {
    let share = config.tool_search?;
    let room = config
        .model
        .context_window
        .saturating_mul(u64::from(share.at_percent))
        / 100;
    let of_servers = || config.tools.iter().filter(|tool| is_of_server(tool));
    let taken: u64 = of_servers().map(estimate_tool).sum();
    let others = config.tools.len() - of_servers().count();
    let is_too_many =
        most_tools(config).is_some_and(|most| config.tools.len() > most && others + MOST_FOUND < most);
    let is_free = !config.tools.iter().any(|tool| tool.name == FIND_TOOLS);
    let is_too_large = taken > room && config.model.context_window > 0;
    ((is_too_large || is_too_many) && is_free).then(|| tool(of_servers()))
}

/// The description of the tool for the model.
fn tool<'a>(of_servers: impl Iterator<Item = &'a ToolSpec>) -> ToolSpec {
    let mut servers: Vec<(&str, usize)> = Vec::new();
    for server in of_servers.filter_map(server_of) {
        match servers.iter_mut().find(|(name, _)| *name == server) {
            Some((_, count)) => *count += 1,
            None => servers.push((server, 1)),
        }
    }
    let more = servers.len().saturating_sub(SERVERS_NAMED);
    let named = servers.iter().take(SERVERS_NAMED);
    let mut named: Vec<String> = named.map(|(name, count)| format!("{name} ({count})")).collect();
    if more > 0 {
        named.push(format!("{more} more"));
    }
    let about = format!(
        "Finds tools of MCP servers, of which there are too many to list. Say in a few words what has to be done; the tools that fit best can be called from then on. The servers, each with the number of its tools: {}.",
        named.join(", ")
    );
    let schema = json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What has to be done, and with what: verbs, things, names of services."},
        },
        "required": ["query"],
        "additionalProperties": false,
    });
    ToolSpec::new(FIND_TOOLS.to_owned(), about, schema, Access::Internal).with_idempotent(true)
}

/// Answers a call: a line for each tool, the best one first. An `Err` is the message to the model about its
/// arguments.
pub(crate) fn answer(config: &AgentConfig, input: &Value) -> Result<String, String> {
    let query = input.get("query").and_then(Value::as_str).unwrap_or_default();
    if query.trim().is_empty() {
        return Err("Give `query`: what has to be done, in a few words.".to_owned());
    }
    let found = rank(&config.tools, query);
    if found.is_empty() {
        return Ok("No tool fits these words. Try other words, or the name of a server.".to_owned());
    }
    let lines = found.iter().take(MOST_FOUND).map(|tool| {
        let first = tool.description.lines().next().unwrap_or_default();
        let about: String = first.chars().take(ABOUT_CHARS).collect();
        format!("\n- {}: {about}", tool.name)
    });
    let more = found.len().saturating_sub(MOST_FOUND);
    let more = match more {
        0 => String::new(),
        _ => format!("\n{more} more fit less; other words may find them."),
    };
    Ok(format!(
        "These tools can be called now:{}{more}",
        lines.collect::<String>()
    ))
}

/// The names in an answer of `find_tools` that tools of servers have, in its order.
pub(crate) fn found(config: &AgentConfig, answer: &str) -> Vec<String> {
    let named = answer.lines().filter_map(|line| {
        let (name, _) = line.strip_prefix("- ")?.split_once(':')?;
        let is_named = |tool: &&ToolSpec| tool.name == name && is_of_server(tool);
        config.tools.iter().find(is_named).map(|tool| tool.name.clone())
    });
    named.collect()
}

/// The tools of servers that match a query, the best first. Equal ones keep their order.
///
/// ```
/// use agentx_types::{Access, ToolReach, ToolSpec};
/// use serde_json::json;
///
/// let tool = |name: &str, about: &str| {
///     let reach = ToolReach { mcp: Some(format!("s/{name}")), ..ToolReach::default() };
///     ToolSpec::new(name, about, json!({"type": "object"}), Access::Run).with_reach(reach)
/// };
/// let tools = [tool("s__send_mail", "Sends a letter."), tool("s__add_event", "Adds to the calendar.")];
/// let best = agentx_agent::tool_search::rank(&tools, "calendars");
/// assert_eq!(best[0].name, "s__add_event");
/// ```
pub fn rank<'a>(tools: &'a [ToolSpec], query: &str) -> Vec<&'a ToolSpec> {
    let of_servers: Vec<&ToolSpec> = tools.iter().filter(|tool| is_of_server(tool)).collect();
    tool_ranking::rank(of_servers, query)
}
