//! Bounds on the agents of everybody but the operator. One function decides whether a configuration widens
//! the earlier permissions, for a new session and for a change. It knows no requests, so that a test can try
//! any sequence of changes.

use std::sync::Arc;

use agentx_runtime::{AGENTS, DELEGATE, apply, as_offered, delegation_tools, describe};
use agentx_types::{
    AgentConfig, Api, ApprovalMode, ConfigChange, Guard, Limits, ModelSpec, Prices, RULES_VERSION, Rule,
    RuleEffect, ServerRules, ToolSpec,
};

use crate::members::limit_bounds::{MORE_TOKENS, limits_of_change, longer_answers, wider_than, widest};

/// The bounds of a caller who is not the server's operator.
#[derive(Clone, Debug)]
pub struct MemberBounds {
    /// The rules of the server's settings.
    pub rules: Vec<Rule>,
    /// The approval mode of the settings.
    pub approval: ApprovalMode,
    /// The limits of the settings.
    pub limits: Limits,
    /// The models that the server lists, and the one of its settings.
    pub models: Vec<ModelSpec>,
    /// The tools that it offers.
    pub tools: Vec<ToolSpec>,
    /// Files that every call is kept from.
    pub guard: Option<Arc<Guard>>,
    /// The rules that bind every call of the session.
    pub server_rules: Option<Arc<ServerRules>>,
    /// The only directory that the agents may work in.
    pub workspace: String,
    /// Whether the server limits what members spend (`quotas.daily_cost`): models without a price are then
    /// refused.
    pub limits_money: bool,
    /// Whether the session is theirs. In sessions of other owners they may not rewind anything.
    pub owns: bool,
}

impl MemberBounds {
    /// Returns the allowed form of the configuration of a new session.
    ///
    /// # Errors
    /// Returns an error that names the permission beyond the bounds.
    pub fn admit(&self, config: AgentConfig) -> Result<AgentConfig, String> {
        let config = self.fit(config);
        self.check_prices(models_of(&config))?;
        let model = &config.model;
        if !self.models.contains(model) {
            // The price of an unlisted model is unknown, so no bound on money would stop it.
            return Err(format!(
                "this server does not offer the model {}/{}; its operator can add it to the settings (`models`)",
                model.provider, model.id
            ));
        }
        let usual = AgentConfig {
            approval: self.approval,
            rules: Vec::new(),
            limits: self.limits,
            agents: Vec::new(),
            routing: None,
            ..config.clone()
        };
        match self.widened(&usual, &config) {
            Some(what) => Err(what),
            None => Ok(config),
        }
    }

    /// Returns the allowed form of a change of `before`. One that would loosen anything is refused as a
    /// whole.
    ///
    /// # Errors
    /// Returns a sentence that names the permission beyond the bounds, and the people who could grant it.
    pub fn admit_change(&self, before: &AgentConfig, change: ConfigChange) -> Result<ConfigChange, String> {
        self.admitted(before, change.clone()).map_err(|what| {
            let owner = Self {
                owns: true,
                ..self.clone()
            };
            let is_owners = !self.owns && owner.admitted(before, change).is_ok();
            too_wide(&what, is_owners)
        })
    }

    fn admitted(&self, before: &AgentConfig, change: ConfigChange) -> Result<ConfigChange, String> {
        let change = match change {
            ConfigChange::Limits(limits) => {
                ConfigChange::Limits(limits_of_change(self.owns, before.limits, self.limits, limits)?)
            }
            change => change,
        };
        let mut after = before.clone();
        apply(&mut after, &change);
        self.check_prices(models_of(&after).filter(|model| models_of(before).all(|had| had != *model)))?;
        let widened = self.widened(before, &after);
        match widened.or_else(|| self.wider_spending(before, &after)) {
            Some(what) => Err(what),
            None => Ok(change),
        }
    }

