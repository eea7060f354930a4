//! Joins the texts of a session that were recorded in pieces, because a secret may lie in several of them.

use std::collections::BTreeMap;

use agentx_types::{ActionId, Envelope, EnvironmentEvent};

/// Identifies the text that a piece belongs to: the kind of piece, its action and its call.
type TextKey = (&'static str, Option<ActionId>, String);

/// A text that was recorded in pieces.
#[derive(Clone, Debug, Default)]
pub struct RecordedText {
    text: String,
    /// The place at which each event's piece begins.
    pieces: Vec<(usize, u64)>,
}

impl RecordedText {
    /// All of the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The event that has the byte at this place.
    pub fn seq_at(&self, place: usize) -> u64 {
        let after = self.pieces.partition_point(|(start, _)| *start <= place);
        let piece = after.checked_sub(1).and_then(|at| self.pieces.get(at));
        piece.map_or(0, |(_, seq)| *seq)
    }

    /// Each event with the places at which its piece begins and ends.
    pub(super) fn pieces(&self) -> impl Iterator<Item = (u64, std::ops::Range<usize>)> + '_ {
        let ends = self.pieces.iter().skip(1).map(|(start, _)| *start);
        let ends = ends.chain(std::iter::once(self.text.len()));
        let pieces = self.pieces.iter().zip(ends);
        pieces.map(|((start, seq), end)| (*seq, *start..end))
    }
}

/// The texts that these facts hold in pieces.
pub fn recorded_texts<'f>(
    facts: impl IntoIterator<Item = &'f Envelope<EnvironmentEvent>>,
) -> Vec<RecordedText> {
    let mut texts: BTreeMap<TextKey, RecordedText> = BTreeMap::new();
    for fact in facts {
        if let Some((kind, call, piece)) = piece_of(&fact.event) {
            let text = texts.entry((kind, fact.cause.clone(), call)).or_default();
            text.pieces.push((text.text.len(), fact.seq));
            text.text.push_str(piece);
        }
    }
    texts.into_values().collect()
}

/// Returns whether an event is a piece of a text.
pub fn is_piece(event: &EnvironmentEvent) -> bool {
    piece_of(event).is_some()
}

/// The text of a piece; `None` if an event is none.
pub(super) fn piece_text(event: &EnvironmentEvent) -> Option<&str> {
    piece_of(event).map(|(_, _, text)| text)
}

/// The kind of a piece, its call, and its text.
fn piece_of(event: &EnvironmentEvent) -> Option<(&'static str, String, &str)> {
    Some(match event {
        EnvironmentEvent::TextChunk(chunk) => ("text", String::new(), &chunk.text),
        EnvironmentEvent::ThinkingChunk(chunk) => ("thinking", String::new(), &chunk.text),
        EnvironmentEvent::ToolCallChunk(chunk) => ("arguments", chunk.tool_call_id.to_string(), &chunk.json),
        EnvironmentEvent::ToolOutputChunk(chunk) => {
            let call = format!("{} {:?}", chunk.tool_call_id, chunk.channel);
            ("output", call, &chunk.text)
        }
        _ => return None,
    })
}

/// Gives a piece another text.
pub(super) fn set_piece(event: &mut EnvironmentEvent, text: String) {
    match event {
        EnvironmentEvent::TextChunk(chunk) => chunk.text = text,
        EnvironmentEvent::ThinkingChunk(chunk) => chunk.text = text,
        EnvironmentEvent::ToolCallChunk(chunk) => chunk.json = text,
        EnvironmentEvent::ToolOutputChunk(chunk) => chunk.text = text,
        _ => {}
    }
}
