//! What of a client's agent this server takes, and which changes of it: tools, prices and trust are the server's to say, and only
//! its operator may let an agent of theirs do more.

use std::path::Path;
use std::sync::Arc;

use agentx_config::{ModelOffer, Settings};
use agentx_runtime::{
    ModelInfo, NamedAgent, NamedLimits, Runtime as _, RuntimeError, as_offered, delegation_tools,
};
use agentx_types::{
    AgentConfig, AgentKind, ApprovalMode, Condensing, ConfigChange, Limits, ModelSpec, Route, Routing, Rule,
    RuleEffect, SessionRole, ToolSpec,
};

use crate::state::{Access, Caller, ServerState};

/// The model of this name, as the server knows it.
pub(crate) fn choose(
    settings: &Settings,
    known: &[ModelInfo],
    name: &str,
) -> Result<ModelSpec, RuntimeError> {
    let offers: Vec<ModelOffer<'_>> = known
        .iter()
        .map(|info| ModelOffer {
            spec: &info.spec,
            aliases: &info.aliases,
        })
        .collect();
    let chosen = settings.choose_model(name, &offers);
    chosen.map_err(|unknown| RuntimeError::UnknownModel {
        model: unknown.name,
        nearest: unknown.nearest,
    })
}

/// A client's agent as this server lets it be.
///
/// # Errors
/// Where the model is not known here, or a member asks for more trust than the server gives.
pub(crate) fn of_server(
    state: &ServerState,
    caller: &Caller,
    config: AgentConfig,
) -> Result<AgentConfig, RuntimeError> {
    let runtime = state.runtime_of(&caller.person);
    let settings = state.settings();
    let model = known_model(settings, &runtime.models(), &config.model)?;
    // Who wants none says so: `at_percent: 0`.
    let usual = || (config.kind == AgentKind::React).then(|| Box::new(settings.condensing.clone()));
    let condensing = config.condensing.clone().or_else(usual);
    let condensing = condensing_of_server(settings, &runtime.models(), condensing)?;
    // What it may make is bounded as it is itself; how deep they lie in each other, JSON bounds.
    let agents = config.agents.into_iter();
    let agents: Vec<AgentConfig> = agents
        .map(|agent| of_server(state, caller, agent))
        .collect::<Result<_, _>>()?;
    let config = AgentConfig {
        model,
        condensing,
        tools: own_tools(settings, &runtime.tools(), &config.tools, &agents),
        workspace: workspace(settings, caller, &config.workspace),
        agents,
        routing: config
            .routing
            .map(|routing| routing_of_server(state, caller, *routing))
            .transpose()?,
        ..config
    };
    if caller.operator {
        return Ok(config);
    }
    within(settings, config)
}

/// Those whom an agent sends inputs to are bounded as it is itself.
fn routing_of_server(
    state: &ServerState,
    caller: &Caller,
    routing: Routing,
) -> Result<Box<Routing>, RuntimeError> {
    let route = |route: Route| {
        Ok(Route {
            agent: of_server(state, caller, route.agent)?,
            ..route
        })
    };
    let default = routing.default.map(|agent| of_server(state, caller, *agent));
    Ok(Box::new(Routing {
        routes: routing
            .routes
            .into_iter()
            .map(route)
            .collect::<Result<_, RuntimeError>>()?,
        default: default.transpose()?.map(Box::new),
        ..routing
    }))
}

/// An agent of the server's files as this server lets it be, with what the client says about it.
///
/// # Errors
/// Where there is no such agent or model, or a member asks for more trust than the server gives.
pub(crate) fn named_of_server(
    state: &ServerState,
    caller: &Caller,
    wanted: NamedAgent,
) -> Result<AgentConfig, RuntimeError> {
    let settings = state.settings();
    let own = wanted.workspace.unwrap_or_default();
    let mut wanted = NamedAgent {
        workspace: Some(workspace(settings, caller, &own)),
        ..wanted
    };
    if !caller.operator {
        check_approval(settings, wanted.approval)?;
        wanted.limits = within_named(settings, wanted.limits);
    }
    state.runtime_of(&caller.person).resolve_agent(&wanted)
}

/// A model as the server knows it: what it costs and how it is spoken to is not for clients to say.
fn known_model(
    settings: &Settings,
    known: &[ModelInfo],
    wanted: &ModelSpec,
) -> Result<ModelSpec, RuntimeError> {
    let same = |info: &&ModelInfo| info.spec.id == wanted.id && info.spec.provider == wanted.provider;
    match known.iter().find(same) {
        Some(info) => Ok(info.spec.clone()),
        None => choose(settings, known, &format!("{}/{}", wanted.provider, wanted.id)),
    }
}

/// Who writes summaries is a model of the server.
fn condensing_of_server(
    settings: &Settings,
    known: &[ModelInfo],
    condensing: Option<Box<Condensing>>,
) -> Result<Option<Box<Condensing>>, RuntimeError> {
    let Some(mut condensing) = condensing else {
        return Ok(None);
    };
    if let Some(model) = &mut condensing.model {
        **model = known_model(settings, known, model)?;
    }
    Ok(Some(condensing))
}

