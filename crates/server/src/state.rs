//! The state that every connection and request of one server shares.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use agentx_config::Settings;
use agentx_mcp::SuspendedCalls;
use agentx_node_runtime::NodeRuntime;
use agentx_runtime::{Clock as _, EventCursor, LogError, Runtime as _, RuntimeError, Session, SystemClock};
use agentx_types::wire::{Problem, WireView};
use agentx_types::{AgentConfig, OwnerId, SessionId, SessionRole, Timestamp, VISITORS};
use axum::http::HeaderMap;
use tokio_util::sync::CancellationToken;

use crate::approver_connections::ApproverConnections;
use crate::auth::Authenticator;
use crate::auth::caller::Caller;
use crate::client_calls::ClientCalls;
use crate::connections::channel::ConnectionChannel;
use crate::connections::forwarded::Proxies;
use crate::connections::hosts::HostNames;
use crate::counts::ServerCounters;
use crate::ended_tasks::EndedTasks;
use crate::feed::{FeedReader, FeedStart, PageCache, ReplayShare, SubscriptionFilter};
use crate::limits::fair_semaphore::{ANSWERS, BodyPermits, CHECKS, FairSemaphore, readers_at_once};
use crate::limits::size_limits::ID_BYTES;
use crate::outbox::RoomListener;
use crate::push::PushService;
use crate::quotas::MemberUsage;
pub use crate::reader_seat::SessionReaderSeat;
use crate::rooms::{Room, Rooms};
use crate::settings::live_settings::LiveSettings;
use crate::settings::options::ServerOptions;

/// The number of owners' runtimes that are kept ready.
const RUNTIMES: usize = 256;

/// A session as a caller may use it.
#[derive(Clone)]
pub struct SessionAccess {
    /// The owner of the session.
    pub owner: OwnerId,
    /// The caller's role in it.
    pub role: SessionRole,
    /// The runtime of its owner.
    pub runtime: Arc<NodeRuntime>,
}

/// The state that every connection and request of one server shares.
pub struct ServerState {
    operator: OwnerId,
    live: LiveSettings,
    runtimes: Mutex<HashMap<OwnerId, Arc<NodeRuntime>>>,
    options: ServerOptions,
    auth: Authenticator,
    hosts: HostNames,
    proxies: Proxies,
    rooms: Rooms,
    counts: Arc<ServerCounters>,
    history: FairSemaphore,
    checks: FairSemaphore,
    answers: FairSemaphore,
    bodies: BodyPermits,
    page_cache: Arc<PageCache>,
    pub(crate) kept: MemberUsage,
    pub(crate) push: Arc<PushService>,
    approver_connections: ApproverConnections,
    pub(crate) client_calls: ClientCalls,
    /// The ends of tasks of MCP clients that were read lately.
    pub(crate) ended_tasks: EndedTasks,
    /// The calls of MCP clients that wait for an answer of their person.
    pub(crate) suspended_calls: Arc<SuspendedCalls>,
    shutdown: CancellationToken,
}

impl ServerState {
    /// Returns the state of a server.
    pub(crate) fn new(
        runtime: Arc<NodeRuntime>,
        settings: Arc<Settings>,
        (auth, hosts, proxies): (Authenticator, HostNames, Proxies),
        options: ServerOptions,
    ) -> Arc<Self> {
        let counts = Arc::<ServerCounters>::default();
        let data_dir = settings.data_dir.clone();
        let push = PushService::new(&data_dir, &settings.push_hosts, auth.origin());
        let push = Arc::new(push);
        let turns = settings.quotas.turns;
        let rooms = Rooms::new(options.limits.waiting(), options.limits.patience, counts.clone());
        Arc::new(Self {
            operator: runtime.owner().clone(),
            live: LiveSettings::new(settings, &runtime),
            runtimes: Mutex::new(HashMap::new()),
            options,
            auth,
            hosts,
            proxies,
            rooms,
            counts,
            history: FairSemaphore::new(readers_at_once()).with_turns(turns),
            checks: FairSemaphore::new(CHECKS).with_turns(turns),
            answers: FairSemaphore::new(ANSWERS).with_turns(turns),
            bodies: BodyPermits::default(),
            page_cache: Arc::default(),
            kept: MemberUsage::new(&data_dir),
            push,
            approver_connections: ApproverConnections::default(),
            client_calls: ClientCalls::default(),
            ended_tasks: EndedTasks::default(),
            suspended_calls: Arc::default(),
            shutdown: CancellationToken::new(),
        })
    }

    /// Returns the options of the server.
    pub fn options(&self) -> &ServerOptions {
        &self.options
    }

    /// Returns the settings of the program, as they are now.
    pub fn settings(&self) -> Arc<Settings> {
        self.live.now().0
    }

