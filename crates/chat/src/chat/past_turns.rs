//! The last turns of a session that is opened again, rendered in the same way as live ones.

use std::sync::Arc;

use agentx::runtime::Delivery;
use agentx::types::{Envelope, RuntimeEvent};

use super::{Chat, ConversationSite, LOOK_BACK};
use crate::error::ChatError;
use crate::place::follow::AnyFollower;
use crate::render::conversation::{self, SpokenWords};

/// The number of last turns that are shown.
const SHOWN_TURNS: usize = 3;
/// The number of events that are read at first: that is enough for short turns of a single agent.
const FIRST_LOOK: u64 = 512;

/// The events that were there before the chat.
pub struct PastTurns {
    last_seq: u64,
    events: Vec<Arc<Envelope<RuntimeEvent>>>,
}

impl PastTurns {
    /// Returns the turns up to this `seq`, with no event yet.
    pub(crate) fn new(last_seq: u64) -> Self {
        Self {
            last_seq,
            events: Vec::new(),
        }
    }

    /// Reads the last turns of a session that stands at `last_seq`. `follow` reads the session after an
    /// event. Returns the turns, the follower of the later events, and a delivery that came meanwhile.
    pub async fn read(
        follow: impl AsyncFn(u64) -> Result<AnyFollower, ChatError>,
        last_seq: u64,
    ) -> Result<(Self, AnyFollower, Option<Delivery>), ChatError> {
        let mut look_back = FIRST_LOOK;
        loop {
            let after = last_seq.saturating_sub(look_back);
            let mut events = follow(after).await?;
            let mut past = Self::new(last_seq);
            let mut came = None;
            while let Some(delivery) = events.next().await? {
                match &delivery {
                    Delivery::Runtime(envelope) if past.take(envelope) => {}
                    Delivery::Environment(_) | Delivery::CutOff(_) => {}
                    Delivery::CaughtUp(_) => break,
                    Delivery::Runtime(_) => {
                        came = Some(delivery);
                        break;
                    }
                }
            }
            if after == 0 || look_back == LOOK_BACK || past.is_enough() {
                return Ok((past, events, came));
            }
            look_back = LOOK_BACK;
        }
    }

    /// The notice about commands that the previous process left running.
    pub(crate) fn ended_on_opening(&self) -> Option<String> {
        let resumed = self
            .events
            .iter()
            .rev()
            .find_map(|envelope| match &envelope.event {
                RuntimeEvent::SessionResumed(resumed) => Some(resumed),
                _ => None,
            });
        conversation::ended_commands_notice(&resumed?.ended)
    }

    /// Returns whether there are enough events: the last turns, and the creation of all agents in them.
    fn is_enough(&self) -> bool {
        let mut agents = self
            .events
            .iter()
            .filter_map(|envelope| envelope.agent_state_id.as_ref());
        let first = agents.next();
        let said = self.events.iter().filter(|envelope| is_input(envelope));
        agents.all(|agent| Some(agent) == first) && said.count() >= SHOWN_TURNS
    }

    /// Handles an event; returns whether it belongs to the past.
    pub(crate) fn take(&mut self, envelope: &Arc<Envelope<RuntimeEvent>>) -> bool {
        let is_past = envelope.seq <= self.last_seq;
        if is_past {
            self.events.push(envelope.clone());
        }
        is_past
    }

    /// Returns all events, in order.
    pub fn all(&self) -> &[Arc<Envelope<RuntimeEvent>>] {
        &self.events
    }

    /// Returns whether these turns begin with the session: no earlier one is left out.
    pub fn is_whole(&self) -> bool {
        self.events.first().is_none_or(|envelope| envelope.seq <= 1)
    }

    /// Describes the turns before `shown`, the end of all events; `None` if no person said anything in them.
    /// Their prompts are counted, if the whole session was read.
    pub(crate) fn left_out(
        &self,
        shown: &[Arc<Envelope<RuntimeEvent>>],
        is_of_another: impl Fn(&Envelope<RuntimeEvent>) -> bool,
    ) -> Option<String> {
        let hidden = &self.events[..self.events.len() - shown.len()];
        let inputs = hidden
            .iter()
            .filter(|envelope| is_input(envelope) && !is_of_another(envelope));
        match (self.is_whole(), inputs.count()) {
            (true, 0) => None,
            (true, 1) => Some("1 earlier prompt is not shown".into()),
            (true, count) => Some(format!("{count} earlier prompts are not shown")),
            (false, _) => Some("earlier prompts are not shown".into()),
        }
    }

