//! The runtime that acts: it owns the log, the environments and the sessions that this process writes.

use std::path::PathBuf;
use std::sync::Arc;

use agentx_bus::{Bus, KeyPattern, Serve};
use agentx_runtime::{
    ActionDispatcher, AgentEventBus, Agents, BusModels, CallSlots, Condenser, ContextView, DriverParts,
    LogError, ModelInfo, NoAgents, OpenRequest, RedactingLog, Redactor, RuntimeError, Session, SessionIds,
    SessionInfo, SessionLog, SessionQuery, StandingRules, SystemBus, names_session, open_session,
    redact_request,
};
use agentx_tools::Toolbox;
use agentx_types::{
    ActionKind, ApprovalMode, ConfigChange, Guard, ModelSpec, OwnerId, ServerRules, SessionId, SessionRole,
    ToolCallId, topic,
};

use crate::analyzers::serve_analyzers;
use crate::attached_reactors::AttachedReactors;
use crate::blobs::load_blobs;
use crate::ids;
use crate::known_waits::KnownWaits;
use crate::node_parts::{KeptBytes, NodeParts, WireOptionsOf};
use crate::replay;
use crate::tool_effector::ToolEffector;

/// Maximum number of sessions without an event that a list may have to skip.
const UNBORN: usize = 16;

/// The runtime that acts.
///
/// It keeps no sessions in memory: a session lives as long as its handles and then releases its lease. The
/// runtimes of [`for_owner`](Self::for_owner) and [`as_server`](Self::as_server) share the log, the bus, the
/// reactors and the slots for calls with it; they differ in the owner whose sessions they show and in the
/// marks of these.
///
/// The settings of the builders below apply to sessions that are opened afterwards. Open sessions keep the
/// settings with which they were opened.
pub struct NodeRuntime {
    /// The parts of which every open session gets a clone: the log, the bus, the effectors, the clock.
    pub(crate) driver: DriverParts,
    pub(crate) owner: OwnerId,
    pub(crate) models: Vec<ModelInfo>,
    wire_options: WireOptionsOf,
    /// The toolbox itself, for commands that are left running.
    pub(crate) tools: Toolbox,
    pub(crate) agents: Arc<dyn Agents>,
    data_dir: PathBuf,
    /// Tells the bytes that tools keep for an owner outside of the log.
    pub(crate) kept_bytes: KeptBytes,
    /// The reactors that come and go while sessions run.
    pub(crate) reactors: AttachedReactors,
    /// The waits of sessions at the last check.
    pub(crate) known_waits: Arc<KnownWaits>,
}

impl NodeRuntime {
    /// A runtime of these parts. Must be called inside a tokio runtime before the first session is opened.
    pub fn new(parts: NodeParts) -> Self {
        let models = parts.model_effector();
        let log = match &parts.redactor {
            Some(redactor) => Arc::new(RedactingLog::new(parts.log, redactor.clone())),
            None => parts.log,
        };
        let bus = Bus::new();
        let tools = ToolEffector::new(parts.tools.clone(), log.clone()).hearing(bus.read_only());
        let over_bus = BusModels::default();
        let condenser = Condenser::new(Arc::new(over_bus.clone()));
        let actions = ActionDispatcher::new()
            .with(ActionKind::CallModel, models)
            .with(ActionKind::Condense, Arc::new(condenser))
            .with(ActionKind::CallTool, Arc::new(tools));
        over_bus.connect(&actions);
        for (source, service) in parts.context {
            let topic = topic::of_action(ActionKind::BuildContext);
            let serve = Serve::new(&source).on(topic, KeyPattern::exact(&source));
            actions.serve_as(serve, service);
        }
        if let Some(learner) = parts.learner {
            let service = learner(Arc::new(over_bus.clone()), parts.redactor.clone());
            actions.serve(ActionKind::ProposeMemories, service);
        }
        serve_analyzers(&actions, Arc::new(over_bus.clone()), parts.analyzers);
        let driver = DriverParts {
            bus,
            tools: parts.tools.specs().into(),
            guard: parts.guard,
            program: parts.program,
            redactor: parts.redactor,
            ..DriverParts::new(log, actions, parts.clock)
        };
        Self {
            reactors: AttachedReactors::on(SystemBus::of(&driver)),
            driver,
            owner: parts.owner,
            models: parts.models,
            wire_options: parts.wire_options,
            tools: parts.tools,
            agents: Arc::new(NoAgents),
            data_dir: parts.data_dir,
            kept_bytes: Arc::new(|_| Ok(0)),
            known_waits: Arc::default(),
        }
    }

    /// Returns the redactor that keeps secrets out of sessions, if there is one.
    pub fn redactor(&self) -> Option<&Redactor> {
        self.driver.redactor.as_ref()
    }

