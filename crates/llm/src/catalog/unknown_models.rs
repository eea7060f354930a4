//! Wire options for models of OpenAI and Anthropic that the catalog does not know: new ones appear every few
//! weeks, and refuse parameters that older ones need.

use agentx_types::{Api, ModelRequest};

use crate::openai_models::{needs_responses_for_tools, reasoning_version};
use crate::wire_options::WireOptions;
use crate::wire_options::anthropic::{AnthropicOptions, ThinkingMode};
use crate::wire_options::chat::{ChatOptions, EffortWithTools, MaxTokensField, ReasoningEcho, ThinkingParam};

/// Returns the wire options that the model's name implies; `None` if it is not a reasoning model of OpenAI.
///
/// From gpt-5.5 on, Chat Completions accepts tools only with `reasoning_effort: "none"`; gpt-6-sol says so on
/// its page (<https://developers.openai.com/api/docs/models/gpt-6-sol.md>). Some refuse `none` as well:
/// their tools need the Responses API ([`needs_responses_for_tools`]).
pub(super) fn wire(id: &str) -> Option<WireOptions> {
    let effort_with_tools = match reasoning_version(id)? {
        ..54 => EffortWithTools::AsWished,
        54 => EffortWithTools::Omitted,
        _ => EffortWithTools::None,
    };
    let chat = ChatOptions {
        max_tokens_field: MaxTokensField::MaxCompletionTokens,
        thinking: ThinkingParam::ReasoningEffort,
        effort_with_tools,
        temperature: false,
        strict_turns: false,
        ..ChatOptions::default()
    };
    Some(WireOptions {
        chat,
        ..WireOptions::default()
    })
}

/// Returns the wire options of a Claude, by the version in its name: `claude-sonnet-6`,
/// `us.anthropic.claude-sonnet-5-5-v1:0`, `databricks-claude-opus-5-5`. `None` for other models, and for
/// versions before 4.6, which take the default options.
///
/// From 4.7 on, models refuse a budget of thinking ("\"thinking.type.enabled\" is not supported for this
/// model", <https://github.com/earendil-works/pi/issues/3297>) and a temperature; from 5 on
/// they think by default; from 5.1 on thinking is bound to the messages before it.
pub(super) fn claude(id: &str) -> Option<WireOptions> {
    let version = claude_version(&id.to_ascii_lowercase()).filter(|version| *version >= 46)?;
    let anthropic = AnthropicOptions {
        thinking: ThinkingMode::Adaptive,
        temperature: version < 47,
        thinks_by_default: version >= 50,
        binds_thinking: version >= 51,
        ..AnthropicOptions::default()
    };
    Some(WireOptions {
        anthropic,
        ..WireOptions::default()
    })
}

/// Returns whether Bedrock's Converse has a mode for schemas of answers for this Claude: 4.5 and 4.6
/// (<https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-structured-outputs.html>); 4.7 has
/// none (<https://github.com/anomalyco/models.dev/pull/1765>), and nobody says so of later ones.
pub(super) fn has_schemas_at_converse(id: &str) -> bool {
    matches!(claude_version(&id.to_ascii_lowercase()), Some(45 | 46))
}

/// Returns the version in the name of a Claude as a number: 55 for `claude-opus-5-5`, 60 for
/// `claude-sonnet-6`, 45 for `claude-haiku-4-5-20251001`.
fn claude_version(id: &str) -> Option<u32> {
    const FAMILIES: &[&str] = &[
        "claude-opus-",
        "claude-sonnet-",
        "claude-haiku-",
        "claude-fable-",
        "claude-mythos-",
    ];
    let (_, rest) = FAMILIES.iter().find_map(|family| id.split_once(family))?;
    let mut numbers = rest.split(|c: char| !c.is_ascii_digit());
    // Skips dates (`20251001`) and the text after the version.
    let mut next = || numbers.next()?.parse::<u32>().ok().filter(|number| *number < 100);
    let major = next()?;
    Some(major * 10 + next().unwrap_or(0).min(9))
}

/// Returns the form in which a model wants its reasoning back behind a server of a person's own, as its name
/// says. Vendors of the models that want it (DeepSeek from version 4 on, Moonshot's that think) refuse
/// requests without it, and so do servers that hand requests on to them
/// (<https://github.com/RooCodeInc/Roo-Code/issues/12174>,
/// <https://github.com/Factory-AI/factory/issues/1091>).
pub(super) fn reasoning_echo(id: &str) -> ReasoningEcho {
    let id = id.to_ascii_lowercase();
    let version = |family: &str| {
        let (_, rest) = id.split_once(family)?;
        let digits = rest.trim_start_matches(['-', '_', 'v', 'k']);
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].parse::<u32>().ok().filter(|number| *number < 100)
    };
    // `deepseek-chat` and `deepseek-reasoner` were names of version 4 until they were retired
    // (<https://github.com/AmintaCCCP/GithubStarsManager/pull/193>); one of them thinks.
    let is_deepseek = version("deepseek").is_some_and(|version| version >= 4)
        || id.contains("deepseek-reasoner")
        || id.contains("deepseek-flash");
    // Kimi K2 thinks from 2.5 on; its first models do so only under this name.
    let is_kimi = id.contains("kimi-k2-thinking")
        || ["kimi-k2.", "kimi-k2p"].iter().any(|name| id.contains(name))
        || version("kimi").is_some_and(|version| version >= 3);
    if is_deepseek || is_kimi {
        ReasoningEcho::ReasoningContent
    } else {
        ReasoningEcho::None
    }
}

/// Returns the message for a person if OpenAI's own server would refuse the request, because the model takes
/// tools only at the Responses API and the session began with Chat Completions. `None` if it may be sent.
///
/// Gateways may translate.
pub fn tools_need_responses(request: &ModelRequest) -> Option<String> {
    let id = request.model.id.as_str();
    let is_refused = !request.tools.is_empty() && request.model.api == Api::OpenaiChat;
    (is_refused && needs_responses_for_tools(id)).then(|| {
        format!(
            "{id} takes tools only at OpenAI's Responses API, and this session asks it by Chat Completions; \
             choose the model again (/model openai/{id}), and unset providers.openai.api if it is set"
        )
    })
}
