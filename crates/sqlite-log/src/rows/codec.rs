//! Encodes facts into a compact stream of records, and decodes them.
//!
//! Called by the writer (through [`crate::rows::segment`]) and by every reader. A stream of model output is
//! thousands of tiny events with the same context, so a record contains only the differences from the record
//! before it:
//!
//! | first byte | then |
//! | --- | --- |
//! | `0x01` time | 8 bytes, little endian: microseconds since the epoch; the base of later time steps |
//! | `0x02` context | source byte, then agent, run and cause, each a varint (0 = none, otherwise length + 1) and its bytes |
//! | `0x03` context again | varint: the number of an earlier context of this segment |
//! | `0x04` event | zigzag varint time step, varint length and tag, varint length and JSON payload |
//! | `0x05` event in a blob | zigzag varint time step, varint length and tag, 32 bytes: the hash of its payload |
//! | `0x80…` text chunk | low six bits: length (63: varint with the rest), zigzag varint time step, the text |
//! | `0xc0…` thinking chunk | the same |
//!
//! A row may begin with a mark before its records: see [`crate::rows::redaction_mark`].
//! A segment begins with a time and a context, so it can be read without the bytes before it.

use agentx_runtime::{Digest, Fact};
use agentx_types::{
    ActionId, AgentStateId, DecodedEvent, EnvironmentEvent, RunId, Source, TextChunk, ThinkingChunk,
    Vocabulary as _,
};

use crate::rows::blobs::{EncodedBlobs, find_references};
use crate::rows::bytes::{
    put_bytes, put_optional, put_varint, take, take_length, take_optional, take_str, take_varint, unzigzag,
    zigzag,
};

const TIME: u8 = 0x01;
const CONTEXT: u8 = 0x02;
const CONTEXT_AGAIN: u8 = 0x03;
const EVENT: u8 = 0x04;
const EVENT_IN_BLOB: u8 = 0x05;
const CHUNK: u8 = 0x80;
const THINKING: u8 = 0x40;
const LONG: u8 = 0x3f;

/// Payloads longer than this are kept as blobs.
pub(crate) const INLINE_LIMIT: usize = 4096;
/// The number of earlier contexts that the encoder searches before it writes one again.
const CONTEXT_WINDOW: usize = 32;

/// Room for the text of chunks that are joined: most answers have no more.
const ROOM: usize = 1024;

/// The fields of an envelope that many successive events share.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EnvelopeContext {
    pub(crate) source: Source,
    pub(crate) agent: Option<AgentStateId>,
    pub(crate) run: Option<RunId>,
    pub(crate) cause: Option<ActionId>,
}

impl EnvelopeContext {
    fn of(fact: &Fact) -> Self {
        Self {
            source: fact.source,
            agent: fact.agent_state_id.clone(),
            run: fact.run_id.clone(),
            cause: fact.cause.clone(),
        }
    }

    fn fits(&self, fact: &Fact) -> bool {
        self.cause == fact.cause
            && self.run == fact.run_id
            && self.agent == fact.agent_state_id
            && self.source == fact.source
    }
}

/// Writes the records of one segment.
#[derive(Default)]
pub(crate) struct SegmentEncoder {
    at: i64,
    contexts: Vec<EnvelopeContext>,
    current: Option<usize>,
}

impl SegmentEncoder {
    /// Appends the records of one fact to `out`.
    pub(crate) fn fact(&mut self, fact: &Fact, out: &mut Vec<u8>, aside: &mut EncodedBlobs) {
        if self.current.is_none() {
            self.at = fact.at.0;
            out.push(TIME);
            out.extend_from_slice(&self.at.to_le_bytes());
        }
        self.context(fact, out);
        let step = zigzag(fact.at.0.wrapping_sub(self.at));
        self.at = fact.at.0;
        match &fact.event {
            EnvironmentEvent::TextChunk(chunk) if chunk.text.len() <= INLINE_LIMIT => {
                put_chunk(CHUNK, step, &chunk.text, out);
            }
            EnvironmentEvent::ThinkingChunk(chunk) if chunk.text.len() <= INLINE_LIMIT => {
                put_chunk(CHUNK | THINKING, step, &chunk.text, out);
            }
            _ => put_event(fact, step, out, aside),
        }
    }

