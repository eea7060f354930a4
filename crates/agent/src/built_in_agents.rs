//! The agents that need no file: an agent of a program's settings may delegate work to them at once. Each is
//! made from the present configuration of its maker, and follows later changes of it.
//!
//! ```text
//! delegate ─▶ configuration of the maker ─┬─ general: with all tools of the maker
//!                                         └─ explore: with those that change nothing
//! ```
//!
//! Invariant: a built-in agent is never freer than its maker, and makes no agents itself.

use std::borrow::Cow;
use std::sync::Arc;

use agentx_types::{Access, AgentConfig, ConfigChange, ModelSpec, ToolSpec, since};
use serde_json::json;

use crate::tools::delegation_tools::{AGENTS, DELEGATE, described, own_tool, tools_for};

/// The names of the built-in agents.
///
/// ```
/// assert_eq!(agentx_agent::BUILT_IN_AGENTS, ["general", "explore"]);
/// ```
pub const BUILT_IN_AGENTS: [&str; 2] = [GENERAL, EXPLORE];

const GENERAL: &str = "general";
const EXPLORE: &str = "explore";

/// The addition to the instructions of `general`.
const PROMPT_OF_GENERAL: &str = "Another agent gave you this task. Do it completely, and ask nobody: of all your work it reads only your last answer, so say there what you did and found.";
/// The addition to the instructions of `explore`.
const PROMPT_OF_EXPLORE: &str = "Another agent gave you this task. You read and search, and change nothing. It reads only your last answer, so say there what you found, with paths and lines.";

/// The built-in agents that this one may make, each with its description for the model. One that has the
/// name of a configured agent is left out: the configured one replaces it.
pub(crate) fn known_to(config: &AgentConfig) -> impl Iterator<Item = (&str, &str)> {
    let is_new = config.rules_version >= since::BUILT_IN_AGENTS;
    let all = [
        (GENERAL, "does any work with your tools"),
        (EXPLORE, "reads and searches only"),
    ];
    all.into_iter().filter(move |(name, _)| {
        let is_listed = config.built_in_agents.iter().any(|listed| listed == name);
        is_new && is_listed && !config.agents.iter().any(|agent| agent.name == *name)
    })
}

