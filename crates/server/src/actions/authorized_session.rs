//! The rights of one caller in one session, by their role. The room's gate is locked while it is decided
//! whether they drive, and the fact is written first.

use std::sync::Arc;

use agentx_runtime::{LogError, Runtime as _, RuntimeError, Session, SharingFact, UserInput};
use agentx_types::wire::{Problem, WheelWish};
use agentx_types::{
    AccessChanged, ApprovalDecision, ConfigChange, InputMode, OwnerId, SessionId, SessionRole, ToolCallId,
    VISITORS, WheelChanged,
};

use crate::actions::call_decisions::CallDecider;
use crate::actions::request_terms::{RequestTerms, with_key};
use crate::auth::caller::Caller;
use crate::limits::size_limits::{KEY_CHARS, check_backlog, check_change, only_makes_stricter};
use crate::members::trust::change_of_server;
use crate::problems::remote;
use crate::quotas::QuotaGuard;
use crate::rooms::Room;
use crate::state::{ServerState, SessionAccess};
use crate::wheel::{WheelVerdict, needs};

/// A session with the rights of one caller.
pub(crate) struct AuthorizedSession {
    pub(crate) state: Arc<ServerState>,
    pub(crate) caller: Caller,
    pub(crate) access: SessionAccess,
    pub(crate) room: Arc<Room>,
    /// The session as the caller uses it: facts that they cause are recorded as theirs.
    pub(crate) session: Arc<dyn Session>,
}

impl AuthorizedSession {
    /// Authorizes a caller for an action that needs the wheel.
    ///
    /// # Errors
    /// Returns an error if the person may not drive the session.
    pub(crate) async fn new(
        state: &Arc<ServerState>,
        caller: &Caller,
        session: &SessionId,
    ) -> Result<Self, RuntimeError> {
        Self::at_least(SessionRole::Drive, state, caller, session).await
    }

    /// Authorizes a caller who has at least this role. The role is checked before the session is opened,
    /// because opening a session continues a run that was cut off.
    ///
    /// # Errors
    /// Returns an error if the person may do less.
    pub(crate) async fn at_least(
        least: SessionRole,
        state: &Arc<ServerState>,
        caller: &Caller,
        session: &SessionId,
    ) -> Result<Self, RuntimeError> {
        let access = state.access(caller, session).await?;
        needs(least, access.role)?;
        let room = state.enter(&access, session).await?;
        let session = state.rooms().write(&room, &access.runtime).await?;
        let is_owner = caller.person == access.owner;
        let session = match session.as_person(&caller.person) {
            Some(theirs) if !is_owner => theirs,
            _ => session,
        };
        Ok(Self {
            state: state.clone(),
            caller: caller.clone(),
            access,
            room,
            session,
        })
    }

    /// Checks whether the owner's quotas allow one more run in this session.
    pub(crate) async fn check_run(&self) -> Result<Option<QuotaGuard>, RuntimeError> {
        if self.access.role < SessionRole::Drive {
            // It is refused for that reason, and the caller learns nothing about the owner's other sessions.
            return Ok(None);
        }
        self.state.check_run(&self.access.owner, self.room.id()).await
    }

    /// Checks whether the owner's quotas allow storing more in this session permanently.
    pub(crate) async fn check_storage(&self) -> Result<(), RuntimeError> {
        if self.access.role < SessionRole::Drive {
            return Ok(());
        }
        self.state.check_storage(&self.access.owner).await
    }

    /// Returns the stored form of a message's key: two people may choose the same one. A client's key cannot
    /// begin like the id of a person, so nobody can forge the key of another person.
    ///
    /// # Errors
    /// Returns an error if it is not a valid key.
    pub(crate) fn key_of(&self, key: &str) -> Result<String, RuntimeError> {
        if !(1..=KEY_CHARS).contains(&key.chars().count()) {
            let what = format!("an idempotency key has 1 to {KEY_CHARS} characters");
            return Err(remote("bad_request", &what));
        }
        if key.starts_with(PERSON) {
            let what = format!("an idempotency key does not begin with `{PERSON}`, as ids of people do");
            return Err(remote("bad_request", &what));
        }
        if self.caller.person == self.access.owner {
            return Ok(key.to_owned());
        }
        Ok(format!("{}/{key}", self.caller.person))
    }

    /// Returns the author to record, if it is not the owner.
    pub(crate) fn author(&self) -> Option<OwnerId> {
        (self.caller.person != self.access.owner).then(|| self.caller.person.clone())
    }

    pub(crate) fn needs(&self, role: SessionRole, what: &str) -> Result<(), RuntimeError> {
        if self.access.role >= role {
            return Ok(());
        }
        Err(RuntimeError::Denied(format!("you may not {what} here")))
    }

