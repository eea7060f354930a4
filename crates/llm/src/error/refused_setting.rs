//! Finds the single setting of a request that a provider refuses by name. The request then succeeds without
//! the setting, so it is left out, or sent under its other name.
//!
//! Sources of the words: OpenAI and Azure ("Unsupported parameter: 'max_tokens' is not supported with this
//! model. Use 'max_completion_tokens' instead.",
//! <https://github.com/OpenHands/software-agent-sdk/issues/1083>; the other way round "Unrecognized request
//! argument supplied: max_completion_tokens", <https://github.com/BerriAI/litellm/issues/8855>; "Unsupported
//! value: 'temperature' does not support 0 with this model",
//! <https://github.com/gabrii/Cursor-Azure-GPT-5/issues/33>; "'reasoning_effort' does not support 'none' with
//! this model. Supported values are: …", <https://github.com/Kilo-Org/cloud/pull/3807>), Cerebras
//! ("reasoning_effort Input should be 'low', 'medium' or 'high'",
//! <https://github.com/egoist/chatwise-releases/issues/1325>), Fireworks ("Extra inputs are not permitted,
//! field: 'stream_options'", <https://github.com/FlowiseAI/Flowise/issues/2866>), OpenAI's Responses
//! ("Unsupported parameter: 'reasoning.effort' is not supported with this model.",
//! <https://github.com/OpenHands/software-agent-sdk/issues/3553>; "Your organization must be verified to
//! generate reasoning summaries.", <https://github.com/OpenHands/software-agent-sdk/issues/987>), Gemini
//! ("Thinking level is not supported for this model.", <https://github.com/RooCodeInc/Roo-Code/issues/10700>;
//! "The thinking budget (52428) is invalid.", <https://github.com/RooCodeInc/Roo-Code/issues/4399>; "The
//! model does not support setting thinking_budget to 0", <https://github.com/earendil-works/pi/issues/3460>;
//! that the model only works in thinking mode, <https://github.com/vercel/ai/issues/8027>), Bedrock's
//! Converse ("extraneous key [cachePoint] is not permitted",
//! <https://github.com/zeroclaw-labs/zeroclaw/issues/8720>; "You invoked an unsupported model or your request
//! did not allow prompt caching", <https://github.com/zeroclaw-labs/zeroclaw/pull/7315>; "the provided
//! reasoning config value is invalid", <https://github.com/UKGovernmentBEIS/inspect_ai/issues/5301>), and
//! servers that are built on FastAPI (422 `extra_forbidden` with the place `body.stream_options`,
//! <https://github.com/gpustack/gpustack/issues/429>).

use agentx_types::RequestPart;

/// Settings by their names, in lower case.
const SETTINGS: &[(&str, RequestPart)] = &[
    ("max_tokens", RequestPart::MaxTokens),
    ("max_completion_tokens", RequestPart::MaxCompletionTokens),
    ("temperature", RequestPart::Temperature),
    ("stream_options", RequestPart::StreamOptions),
    ("max_output_tokens", RequestPart::MaxTokens),
    ("reasoning_effort", RequestPart::ReasoningEffort),
    ("reasoning.effort", RequestPart::ReasoningEffort),
    ("reasoning.summary", RequestPart::ReasoningSummary),
    ("reasoning summaries", RequestPart::ReasoningSummary),
    ("prompt_cache_key", RequestPart::CacheKey),
    ("thinking level", RequestPart::ReasoningEffort),
    ("thinking_level", RequestPart::ReasoningEffort),
    ("thinking budget", RequestPart::ReasoningEffort),
    ("thinking_budget", RequestPart::ReasoningEffort),
    ("works in thinking mode", RequestPart::ReasoningEffort),
    ("reasoning.max_tokens", RequestPart::ReasoningEffort),
    ("effort parameter", RequestPart::ReasoningEffort),
    ("output_config", RequestPart::ReasoningEffort),
    ("thinking is not enabled", RequestPart::Reasoning),
    ("thinking_config", RequestPart::Reasoning),
    ("cache_control", RequestPart::CacheControl),
    ("cachepoint", RequestPart::CacheControl),
    ("allow prompt caching", RequestPart::CacheControl),
    ("reasoningconfig", RequestPart::ReasoningEffort),
    ("reasoning config", RequestPart::ReasoningEffort),
    ("block_binding", RequestPart::ThinkingBinding),
    ("anthropic-beta", RequestPart::ThinkingBinding),
    ("anthropic_beta", RequestPart::ThinkingBinding),
    ("beta flag", RequestPart::ThinkingBinding),
    ("thinking.display", RequestPart::ThinkingDisplay),
    ("thinking.adaptive.display", RequestPart::ThinkingDisplay),
    ("thinking.type.adaptive", RequestPart::AdaptiveThinking),
    ("adaptive thinking", RequestPart::AdaptiveThinking),
    ("'adaptive' is not supported", RequestPart::AdaptiveThinking),
    ("thinking.type.enabled", RequestPart::ThinkingBudget),
];