    pub(crate) fn live(&self) -> &LiveSettings {
        &self.live
    }

    /// Returns the authenticator, with its challenges and tokens.
    pub fn auth(&self) -> &Authenticator {
        &self.auth
    }

    /// Returns the trusted proxies.
    pub(crate) fn proxies(&self) -> &Proxies {
        &self.proxies
    }

    /// Returns the host names that the server answers to.
    pub(crate) fn hosts(&self) -> &HostNames {
        &self.hosts
    }

    /// Returns the connections of everybody who may decide about calls of members.
    pub(crate) fn approver_connections(&self) -> &ApproverConnections {
        &self.approver_connections
    }

    /// Returns all sessions that are open.
    pub fn rooms(&self) -> &Rooms {
        &self.rooms
    }

    /// Returns the counters.
    pub fn counts(&self) -> &ServerCounters {
        &self.counts
    }

    /// Returns the counters, for what counts longer than it knows the server.
    pub(crate) fn shared_counts(&self) -> &Arc<ServerCounters> {
        &self.counts
    }

    /// Returns the permits for reading the history of sessions.
    pub fn history_turns(&self) -> &FairSemaphore {
        &self.history
    }

    /// Returns the permits for slow work on one session: checking it, folding it again, searching.
    pub fn check_turns(&self) -> &FairSemaphore {
        &self.checks
    }

    /// Returns the permits to build a complete answer about a session: a page of its events, its state.
    pub fn answer_turns(&self) -> &FairSemaphore {
        &self.answers
    }

    /// Returns the permits for reading large bodies of requests.
    pub(crate) fn body_turns(&self) -> &BodyPermits {
        &self.bodies
    }

    /// Returns the cache of large pieces of history.
    pub fn page_cache(&self) -> &Arc<PageCache> {
        &self.page_cache
    }

    /// Returns the token that is cancelled when the server ends.
    pub fn shutdown(&self) -> &CancellationToken {
        &self.shutdown
    }

