//! Changes of an agent's configuration while its session continues.
//!
//! Each change is a fact (`config_changed`), so the log has the configuration of every decision. [`apply`]
//! puts a change into a configuration; `RunLifecycle::change` also adjusts the current run. The other
//! functions here answer one question: what does a change, or the creation of an agent, mean for the agents
//! below?
//!
//! | change of | existing agents below | agents that are only configured |
//! | --- | --- | --- |
//! | limits | each limit that was equal stays equal | the same rule |
//! | rules that deny or ask | added | added when they are created (`hold_to`) |
//! | the guard, the rules of the server, plan mode | replaced | replaced |
//! | the approval mode | follows if the new one is stricter | the same rule, when they are created |
//! | anything that allows more | not passed on | not passed on |
//! | the server of a provider | follows, for models of that provider | the same rule |
//!
//! Invariant: neither its creation nor a change above it lets an agent do more than its own file allows. The
//! nesting of configurations is bounded (`check_depth`), so that the recursion here ends.

use std::sync::Arc;

use agentx_types::{
    AgentConfig, ConfigChange, Guard, Limits, ModelSpec, Rule, RuleEffect, ServerRules, since,
};

use super::{RunLifecycle, RunStep};

impl RunLifecycle {
    /// Applies a change, also to the current run.
    ///
    /// The timer of the wall time is the only part of a run that has to be adjusted: a lower limit needs an
    /// earlier timer. Every other value is read from the configuration when it is next needed.
    pub(crate) fn change(&mut self, config: &mut AgentConfig, change: &ConfigChange, step: &mut RunStep<'_>) {
        let before = config.limits.max_wall_ms;
        apply(config, change);
        if let Some(run) = self.active() {
            run.wall_time_changed(before, config.limits.max_wall_ms, step);
        }
    }
}

/// The limits of an agent below one whose limits change from `before` to `after`.
///
/// Each of the four limits is handled separately: if the agent below had the value `before`, it gets the
/// value `after`; if it had another value, it keeps that. So a child's limit from its own file stays when a
/// person raises the limit of the parent.
pub(crate) fn followed(own: Limits, before: Limits, after: Limits) -> Limits {
    fn follow<T: PartialEq>(own: T, before: &T, after: T) -> T {
        if own == *before { after } else { own }
    }
    Limits {
        max_iterations: follow(own.max_iterations, &before.max_iterations, after.max_iterations),
        max_tokens: follow(own.max_tokens, &before.max_tokens, after.max_tokens),
        max_cost: follow(own.max_cost, &before.max_cost, after.max_cost),
        max_wall_ms: follow(own.max_wall_ms, &before.max_wall_ms, after.max_wall_ms),
    }
}

/// The configurations of the agents that one with this configuration may make: those in `agents`, the routes
/// of a Match agent, and its default route. Only the next level; callers recurse.
pub(crate) fn child_configs_mut(config: &mut AgentConfig) -> impl Iterator<Item = &mut AgentConfig> {
    let routed = config.routing.as_deref_mut().map(|routing| {
        let routes = routing.routes.iter_mut().map(|route| &mut route.agent);
        routes.chain(routing.default.as_deref_mut())
    });
    config.agents.iter_mut().chain(routed.into_iter().flatten())
}

/// Changes the limits of an agent that is not created yet, and of all below it, as [`followed`] does for an
/// existing one.
fn pass_on(config: &mut AgentConfig, before: Limits, after: Limits) {
    config.limits = followed(config.limits, before, after);
    for child in child_configs_mut(config) {
        pass_on(child, before, after);
    }
}

/// Gives an agent and the agents that it may create the same version of the rules. A session never mixes
/// versions, because its version decides how its log is replayed.
fn read_rules_as(config: &mut AgentConfig, version: u32) {
    config.rules_version = version;
    for child in child_configs_mut(config) {
        read_rules_as(child, version);
    }
}

/// Gives an agent and the agents that it may create the same guard, or removes the guard if `guard` is
/// `None`.
///
/// The guard comes from the program's settings: files that are refused or need a question, and programs that
/// Git would run. It replaces the earlier one, because settings apply to the whole session.
pub fn keep_from(config: &mut AgentConfig, guard: Option<&Arc<Guard>>) {
    config.guard = guard.cloned();
    for child in child_configs_mut(config) {
        keep_from(child, guard);
    }
}

/// Gives an agent and the agents that it may create the same rules of a server, or none if `server` is
/// `None`.
///
/// A server binds the sessions that it serves: nobody in the session can allow a call that its rules deny or
/// ask about.
pub fn bind_by(config: &mut AgentConfig, server: Option<&Arc<ServerRules>>) {
    config.server_rules = server.cloned();
    for child in child_configs_mut(config) {
        bind_by(child, server);
    }
}

