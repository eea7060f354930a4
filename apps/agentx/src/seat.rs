//! Taking a seat at a session: which one is meant, and opening it.

use std::sync::Arc;

use agentx::config::{ModelOffer, Origin, Settings};
use agentx::runtime::{ModelInfo, OpenRequest, Runtime, RuntimeError, Session, SessionQuery};
use agentx::types::{Api, ConfigChange, ModelSpec, SessionId};

use crate::args::{AgentArgs, SessionArgs};
use crate::error::CliError;

/// Which session is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A new one.
    New,
    /// The one whose id begins so.
    Id(String),
    /// The latest of this directory.
    Last,
}

impl Target {
    /// What the flags mean.
    pub(crate) fn of(args: &SessionArgs) -> Result<Self, CliError> {
        let named = args.session.as_ref().or(args.resume.as_ref());
        match named {
            Some(id) if !id.is_empty() => Ok(Self::Id(id.clone())),
            Some(_) => Ok(Self::Last),
            None if args.last => Ok(Self::Last),
            None if args.fork => Err(CliError::usage(
                "--fork needs a session",
                "add --session ID, --resume ID or --last",
            )),
            None => Ok(Self::New),
        }
    }
}

/// The id of the session that is meant; `None` for a new one.
pub(crate) async fn find(
    runtime: &dyn Runtime,
    settings: &Settings,
    target: &Target,
) -> Result<Option<SessionId>, CliError> {
    match target {
        Target::New => Ok(None),
        Target::Id(prefix) => Ok(Some(runtime.resolve(prefix).await?)),
        Target::Last => {
            let workspace = settings.workspace.to_string_lossy().into_owned();
            let owner = runtime.owner().clone();
            let query = SessionQuery {
                owner,
                workspace: Some(workspace.clone()),
                limit: 1,
                before: None,
            };
            let latest = runtime.sessions(query).await?.into_iter().next();
            latest
                .map(|info| Some(info.session_id))
                .ok_or(CliError::NoSession { workspace })
        }
    }
}

/// Opens a session that exists, or a copy of it, with what the command line changes.
pub(crate) async fn resume(
    runtime: &dyn Runtime,
    settings: &Settings,
    agent: &AgentArgs,
    id: SessionId,
    fork: bool,
) -> Result<Arc<dyn Session>, CliError> {
    let id = if fork { runtime.fork(&id, None).await? } else { id };
    let changes = changes(runtime, settings, agent)?;
    Ok(runtime.open(OpenRequest::Resume(id, changes)).await?)
}

/// The request for a new session with this agent.
pub(crate) fn new_request(runtime: &dyn Runtime, settings: &Settings) -> Result<OpenRequest, CliError> {
    let model = model(runtime, settings, None)?;
    Ok(OpenRequest::New(Box::new(settings.agent(model, runtime.tools()))))
}

/// The model to ask: the one that is named here, else that of the settings.
pub(crate) fn model(
    runtime: &dyn Runtime,
    settings: &Settings,
    name: Option<&str>,
) -> Result<ModelSpec, CliError> {
    let wanted = settings.model_or_default();
    let (name, origin) = match name {
        Some(name) => (name.to_owned(), Origin::Default),
        None => (wanted.value, wanted.origin),
    };
    let known = runtime.models();
    let offers: Vec<ModelOffer<'_>> = known.iter().map(offer).collect();
    let spec = settings
        .choose_model(&name, &offers)
        .map_err(|unknown| CliError::UnknownModel {
            name: unknown.name,
            nearest: unknown.nearest,
            origin,
        })?;
    check_available(settings, &known, &spec)?;
    Ok(spec)
}

fn offer(info: &ModelInfo) -> ModelOffer<'_> {
    ModelOffer {
        spec: &info.spec,
        aliases: &info.aliases,
    }
}

fn check_available(settings: &Settings, known: &[ModelInfo], spec: &ModelSpec) -> Result<(), CliError> {
    if spec.api == Api::Scripted {
        return Ok(());
    }
    let variable = settings
        .provider(&spec.provider)
        .and_then(|provider| provider.missing_variable());
    if let Some(variable) = variable {
        return Err(CliError::MissingKey {
            model: spec.id.clone(),
            variable: variable.to_owned(),
            user_file: settings.user_file.clone(),
        });
    }
    let missing = known
        .iter()
        .find(|info| info.spec == *spec)
        .and_then(|info| info.missing.clone());
    match missing {
        Some(what) => Err(RuntimeError::Unavailable {
            model: spec.id.clone(),
            what,
        }
        .into()),
        None => Ok(()),
    }
}

/// What flags change about a session that exists; what they do not name stays as it was.
fn changes(
    runtime: &dyn Runtime,
    settings: &Settings,
    agent: &AgentArgs,
) -> Result<Vec<ConfigChange>, CliError> {
    let mut changes = Vec::new();
    if agent.model.is_some() {
        changes.push(ConfigChange::Model(Box::new(model(runtime, settings, None)?)));
    }
    if agent.max_iterations.is_some() || agent.max_cost.is_some() || agent.timeout.is_some() {
        changes.push(ConfigChange::Limits(settings.limits));
    }
    if agent.approve.is_some() || agent.yes {
        changes.push(ConfigChange::Approval(settings.approval));
    }
    if agent.system.is_some() {
        return Err(CliError::usage(
            "--system cannot change a session that exists",
            "its standing instructions are part of its log; begin a new one for others",
        ));
    }
    Ok(changes)
}
