//! Answers of models: well-behaved ones, and those that are cut off, make names up or send odd arguments.

use crate::Odd;
use crate::chance::Random;
use agentx_testing::vendors::{AnswerPart, ModelAnswer};
use agentx_types::Api;
use serde_json::{Value, json};

/// Names of tools that models ask for.
const NAMES: &[&str] = &[
    "look",
    "look",
    "look",
    "change",
    "change",
    "finish",
    "recall",
    "functions.look",
    "",
    "look at it",
    "мир",
];

/// An answer of a model of this API; `number` makes its ids unique.
pub(crate) fn answer(random: &mut Random, api: Api, number: u64) -> ModelAnswer {
    let mut answer = ModelAnswer::default();
    let parts = match random.below(12) {
        0 => "t",
        1 => "",
        2 => "tw",
        3 => "w",
        4 => "c",
        5 => "wc",
        6 => "tcc",
        7 => "twccc",
        8 => "cc",
        9 => "twtc",
        10 => "twc",
        _ => "tc",
    };
    for (at, kind) in parts.chars().enumerate() {
        answer = answer.then(match kind {
            't' => AnswerPart::Thinking(words(random, "I wonder about it. ")),
            'w' => AnswerPart::Text(words(random, "So it is said. ")),
            _ => call(random, number * 10 + at as u64),
        });
    }
    let cut_off = parts == "t" || random.below(12) == 0;
    answer.stop = match (cut_off, api) {
        (false, _) => None,
        (true, Api::Anthropic | Api::Bedrock | Api::VertexAnthropic) => {
            random.one_of(&["max_tokens", "refusal", "model_context_window_exceeded"])
        }
        (true, Api::BedrockConverse) => {
            random.one_of(&["max_tokens", "content_filtered", "guardrail_intervened"])
        }
        (true, Api::Gemini) => random.one_of(&["MAX_TOKENS", "SAFETY", "OTHER", "MALFORMED_FUNCTION_CALL"]),
        (true, Api::GeminiInteractions) => random.one_of(&["incomplete", "failed", "cancelled"]),
        (true, _) => random.one_of(&["length", "content_filter"]),
    };
    answer
}

fn words(random: &mut Random, words: &str) -> String {
    match random.below(10) {
        0 => " \n".to_owned(),
        1 => "grüße 😀 ".to_owned(),
        2 => words.repeat(200),
        _ => words.repeat(1 + random.below(8) as usize),
    }
}

fn call(random: &mut Random, number: u64) -> AnswerPart {
    let name = match random.below(30) {
        0 if Odd::MadeUpNames.happens() => "x".repeat(300),
        _ if !Odd::MadeUpNames.happens() => random.one_of(&NAMES[..7]).unwrap().to_owned(),
        _ => random.one_of(NAMES).unwrap().to_owned(),
    };
    // Small servers count from the start in each answer; others include the name, or make long ids.
    let id = match random.below(8) {
        0 => "call_0".to_owned(),
        1 => format!("functions.{name}:{number}"),
        2 if Odd::LongIds.happens() => format!("fc_{number:050}"),
        _ => format!("toolu_{number}"),
    };
    let input = match random.below(8) {
        0 => json!("a text"),
        1 => json!([1, 2]),
        2 => json!({}),
        3 => Value::Null,
        _ => json!({ "path": "a/b.txt" }),
    };
    AnswerPart::Call { id, name, input }
}