    fn context(&mut self, fact: &Fact, out: &mut Vec<u8>) {
        if self
            .current
            .and_then(|i| self.contexts.get(i))
            .is_some_and(|context| context.fits(fact))
        {
            return;
        }
        let first = self.contexts.len().saturating_sub(CONTEXT_WINDOW);
        if let Some(found) = self.contexts[first..]
            .iter()
            .position(|context| context.fits(fact))
        {
            out.push(CONTEXT_AGAIN);
            put_varint((first + found) as u64, out);
            self.current = Some(first + found);
            return;
        }
        out.push(CONTEXT);
        out.push(source_byte(fact.source));
        put_optional(fact.agent_state_id.as_ref().map(AgentStateId::as_str), out);
        put_optional(fact.run_id.as_ref().map(RunId::as_str), out);
        put_optional(fact.cause.as_ref().map(ActionId::as_str), out);
        self.current = Some(self.contexts.len());
        self.contexts.push(EnvelopeContext::of(fact));
    }
}

fn put_chunk(kind: u8, step: u64, text: &str, out: &mut Vec<u8>) {
    let length = text.len();
    if length < usize::from(LONG) {
        out.push(kind | length as u8);
    } else {
        out.push(kind | LONG);
        put_varint((length - usize::from(LONG)) as u64, out);
    }
    put_varint(step, out);
    out.extend_from_slice(text.as_bytes());
}

fn put_event(fact: &Fact, step: u64, out: &mut Vec<u8>, aside: &mut EncodedBlobs) {
    let (seq, payload) = (fact.seq, fact.payload_json());
    find_references(&payload, |hash| aside.references.push((seq, hash)));
    let in_blob = payload.len() > INLINE_LIMIT;
    out.push(if in_blob { EVENT_IN_BLOB } else { EVENT });
    put_varint(step, out);
    put_bytes(fact.event.tag().as_bytes(), out);
    if in_blob {
        let hash = *blake3::hash(&payload).as_bytes();
        out.extend_from_slice(&hash);
        aside.references.push((seq, hash));
        aside.blobs.push((hash, payload));
    } else {
        put_bytes(&payload, out);
    }
}

/// An event in a record stream.
#[derive(Debug, PartialEq)]
pub(crate) enum StoredBody<'a> {
    Text(&'a str),
    Thinking(&'a str),
    Inline { tag: &'a str, payload: &'a str },
    InBlob { tag: &'a str, hash: Digest },
}

impl StoredBody<'_> {
    /// Returns whether the event has this tag.
    pub(crate) fn has_tag(&self, wanted: &str) -> bool {
        match self {
            Self::Inline { tag, .. } | Self::InBlob { tag, .. } => *tag == wanted,
            Self::Text(_) | Self::Thinking(_) => false,
        }
    }

    /// Returns the number of bytes in its row.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Text(text) | Self::Thinking(text) => text.len(),
            Self::Inline { payload, .. } => payload.len(),
            Self::InBlob { .. } => 0,
        }
    }

    /// Decodes the event; `blob` is its payload if it is in a blob.
    pub(crate) fn event(&self, blob: Option<&str>) -> Result<DecodedEvent<EnvironmentEvent>, String> {
        let known = |event| Ok(DecodedEvent { event, newer: None });
        let text = |text: &&str| (*text).to_owned();
        match (self, blob) {
            (Self::Text(words), _) => known(TextChunk { text: text(words) }.into()),
            (Self::Thinking(words), _) => known(ThinkingChunk { text: text(words) }.into()),
            (Self::Inline { tag, payload }, _) => parse(tag, payload),
            (Self::InBlob { tag, .. }, Some(payload)) => parse(tag, payload),
            (Self::InBlob { .. }, None) => Err("its payload is missing".to_owned()),
        }
    }
}

fn parse(tag: &str, payload: &str) -> Result<DecodedEvent<EnvironmentEvent>, String> {
    EnvironmentEvent::read(tag, payload).map_err(|e| format!("its payload does not fit `{tag}`: {e}"))
}

/// Reads the records of one segment, row after row.
#[derive(Default)]
pub(crate) struct SegmentDecoder {
    /// The time of the event that was read last.
    pub(crate) at: i64,
    contexts: Vec<EnvelopeContext>,
    current: Option<usize>,
}

