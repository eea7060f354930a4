//! The records of one segment as bytes, without a database: for tests that try the reader with any bytes at
//! all.

use std::sync::Arc;

use agentx_runtime::{Digest, Fact};
use agentx_types::{DecodedEvent, Envelope, EnvironmentEvent, SessionId, Timestamp};

use crate::read::scan::JOINED_BYTES;
use crate::rows::blobs::EncodedBlobs;
use crate::rows::codec::{SegmentDecoder, SegmentEncoder, StoredBody};

/// The decoded content of a run of records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Records {
    /// The facts, numbered from 1.
    pub facts: Vec<Fact>,
    /// The fault of the first unreadable record; `None` if all are readable.
    pub problem: Option<String>,
}

/// A long payload that is stored outside the records, with its hash.
pub type Blob = (Digest, Vec<u8>);

/// Reads the records of a segment up to the first one that cannot be read.
pub fn decode(bytes: &[u8], blobs: &[Blob]) -> Records {
    read(bytes, blobs, false)
}

/// The same, with pieces of an answer joined as when a session is opened.
pub fn decode_joined(bytes: &[u8], blobs: &[Blob]) -> Records {
    read(bytes, blobs, true)
}

/// Writes facts as the records of one segment, and payloads that are too long for that as blobs.
pub fn encode(facts: &[Fact]) -> (Vec<u8>, Vec<Blob>) {
    let (mut encoder, mut bytes, mut aside) =
        (SegmentEncoder::default(), Vec::new(), EncodedBlobs::default());
    for fact in facts {
        encoder.fact(fact, &mut bytes, &mut aside);
    }
    (bytes, aside.blobs)
}

fn read(bytes: &[u8], blobs: &[Blob], joins: bool) -> Records {
    let (mut decoder, mut input) = (SegmentDecoder::default(), bytes);
    let mut records = Records::default();
    let mut seq = 0;
    loop {
        let read = match decoder.next(&mut input) {
            Ok(None) => return records,
            Ok(Some(body)) => next_event(&mut decoder, &body, blobs, joins.then_some(&mut input)),
            Err(problem) => Err(problem),
        };
        match read {
            Ok((count, mut envelope)) => {
                seq += count;
                envelope.seq = seq;
                records.facts.push(Arc::new(envelope));
            }
            Err(problem) => {
                records.problem = Some(problem);
                return records;
            }
        }
    }
}

/// The event of a record with its context, and of how many records it was made.
fn next_event(
    decoder: &mut SegmentDecoder,
    body: &StoredBody<'_>,
    blobs: &[Blob],
    joins: Option<&mut &[u8]>,
) -> Result<(u64, Envelope<EnvironmentEvent>), String> {
    let aside = match body {
        StoredBody::InBlob { hash, .. } => blobs.iter().find(|(name, _)| name == hash),
        _ => None,
    };
    let aside = aside.and_then(|(_, payload)| std::str::from_utf8(payload).ok());
    let DecodedEvent { mut event, newer } = body.event(aside)?;
    let context = decoder.context()?.clone();
    let mut count = 1;
    if let Some(input) = joins {
        let text = match &mut event {
            EnvironmentEvent::TextChunk(chunk) => Some(&mut chunk.text),
            EnvironmentEvent::ThinkingChunk(chunk) => Some(&mut chunk.text),
            _ => None,
        };
        count += text.map_or(0, |text| decoder.join(body, input, text, u64::MAX, JOINED_BYTES));
    }
    let envelope = Envelope {
        seq: 0,
        index: None,
        at: Timestamp(decoder.at),
        source: context.source,
        session_id: SessionId::new("ses_records"),
        agent_state_id: context.agent,
        run_id: context.run,
        cause: context.cause,
        event,
        newer,
    };
    Ok((count, envelope))
}
