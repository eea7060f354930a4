//! The first files for a new agent or tool: they are valid as they are, and an editor knows their keys.

use std::path::PathBuf;

use crate::mistake::DefinitionMistake;
use crate::read::{parse_agent, parse_tool};
use crate::schema::{SchemaOf, schema};

/// The kind of the new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaffold {
    /// An agent that thinks and calls tools.
    Agent,
    /// An agent that routes.
    Router,
    /// A tool: a script with its YAML.
    Tool,
    /// A tool: a script alone, with its YAML in the first comment.
    Script,
    /// A tool: one HTTP request.
    Http,
}

/// Returns the files to write, relative to `.agentx`: first the one that is made, then the schemas. The type
/// definitions of scripts (`agentx.d.luau`) are not among them: they belong to the machine that runs the
/// scripts.
///
/// ```
/// use agentx_agent_files::{Scaffold, scaffold};
/// let files = scaffold(Scaffold::Agent, "writer").unwrap();
/// assert_eq!(files[0].0.to_str(), Some("agents/writer.yaml"));
/// assert!(files[0].1.starts_with("# yaml-language-server: $schema=../schemas/agent.schema.json\n"));
/// ```
///
/// # Errors
/// Returns an error if the name cannot be one.
pub fn scaffold(what: Scaffold, name: &str) -> Result<Vec<(PathBuf, String)>, Vec<DefinitionMistake>> {
    let (path, text) = match what {
        Scaffold::Agent => (format!("agents/{name}.yaml"), agent(name)),
        Scaffold::Router => (format!("agents/{name}.yaml"), router(name)),
        Scaffold::Tool => (format!("tools/{name}.yaml"), tool(name)),
        Scaffold::Script => (format!("tools/{name}.luau"), script(name)),
        Scaffold::Http => (format!("tools/{name}.yaml"), http(name)),
    };
    let path = PathBuf::from(path);
    // An invalid name is reported as in the file itself.
    match what {
        Scaffold::Agent | Scaffold::Router => parse_agent(&path, &text).map(drop)?,
        Scaffold::Tool | Scaffold::Script | Scaffold::Http => parse_tool(&path, &text).map(drop)?,
    }
    let mut files = vec![(path, text)];
    files.extend(SchemaOf::ALL.map(|of| {
        let text = format!("{:#}\n", schema(of));
        (PathBuf::from("schemas").join(of.file_name()), text)
    }));
    Ok(files)
}

/// Returns the comment by which an editor finds the schema of a file in `agents/`, `tools/`, `rules/` or
/// `generators/`.
pub fn editor_comment(of: SchemaOf) -> String {
    format!("# yaml-language-server: $schema=../schemas/{}\n", of.file_name())
}

fn quoted(name: &str) -> String {
    serde_json::Value::from(name).to_string()
}

fn agent(name: &str) -> String {
    let (comment, name) = (editor_comment(SchemaOf::Agent), quoted(name));
    format!(
        "{comment}type: react
name: {name}
description: What this agent is for
prompt: |
  You are a helpful assistant.
# Without a generator, the agent uses the model of the configuration.
# generator:
#   model: gpt-4o
#   temperature: 0.7
# tools:
#   - $ref: tool:get_weather
limits:
  max_iterations: 50
"
    )
}

fn router(name: &str) -> String {
    let (comment, name) = (editor_comment(SchemaOf::Agent), quoted(name));
    format!(
        "{comment}type: match
name: {name}
description: What this router is for
rules:
  - name: play_music
    vars:
      title: {{label: title of the piece}}
    patterns:
      - play some music
      - play [title]
route:
  - rules: [play_music]
    agent:
      name: music
      prompt: You play music.
default:
  name: chat
  prompt: You are a helpful assistant.
"
    )
}

fn tool(name: &str) -> String {
    let (comment, name) = (editor_comment(SchemaOf::Tool), quoted(name));
    format!(
        "{comment}name: {name}
description: What this tool does, and when to use it
params:
  city: {{type: string, description: The name of a city}}
capabilities:
  http: [api.example.com]
limits:
  wall_time: 30s
lua: |
  --!strict
  --!nolint FunctionUnused
  function invoke(ctx: Ctx, args: {{ city: string }})
    local response = ctx.http.get(\"https://api.example.com/weather\", {{ city = args.city }})
    return {{ city = args.city, answer = response.body }}
  end
"
    )
}

fn script(name: &str) -> String {
    let name = quoted(name);
    format!(
        "--!strict
--!nolint FunctionUnused
--[[
name: {name}
description: What this tool does, and when to use it
params:
  text: {{type: string, description: Any text}}
]]
function invoke(ctx: Ctx, args: {{ text: string }})
  return {{ length = #args.text }}
end
"
    )
}

fn http(name: &str) -> String {
    let (comment, name) = (editor_comment(SchemaOf::Tool), quoted(name));
    format!(
        "{comment}type: http
name: {name}
description: What this tool does, and when to use it
params:
  city: {{type: string, description: The name of a city}}
method: POST
endpoint: https://api.example.com/v1/weather
auth:
  type: bearer
  token: ${{API_TOKEN}}
req_body_jq: '{{city: .input.city}}'
resp_body_jq: .result
"
    )
}
