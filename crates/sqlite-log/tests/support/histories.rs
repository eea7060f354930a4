//! Histories of every kind of event, for tests that hold for any.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "each test file uses a part of it"
)]

use std::sync::Arc;

use agentx_runtime::Fact;
use agentx_types::*;
use proptest::prelude::*;
use serde_json::json;
use serde_json::value::RawValue;

use crate::support::{session, stream_end, stream_start, text, tool_result, user};

/// The context of an event, from a small set so that contexts repeat.
fn context(n: usize) -> (Source, Option<AgentStateId>, Option<RunId>, Option<ActionId>) {
    let source = [Source::User, Source::Agent, Source::Environment, Source::System][n % 4];
    let agent = (!n.is_multiple_of(3)).then(|| AgentStateId::with_suffix(n % 3));
    let run = (!n.is_multiple_of(2)).then(|| RunId::of_input(n as u64));
    let cause = (n % 5 > 2).then(|| ActionId::following(7, n));
    (source, agent, run, cause)
}

fn event(kind: usize, words: &str, number: f64) -> EnvironmentEvent {
    let call = ToolCallId::new("call_1");
    let raw = |json: String| RawValue::from_string(json).unwrap();
    match kind {
        0..=5 => text(words),
        6..=8 => ThinkingChunk { text: words.into() }.into(),
        9 => user(words),
        10 => stream_start(),
        11 => stream_end(),
        12 => PartEnd {}.into(),
        13 => ToolCallStart {
            tool_call_id: call,
            name: words.into(),
        }
        .into(),
        14 => ToolCallChunk {
            tool_call_id: call,
            json: words.into(),
        }
        .into(),
        15 => ToolOutputChunk {
            tool_call_id: call,
            channel: OutputChannel::Stderr,
            text: words.into(),
        }
        .into(),
        16 => tool_result(json!({"number": number, "words": words, "nested": [null, true, {"k": -1}]})),
        17 => EnvironmentEvent::Unknown(UnknownEvent {
            tag: format!("tag_of_tomorrow{words}"),
            payload: raw(json!({ "any": words, "order": {"z": 1, "a": number} }).to_string()),
        }),
        18 => text(&words.repeat(600)),
        19 => Interrupted {
            reason: words.repeat(500),
        }
        .into(),
        20 => SystemCommand {
            command: words.into(),
            args: json!({"f": number}),
            by: None,
        }
        .into(),
        _ => ErrorOccurred {
            code: "c".into(),
            message: words.into(),
            recoverable: true,
        }
        .into(),
    }
}

/// Kind, text, context, time step and a number.
pub type Seed = (usize, String, usize, i64, f64);

/// Histories as the batches in which they were committed.
pub fn histories() -> impl Strategy<Value = Vec<Vec<Seed>>> {
    let words = prop_oneof![
        "[a-z ]{0,9}",
        "[会话日志🙂é]{0,6}",
        "\\PC{0,80}",
        Just("\0\n\"\\".to_owned())
    ];
    let number = prop_oneof![
        any::<i32>().prop_map(f64::from),
        -1e9..1e9f64,
        proptest::num::f64::NORMAL
    ];
    let step = prop_oneof![0..40i64, -5_000_000..5_000_000i64, Just(i64::MAX / 8)];
    let event = (0..22usize, words, 0..30usize, step, number);
    prop::collection::vec(prop::collection::vec(event, 1..12), 1..40)
}

/// The facts of a batch; `at` is the time of the fact before it, and afterwards that of its last fact.
pub fn events_of(seeds: Vec<Seed>, first_seq: u64, at: &mut i64) -> Vec<Fact> {
    let fact = |(seq, (kind, words, ctx, step, float)): (u64, Seed)| {
        *at = at.wrapping_add(step);
        let (source, agent_state_id, run_id, cause) = context(ctx);
        let draft = EventDraft {
            source,
            agent_state_id,
            run_id,
            cause,
            event: event(kind, &words, float),
        };
        Arc::new(draft.into_envelope(session(), seq, Timestamp(*at)))
    };
    (first_seq..).zip(seeds).map(fact).collect()
}
