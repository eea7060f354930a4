//! Maps a provider's refusal to one of AgentX's codes. The status alone is not enough: a full context window
//! is a 400 at one vendor and a 413 at another, an empty account a 400, 402, 403 or 429.

use super::{ErrorCode, Extracted, lasting, overflow, overload, refused_media, template};

/// A code, with the words by which it is recognized.
struct CodeRule {
    code: ErrorCode,
    /// Types and codes, whole.
    words: &'static [&'static str],
    /// Pieces of the message, in lower case.
    phrases: &'static [&'static str],
}

/// Words that take precedence over any status. They are about an account without money, or a spending limit
/// that somebody has set: waiting does not help.
///
/// - Anthropic: 400 "You have reached your specified API usage limits" or "… specified workspace API usage
///   limits", and 429 `rate_limit_error` with `details.error_code` `enforced_spend_limit_reached`
///   (<https://platform.claude.com/docs/en/api/errors>,
///   <https://platform.claude.com/docs/en/api/rate-limits>,
///   <https://github.com/anthropics/claude-code/issues/38038>).
/// - OpenAI: 429 `insufficient_quota` with one of four newer codes
///   (<https://help.openai.com/en/articles/6614457-troubleshooting-api-usage-and-spend-limits>).
/// - Gemini: 429 "Your prepayment credits are depleted", "Your project has exceeded its monthly spending
///   cap"; its "You exceeded your current quota" is a limit per minute or day.
/// - xAI: 429 "has either used all available credits or reached its monthly spending limit"
///   (<https://github.com/continuedev/continue/issues/10373>).
/// - OpenRouter: 402, and 403 "Key limit exceeded (monthly limit)"
///   (<https://github.com/gptme/gptme/issues/1449>).
/// - Moonshot: 429 `exceeded_current_quota_error`, "suspended due to insufficient balance"
///   (<https://github.com/666ghj/BettaFish/issues/524>). DeepSeek: 402 "Insufficient Balance". Zhipu: 429
///   with code 1113.
/// - LiteLLM: 400 or 429 `budget_exceeded` (<https://github.com/BerriAI/litellm/issues/4606>), and 400
///   `auth_error` "ExceededBudget: End User=x over budget. Spend=0.1, Budget=0.01"
///   (<https://github.com/BerriAI/litellm/pull/9658>).
/// - DashScope: 400 `Arrearage`, "please make sure your account is in good standing"
///   (<https://www.alibabacloud.com/help/en/model-studio/error-code>).
///
/// Refusals of a filter are recognized with any status: OpenRouter's moderation and guardrails are a 403
/// (<https://openrouter.ai/docs/api/reference/errors-and-debugging>), OpenAI's `cyber_policy` a 400; its
/// `image_content_policy_violation`, `bio_policy` and `misalignment_policy_violation` come in the
/// `response.failed` of a stream
/// (<https://docs.rs/dynamo-protocols/8.1.0/dynamo_protocols/types/responses/enum.ResponseErrorCode.html>).
/// DeepSeek says "Content Exists Risk" (400, <https://github.com/666ghj/BettaFish/issues/108>), xAI "Content
/// violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO" (403,
/// <https://github.com/UKGovernmentBEIS/inspect_ai/issues/2267>), Zhipu the code 1301 (400,
/// <https://github.com/zai-org/feedback/issues/516>), LiteLLM `ContentPolicyViolationError` in its message.
const BEFORE_STATUS: &[CodeRule] = &[FILTERED, OUT_OF_MONEY, ACCOUNT_CLOSED];

const FILTERED: CodeRule = CodeRule {
    code: ErrorCode::ContentFilter,
    words: &[
        "cyber_policy",
        "bio_policy",
        "misalignment_policy_violation",
        "image_content_policy_violation",
        "1301",
    ],
    phrases: &[
        "content exists risk",
        "content violates usage guidelines",
        "contentpolicyviolationerror",
        "your input was flagged",
        "blocked by guardrail",
        "flagged for possible cybersecurity risk",
    ],
};

const OUT_OF_MONEY: CodeRule = CodeRule {
    code: ErrorCode::Billing,
    words: &[
        "billing_error",
        "insufficient_quota",
        "billing_hard_limit_reached",
        "payment_required",
        "insufficient_credits",
        "enforced_spend_limit_reached",
        "organization_usage_limit_exceeded",
        "organization_spend_limit_exceeded",
        "project_spend_limit_exceeded",
        "credit_balance_exhausted",
        "spend_limit_exceeded",
        "exceeded_current_quota_error",
        "insufficient_balance",
        "insufficient_user_quota",
        "base_resp_1008",
        "arrearage",
        "1113",
        "budget_exceeded",
    ],
    phrases: &[
        "budget has been exceeded",
        "crossed budget",
        "exceededbudget",
        "credit balance is too low",
        "insufficient balance",
        "insufficient credits",
        "requires more credits",
        "payment required",
        "specified api usage limits",
        "specified workspace api usage limits",
        "enforced_spend_limit_reached",
        "prepayment credits are depleted",
        "monthly spending cap",
        "monthly spending limit",
        "spend limit reached",
        "key limit exceeded",
        "account is in good standing",
    ],
};