/// The server's tools of the names that the client wants, and those that follow from the agents that it may make.
fn own_tools(
    settings: &Settings,
    own: &[ToolSpec],
    wanted: &[ToolSpec],
    agents: &[AgentConfig],
) -> Arc<[ToolSpec]> {
    let offered = own.iter().filter(|tool| settings.tools.offers(&tool.name));
    let mut tools = as_offered(wanted, &offered.cloned().collect::<Vec<_>>());
    tools.extend(delegation_tools(agents));
    tools.into()
}

/// Where the agent works: where the operator says, if that is a directory here; else where the server does.
fn workspace(settings: &Settings, caller: &Caller, wanted: &str) -> String {
    let own = || settings.workspace.to_string_lossy().into_owned();
    if !caller.operator || !Path::new(wanted).is_absolute() {
        return own();
    }
    match std::fs::canonicalize(wanted) {
        Ok(path) if path.is_dir() => path.to_string_lossy().into_owned(),
        _ => own(),
    }
}

/// A member's agent: nobody is spared being asked by its own word, and the server's limits hold. Rules that allow what the
/// server's do not are left out.
fn within(settings: &Settings, mut config: AgentConfig) -> Result<AgentConfig, RuntimeError> {
    check_approval(settings, Some(config.approval))?;
    config.rules.retain(|rule| !is_new(rule, &settings.rules));
    config.limits = within_limits(settings, config.limits);
    Ok(config)
}

fn check_approval(settings: &Settings, wanted: Option<ApprovalMode>) -> Result<(), RuntimeError> {
    if wanted == Some(ApprovalMode::Auto) && settings.approval != ApprovalMode::Auto {
        return Err(RuntimeError::Denied(
            "this server does not let members approve everything beforehand: leave `approval: auto` out"
                .into(),
        ));
    }
    Ok(())
}

fn within_limits(settings: &Settings, limits: Limits) -> Limits {
    let most = &settings.limits;
    Limits {
        max_iterations: least(limits.max_iterations, most.max_iterations),
        max_tokens: least(limits.max_tokens, most.max_tokens),
        max_cost: least(limits.max_cost, most.max_cost),
        max_wall_ms: least(limits.max_wall_ms, most.max_wall_ms),
    }
}

/// What a member names may not go beyond the server's.
fn within_named(settings: &Settings, limits: NamedLimits) -> NamedLimits {
    let most = &settings.limits;
    NamedLimits {
        max_iterations: limits.max_iterations.map(|own| least(own, most.max_iterations)),
        max_tokens: limits.max_tokens.map(|own| least(own, most.max_tokens)),
        max_cost: limits.max_cost.map(|own| least(own, most.max_cost)),
        max_wall_ms: limits.max_wall_ms.map(|own| least(own, most.max_wall_ms)),
    }
}

fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// A change of an agent as this server lets it be. It must not let the agent do more on this machine than whoever runs the
/// server wants.
///
/// # Errors
/// Where it would, or the model is not known here.
pub(crate) fn change_of_server(
    state: &ServerState,
    (caller, access): (&Caller, &Access),
    change: ConfigChange,
) -> Result<ConfigChange, RuntimeError> {
    let settings = state.settings();
    let is_free = caller.operator && access.role == SessionRole::Own;
    let widens = match &change {
        ConfigChange::Tools(_) => {
            return Err(RuntimeError::Denied(
                "which tools there are is the server's to say".into(),
            ));
        }
        ConfigChange::Model(model) => {
            let model = known_model(settings, &access.runtime.models(), model)?;
            return Ok(ConfigChange::Model(Box::new(model)));
        }
        ConfigChange::Limits(limits) if !is_free => {
            return Ok(ConfigChange::Limits(within_limits(settings, *limits)));
        }
        ConfigChange::Approval(mode) => {
            *mode == ApprovalMode::Auto && settings.approval != ApprovalMode::Auto
        }
        ConfigChange::RuleAdded(rule) => is_new(rule, &settings.rules),
        ConfigChange::Rules(rules) => rules.iter().any(|rule| is_new(rule, &settings.rules)),
        ConfigChange::Condensing(condensing) => {
            let known = access.runtime.models();
            let condensing = condensing_of_server(settings, &known, condensing.clone())?;
            return Ok(ConfigChange::Condensing(condensing));
        }
        ConfigChange::Params(_) | ConfigChange::Limits(_) | ConfigChange::Instructions(_) => false,
        // Only the program itself records this, when it resumes an older session.
        ConfigChange::RulesVersion(_) | ConfigChange::Guard(_) => true,
    };
    if widens && !is_free {
        return Err(RuntimeError::Denied(
            "only the operator of this server may let an agent do more without asking".into(),
        ));
    }
    Ok(change)
}

/// Whether a rule lets something happen that the server's own rules do not.
fn is_new(rule: &Rule, own: &[Rule]) -> bool {
    rule.effect == RuleEffect::Allow && !own.contains(rule)
}