impl SegmentDecoder {
    /// The next event of `input`, which is moved forward; `None` at its end.
    pub(crate) fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<StoredBody<'a>>, String> {
        while let Some((&kind, rest)) = input.split_first() {
            *input = rest;
            match kind {
                TIME => self.at = i64::from_le_bytes(take(input)?),
                CONTEXT => {
                    let context = take_context(input, self.contexts.last())?;
                    self.current = Some(self.contexts.len());
                    self.contexts.push(context);
                }
                CONTEXT_AGAIN => self.current = Some(take_length(input)?),
                _ => return self.body(kind, input).map(Some),
            }
        }
        Ok(None)
    }

    /// Appends to `text` the chunks directly after the chunk `first` with the same kind and context: at most
    /// `most`, and none once there are `bytes`. If one of them cannot be read, none is taken. Returns their
    /// number.
    pub(crate) fn join(
        &mut self,
        first: &StoredBody<'_>,
        input: &mut &[u8],
        text: &mut String,
        most: u64,
        bytes: usize,
    ) -> u64 {
        let kind = match first {
            StoredBody::Text(_) => CHUNK,
            StoredBody::Thinking(_) => CHUNK | THINKING,
            StoredBody::Inline { .. } | StoredBody::InBlob { .. } => return 0,
        };
        let (mut ahead, mut at, mut joined) = (*input, self.at, 0);
        let mut whole = std::mem::take(text).into_bytes();
        let before = whole.len();
        whole.reserve(ahead.len().min(ROOM));
        while joined < most && whole.len() < bytes {
            let Some((step, piece, rest)) = chunk(kind, ahead) else {
                break;
            };
            whole.extend_from_slice(piece);
            at = at.wrapping_add(step);
            ahead = rest;
            joined += 1;
        }
        // If each begins with a character and all together are text, then each of them is text.
        match String::from_utf8(whole) {
            Ok(whole) => *text = whole,
            Err(broken) => {
                let mut whole = broken.into_bytes();
                whole.truncate(before);
                *text = String::from_utf8(whole).unwrap_or_default();
                return 0;
            }
        }
        (*input, self.at) = (ahead, at);
        joined
    }

    /// The context of the event that was read last.
    pub(crate) fn context(&self) -> Result<&EnvelopeContext, String> {
        self.current
            .and_then(|i| self.contexts.get(i))
            .ok_or_else(|| "an event without a context".to_owned())
    }

    fn body<'a>(&mut self, kind: u8, input: &mut &'a [u8]) -> Result<StoredBody<'a>, String> {
        if kind & CHUNK != 0 {
            let mut length = usize::from(kind & LONG);
            if length == usize::from(LONG) {
                length = length.saturating_add(take_length(input)?);
            }
            self.step(input)?;
            let text = take_str(input, length)?;
            return Ok(if kind & THINKING == 0 {
                StoredBody::Text(text)
            } else {
                StoredBody::Thinking(text)
            });
        }
        if kind != EVENT && kind != EVENT_IN_BLOB {
            return Err(format!("an unknown record 0x{kind:02x}"));
        }
        self.step(input)?;
        let length = take_length(input)?;
        let tag = take_str(input, length)?;
        if kind == EVENT_IN_BLOB {
            return Ok(StoredBody::InBlob {
                tag,
                hash: take(input)?,
            });
        }
        let length = take_length(input)?;
        Ok(StoredBody::Inline {
            tag,
            payload: take_str(input, length)?,
        })
    }

    fn step(&mut self, input: &mut &[u8]) -> Result<(), String> {
        self.at = self.at.wrapping_add(unzigzag(take_varint(input)?));
        Ok(())
    }
}

/// The chunk of this kind at the beginning of `input`: its time step, its bytes, which begin with a
/// character, and the rest.
fn chunk(kind: u8, input: &[u8]) -> Option<(i64, &[u8], &[u8])> {
    let (first, mut rest) = input.split_first()?;
    if first & !LONG != kind {
        return None;
    }
    let mut length = usize::from(first & LONG);
    if length == usize::from(LONG) {
        length = length.saturating_add(take_length(&mut rest).ok()?);
    }
    let step = match rest.split_first()? {
        (step, after) if *step < 0x80 => {
            rest = after;
            u64::from(*step)
        }
        _ => take_varint(&mut rest).ok()?,
    };
    let (piece, rest) = rest.split_at_checked(length)?;
    let goes_on = piece.first().is_some_and(|byte| byte & 0xc0 == 0x80);
    (!goes_on).then(|| (unzigzag(step), piece, rest))
}

/// A context; its agent and its run are mostly those of the one before.
fn take_context(input: &mut &[u8], before: Option<&EnvelopeContext>) -> Result<EnvelopeContext, String> {
    let [source] = take(input)?;
    let agent = before.and_then(|before| before.agent.as_ref());
    let run = before.and_then(|before| before.run.as_ref());
    let same_agent = |id: &str| agent.filter(|agent| agent.as_str() == id).cloned();
    let same_run = |id: &str| run.filter(|run| run.as_str() == id).cloned();
    Ok(EnvelopeContext {
        source: source_of(source)?,
        agent: take_optional(input)?.map(|id| same_agent(id).unwrap_or_else(|| AgentStateId::new(id))),
        run: take_optional(input)?.map(|id| same_run(id).unwrap_or_else(|| RunId::new(id))),
        cause: take_optional(input)?.map(ActionId::new),
    })
}

