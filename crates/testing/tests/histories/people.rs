//! The actions of people, programs and tools in a history.

use std::sync::Arc;

use crate::Odd;
use crate::chance::Random;
use agentx_testing::vendors::png;
use agentx_types::*;

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
    let text = match random.below(12) {
        0 => " ".to_owned(),
        1 => "a long story ".repeat(300),
        _ => format!("do thing {number}"),
    };
    let mut content = vec![ContentPart::text(text)];
    if random.below(8) == 0 {
        content.push(image(random));
    }
    let modes = [InputMode::Queue, InputMode::Steer, InputMode::Interrupt];
    UserMessage {
        message_id: MessageId::with_suffix(format_args!("p{number}")),
        content,
        mode: random.one_of(&modes).unwrap(),
        idempotency_key: None,
        by: None,
        answer_schema: None,
    }
}

/// Returns a tool's result.
pub(crate) fn result(random: &mut Random, tool_call_id: ToolCallId, cancelled: bool) -> ToolResult {
    let result = match random.below(10) {
        0 => Vec::new(),
        1 => vec![ContentPart::text("")],
        2 => vec![ContentPart::text("seen"), image(random)],
        3 => vec![image(random)],
        4 => vec![ContentPart::text("line\n".repeat(800))],
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