/// The account may not be used at all, for any request: Anthropic reports this with a 400 and the type of any
/// bad request (<https://github.com/anthropics/claude-code/issues/19028>).
///
/// Google and OpenAI serve only some countries (`lasting.rs`).
///
/// OpenAI streams some models only to verified organizations, and says what to do
/// (<https://github.com/lobehub/lobehub/issues/9385>): no other form of the request is streamed.
const ACCOUNT_CLOSED: CodeRule = CodeRule {
    code: ErrorCode::Forbidden,
    words: &["unsupported_country_region_territory"],
    phrases: &[
        "this organization has been disabled",
        "organization must be verified to stream",
        lasting::PLACE[0],
        lasting::PLACE[1],
    ],
};

/// Words that take precedence over a status with many meanings (400, 422, 500), and that count without a
/// status.
///
/// A refusal of a filter is a 400 with the type of any bad request at Anthropic ("Output blocked by content
/// filtering policy", <https://github.com/anthropics/claude-code/issues/58367>). At OpenAI its message
/// identifies it ("your prompt was flagged as potentially violating our usage policy",
/// <https://github.com/openai/codex/issues/38849>) and not its code, `invalid_prompt`: OpenRouter has this
/// code for every request that fails its validation
/// (<https://openrouter.ai/docs/api/reference/responses/error-handling>).
const AFTER_STATUS: &[CodeRule] = &[
    CodeRule {
        code: ErrorCode::Unauthorized,
        words: &[
            "authentication_error",
            "invalid_api_key",
            // Google's, with a 400: the key is wrong, or has expired
            // (<https://github.com/continuedev/continue/issues/11336>).
            "api_key_invalid",
            "unauthorized",
            "unauthenticated",
            "base_resp_1004",
            "base_resp_2049",
            "incompletesignature",
        ],
        phrases: &[
            "incorrect api key",
            "invalid api key",
            "api key not valid",
            "api key expired",
            "invalid x-api-key",
            "no auth credentials",
        ],
    },
    CodeRule {
        code: ErrorCode::Forbidden,
        words: &["permission_error", "permission_denied", "forbidden"],
        phrases: &[],
    },
    CodeRule {
        code: ErrorCode::NotFound,
        words: &["not_found_error", "not_found", "model_not_found", "invalid_model"],
        phrases: &[
            "is not a valid model id",
            "model identifier is invalid",
            "invalid model:",
            "model not found",
            "no such model",
        ],
    },
    CodeRule {
        code: ErrorCode::TooLarge,
        words: &["request_too_large", "payload_too_large"],
        phrases: &["request entity too large", "payload too large"],
    },
    CodeRule {
        code: ErrorCode::RateLimited,
        words: &[
            "rate_limit_error",
            "rate_limit_exceeded",
            "resource_exhausted",
            "too_many_requests",
            "throttlingexception",
            "base_resp_1002",
            "base_resp_1039",
            "base_resp_1041",
            "base_resp_2045",
            "base_resp_2056",
        ],
        phrases: &[
            "rate limit",
            "rate-limited",
            "too many requests",
            "too many tokens, please wait",
            "throttl",
        ],
    },
    CodeRule {
        code: ErrorCode::Overloaded,
        words: &[
            "overloaded_error",
            "overloaded",
            "engine_overloaded_error",
            "server_overloaded",
            // OpenAI's, within a stream (<https://github.com/tontinton/maki/pull/897>).
            "server_is_overloaded",
            "service_unavailable_error",
            "slow_down",
            "unavailable",
        ],
        phrases: &["overloaded", "over capacity", "at capacity"],
    },
    CodeRule {
        code: ErrorCode::Timeout,
        words: &["timeout_error", "timeout", "deadline_exceeded", "request_timeout"],
        phrases: &["timed out", "deadline exceeded"],
    },
    CodeRule {
        code: ErrorCode::ContentFilter,
        words: &[
            "content_filter",
            "content_policy_violation",
            "data_inspection_failed",
            "base_resp_1026",
            "base_resp_1027",
            "moderation_blocked",
        ],
        phrases: &[
            "content management policy",
            "content policy",
            "content filtering policy",
            "prompt was flagged",
            "limited access to this content for safety reasons",
        ],
    },
    CodeRule {
        code: ErrorCode::ServerError,
        // Bedrock's, with a 424: "An error occurred while streaming the response. Retry your request."
        // (<https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ResponseStream.html>).
        words: &["modelstreamerrorexception", "modelerrorexception"],
        phrases: &[],
    },
    CodeRule {
        code: ErrorCode::BadGeneration,
        words: &["tool_use_failed", "json_validate_failed", "output_parse_failed"],
        // 500s about the output of the server's own model: Ollama's
        // (<https://github.com/ollama/ollama/issues/12064>) and llama.cpp's
        // (<https://github.com/noonghunna/club-3090/issues/1195>).
        phrases: &["error parsing tool call", "failed to parse tool call"],
    },
];

