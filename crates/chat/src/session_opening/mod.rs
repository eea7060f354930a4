//! Selects and opens a session.

mod available;
mod continuing;
mod empty;
mod leaving;
mod limits;
pub mod new_agent;
mod notes;
mod opening_changes;

use std::path::Path;
use std::sync::Arc;

use agentx::config::{ModelOffer, SettingOrigin, Settings, environment_has_moved, nearest};
use agentx::runtime::{ModelInfo, NamedAgent, OpenRequest, Session, SessionQuery};
use agentx::types::{AgentConfig, AgentKind, Api, ApprovalMode, ConfigChange, ModelSpec, Prices, SessionId};

use crate::error::ChatError;
pub use crate::place::Place;
use crate::session_opening::new_agent::NewAgent;
use crate::sessions::sessions_here::SessionsHere;
use available::{check_available, check_usable, offer};
pub(crate) use continuing::note_of_passed_over;
pub use continuing::{ContinuedSession, continue_session, find_exactly, find_existing, leave_if_failed};
pub use empty::{is_empty, remove_empty};
pub use leaving::leave;
pub(crate) use leaving::{keeps_a_question, keeps_question};
pub use limits::limits_again;
use limits::{limit, limits};
pub use notes::{note_of_cost, note_of_decisions, note_of_mode, note_of_tools};
pub use opening_changes::{OpeningChanges, changed_by_opening};

/// The notice that calls need no approval.
pub const ASKS_NOBODY: &str = "calls run without asking";

/// Records which settings were given on the command line. `Settings` already has the values of those that are
/// `bool` here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandLineOverrides {
    /// The name of an agent from a file; `None` for the default agent.
    pub agent: Option<String>,
    /// The standing instructions, `None` if none were given.
    pub system: Option<String>,
    /// Whether a model was named.
    pub model: bool,
    /// Whether fallbacks were named.
    pub fallbacks: bool,
    /// Whether the command line names who decides about calls that no rule covers.
    pub approval: bool,
    /// Whether plan mode was named.
    pub plan: bool,
    /// Whether a limit of iterations was named.
    pub max_iterations: bool,
    /// Whether a limit of money was named.
    pub max_cost: bool,
    /// Whether a limit of time was named.
    pub timeout: bool,
}

impl CommandLineOverrides {
    /// Returns the limits alone: they apply to every session of the program.
    pub(crate) fn only_limits(&self) -> Self {
        Self {
            max_iterations: self.max_iterations,
            max_cost: self.max_cost,
            timeout: self.timeout,
            ..Self::default()
        }
    }
}

/// The session that a command line names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A new one.
    New,
    /// The session whose id begins with this text.
    Id(String),
    /// The latest of this directory.
    Last,
    /// The session that the person chooses; without a person, the latest of this directory.
    Chosen,
}

/// Returns the id of the requested session; `None` for a new one.
pub async fn find(
    place: &Place,
    settings: &Settings,
    target: &Target,
) -> Result<Option<SessionId>, ChatError> {
    match target {
        Target::New => Ok(None),
        Target::Id(prefix) => Ok(Some(place.runtime().resolve(prefix).await?)),
        Target::Last | Target::Chosen => latest(place, settings).await.map(Some),
    }
}

/// Returns the latest session of this folder. On a server, this is the latest session of the directory in
/// which its agents work; if there is none, the latest of all.
async fn latest(place: &Place, settings: &Settings) -> Result<SessionId, ChatError> {
    if place.remote().is_none() {
        let helps = |id: &SessionId| {
            format!(
                "--session {id} (or `agentx resume {id}`) continues it in the folder that is here now; omit --last to start a new session"
            )
        };
        return SessionsHere::of(settings).latest(place.runtime(), helps).await;
    }
    let workspace = workspace(place, settings).await?;
    for workspace in [Some(workspace.clone()), None] {
        let query = SessionQuery {
            owner: place.runtime().owner().clone(),
            workspace,
            limit: 1,
            before: None,
        };
        if let Some(latest) = place.runtime().sessions(query).await?.into_iter().next() {
            return Ok(latest.session_id);
        }
    }
    Err(ChatError::NoSession { workspace })
}

/// Returns the default directory.
pub async fn workspace(place: &Place, settings: &Settings) -> Result<String, ChatError> {
    Ok(match place.default_agent().await? {
        Some(agent) => agent.workspace,
        None => settings.workspace.to_string_lossy().into_owned(),
    })
}

