//! The way in which a built-in agent follows the agent that made it, while both are at work.

use agentx_types::{AgentConfig, ConfigChange, Envelope, EnvironmentEvent, since};

use crate::agent::Agent;
use crate::built_in_agents::followed_change;
use crate::context::{StepContext, Transition};

impl Agent {
    /// The configuration of the agent that made this one changes by `change` to `maker`: a built-in agent
    /// takes over the model, the mode, the rules and the tools, also if they allow more than before.
    ///
    /// Nothing follows for any other agent. Before version 9 of the rules there were no built-in agents.
    ///
    /// | own mode | mode of the maker, after | own mode afterwards |
    /// | --- | --- | --- |
    /// | `ask` | `auto` | `auto` |
    /// | `auto` | `deny` | `deny` |
    pub fn on_maker_changed(
        &mut self,
        maker: &AgentConfig,
        change: &ConfigChange,
        fact: &Envelope<EnvironmentEvent>,
        context: &StepContext<'_>,
    ) -> Transition {
        let own = self.config();
        let is_new = own.rules_version >= since::BUILT_IN_AGENTS;
        let name = own.built_in.as_deref().filter(|_| is_new);
        let follows = name.and_then(|name| followed_change(name, own, maker, change));
        self.on_change_above(follows, fact, context)
    }
}