    /// Changes the agent, within what this server allows the caller. The configuration that the change is
    /// compared with cannot change during the check.
    pub(crate) async fn change(
        &self,
        change: ConfigChange,
        terms: RequestTerms,
    ) -> Result<u64, RuntimeError> {
        // A refused change does not take the wheel, and stricter changes are limited in number.
        self.allowed(change.clone()).await?;
        self.drive_once(terms, true, |session| async move {
            let change = self.allowed(change).await?;
            let mode = match &change {
                ConfigChange::Approval(mode) => Some(*mode),
                _ => None,
            };
            let seq = session.change(change).await?;
            if let Some(mode) = mode {
                let usual = self.state.settings().approval;
                self.room.mode_is_set(mode, usual, &self.caller.seat);
            }
            Ok(seq)
        })
        .await
    }

    /// Returns a change as it is recorded.
    ///
    /// # Errors
    /// Returns an error if this server or the owner's quotas do not allow the caller to make it.
    async fn allowed(&self, change: ConfigChange) -> Result<ConfigChange, RuntimeError> {
        let before = self.session.state().await?.config;
        let change = change_of_server(&self.state, (&self.caller, &self.access), &before, change)?;
        check_change(&self.state.settings().quotas, &before, &change)?;
        if !only_makes_stricter(&before, &change) {
            self.check_storage().await?;
        }
        Ok(change)
    }

    fn is_operators(&self) -> bool {
        self.access.owner == *self.state.runtime().owner()
    }

    /// Checks that the caller may make this decision about a waiting call. Returns whether the server's
    /// settings limit the decision.
    ///
    /// # Errors
    /// Returns an error that names who may decide.
    pub(crate) async fn may_decide(
        &self,
        call: &ToolCallId,
        decision: ApprovalDecision,
    ) -> Result<bool, RuntimeError> {
        let now = self.session.state().await?;
        let mut waiting = now.pending_approvals.iter().chain(&now.refused_calls);
        let by_server = waiting.any(|asked| asked.tool_call_id == *call && asked.by_server);
        let decider = CallDecider::new(&self.state, &self.caller, &self.access, &now.sharing);
        let checked = decider.check(decision, by_server);
        checked.map_err(|why| RuntimeError::Denied(why.into()))?;
        Ok(decider.is_limited())
    }

    /// Does something that needs the wheel; takes the wheel first if nobody has it and the owner's quotas
    /// allow that.
    pub(crate) async fn drive<T, F>(
        &self,
        believed: Option<u64>,
        act: impl FnOnce(Arc<dyn Session>) -> F,
    ) -> Result<T, RuntimeError>
    where
        F: Future<Output = Result<T, RuntimeError>>,
    {
        self.drive_with(believed, false, act).await
    }

    /// Like [`Self::drive`], for actions that the quotas do not limit, such as stopping a run: the wheel can
    /// then be taken even if all quotas are used up.
    pub(crate) async fn drive_with<T, F>(
        &self,
        believed: Option<u64>,
        is_bounded: bool,
        act: impl FnOnce(Arc<dyn Session>) -> F,
    ) -> Result<T, RuntimeError>
    where
        F: Future<Output = Result<T, RuntimeError>>,
    {
        let _gate = self.room.gate.lock().await;
        let now = self.room.now_ms();
        let changed = self
            .room
            .wheel()
            .drive(&self.caller.seat, self.access.role, believed, now)?;
        if let Some(changed) = changed {
            if !is_bounded {
                self.check_storage().await?;
            }
            self.turn(changed).await?;
        }
        self.note_failure(act(self.session.clone()).await)
    }

    /// Sends a message. A repeated message gets the same answer again.
    pub(crate) async fn say(&self, input: UserInput, believed: Option<u64>) -> Result<u64, RuntimeError> {
        if let Some(seq) = self.earlier_seq(&input).await? {
            return Ok(seq);
        }
        let _counted = self.check_run().await?;
        let settings = self.state.settings();
        self.drive(believed, |session| async move {
            // Two equal messages may have come at once.
            if let Some(seq) = self.earlier_seq(&input).await? {
                return Ok(seq);
            }
            self.check_room(input.mode == InputMode::Interrupt, false).await?;
            self.room.enable_condensing(&settings.condensing).await?;
            session.send(input).await
        })
        .await
    }

    /// Returns the `seq` of a message that is sent again: it was allowed when it was first sent, so the
    /// present driver and queue do not matter.
    ///
    /// # Errors
    /// Returns an error if another message has its key.
    pub(crate) async fn earlier_seq(&self, input: &UserInput) -> Result<Option<u64>, RuntimeError> {
        if self.access.role < SessionRole::Drive {
            return Ok(None);
        }
        self.session.sent_before(input).await
    }

