//! The driver and the roles of a session: a fold of facts like everything else, so that it survives a restart
//! of the server.

use std::collections::{BTreeMap, BTreeSet};

use agentx_types::{
    AccessChanged, CommandRan, EnvironmentEvent, FilesRestored, FilesRestoring, OwnerId, Seat, SessionRole,
    UserMessage, WheelChanged,
};
use serde::{Deserialize, Serialize};

/// The person who drives a session, and the roles of people other than its owner.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sharing {
    /// The person who drives; `None` if nobody holds the wheel.
    pub seat: Option<Seat>,
    /// Counts the changes of the wheel.
    pub epoch: u64,
    /// The roles of people other than the owner.
    pub roles: BTreeMap<OwnerId, SessionRole>,
    /// People whose text the model has read: a message, a command that they ran, the note of a refusal, a
    /// request for a summary. They may have caused its calls.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub spoke: BTreeSet<OwnerId>,
}

/// A fact about the people of a session, or about their commands outside the conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum SharingFact {
    /// Another one drives.
    Wheel(WheelChanged),
    /// The role of a person changed.
    Access(AccessChanged),
    /// Files are about to be put back.
    Restoring(FilesRestoring),
    /// Files were put back.
    Restored(FilesRestored),
    /// A command that the person ran outside the conversation has ended.
    Ran(CommandRan),
}

impl Sharing {
    /// Applies the next fact: the driver, the roles, and the people who have sent inputs.
    pub(crate) fn apply(&mut self, event: &EnvironmentEvent) {
        match event {
            EnvironmentEvent::WheelChanged(wheel) => {
                self.seat = wheel.seat.clone();
                self.epoch = wheel.epoch;
            }
            EnvironmentEvent::AccessChanged(AccessChanged { person, role, .. }) => {
                match role {
                    Some(role) => self.roles.insert(person.clone(), *role),
                    None => self.roles.remove(person),
                };
            }
            EnvironmentEvent::UserMessage(UserMessage { by, .. })
            | EnvironmentEvent::CommandRan(CommandRan { by, .. }) => self.spoke.extend(by.clone()),
            // The model reads the note of a refusal, and a summary follows the driver's instructions.
            EnvironmentEvent::Approval(answer) if answer.note.is_some() => {
                self.spoke.extend(answer.by.clone());
            }
            EnvironmentEvent::CondenseRequested(wish) if wish.instructions.is_some() => {
                self.spoke
                    .extend(self.seat.as_ref().map(|seat| seat.person.clone()));
            }
            _ => {}
        }
    }

    /// Keeps only the people who sent inputs. Nobody drives a copy, and nobody but the owner has a role in
    /// it.
    pub(crate) fn forked(&mut self) {
        let spoke = std::mem::take(&mut self.spoke);
        *self = Self {
            spoke,
            ..Self::default()
        };
    }

    /// Returns the role of a person who does not own the session.
    pub fn role_of(&self, person: &OwnerId) -> Option<SessionRole> {
        self.roles.get(person).copied()
    }
}
