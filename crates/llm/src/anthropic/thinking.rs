//! Requests reasoning, and handles earlier reasoning if the conversation has changed since.
//!
//! The rules are those of platform.claude.com/docs/en/build-with-claude, as of November 2026: `thinking` and
//! `adaptive-thinking` for the request, `preserved-thinking` for thinking that is bound to the messages
//! before it.

use agentx_types::{ModelRequest, RequestPart};

use super::message_turn::MessageTurn;
use crate::json::{BorrowedJson, object};
use crate::request_words::effort;
use crate::wire_options::anthropic::{AnthropicOptions, ThinkingMode};

/// The smallest budget that the API accepts.
pub(crate) const SMALLEST_BUDGET: u64 = 1_024;

/// The beta under which a request may decide about thinking that no longer fits: without this header the
/// field is refused.
const BINDING_CONTROLS: &str = "thinking-binding-controls-2026-08-01";

/// Returns the value of the `anthropic-beta` header that a request needs; `None` if it needs none.
pub fn beta(request: &ModelRequest, options: &AnthropicOptions) -> Option<&'static str> {
    let takes_it = !request.plain && !request.is_without(RequestPart::ThinkingBinding);
    (mode(request, options) == ThinkingMode::Adaptive && options.binds_thinking && takes_it)
        .then_some(BINDING_CONTROLS)
}

/// The way to request reasoning: that of the model, or the other one if the provider has refused it
/// ("adaptive thinking is not supported on this model", <https://github.com/docker/docker-agent/issues/3362>;
/// ""thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive"",
/// <https://github.com/handochan/aelix-ai/issues/258>).
pub(crate) fn mode(request: &ModelRequest, options: &AnthropicOptions) -> ThinkingMode {
    let no_adaptive = request.is_without(RequestPart::AdaptiveThinking);
    let no_budget = request.is_without(RequestPart::ThinkingBudget);
    match options.thinking {
        ThinkingMode::Adaptive | ThinkingMode::Budget if no_adaptive && no_budget => ThinkingMode::None,
        ThinkingMode::Adaptive if no_adaptive => ThinkingMode::Budget,
        ThinkingMode::Budget if no_budget => ThinkingMode::Adaptive,
        own => own,
    }
}

/// Sets the reasoning fields of the request, or the temperature if there are none. Returns whether reasoning
/// is requested.
pub(super) fn ask(
    request: &ModelRequest,
    options: &AnthropicOptions,
    max_tokens: u64,
    turns: &[MessageTurn<'_>],
    body: &mut BorrowedJson<'_>,
) -> bool {
    let wanted = request.params.thinking_tokens;
    match (mode(request, options), wanted) {
        (ThinkingMode::Adaptive, wanted)
            if wanted.is_some() || (options.thinks_by_default && !request.plain) =>
        {
            body.set("thinking", adaptive(request, options));
            if let Some(tokens) = wanted.filter(|_| !request.is_without(RequestPart::ReasoningEffort)) {
                body.set_missing("output_config", object! {});
                if let Some(config) = body.field_mut("output_config") {
                    config.set("effort", effort(tokens));
                }
            }
            return true;
        }
        (ThinkingMode::Budget, Some(tokens)) if may_think(turns) => {
            let budget = tokens.max(SMALLEST_BUDGET).min(max_tokens.saturating_sub(1_024));
            if budget >= SMALLEST_BUDGET {
                body.set("thinking", object! {"type": "enabled", "budget_tokens": budget});
                return true;
            }
        }
        (ThinkingMode::None | ThinkingMode::Budget | ThinkingMode::Adaptive, _) => {}
    }
    let takes_temperature = options.temperature && !request.is_without(RequestPart::Temperature);
    if let Some(temperature) = request.params.temperature.filter(|_| takes_temperature) {
        body.set("temperature", temperature.clamp(0.0, 1.0));
    }
    false
}

/// Leaves thinking out of the last message of the assistant: a model that is not to think refuses it there.
/// It is so near a full window, if no budget fits, in the middle of a turn that began with thinking.
pub(super) fn leave_out_of_last(turns: &mut [MessageTurn<'_>]) {
    let last = turns.iter_mut().rfind(|turn| turn.role == "assistant");
    if let Some(turn) = last {
        turn.blocks.retain(|block| !is_thinking(block));
    }
}

/// The model decides how much it thinks. `display` is `omitted` by default from Opus 4.7 on: all reasoning,
/// and on the newest models all words between tool calls, would come as empty blocks.
fn adaptive(request: &ModelRequest, options: &AnthropicOptions) -> BorrowedJson<'static> {
    let mut thinking = object! {"type": "adaptive"};
    if !request.plain && !request.is_without(RequestPart::ThinkingDisplay) {
        thinking.set("display", "summarized");
    }
    if beta(request, options).is_some() {
        thinking.set(
            "block_binding",
            object! {"prefix_mismatch_behavior": "drop_block"},
        );
    }
    thinking
}

/// Returns whether the request may ask for thinking. While tool calls are being answered, the API refuses a
/// budget unless the turn that they belong to began with thinking. The model thinks once, at the beginning of
/// that turn, so later answers in it have no thinking.
fn may_think(turns: &[MessageTurn<'_>]) -> bool {
    let is_open = |turn: &MessageTurn<'_>| turn.role == "assistant" || turn.has_block("tool_result");
    let from = turns.iter().rposition(|turn| !is_open(turn));
    let open = &turns[from.map_or(0, |at| at + 1)..];
    let first = open.iter().find(|turn| turn.role == "assistant");
    first.is_none_or(|turn| turn.blocks.first().is_some_and(is_thinking))
}

pub(super) fn is_thinking(block: &BorrowedJson<'_>) -> bool {
    matches!(block.kind(), Some("thinking" | "redacted_thinking"))
}
