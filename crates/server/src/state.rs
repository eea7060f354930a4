//! What every connection and request of one server shares.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use agentx_config::Settings;
use agentx_node_runtime::NodeRuntime;
use agentx_runtime::{EventCursor, LogError, Runtime as _, RuntimeError, Session};
use agentx_types::wire::{Problem, WireView};
use agentx_types::{AgentConfig, OwnerId, Seat, SessionId, SessionRole, Timestamp};
use axum::http::HeaderMap;
use tokio_util::sync::CancellationToken;

use crate::auth::Authenticator;
use crate::channel::ConnectionChannel;
use crate::counts::ServerCounters;
use crate::feed::{FeedReader, FeedStart, ReplayShare, Shelf, SubscriptionFilter};
use crate::forwarded::Proxies;
use crate::hosts::HostNames;
use crate::live_settings::LiveSettings;
use crate::members::server_rules;
use crate::options::{ID_BYTES, ServerOptions};
use crate::outbox::RoomListener;
use crate::quotas::MemberUsage;
use crate::rooms::{Membership, Room, Rooms};
use crate::waiting_calls::Deciders;
use crate::work_turns::{ANSWERS, BODIES, CHECKS, WorkTurns, readers_at_once};

/// How many owners' runtimes are kept ready.
const RUNTIMES: usize = 256;
/// Who sends a request or holds a connection, and with which program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Who.
    pub person: OwnerId,
    /// Their name, if the server has one.
    pub name: Option<String>,
    /// Whether they may do what the operator may.
    pub operator: bool,
    /// Whether they decide about calls of members, besides the operator.
    pub approver: bool,
    /// Whether they have not said who they are.
    pub visitor: bool,
    /// Whose turns they wait for: their own, or of a visitor those of their address.
    pub line: OwnerId,
    /// They, at this program.
    pub seat: Seat,
}

/// A session as a caller may use it.
#[derive(Clone)]
pub struct Admission {
    /// Whose session it is.
    pub owner: OwnerId,
    /// What the caller may do in it.
    pub role: SessionRole,
    /// The runtime of its owner.
    pub runtime: Arc<NodeRuntime>,
}

/// Somebody who reads a session. They are there for the others as long as this is.
pub struct Following {
    /// What they read.
    pub reader: FeedReader,
    /// That they are there.
    pub membership: Membership,
    /// What they may do.
    pub role: SessionRole,
}

/// What every connection and request of one server shares.
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
    history: WorkTurns,
    checks: WorkTurns,
    answers: WorkTurns,
    bodies: WorkTurns,
    shelf: Arc<Shelf>,
    pub(crate) kept: MemberUsage,
    deciders: Deciders,
    shutdown: CancellationToken,
}