    /// Returns the events of the last turns; `is_of_another` tells the events of other agents than the one
    /// that people talk to. They begin with words of a person; if none were found that far back, they begin
    /// with an answer, so that no answer is shown by half.
    pub fn last_turns(
        &self,
        is_of_another: impl Fn(&Envelope<RuntimeEvent>) -> bool,
    ) -> &[Arc<Envelope<RuntimeEvent>>] {
        let said = |envelope: &Envelope<RuntimeEvent>| is_input(envelope) && !is_of_another(envelope);
        let answers = |event: &RuntimeEvent| {
            matches!(
                event,
                RuntimeEvent::MessageStart(_) | RuntimeEvent::CommandFinished(_)
            )
        };
        let inputs = self.events.iter().enumerate().rev();
        let start = inputs
            .filter(|(_, envelope)| said(envelope))
            .take(SHOWN_TURNS)
            .last()
            .map(|(at, _)| at)
            .or_else(|| self.events.iter().position(|envelope| answers(&envelope.event)));
        start.map_or(&[], |start| &self.events[start..])
    }
}

/// Returns whether a person said it, or an agent on behalf of one: notes about commands that have ended are
/// no inputs.
fn is_input(envelope: &Envelope<RuntimeEvent>) -> bool {
    matches!(&envelope.event, RuntimeEvent::UserMessageAdded(added) if !conversation::is_note(&added.message))
}

impl Chat<'_> {
    /// Shows the last turns of the earlier conversation.
    pub(super) async fn show_past(&mut self, past: &PastTurns) {
        (
            self.display.transcript.has_no_price,
            self.display.transcript.max_cost,
        ) = self.status.activity.money();
        for envelope in past.all() {
            self.display.cast.meet(envelope);
        }
        // Jobs of this machine ended with the program that began them.
        if self.place.remote().is_some() {
            for envelope in past.all() {
                let _ = self.programs.jobs.event(&envelope.event, envelope.at);
            }
        }
        let turns = past.last_turns(|envelope| self.display.cast.is_of_another(envelope));
        let left_out = past.left_out(turns, |envelope| self.display.cast.is_of_another(envelope));
        if let (Some(left_out), ConversationSite::Open { session, .. }) = (left_out, &self.connection.site) {
            let all = self.place.command(&format!("sessions show {}", session.id()));
            let note = format!("… {left_out}; {all}");
            self.display.transcript.aside(&self.display.style().dim(&note));
        }
        for envelope in turns {
            match &envelope.event {
                RuntimeEvent::UserMessageAdded(added)
                    if is_input(envelope) && !self.display.cast.is_of_another(envelope) =>
                {
                    let said = SpokenWords::of(&added.message);
                    self.connection.company.meet(&said.by);
                    self.display.print_input(&said, self.connection.company.names());
                }
                _ => self.tell_of_command(envelope),
            }
            self.display.cast.event(&mut self.display.transcript, envelope);
        }
        for envelope in past.all() {
            if !self.display.cast.is_of_another(envelope) {
                self.status.count_unanswered(&envelope.event);
                self.display.remember_answer(&envelope.event);
            }
        }
        self.ask_if_new(None).await;
    }
}

#[cfg(test)]
mod tests {
    use agentx::types::{
        ConversationThinking, EnvironmentEvent, EventDraft, Message, MessageId, Role, SessionTitled, Source,
        Timestamp, UserMessageAdded,
    };

    use super::*;

    fn event(agent: &str, seq: u64, event: impl Into<RuntimeEvent>) -> Arc<Envelope<RuntimeEvent>> {
        let title = SessionTitled {
            title: String::new(),
            by: None,
        };
        let fact = EventDraft::<EnvironmentEvent>::new(Source::System, Some(agent.into()), title);
        Arc::new(
            fact.into_envelope("ses_1".into(), seq, Timestamp(0))
                .derive(0, event.into()),
        )
    }

    fn said() -> UserMessageAdded {
        let message = Message {
            message_id: MessageId::new("msg_1"),
            role: Role::User,
            content: Vec::new(),
            by: None,
        };
        UserMessageAdded { message }
    }

    #[test]
    fn what_is_left_out_is_counted_where_all_is_known() {
        let mine = |_: &Envelope<RuntimeEvent>| false;
        for (inputs, expected) in [
            (3, None),
            (4, Some("1 earlier prompt is not shown")),
            (6, Some("3 earlier prompts are not shown")),
        ] {
            let mut past = PastTurns::new(9);
            for seq in 1..=inputs {
                past.take(&event("agt_1", seq, said()));
            }
            let shown = past.last_turns(mine);
            assert_eq!(shown.len(), 3);
            assert_eq!(past.left_out(shown, mine).as_deref(), expected);
        }
        let mut past = PastTurns::new(900);
        past.take(&event("agt_1", 700, said()));
        let shown = past.last_turns(mine);
        let left_out = past.left_out(shown, mine);
        assert_eq!(left_out.as_deref(), Some("earlier prompts are not shown"));
    }

    #[test]
    fn the_last_turns_of_one_agent_are_enough() {
        let mut past = PastTurns::new(9);
        for seq in 1..=3 {
            assert!(!past.is_enough());
            assert!(past.take(&event("agt_1", seq, said())));
        }
        assert!(past.is_enough());
        assert!(
            !past.take(&event("agt_2", 10, ConversationThinking {})),
            "that came later"
        );
        assert!(past.is_enough());
        past.take(&event("agt_2", 4, ConversationThinking {}));
        assert!(!past.is_enough(), "who that is was said before");
    }
}
