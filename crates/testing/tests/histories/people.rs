//! The actions of people, programs and tools in a history.

use std::sync::Arc;

use crate::Odd;
use crate::chance::Random;
use crate::refused_texts::refused_text;
use agentx_testing::vendors::png;
use agentx_types::*;
use serde_json::json;

/// Base64 of a picture of this size.
pub(crate) fn picture(width: u32, height: u32) -> String {
    agentx_llm::base64::encode(&png(width, height))
}

/// A picture: mostly a good one, or one that is too large, cut off, or of another type than it claims.
pub(crate) fn image(random: &mut Random) -> ContentPart {
    let good = picture(16, 16);
    let (media_type, data) = match random.below(8) {
        _ if !Odd::BrokenPictures.happens() => ("image/png", good),
        0 => ("image/png", picture(16, 9_000)),
        1 => ("image/png", good[..good.len() / 2 / 4 * 4].to_owned()),
        2 => ("image/jpeg", good),
        3 => ("image/png", "bm8gcGljdHVyZQ==".to_owned()),
        _ => ("image/png", good),
    };
    ContentPart::Image(MediaPart {
        media_type: media_type.into(),
        source: MediaSource::Base64(data),
        name: None,
    })
}

/// Returns a message of a person.
pub(crate) fn input(random: &mut Random, number: u64) -> UserMessage {
    let text = match random.below(24) {
        0 | 1 => " ".to_owned(),
        2 | 3 => "a long story ".repeat(300),
        4 => refused_text(number),
        _ => format!("do thing {number}"),
    };
    let mut content = vec![ContentPart::text(text)];
    if random.below(8) == 0 {
        content.push(image(random));
    }
    if random.below(16) == 0 {
        content.push(document(random));
    }
    let modes = [InputMode::Queue, InputMode::Steer, InputMode::Interrupt];
    UserMessage {
        message_id: MessageId::with_suffix(format_args!("p{number}")),
        content,
        mode: random.one_of(&modes).unwrap(),
        idempotency_key: None,
        by: None,
        answer_schema: (random.below(8) == 0).then(|| Arc::new(answer_schema(random))),
    }
}

/// A PDF file: mostly a good one, or one that is cut off or of another type than it claims.
fn document(random: &mut Random) -> ContentPart {
    let text = match random.below(8) {
        0 => "%PDF-1.7\n1 0 obj",
        1 => "no document",
        _ => {
            "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\n\
              trailer<</Root 1 0 R>>\n%%EOF\n"
        }
    };
    ContentPart::File(MediaPart {
        media_type: "application/pdf".into(),
        source: MediaSource::Base64(agentx_llm::base64::encode(text.as_bytes())),
        name: random.one_of(&[None, Some("report (2).pdf".into())]).unwrap(),
    })
}

/// The schema of an answer, with and without what the modes of vendors take.
fn answer_schema(random: &mut Random) -> AnswerSchema {
    let city = json!({"type": "string"});
    let schema = match random.below(3) {
        0 => {
            json!({"type": "object", "properties": {"city": city}, "required": ["city"], "additionalProperties": false})
        }
        1 => json!({"type": "object", "properties": {"city": city, "note": {"$ref": "#/$defs/note"}},
            "$defs": {"note": {"type": ["string", "null"], "minLength": 2}}}),
        _ => json!({"type": "array", "items": city, "maxItems": 3}),
    };
    AnswerSchema {
        repairs: random.below(3) as u32,
        ..AnswerSchema::new(schema)
    }
}

/// Returns the verdict on an answer: mostly it fits.
pub(crate) fn verdict(random: &mut Random, attempt: u32) -> AnswerChecked {
    let problems = match random.below(3) {
        0 => vec!["/: \"city\" is a required property".to_owned()],
        _ => Vec::new(),
    };
    AnswerChecked {
        attempt,
        problems,
        invalid_schema: false,
    }
}

/// Returns a tool's result.
pub(crate) fn result(random: &mut Random, tool_call_id: ToolCallId, cancelled: bool) -> ToolResult {
    let result = match random.below(20) {
        0 | 1 => Vec::new(),
        2 | 3 => vec![ContentPart::text("")],
        4 | 5 => vec![ContentPart::text("seen"), image(random)],
        6 | 7 => vec![image(random)],
        8 | 9 => vec![ContentPart::text("line\n".repeat(800))],
        10 => vec![ContentPart::text(refused_text(
            1_000_000 + random.below(1_000_000),
        ))],
        11 => vec![ContentPart::text("seen"), document(random)],
        _ => vec![ContentPart::text("seen")],
    };
    let status = match (cancelled, random.below(4)) {
        (true, _) => ToolStatus::Interrupted,
        (false, 0) => ToolStatus::Failed,
        (false, _) => ToolStatus::Success,
    };
    let is_text = |part: &ContentPart| part.as_text().is_some_and(|text| !text.is_empty());
    let result = match status {
        ToolStatus::Success => result,
        _ if Odd::FailuresWithoutText.happens() || result.iter().all(is_text) && !result.is_empty() => result,
        _ => vec![ContentPart::text("it failed")],
    };
    ToolResult {
        tool_call_id,
        result,
        is_error: status != ToolStatus::Success,
        status,
        details: None,
    }
}

/// Tools as another program, or another configuration, offers them.
pub(crate) fn tools(random: &mut Random) -> Arc<[ToolSpec]> {
    let mut tools: Vec<ToolSpec> = agentx_agent::fixtures::config().tools.to_vec();
    match random.below(4) {
        0 => drop(tools.pop()),
        1 => tools.swap(0, 1),
        2 => tools[0].description += " (newer)",
        _ => {}
    }
    tools.into()
}

/// Settings of each call.
pub(crate) fn params(random: &mut Random) -> ModelParams {
    ModelParams {
        max_output_tokens: random.one_of(&[None, Some(1_500), Some(8_000)]).unwrap(),
        temperature: random.one_of(&[None, None, Some(0.3)]).unwrap(),
        thinking_tokens: random.one_of(&[None, Some(2_000), Some(20_000)]).unwrap(),
    }
}

/// Limits of a run: none, or one that is reached soon.
pub(crate) fn limits(random: &mut Random) -> Limits {
    let none = Limits::default();
    let rounds = Limits {
        max_iterations: Some(2),
        ..none
    };
    let tokens = Limits {
        max_tokens: Some(7_000),
        ..none
    };
    let cost = Limits {
        max_cost: Some(NanoUsd(20_000_000)),
        ..none
    };
    random.one_of(&[none, rounds, tokens, cost]).unwrap()
}
