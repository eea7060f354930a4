//! Changes of an agent's configuration while its session goes on.

use agentx_types::{AgentConfig, ConfigChange};

use super::{Course, Step};

impl Course {
    /// Puts a change into effect, also for the run that is under way.
    pub(crate) fn change(&mut self, config: &mut AgentConfig, change: &ConfigChange, step: &mut Step<'_>) {
        let before = config.limits.max_wall_ms;
        apply(config, change);
        if let Some(run) = self.active() {
            run.wall_time_changed(before, config.limits.max_wall_ms, step);
        }
    }
}

fn apply(config: &mut AgentConfig, change: &ConfigChange) {
    match change.clone() {
        ConfigChange::Model(model) => config.model = *model,
        ConfigChange::Params(params) => config.params = params,
        ConfigChange::Limits(limits) => config.limits = limits,
        ConfigChange::Approval(mode) => config.approval = mode,
        ConfigChange::RuleAdded(rule) => config.rules.push(rule),
        ConfigChange::Rules(rules) => config.rules = rules,
        ConfigChange::Tools(tools) => config.tools = tools,
        ConfigChange::Instructions(instructions) => config.instructions = instructions,
        ConfigChange::Condensing(condensing) => config.condensing = condensing,
    }
}
