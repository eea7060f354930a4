//! `agentx tools`: the tools of an agent, and tools from files.

use std::collections::BTreeSet;

use agentx::agent_files::{Library, Scaffold};
use agentx::assembly::{file_tools, mistakes_of};
use agentx::config::Settings;
use agentx::runtime::ToolOutcome;
use agentx::types::{Access, AgentConfig, ApprovalMode, ContentPart, EnvironmentEvent, ToolSpec};
use serde_json::{Value, json};

use crate::args::{Global, ToolKindArg, ToolsCommand};
use crate::cmd::{agents, only_here, with_runtime};
use crate::compose::{CommandTarget, TriedTool};
use crate::console::Console;
use crate::default_model::no_model;
use crate::error::ChatError;
use crate::exit::Exit;
use crate::render::clean::visible;
use crate::render::table::table;
use crate::rules::tool_named;
use crate::script_output::ScriptOutput;
use crate::session_opening::{self, CommandLineOverrides};
use crate::signals::Signals;
use crate::start::{self, SettingsRead::All};
use crate::untrusted_files::{not_trusted, untrusted_error};

/// Does what was asked for.
pub(crate) fn run(command: ToolsCommand, global: &Global, console: &mut Console) -> Result<Exit, ChatError> {
    match command {
        ToolsCommand::Check => only_here("tools check", global)?,
        ToolsCommand::New(_) => only_here("tools new", global)?,
        ToolsCommand::Run { .. } => only_here("tools run", global)?,
        ToolsCommand::List | ToolsCommand::Show { .. } => {}
    }
    if let ToolsCommand::New(args) = &command {
        let loaded = start::settings_aloud(All, global, console)?;
        let kind = match args.kind {
            ToolKindArg::Luau => Scaffold::Script,
            ToolKindArg::Yaml => Scaffold::Tool,
            ToolKindArg::Http => Scaffold::Http,
        };
        return agents::write(&loaded.settings, kind, &args.name, args.user, console);
    }
    let json = global.json;
    with_runtime(All, global, console, async |place, loaded, console| {
        let tools = place.runtime().tools();
        match command {
            ToolsCommand::List => {
                agents::warn_of_mistakes(place.mistakes(), console);
                console.say(&not_trusted(place.library(), &loaded.settings, names));
                list(&tools, json, console)
            }
            ToolsCommand::Show { name } => {
                let tools = [tools, agentx::runtime::own_tools()].concat();
                show(find_here(place, &loaded.settings, &tools, &name)?, json, console)
            }
            ToolsCommand::Check => agents::check(place, &loaded.settings, json, console).await,
            ToolsCommand::Run { name, arguments, yes } => {
                let input = arguments_of(find_here(place, &loaded.settings, &tools, &name)?, &arguments)?;
                let agent =
                    session_opening::new_agent(place, &loaded.settings, &CommandLineOverrides::default())
                        .await;
                // Most tools call no model, so they also run without one.
                let (agent, no_model) = match agent {
                    Ok(agent) => (*agent.config, None),
                    Err(error) => (loaded.settings.agent(no_model(), tools.clone()), Some(error)),
                };
                let agent = if yes { asks_nobody(agent) } else { agent };
                if let Some(ended) = place.end_leftover_commands().await {
                    console.say(&format!("· {ended}\n"));
                }
                let mut aside = ScriptOutput::new(console);
                let hears = |event: &EnvironmentEvent| aside.hear(event);
                let (settings, name) = (&loaded.settings, &*name);
                let tool = TriedTool { settings, name };
                let mut signals = Signals::listen()?;
                let (outcome, stopped) = place
                    .try_tool(tool, input, agent, yes, hears, &mut signals)
                    .await?;
                aside.end();
                let exit = report(&outcome, json, console)?;
                if let Some(exit) = stopped {
                    console.say(&format!(
                        "{name} was stopped, together with everything it had started\n"
                    ));
                    return Ok(exit);
                }
                if let Some(error) = no_model.filter(|_| outcome.is_error()) {
                    console.say(&format!("note: {name} ran without a model: {error}\n"));
                }
                Ok(exit)
            }
            ToolsCommand::New(_) => Ok(Exit::Ok),
        }
    })
}

fn list(tools: &[ToolSpec], json: bool, console: &mut Console) -> Result<Exit, ChatError> {
    if json {
        console.out_pretty(&tools)?;
        return Ok(Exit::Ok);
    }
    let mut rows = vec![["TOOL", "TOUCHES", "DOES"].map(str::to_owned).to_vec()];
    for tool in tools {
        let first = tool.description.lines().next().unwrap_or_default();
        let first = if tool.only_by_name {
            format!("(off by default) {first}")
        } else {
            first.to_owned()
        };
        rows.push(vec![visible(&tool.name), touches(tool).into(), visible(&first)]);
    }
    console.out(&table(&rows, console.out_width()))?;
    Ok(Exit::Ok)
}