    /// Checks that the cost of these models is known, if the server limits what members spend: no quota would
    /// count their calls.
    fn check_prices<'m>(&self, mut models: impl Iterator<Item = &'m ModelSpec>) -> Result<(), String> {
        match models.find(|model| self.limits_money && has_no_price(model)) {
            Some(model) => Err(format!(
                "{}, and this server limits what members spend (`quotas.daily_cost`)",
                unpriced(model)
            )),
            None => Ok(()),
        }
    }

    /// Fits a configuration for a new session to the server: the server's own tools, directory and version of
    /// the rules; no rule that allows more than the settings; limits no wider than theirs.
    fn fit(&self, config: AgentConfig) -> AgentConfig {
        let agents: Vec<AgentConfig> = config.agents.into_iter().map(|agent| self.fit(agent)).collect();
        let mut tools = as_offered(&config.tools, &self.tools);
        tools.extend(delegation_tools(&agents));
        let mut rules = config.rules;
        rules.retain(|rule| rule.effect != RuleEffect::Allow || self.rules.contains(rule));
        let mut routing = config.routing;
        if let Some(routing) = routing.as_deref_mut() {
            for route in &mut routing.routes {
                route.agent = self.fit(route.agent.clone());
            }
            routing.default = routing.default.take().map(|agent| Box::new(self.fit(*agent)));
        }
        AgentConfig {
            workspace: self.workspace.clone(),
            tools: tools.into(),
            rules,
            limits: config.limits.stricter_limits(self.limits),
            rules_version: RULES_VERSION,
            guard: self.guard.clone(),
            server_rules: self.server_rules.clone(),
            agents,
            routing,
            // Nobody watches reminders of members, and the memories of this machine are its operator's.
            reminders: None,
            learning: None,
            ..config
        }
    }

    /// Describes what `after` and its agents may do beyond `before` and the server's settings; `None` if
    /// nothing.
    fn widened(&self, before: &AgentConfig, after: &AgentConfig) -> Option<String> {
        // All fields are named: a new field needs a decision here whether it can allow an agent more.
        let AgentConfig {
            kind: _,
            name: _,
            model,
            fallbacks,
            // Checked by `wider_spending`, for the session as a whole.
            params: _,
            system_prompt: _,
            instructions: _,
            // These four are compared by `other_ground`.
            workspace: _,
            guard: _,
            server_rules: _,
            rules_version: _,
            tools,
            approval,
            rules,
            limits,
            // These two are compared by `widened_below`.
            agents: _,
            routing: _,
            condensing,
            all_tools: _,
            tool_search: _,
            answer_schema: _,
            ask_user: _,
            wait: _,
            // `fit` leaves these two out of a new session, and no change adds them.
            reminders: _,
            learning: _,
            // A run in the session of a member ends at its limits: nobody is asked.
            asks_at_limits: _,
            stuck: _,
            plan_mode,
            context_sources: _,
            web_text: _,
            security: _,
            // These agents are never freer than this one.
            built_in_agents: _,
            built_in: _,
            history_messages: _,
        } = after;
        let summarizer = condensing
            .as_deref()
            .and_then(|condensing| condensing.model.as_deref());
        let widened = self
            .unknown_model(
                before,
                fallbacks
                    .iter()
                    .chain([Some(model), summarizer].into_iter().flatten()),
            )
            .or_else(|| self.wider_rules(before, rules))
            .or_else(|| self.left_plan_mode(before, *plan_mode))
            .or_else(|| self.wider_approval(before.approval, *approval))
            .or_else(|| self.wider_tools(before, tools))
            .or_else(|| self.wider_limits(before.limits, *limits))
            .or_else(|| self.other_ground(before, after));
        widened.or_else(|| self.widened_below(before, after))
    }

    /// Describes the same of the agents that `after` may create or send inputs to.
    fn widened_below(&self, before: &AgentConfig, after: &AgentConfig) -> Option<String> {
        let routed = after.routing.as_deref().into_iter().flat_map(|routing| {
            let routes = routing.routes.iter().map(|route| &route.agent);
            routes.chain(routing.default.as_deref())
        });
        after.agents.iter().chain(routed).find_map(|agent| {
            let same = before.agents.iter().find(|known| known.name == agent.name);
            let within = self.widened(same.unwrap_or(before), agent)?;
            Some(format!("its agent {:?}: {within}", agent.name))
        })
    }

    /// Describes that `after` works in another place, or under other files, rules or versions of rules than
    /// before.
    fn other_ground(&self, before: &AgentConfig, after: &AgentConfig) -> Option<String> {
        if after.workspace != before.workspace && after.workspace != self.workspace {
            return Some(format!("it works in {}", after.workspace));
        }
        if after.guard != before.guard && after.guard != self.guard {
            return Some("it guards other files".into());
        }
        if after.server_rules != before.server_rules && after.server_rules != self.server_rules {
            return Some("it replaces the server's rules".into());
        }
        let is_older = after.rules_version < before.rules_version.min(RULES_VERSION);
        is_older.then(|| "it reads rules as an older program did".to_owned())
    }

    /// Returns a text if the change leaves plan mode. Only the owner of a session may do that.
    fn left_plan_mode(&self, before: &AgentConfig, after: Option<bool>) -> Option<String> {
        let is_left = before.plan_mode == Some(true) && after != Some(true);
        (is_left && !self.owns).then(|| "it leaves plan mode".to_owned())
    }

    /// Returns which of these models is neither the server's nor the one before, as text.
    fn unknown_model<'m>(
        &self,
        before: &AgentConfig,
        mut models: impl Iterator<Item = &'m ModelSpec>,
    ) -> Option<String> {
        let was_there = |model: &ModelSpec| *model == before.model || before.fallbacks.contains(model);
        let unknown = models.find(|model| !self.models.contains(model) && !was_there(model))?;
        Some(format!(
            "the settings of model {} differ from the server's",
            unknown.id
        ))
    }

    fn wider_rules(&self, before: &AgentConfig, rules: &[Rule]) -> Option<String> {
        let allowed = |rule: &Rule| before.rules.contains(rule) || (self.owns && self.rules.contains(rule));
        let added = rules
            .iter()
            .find(|rule| rule.effect == RuleEffect::Allow && !allowed(rule));
        if let Some(rule) = added {
            return Some(format!("it adds the rule {}", describe(rule)));
        }
        let dropped = |rule: &&Rule| rule.effect != RuleEffect::Allow && !rules.contains(rule);
        let dropped = before.rules.iter().find(dropped).filter(|_| !self.owns)?;
        Some(format!("it removes the rule {}", describe(dropped)))
    }

    fn wider_approval(&self, before: ApprovalMode, after: ApprovalMode) -> Option<String> {
        let most = if self.owns {
            looser(before, self.approval)
        } else {
            before
        };
        (looser(most, after) != most).then(|| "`approval` would ask about fewer calls".into())
    }

    fn wider_tools(&self, before: &AgentConfig, after: &[ToolSpec]) -> Option<String> {
        let same = |one: &ToolSpec, other: &ToolSpec| other.clone().with_quit(one.quit) == *one;
        let made_here = |tool: &ToolSpec| [DELEGATE, AGENTS].contains(&tool.name.as_str());
        let known = |tool: &&ToolSpec| {
            made_here(tool) || before.tools.iter().chain(&self.tools).any(|own| same(own, tool))
        };
        let other = after.iter().find(|tool| !known(tool))?;
        Some(format!("the server has no such tool {}", other.name))
    }

    /// The owner pays for the session, so only they decide about the size and cost of answers, and about
    /// condensing.
    fn wider_spending(&self, before: &AgentConfig, after: &AgentConfig) -> Option<String> {
        if self.owns {
            return None;
        }
        let thinks_more =
            after.params.thinking_tokens.unwrap_or(0) > before.params.thinking_tokens.unwrap_or(0);
        let longer = longer_answers(before, after.params.max_output_tokens);
        if let Some(what) = longer.or_else(|| thinks_more.then(|| MORE_TOKENS.to_owned())) {
            return Some(what);
        }
        let known: Vec<&ModelSpec> = models_of(before).collect();
        for model in models_of(after) {
            if !known.contains(&model) && is_dearer(&model.prices, &before.model.prices) {
                return Some(if model.prices.is_unknown() {
                    unpriced(model)
                } else {
                    format!(
                        "the tokens of {} cost more than those of {}",
                        model.id, before.model.id
                    )
                });
            }
        }
        (after.condensing != before.condensing).then(|| "it condenses the conversation differently".into())
    }

    /// Returns the first limit that is wider than it may be, with its bound, as text.
    fn wider_limits(&self, before: Limits, after: Limits) -> Option<String> {
        let most = if self.owns {
            widest(before, self.limits)
        } else {
            before
        };
        wider_than(most, after)
    }
}