/// Switches plan mode on or off for an agent and the agents that it may create.
fn set_plan_mode(config: &mut AgentConfig, on: bool) {
    config.plan_mode = Some(on);
    for child in child_configs_mut(config) {
        set_plan_mode(child, on);
    }
}

/// Adds the missing rules of the maker that deny or ask, after the existing ones. Rules that allow are left
/// out: a created agent may do what its own file allows, and no more.
pub(crate) fn add_strict(rules: &mut Vec<Rule>, of_maker: &[Rule]) {
    for rule in of_maker.iter().filter(|rule| rule.effect != RuleEffect::Allow) {
        if !rules.contains(rule) {
            rules.push(rule.clone());
        }
    }
}

/// Binds an agent, and the agents that it may create, by the restrictions of its maker.
///
/// These are rules that deny or ask, the guard, the rules of the server, the approval mode if that of the
/// maker is stricter, plan mode, its analyzers, and the mark that text from the web was read. Rules that
/// allow are not passed on, and a missing guard, server or analyzer of the maker removes nothing.
///
/// ```
/// use agentx_agent::{fixtures, hold_to};
/// use agentx_types::ApprovalMode;
///
/// let (mut child, mut maker) = (fixtures::config(), fixtures::config());
/// maker.approval = ApprovalMode::Ask;
/// maker.plan_mode = Some(true);
/// hold_to(&mut child, &maker);
/// assert_eq!((child.approval, child.plan_mode), (ApprovalMode::Ask, Some(true)));
/// ```
pub fn hold_to(config: &mut AgentConfig, maker: &AgentConfig) {
    add_strict(&mut config.rules, &maker.rules);
    if maker.guard.is_some() {
        config.guard.clone_from(&maker.guard);
    }
    if maker.server_rules.is_some() {
        config.server_rules.clone_from(&maker.server_rules);
    }
    config.approval = config.approval.stricter(maker.approval);
    if maker.plan_mode == Some(true) {
        config.plan_mode = maker.plan_mode;
    }
    config.web_text |= maker.web_text;
    if maker.security.is_some() {
        config.security.clone_from(&maker.security);
    }
    for child in child_configs_mut(config) {
        hold_to(child, maker);
    }
}

/// The configuration of an agent that `maker` creates: its own, bound by the restrictions of the maker.
/// Before version 6 of the rules only its own applied.
pub(crate) fn made_by(maker: &AgentConfig, config: &AgentConfig) -> AgentConfig {
    let mut config = config.clone();
    if maker.rules_version >= since::CHILDREN_INHERIT_RESTRICTIONS {
        hold_to(&mut config, maker);
    }
    config
}

/// Moves every model of the named provider to the server that a person named with `named`: the agent's own,
/// that of its summaries, its fallbacks, and those of the agents that it may make. A person who names a model
/// means its server for all requests to the same provider.
fn ask_at(config: &mut AgentConfig, named: &ModelSpec) {
    let summaries = config
        .condensing
        .as_deref_mut()
        .and_then(|condensing| condensing.model.as_deref_mut());
    let models = [Some(&mut config.model), summaries].into_iter().flatten();
    for model in models
        .chain(&mut config.fallbacks)
        .filter(|model| model.provider == named.provider)
    {
        model.server.clone_from(&named.server);
    }
    for child in child_configs_mut(config) {
        ask_at(child, named);
    }
}

/// Applies a change to a configuration; `RunLifecycle::change` also adjusts the current run.
///
/// `limits` reaches the agents that are not created yet (see `followed`), `model` moves the other models of
/// its provider to the same server, and the version of the rules, the guard and the rules of the server
/// replace those of all agents below. Any other change concerns only this configuration.
///
/// ```
/// use agentx_agent::{apply, fixtures};
/// use agentx_types::{ApprovalMode, ConfigChange, Limits};
///
/// let mut config = fixtures::config();
/// config.agents = vec![fixtures::config()];
/// let limits = Limits { max_iterations: Some(20), ..Limits::default() };
/// apply(&mut config, &ConfigChange::Limits(limits));
/// assert_eq!(config.agents[0].limits, limits, "it had no limits, like the agent above");
/// apply(&mut config, &ConfigChange::Approval(ApprovalMode::Deny));
/// assert_eq!(config.agents[0].approval, ApprovalMode::Auto, "a mode is not passed on here");
/// ```
pub fn apply(config: &mut AgentConfig, change: &ConfigChange) {
    match change.clone() {
        ConfigChange::Model(model) => {
            ask_at(config, &model);
            config.model = *model;
        }
        ConfigChange::Fallbacks(models) => config.fallbacks = models,
        ConfigChange::Params(params) => config.params = params,
        ConfigChange::Limits(limits) => {
            let before = config.limits;
            for child in child_configs_mut(config) {
                pass_on(child, before, limits);
            }
            config.limits = limits;
        }
        ConfigChange::Approval(mode) => config.approval = mode,
        ConfigChange::RuleAdded(rule) => config.rules.push(rule),
        ConfigChange::Rules(rules) => config.rules = rules,
        ConfigChange::Tools(tools) => config.tools = tools,
        ConfigChange::Instructions(instructions) => config.instructions = instructions,
        ConfigChange::Condensing(condensing) => config.condensing = condensing,
        ConfigChange::RulesVersion(version) => read_rules_as(config, version),
        ConfigChange::Guard(guard) => keep_from(config, guard.as_ref()),
        ConfigChange::ServerRules(rules) => bind_by(config, rules.as_ref()),
        ConfigChange::PlanMode(on) => set_plan_mode(config, on),
    }
}

