//! Somebody's hand on a session: who they are there, and what that lets them do. Who drives is decided under the room's gate,
//! fact first.

use std::sync::Arc;

use agentx_runtime::{LogError, Note, RuntimeError, Session};
use agentx_types::wire::{Problem, WheelWish};
use agentx_types::{AccessChanged, ConfigChange, OwnerId, SessionId, SessionRole, VISITORS, WheelChanged};

use crate::rooms::Room;
use crate::state::{Access, Caller, ServerState};
use crate::trust::change_of_server;
use crate::wheel::Verdict;

/// Somebody in a session that they are about to do something to.
pub(crate) struct Hand {
    pub(crate) state: Arc<ServerState>,
    pub(crate) caller: Caller,
    pub(crate) access: Access,
    pub(crate) room: Arc<Room>,
    pub(crate) session: Arc<dyn Session>,
}

impl Hand {
    pub(crate) async fn new(
        state: &Arc<ServerState>,
        caller: &Caller,
        session: &SessionId,
    ) -> Result<Self, RuntimeError> {
        let access = state.access(caller, session).await?;
        let room = state.enter(&access, session).await?;
        let session = state.rooms().write(&room, &access.runtime).await?;
        Ok(Self {
            state: state.clone(),
            caller: caller.clone(),
            access,
            room,
            session,
        })
    }

    pub(crate) fn needs(&self, role: SessionRole, what: &str) -> Result<(), RuntimeError> {
        if self.access.role >= role {
            return Ok(());
        }
        Err(RuntimeError::Denied(format!("you may not {what} here")))
    }

    /// A change of the agent as this server lets it be.
    pub(crate) fn allowed(&self, change: ConfigChange) -> Result<ConfigChange, RuntimeError> {
        change_of_server(&self.state, (&self.caller, &self.access), change)
    }

    /// Does something that only who drives does; takes the wheel for that where nobody has it.
    pub(crate) async fn drive<T, F>(
        &self,
        believed: Option<u64>,
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
            self.turn(changed).await?;
        }
        self.told(act(self.session.clone()).await)
    }

    /// The `seq` of a message that is sent again: it was said when it was theirs to say, whoever drives by now.
    pub(crate) async fn said_before(&self, key: &str) -> Option<u64> {
        if self.access.role < SessionRole::Drive {
            return None;
        }
        self.session.input_with_key(key).await.ok().flatten()
    }

    /// Puts a change of the wheel on record. Whoever calls this has the gate.
    pub(crate) async fn turn(&self, changed: WheelChanged) -> Result<u64, RuntimeError> {
        let seq = self.told(self.session.note(Note::Wheel(changed.clone())).await)?;
        self.room.turned(&changed);
        Ok(seq)
    }

    /// A session that cannot go on is opened anew for the next one.
    pub(crate) fn told<T>(&self, answer: Result<T, RuntimeError>) -> Result<T, RuntimeError> {
        answer.inspect_err(|error| self.room.note_failure(error))
    }

    pub(crate) async fn share(
        &self,
        person: OwnerId,
        role: Option<SessionRole>,
    ) -> Result<u64, RuntimeError> {
        self.needs(SessionRole::Own, "say who else may")?;
        if person == self.access.owner {
            return Err(RuntimeError::Refused(
                "whose session it is may do everything in it".into(),
            ));
        }
        if person.as_str() == VISITORS && role.is_some_and(|role| role > SessionRole::Watch) {
            return Err(RuntimeError::Refused("visitors may only look".into()));
        }
        let _gate = self.room.gate.lock().await;
        let changed = AccessChanged {
            person: person.clone(),
            role,
        };
        let seq = self.told(self.session.note(Note::Access(changed)).await)?;
        let gone = LogError::NotFound(self.room.id().to_string()).into();
        self.room.people.change(&person, role, &Problem::from(&gone));
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
            Verdict::Change(changed) => self.turn(changed).await.map(Some),
            Verdict::Asked | Verdict::Nothing => {
                self.room.people.tell(&self.room.wheel_notice());
                Ok(None)
            }
        }
    }
}
