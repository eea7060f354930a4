//! The settings of an answer: its length and temperature, which all models share, and reasoning, for which
//! each family has a field of its own in `additionalModelRequestFields`.
//!
//! | models | field |
//! | --- | --- |
//! | Claude | `thinking` and `output_config`, as at Anthropic |
//! | Nova 2 | `reasoningConfig`, with `maxReasoningEffort` |
//! | gpt-oss | `reasoning_effort` |
//! | other models of OpenAI | `reasoning.effort` |
//!
//! Sources: <https://docs.aws.amazon.com/bedrock/latest/userguide/extended-thinking.html>,
//! <https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html>, and for OpenAI's models
//! <https://github.com/jeremychone/rust-genai/pull/315> and
//! <https://github.com/stdapi-ai/stdapi.ai/issues/283>. Nova before 2 refuses the setting
//! (<https://github.com/UKGovernmentBEIS/inspect_ai/issues/5301>).

use agentx_types::{ModelRequest, RequestPart};

use super::family::ConverseFamily;
use super::messages::ConverseTurn;
use crate::anthropic::{SMALLEST_BUDGET, thinking_mode};
use crate::json::{BorrowedJson, object};
use crate::request_words::{effort, longest_answer};
use crate::wire_options::WireOptions;
use crate::wire_options::anthropic::ThinkingMode;
use crate::wire_options::chat::Effort;

/// The settings of an answer in a request.
pub(super) struct AnswerSettings<'a> {
    /// `inferenceConfig`; may be empty.
    pub(super) shared: BorrowedJson<'a>,
    /// `additionalModelRequestFields`; may be empty.
    pub(super) of_family: BorrowedJson<'a>,
}

/// Returns the settings of an answer. If a Claude with a budget of reasoning does not reason in this request,
/// its last answer loses its reasoning: the model refuses it there.
pub(super) fn settings<'a>(
    request: &ModelRequest,
    options: &WireOptions,
    turns: &mut [ConverseTurn<'_>],
) -> AnswerSettings<'a> {
    let family = ConverseFamily::of(&request.model.id);
    let mut settings = AnswerSettings {
        shared: shared(request, options),
        of_family: object! {},
    };
    if request.plain {
        return settings;
    }
    match family {
        ConverseFamily::Claude => claude(request, options, turns, &mut settings),
        ConverseFamily::Nova2 => nova(request, options, &mut settings),
        ConverseFamily::GptOss | ConverseFamily::Gpt => gpt(family, request, options, &mut settings),
        ConverseFamily::Nova | ConverseFamily::Other => {}
    }
    settings
}

fn shared<'a>(request: &ModelRequest, options: &WireOptions) -> BorrowedJson<'a> {
    let mut config = object! {};
    if request.params.max_output_tokens.is_some() && !request.is_without(RequestPart::MaxTokens) {
        config.set("maxTokens", longest_answer(request));
    }
    let takes_temperature = options.anthropic.temperature && !request.is_without(RequestPart::Temperature);
    if let Some(temperature) = request.params.temperature.filter(|_| takes_temperature) {
        config.set("temperature", temperature.clamp(0.0, 1.0));
    }
    config
}

/// The effort that a person set for the model, else the one nearest to the requested reasoning tokens.
fn wanted_effort(request: &ModelRequest, options: &WireOptions) -> Option<&'static str> {
    if request.is_without(RequestPart::ReasoningEffort) || request.is_without(RequestPart::Reasoning) {
        return None;
    }
    let set = options.chat.effort.map(Effort::as_str);
    set.or_else(|| request.params.thinking_tokens.map(effort))
}

/// Nova 2 knows three efforts. With the highest one it refuses a length ("`maxTokens` must be unset when
/// reasoningConfig type is 'enabled' and maxReasoningEffort is 'high'",
/// <https://github.com/UKGovernmentBEIS/inspect_ai/issues/3767>) and a temperature.
fn nova(request: &ModelRequest, options: &WireOptions, settings: &mut AnswerSettings<'_>) {
    let effort = match wanted_effort(request, options) {
        None | Some("none") => return,
        Some("minimal" | "low") => "low",
        Some("medium") => "medium",
        Some(_) => "high",
    };
    if effort == "high" {
        settings.shared = object! {};
    }
    let config = object! {"type": "enabled", "maxReasoningEffort": effort};
    settings.of_family.set("reasoningConfig", config);
}

fn gpt(
    family: ConverseFamily,
    request: &ModelRequest,
    options: &WireOptions,
    settings: &mut AnswerSettings<'_>,
) {
    let Some(effort) = wanted_effort(request, options) else {
        return;
    };
    if family == ConverseFamily::GptOss {
        settings.of_family.set("reasoning_effort", effort);
    } else {
        settings.of_family.set("reasoning", object! {"effort": effort});
    }
}

/// Claude reasons with a budget or by its own decision, as at Anthropic, and then takes no temperature.
fn claude(
    request: &ModelRequest,
    options: &WireOptions,
    turns: &mut [ConverseTurn<'_>],
    settings: &mut AnswerSettings<'_>,
) {
    let wanted = request.params.thinking_tokens;
    let max_tokens = longest_answer(request);
    match (thinking_mode(request, &options.anthropic), wanted) {
        (ThinkingMode::Adaptive, wanted) if wanted.is_some() || options.anthropic.thinks_by_default => {
            let mut thinking = object! {"type": "adaptive"};
            if !request.is_without(RequestPart::ThinkingDisplay) {
                thinking.set("display", "summarized");
            }
            settings.of_family.set("thinking", thinking);
            if let Some(tokens) = wanted.filter(|_| !request.is_without(RequestPart::ReasoningEffort)) {
                let config = object! {"effort": effort(tokens)};
                settings.of_family.set("output_config", config);
            }
        }
        (ThinkingMode::Budget, Some(tokens)) => {
            let budget = tokens.max(SMALLEST_BUDGET).min(max_tokens.saturating_sub(1_024));
            if budget < SMALLEST_BUDGET || !may_reason(turns) {
                leave_out_of_last(turns);
                return;
            }
            let thinking = object! {"type": "enabled", "budget_tokens": budget};
            settings.of_family.set("thinking", thinking);
            settings.shared.set("maxTokens", max_tokens);
        }
        (ThinkingMode::None | ThinkingMode::Budget | ThinkingMode::Adaptive, _) => return,
    }
    without_temperature(&mut settings.shared);
}

fn without_temperature(config: &mut BorrowedJson<'_>) {
    if let BorrowedJson::Object(fields) = config {
        fields.retain(|(name, _)| *name != "temperature");
    }
}

/// Returns whether the request may ask for a budget: while results of tools are being answered, the turn that
/// called them has to have begun with reasoning.
fn may_reason(turns: &[ConverseTurn<'_>]) -> bool {
    let is_open = |turn: &ConverseTurn<'_>| {
        turn.role == "assistant" || turn.blocks.iter().any(|block| block.has("toolResult"))
    };
    let from = turns.iter().rposition(|turn| !is_open(turn));
    let open = &turns[from.map_or(0, |at| at + 1)..];
    let first = open.iter().find(|turn| turn.role == "assistant");
    first.is_none_or(|turn| turn.blocks.first().is_some_and(is_reasoning))
}

fn leave_out_of_last(turns: &mut [ConverseTurn<'_>]) {
    let last = turns.iter_mut().rfind(|turn| turn.role == "assistant");
    if let Some(turn) = last {
        turn.blocks.retain(|block| !is_reasoning(block));
    }
}

fn is_reasoning(block: &BorrowedJson<'_>) -> bool {
    block.has("reasoningContent")
}