/// Words that only name the side at fault: they count if there is no status.
const SIDES: &[CodeRule] = &[
    CodeRule {
        code: ErrorCode::ServerError,
        words: &[
            "api_error",
            "server_error",
            "internal_server_error",
            "internal_error",
            "internal",
            "upstream_error",
        ],
        phrases: &["internal server error", "bad gateway", "upstream"],
    },
    CodeRule {
        code: ErrorCode::BadRequest,
        words: &[
            "invalid_request_error",
            "invalid_request",
            "bad_request",
            "invalid_argument",
            "invalid_prompt",
            "base_resp_1042",
            "base_resp_2013",
        ],
        phrases: &[],
    },
];

/// The kind of an error, by the first of these that decides: a context window that is too small, refusals of
/// a chat template or of pictures, a model that cannot be loaded, words of `BEFORE_STATUS`, a status with one
/// meaning, words of `AFTER_STATUS`, words about an overload, the class of the status, words of `SIDES`. An
/// error without any of them is a [`ErrorCode::ServerError`].
pub(super) fn classify(status: Option<u16>, extracted: &Extracted) -> ErrorCode {
    let message = extracted.message.to_ascii_lowercase();
    let find = |rules: &[CodeRule]| {
        rules
            .iter()
            .find(|rule| {
                rule.words
                    .iter()
                    .any(|word| extracted.words.iter().any(|said| said == word))
                    || rule.phrases.iter().any(|phrase| message.contains(phrase))
            })
            .map(|rule| rule.code)
    };
    if overflow::is_overflow(status, extracted, &message) {
        return ErrorCode::ContextWindow;
    }
    let is_vague = status.is_none_or(|status| telling_status(status).is_none());
    let is_refusal = template::is_template_refusal(&message);
    let is_filtered = || find(&[FILTERED]).is_some();
    if (is_vague && (is_refusal || refused_media::is_their_number(&message)))
        || template::takes_no_tools(&message)
        || (refused_media::is_media_refusal(extracted, &message) && !is_filtered())
    {
        return ErrorCode::BadRequest;
    }
    if is_vague && lasting::is_unservable(&message) {
        return ErrorCode::NotFound;
    }
    if status == Some(429) && names_no_quota(&message) {
        return ErrorCode::Billing;
    }
    let is_overload = overload::is_overload(status, extracted, &message);
    let overloaded = is_overload.then_some(ErrorCode::Overloaded);
    find(BEFORE_STATUS)
        .or_else(|| status.and_then(telling_status))
        .or_else(|| match find(AFTER_STATUS) {
            // A server that waited too long for another one is waited for.
            Some(ErrorCode::Timeout) if is_overload => overloaded,
            code => code,
        })
        .or(overloaded)
        .or_else(|| status.map(vague_status))
        .or_else(|| find(SIDES))
        .unwrap_or(ErrorCode::ServerError)
}

/// Returns whether a quota is zero: the account's plan does not include the model, so waiting does not help.
/// Gemini says "Quota exceeded for metric: …, limit: 0, model: gemini-3.1-pro" and asks to retry in seconds
/// (<https://github.com/continuedev/continue/issues/10062>).
fn names_no_quota(message: &str) -> bool {
    let mut limits = message.split("limit: 0").skip(1);
    message.contains("quota")
        && limits.any(|rest| !rest.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
}

/// Statuses with one meaning.
///
/// 425 asks for the same request a little later (RFC 8470). 498 is Groq's for a flex tier without capacity,
/// and asks for another attempt (<https://console.groq.com/docs/flex-processing>).
///
/// 499 is Google's `CANCELLED` under heavy use: nobody here cancelled the request
/// (<https://github.com/google-gemini/gemini-cli/issues/20309>).
///
/// 501, 505, 506 and 510 mean that the server cannot do this at all, so the same request fails again: they
/// count as a wrong address. Tabby returns them if it was started without a model
/// (<https://github.com/TabbyML/tabby/issues/4281>). The SDKs of Anthropic and OpenAI and the AI SDK of
/// Vercel try 408, 409, 429 and every status from 500 on again, but only twice; this program waits ten
/// minutes for a server that returns 500s. A server can request another attempt explicitly
/// (`x-should-retry`).
fn telling_status(status: u16) -> Option<ErrorCode> {
    Some(match status {
        401 | 407 => ErrorCode::Unauthorized,
        402 => ErrorCode::Billing,
        403 => ErrorCode::Forbidden,
        404 | 405 | 410 | 501 | 505 | 506 | 510 => ErrorCode::NotFound,
        408 | 504 | 524 => ErrorCode::Timeout,
        409 | 425 => ErrorCode::Conflict,
        413 => ErrorCode::TooLarge,
        429 => ErrorCode::RateLimited,
        498 | 503 | 529 => ErrorCode::Overloaded,
        499 => ErrorCode::ServerError,
        _ => return None,
    })
}

fn vague_status(status: u16) -> ErrorCode {
    match status {
        400..=499 => ErrorCode::BadRequest,
        500..=599 => ErrorCode::ServerError,
        _ => ErrorCode::BadResponse,
    }
}