    /// Returns this runtime for another owner: it shows only the sessions of that owner.
    pub fn for_owner(&self, owner: OwnerId) -> Self {
        Self {
            driver: self.driver.clone(),
            owner,
            models: self.models.clone(),
            wire_options: self.wire_options.clone(),
            tools: self.tools.clone(),
            agents: self.agents.clone(),
            data_dir: self.data_dir.clone(),
            kept_bytes: self.kept_bytes.clone(),
            reactors: self.reactors.clone(),
            known_waits: Arc::default(),
        }
    }

    /// Returns this runtime with a function that tells what tools keep for an owner outside of the log; it
    /// counts for what the owner stores.
    #[must_use]
    pub fn with_kept_bytes(self, kept_bytes: KeptBytes) -> Self {
        Self { kept_bytes, ..self }
    }

    /// Returns this runtime as a server: it marks its sessions, and after a kill the next server continues
    /// them.
    pub fn as_server(&self) -> Self {
        let mut server = self.for_owner(self.owner.clone());
        server.driver.serves = true;
        server
    }

    /// Applies a server's settings to every session that is opened from now on, over its configuration.
    #[must_use]
    pub fn bound_by(mut self, rules: ServerRules) -> Self {
        self.driver.server_rules = Some(Arc::new(rules));
        self
    }

    /// Returns the slots that bound concurrent tool calls.
    pub fn slots(&self) -> &CallSlots {
        &self.driver.slots
    }

    /// Sets the slots that sessions take for their tool calls.
    #[must_use]
    pub fn with_slots(mut self, slots: CallSlots) -> Self {
        self.driver.slots = slots;
        self
    }

    /// Returns the rules that apply to every session that it opens, if it is a server's.
    pub fn server_rules(&self) -> Option<Arc<ServerRules>> {
        self.driver.server_rules.clone()
    }

    /// The files that calls are kept from in every session that it opens.
    pub fn guard(&self) -> Option<Arc<Guard>> {
        self.driver.guard.clone()
    }

    /// Sets the approval mode of opened sessions that ask nobody, unless the changes at opening set one.
    #[must_use]
    pub fn asking_again(mut self, mode: ApprovalMode) -> Self {
        self.driver.approval = Some(mode);
        self
    }

    /// Holds existing sessions to the rules of the program's settings when they are opened.
    #[must_use]
    pub fn held_to(mut self, rules: StandingRules) -> Self {
        self.driver.standing = Some(Arc::new(rules));
        self
    }

    /// Returns the owner of a session and the role of `person`, if they are not the owner. It covers sessions
    /// of every owner, so that a server can determine a caller's rights.
    ///
    /// # Errors
    /// Returns an error if the session does not exist.
    pub async fn access(
        &self,
        session: &SessionId,
        person: &OwnerId,
    ) -> Result<(OwnerId, Option<SessionRole>), RuntimeError> {
        Ok(self.log().access(session, person).await?)
    }