/// The tools for delegating work to the agents of this configuration: configured ones, and built-in ones.
/// `about` returns the description of a configured one, if it has another than the first line of its
/// instructions. Empty if there are no configured agents: the machine itself offers `delegate` for built-in
/// ones.
pub fn delegation_tools_of(config: &AgentConfig, about: &dyn Fn(&str) -> Option<String>) -> Vec<ToolSpec> {
    if config.agents.is_empty() {
        return Vec::new();
    }
    let configured = config.agents.iter().map(|agent| {
        let (name, first_line) = described(agent);
        (name, about(name).map_or(Cow::Borrowed(first_line), Cow::Owned))
    });
    let built_in = known_to(config).map(|(name, does)| (name, Cow::Borrowed(does)));
    let known: Vec<(&str, Cow<'_, str>)> = configured.chain(built_in).collect();
    let known: Vec<(&str, &str)> = known.iter().map(|(name, does)| (*name, &**does)).collect();
    tools_for(&known)
}

/// The tool `delegate` of an agent with built-in agents, if it has no other tool of this name.
pub(crate) fn offered(config: &AgentConfig) -> Option<ToolSpec> {
    let known: Vec<_> = known_to(config).collect();
    let is_free = !config.tools.iter().any(|tool| tool.name == DELEGATE);
    (is_free && !known.is_empty()).then(|| tool(&known))
}

/// Returns the tool's description for the model. It is short, because every request contains it.
fn tool(known: &[(&str, &str)]) -> ToolSpec {
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let schema = json!({
        "type": "object",
        "properties": {
            "agent": {"type": "string", "enum": names},
            "input": {"type": "string", "description": "The task, with all that the agent has to know."},
        },
        "required": ["agent", "input"],
        "additionalProperties": false,
    });
    let agents: String = known
        .iter()
        .map(|&(name, does)| ["\n- ", name, ": ", does].concat())
        .collect();
    let about = format!(
        "Gives work to another agent with a context of its own, and returns its answer. Calls in one answer run at the same time.{agents}"
    );
    own_tool(DELEGATE, about, schema)
}

/// Returns the configuration of the built-in agent of this name that `maker`, whose own model is `model`,
/// may make; `None` if there is none.
pub(crate) fn config_of(name: &str, maker: &AgentConfig, model: &ModelSpec) -> Option<AgentConfig> {
    let (name, _) = known_to(maker).find(|(known, _)| *known == name)?;
    let prompt = if name == EXPLORE {
        PROMPT_OF_EXPLORE
    } else {
        PROMPT_OF_GENERAL
    };
    let system_prompt = format!("{}\n\n{prompt}", maker.system_prompt.trim_end());
    Some(AgentConfig {
        name: name.to_owned(),
        model: model.clone(),
        system_prompt: Arc::from(system_prompt.trim_start()),
        tools: tools_of(name, &maker.tools),
        agents: Vec::new(),
        built_in_agents: Vec::new(),
        built_in: Some(name.to_owned()),
        routing: None,
        all_tools: false,
        answer_schema: None,
        // Its question would stop the work of every agent above it.
        ask_user: None,
        wait: false,
        reminders: None,
        asks_at_limits: false,
        context_sources: Vec::new(),
        learning: None,
        ..maker.clone()
    })
}

/// Returns the built-in agents that this one may make, as they would begin now, each with its description.
pub fn built_in_agents_of(maker: &AgentConfig) -> Vec<(AgentConfig, String)> {
    known_to(maker)
        .filter_map(|(name, does)| Some((config_of(name, maker, &maker.model)?, does.to_owned())))
        .collect()
}

/// The tools of a built-in agent whose maker has these.
fn tools_of(name: &str, of_maker: &[ToolSpec]) -> Arc<[ToolSpec]> {
    let makes_agents = |tool: &ToolSpec| [DELEGATE, AGENTS].contains(&tool.name.as_str());
    let is_allowed = |tool: &&ToolSpec| name == GENERAL || tool.access <= Access::Read;
    let tools = of_maker.iter().filter(|tool| !makes_agents(tool));
    tools.filter(is_allowed).cloned().collect()
}

/// Returns the change by which a built-in agent follows `change` of its maker; `None` if it stays as it is.
/// Changes that reach every agent below (limits, the guard, plan mode) come on their own way.
pub(crate) fn followed_change(
    name: &str,
    own: &AgentConfig,
    maker: &AgentConfig,
    change: &ConfigChange,
) -> Option<ConfigChange> {
    match change {
        ConfigChange::Model(model) => (own.model != **model).then(|| change.clone()),
        ConfigChange::Approval(_) => {
            (own.approval != maker.approval).then_some(ConfigChange::Approval(maker.approval))
        }
        ConfigChange::RuleAdded(rule) => (!own.rules.contains(rule)).then(|| change.clone()),
        ConfigChange::Rules(_) => {
            (own.rules != maker.rules).then(|| ConfigChange::Rules(maker.rules.clone()))
        }
        ConfigChange::Tools(_) => {
            let tools = tools_of(name, &maker.tools);
            (own.tools != tools).then_some(ConfigChange::Tools(tools))
        }
        ConfigChange::Fallbacks(_) | ConfigChange::Params(_) | ConfigChange::Condensing(_) => {
            Some(change.clone())
        }
        ConfigChange::Limits(_)
        | ConfigChange::Instructions(_)
        | ConfigChange::RulesVersion(_)
        | ConfigChange::Guard(_)
        | ConfigChange::ServerRules(_)
        | ConfigChange::PlanMode(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use crate::token_estimate::estimate_tool;

    fn maker() -> AgentConfig {
        AgentConfig {
            built_in_agents: BUILT_IN_AGENTS.map(str::to_owned).into(),
            rules_version: since::BUILT_IN_AGENTS,
            ..fixtures::config()
        }
    }

    #[test]
    fn the_tool_costs_little_in_each_request() {
        let tokens = offered(&maker()).map(|tool| estimate_tool(&tool));
        assert!(tokens.is_some_and(|tokens| tokens < 115), "{tokens:?}");
    }

    #[test]
    fn each_is_described_as_it_would_begin() {
        let agents = built_in_agents_of(&maker());
        let names: Vec<&str> = agents.iter().map(|(config, _)| config.name.as_str()).collect();
        assert_eq!(names, BUILT_IN_AGENTS);
        let explore = &agents[1].0;
        assert!(explore.tools.iter().all(|tool| tool.access <= Access::Read));
        assert!(explore.system_prompt.ends_with(PROMPT_OF_EXPLORE));
        assert!(built_in_agents_of(&fixtures::config()).is_empty());
    }

    #[test]
    fn it_is_offered_only_by_name_by_new_rules_and_beside_no_tool_of_its_name() {
        let without = AgentConfig {
            built_in_agents: Vec::new(),
            ..maker()
        };
        let older = AgentConfig {
            rules_version: since::BUILT_IN_AGENTS - 1,
            ..maker()
        };
        let mut taken = maker();
        taken.tools = Arc::from([own_tool(DELEGATE, String::new(), json!({}))]);
        for config in [without, older, taken] {
            assert_eq!(offered(&config), None);
        }
    }
}