/// Opens a session that exists, or a copy of it, with what the command line changes.
pub async fn resume(
    place: &Place,
    settings: &Settings,
    agent: &CommandLineOverrides,
    id: SessionId,
    fork: bool,
) -> Result<Arc<dyn Session>, ChatError> {
    let runtime = place.runtime();
    let id = if fork { runtime.fork(&id, None).await? } else { id };
    let changes = changes(place, settings, agent)?;
    let session = runtime.open(OpenRequest::Resume(id, changes)).await?;
    let settled = settle_settings(place, settings, agent, session.as_ref()).await;
    leave_if_failed(place, session.as_ref(), settled).await?;
    Ok(session)
}

/// Records the changes by the current settings in an opened session.
async fn settle_settings(
    place: &Place,
    settings: &Settings,
    agent: &CommandLineOverrides,
    session: &dyn Session,
) -> Result<(), ChatError> {
    limit(place, settings, agent, session).await?;
    if agent.plan {
        session.change(ConfigChange::PlanMode(true)).await?;
    }
    if place.remote().is_none() {
        enable_condensing(session, settings).await?;
        renew_environment_context(session, settings).await?;
    }
    Ok(())
}

/// Records the place and time at which the session continues, if the model knows others.
async fn renew_environment_context(session: &dyn Session, settings: &Settings) -> Result<(), ChatError> {
    let config = session.state().await?.config;
    let told = config.instructions.iter();
    let Some(told) = told.clone().find(|told| told.is_environment_context()) else {
        return Ok(());
    };
    let now = settings.environment_context(Path::new(&config.workspace));
    if now.is_none_or(|now| environment_has_moved(told, &now)) {
        let mut instructions = config.instructions.clone();
        settings.renew_environment_context(&mut instructions, Path::new(&config.workspace));
        session.change(ConfigChange::Instructions(instructions)).await?;
    }
    Ok(())
}

/// Lets a session that is older than condensing be condensed from now on.
async fn enable_condensing(session: &dyn Session, settings: &Settings) -> Result<(), ChatError> {
    let config = session.state().await?.config;
    if config.kind == AgentKind::React && config.condensing.is_none() {
        let condensing = Some(Box::new(settings.condensing.clone()));
        session.change(ConfigChange::Condensing(condensing)).await?;
    }
    Ok(())
}

/// The agent of a new session: that of a file, that of the settings, or that of the server with what the
/// command line changes.
pub async fn new_agent(
    place: &Place,
    settings: &Settings,
    agent: &CommandLineOverrides,
) -> Result<NewAgent, ChatError> {
    let mut new = without_plan_mode(place, settings, agent).await?;
    if agent.plan {
        new.change(ConfigChange::PlanMode(true));
    }
    Ok(new)
}

async fn without_plan_mode(
    place: &Place,
    settings: &Settings,
    agent: &CommandLineOverrides,
) -> Result<NewAgent, ChatError> {
    if let Some(name) = &agent.agent {
        return of_file(place, settings, agent, name).await;
    }
    let Some(mut config) = place.default_agent().await? else {
        let model = model(place, settings, None)?;
        return Ok(NewAgent::whole(settings.agent(model, place.runtime().tools())));
    };
    if agent.model {
        config.model = model(place, settings, None)?;
    }
    if agent.fallbacks {
        config.fallbacks.clone_from(&settings.fallbacks);
    }
    if let Some(system) = &agent.system {
        config.system_prompt = Arc::from(system.as_str());
    }
    config.limits = limits(settings, agent).merged_into(config.limits);
    if let Some(mode) = mode_named(place, settings, agent) {
        config.approval = mode;
    }
    Ok(NewAgent::whole(config))
}

/// The agent that a file of the place describes; what the command line says about it counts more.
async fn of_file(
    place: &Place,
    settings: &Settings,
    agent: &CommandLineOverrides,
    name: &str,
) -> Result<NewAgent, ChatError> {
    let is_here = place.remote().is_none();
    let mut named = NamedAgent::new(name);
    if is_here || agent.model {
        let model = model(place, settings, None)?;
        let is_named = agent.model;
        named.model = is_named.then(|| model.reference());
    }
    named.system_prompt.clone_from(&agent.system);
    named.limits = limits(settings, agent);
    named.approval = if is_here {
        Some(settings.approval)
    } else {
        mode_named(place, settings, agent)
    };
    named.workspace = place.workspace().map(str::to_owned);
    let config = place.runtime().agent(&named).await?;
    Ok(NewAgent::of_file(config, named))
}

