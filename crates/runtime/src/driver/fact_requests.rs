//! Turns requests of front ends into facts. A request has the data that a person knows; the rest (the id of a
//! message, the agent that waits for a decision, the latest summary) follows from the state of the session
//! when the request's turn comes.

use agentx_types::{
    AgentStateId, Approval, ContextRestored, EnvironmentEvent, EventDraft, MessageId, OwnerId,
    RequestRecorded, RunStatus, Source, SystemCommand, UserMessage,
};

use super::SessionDriver;
use super::pending_fact::PendingFact;
use crate::api::{RequestKey, RuntimeError, UserInput};
use crate::commands::{FactRequest, MOST_WAITING, RETRY, ReplySender};
use crate::log_error::LogError;
use agentx_session::SessionFold;

/// The result of resolving a request.
pub(super) enum ResolvedRequest {
    /// A fact to record.
    Fact(Box<EventDraft<EnvironmentEvent>>),
    /// The request needs no fact, or this event recorded it already.
    AlreadyRecorded(u64),
}

impl SessionDriver {
    /// Records the fact of a request, and with it that the request with this key was carried out, even if
    /// there was nothing to do: sent again, it must not stop what has begun since.
    ///
    /// # Errors
    /// Returns an error if the commit failed.
    pub(super) async fn carry_out(
        &mut self,
        resolved: Result<ResolvedRequest, RuntimeError>,
        key: Option<RequestKey>,
        reply: ReplySender<u64>,
    ) -> Result<(), LogError> {
        let record = |seq, key: RequestKey| {
            let done = RequestRecorded {
                idempotency_key: key.key,
                seq,
                request: key.request,
            };
            PendingFact::fact(EventDraft::new(Source::System, None, done))
        };
        match resolved {
            Ok(ResolvedRequest::Fact(draft)) => {
                let record = key.map(|key| record(self.fold.next_seq(), key));
                let mut facts = vec![PendingFact::from_request(*draft, reply)];
                facts.extend(record);
                self.process_batch(facts).await?;
            }
            Ok(ResolvedRequest::AlreadyRecorded(seq)) => {
                if let Some(key) = key {
                    self.process_batch(vec![record(seq, key)]).await?;
                }
                let _ = reply.send(Ok(seq));
            }
            Err(error) => {
                let _ = reply.send(Err(error));
            }
        }
        Ok(())
    }
}

/// Returns the event of the request with this key, if it was carried out.
///
/// # Errors
/// Returns the error `key_reused` if the key belongs to another request: its sender must not believe that
/// this one was carried out.
pub(super) fn done_before(fold: &SessionFold, key: &RequestKey) -> Result<Option<u64>, RuntimeError> {
    let Some(done) = fold.request_with_key(&key.key) else {
        return Ok(None);
    };
    match (&done.request, &key.request) {
        (Some(before), Some(now)) if before != now => Err(RuntimeError::key_reused(&format!(
            "another request, which became event {}, has the same idempotency key",
            done.seq
        ))),
        _ => Ok(Some(done.seq)),
    }
}

