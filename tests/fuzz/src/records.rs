//! The records of a session log, in the form of its rows. Every record that can be read from any bytes is
//! written and read again as the same record, and pieces of an answer have the same text read together or one
//! by one.

use agentx_sqlite_log::records::{Records, decode, decode_joined, encode};
use agentx_types::EnvironmentEvent;

/// The bytes are the records of one segment.
pub fn check(data: &[u8]) {
    let read = decode(data, &[]);
    let joined = decode_joined(data, &[]);
    assert!(read.facts.len() <= data.len());
    assert_eq!(told(&joined), told(&read));
    assert_eq!(joined.problem, read.problem);
    assert_eq!(last(&joined), last(&read));
    let (written, blobs) = encode(&read.facts);
    let again = decode(&written, &blobs);
    assert_eq!(again.problem, None);
    assert_eq!(again.facts, read.facts);
    assert_eq!(encode(&again.facts), (written, blobs));
}

/// The number and the time of the last fact.
fn last(records: &Records) -> Option<(u64, i64)> {
    records.facts.last().map(|fact| (fact.seq, fact.at.0))
}

/// All that was said and thought, and the other facts.
fn told(records: &Records) -> (String, String, Vec<&EnvironmentEvent>) {
    let (mut said, mut thought, mut others) = (String::new(), String::new(), Vec::new());
    for fact in &records.facts {
        match &fact.event {
            EnvironmentEvent::TextChunk(chunk) => said.push_str(&chunk.text),
            EnvironmentEvent::ThinkingChunk(chunk) => thought.push_str(&chunk.text),
            other => others.push(other),
        }
    }
    (said, thought, others)
}
