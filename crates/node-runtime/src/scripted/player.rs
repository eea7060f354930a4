//! Speaks an answer: small pieces with short pauses, and an end that always comes, also when it is
//! interrupted.
//!
//! The events are those of a real model: `stream_start`, chunks, calls in pieces, a usage, one `stream_end`.
//! With a pace a piece is committed at a time; without one up to 128 are, so that long answers in tests cost
//! little. A sink that refuses ends the play without a word, because the session is gone.

use std::time::Duration;

use agentx_runtime::EventSink;
use agentx_types::{
    Action, ContentPart, EnvironmentEvent, MessageId, ModelRequest, StopReason, StreamEnd, StreamStart,
    TextChunk, ThinkingChunk, ToolCall, ToolCallChunk, ToolCallId, ToolCallStart, Usage, UsageReport,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::answer::DemoAnswer;
use super::phrase::is_han;

/// The longest piece in bytes.
const PIECE_BYTES: usize = 24;
/// The number of pieces that are emitted together if there is no pause between them.
const PIECES_AT_ONCE: usize = 128;

/// Emits `answer` as the events of one model call.
pub(super) async fn play(
    action: &Action,
    request: &ModelRequest,
    answer: DemoAnswer,
    pace: Duration,
    events: &EventSink,
    cancel: &CancellationToken,
) {
    let id = action.action_id.as_str();
    let number = id.strip_prefix("act_").unwrap_or(id);
    let start = StreamStart {
        message_id: MessageId::with_suffix(number),
        model: request.model.id.clone(),
        attempt: 1,
    };
    if !events.emit(start).await {
        return;
    }
    let pieces = pieces_of(&answer, number);
    let mut said = 0;
    let at_once = if pace.is_zero() { PIECES_AT_ONCE } else { 1 };
    for group in pieces.chunks(at_once) {
        if !wait(pace, cancel).await {
            return end(events, request, said, StopReason::Interrupted).await;
        }
        said += group.iter().map(tokens_of).sum::<u64>();
        if !events.emit_all(group.to_vec()).await {
            return;
        }
    }
    let reason = if answer.calls.is_empty() {
        StopReason::EndTurn
    } else {
        StopReason::ToolUse
    };
    end(events, request, said, reason).await;
}

/// Waits until the next piece is due; `false` if it was interrupted.
async fn wait(pace: Duration, cancel: &CancellationToken) -> bool {
    if pace.is_zero() {
        return !cancel.is_cancelled();
    }
    tokio::select! {
        biased;
        () = cancel.cancelled() => false,
        () = tokio::time::sleep(pace) => true,
    }
}

/// Emits the estimated usage of the call and its end. Both are one batch: no end is without its usage.
async fn end(events: &EventSink, request: &ModelRequest, output_tokens: u64, stop_reason: StopReason) {
    let usage = Usage {
        input_tokens: input_tokens(request),
        output_tokens,
        ..Usage::default()
    };
    events
        .emit_all(vec![
            UsageReport { usage }.into(),
            StreamEnd {
                stop_reason,
                raw: None,
            }
            .into(),
        ])
        .await;
}

/// All events between the start and the end: reasoning, text, calls.
fn pieces_of(answer: &DemoAnswer, number: &str) -> Vec<EnvironmentEvent> {
    let thinking = split(&answer.thinking).map(|text| {
        ThinkingChunk {
            text: text.to_owned(),
        }
        .into()
    });
    let text = split(&answer.text).map(|text| {
        TextChunk {
            text: text.to_owned(),
        }
        .into()
    });
    let calls = answer.calls.iter().enumerate();
    let calls = calls.flat_map(|(index, (name, input))| {
        call_pieces(
            ToolCallId::with_suffix(format_args!("{number}_{index}")),
            name,
            input,
        )
    });
    thinking.chain(text).chain(calls).collect()
}

/// A call as a model streams it: its name, its arguments piece by piece, then the whole.
fn call_pieces(tool_call_id: ToolCallId, name: &str, input: &Value) -> Vec<EnvironmentEvent> {
    let name = name.to_owned();
    let start = ToolCallStart {
        tool_call_id: tool_call_id.clone(),
        name: name.clone(),
    };
    let mut pieces: Vec<EnvironmentEvent> = vec![start.into()];
    for json in split(&input.to_string()) {
        pieces.push(
            ToolCallChunk {
                tool_call_id: tool_call_id.clone(),
                json: json.to_owned(),
            }
            .into(),
        );
    }
    pieces.push(
        ToolCall {
            tool_call_id,
            name,
            input: input.clone(),
            invalid: None,
        }
        .into(),
    );
    pieces
}

/// Pieces of about a word: they end after white space, after two Chinese characters, or if they get long.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, after) = rest.split_at(piece_len(rest));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Returns the length of the first chunk of a text. It is never 0 unless the text is empty.
fn piece_len(text: &str) -> usize {
    let mut han = 0;
    let mut in_space = false;
    for (at, c) in text.char_indices() {
        let word_begins = in_space && !c.is_whitespace();
        if at > 0 && (word_begins || han == 2 || at >= PIECE_BYTES) {
            return at;
        }
        in_space = c.is_whitespace();
        han += usize::from(is_han(c));
    }
    text.len()
}

/// Estimated tokens of one piece, at least one.
fn tokens_of(event: &EnvironmentEvent) -> u64 {
    match event {
        EnvironmentEvent::TextChunk(chunk) => tokens(&chunk.text).max(1),
        EnvironmentEvent::ThinkingChunk(chunk) => tokens(&chunk.text).max(1),
        EnvironmentEvent::ToolCallChunk(chunk) => tokens(&chunk.json).max(1),
        _ => 0,
    }
}

/// Estimated tokens of a request: its system prompts and all parts of its messages. Media count as nothing.
fn input_tokens(request: &ModelRequest) -> u64 {
    let system = request.system.iter().map(|text| tokens(text));
    let parts = request.messages.iter().flat_map(|message| &message.content);
    system.chain(parts.map(part_tokens)).sum()
}

fn part_tokens(part: &ContentPart) -> u64 {
    match part {
        ContentPart::Text(part) => tokens(&part.text),
        ContentPart::Thinking(part) => tokens(&part.text),
        ContentPart::ToolCall(part) => tokens(&part.input.to_string()),
        ContentPart::ToolResult(part) => part.content.iter().map(part_tokens).sum(),
        ContentPart::Image(_) | ContentPart::Audio(_) | ContentPart::File(_) | ContentPart::Opaque(_) => 0,
    }
}

/// A quarter of the ASCII characters, rounded up, and each other character whole.
fn tokens(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().filter(|c| !c.is_ascii()).count();
    u64::try_from(ascii.div_ceil(4) + others).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_small_and_lose_nothing() {
        for text in [
            "",
            "hello world,  how are you?\n\nfine",
            "你好，世界。abc 你",
            &"x".repeat(1000),
            "é".repeat(99).as_str(),
        ] {
            let pieces: Vec<&str> = split(text).collect();
            assert_eq!(pieces.concat(), text);
            assert!(
                pieces
                    .iter()
                    .all(|piece| !piece.is_empty() && piece.len() <= PIECE_BYTES + 4),
                "{pieces:?}"
            );
        }
        assert_eq!(
            split("ab  cd 你好吗").collect::<Vec<_>>(),
            ["ab  ", "cd ", "你好", "吗"]
        );
    }
}