    /// Returns the time in milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        self.now().unix_millis()
    }

    /// Returns the time in microseconds since 1970.
    pub fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    /// Returns who sends a request with these headers on such a connection from `address`.
    ///
    /// # Errors
    /// Returns an error if [`Authenticator::caller_of`] does.
    pub fn caller_of(
        &self,
        headers: &HeaderMap,
        channel: &ConnectionChannel,
        address: &str,
    ) -> Result<Caller, Box<Problem>> {
        self.auth.caller_of(headers, (channel, address, self.now_ms()))
    }

    /// Returns the operator's runtime.
    pub fn runtime(&self) -> Arc<NodeRuntime> {
        self.live.now().1
    }

    /// Returns the operator's id.
    pub fn operator(&self) -> &OwnerId {
        &self.operator
    }

    /// Forgets the runtimes of owners, so that new ones use the current settings.
    pub(crate) fn forget_runtimes(&self) {
        let mut runtimes = self.runtimes.lock().unwrap_or_else(PoisonError::into_inner);
        runtimes.clear();
    }

    /// Returns the runtime of an owner, which has the sessions of that owner alone.
    pub fn runtime_of(&self, owner: &OwnerId) -> Arc<NodeRuntime> {
        if *owner == self.operator {
            return self.runtime();
        }
        let mut runtimes = self.runtimes.lock().unwrap_or_else(PoisonError::into_inner);
        // Read under the lock of the runtimes, so that none is kept that older settings bind.
        let (settings, own) = self.live.now();
        if let Some(runtime) = runtimes.get(owner) {
            return runtime.clone();
        }
        if runtimes.len() >= RUNTIMES {
            runtimes.clear();
        }
        let runtime = self.live.of_member(&settings, &own, owner);
        // Even without a quota, each member has their own turns at slow work.
        let most = settings.quotas.calls.unwrap_or(u64::MAX);
        let slots = self.kept.slots_of(owner, most, own.slots());
        let runtime = Arc::new(runtime.with_slots(slots));
        runtimes.insert(owner.clone(), runtime.clone());
        runtime
    }

    /// Returns a session as a caller may use it.
    ///
    /// # Errors
    /// Returns [`LogError::NotFound`] if the caller may not even know that it exists.
    pub async fn access(&self, caller: &Caller, session: &SessionId) -> Result<SessionAccess, RuntimeError> {
        // No valid id is longer, and a refusal would repeat it.
        if session.as_str().len() > ID_BYTES {
            return Err(LogError::NotFound("with an id of this length".to_owned()).into());
        }
        let (owner, shared) = self.runtime().access(session, &caller.person).await?;
        let role = if owner == caller.person {
            Some(SessionRole::Own)
        } else {
            // Members' calls need an approver: the operator, or a person whom they named.
            let decides = caller.operator || (caller.approver && owner != self.operator);
            let role = shared.max(decides.then_some(SessionRole::Approve));
            // Everybody may watch the sessions that visitors may watch.
            match role {
                None if self.options().allow_visitors => {
                    self.runtime().access(session, &OwnerId::new(VISITORS)).await?.1
                }
                role => role,
            }
        };
        let most = if caller.visitor {
            SessionRole::Watch
        } else {
            SessionRole::Own
        };
        match role {
            Some(role) => Ok(SessionAccess {
                role: role.min(most),
                runtime: self.runtime_of(&owner),
                owner,
            }),
            None => Err(LogError::NotFound(session.to_string()).into()),
        }
    }

    /// Returns the caller's role in a session.
    ///
    /// # Errors
    /// Returns [`LogError::NotFound`] if the caller may not even know that it exists.
    pub async fn role_of(&self, caller: &Caller, session: &SessionId) -> Result<SessionRole, RuntimeError> {
        Ok(self.access(caller, session).await?.role)
    }

    /// Returns the room of a session that a caller has access to.
    ///
    /// # Errors
    /// Returns an error if the session cannot be opened.
    pub async fn enter(
        &self,
        access: &SessionAccess,
        session: &SessionId,
    ) -> Result<Arc<Room>, RuntimeError> {
        self.rooms.enter(session, &access.owner, &access.runtime).await
    }

    /// Opens a session to write it, once in this process for all callers. It is closed when it is idle.
    /// This does not check access; see [`ServerState::access`].
    ///
    /// # Errors
    /// Returns an error if the runtime cannot open it; see [`RuntimeError`].
    pub async fn open(&self, session: &SessionId) -> Result<Arc<dyn Session>, RuntimeError> {
        let (owner, _) = self.runtime().access(session, &self.operator).await?;
        let runtime = self.runtime_of(&owner);
        let room = self.rooms.enter(session, &owner, &runtime).await?;
        self.rooms.write(&room, &runtime).await
    }

    /// Creates a session of `owner`. The configuration is not checked.
    ///
    /// # Errors
    /// Returns an error if the runtime cannot create it; see [`RuntimeError`].
    pub async fn create(&self, owner: &OwnerId, config: AgentConfig) -> Result<SessionId, RuntimeError> {
        let room = self.rooms.create(config, &self.runtime_of(owner)).await?;
        Ok(room.id().clone())
    }

    /// Creates a session for a caller, who drives it until a person has to decide in it.
    ///
    /// # Errors
    /// Returns an error if the runtime cannot create it; see [`RuntimeError`].
    pub(crate) async fn create_by(
        &self,
        caller: &Caller,
        config: AgentConfig,
    ) -> Result<SessionId, RuntimeError> {
        let mode = config.approval;
        let room = self
            .rooms
            .create(config, &self.runtime_of(&caller.person))
            .await?;
        room.mode_is_set(mode, self.settings().approval, &caller.seat);
        Ok(room.id().clone())
    }

    /// Subscribes a caller to a session after a cursor, and makes them present; `ear` gets its notices.
    /// A caller who may act opens the session, which continues a run that was cut off; a reader does not.
    ///
    /// # Errors
    /// Returns an error if the caller may not see it, it cannot be opened, or it ends before `after`.
    pub async fn follow(
        &self,
        caller: &Caller,
        session: &SessionId,
        (after, view, only): (EventCursor, WireView, Option<SubscriptionFilter>),
        ear: Option<Arc<dyn RoomListener>>,
    ) -> Result<SessionReaderSeat, RuntimeError> {
        let access = self.access(caller, session).await?;
        let room = if access.role < SessionRole::Approve {
            let (owner, runtime) = (&access.owner, &access.runtime);
            self.rooms.look(session, owner, runtime).await?
        } else {
            self.enter(&access, session).await?
        };
        let feed = room.feed(view).await?;
        let head = room.head().await?;
        if after.seq > head {
            return Err(RuntimeError::Refused(format!(
                "{session} has events 1 to {head}; there is no event after {}",
                after.seq
            )));
        }
        let start = FeedStart {
            session: session.clone(),
            view,
            after,
            head,
            only,
        };
        let share = ReplayShare::new(self.history.queue(&caller.line), self.page_cache.clone());
        let reader = FeedReader::new(feed, (room.source(), share), start);
        let membership = room.join(&caller.seat, access.role, reader.slot().clone(), ear);
        // A caller who lost their role in between was not present to be notified.
        let role = self.role_of(caller, session).await?;
        Ok(SessionReaderSeat {
            reader,
            membership,
            role,
        })
    }
}
