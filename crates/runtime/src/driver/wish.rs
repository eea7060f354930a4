//! What front ends want on record, and the facts that become of it. A wish says what a person knows; the rest (the id of a message, the agent
//! that waits for a decision, the latest summary) follows from how the session stands when its turn comes.

use agentx_types::{
    AgentStateId, Approval, CondenseRequested, ContextRestored, Draft, EnvironmentEvent, InputPinned,
    InputRevised, InterruptRequested, MessageId, Source, SystemCommand, UserMessage,
};

use crate::{RuntimeError, SessionFold, UserInput};

/// What a front end wants on record.
#[derive(Debug)]
pub(crate) enum Wish {
    /// Somebody says something. An input with the same key that came before is the answer.
    Say(UserInput),
    /// What is under way is to stop, or to be tried again at once; where nothing is, nothing is put on record.
    Interrupt(InterruptRequested),
    Retry(SystemCommand),
    /// A decision about a call that waits for one.
    Approve(Approval),
    /// Another mode for an input that waits, or none.
    Revise(InputRevised),
    /// Changes of a conversation.
    Condense(CondenseRequested),
    Pin(InputPinned),
    /// The latest summary is taken out again.
    Restore,
    /// This, as it is.
    Record(EnvironmentEvent),
}

/// What becomes of a wish.
pub(super) enum Resolved {
    /// This is put on record.
    Fact(Box<Draft<EnvironmentEvent>>),
    /// It is on record already, or there is nothing to do; this is the event.
    There(u64),
}

impl Wish {
    /// What becomes of it in a session that stands like this, as its next fact.
    pub(super) fn resolve(self, fold: &SessionFold) -> Result<Resolved, RuntimeError> {
        let to_root = |event: EnvironmentEvent| Ok(fact(fold.root().cloned(), event));
        match self {
            Self::Say(input) => match input
                .idempotency_key
                .as_deref()
                .and_then(|key| fold.input_with_key(key))
            {
                Some(seq) => Ok(Resolved::There(seq)),
                None => to_root(message(fold, input).into()),
            },
            Self::Interrupt(_) | Self::Retry(_) if !fold.is_busy() => Ok(Resolved::There(fold.last_seq())),
            Self::Interrupt(interrupt) => to_root(interrupt.into()),
            Self::Retry(command) => to_root(command.into()),
            Self::Approve(approval) => match fold.awaits_approval(&approval.tool_call_id) {
                Some(agent) => Ok(fact(Some(agent.clone()), approval.into())),
                None => refused(format!(
                    "no decision about the call {} is awaited",
                    approval.tool_call_id
                )),
            },
            Self::Revise(revised) if fold.awaits(&revised.message_id) => to_root(revised.into()),
            Self::Revise(revised) => refused(format!("the input {} waits no more", revised.message_id)),
            Self::Condense(_) | Self::Pin(_) if !converses(fold) => {
                refused("this agent hands inputs on: it has no conversation that could be condensed".into())
            }
            Self::Condense(condense) => to_root(condense.into()),
            Self::Pin(pinned) => to_root(pinned.into()),
            Self::Restore => match fold.root_agent().and_then(|agent| agent.condensed().pop()) {
                Some(latest) => to_root(
                    ContextRestored {
                        from_seq: latest.range.from_seq,
                        to_seq: latest.range.to_seq,
                    }
                    .into(),
                ),
                None => refused("nothing is condensed in this session".into()),
            },
            Self::Record(event) => to_root(event),
        }
    }
}

fn message(fold: &SessionFold, input: UserInput) -> UserMessage {
    UserMessage {
        message_id: MessageId::with_suffix(fold.last_seq() + 1),
        content: input.content,
        mode: input.mode,
        idempotency_key: input.idempotency_key,
        by: input.by,
    }
}

fn fact(agent: Option<AgentStateId>, event: EnvironmentEvent) -> Resolved {
    Resolved::Fact(Box::new(Draft::new(Source::User, agent, event)))
}

fn refused<T>(why: String) -> Result<T, RuntimeError> {
    Err(RuntimeError::Refused(why))
}

/// Whether the agent that people talk to has a conversation.
fn converses(fold: &SessionFold) -> bool {
    fold.root_agent().is_some_and(|agent| agent.react().is_some())
}