/// Returns the sentence for who may not extend something.
pub(crate) fn too_wide(what: &str, is_owners: bool) -> String {
    let who = if is_owners {
        "the owner of this session"
    } else {
        "this server's operator"
    };
    format!("only {who} may extend what an agent is allowed to do: {what}")
}

/// Returns the models that an agent asks: its own, then its fallbacks.
fn models_of(config: &AgentConfig) -> impl Iterator<Item = &ModelSpec> {
    std::iter::once(&config.model).chain(&config.fallbacks)
}

/// Returns whether the prices of a model are unknown.
fn has_no_price(model: &ModelSpec) -> bool {
    model.prices.is_unknown() && model.api != Api::Scripted
}

fn unpriced(model: &ModelSpec) -> String {
    format!("the prices of {} are not known", model.id)
}

/// Returns whether tokens of any kind cost more, in calls of any length. A model with unknown prices may cost
/// more than any model with known prices.
fn is_dearer(prices: &Prices, than: &Prices) -> bool {
    if prices.is_unknown() {
        return !than.is_unknown();
    }
    let usual = |prices: &Prices| {
        let hour = prices.hour_write();
        [
            prices.input,
            prices.output,
            prices.cache_read,
            prices.cache_write,
            hour,
        ]
    };
    let most = |prices: &Prices| {
        let usual = usual(prices);
        prices.long.map_or(usual, |long| {
            let hour = long.input.saturating_mul(2);
            let long = [long.input, long.output, long.cache_read, long.cache_write, hour];
            std::array::from_fn(|kind| usual[kind].max(long[kind]))
        })
    };
    let dearer = |now: [u64; 5], before: [u64; 5]| now.iter().zip(before).any(|(now, before)| *now > before);
    dearer(usual(prices), usual(than)) || dearer(most(prices), most(than))
}

/// Returns the mode that asks about fewer calls.
fn looser(one: ApprovalMode, other: ApprovalMode) -> ApprovalMode {
    if other.strictness() < one.strictness() {
        other
    } else {
        one
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_without_a_price_may_cost_more_than_any_other() {
        let priced = |input| Prices {
            input,
            ..Prices::default()
        };
        assert!(is_dearer(&Prices::default(), &priced(1)));
        assert!(!is_dearer(&Prices::default(), &Prices::default()));
        assert!(is_dearer(&priced(2), &priced(1)));
        assert!(!is_dearer(&priced(1), &priced(1)));
        assert!(is_dearer(&priced(1), &Prices::default()));
    }
}