fn source_byte(source: Source) -> u8 {
    match source {
        Source::User => 0,
        Source::Agent => 1,
        Source::Environment => 2,
        Source::System => 3,
    }
}

fn source_of(byte: u8) -> Result<Source, String> {
    Ok(match byte {
        0 => Source::User,
        1 => Source::Agent,
        2 => Source::Environment,
        3 => Source::System,
        _ => return Err(format!("an unknown source {byte}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u8, step: i64, text: &[u8]) -> Vec<u8> {
        let mut out = vec![kind | text.len().min(usize::from(LONG)) as u8];
        if text.len() >= usize::from(LONG) {
            put_varint((text.len() - usize::from(LONG)) as u64, &mut out);
        }
        put_varint(zigzag(step), &mut out);
        out.extend_from_slice(text);
        out
    }

    /// The number of chunks that are joined with the first, the text of all, and the rest of the input.
    fn joined(records: &[Vec<u8>], most: u64, bytes: usize) -> (u64, String, usize, i64) {
        let stream = records.concat();
        let (mut decoder, mut input) = (SegmentDecoder::default(), stream.as_slice());
        let first = decoder.next(&mut input).unwrap().unwrap();
        let (StoredBody::Text(text) | StoredBody::Thinking(text)) = first else {
            panic!("{first:?}")
        };
        let mut text = text.to_owned();
        let count = decoder.join(&first, &mut input, &mut text, most, bytes);
        (count, text, input.len(), decoder.at)
    }

    #[test]
    fn chunks_of_one_kind_are_joined_as_far_as_that_goes() {
        let long = "会话".repeat(200);
        let text = |text: &str| record(CHUNK, 7, text.as_bytes());
        let all = [
            text("a"),
            text(""),
            text("é"),
            record(CHUNK, -1_000, long.as_bytes()),
            text("b"),
        ];
        let whole = format!("aé{long}b");
        assert_eq!(joined(&all, 100, 1 << 20), (4, whole, 0, 28 - 1_000));
        assert_eq!(joined(&all, 2, 1 << 20).0, 2);
        let (count, some, left, _) = joined(&all, 100, 4);
        assert_eq!((count, some.len(), left), (3, 3 + long.len(), text("b").len()));
        for other in [
            vec![CONTEXT_AGAIN, 0],
            record(CHUNK | THINKING, 0, b"hm"),
            vec![CHUNK | 9, 0, b'c'],
        ] {
            let left = other.len();
            let ends = [text("a"), text("b"), other];
            assert_eq!(joined(&ends, 100, 1 << 20), (1, "ab".into(), left, 14));
        }
    }

    #[test]
    fn a_piece_that_is_no_text_stays_for_who_says_so() {
        let first = record(CHUNK, 1, b"a");
        // Half a character: alone, and with its other half in the next piece.
        for pieces in [
            vec![&b"\xc3"[..]],
            vec![&b"\xc3"[..], &b"\xa9"[..]],
            vec![&b"ok"[..], &b"\xff"[..]],
        ] {
            let rest: Vec<Vec<u8>> = pieces.iter().map(|piece| record(CHUNK, 1, piece)).collect();
            let records = [std::slice::from_ref(&first), &rest].concat();
            let left = rest.concat().len();
            assert_eq!(joined(&records, 100, 1 << 20), (0, "a".into(), left, 1));
        }
    }

    #[test]
    fn any_bytes_are_an_error_or_an_event() {
        // No input may panic: a damaged file is outside input.
        let mut state = 0x9e37_79b9u32;
        for length in (0..64).cycle().take(20_000) {
            let bytes: Vec<u8> = (0..length)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let byte = (state >> 24) as u8;
                    if byte < 128 { byte % 6 } else { byte }
                })
                .collect();
            let mut decoder = SegmentDecoder::default();
            let mut input = bytes.as_slice();
            while let Ok(Some(body)) = decoder.next(&mut input) {
                let _ = (decoder.context().is_ok(), body.event(None).is_ok());
                decoder.join(&body, &mut input, &mut String::new(), 3, 64);
            }
        }
    }
}
