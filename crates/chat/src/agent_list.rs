//! The agents of a place as people read them: those that files describe, and the built-in ones, which need no
//! file.

use agentx::config::Settings;
use agentx::runtime::{AgentInfo, AgentOrigin, RuntimeError, built_in_agents_of};
use agentx::types::{AgentConfig, AgentKind};

use crate::error::ChatError;
use crate::exit::Exit;
use crate::place::Place;
use crate::render::clean::lines_shown;
use crate::render::table::table;
use crate::session_opening::{CommandLineOverrides, new_agent};
use crate::terminal::console::Console;

/// Prints the agents of files and the built-in ones, a row each.
///
/// # Errors
/// Returns an error if the output cannot be written.
pub async fn list_agents(
    place: &Place,
    settings: &Settings,
    of_files: Vec<AgentInfo>,
    console: &mut Console,
) -> Result<(), ChatError> {
    let built_in = built_in(place, settings).await;
    let is_replaced = |config: &AgentConfig| of_files.iter().any(|agent| agent.name == config.name);
    let built_in: Vec<_> = built_in
        .into_iter()
        .filter(|(config, _)| !is_replaced(config))
        .collect();
    let mut rows = vec![["AGENT", "TYPE", "FILE OF", "DOES"].map(str::to_owned).to_vec()];
    for agent in of_files {
        let whose = match agent.origin {
            AgentOrigin::Workspace => "workspace",
            AgentOrigin::User => "user",
        };
        let kind = word_of(agent.kind).to_owned();
        rows.push(vec![agent.name, kind, whose.to_owned(), agent.description]);
    }
    for (config, does) in built_in {
        let kind = word_of(config.kind).to_owned();
        rows.push(vec![config.name, kind, "(built in)".to_owned(), does]);
    }
    if rows.len() > 1 {
        console.out(&table(&rows, console.out_width()))?;
    }
    Ok(())
}

/// Returns the configuration of the agent of this name: that of a file, or a built-in one.
///
/// # Errors
/// Returns an error if there is no such agent, or its file has mistakes.
pub async fn find_agent(place: &Place, settings: &Settings, name: &str) -> Result<AgentConfig, ChatError> {
    let wanted = CommandLineOverrides {
        agent: Some(name.to_owned()),
        ..CommandLineOverrides::default()
    };
    match new_agent(place, settings, &wanted).await {
        Ok(agent) => Ok(*agent.config),
        Err(error @ ChatError::Runtime(RuntimeError::UnknownAgent { .. })) => {
            let mut built_in = built_in(place, settings).await.into_iter();
            let found = built_in.find(|(config, _)| config.name == name);
            found.map(|(config, _)| config).ok_or(error)
        }
        Err(error) => Err(error),
    }
}

/// Returns the built-in agents to which the default agent may delegate work, each with its description; none
/// if there is no default agent.
async fn built_in(place: &Place, settings: &Settings) -> Vec<(AgentConfig, String)> {
    let maker = new_agent(place, settings, &CommandLineOverrides::default()).await;
    maker.map_or_else(|_| Vec::new(), |maker| built_in_agents_of(&maker.config))
}

fn word_of(kind: AgentKind) -> &'static str {
    match kind {
        AgentKind::React => "react",
        AgentKind::Match => "match",
        AgentKind::Unknown => "unknown",
    }
}

/// Prints the configuration of an agent.
///
/// # Errors
/// Returns an error if the output cannot be written.
pub fn show_agent(config: &AgentConfig, json: bool, console: &mut Console) -> Result<Exit, ChatError> {
    if json {
        console.out_pretty(config)?;
        return Ok(Exit::Ok);
    }
    let names = |names: Vec<&str>| {
        if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        }
    };
    let kind = word_of(config.kind);
    let mut text = format!("{}  ({kind} on {})\n", config.name, config.model.id);
    text.push_str(&format!(
        "tools: {}\n",
        names(config.tools.iter().map(|tool| tool.name.as_str()).collect())
    ));
    let routed = config.routing.iter().flat_map(|routing| {
        let routes = routing.routes.iter().map(|route| route.agent.name.as_str());
        routes.chain(routing.default.iter().map(|agent| agent.name.as_str()))
    });
    let agents = config.agents.iter().map(|agent| agent.name.as_str());
    text.push_str(&format!("agents: {}\n", names(agents.chain(routed).collect())));
    let to = console.out_style().sign("→", "to");
    for routing in config.routing.iter() {
        for route in &routing.routes {
            text.push_str(&format!("{} {to} {}\n", route.rules.join(", "), route.agent.name));
        }
        if let Some(default) = &routing.default {
            text.push_str(&format!("anything else {to} {}\n", default.name));
        }
    }
    if !config.system_prompt.is_empty() {
        text.push_str(&format!("\n{}\n", config.system_prompt));
    }
    console.out(&lines_shown(&text))?;
    Ok(Exit::Ok)
}