    /// Sessions of others in which the query's owner has a role, those with the latest event first.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn shared(&self, query: SessionQuery) -> Result<Vec<SessionInfo>, RuntimeError> {
        Ok(self.log().shared(query).await?)
    }

    /// The bus of its reactors: it publishes committed events and carries the requests of sessions.
    pub fn bus(&self) -> SystemBus {
        SystemBus::of(&self.driver)
    }

    /// Returns the bus of agent events.
    pub fn agent_bus(&self) -> AgentEventBus {
        self.driver.agents.read_only()
    }

    /// Returns the data directory.
    pub fn data_dir(&self) -> &std::path::Path {
        &self.data_dir
    }

    /// Checks that its log is still the file that was opened.
    ///
    /// # Errors
    /// Returns an error for the same reasons as [`SessionLog::check_place`].
    pub fn check_log(&self) -> Result<(), LogError> {
        self.driver.log.check_place()
    }

    pub(crate) fn shared_log(&self) -> Arc<dyn SessionLog> {
        self.driver.log.clone()
    }

    pub(crate) fn toolbox(&self) -> &Toolbox {
        &self.tools
    }

    pub(crate) fn log(&self) -> &dyn SessionLog {
        self.driver.log.as_ref()
    }

    /// The ids of a session that may be made. They are drawn even if an existing one is opened.
    pub(crate) fn ids(&self) -> Result<SessionIds, RuntimeError> {
        let ids = ids::session().and_then(|session_id| Ok((session_id, ids::agent()?)));
        let (session_id, agent_state_id) = ids.map_err(RuntimeError::Refused)?;
        Ok(SessionIds {
            session_id,
            agent_state_id,
            owner: self.owner.clone(),
        })
    }

    /// Refuses a model that cannot be called because something is missing, before a session with it exists.
    fn check_model(&self, model: &ModelSpec) -> Result<(), RuntimeError> {
        let known = self
            .models
            .iter()
            .find(|info| info.spec.provider == model.provider && info.missing.is_some());
        match known.and_then(|info| info.missing.clone()) {
            Some(what) if !self.attached_providers().contains(&model.provider) => {
                Err(RuntimeError::Unavailable {
                    model: model.id.clone(),
                    what,
                })
            }
            _ => Ok(()),
        }
    }

    pub(crate) async fn open_any(&self, request: OpenRequest) -> Result<Arc<dyn Session>, RuntimeError> {
        let ids = self.ids()?;
        let request = match request {
            OpenRequest::New(config) => {
                self.check_model(&config.model)?;
                OpenRequest::New(Box::new(self.complete_agents(*config)))
            }
            OpenRequest::Resume(session, changes) => {
                self.owned(&session).await?;
                for change in &changes {
                    if let ConfigChange::Model(model) = change {
                        self.check_model(model)?;
                    }
                }
                OpenRequest::Resume(session, changes)
            }
        };
        let session = open_session(self.driver.clone(), ids, request).await?;
        Ok(session)
    }

    /// Returns the list entry of one of the owner's sessions; another owner's session counts as missing.
    pub(crate) async fn owned(&self, session: &SessionId) -> Result<SessionInfo, RuntimeError> {
        let info = self.log().info(session).await?;
        if info.owner != self.owner {
            return Err(LogError::NotFound(session.to_string()).into());
        }
        Ok(info)
    }

    /// A session whose process died before its first event is not a session.
    pub(crate) async fn list(&self, query: SessionQuery) -> Result<Vec<SessionInfo>, RuntimeError> {
        let limit = query.limit;
        let all = SessionQuery {
            owner: self.owner.clone(),
            limit: limit.saturating_add(UNBORN),
            ..query
        };
        let mut found = self.log().list(all).await?;
        found.retain(|info| info.last_seq > 0);
        found.truncate(limit);
        Ok(found)
    }

    /// The session whose id begins like this, among those of `list`.
    pub(crate) async fn resolve_prefix(&self, prefix: &str) -> Result<SessionId, RuntimeError> {
        let rest = prefix.strip_prefix(SessionId::PREFIX).unwrap_or(prefix);
        let with_kind = format!("{}{rest}", SessionId::PREFIX);
        let mut ids = Vec::new();
        for id in self.log().resolve(&self.owner, &with_kind).await? {
            if self.log().info(&id).await?.last_seq > 0 {
                ids.push(id);
            }
        }
        match ids.len() {
            0 => Err(LogError::NotFound(prefix.to_owned()).into()),
            1 if names_session(prefix, &ids[0]) => Ok(ids.remove(0)),
            _ => Err(RuntimeError::Ambiguous {
                prefix: prefix.to_owned(),
                ids: ids.iter().map(SessionId::to_string).collect(),
            }),
        }
    }

    /// Returns whether only a newer version may continue with a session: this one reads it.
    ///
    /// # Errors
    /// Returns an error if the log cannot be read.
    pub async fn needs_newer(&self, session: &SessionId) -> Result<bool, RuntimeError> {
        let fold = agentx_runtime::fold_until(self.log(), session, u64::MAX).await?;
        Ok(fold.newer().is_some())
    }

    /// Unfinished calls of a session: they have begun and have no result.
    pub(crate) async fn calls_under_way(&self, session: &SessionId) -> Result<Vec<ToolCallId>, RuntimeError> {
        let fold = agentx_runtime::fold_until(self.log(), session, u64::MAX).await?;
        Ok(fold.calls_under_way())
    }

    /// Unfinished calls of a session that will be deleted; none if the session cannot be read.
    pub(crate) async fn calls_to_end(&self, session: &SessionId) -> Vec<ToolCallId> {
        let calls = self.calls_under_way(session).await;
        calls.unwrap_or_else(|error| {
            tracing::warn!(%session, %error, "the unfinished calls are unknown");
            Vec::new()
        })
    }

    /// Returns the last request of a session at or before `at_seq`, as the model gets it: its secrets are
    /// replaced, those in the shown summaries, too.
    pub(crate) async fn context_at(
        &self,
        session: &SessionId,
        at_seq: Option<u64>,
    ) -> Result<ContextView, RuntimeError> {
        self.owned(session).await?;
        let mut asked = replay::request_at(self.log(), session, at_seq).await?;
        let mut request = asked.request;
        if let Some(redactor) = self.redactor() {
            request = redact_request(redactor, request);
            for condensed in &mut asked.condensed {
                condensed.summary = redactor.redact(&condensed.summary).into_owned();
            }
        }
        let blobs = load_blobs(self.log(), &request).await;
        let body = agentx_llm::build(&request, &(self.wire_options)(&request.model), &blobs);
        let body = String::from_utf8_lossy(&body).into_owned();
        Ok(ContextView {
            seq: asked.seq,
            api: request.model.api,
            body,
            condensed: asked.condensed,
            fill: asked.fill,
        })
    }
}
