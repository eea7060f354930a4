//! The events of responders that a session does not take in. Without these refusals, a responder could add to
//! an action that is settled, and so give a call a second result, or direct an agent that is not its own.
//!
//! [`EventSink`](crate::EventSink) has already refused what the kind of the action excludes. The rest depends
//! on the state of the session, so it is decided here, in the order in which events are recorded.

use agentx_types::{EnvironmentEvent, EventDraft, Source, Vocabulary as _};

use super::SessionDriver;
use super::pending_fact::{CommitWaiter, PendingFact};

impl SessionDriver {
    /// Refuses an event of a responder that the session does not take in, and tells the responder the reason.
    /// Returns `false` if the event is accepted: then it counts as recorded.
    pub(super) fn refuse(&mut self, item: &mut PendingFact) -> bool {
        if !item.of_responder {
            return false;
        }
        let Err(why) = self.check_responder(&item.draft) else {
            self.effects.note(&item.draft);
            return false;
        };
        let (session, event) = (&self.writer.session_id, item.draft.event.tag());
        tracing::warn!(%session, action = ?item.draft.cause, event, why, "refused an event of a responder");
        if let Some(CommitWaiter::Effector(taken)) = item.waits.take() {
            // Ignore the error: the receiver is gone.
            let _ = taken.send(Err(why));
        }
        true
    }

    /// Checks an event of a responder against the state of the session.
    ///
    /// # Errors
    /// Returns the reason, for people and scripts, if the session does not take it in.
    fn check_responder(&self, draft: &EventDraft<EnvironmentEvent>) -> Result<(), String> {
        let Some(cause) = &draft.cause else {
            return Err("it names no action that it answers".to_owned());
        };
        if self.effects.is_lost(cause) {
            return Err("the action is over".to_owned());
        }
        let Some(action) = self.effects.open(cause) else {
            // A command in the background ends long after the call that started it.
            return match draft.event {
                EnvironmentEvent::JobEnded(_) => Ok(()),
                _ => Err("the action is settled, so nothing of it is recorded any more".to_owned()),
            };
        };
        if draft.source == Source::Agent {
            let known = draft.agent_state_id.as_ref();
            let known = known.filter(|agent| self.fold.agent(agent).is_some());
            if let Some(agent) = known.filter(|agent| !self.fold.is_below(agent, &action.agent_state_id)) {
                return Err(format!(
                    "the agent {agent} is not below {}",
                    action.agent_state_id
                ));
            }
        }
        let EnvironmentEvent::AgentSpawned(spawned) = &draft.event else {
            return Ok(());
        };
        let is_new = self.fold.agent(&spawned.agent_state_id).is_none();
        match self.fold.no_room_for_an_agent().filter(|_| is_new) {
            Some(why) => Err(why),
            None => Ok(()),
        }
    }
}
