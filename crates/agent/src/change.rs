//! Changes of an agent's configuration while its session goes on.

use agentx_types::{AgentConfig, ConfigChange};

/// Puts a change into effect.
pub(crate) fn apply(config: &mut AgentConfig, change: &ConfigChange) {
    match change.clone() {
        ConfigChange::Model(model) => config.model = *model,
        ConfigChange::Params(params) => config.params = params,
        ConfigChange::Limits(limits) => config.limits = limits,
        ConfigChange::Approval(mode) => config.approval = mode,
        ConfigChange::RuleAdded(rule) => config.rules.push(rule),
        ConfigChange::Rules(rules) => config.rules = rules,
        ConfigChange::Tools(tools) => config.tools = tools,
        ConfigChange::Instructions(instructions) => config.instructions = instructions,
    }
}
