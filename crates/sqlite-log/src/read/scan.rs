//! Lends facts one after the other to a fold. This is most of the work of opening a session, so a stream of
//! thousands of pieces is lent in a few facts, which reuse the memory of the fact before.

use std::ops::{ControlFlow, RangeInclusive};

use agentx_runtime::TakeFact;
use agentx_types::{Envelope, EnvironmentEvent, SessionId, Timestamp};
use rusqlite::Connection;

use crate::error::Fault;
use crate::keys::session_row;
use crate::read::{ChainStop, ends, envelope, next_body, parts, rows};
use crate::rows::chain::{Chain, GoodRow};
use crate::rows::codec::{SegmentDecoder, StoredBody};

/// Number of bytes up to which pieces of an answer are joined.
pub(crate) const JOINED_BYTES: usize = 8 * 1024;

/// Lends the facts of a session after `after_seq` up to `upto` to `take`, until it stops.
pub(crate) fn scan(
    connection: &Connection,
    session: &SessionId,
    after_seq: u64,
    upto: u64,
    take: &mut TakeFact,
) -> Result<(), Fault> {
    let row = session_row(connection, session)?;
    let mut lending = FactLender {
        connection,
        session,
        take,
        fact: None,
        enough: ControlFlow::Continue(()),
    };
    for part in parts(connection, row)?
        .iter()
        .filter(|part| part.upto > after_seq && part.after < upto)
    {
        let wanted = after_seq.max(part.after) + 1..=upto.min(part.upto);
        let read = rows(connection, part, *wanted.start(), |chain, row| {
            lending.row(chain, &row, &wanted)
        });
        match read {
            Ok(_) if lending.enough.is_break() => return Ok(()),
            Ok(_) => {}
            Err(ChainStop::Fault(fault)) => return Err(fault),
            Err(ChainStop::Damage(damage)) => return Err(damage.error(session).into()),
        }
    }
    Ok(())
}

/// The lender of facts, and the lent fact.
struct FactLender<'a> {
    connection: &'a Connection,
    session: &'a SessionId,
    take: &'a mut TakeFact,
    fact: Option<Envelope<EnvironmentEvent>>,
    enough: ControlFlow<()>,
}

impl FactLender<'_> {
    /// Lends the requested facts of a good row.
    fn row(
        &mut self,
        chain: &mut Chain,
        row: &GoodRow<'_>,
        wanted: &RangeInclusive<u64>,
    ) -> Result<ControlFlow<()>, ChainStop> {
        let mut input = row.data;
        let mut seq = row.first_seq;
        while seq <= chain.last_seq {
            if seq > *wanted.end() {
                return Ok(ControlFlow::Break(()));
            }
            let body = next_body(&mut chain.decoder, seq, &mut input)?;
            if seq >= *wanted.start() {
                let last = chain.last_seq.min(*wanted.end());
                seq = self.lend(seq..=last, &mut chain.decoder, &body, &mut input)?;
                if self.enough.is_break() {
                    return Ok(self.enough);
                }
            }
            seq += 1;
        }
        ends(chain, input)?;
        Ok(ControlFlow::Continue(()))
    }

    /// Lends the first of `seqs`, and the ones joined to it. Returns the last lent one.
    fn lend(
        &mut self,
        seqs: RangeInclusive<u64>,
        decoder: &mut SegmentDecoder,
        body: &StoredBody<'_>,
        input: &mut &[u8],
    ) -> Result<u64, ChainStop> {
        let (mut seq, last) = seqs.into_inner();
        let goes_on = |fact: &mut Envelope<EnvironmentEvent>| begin_again(fact, decoder, body);
        if !self.fact.as_mut().is_some_and(goes_on) {
            let fact = envelope(self.connection, self.session, seq, decoder, body)?;
            self.fact = Some(fact);
        }
        let Some(fact) = &mut self.fact else {
            return Ok(seq);
        };
        if let Some(text) = words(&mut fact.event) {
            seq += decoder.join(body, input, text, last - seq, JOINED_BYTES);
        }
        (fact.seq, fact.at) = (seq, Timestamp(decoder.at));
        self.enough = (self.take)(fact);
        Ok(seq)
    }
}

fn words(event: &mut EnvironmentEvent) -> Option<&mut String> {
    match event {
        EnvironmentEvent::TextChunk(chunk) => Some(&mut chunk.text),
        EnvironmentEvent::ThinkingChunk(chunk) => Some(&mut chunk.text),
        _ => None,
    }
}

/// Turns a lent chunk into the next one, if they differ only in text and time.
fn begin_again(
    fact: &mut Envelope<EnvironmentEvent>,
    decoder: &SegmentDecoder,
    body: &StoredBody<'_>,
) -> bool {
    let (place, text) = match (&mut fact.event, body) {
        (EnvironmentEvent::TextChunk(chunk), StoredBody::Text(text)) => (&mut chunk.text, text),
        (EnvironmentEvent::ThinkingChunk(chunk), StoredBody::Thinking(text)) => (&mut chunk.text, text),
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
    }
    in_same_context
}
