//! How facts become bytes and bytes become facts: a compact stream of records.
//!
//! Called by the writer (through [`crate::segment`]) and by every reader. A stream of model output is thousands of tiny
//! events with the same context, so a record says only what differs from the record before it:
//!
//! | first byte | then |
//! | --- | --- |
//! | `0x01` time | 8 bytes, little endian: microseconds since the epoch; the clock of what follows |
//! | `0x02` context | source byte, then agent, run and cause, each a varint (0 = none, else length + 1) and its bytes |
//! | `0x03` context again | varint: the number of an earlier context of this segment |
//! | `0x04` event | zigzag varint time step, varint length and tag, varint length and JSON payload |
//! | `0x05` event in a blob | zigzag varint time step, varint length and tag, 32 bytes: the hash of its payload |
//! | `0x80…` text chunk | low six bits: length (63: varint with the rest), zigzag varint time step, the text |
//! | `0xc0…` thinking chunk | the same |
//!
//! A segment begins with a time and a context, so it can be read without what lies before it.

use agentx_runtime::{Digest, Fact};
use agentx_types::{
    ActionId, AgentStateId, EnvironmentEvent, RunId, Source, TextChunk, ThinkingChunk, Vocabulary as _,
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
/// How many earlier contexts the encoder looks through before it writes one again.
const CONTEXT_WINDOW: usize = 32;

/// Which of an event's surroundings are the same for many events in a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Context {
    pub(crate) source: Source,
    pub(crate) agent: Option<AgentStateId>,
    pub(crate) run: Option<RunId>,
    pub(crate) cause: Option<ActionId>,
}

impl Context {
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

/// What leaves the encoder beside the record stream.
#[derive(Default)]
pub(crate) struct Aside {
    /// Payloads that are too long for the stream, with their hashes.
    pub(crate) blobs: Vec<(Digest, Vec<u8>)>,
    /// Blobs that events name: the `seq` that names it, and its hash.
    pub(crate) references: Vec<(u64, Digest)>,
}

/// Writes the records of one segment.
#[derive(Default)]
pub(crate) struct Encoder {
    at: i64,
    contexts: Vec<Context>,
    current: Option<usize>,
}

impl Encoder {
    /// Appends the records of one fact to `out`.
    pub(crate) fn fact(&mut self, fact: &Fact, out: &mut Vec<u8>, aside: &mut Aside) {
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
            event => put_event(fact.seq, event, step, out, aside),
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
        self.contexts.push(Context::of(fact));
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

fn put_event(seq: u64, event: &EnvironmentEvent, step: u64, out: &mut Vec<u8>, aside: &mut Aside) {
    let payload = event.payload_json();
    crate::blobs::find_references(&payload, |hash| aside.references.push((seq, hash)));
    let in_blob = payload.len() > INLINE_LIMIT;
    out.push(if in_blob { EVENT_IN_BLOB } else { EVENT });
    put_varint(step, out);
    put_bytes(event.tag().as_bytes(), out);
    if in_blob {
        let hash = *blake3::hash(&payload).as_bytes();
        out.extend_from_slice(&hash);
        aside.references.push((seq, hash));
        aside.blobs.push((hash, payload));
    } else {
        put_bytes(&payload, out);
    }
}

/// An event as it lies in a record stream.
#[derive(Debug, PartialEq)]
pub(crate) enum Body<'a> {
    Text(&'a str),
    Thinking(&'a str),
    Inline { tag: &'a str, payload: &'a str },
    InBlob { tag: &'a str, hash: Digest },
}

impl Body<'_> {
    /// The event itself; `payload` is what the blob holds, where it lies in one.
    pub(crate) fn event(&self, blob: Option<&str>) -> Result<EnvironmentEvent, String> {
        match (self, blob) {
            (Self::Text(text), _) => Ok(TextChunk {
                text: (*text).to_owned(),
            }
            .into()),
            (Self::Thinking(text), _) => Ok(ThinkingChunk {
                text: (*text).to_owned(),
            }
            .into()),
            (Self::Inline { tag, payload }, _) => parse(tag, payload),
            (Self::InBlob { tag, .. }, Some(payload)) => parse(tag, payload),
            (Self::InBlob { .. }, None) => Err("its payload is missing".to_owned()),
        }
    }
}

fn parse(tag: &str, payload: &str) -> Result<EnvironmentEvent, String> {
    // What streams in large numbers is read in one pass; a test sees to it that it is what `from_parts` gives.
    let streamed = match tag {
        "tool_output_chunk" => serde_json::from_str(payload).map(EnvironmentEvent::ToolOutputChunk),
        "tool_call_chunk" => serde_json::from_str(payload).map(EnvironmentEvent::ToolCallChunk),
        _ => return parse_any(tag, payload),
    };
    streamed.map_err(|e| format!("its payload does not fit `{tag}`: {e}"))
}

fn parse_any(tag: &str, payload: &str) -> Result<EnvironmentEvent, String> {
    let raw = serde_json::from_str(payload).map_err(|e| format!("its payload is not JSON: {e}"))?;
    EnvironmentEvent::from_parts(tag, raw).map_err(|e| format!("its payload does not fit `{tag}`: {e}"))
}

/// Reads the records of one segment, row after row.
#[derive(Default)]
pub(crate) struct Decoder {
    /// The time of the event that was read last.
    pub(crate) at: i64,
    contexts: Vec<Context>,
    current: Option<usize>,
}

impl Decoder {
    /// The next event of `input`, which is moved forward; `None` at its end.
    pub(crate) fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Body<'a>>, String> {
        while let Some((&kind, rest)) = input.split_first() {
            *input = rest;
            match kind {
                TIME => self.at = i64::from_le_bytes(take(input)?),
                CONTEXT => {
                    self.current = Some(self.contexts.len());
                    self.contexts.push(take_context(input)?);
                }
                CONTEXT_AGAIN => self.current = Some(take_length(input)?),
                _ => return self.body(kind, input).map(Some),
            }
        }
        Ok(None)
    }

    /// The context of the event that was read last.
    pub(crate) fn context(&self) -> Result<&Context, String> {
        self.current
            .and_then(|i| self.contexts.get(i))
            .ok_or_else(|| "an event without a context".to_owned())
    }

    fn body<'a>(&mut self, kind: u8, input: &mut &'a [u8]) -> Result<Body<'a>, String> {
        if kind & CHUNK != 0 {
            let mut length = usize::from(kind & LONG);
            if length == usize::from(LONG) {
                length = length.saturating_add(take_length(input)?);
            }
            self.step(input)?;
            let text = take_str(input, length)?;
            return Ok(if kind & THINKING == 0 {
                Body::Text(text)
            } else {
                Body::Thinking(text)
            });
        }
        if kind != EVENT && kind != EVENT_IN_BLOB {
            return Err(format!("an unknown record 0x{kind:02x}"));
        }
        self.step(input)?;
        let length = take_length(input)?;
        let tag = take_str(input, length)?;
        if kind == EVENT_IN_BLOB {
            return Ok(Body::InBlob {
                tag,
                hash: take(input)?,
            });
        }
        let length = take_length(input)?;
        Ok(Body::Inline {
            tag,
            payload: take_str(input, length)?,
        })
    }

