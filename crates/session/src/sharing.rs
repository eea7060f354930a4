//! The driver and the roles of a session: a fold of facts like everything else, so that it survives a restart
//! of the server.

use std::collections::{BTreeMap, BTreeSet};

use agentx_types::{
    AccessChanged, CommandRan, ConfigChange, EnvironmentEvent, FilesRestored, FilesRestoring, OwnerId, Seat,
    SessionRole, WheelChanged,
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
    /// People other than the owner whose text the model may have read: a message, a command that they ran, a
    /// note or an answer, instructions for a summary, the reason of a stop, a rule. They may have caused its
    /// calls.
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
            _ => self.spoke.extend(speaker(event).cloned()),
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

/// Returns the person other than the owner whose words the event brings before a model.
///
/// Each event with words of a person is here. Those without words are left out: a decision alone, a stop
/// without a reason, a mode, a queued input that gets another place. A title is for people.
fn speaker(event: &EnvironmentEvent) -> Option<&OwnerId> {
    match event {
        EnvironmentEvent::UserMessage(message) => message.by.as_ref(),
        EnvironmentEvent::CommandRan(command) => command.by.as_ref(),
        // The note of a refusal, and the answer to a question of the model or of a tool.
        EnvironmentEvent::Approval(answer) => answer.note.as_ref().and(answer.by.as_ref()),
        EnvironmentEvent::CondenseRequested(wish) => wish.instructions.as_ref().and(wish.by.as_ref()),
        // The reason of a stop comes back in results of calls, and rules in the reasons of refusals.
        EnvironmentEvent::InterruptRequested(stop) => stop.reason.as_ref().and(stop.by.as_ref()),
        EnvironmentEvent::ConfigChanged(changed) if has_words(&changed.change) => changed.by.as_ref(),
        _ => None,
    }
}

/// Returns whether a change of the configuration brings text that a model may read.
fn has_words(change: &ConfigChange) -> bool {
    match change {
        ConfigChange::Instructions(_)
        | ConfigChange::Tools(_)
        | ConfigChange::RuleAdded(_)
        | ConfigChange::Rules(_)
        | ConfigChange::Params(_) => true,
        ConfigChange::Model(_)
        | ConfigChange::Fallbacks(_)
        | ConfigChange::Limits(_)
        | ConfigChange::Approval(_)
        | ConfigChange::Condensing(_)
        | ConfigChange::RulesVersion(_)
        | ConfigChange::Guard(_)
        | ConfigChange::ServerRules(_)
        | ConfigChange::PlanMode(_) => false,
    }
}