    /// Checks that the queue of this session has room for one more input, which may interrupt the run. The
    /// caller drives.
    ///
    /// # Errors
    /// Returns `queue_full` if the queue is full.
    pub(crate) async fn check_room(&self, interrupts: bool, waits_anyway: bool) -> Result<(), RuntimeError> {
        let waiting = self.session.waiting().await?;
        if waiting.next_waits || waits_anyway {
            check_backlog(&self.state.settings().quotas, waiting.backlog, interrupts)
        } else {
            Ok(())
        }
    }

    /// Records a change of the wheel. The caller holds the gate.
    pub(crate) async fn turn(&self, changed: WheelChanged) -> Result<u64, RuntimeError> {
        let seq = self.note_failure(
            self.session
                .record_sharing(SharingFact::Wheel(changed.clone()))
                .await,
        )?;
        self.room.turned(&changed);
        self.room.restore_mode_after(&changed).await;
        Ok(seq)
    }

    /// Returns an answer unchanged, and notes an error after which the session has to be opened again.
    pub(crate) fn note_failure<T>(&self, answer: Result<T, RuntimeError>) -> Result<T, RuntimeError> {
        answer.inspect_err(|error| self.room.note_failure(error))
    }

    pub(crate) async fn share(
        &self,
        person: OwnerId,
        role: Option<SessionRole>,
        terms: RequestTerms,
    ) -> Result<u64, RuntimeError> {
        self.needs(SessionRole::Own, "say who else may")?;
        if let Some(seq) = self.done_before(&terms).await? {
            return Ok(seq);
        }
        let key = self.stored_key(&terms)?;
        if !is_id_of_person(&person) {
            return Err(RuntimeError::Refused(
                "a person's id is `own_` and at most 64 letters, digits and `_`".into(),
            ));
        }
        let decides = matches!(role, Some(SessionRole::Approve | SessionRole::Own));
        if decides && self.is_operators() && !self.caller.operator {
            return Err(RuntimeError::Denied(
                "only the operator can let others decide about calls in their session".into(),
            ));
        }
        if person == self.access.owner {
            return Err(RuntimeError::Refused(
                "the owner of a session already has every right in it".into(),
            ));
        }
        if person.as_str() == VISITORS && role.is_some_and(|role| role > SessionRole::Watch) {
            return Err(RuntimeError::Refused("visitors may only watch".into()));
        }
        let _gate = self.room.gate.lock().await;
        // A person whose access was revoked is notified even if quotas are used up.
        let had = self.session.state().await?.sharing.roles.contains_key(&person);
        if role.is_some() || !had {
            self.check_storage().await?;
        }
        let changed = AccessChanged {
            person: person.clone(),
            role,
            by: None,
        };
        let session = with_key(self.session.clone(), key.as_ref());
        let seq = self.note_failure(session.record_sharing(SharingFact::Access(changed)).await)?;
        let gone = LogError::NotFound(self.room.id().to_string()).into();
        self.room.people.change(&person, role, &Problem::from(&gone));
        if person.as_str() == VISITORS && role.is_none() {
            let roles = self.session.state().await?.sharing.roles;
            let has_own = |person: &OwnerId| roles.contains_key(person);
            self.room.people.end_watchers(has_own, &Problem::from(&gone));
        }
        let released = self.room.wheel().lowered(&person, role);
        if let Some(released) = released {
            self.turn(released).await?;
        }
        self.room.announce();
        Ok(seq)
    }

    pub(crate) async fn wish(&self, wish: WheelWish) -> Result<Option<u64>, RuntimeError> {
        let _gate = self.room.gate.lock().await;
        let heir = match &wish {
            WheelWish::Hand(to) => self.room.people.role_of(to),
            _ => None,
        };
        let now = self.room.now_ms();
        let verdict = self
            .room
            .wheel()
            .wish(&self.caller.seat, self.access.role, &wish, heir, now)?;
        match verdict {
            WheelVerdict::Change(changed) => {
                // Its holder can always release it.
                if changed.seat.is_some() {
                    self.check_storage().await?;
                }
                self.turn(changed).await.map(Some)
            }
            WheelVerdict::Asked | WheelVerdict::Nothing => {
                self.room.people.tell(&self.room.wheel_notice());
                Ok(None)
            }
        }
    }
}

/// The prefix of the id of every person.
const PERSON: &str = "own_";

/// Returns whether it has the form of an id: it is shown in terminals, and stays in the log.
fn is_id_of_person(person: &OwnerId) -> bool {
    const LONGEST: usize = 64;
    let rest = person.as_str().strip_prefix(PERSON).unwrap_or_default();
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    !rest.is_empty() && rest.len() <= LONGEST && rest.bytes().all(is_plain)
}