    fn step(&mut self, input: &mut &[u8]) -> Result<(), String> {
        self.at = self.at.wrapping_add(unzigzag(take_varint(input)?));
        Ok(())
    }
}

fn take_context(input: &mut &[u8]) -> Result<Context, String> {
    let [source] = take(input)?;
    Ok(Context {
        source: source_of(source)?,
        agent: take_optional(input)?.map(AgentStateId::new),
        run: take_optional(input)?.map(RunId::new),
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

fn zigzag(n: i64) -> u64 {
    ((n << 1) ^ (n >> 63)) as u64
}

fn unzigzag(n: u64) -> i64 {
    (n >> 1) as i64 ^ -((n & 1) as i64)
}

fn put_varint(mut n: u64, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn put_optional(text: Option<&str>, out: &mut Vec<u8>) {
    put_varint(text.map_or(0, |text| text.len() as u64 + 1), out);
    out.extend_from_slice(text.unwrap_or_default().as_bytes());
}

fn take_varint(input: &mut &[u8]) -> Result<u64, String> {
    let mut n = 0u64;
    for shift in (0..64).step_by(7) {
        let [byte] = take(input)?;
        n |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(n);
        }
    }
    Err("a number that does not end".to_owned())
}

fn take_length(input: &mut &[u8]) -> Result<usize, String> {
    usize::try_from(take_varint(input)?).map_err(|_| "a length beyond memory".to_owned())
}

fn take<const N: usize>(input: &mut &[u8]) -> Result<[u8; N], String> {
    let (bytes, rest) = input.split_first_chunk::<N>().ok_or_else(ends_early)?;
    *input = rest;
    Ok(*bytes)
}

fn take_str<'a>(input: &mut &'a [u8], length: usize) -> Result<&'a str, String> {
    let (bytes, rest) = input.split_at_checked(length).ok_or_else(ends_early)?;
    *input = rest;
    std::str::from_utf8(bytes).map_err(|_| "text that is not UTF-8".to_owned())
}

fn take_optional<'a>(input: &mut &'a [u8]) -> Result<Option<&'a str>, String> {
    match take_length(input)? {
        0 => Ok(None),
        length => take_str(input, length - 1).map(Some),
    }
}

fn ends_early() -> String {
    "a record that ends early".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streamed_payloads_are_read_as_any_other() {
        let table = [
            (
                "tool_output_chunk",
                r#"{"tool_call_id":"c","channel":"stdout","text":"a\n会"}"#,
            ),
            ("tool_call_chunk", r#"{"tool_call_id":"c","json":"{\"a\":"}"#),
        ];
        for (tag, payload) in table {
            let event = parse(tag, payload).unwrap();
            assert_eq!(event, parse_any(tag, payload).unwrap());
            assert_eq!(
                (event.tag(), event.payload_json()),
                (tag, payload.as_bytes().to_vec())
            );
            assert!(parse(tag, "{}").is_err() && parse(tag, "").is_err());
        }
    }

    #[test]
    fn numbers_come_back() {
        for n in [0, 1, -1, 63, 64, -64, 1 << 20, i64::MAX, i64::MIN] {
            let mut out = Vec::new();
            put_varint(zigzag(n), &mut out);
            assert_eq!(take_varint(&mut out.as_slice()).map(unzigzag), Ok(n));
        }
        assert!(take_varint(&mut [0xff; 11].as_slice()).is_err());
    }

    #[test]
    fn any_bytes_are_an_error_or_an_event() {
        // No input may panic: what a damaged file holds is outside input.
        let mut state = 0x9e37_79b9u32;
        for length in (0..64).cycle().take(20_000) {
            let bytes: Vec<u8> = (0..length)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let byte = (state >> 24) as u8;
                    if byte < 128 { byte % 6 } else { byte }
                })
                .collect();
            let mut decoder = Decoder::default();
            let mut input = bytes.as_slice();
            while let Ok(Some(body)) = decoder.next(&mut input) {
                let _ = (decoder.context().is_ok(), body.event(None).is_ok());
            }
        }
    }
}
