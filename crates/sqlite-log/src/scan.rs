//! Facts lent one after the other to whoever folds them. Opening a session is this and little else, so a token costs no
//! memory of its own here: the fact before it lends what it has.

use std::ops::ControlFlow;
use std::sync::Arc;

use agentx_runtime::TakeFact;
use agentx_types::{Envelope, EnvironmentEvent, SessionId, Timestamp};
use rusqlite::Connection;

use crate::codec::{Body, Decoder};
use crate::error::Fault;
use crate::keys::session_row;
use crate::read::{Stop, events, fact, parts, rows};

/// Lends the facts of a session after `after_seq` to `take`, until it wants no more.
pub(crate) fn scan(
    connection: &Connection,
    session: &SessionId,
    after_seq: u64,
    take: &mut TakeFact,
) -> Result<(), Fault> {
    let row = session_row(connection, session)?;
    let mut lent: Option<Envelope<EnvironmentEvent>> = None;
    for part in parts(connection, row)?
        .iter()
        .filter(|part| part.upto > after_seq)
    {
        let from = after_seq.max(part.after) + 1;
        let mut enough = ControlFlow::Continue(());
        let read = rows(connection, part, from, |chain, row| {
            events(chain, &row, |seq, decoder, body, _| {
                if seq > part.upto {
                    return Ok(ControlFlow::Break(()));
                }
                if seq < from {
                    return Ok(ControlFlow::Continue(()));
                }
                if !lent
                    .as_mut()
                    .is_some_and(|fact| follows(fact, seq, decoder, body))
                {
                    let fact = fact(connection, session, seq, decoder, body)?;
                    lent = Some(Arc::unwrap_or_clone(fact));
                }
                if let Some(fact) = &mut lent {
                    enough = take(fact);
                }
                Ok(enough)
            })
        });
        match read {
            Ok(_) if enough.is_break() => return Ok(()),
            Ok(_) => {}
            Err(Stop::Fault(fault)) => return Err(fault),
            Err(Stop::Damage(damage)) => return Err(damage.error(session).into()),
        }
    }
    Ok(())
}

/// Makes a chunk into the one that follows it, where they differ in text and time alone.
fn follows(fact: &mut Envelope<EnvironmentEvent>, seq: u64, decoder: &Decoder, body: &Body<'_>) -> bool {
    let (place, text) = match (&mut fact.event, body) {
        (EnvironmentEvent::TextChunk(chunk), Body::Text(text)) => (&mut chunk.text, text),
        (EnvironmentEvent::ThinkingChunk(chunk), Body::Thinking(text)) => (&mut chunk.text, text),
        _ => return false,
    };
    let in_same_context = decoder.context().is_ok_and(|context| {
        context.source == fact.source
            && context.agent == fact.agent_state_id
            && context.run == fact.run_id
            && context.cause == fact.cause
    });
    if in_same_context {
        place.clear();
        place.push_str(text);
        (fact.seq, fact.at) = (seq, Timestamp(decoder.at));
    }
    in_same_context
}
