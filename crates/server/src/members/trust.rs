//! Decides which agents and changes of a client the server accepts. The server sets tools, prices and trust,
//! and only its operator may allow an agent more.

use std::path::Path;
use std::sync::Arc;

use agentx_config::{ModelOffer, Settings};
use agentx_runtime::{
    DELEGATE, ModelInfo, NamedAgent, NamedLimits, Runtime as _, RuntimeError, as_offered, delegation_tools,
};
use agentx_types::{
    AgentConfig, AgentKind, Condensing, ConfigChange, ModelSpec, OwnerId, Route, Routing, ToolSpec,
    stricter_limit,
};

use crate::auth::caller::Caller;
use crate::limits::size_limits::{NAME_CHARS, bounded};
use crate::members::member_bounds::{MemberBounds, too_wide};
use crate::members::person_settings::own_values;
use crate::settings::member_settings::{directory, make_directory};
use crate::state::{ServerState, SessionAccess};

/// Returns the model of this name, as the server knows it.
pub(crate) fn choose(
    settings: &Settings,
    known: &[ModelInfo],
    name: &str,
) -> Result<ModelSpec, RuntimeError> {
    // It is compared with every known name, and a refusal repeats it.
    bounded("the name of a model", Some(name), NAME_CHARS)?;
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

/// Returns a client's agent, fitted to this server.
///
/// # Errors
/// Returns an error if the model is not known here, or a member asks for more trust than the server gives.
pub(crate) fn of_server(
    state: &ServerState,
    caller: &Caller,
    config: AgentConfig,
) -> Result<AgentConfig, RuntimeError> {
    let config = known_here(state, caller, config)?;
    if caller.operator {
        Ok(config)
    } else {
        of_member(state, caller, config, None)
    }
}

/// Returns the agent of a caller who is not the operator, within their bounds, with models that the server
/// lists or this one.
fn of_member(
    state: &ServerState,
    caller: &Caller,
    config: AgentConfig,
    model: Option<ModelSpec>,
) -> Result<AgentConfig, RuntimeError> {
    let settings = &*state.settings();
    let mut bounds = bounds(
        state,
        &caller.person,
        true,
        make_directory(settings, &caller.person)?,
    );
    bounds.models.extend(model);
    let admitted = bounds.admit(config);
    admitted.map_err(|what| RuntimeError::Denied(too_wide(&what, false)))
}

/// Returns the bounds of a caller in sessions of `owner`.
fn bounds(state: &ServerState, owner: &OwnerId, owns: bool, workspace: String) -> MemberBounds {
    let (settings, runtime) = (state.settings(), state.runtime_of(owner));
    let tools = runtime.tools().into_iter();
    let known = runtime.models();
    let default = choose(&settings, &known, &settings.model_or_default().value);
    let listed = known.into_iter().map(|known| known.spec);
    MemberBounds {
        rules: settings.rules_for(&runtime.tools()),
        approval: settings.approval,
        limits: settings.limits,
        models: listed.chain(default.ok()).collect(),
        tools: tools.filter(|tool| settings.tools.offers(&tool.name)).collect(),
        guard: runtime.guard(),
        server_rules: runtime.server_rules(),
        workspace,
        limits_money: owns && settings.quotas.cost.is_some(),
        owns,
    }
}

/// Returns the default agent of new sessions, as the caller may see it, with what they set for themselves.
///
/// # Errors
/// Returns an error if the model of the settings is not known.
pub(crate) fn default_agent(state: &ServerState, caller: &Caller) -> Result<AgentConfig, RuntimeError> {
    let (settings, runtime) = (&*state.settings(), state.runtime_of(&caller.person));
    let own = own_values(state, caller);
    let usual = settings.model_or_default().value;
    let model = choose(settings, &runtime.models(), own.model().unwrap_or(&usual))?;
    let mut agent = settings.agent(model, runtime.tools());
    own.apply(&mut agent);
    if caller.operator {
        return Ok(agent);
    }
    // The instructions of the operator's folder, and the paths of their projects, are not for members.
    let mut rules = agent.rules;
    rules.retain(|rule| rule.workspace.is_none());
    let workspace = directory(settings, &caller.person);
    Ok(AgentConfig {
        instructions: settings.environment_context(&workspace).into_iter().collect(),
        workspace: workspace.to_string_lossy().into_owned(),
        guard: None,
        rules,
        ..agent
    })
}

/// Removes from an agent of the server's files, and from agents that it may create, the instructions of the
/// operator's folder.
fn without_instructions(config: AgentConfig) -> AgentConfig {
    AgentConfig {
        instructions: Vec::new(),
        agents: config.agents.into_iter().map(without_instructions).collect(),
        routing: config.routing.map(|routing| {
            let route = |route: Route| Route {
                agent: without_instructions(route.agent),
                ..route
            };
            Box::new(Routing {
                routes: routing.routes.into_iter().map(route).collect(),
                default: routing
                    .default
                    .map(|agent| Box::new(without_instructions(*agent))),
                ..*routing
            })
        }),
        ..config
    }
}

/// Returns a client's agent with the models, tools and directories of this server.
fn known_here(
    state: &ServerState,
    caller: &Caller,
    config: AgentConfig,
) -> Result<AgentConfig, RuntimeError> {
    let runtime = state.runtime_of(&caller.person);
    let settings = &*state.settings();
    let model = known_model(settings, &runtime.models(), &config.model)?;
    let fallbacks = known_models(settings, &runtime.models(), &config.fallbacks)?;
    // `at_percent: 0` turns condensing off explicitly.
    let usual = || (config.kind == AgentKind::React).then(|| Box::new(settings.condensing.clone()));
    let condensing = config.condensing.clone().or_else(usual);
    let condensing = condensing_of_server(settings, &runtime.models(), condensing)?;
    let usual_stuck = || (config.kind == AgentKind::React).then_some(settings.stuck);
    let stuck = config.stuck.or_else(usual_stuck);
    // Agents that it may create have the same bounds; `check_size` bounds their nesting.
    let agents = config.agents.into_iter();
    let agents: Vec<AgentConfig> = agents
        .map(|agent| known_here(state, caller, agent))
        .collect::<Result<_, _>>()?;
    let workspace = workspace(state, caller, &config.workspace)?;
    let mut built_in_agents = config.built_in_agents;
    built_in_agents.retain(|_| settings.tools.offers(DELEGATE));
    // A client's own facts are about another machine, or another directory of this one.
    let mut instructions = config.instructions;
    settings.renew_environment_context(&mut instructions, Path::new(&workspace));
    Ok(AgentConfig {
        model,
        fallbacks,
        condensing,
        stuck,
        // Only the settings of the operator name analyzers, or let a judge allow anything.
        security: settings.security.clone().map(Box::new),
        tools: own_tools(settings, &runtime.tools(), &config.tools, &agents),
        instructions,
        workspace,
        agents,
        built_in_agents,
        built_in: None,
        routing: config
            .routing
            .map(|routing| routing_of_server(state, caller, *routing))
            .transpose()?,
        ..config
    })
}

/// Applies the bounds of an agent to the agents that it routes inputs to.
fn routing_of_server(
    state: &ServerState,
    caller: &Caller,
    routing: Routing,
) -> Result<Box<Routing>, RuntimeError> {
    let route = |route: Route| {
        Ok(Route {
            agent: known_here(state, caller, route.agent)?,
            ..route
        })
    };
    let default = routing.default.map(|agent| known_here(state, caller, *agent));
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

/// Returns an agent of the server's files as this server allows it, with the client's overrides.
///
/// # Errors
/// Returns an error if there is no such agent or model, or a member asks for more trust than the server
/// gives.
pub(crate) fn named_of_server(
    state: &ServerState,
    caller: &Caller,
    wanted: NamedAgent,
) -> Result<AgentConfig, RuntimeError> {
    let settings = &*state.settings();
    bounded("the name of an agent", Some(&wanted.agent), NAME_CHARS)?;
    bounded("the name of a model", wanted.model.as_deref(), NAME_CHARS)?;
    let own = wanted.workspace.unwrap_or_default();
    if caller.operator {
        let wanted = NamedAgent {
            workspace: Some(workspace(state, caller, &own)?),
            ..wanted
        };
        return state.runtime().resolve_agent(&wanted);
    }
    let wanted = NamedAgent {
        workspace: Some(make_directory(settings, &caller.person)?),
        limits: within_named(settings, wanted.limits),
        ..wanted
    };
    let is_files = wanted.model.is_none();
    let agent = state.runtime_of(&caller.person).resolve_agent(&wanted)?;
    // The operator's file may name a model that is not listed; a member may not.
    let model = is_files.then(|| agent.model.clone());
    of_member(state, caller, without_instructions(agent), model)
}

/// Returns the server's entry of a model: clients cannot set its prices and addresses.
fn known_model(
    settings: &Settings,
    known: &[ModelInfo],
    wanted: &ModelSpec,
) -> Result<ModelSpec, RuntimeError> {
    let same = |info: &&ModelInfo| info.spec.is_same(wanted);
    match known.iter().find(same) {
        Some(info) => Ok(info.spec.clone()),
        None => choose(settings, known, &wanted.reference()),
    }
}

/// Replaces the model of summaries by the server's entry of it.
fn known_models(
    settings: &Settings,
    known: &[ModelInfo],
    models: &[ModelSpec],
) -> Result<Vec<ModelSpec>, RuntimeError> {
    let models = models.iter();
    models.map(|model| known_model(settings, known, model)).collect()
}

/// Returns the settings of condensing with the server's own model.
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

/// Returns the server's tools with the requested names, and those that agents of the agent need.
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

/// Returns the agent's workspace: for a member, their own directory; for the operator, the requested
/// directory if it exists here, otherwise the server's.
fn workspace(state: &ServerState, caller: &Caller, wanted: &str) -> Result<String, RuntimeError> {
    let settings = &*state.settings();
    if !caller.operator {
        return make_directory(settings, &caller.person);
    }
    let own = || settings.workspace.to_string_lossy().into_owned();
    if !Path::new(wanted).is_absolute() {
        return Ok(own());
    }
    Ok(match std::fs::canonicalize(wanted) {
        Ok(path) if path.is_dir() => path.to_str().map_or_else(own, str::to_owned),
        _ => own(),
    })
}

/// Limits a member's values to the server's.
fn within_named(settings: &Settings, limits: NamedLimits) -> NamedLimits {
    let most = &settings.limits;
    NamedLimits {
        max_iterations: limits
            .max_iterations
            .map(|own| stricter_limit(own, most.max_iterations)),
        max_tokens: limits.max_tokens.map(|own| stricter_limit(own, most.max_tokens)),
        max_cost: limits.max_cost.map(|own| stricter_limit(own, most.max_cost)),
        max_wall_ms: limits
            .max_wall_ms
            .map(|own| stricter_limit(own, most.max_wall_ms)),
    }
}

/// Returns a change of an agent as this server allows it; `before` is the current agent. The change must not
/// allow the agent more than the operator does.
///
/// # Errors
/// Returns an error if it would, or the model is not known here.
pub(crate) fn change_of_server(
    state: &ServerState,
    (caller, access): (&Caller, &SessionAccess),
    before: &AgentConfig,
    change: ConfigChange,
) -> Result<ConfigChange, RuntimeError> {
    let settings = &*state.settings();
    let change = match change {
        ConfigChange::Tools(_) => {
            return Err(RuntimeError::Denied(
                "only the server decides which tools there are".into(),
            ));
        }
        ConfigChange::Instructions(_) if !caller.operator => {
            return Err(RuntimeError::Denied(
                "only the server's files set the instructions".into(),
            ));
        }
        ConfigChange::ServerRules(_) => {
            return Err(RuntimeError::Denied(
                "only the server's settings set its rules".into(),
            ));
        }
        ConfigChange::Model(model) => {
            let model = known_model(settings, &access.runtime.models(), &model)?;
            ConfigChange::Model(Box::new(model))
        }
        ConfigChange::Fallbacks(models) => {
            ConfigChange::Fallbacks(known_models(settings, &access.runtime.models(), &models)?)
        }
        ConfigChange::Condensing(condensing) => {
            let known = access.runtime.models();
            ConfigChange::Condensing(condensing_of_server(settings, &known, condensing)?)
        }
        change => change,
    };
    // In sessions of other owners, no role, not even `own`, may rewind.
    let owns = access.owner == caller.person;
    if caller.operator && owns {
        return Ok(change);
    }
    let bounds = bounds(state, &access.owner, owns, before.workspace.clone());
    bounds.admit_change(before, change).map_err(RuntimeError::Denied)
}