/// Settings of OpenAI's Responses whose names are words of English: they count only where a message marks
/// them as names.
const WORDS: &[(&str, RequestPart)] = &[
    ("include", RequestPart::Include),
    ("store", RequestPart::Store),
    ("reasoning", RequestPart::Reasoning),
];

/// The words before a name that is not quoted: "Unsupported parameter: store", "Unrecognized request argument
/// supplied: include", xAI's "Argument not supported on this model: reasoning", and FastAPI's `body.include`.
const BEFORE_NAMES: &[&str] = &[
    "parameter: ",
    "parameters: ",
    "supplied: ",
    "model: ",
    "field: ",
    "body.",
];

/// Words about a name that is not known or not accepted.
pub(super) const UNKNOWN: &[&str] = &[
    "unsupported",
    "not supported",
    "no longer supported",
    "unrecognized",
    "unknown",
    "unexpected",
    "extra inputs",
    "extra_forbidden",
    "not permitted",
    "not allowed",
    "deprecated",
];

/// Words about a value.
const WRONG_VALUE: &[&str] = &[
    "does not support",
    "should be",
    "must be",
    "may only",
    "invalid",
    "not enabled",
    "only enabled",
    "not configurable",
    "only one of",
];

/// The refused setting, if the message, in lower case, names one; of several the first. `param` is the
/// setting that a field of the body names.
pub(super) fn named(message: &str, param: Option<&str>) -> Option<RequestPart> {
    let has = |pieces: &[&str]| pieces.iter().any(|piece| message.contains(piece));
    let by_field = param.and_then(|param| SETTINGS.iter().find(|(name, _)| *name == param));
    let place = |name: &str| {
        message
            .match_indices(name)
            .map(|(at, _)| at)
            .find(|at| is_whole(message, *at, name.len()))
    };
    let by_words = || {
        let places = SETTINGS
            .iter()
            .filter_map(|setting| Some((place(setting.0)?, setting)));
        places.min_by_key(|(at, _)| *at).map(|(_, setting)| setting)
    };
    if let Some(part) = marked(message, param).filter(|_| has(UNKNOWN)) {
        return Some(part);
    }
    let (_, part) = by_field.or_else(by_words)?;
    // A limit that is too large is not a wrong name.
    let is_name = matches!(part, RequestPart::MaxTokens | RequestPart::MaxCompletionTokens);
    let is_refused = has(UNKNOWN) || (!is_name && has(WRONG_VALUE));
    is_refused.then_some(*part)
}

/// The setting with an English word for a name that the message marks as a name: by its field `param`, by
/// quotes, or by the words before or behind it.
fn marked(message: &str, param: Option<&str>) -> Option<RequestPart> {
    let is_it = |name: &str| {
        let quoted = ["'", "\"", "`"]
            .iter()
            .any(|quote| message.contains(&format!("{quote}{name}{quote}")));
        let behind = |before: &&str| {
            let place = message.find(&format!("{before}{name}"));
            place.is_some_and(|at| is_end(message, at + before.len() + name.len()))
        };
        let extra = message.starts_with(&format!("{name}: extra inputs"));
        param == Some(name) || quoted || extra || BEFORE_NAMES.iter().any(behind)
    };
    // A model that refuses this refuses a summary of its reasoning, too.
    if message.contains("encrypted content") {
        return None;
    }
    WORDS.iter().find(|(name, _)| is_it(name)).map(|(_, part)| *part)
}

/// Returns whether the name ends at this place: `reasoning.effort` is not `reasoning`.
fn is_end(message: &str, at: usize) -> bool {
    let mut rest = message[at..].chars();
    match rest.next() {
        Some('.') => !rest.next().is_some_and(char::is_alphanumeric),
        Some(c) => !(c.is_alphanumeric() || matches!(c, '_' | '[')),
        None => true,
    }
}

/// Returns whether `strict` in the description of a tool is refused by name: "Unknown parameter:
/// 'tools[0].strict'.", FastAPI's `body.tools.0.strict`.
pub(super) fn is_strict_of_a_tool(message: &str, param: Option<&str>) -> bool {
    let names = |text: &str| {
        let mut places = text
            .match_indices("tools")
            .map(|(at, _)| &text[at + "tools".len()..]);
        places.any(|rest| {
            let end = rest
                .find(|c: char| c.is_whitespace() || matches!(c, '\'' | '`' | '"'))
                .unwrap_or(rest.len());
            rest[..end].trim_end_matches(['.', ':', ',']).ends_with(".strict")
        })
    };
    UNKNOWN.iter().any(|words| message.contains(words)) && (names(message) || param.is_some_and(names))
}

/// Returns whether no letter is directly before or behind it: `temperature` is not part of `get_temperature`.
fn is_whole(message: &str, at: usize, length: usize) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let before = message[..at].chars().next_back();
    let behind = message[at + length..].chars().next();
    !before.is_some_and(is_letter) && !behind.is_some_and(is_letter)
}
