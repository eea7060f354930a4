//! Decodes the token counts of an answer, in every dialect.
//!
//! The kinds of AgentX do not overlap, and servers differ in which of theirs do. `total_tokens` shows it, if
//! it is more than prompt and completion together. The surplus is, in this order:
//!
//! 1. tokens of the cache, if their number is exactly that: Azure's grok counts cached tokens separately from
//!    the prompt, and gateways to Bedrock also those written to the cache
//!    (<https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html>);
//! 2. reasoning, if its number is exactly that: xAI counts it separately from the completion;
//! 3. otherwise unnamed output: Gemini counts its thoughts only in the total, and gateways to it pass that on
//!    (<https://github.com/mozilla-ai/any-llm/issues/1290>, <https://github.com/vercel/ai/issues/6082>). They
//!    are charged as output. Only the input of Gemini's own tools (`toolUsePromptTokenCount`) would be input,
//!    and AgentX requests none of those tools.
//!
//! If a count is impossible (1e30, -5), all counts of the input, or of the output, are set to 0, which the
//! caller estimates.

use agentx_types::Usage;

use super::cost;
use super::wire::UsageWire;
use crate::lenient_json::{LenientCount, all_plausible};

/// The input tokens. Tokens of the cache are a part of the prompt, or separate from it.
#[derive(Clone, Copy, Default)]
struct UsageRead {
    prompt: u64,
    cached: u64,
    stored: u64,
    /// The number of tokens of the cache that are separate from the prompt, regardless of the total.
    beside: u64,
}

/// The output tokens. Reasoning is a part of the completion, or separate from it.
#[derive(Clone, Copy, Default)]
struct OutputTokens {
    completion: u64,
    reasoning: u64,
}

/// Returns the tokens, in kinds that do not overlap.
pub(crate) fn usage(wire: &UsageWire) -> Usage {
    let (read, written) = (read(wire), written(wire));
    let knows_all = read.is_some_and(|read| read.prompt > 0) && written.is_some();
    let (read, written) = (read.unwrap_or_default(), written.unwrap_or_default());
    let UsageRead {
        prompt,
        cached,
        stored,
        ..
    } = read;
    let OutputTokens {
        completion,
        reasoning,
    } = written;
    let total = wire
        .total_tokens
        .filter(|total| knows_all && total.is_plausible());
    let mut rest = total.map_or(0, |total| total.number.saturating_sub(prompt + completion));
    let of_cache = beside_prompt(read, reasoning, rest);
    rest = rest.saturating_sub(of_cache);
    let of_reasoning = if reasoning > completion || rest == reasoning {
        reasoning
    } else {
        0
    };
    rest = rest.saturating_sub(of_reasoning);

    let prompt = prompt + of_cache;
    let cache_write_tokens = stored.min(prompt - cached);
    Usage {
        input_tokens: prompt - cached - cache_write_tokens,
        output_tokens: completion + of_reasoning + rest,
        cache_read_tokens: cached,
        cache_write_tokens,
        reasoning_tokens: if reasoning > 0 { reasoning } else { rest },
        reported_cost: cost::reported(wire),
        ..Usage::default()
    }
}

/// Returns the number of tokens of the cache that are not part of the prompt.
fn beside_prompt(read: UsageRead, reasoning: u64, rest: u64) -> u64 {
    let UsageRead { cached, stored, .. } = read;
    let explains = |tokens: &u64| *tokens > 0 && (rest == *tokens || rest == *tokens + reasoning);
    [cached, cached + stored]
        .into_iter()
        .find(explains)
        .unwrap_or(read.beside)
}

/// Returns the input tokens; `None` if a count is not plausible.
fn read(wire: &UsageWire) -> Option<UsageRead> {
    let details = [wire.prompt_tokens_details, wire.input_tokens_details].map(Option::unwrap_or_default);
    let cached = [
        details[0].cached_tokens,
        details[1].cached_tokens,
        wire.prompt_cache_hit_tokens,
        wire.cached_tokens,
        wire.cache_read_input_tokens,
    ];
    let stored = [
        details[0].cache_write_tokens,
        details[0].cache_creation_tokens,
        details[1].cache_write_tokens,
        wire.cache_creation_input_tokens,
    ];
    let prompt = [wire.prompt_tokens, wire.input_tokens];
    if !all_plausible(&prompt) || !all_plausible(&cached) || !all_plausible(&stored) {
        return None;
    }
    let (prompt_tokens, cached, stored) = (first(&prompt), first(&cached), first(&stored));
    // Anthropic's own shape: its `input_tokens` exclude those of the cache.
    let is_of_anthropic = first(&[wire.prompt_tokens]) == 0
        && (wire.cache_read_input_tokens.is_some() || wire.cache_creation_input_tokens.is_some());
    let beside = match () {
        () if is_of_anthropic => cached + stored,
        () if cached > prompt_tokens => cached,
        () => 0,
    };
    Some(UsageRead {
        prompt: prompt_tokens,
        cached,
        stored,
        beside,
    })
}

/// Returns the output tokens; `None` if a count is not plausible.
fn written(wire: &UsageWire) -> Option<OutputTokens> {
    let details = [wire.completion_tokens_details, wire.output_tokens_details].map(Option::unwrap_or_default);
    let completion = [wire.completion_tokens, wire.output_tokens];
    let reasoning = [
        details[0].reasoning_tokens,
        details[1].reasoning_tokens,
        wire.reasoning_tokens,
    ];
    (all_plausible(&completion) && all_plausible(&reasoning)).then(|| OutputTokens {
        completion: first(&completion),
        reasoning: first(&reasoning),
    })
}

/// The first count that is not 0: servers that know several names fill those that they do not use with zeros.
fn first(counts: &[Option<LenientCount>]) -> u64 {
    let mut counts = counts.iter().flatten().map(|count| count.number);
    counts.find(|count| *count > 0).unwrap_or_default()
}

/// The later of two reports of one answer. A report with only zeros replaces no count: gateways end an answer
/// like this if they know no more.
pub(super) fn later(before: Option<UsageWire>, now: UsageWire) -> UsageWire {
    let counts = [
        now.prompt_tokens,
        now.input_tokens,
        now.completion_tokens,
        now.output_tokens,
    ];
    match before {
        Some(before) if first(&counts) == 0 => UsageWire {
            cost: now.cost.or(before.cost),
            cost_details: now.cost_details.or(before.cost_details),
            is_byok: now.is_byok.or(before.is_byok),
            cost_in_usd_ticks: now.cost_in_usd_ticks.or(before.cost_in_usd_ticks),
            ..before
        },
        _ => now,
    }
}