/// Returns the approval mode that the command line names. Members of a server cannot choose a mode in which
/// nobody is asked.
fn mode_named(place: &Place, settings: &Settings, agent: &CommandLineOverrides) -> Option<ApprovalMode> {
    let asks_less = matches!(settings.approval, ApprovalMode::Auto | ApprovalMode::AcceptEdits);
    let is_theirs = !place.is_of_another() || !asks_less;
    (agent.approval && is_theirs).then_some(settings.approval)
}

/// Returns who decides about calls that no rule covers. In a member's session on a server, the operator
/// always decides.
pub fn who_decides(config: &AgentConfig) -> ApprovalMode {
    let server = config.server_rules.as_ref();
    let of_member = server.is_some_and(|server| server.member_directory.is_some());
    match config.approval {
        ApprovalMode::Auto | ApprovalMode::AcceptEdits if of_member => ApprovalMode::Ask,
        mode => mode,
    }
}

/// Returns whether the prices of this agent's model are unknown.
pub fn has_no_price(agent: &AgentConfig) -> bool {
    let model = &agent.model;
    agent.kind == AgentKind::React && model.prices == Prices::default() && model.api != Api::Scripted
}

/// The model to ask: the one that is named here, otherwise that of the settings.
pub(crate) fn model(place: &Place, settings: &Settings, name: Option<&str>) -> Result<ModelSpec, ChatError> {
    let wanted = settings.model_or_default();
    let (name, origin) = match name {
        Some(name) => (name.to_owned(), SettingOrigin::Default),
        None => (wanted.value, wanted.origin),
    };
    let known = place.runtime().models();
    if place.remote().is_some() {
        return model_of_server(&known, &name, origin);
    }
    let offers: Vec<ModelOffer<'_>> = known.iter().map(offer).collect();
    let spec = settings
        .choose_model(&name, &offers)
        .map_err(|unknown| ChatError::UnknownModel {
            name: unknown.name,
            nearest: unknown.nearest,
            origin,
        })?;
    check_available(settings, &known, &spec)?;
    Ok(spec)
}

/// A server knows only the models that it lists; the configuration of this machine does not matter to it.
fn model_of_server(known: &[ModelInfo], name: &str, origin: SettingOrigin) -> Result<ModelSpec, ChatError> {
    let is_called =
        |info: &ModelInfo, name: &str| info.spec.id == name || info.aliases.iter().any(|alias| alias == name);
    let of_provider = |info: &ModelInfo| {
        name.split_once('/')
            .is_some_and(|(provider, id)| info.spec.provider == provider && is_called(info, id))
    };
    let found = known
        .iter()
        .find(|info| is_called(info, name))
        .or_else(|| known.iter().find(|info| of_provider(info)));
    let Some(info) = found else {
        let names = known
            .iter()
            .flat_map(|info| std::iter::once(&info.spec.id).chain(&info.aliases))
            .map(String::as_str);
        return Err(ChatError::UnknownModel {
            name: name.to_owned(),
            nearest: nearest(name, names, 3).into_iter().map(str::to_owned).collect(),
            origin,
        });
    };
    check_usable(info)?;
    Ok(info.spec.clone())
}

/// Returns the changes that flags make to an existing session, without its limits; a setting that no flag
/// names stays as it was.
fn changes(
    place: &Place,
    settings: &Settings,
    agent: &CommandLineOverrides,
) -> Result<Vec<ConfigChange>, ChatError> {
    let mut changes = Vec::new();
    if agent.model {
        changes.push(ConfigChange::Model(Box::new(model(place, settings, None)?)));
    }
    if agent.fallbacks {
        changes.push(ConfigChange::Fallbacks(settings.fallbacks.clone()));
    }
    changes.extend(mode_named(place, settings, agent).map(ConfigChange::Approval));
    if agent.system.is_some() {
        return Err(ChatError::usage(
            "--system applies only to new sessions",
            "the system prompt of a session is part of its log; start a new session to use another",
        ));
    }
    Ok(changes)
}