/// Resolves a request against the state of the session, as its next fact.
///
/// Called by the driver when the turn of the request has come, so that nothing changes between the answer and
/// the fact. The draft is complete.
///
/// # Errors
/// Returns an error, as text for the person, if the request makes no sense in this session.
pub(super) fn resolve(request: FactRequest, fold: &SessionFold) -> Result<ResolvedRequest, RuntimeError> {
    let to_root = |event: EnvironmentEvent| Ok(fact(fold.root().cloned(), event));
    match request {
        FactRequest::UserInput(input) => match input
            .idempotency_key
            .as_deref()
            .and_then(|key| fold.input_with_key(key))
        {
            Some(seq) => Ok(ResolvedRequest::AlreadyRecorded(seq)),
            None => to_root(message(fold, input).into()),
        },
        FactRequest::EnvironmentInput(_) if fold.waiting().backlog.messages >= MOST_WAITING => refused(
            format!("the session already has {MOST_WAITING} waiting inputs; try again later"),
        ),
        FactRequest::EnvironmentInput(input) => {
            let event = EnvironmentEvent::from(message(fold, input));
            let draft = EventDraft::new(Source::Environment, fold.root().cloned(), event);
            Ok(ResolvedRequest::Fact(Box::new(draft)))
        }
        FactRequest::Interrupt(_) if !fold.is_busy() => Ok(ResolvedRequest::AlreadyRecorded(fold.last_seq())),
        FactRequest::Interrupt(interrupt) => to_root(interrupt.into()),
        FactRequest::Retry { by } => match retry(fold, by) {
            Some(event) => to_root(event),
            None => Ok(ResolvedRequest::AlreadyRecorded(fold.last_seq())),
        },
        FactRequest::Approve(approval) if lacks_words(fold, &approval) => refused(NEEDS_WORDS.to_owned()),
        FactRequest::Approve(approval) => match fold.awaits_approval(&approval.tool_call_id) {
            Some(agent) => Ok(fact(Some(agent.clone()), approval.into())),
            None => recorded_or(fold.same_decision(&approval), || {
                format!("the call {} is not waiting for a decision", approval.tool_call_id)
            }),
        },
        FactRequest::Revise(revised) if fold.awaits(&revised.message_id) => to_root(revised.into()),
        FactRequest::Revise(revised) => recorded_or(fold.same_revision(&revised), || {
            format!("the input {} is no longer queued", revised.message_id)
        }),
        FactRequest::Condense(_) | FactRequest::Pin(_) if !converses(fold) => {
            refused("this agent forwards inputs: it has no conversation to condense".into())
        }
        FactRequest::Condense(condense) => to_root(condense.into()),
        FactRequest::Pin(pinned) if !knows(fold, &pinned.message_id) => refused(format!(
            "there is no message {} in this conversation",
            pinned.message_id
        )),
        FactRequest::Pin(pinned) => to_root(pinned.into()),
        FactRequest::Restore { by } => match fold.root_agent().and_then(|agent| agent.condensed().pop()) {
            Some(latest) => to_root(
                ContextRestored {
                    from_seq: latest.range.from_seq,
                    to_seq: latest.range.to_seq,
                    by,
                }
                .into(),
            ),
            None => refused("there is no condensed part in this session".into()),
        },
        FactRequest::Record(event) => to_root(event),
    }
}

/// The reason to refuse a decision without words about a question of the model.
const NEEDS_WORDS: &str = "the model's question needs an answer: words, or the number of a choice, as the note of the \
                           decision; `deny` gives no answer";

/// Returns whether the decision is about a question of the model and does not settle it.
fn lacks_words(fold: &SessionFold, approval: &Approval) -> bool {
    let asked = fold.asked_question(&approval.tool_call_id);
    asked.is_some_and(|asked| !asked.is_settled_by(approval.decision, approval.note.as_deref()))
}

/// The fact that starts another attempt; `None` if nothing failed.
///
/// There are two such facts: a command lets a run that pauses between two attempts continue; after a run that
/// has ended, an empty input begins another one, in which the model is called again with the same
/// conversation.
fn retry(fold: &SessionFold, by: Option<OwnerId>) -> Option<EnvironmentEvent> {
    if fold.is_busy() {
        let command = SystemCommand {
            command: RETRY.to_owned(),
            args: serde_json::Value::Null,
            by,
        };
        return Some(command.into());
    }
    let status = fold.root_agent()?.run()?.status;
    let failed = status.is_final() && status != RunStatus::Completed;
    failed.then(|| message(fold, UserInput::new(Vec::new()).by(by)).into())
}

/// The input as a message; its id follows from the `seq` that it is about to get.
fn message(fold: &SessionFold, input: UserInput) -> UserMessage {
    UserMessage {
        message_id: MessageId::with_suffix(fold.next_seq()),
        content: input.content,
        mode: input.mode,
        idempotency_key: input.idempotency_key,
        by: input.by,
        answer_schema: input.answer_schema,
    }
}

/// Makes the fact of a person's input or action, addressed to this agent.
fn fact(agent: Option<AgentStateId>, event: EnvironmentEvent) -> ResolvedRequest {
    ResolvedRequest::Fact(Box::new(EventDraft::new(Source::User, agent, event)))
}

/// The answer to a request that makes no sense any more: done, if it is the one that was recorded and comes
/// again because its answer was lost.
fn recorded_or(recorded: Option<u64>, why: impl FnOnce() -> String) -> Result<ResolvedRequest, RuntimeError> {
    match recorded {
        Some(seq) => Ok(ResolvedRequest::AlreadyRecorded(seq)),
        None => refused(why()),
    }
}

/// A refusal in words for the person.
fn refused<T>(why: String) -> Result<T, RuntimeError> {
    Err(RuntimeError::Refused(why))
}

/// Returns whether the root agent has a conversation.
fn converses(fold: &SessionFold) -> bool {
    fold.root_agent().is_some_and(|agent| agent.react().is_some())
}

/// Returns whether a message is in the conversation of the root agent.
fn knows(fold: &SessionFold, message: &MessageId) -> bool {
    let agent = fold.root_agent().and_then(|agent| agent.react());
    agent.is_some_and(|agent| agent.knows(message))
}