fn touches(tool: &ToolSpec) -> &'static str {
    match tool.access {
        Access::Internal => "nothing",
        Access::Read => "reads",
        Access::Change => "changes",
        Access::Run => "runs programs",
        Access::Network => "the network",
    }
}

fn names(library: &Library) -> BTreeSet<String> {
    file_tools(library).into_keys().collect()
}

/// Returns the tool of this name. The error says why a tool that a file describes is not used: its file has
/// mistakes, or the person has not trusted it.
fn find_here<'a>(
    place: &CommandTarget,
    settings: &Settings,
    tools: &'a [ToolSpec],
    name: &str,
) -> Result<&'a ToolSpec, ChatError> {
    tool_named(tools, name).map_err(|error| {
        let told = mistakes_of(place.mistakes(), name);
        if !told.is_empty() {
            return ChatError::BadTool {
                name: name.to_owned(),
                mistakes: told,
            };
        }
        untrusted_error("tool", name, place.library(), settings, names).unwrap_or(error)
    })
}

/// Returns the agent as with `run --yes`: calls that no rule covers are allowed.
fn asks_nobody(agent: AgentConfig) -> AgentConfig {
    AgentConfig {
        approval: ApprovalMode::Auto,
        ..agent
    }
}

/// The arguments of a call: an object, unless the tool's schema takes something else.
fn arguments_of(tool: &ToolSpec, words: &str) -> Result<Value, ChatError> {
    let kinds = &tool.input_schema["type"];
    let takes_objects_only = kinds == "object" || *kinds == json!(["object"]);
    match serde_json::from_str(words) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(value) if !takes_objects_only => Ok(value),
        Ok(_) => Err(ChatError::usage(
            "the arguments of a tool must be a JSON object",
            r#"for example '{"city": "Paris"}'"#,
        )),
        Err(error) => Err(ChatError::usage(
            format!("the arguments are not JSON: {error}"),
            r#"for example '{"city": "Paris"}'"#,
        )),
    }
}

/// Prints the outcome of a tool: its output on standard output, a failure in the exit code too.
fn report(outcome: &ToolOutcome, json: bool, console: &mut Console) -> Result<Exit, ChatError> {
    if json {
        console.out_pretty(&json!({
            "status": outcome.status,
            "content": outcome.content,
            "details": outcome.details,
        }))?;
    } else {
        for text in outcome.content.iter().filter_map(ContentPart::as_text) {
            console.out(&format!("{}\n", text.trim_end()))?;
        }
    }
    if !outcome.is_error() {
        return Ok(Exit::Ok);
    }
    let needs_approval = |details: &Value| details["needs_approval"] == true;
    let is_denied = outcome.details.as_ref().is_some_and(needs_approval);
    Ok(if is_denied { Exit::Denied } else { Exit::Failed })
}

fn show(tool: &ToolSpec, json: bool, console: &mut Console) -> Result<Exit, ChatError> {
    if json {
        console.out_pretty(tool)?;
        return Ok(Exit::Ok);
    }
    let schema = serde_json::to_string_pretty(&tool.input_schema).unwrap_or_default();
    let lines = |text: &str| {
        text.trim_end()
            .lines()
            .map(visible)
            .collect::<Vec<_>>()
            .join("\n")
    };
    console.out(&format!(
        "{}  (touches: {})\n{}\n\narguments: {}\n",
        visible(&tool.name),
        touches(tool),
        lines(&tool.description),
        lines(&schema)
    ))?;
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_what_the_schema_takes() {
        let tool = |input_schema: Value| {
            ToolSpec::new("t", "", input_schema, Access::Internal).with_idempotent(true)
        };
        let takes = |schema: Value, words: &str| arguments_of(&tool(schema), words).is_ok();
        assert!(takes(json!({"type": "object"}), "{}"));
        assert!(!takes(json!({"type": "object"}), "[1]"));
        assert!(!takes(json!({"type": ["object"]}), "7"));
        for schema in [
            json!({"type": "array"}),
            json!({"type": ["object", "array"]}),
            json!({}),
            json!(true),
        ] {
            assert!(takes(schema.clone(), "[1]"), "{schema}");
        }
        assert!(!takes(json!({}), "["));
    }
}