impl ServerState {
    /// The state of a server.
    pub(crate) fn new(
        runtime: Arc<NodeRuntime>,
        settings: Arc<Settings>,
        (auth, hosts, proxies): (Authenticator, HostNames, Proxies),
        options: ServerOptions,
    ) -> Arc<Self> {
        let counts = Arc::<ServerCounters>::default();
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
            history: WorkTurns::new(readers_at_once()),
            checks: WorkTurns::new(CHECKS),
            answers: WorkTurns::new(ANSWERS),
            bodies: WorkTurns::new(BODIES),
            shelf: Arc::default(),
            kept: MemberUsage::default(),
            deciders: Deciders::default(),
            shutdown: CancellationToken::new(),
        })
    }

    /// What the server was told.
    pub fn options(&self) -> &ServerOptions {
        &self.options
    }

    /// The settings of the program, as they are now.
    pub fn settings(&self) -> Arc<Settings> {
        self.live.now().0
    }

    pub(crate) fn live(&self) -> &LiveSettings {
        &self.live
    }

    /// Challenges and tokens.
    pub fn auth(&self) -> &Authenticator {
        &self.auth
    }

    /// The proxies that say whom they pass on.
    pub(crate) fn proxies(&self) -> &Proxies {
        &self.proxies
    }

    /// The names that it answers to.
    pub(crate) fn hosts(&self) -> &HostNames {
        &self.hosts
    }

    /// The connections of everybody who may decide about calls of members.
    pub(crate) fn deciders(&self) -> &Deciders {
        &self.deciders
    }

    /// All sessions that are open.
    pub fn rooms(&self) -> &Rooms {
        &self.rooms
    }

    /// What is counted.
    pub fn counts(&self) -> &ServerCounters {
        &self.counts
    }

    /// Turns at reading what happened in sessions.
    pub fn history(&self) -> &WorkTurns {
        &self.history
    }

    /// Turns at what takes long for one session: checking it, folding it anew, searching.
    pub fn checks(&self) -> &WorkTurns {
        &self.checks
    }

    /// Turns at putting a whole answer about a session together: a page of its events, how it stands.
    pub fn answers(&self) -> &WorkTurns {
        &self.answers
    }

    /// Turns at reading a large body of a request.
    pub fn bodies(&self) -> &WorkTurns {
        &self.bodies
    }

    /// Large pieces of history that were read a moment ago.
    pub fn shelf(&self) -> &Arc<Shelf> {
        &self.shelf
    }

    /// Cancelled when the server ends; streams end then.
    pub fn shutdown(&self) -> &CancellationToken {
        &self.shutdown
    }

    /// Milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
    }

    /// Microseconds since 1970.
    pub fn now(&self) -> Timestamp {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(now.as_micros()).unwrap_or(i64::MAX))
    }

    /// Who sends a request with these headers on such a connection, which comes from `address`.
    ///
    /// # Errors
    /// See [`Authenticator::caller_of`].
    pub fn caller_of(
        &self,
        headers: &HeaderMap,
        channel: &ConnectionChannel,
        address: &str,
    ) -> Result<Caller, Box<Problem>> {
        self.auth.caller_of(headers, (channel, address, self.now_ms()))
    }

    /// The operator's runtime.
    pub fn runtime(&self) -> Arc<NodeRuntime> {
        self.live.now().1
    }

    /// Whose server it is.
    pub fn operator(&self) -> &OwnerId {
        &self.operator
    }

    /// The runtimes of owners are made anew, as the settings are now.
    pub(crate) fn forget_runtimes(&self) {
        let mut runtimes = self.runtimes.lock().unwrap_or_else(PoisonError::into_inner);
        runtimes.clear();
    }

    /// The runtime of an owner: its sessions, and nobody else's.
    pub fn runtime_of(&self, owner: &OwnerId) -> Arc<NodeRuntime> {
        if *owner == self.operator {
            return self.runtime();
        }
        let mut runtimes = self.runtimes.lock().unwrap_or_else(PoisonError::into_inner);
        // Read while nobody forgets the runtimes, so that none is kept that older settings bind.
        let (settings, own) = self.live.now();
        if let Some(runtime) = runtimes.get(owner) {
            return runtime.clone();
        }
        if runtimes.len() >= RUNTIMES {
            runtimes.clear();
        }
        let rules = server_rules(&settings, &self.operator, owner, &own.tools());
        let runtime = own.for_owner(owner.clone()).bound_by(rules);
        let runtime = match settings.quotas.calls {
            Some(most) => runtime.with_places(self.kept.places_of(owner, most, own.places())),
            None => runtime,
        };
        let runtime = Arc::new(runtime);
        runtimes.insert(owner.clone(), runtime.clone());
        runtime
    }

    /// A session as a caller may use it.
    ///
    /// # Errors
    /// [`LogError::NotFound`] where they may not even know that it exists.
    pub async fn access(&self, caller: &Caller, session: &SessionId) -> Result<Admission, RuntimeError> {
        // None is longer, and a refusal would repeat it.
        if session.as_str().len() > ID_BYTES {
            return Err(LogError::NotFound("with so long an id".to_owned()).into());
        }
        let (owner, shared) = self.runtime().access(session, &caller.person).await?;
        let role = if owner == caller.person {
            Some(SessionRole::Own)
        } else {
            // Somebody has to decide about the calls of members: whoever runs the server, or whom they named for it.
            let decides = caller.operator || (caller.approver && owner != self.operator);
            shared.max(decides.then_some(SessionRole::Approve))
        };
        let most = if caller.visitor {
            SessionRole::Watch
        } else {
            SessionRole::Own
        };
        match role {
            Some(role) => Ok(Admission {
                role: role.min(most),
                runtime: self.runtime_of(&owner),
                owner,
            }),
            None => Err(LogError::NotFound(session.to_string()).into()),
        }
    }

    /// What a caller may do in a session.
    ///
    /// # Errors
    /// [`LogError::NotFound`] where they may not even know that it exists.
    pub async fn role_of(&self, caller: &Caller, session: &SessionId) -> Result<SessionRole, RuntimeError> {
        Ok(self.access(caller, session).await?.role)
    }

    /// The room of a session that a caller has access to.
    ///
    /// # Errors
    /// Returns an error if the session cannot be opened.
    pub async fn enter(&self, access: &Admission, session: &SessionId) -> Result<Arc<Room>, RuntimeError> {
        self.rooms.enter(session, &access.owner, &access.runtime).await
    }

    /// The session, opened to be written: once in this process, whoever asks. It is put away when it is idle.
    ///
    /// Says nothing about who may use it; see [`ServerState::access`].
    ///
    /// # Errors
    /// See [`RuntimeError`].
    pub async fn open(&self, session: &SessionId) -> Result<Arc<dyn Session>, RuntimeError> {
        let (owner, _) = self.runtime().access(session, &self.operator).await?;
        let runtime = self.runtime_of(&owner);
        let room = self.rooms.enter(session, &owner, &runtime).await?;
        self.rooms.write(&room, &runtime).await
    }

    /// Makes a session of `owner`. The configuration is taken as it is.
    ///
    /// # Errors
    /// See [`RuntimeError`].
    pub async fn create(&self, owner: &OwnerId, config: AgentConfig) -> Result<SessionId, RuntimeError> {
        let room = self.rooms.create(config, &self.runtime_of(owner)).await?;
        Ok(room.id().clone())
    }

    /// Makes a session of a caller, who drives it while nobody is asked in it.
    ///
    /// # Errors
    /// See [`RuntimeError`].
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

    /// Reads a session from after a place in it, and is there for the others; `ear` hears who else is. Who may act in it opens it by that,
    /// which continues a run that was cut off; who only reads does not.
    ///
    /// # Errors
    /// Returns an error if the caller may not see it, it cannot be opened, or it has not come as far as
    /// `after`.
    pub async fn follow(
        &self,
        caller: &Caller,
        session: &SessionId,
        (after, view, only): (EventCursor, WireView, Option<SubscriptionFilter>),
        ear: Option<Arc<dyn RoomListener>>,
    ) -> Result<Following, RuntimeError> {
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
        let share = ReplayShare::new(self.history.queue(&caller.line), self.shelf.clone());
        let reader = FeedReader::new(feed, (room.source(), share), start);
        let membership = room.join(&caller.seat, access.role, reader.slot().clone(), ear);
        // Who lost their role in between was not there to be told.
        let role = self.role_of(caller, session).await?;
        Ok(Following {
            reader,
            membership,
            role,
        })
    }
}