#[cfg(test)]
mod tests {
    use agentx_types::{
        ApprovalMode, Condensing, ConfigChanged, EnvironmentEvent, EventDraft, Source, Timestamp,
    };

    use super::*;
    use crate::{Agent, StepContext, fixtures};

    fn rule(effect: RuleEffect, tool: &str) -> Rule {
        Rule {
            effect,
            tool: tool.to_owned(),
            argument: None,
            path: None,
            workspace: None,
            origin: None,
        }
    }

    #[test]
    fn whatever_is_asked_of_a_provider_is_asked_where_the_person_named_a_model_of_it() {
        let at = |provider: &str, server: &str| ModelSpec {
            provider: provider.into(),
            server: Some(server.into()),
            ..fixtures::config().model
        };
        let mut config = AgentConfig {
            model: at("mine", "http://old"),
            condensing: Some(Box::new(Condensing {
                model: Some(Box::new(at("mine", "http://old"))),
                ..Condensing::default()
            })),
            ..fixtures::config()
        };
        let mut child = config.clone();
        child.model = at("other", "http://old");
        config.agents = vec![child];
        apply(
            &mut config,
            &ConfigChange::Model(Box::new(at("mine", "http://new"))),
        );
        let summaries = |config: &AgentConfig| {
            let model = config
                .condensing
                .as_ref()
                .and_then(|condensing| condensing.model.clone());
            model.and_then(|model| model.server)
        };
        let (old, new) = (Some("http://old".to_owned()), Some("http://new".to_owned()));
        let child = &config.agents[0];
        assert_eq!((&config.model.server, &child.model.server), (&new, &old));
        assert_eq!((summaries(&config), summaries(child)), (new.clone(), new));
    }

    #[test]
    fn an_agent_that_is_at_work_is_asked_there_too() {
        let at = |provider: &str, server: &str| AgentConfig {
            model: ModelSpec {
                provider: provider.into(),
                server: Some(server.into()),
                ..fixtures::config().model
            },
            ..fixtures::config()
        };
        let maker = at("mine", "http://new");
        let change = ConfigChange::Model(Box::new(maker.model.clone()));
        let changed = ConfigChanged {
            change: change.clone(),
            by: None,
        };
        let draft = EventDraft::new(Source::User, None, EnvironmentEvent::from(changed));
        let fact = draft.into_envelope("ses_1".into(), 9, Timestamp(0));
        for (provider, expected) in [("mine", "http://new"), ("other", "http://old")] {
            let mut agent = Agent::new("agt_2".into(), at(provider, "http://old"));
            agent.on_rules_above(&maker, &change, &fact, &StepContext::default());
            assert_eq!(
                agent.config().model.server.as_deref(),
                Some(expected),
                "{provider}"
            );
        }
    }

    #[test]
    fn an_agent_is_held_to_what_is_strict_of_its_maker() {
        let with = |approval, rules: &[Rule]| AgentConfig {
            approval,
            rules: rules.to_vec(),
            ..fixtures::config()
        };
        let (deny, ask, allow) = (
            rule(RuleEffect::Deny, "bash"),
            rule(RuleEffect::Ask, "write"),
            rule(RuleEffect::Allow, "edit"),
        );
        let mut maker = with(ApprovalMode::Ask, &[allow.clone(), deny.clone(), ask.clone()]);
        maker.guard = Some(Arc::default());
        let mut child = with(ApprovalMode::Auto, std::slice::from_ref(&deny));
        child.agents = vec![with(ApprovalMode::Deny, std::slice::from_ref(&allow))];
        hold_to(&mut child, &maker);
        assert_eq!(
            (child.approval, &child.rules),
            (ApprovalMode::Ask, &vec![deny.clone(), ask.clone()])
        );
        assert!(child.guard.is_some());
        let below = &child.agents[0];
        assert_eq!(
            (below.approval, &below.rules),
            (ApprovalMode::Deny, &vec![allow, deny, ask])
        );
    }
}
