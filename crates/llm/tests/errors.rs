//! Refusals in every form. The bodies are made up after the forms that providers document; recorded ones are
//! checked in `recordings.rs`.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

use agentx_llm::{ErrorCode, ModelError, decode_error};
use agentx_types::{Api, Overflow, RequestPart, Timestamp};

fn error(status: u16, body: &str) -> ModelError {
    decode_error(status, &[], body.as_bytes(), Timestamp(0))
}

use ErrorCode as C;

/// Status, body, our code, the beginning of our message.
const CASES: [(u16, &str, C, &str); 27] = [
    (
        429,
        r#"{"type":"error","error":{"type":"rate_limit_error","message":"Slow down"}}"#,
        C::RateLimited,
        "Slow down",
    ),
    (
        529,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        C::Overloaded,
        "Overloaded",
    ),
    (
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#,
        C::Billing,
        "Your credit",
    ),
    (
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
        C::ContextWindow,
        "prompt",
    ),
    (
        413,
        r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
        C::TooLarge,
        "Request",
    ),
    (
        429,
        r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}"#,
        C::Billing,
        "You exceeded",
    ),
    (
        400,
        r#"{"error":{"message":"This model's maximum context length is 128000 tokens.","code":"context_length_exceeded"}}"#,
        C::ContextWindow,
        "This model's",
    ),
    (
        400,
        r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
        C::ContextWindow,
        "the request",
    ),
    (
        400,
        r#"{"error":{"code":"content_filter","message":"filtered"}}"#,
        C::ContentFilter,
        "filtered",
    ),
    (
        402,
        r#"{"error":{"message":"Insufficient Balance"}}"#,
        C::Billing,
        "Insufficient",
    ),
    (
        403,
        r#"{"error":{"code":403,"message":"moderation","metadata":{"reasons":["x"]}}}"#,
        C::Forbidden,
        "moderation",
    ),
    (
        404,
        r#"{"error":"model 'x' not found"}"#,
        C::NotFound,
        "model 'x'",
    ),
    (
        422,
        r#"{"detail":[{"loc":["body","messages",0],"msg":"Field required","type":"missing"}]}"#,
        C::BadRequest,
        "body.messages.0: Field required",
    ),
    (
        401,
        r#"{"detail":"Unauthorized"}"#,
        C::Unauthorized,
        "Unauthorized",
    ),
    (
        400,
        r#"[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}]"#,
        C::Unauthorized,
        "API key not valid.",
    ),
    (
        503,
        r#"{"error":{"code":503,"message":"high demand","status":"UNAVAILABLE"}}"#,
        C::Overloaded,
        "high demand",
    ),
    (
        500,
        r#"{"message":"boom","object":"error"}"#,
        C::ServerError,
        "boom",
    ),
    (
        502,
        "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>",
        C::ServerError,
        "502 Bad Gateway",
    ),
    (504, "<h1>Gateway  Time-out</h1>", C::Timeout, "Gateway Time-out"),
    (503, "no healthy upstream", C::Overloaded, "no healthy upstream"),
    (
        501,
        r#"{"error":{"code":501,"message":"This server does not support completions","type":"not_supported_error"}}"#,
        C::NotFound,
        "This server",
    ),
    (501, "", C::NotFound, "HTTP 501 without a message (not_found)"),
    (505, "", C::NotFound, "HTTP 505 without a message (not_found)"),
    (
        500,
        "",
        C::ServerError,
        "HTTP 500 without a message (server_error)",
    ),
    (
        418,
        "{}",
        C::BadRequest,
        "HTTP 418 without a message (bad_request)",
    ),
    (408, "null", C::Timeout, "HTTP 408"),
    (302, "", C::BadResponse, "HTTP 302"),
];

/// Status, body, the size that fits, the size of the request.
type Overflown = (u16, &'static str, Option<u64>, Option<u64>);

const OVERFLOWS: [Overflown; 39] = [
    // Anthropic.
    (
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}"#,
        Some(200_000),
        Some(208_310),
    ),
    // OpenAI, and vLLM with OpenAI's text.
    (
        400,
        r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.","code":"context_length_exceeded"}}"#,
        Some(8_192),
        Some(9_000),
    ),
    (
        400,
        r#"{"error":{"message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion).","type":"BadRequestError","code":400}}"#,
        Some(4_096),
        Some(4_000),
    ),
    (
        400,
        r#"{"error":{"message":"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.","code":"context_length_exceeded"}}"#,
        Some(272_000),
        Some(300_000),
    ),
    (
        400,
        r#"{"object":"error","message":"The decoder prompt (length 9000) is longer than the maximum model length of 8192.","type":"BadRequestError","code":400}"#,
        Some(8_192),
        None,
    ),
    // llama.cpp: in fields, with text and without.
    (
        400,
        r#"{"error":{"code":400,"message":"request (12000 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":12000,"n_ctx":8192}}"#,
        Some(8_192),
        Some(12_000),
    ),
    (
        500,
        r#"{"error":{"code":500,"message":"the context size has been exceeded","type":"server_error"}}"#,
        None,
        None,
    ),
    // Ollama.
    (
        400,
        r#"{"error":{"message":"prompt too long; exceeded max context length by 512 tokens","type":"invalid_request_error","param":null,"code":null}}"#,
        None,
        None,
    ),
    (
        500,
        r#"{"error":"input length exceeds the context length"}"#,
        None,
        None,
    ),
    // LM Studio.
    (
        400,
        r#"{"error":"The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 9000>= n_ctx: 4096)."}"#,
        None,
        None,
    ),
    // Gemini, xAI, Groq, Mistral, Moonshot, Volcano, Copilot.
    (
        400,
        r#"[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]"#,
        Some(1_048_576),
        Some(1_200_000),
    ),
    (
        400,
        r#"{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}"#,
        Some(131_072),
        Some(537_812),
    ),
    (
        413,
        r#"{"error":{"message":"Request too large for model `llama-3` in organization `o` on tokens per minute (TPM): Limit 6000, Requested 7012, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}}"#,
        Some(6_000),
        Some(7_012),
    ),
    (
        400,
        r#"{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages"}}"#,
        None,
        None,
    ),
    (
        400,
        r#"{"object":"error","message":"Prompt contains 40000 tokens, too large for model with 32768 maximum context length","type":"invalid_request_error"}"#,
        Some(32_768),
        Some(40_000),
    ),
    (
        400,
        r#"{"error":{"message":"Invalid request: Your request exceeded model token limit: 131072","type":"invalid_request_error"}}"#,
        Some(131_072),
        None,
    ),
    (
        400,
        r#"{"error":{"code":"InvalidParameter","message":"Input length 203743 exceeds the maximum length 202752"}}"#,
        Some(202_752),
        Some(203_743),
    ),
    (
        400,
        r#"{"error":{"message":"prompt token count of 130000 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}"#,
        Some(128_000),
        Some(130_000),
    ),
    // Bedrock: Claude and Nova.
    (
        400,
        r#"{"message":"Input is too long for requested model."}"#,
        None,
        None,
    ),
    (
        400,
        r#"{"message":"The model returned the following errors: Input Tokens Exceeded: the prompt exceeds maximum length"}"#,
        None,
        None,
    ),
    // DashScope, text-generation-inference, Poolside.
    (
        400,
        r#"{"error":{"message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]","code":"invalid_parameter_error"}}"#,
        Some(129_024),
        None,
    ),
    (
        422,
        r#"{"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 16000. Given: 15500 `inputs` tokens and 1024 `max_new_tokens`","error_type":"validation"}"#,
        Some(16_000),
        None,
    ),
    (
        422,
        r#"{"error":"Input validation error: `inputs` must have less than 16000 tokens. Given: 18200","error_type":"validation"}"#,
        Some(16_000),
        None,
    ),
    (
        400,
        r#"{"error":{"message":"The request exceeds the maximum allowed input length of 16000 tokens"}}"#,
        Some(16_000),
        None,
    ),
    // GitHub Models, SambaNova, watsonx, SiliconFlow, Vertex, Z.AI, Atlas, Together, and similar servers.
    (
        413,
        r#"{"error":{"code":"tokens_limit_reached","message":"Request body too large for gpt-4o model. Max size: 8000 tokens.","details":"Request body too large for gpt-4o model. Max size: 8000 tokens."}}"#,
        Some(8_000),
        None,
    ),
    (
        400,
        r#"{"error":{"message":"Requested generation length 1 is not possible! The provided prompt is 4309 tokens long, so generating 1 tokens requires a sequence length of 4310, but the maximum supported sequence length is just 4096!"}}"#,
        Some(4_096),
        Some(4_309),
    ),
    (
        400,
        r#"{"errors":[{"code":"invalid_input_argument","message":"Invalid input argument for Model 'm': the number of input tokens 9000 cannot exceed the total tokens limit 8192 for this model"}],"status_code":400}"#,
        Some(8_192),
        Some(9_000),
    ),
    (
        400,
        r#"{"code":20015,"message":"number of input tokens (204703) has exceeded max_prompt_tokens (202752) limit.","data":null}"#,
        Some(202_752),
        Some(204_703),
    ),
    (
        400,
        r#"{"error":{"code":400,"message":"Unable to submit request because the input token count is 32825 but model only supports up to 32768.","status":"INVALID_ARGUMENT"}}"#,
        Some(32_768),
        Some(32_825),
    ),
    (
        400,
        r#"{"error":{"code":"1210","message":"tokens in request more than max tokens allowed"}}"#,
        None,
        None,
    ),
    (
        400,
        r#"{"error":{"message":"Prompt too long: 5152 tokens exceeds max_seq_len 2048 (leave room for output tokens)"}}"#,
        Some(2_048),
        Some(5_152),
    ),
    (
        400,
        r#"{"error":{"message":"The input (516368 tokens) is longer than the model's context length (262144 tokens)."}}"#,
        Some(262_144),
        Some(516_368),
    ),
    (
        400,
        r#"{"error":{"message":"Input length (11680) exceeds model's maximum context length (4096).","type":"BadRequestError","param":null,"code":400}}"#,
        Some(4_096),
        Some(11_680),
    ),
    (
        400,
        r#"{"error":{"message":"Prompt has 5,958,968 tokens, but the configured context size is 256,000 tokens"}}"#,
        Some(256_000),
        Some(5_958_968),
    ),
    // llama.cpp's.
    (
        500,
        r#"{"error":{"code":500,"message":"Input prompt is too big compared to KV size. Please try increasing KV size.","type":"server_error"}}"#,
        None,
        None,
    ),
    (
        500,
        r#"{"error":{"code":500,"message":"input is too large to process. increase the physical batch size","type":"server_error"}}"#,
        None,
        None,
    ),
    (
        500,
        r#"{"error":{"code":500,"message":"input (5567 tokens) is too large to process. increase the physical batch size (current batch size: 4096)","type":"server_error"}}"#,
        Some(4_096),
        Some(5_567),
    ),
    // vLLM, with a negative number of tokens left for the answer.
    (
        400,
        r#"{"error":{"message":"max_tokens must be at least 1, got -7584. (parameter=max_tokens, value=-7584)","type":"BadRequestError","param":"max_tokens","code":400}}"#,
        None,
        None,
    ),
    (
        400,
        r#"{"error":{"message":"max_completion_tokens must be at least 1, got -7584.","type":"BadRequestError","param":"max_completion_tokens","code":400}}"#,
        None,
        None,
    ),
];

#[test]
fn a_full_window_is_one_in_whatever_words_and_says_how_much_fits() {
    for (status, body, window, asked) in OVERFLOWS {
        let error = error(status, body);
        assert_eq!(error.code, C::ContextWindow, "{body}");
        assert!(!error.retryable, "{body}");
        assert_eq!(error.overflow, Some(Overflow { window, asked }), "{body}");
    }
}

#[test]
fn what_only_sounds_like_a_full_window_is_none() {
    for (status, body, code) in [
        (
            429,
            r#"{"message":"Too many tokens, please wait before trying again."}"#,
            C::RateLimited,
        ),
        (
            400,
            r#"{"__type":"ThrottlingException","message":"Too many tokens, please wait before trying again."}"#,
            C::RateLimited,
        ),
        (
            429,
            r#"{"error":{"message":"Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2s.","type":"tokens","code":"rate_limit_exceeded"}}"#,
            C::RateLimited,
        ),
        (
            429,
            r#"{"error":{"message":"You have sent too many tokens","type":"rate_limit_error"}}"#,
            C::RateLimited,
        ),
        (
            400,
            r#"{"error":{"message":"Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64.","code":"string_above_max_length"}}"#,
            C::BadRequest,
        ),
        (
            400,
            r#"{"error":{"message":"messages.0.content.1.image.source.base64: image exceeds the maximum length 5242880 bytes","type":"invalid_request_error"}}"#,
            C::BadRequest,
        ),
        (
            400,
            r#"{"error":{"message":"max_tokens must be at least 1, got 0.","type":"BadRequestError","param":"max_tokens","code":400}}"#,
            C::BadRequest,
        ),
        (
            504,
            r#"{"error":{"message":"the request took too long"}}"#,
            C::Timeout,
        ),
    ] {
        let error = error(status, body);
        assert_eq!((error.code, error.overflow), (code, None), "{body}");
    }
}

#[test]
fn shapes_and_codes() {
    for (status, body, code, message) in CASES {
        let error = error(status, body);
        assert_eq!(error.code, code, "{body}: {error}");
        assert!(error.message.starts_with(message), "{body}: {error}");
        assert_eq!(
            (error.status, error.retryable),
            (Some(status), code.is_retryable()),
            "{body}"
        );
    }
}

#[test]
fn when_to_ask_again() {
    let now = Timestamp(784_111_777_000_000);
    let after = |headers: &[(&str, &str)]| decode_error(429, headers, b"", now).retry_after_ms;
    assert_eq!(after(&[]), None);
    assert_eq!(after(&[("Retry-After", " 7 ")]), Some(7_000));
    assert_eq!(after(&[("retry-after", "0.25")]), Some(250));
    assert_eq!(
        after(&[("retry-after", "9"), ("retry-after-ms", "1500")]),
        Some(1_500)
    );
    // The usual form of a date, and the two old ones.
    for date in [
        "Sun, 06 Nov 1994 08:50:07 GMT",
        "Sunday, 06-Nov-94 08:50:07 GMT",
        "Sun Nov  6 08:50:07 1994",
        // Servers that write dates in other forms than the standard.
        "Sun, 06 Nov 1994 08:50:07 UTC",
        "Sun, 6 Nov 1994 08:50:07 GMT",
        "Sun, 6 NOV 1994 08:50:07 UTC",
        "Sunday, 6-nov-94 08:50:07 UTC",
    ] {
        assert_eq!(after(&[("retry-after", date)]), Some(30_000), "{date}");
    }
    assert_eq!(
        after(&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")]),
        Some(0),
        "it is over"
    );
    for nonsense in [
        "soon",
        "-1",
        "NaN",
        "inf",
        "",
        "Sun, 99 Nov 1994 08:49:37 GMT",
        "Sun, 06 Foo 1994 08:49:37 GMT",
        "Sun, 6 Nov 1994 08:50:07 CET",
        "Sun, 06 Nov 1994 08:50:07 +0100",
        "Sun, 06 Nov 1969 08:50:07 UTC",
        "Sun, 06 Nov 99999 08:50:07 UTC",
        "Sun, ä Nov 1994 08:50:07 UTC",
        "Sun, 06 ä 1994 08:50:07 UTC",
        "Sun, 06 Nov 1994 UTC",
        "Sun, 06 Nov 1994 08:50:07 UTC UTC",
        "a b c d e f",
    ] {
        assert_eq!(after(&[("retry-after", nonsense)]), None, "{nonsense}");
    }
    assert_eq!(
        after(&[("retry-after-ms", "-5"), ("retry-after", "2")]),
        Some(2_000)
    );
}

#[test]
fn no_wait_is_longer_than_a_year() {
    let now = Timestamp(784_111_777_000_000);
    let after = |headers: &[(&str, &str)]| decode_error(429, headers, b"", now).retry_after_ms;
    let year = 365 * 24 * 3_600 * 1_000;
    for far in [
        "1e300",
        "99999999999999",
        "18446744073709551616",
        "99999999999999999999999999",
        "31536001",
        "Fri, 31 Dec 9999 23:59:59 GMT",
    ] {
        assert_eq!(after(&[("retry-after", far)]), Some(year), "{far}");
        assert_eq!(after(&[("retry-after-ms", "99999999999999")]), Some(year));
    }
    for body in [
        r#"{"error":{"message":"slow down","resets_in_seconds":18446744073709551}}"#,
        r#"{"error":{"message":"slow down","resets_at":18446744073709551}}"#,
        r#"{"error":{"message":"slow down","details":[{"retryDelay":"99999999999999s"}]}}"#,
        r#"{"error":{"message":"try again in 99999999999999999999999999 hours"}}"#,
    ] {
        let error = decode_error(429, &[], body.as_bytes(), now);
        assert!(error.retry_after_ms.is_none_or(|ms| ms <= year), "{body}");
    }
}

#[test]
fn a_server_may_decide_whether_to_ask_again() {
    let now = Timestamp(784_111_777_000_000);
    assert!(!decode_error(500, &[("x-should-retry", "false")], b"", now).retryable);
    assert!(decode_error(400, &[("x-should-retry", "true")], b"", now).retryable);
}

#[test]
fn long_and_ugly_bodies_become_one_short_line() {
    let long = error(
        500,
        &format!(r#"{{"error":{{"message":"{}"}}}}"#, "word ".repeat(10_000)),
    );
    assert!(
        long.message.chars().count() <= 1_001 && long.message.ends_with('…'),
        "{}",
        long.message.len()
    );
    let one_word = error(500, &"x".repeat(1 << 20));
    assert_eq!(one_word.message.chars().count(), 1_001);
    assert_eq!(error(500, "a\u{1b}[31m\n\n\tb\0c").message, "a [31m b c");
    let broken = decode_error(500, &[], b"\xFF\xFE{", Timestamp(0));
    assert!(!broken.message.is_empty());
    let deep = format!("{}1{}", "{\"error\":".repeat(100), "}".repeat(100));
    assert!(!error(500, &deep).message.is_empty());
    assert!(!error(500, &"[".repeat(100_000)).message.is_empty());
}

/// Refused settings of Claude and Gemini: the message, and the part that it is about.
const REFUSED_SETTINGS: &[(&str, RequestPart)] = &[
    (
        "thinking.adaptive.block_binding: Extra inputs are not permitted",
        RequestPart::ThinkingBinding,
    ),
    (
        "Unexpected value(s) `thinking-binding-controls-2026-08-01` for the `anthropic-beta` header.",
        RequestPart::ThinkingBinding,
    ),
    ("invalid beta flag", RequestPart::ThinkingBinding),
    (
        "thinking.adaptive.display: Extra inputs are not permitted",
        RequestPart::ThinkingDisplay,
    ),
    (
        "adaptive thinking is not supported on this model",
        RequestPart::AdaptiveThinking,
    ),
    (
        "thinking: Input tag 'adaptive' found using 'type' does not match any of the expected tags: 'disabled', 'enabled'",
        RequestPart::AdaptiveThinking,
    ),
    (
        "Only 'enabled' and 'disabled' are supported for thinking; 'adaptive' is not supported.",
        RequestPart::AdaptiveThinking,
    ),
    (
        "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.",
        RequestPart::ThinkingBudget,
    ),
    (
        "This model does not support the effort parameter.",
        RequestPart::ReasoningEffort,
    ),
    (
        "output_config: Extra inputs are not permitted",
        RequestPart::ReasoningEffort,
    ),
    (
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        RequestPart::CacheControl,
    ),
    (
        "Thinking is not enabled for models/gemini-2.0-flash-preview-image-generation",
        RequestPart::Reasoning,
    ),
    (
        "Unable to submit request because Thinking_config.include_thoughts is only enabled when thinking is enabled.. Learn more: https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/gemini",
        RequestPart::Reasoning,
    ),
    (
        "Unable to submit request because thinking is not configurable in this model; please remove the thinking_config setting and try it again.",
        RequestPart::Reasoning,
    ),
    (
        "Only one of \"reasoning.effort\" and \"reasoning.max_tokens\" can be specified",
        RequestPart::ReasoningEffort,
    ),
    (
        "Unable to submit request because it has a maxOutputTokens value of 655360 but the supported range is from 1 (inclusive) to 8193 (exclusive). Update the value and try again.",
        RequestPart::LongestAnswer,
    ),
    // Made up, after the words about other fields.
    (
        "Invalid JSON payload received. Unknown name \"parametersJsonSchema\" at 'tools[0].function_declarations[0]': Cannot find field.",
        RequestPart::ToolJsonSchema,
    ),
];

#[test]
fn a_refused_setting_of_claude_or_gemini_is_named() {
    for (message, part) in REFUSED_SETTINGS {
        let body = serde_json::json!({"error": {"type": "invalid_request_error", "message": message}});
        assert_eq!(error(400, &body.to_string()).refused, Some(*part), "{message}");
    }
}

#[test]
fn a_refusal_may_name_a_place_in_the_request() {
    for (message, param, place) in [
        (
            "messages.2.content.0: this block is not accepted",
            None,
            Some("messages.2.content.0"),
        ),
        (
            "messages.2.content.0.tool_result.content.0.text: invalid unicode",
            None,
            Some("messages.2.content.0.tool_result.content.0.text"),
        ),
        (
            "Invalid 'messages[3].content': string too long. Expected a string with maximum length 1048576",
            None,
            Some("messages.3.content"),
        ),
        (
            "Invalid 'input[4].content[0].text': made up",
            None,
            Some("input.4.content.0.text"),
        ),
        (
            "* GenerateContentRequest.contents[2].parts[0].text: made up",
            None,
            Some("contents.2.parts.0.text"),
        ),
        (
            "made up: not accepted",
            Some("messages[1].content"),
            Some("messages.1.content"),
        ),
        ("messages: made up, not accepted", None, None),
        ("made up: other_messages.2.content", None, None),
        ("made up: the input. 4 of them", None, None),
        ("invalid request", None, None),
    ] {
        let body = serde_json::json!({"error": {"type": "invalid_request_error", "message": message, "param": param}});
        let refusal = error(400, &body.to_string());
        assert_eq!(refusal.place.as_deref(), place, "{message}: {refusal:?}");
        assert!(refusal.refused.is_some(), "{message}");
    }
    let failed = r#"{"error":{"message":"messages.2.content.0: made up"}}"#;
    assert_eq!(error(500, failed).place, None, "it may pass");
}

#[test]
fn a_refusal_names_the_part_that_is_refused() {
    use agentx_types::RequestPart as Part;
    let said = |status: u16, message: &str| {
        let body = serde_json::json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}});
        error(status, &body.to_string()).refused
    };
    let bound = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\". That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header.";
    for (message, part) in [
        (bound, Some(Part::Thinking)),
        (
            "messages.1: The final block in an assistant message cannot be `thinking`.",
            Some(Part::Thinking),
        ),
        (
            "messages.7.content.46: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
            Some(Part::Thinking),
        ),
        ("Could not process image", Some(Part::Media)),
        (
            "messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1",
            Some(Part::ToolCalls),
        ),
        (
            "An assistant message with 'tool_calls' must be followed by tool messages",
            Some(Part::ToolCalls),
        ),
        (
            "Conversation roles must alternate user/assistant/user/assistant/...",
            Some(Part::Roles),
        ),
        ("Unexpected role 'user' after role 'tool'", Some(Part::Roles)),
        ("System role not supported", Some(Part::Roles)),
        (
            "Function tools with reasoning_effort are not supported for gpt-9 in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
            Some(Part::Extras),
        ),
        ("Something else is wrong", Some(Part::Unknown)),
        ("max_tokens: must be at most 64000", Some(Part::LongestAnswer)),
        ("Unsupported parameter: 'temperature'", Some(Part::Temperature)),
    ] {
        assert_eq!(said(400, message), part, "{message}");
    }
    assert_eq!(said(413, "Request exceeds the maximum size"), Some(Part::Media));
    assert_eq!(said(401, "invalid x-api-key"), None);
    assert_eq!(said(529, "Overloaded"), None);
    assert_eq!(
        said(400, "prompt is too long: 210000 tokens > 200000 maximum"),
        None
    );
}

#[test]
fn a_key_that_is_refused_is_named_by_the_part_that_it_is_in() {
    use agentx_types::RequestPart as Part;
    for (message, part) in [
        (
            "messages.1.content.0.text.id: Extra inputs are not permitted",
            Part::Blocks,
        ),
        (
            "messages.1.content.1.tool_use.index: Extra inputs are not permitted",
            Part::Blocks,
        ),
        (
            "messages.1.content.0.server_tool_use.caller: Extra inputs are not permitted",
            Part::Blocks,
        ),
        (
            "messages.1.content.0.thinking.id: Extra inputs are not permitted",
            Part::Thinking,
        ),
        (
            "messages.1.content.0.text.cache_control.ttl: Extra inputs are not permitted",
            Part::CacheControl,
        ),
        (
            "`messages[3].reasoning`: reasoning is not supported with this model",
            Part::Thinking,
        ),
        (
            "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning_content' is unsupported)]",
            Part::ReasoningContent,
        ),
        (
            "Error from provider: Extra inputs are not permitted, field: 'messages[8].reasoning', value: 'The temperature of'",
            Part::Thinking,
        ),
        (
            "Unknown parameter: 'messages[1].reasoning_details'.",
            Part::Thinking,
        ),
        (
            "invalid params, Mismatch type []*open_platform_oai.ReasoningDetail with value string",
            Part::Thinking,
        ),
        (
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
            Part::MissingReasoning,
        ),
        (
            "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
            Part::MissingReasoning,
        ),
        (
            "Unsupported parameter: 'reasoning_effort' is not supported with this model.",
            Part::ReasoningEffort,
        ),
    ] {
        let body = serde_json::json!({"error": {"type": "invalid_request_error", "message": message}});
        assert_eq!(error(400, &body.to_string()).refused, Some(part), "{message}");
    }
}

#[test]
fn an_exception_of_a_chat_template_is_a_refusal_whatever_its_status() {
    let words = "\n------------\nWhile executing CallExpression at line 47, column 32 in source:\n...== 0) %}↵            {{- raise_exception('After the optional system message, con...\n                                           ^\nError: Jinja Exception: After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.";
    for (status, body) in [
        (
            500,
            serde_json::json!({"error": {"code": 500, "message": words, "type": "server_error"}}),
        ),
        (
            500,
            serde_json::json!({"error": {"message": "Conversation roles must alternate user/assistant/user/assistant/...", "type": "internal_server_error"}}),
        ),
        (
            400,
            serde_json::json!({"error": "Error rendering prompt with jinja template: \"No user query found in messages.\"."}),
        ),
        (
            422,
            serde_json::json!({"error": "Template error: syntax error: Conversation roles must alternate user/assistant/user/assistant/...", "error_type": "template_error"}),
        ),
    ] {
        let error = error(status, &body.to_string());
        assert_eq!(
            (error.code, error.retryable),
            (ErrorCode::BadRequest, false),
            "{body}"
        );
        assert_eq!(error.refused, Some(RequestPart::Roles), "{body}");
    }
    let failed = error(
        500,
        "{\"error\":{\"code\":500,\"message\":\"out of memory\",\"type\":\"server_error\"}}",
    );
    assert_eq!((failed.code, failed.refused), (ErrorCode::ServerError, None));
    let away = error(
        503,
        "{\"error\":{\"code\":503,\"message\":\"Loading model and its chat template\"}}",
    );
    assert_eq!(away.code, ErrorCode::Overloaded);
}

#[test]
fn a_model_without_eyes_refuses_pictures_whatever_the_status() {
    for (status, words) in [
        (
            500,
            "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
        ),
        (
            500,
            "Failed to create new sequence: missing data required for image input",
        ),
        (404, "No endpoints found that support image input"),
    ] {
        let body = serde_json::json!({"error": {"code": status, "message": words}}).to_string();
        let error = error(status, &body);
        assert_eq!(
            (error.code, error.retryable),
            (ErrorCode::BadRequest, false),
            "{body}"
        );
        assert_eq!(error.refused, Some(RequestPart::Media), "{body}");
    }
}

/// Status and body of refusals for lack of money; the texts are those of vendors, the rest is made up.
const NO_MONEY: &[(u16, &str)] = &[
    (
        429,
        r#"{"type":"error","error":{"type":"rate_limit_error","message":"You have reached your API usage limits: your organization has crossed its monthly API usage threshold.","details":{"error_code":"enforced_spend_limit_reached"}}}"#,
    ),
    (
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."}}"#,
    ),
    (
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified workspace API usage limits."}}"#,
    ),
    (
        402,
        r#"{"type":"error","error":{"type":"billing_error","message":"no"}}"#,
    ),
    (
        429,
        r#"{"error":{"message":"made up","type":"insufficient_quota","code":"organization_spend_limit_exceeded"}}"#,
    ),
    (
        429,
        r#"{"error":{"message":"made up","code":"project_spend_limit_exceeded"}}"#,
    ),
    (
        429,
        r#"{"error":{"message":"made up","code":"credit_balance_exhausted"}}"#,
    ),
    (
        429,
        r#"{"error":{"message":"made up","code":"organization_usage_limit_exceeded"}}"#,
    ),
    (
        429,
        r#"[{"error":{"code":429,"message":"Your prepayment credits are depleted. Please go to AI Studio.","status":"RESOURCE_EXHAUSTED"}}]"#,
    ),
    (
        429,
        r#"[{"error":{"code":429,"message":"Your project has exceeded its monthly spending cap.","status":"RESOURCE_EXHAUSTED"}}]"#,
    ),
    (
        429,
        r#"{"code":"made up","error":"Your team made-up has either used all available credits or reached its monthly spending limit."}"#,
    ),
    (
        403,
        r#"{"error":{"message":"Key limit exceeded (monthly limit).","code":403}}"#,
    ),
    (
        429,
        r#"{"error":{"message":"Your account made-up is suspended due to insufficient balance","type":"exceeded_current_quota_error"}}"#,
    ),
    (429, r#"{"error":{"code":"1113","message":"made up"}}"#),
    (400, r#"{"error":{"code":"Arrearage","message":"Access denied"}}"#),
];

#[test]
fn no_money_and_limits_of_spending_are_billing_whatever_the_status() {
    for (status, body) in NO_MONEY {
        let error = decode_error(
            *status,
            &[("x-should-retry", "true")],
            body.as_bytes(),
            Timestamp(0),
        );
        assert_eq!(error.code, C::Billing, "{body}");
        assert!(!error.retryable && error.refused.is_none(), "{body}");
    }
    let per_minute = error(
        429,
        r#"[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. Please retry in 34.5s.","status":"RESOURCE_EXHAUSTED"}}]"#,
    );
    assert_eq!(
        (per_minute.code, per_minute.retry_after_ms),
        (C::RateLimited, Some(34_500))
    );
}

#[test]
fn an_account_that_is_closed_is_no_mistake_in_the_request() {
    for status in [400, 403] {
        let body = r#"{"type":"error","error":{"type":"invalid_request_error","message":"This organization has been disabled."}}"#;
        let error = error(status, body);
        assert_eq!(error.code, C::Forbidden, "{status}");
        assert!(!error.retryable && error.refused.is_none(), "{status}");
    }
}

#[test]
fn a_conflict_is_tried_again() {
    let error = error(
        409,
        r#"{"type":"error","error":{"type":"conflict_error","message":"made up"}}"#,
    );
    assert_eq!((error.code, error.retryable), (C::Conflict, true));
}

#[test]
fn a_wait_in_words_counts_where_no_header_names_one() {
    let body = br#"{"error":{"message":"Rate limit reached. Please try again in 1.5s.","code":"rate_limit_exceeded"}}"#;
    let wait = |headers: &[(&str, &str)]| decode_error(429, headers, body, Timestamp(0)).retry_after_ms;
    assert_eq!(wait(&[]), Some(1_500));
    assert_eq!(wait(&[("retry-after", "3")]), Some(3_000));
    let refusal = error(400, r#"{"error":{"message":"Bad picture, try again in 1.5s."}}"#);
    assert_eq!(refusal.retry_after_ms, None, "it is not tried again at all");
}

#[test]
fn a_refused_longest_answer_says_how_long_it_may_be() {
    for (message, most) in [
        (
            "max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for made-up",
            Some(64_000),
        ),
        (
            "max_tokens is too large: 32000. This model supports at most 16384 completion tokens, whereas you provided 32000.",
            Some(16_384),
        ),
        (
            "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model",
            Some(8_192),
        ),
        (
            "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
            Some(8_192),
        ),
        ("Range of max_tokens should be [1, 8192]", Some(8_192)),
        ("max_tokens must be less than 8193", Some(8_192)),
        (
            "Unable to submit request because it has a maxOutputTokens value of 655360 but the supported range is from 1 (inclusive) to 8193 (exclusive). Update the value and try again.",
            Some(8_192),
        ),
        (
            "The parameter `max_completion_tokens` specified in the request are not valid: integer above maximum value, expected a value <= 12288, but got 32000 instead.",
            Some(12_288),
        ),
        (
            "The maximum tokens you requested exceeds the model limit of 8192. Try again with a maximum tokens value that is lower than 8192.",
            Some(8_192),
        ),
    ] {
        let body = format!(r#"{{"error":{{"message":"{message}","type":"invalid_request_error"}}}}"#);
        let error = error(400, &body);
        assert_eq!(error.code, C::BadRequest, "{message}");
        assert_eq!(error.refused, Some(RequestPart::LongestAnswer), "{message}");
        assert_eq!(error.longest_answer, most, "{message}");
    }
    let other = error(
        400,
        r#"{"error":{"message":"max_tokens must be greater than thinking.budget_tokens"}}"#,
    );
    assert_eq!((other.refused, other.longest_answer), (None, None));
    let full = error(
        400,
        r#"{"error":{"message":"input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens`"}}"#,
    );
    assert_eq!(full.code, C::ContextWindow);
}

#[test]
fn a_refused_tool_is_told_from_what_was_said() {
    for message in [
        "Invalid schema for function 'now': In context=(), object schema missing properties.",
        "Invalid 'tools[3].function.name': string does not match pattern.",
        "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 140 instead.",
        "tools.14.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'",
        "The GenerateContentRequest proto is invalid:\n  * tools[0].function_declarations: [FIELD_INVALID] At most 512 function declarations can be specified.",
        "GenerateContentRequest.tools[0].function_declarations[3].parameters.properties[image].items: missing field.",
        // Made up.
        "Invalid schema for function todo: made up",
        "Invalid request: tool todo has unsupported JSON schema keyword: anyOf",
    ] {
        let body = serde_json::json!({"error": {"message": message, "type": "invalid_request_error"}});
        let error = error(400, &body.to_string());
        assert_eq!(error.refused, Some(RequestPart::Tools), "{message}");
    }
    let cache = r#"{"error":{"message":"tools.18.custom.cache_control: Extra inputs are not permitted"}}"#;
    assert_eq!(error(400, cache).refused, Some(RequestPart::CacheControl));
}

#[test]
fn what_a_filter_refuses_is_told_from_a_bad_request() {
    for body in [
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}"#,
        r#"{"error":{"message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy.","type":"invalid_request_error","code":"invalid_prompt"}}"#,
        r#"{"error":{"message":"Invalid prompt: we've limited access to this content for safety reasons.","type":"invalid_request_error"}}"#,
    ] {
        let error = error(400, body);
        assert_eq!((error.code, error.refused), (C::ContentFilter, None), "{body}");
    }
}

#[test]
fn filters_of_other_vendors_and_limits_of_money_are_told_from_bad_requests() {
    for (status, body, code) in [
        (
            400,
            r#"{"error":{"message":"Content Exists Risk","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#,
            C::ContentFilter,
        ),
        (
            403,
            r#"{"code":"The caller does not have permission to execute the specified operation","error":"Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO"}"#,
            C::ContentFilter,
        ),
        (
            400,
            r#"{"error":{"code":"1301","message":"系统检测到输入或生成内容可能包含不安全或敏感内容"}}"#,
            C::ContentFilter,
        ),
        // Made up from the name of the exception.
        (
            400,
            r#"{"error":{"message":"litellm.ContentPolicyViolationError: refused","type":null,"code":"400"}}"#,
            C::ContentFilter,
        ),
        (
            400,
            r#"{"error":{"message":"Budget has been exceeded! Current cost: 1.2, Max budget: 1.0","type":"budget_exceeded","param":null,"code":"400"}}"#,
            C::Billing,
        ),
        (
            429,
            r#"{"error":{"message":"Budget has been exceeded! Current cost: 1.2, Max budget: 1.0","type":"budget_exceeded","code":"429"}}"#,
            C::Billing,
        ),
        (
            400,
            r#"{"error":{"message":"ExceededBudget: End User=x over budget. Spend=0.1, Budget=0.01","type":"auth_error","param":"None","code":400}}"#,
            C::Billing,
        ),
    ] {
        assert_eq!(error(status, body).code, code, "{body}");
    }
}

#[test]
fn openrouters_code_for_any_bad_request_is_not_taken_for_a_filter() {
    let body = r#"{"error":{"code":"invalid_prompt","message":"Invalid Responses API request: input[3].id is required (made up)"}}"#;
    let error = error(400, body);
    assert_eq!(error.code, C::BadRequest);
    assert!(error.refused.is_some(), "it is repaired");
}

#[test]
fn the_codes_of_minimax_count_beside_a_status_of_success() {
    for (code, text, expected) in [
        (1002, "rate limit", C::RateLimited),
        (1004, "not authorized", C::Unauthorized),
        (1008, "insufficient balance", C::Billing),
        (1027, "output new_sensitive", C::ContentFilter),
    ] {
        let body = serde_json::json!({"base_resp": {"status_code": code, "status_msg": text}});
        let error = error(200, &body.to_string());
        assert_eq!((error.code, error.message.as_str()), (expected, text));
    }
}

#[test]
fn deepseek_says_at_the_messages_api_that_thinking_is_missing() {
    let body = r#"{"error":{"message":"The `content[].thinking` in the thinking mode must be passed back to the API.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#;
    assert_eq!(error(400, body).refused, Some(RequestPart::MissingReasoning));
}

#[test]
fn lm_studio_names_the_window_that_a_prompt_exceeds() {
    let body = r#"{"error":"Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)"}"#;
    let error = error(400, body);
    assert_eq!(error.code, C::ContextWindow);
    let sizes = error.overflow.expect("sizes");
    assert_eq!((sizes.window, sizes.asked), (Some(7424), Some(15028)));
}

#[test]
fn a_time_to_retry_at_may_be_in_seconds_since_1970() {
    let now = Timestamp(1_795_000_000_000_000);
    let headers = [("retry-after", "1795000030")];
    let error = decode_error(429, &headers, b"{}", now);
    assert_eq!(error.retry_after_ms, Some(30_000));
}

#[test]
fn too_many_messages_are_a_full_window_of_no_known_size() {
    for message in [
        "Invalid request: $.messages is too long. Maximum length is 2048, but got 2050 items.",
        "Invalid 'messages': array too long. Expected an array with maximum length 2048, but got an array with length 2050 instead.",
        "Too many messages in the request (limit 1000)",
    ] {
        let error = error(
            400,
            &serde_json::json!({"error": {"message": message}}).to_string(),
        );
        assert_eq!(error.code, C::ContextWindow, "{message}");
        assert_eq!(error.overflow, Some(Overflow::default()), "{message}");
    }
    let calls = "Invalid 'messages[2].tool_calls': array too long. Expected an array with maximum length 128, but got an array with length 200 instead.";
    let refusal = error(400, &serde_json::json!({"error": {"message": calls}}).to_string());
    assert_eq!(
        (refusal.code, refusal.refused),
        (C::BadRequest, Some(RequestPart::ToolCalls))
    );
}

const PLACE: &str = "the provider does not serve the region";

/// The status and the words of a refusal that lasts, its code, and how the advice begins.
#[rustfmt::skip]
const LASTING: &[(u16, &str, C, &str)] = &[
    (500, "model requires more system memory (5.0 GiB) than is available (3.9 GiB)", C::NotFound, "free memory"),
    (500, "llama runner process has terminated: CUDA error: out of memory", C::NotFound, "free memory"),
    (400, "Model loading was stopped due to insufficient system resources. Under the current", C::NotFound, "free memory"),
    (500, "unable to load model: /root/.ollama/models/blobs/sha256-8fc8", C::NotFound, "the server cannot load"),
    (500, "error loading model architecture: unknown model architecture: 'phi3'", C::NotFound, "the server cannot load"),
    (500, "Value is not callable: null at row 49, column 79:", C::BadRequest, "the chat template"),
    (500, "Unknown method: keys at row 57, column 46:", C::BadRequest, "the chat template"),
    (500, "While executing FilterExpression at line 120, column 73 in source: Error: Unknown (built-in) filter 'items' for type String", C::BadRequest, "the chat template"),
    (500, "Jinja Exception: System message must be at the beginning.", C::BadRequest, "the chat template"),
    (400, "User location is not supported for the API use.", C::Forbidden, PLACE),
    (403, "Country, region, or territory not supported", C::Forbidden, PLACE),
];

#[test]
fn what_lasts_until_a_person_acts_ends_at_once_and_says_what_to_do() {
    for &(status, words, code, advice) in LASTING {
        let error = error(
            status,
            &serde_json::json!({"error": {"message": words}}).to_string(),
        );
        assert_eq!((error.code, error.retryable), (code, false), "{words}");
        assert!(
            error.advice().is_some_and(|said| said.starts_with(advice)),
            "{words}"
        );
        assert_eq!(
            error.refused,
            (code == C::BadRequest).then_some(RequestPart::Roles),
            "{words}"
        );
    }
}

#[test]
fn what_may_pass_by_itself_is_tried_again() {
    for (status, words) in [
        (503, "Loading model"),
        (
            503,
            "server busy, please try again. maximum pending requests exceeded",
        ),
        (500, "llama runner process has terminated: exit status 2"),
        (
            500,
            "EngineCore encountered an issue. See stack trace (above) for the root cause.",
        ),
    ] {
        let error = error(
            status,
            &serde_json::json!({"error": {"message": words}}).to_string(),
        );
        assert!(error.retryable && error.advice().is_none(), "{words}");
    }
}

/// Made up, except Anthropic's two.
#[test]
fn a_5xx_whose_words_mean_an_overload_is_one_and_another_is_not() {
    let body = |kind: &str, words: &str| {
        serde_json::json!({"type": "error", "error": {"type": kind, "message": words}}).to_string()
    };
    for (status, kind, words) in [
        (500, "overloaded_error", "Overloaded"),
        (500, "api_error", "Internal server error"),
        (500, "", "overloaded"),
        (500, "", "The engine is at capacity right now"),
        (500, "insufficient_capacity", "no"),
        (500, "server_error", "All workers are busy, try again"),
        (502, "", "upstream request timeout"),
        (500, "", "context deadline exceeded"),
        (520, "", "The service is temporarily unavailable"),
        (500, "server_busy", ""),
    ] {
        let error = error(status, &body(kind, words));
        let told = (error.code, error.retryable, error.refused);
        assert_eq!(told, (C::Overloaded, true, None), "{status} {kind}: {words}");
    }
    for (status, kind, words, code) in [
        (500, "internal_error", "Internal server error", C::ServerError),
        (500, "api_error", "made up: no such field", C::ServerError),
        (
            500,
            "api_error",
            "error parsing tool call while busy",
            C::BadGeneration,
        ),
        (500, "", "unable to load model: the device is busy", C::NotFound),
        (
            400,
            "invalid_request_error",
            "the word busy is not allowed here",
            C::BadRequest,
        ),
        (504, "", "upstream request timeout", C::Timeout),
    ] {
        let error = error(status, &body(kind, words));
        assert_eq!(error.code, code, "{status} {kind}: {words}");
    }
}

#[test]
fn a_call_that_a_server_cannot_parse_is_no_outage() {
    let body = r#"{"error":{"message":"error parsing tool call: raw='{', err=unexpected end of JSON input","type":"api_error"}}"#;
    let error = error(500, body);
    assert_eq!((error.code, error.retryable), (C::BadGeneration, true));
}

#[test]
fn a_server_that_takes_no_tools_is_not_asked_in_other_forms() {
    for (status, words) in [
        (400, "registry.ollama.ai/library/gemma3:4b does not support tools"),
        (
            400,
            "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
        ),
        (
            404,
            "No endpoints found that support tool use. Try disabling \"bash\".",
        ),
        (500, "tools param requires --jinja flag"),
        (
            400,
            "Unsupported parameter: 'tools' is not supported with this model.",
        ),
        (400, "`tool calling` is not supported with this model"),
        (400, "`tools` is not supported with this model."),
        (400, "Unsupported param: tools"),
        // Made up.
        (400, "Function calling is not supported by this endpoint."),
    ] {
        let error = error(
            status,
            &serde_json::json!({"error": {"message": words}}).to_string(),
        );
        assert_eq!(
            (error.code, error.retryable),
            (ErrorCode::BadRequest, false),
            "{words}"
        );
        assert!(error.refused.is_none() && error.takes_no_tools(), "{words}");
    }
    let other = error(400, r#"{"error":{"message":"no such thing"}}"#);
    assert!(!other.takes_no_tools());
}

#[test]
fn tools_that_only_responses_takes_are_not_asked_for_in_other_forms() {
    let refused = |id: &str| {
        let words = format!(
            "Function tools with reasoning_effort are not supported for {id} in /v1/chat/completions. Please use /v1/responses instead."
        );
        let error = error(400, &serde_json::json!({"error": {"message": words}}).to_string());
        assert_eq!((error.code, error.retryable), (C::BadRequest, false), "{id}");
        error.refused
    };
    assert_eq!(refused("gpt-6.2-sol"), None);
    assert_eq!(refused("gpt-6-astra"), None);
    assert_eq!(
        refused("gpt-5.4"),
        Some(RequestPart::Extras),
        "it takes them without an effort"
    );
}

#[test]
fn a_refused_login_without_a_key_says_so() {
    let said = |status, has_key| error(status, "{}").refine_missing_key(has_key).message;
    for status in [401, 403] {
        assert!(said(status, false).ends_with("(no API key was sent)"), "{status}");
        assert!(!said(status, true).contains("no API key was sent"), "{status}");
    }
    assert!(!said(400, false).contains("no API key was sent"));
}

#[test]
fn a_server_without_responses_is_named_with_the_path() {
    let said = |api, status, body: &str| error(status, body).refine_missing_path(api).message;
    let path = "(it was asked at /responses)";
    for (status, body) in [
        (404, r#"{"detail":"Not Found"}"#),
        (405, r#"{"detail":"Method Not Allowed"}"#),
        (404, ""),
    ] {
        assert!(said(Api::OpenaiResponses, status, body).ends_with(path), "{body}");
        assert!(!said(Api::OpenaiChat, status, body).contains(path), "{body}");
    }
    let unknown = r#"{"error":{"message":"The model `made-up` does not exist"}}"#;
    assert!(!said(Api::OpenaiResponses, 404, unknown).contains(path));
    assert!(!said(Api::OpenaiResponses, 400, r#"{"detail":"no"}"#).contains(path));
}

#[test]
fn a_call_that_llama_cpp_cannot_parse_is_asked_for_again() {
    let words = "Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error at line 1, column 74";
    let error = error(
        500,
        &serde_json::json!({"error": {"code": 500, "message": words}}).to_string(),
    );
    assert_eq!((error.code, error.retryable), (ErrorCode::BadGeneration, true));
}

#[test]
fn a_picture_that_may_pass_the_next_time_is_sent_again_first() {
    let words = "Unable to process input image. Please retry your request.";
    let refused = error(400, &serde_json::json!({"error": {"message": words}}).to_string());
    assert_eq!(
        (refused.refused, refused.retryable),
        (Some(RequestPart::Media), true)
    );
}

#[test]
fn what_moderation_flags_is_no_matter_of_keys() {
    for (status, words) in [
        (
            403,
            "Your chosen model requires moderation and your input was flagged for \"violence\"",
        ),
        (403, "Request blocked by guardrail"),
        (
            400,
            "This request has been flagged for possible cybersecurity risk",
        ),
    ] {
        let body = serde_json::json!({"error": {"code": status, "message": words}}).to_string();
        assert_eq!(error(status, &body).code, ErrorCode::ContentFilter, "{words}");
    }
    let code = r#"{"error":{"code":"cyber_policy","message":"made up"}}"#;
    assert_eq!(error(400, code).code, ErrorCode::ContentFilter);
    assert_eq!(
        error(403, r#"{"error":{"message":"no"}}"#).code,
        ErrorCode::Forbidden
    );
}

#[test]
fn a_time_to_wait_is_read_from_fields_too() {
    let google = serde_json::json!({"error": {"code": 429, "message": "Quota exceeded", "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "4s"}]}});
    assert_eq!(error(429, &google.to_string()).retry_after_ms, Some(4_000));
    let now = Timestamp(1_700_000_000_000_000);
    let router = serde_json::json!({"error": {"code": 429, "message": "Rate limit exceeded: free-models-per-day",
        "metadata": {"headers": {"X-RateLimit-Reset": "1700021600000"}}}});
    let read = decode_error(429, &[], router.to_string().as_bytes(), now);
    assert_eq!(read.retry_after_ms, Some(21_600_000));
    let header = |value| decode_error(429, &[("X-RateLimit-Reset", value)], b"{}", now).retry_after_ms;
    assert_eq!(header("1700000003000"), Some(3_000));
    assert_eq!(
        (header("1700000003"), header("60"), header("soon")),
        (None, None, None)
    );
}

/// Gateways that forward a request to Claude.
#[test]
fn an_empty_text_that_is_refused_is_named() {
    for message in [
        "anthropic: send request: messages: text content blocks must be non-empty",
        "bedrock error: The content field in the Message object at messages.2 is empty. Add a ContentBlock object to the content field and try again.",
    ] {
        let body = serde_json::json!({"error": {"message": message}}).to_string();
        assert_eq!(error(400, &body).refused, Some(RequestPart::EmptyText), "{body}");
    }
}

#[test]
fn a_single_setting_that_is_refused_is_named() {
    use agentx_types::RequestPart as Part;
    let openai = |message: &str, param: Option<&str>| {
        let error = serde_json::json!({"message": message, "type": "invalid_request_error", "param": param});
        (400, serde_json::json!({ "error": error }).to_string())
    };
    let fastapi = |name: &str| {
        let detail = serde_json::json!([{"type": "extra_forbidden", "loc": ["body", name],
            "msg": "Extra inputs are not permitted", "input": {"include_usage": true}}]);
        (422, serde_json::json!({ "detail": detail }).to_string())
    };
    let instead = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    for ((status, body), part) in [
        (openai(instead, Some("max_tokens")), Some(Part::MaxTokens)),
        (openai(instead, None), Some(Part::MaxTokens)),
        (
            openai(
                "Unrecognized request argument supplied: max_completion_tokens",
                None,
            ),
            Some(Part::MaxCompletionTokens),
        ),
        (
            openai(
                "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
                Some("temperature"),
            ),
            Some(Part::Temperature),
        ),
        (
            openai(
                "Unsupported value: 'reasoning_effort' does not support 'none' with this model. Supported values are: 'medium'.",
                Some("reasoning_effort"),
            ),
            Some(Part::ReasoningEffort),
        ),
        (
            openai(
                "1 validation error for ChatCompletionServerRequest\nreasoning_effort\n  Input should be 'low', 'medium' or 'high'",
                None,
            ),
            Some(Part::ReasoningEffort),
        ),
        (fastapi("stream_options"), Some(Part::StreamOptions)),
        (fastapi("prompt_cache_key"), Some(Part::CacheKey)),
        (
            openai("Extra inputs are not permitted, field: 'stream_options'", None),
            Some(Part::StreamOptions),
        ),
        (
            openai("Invalid schema for function 'get_temperature': made up", None),
            Some(Part::Tools),
        ),
        (
            openai("max_tokens must be greater than thinking.budget_tokens", None),
            None,
        ),
    ] {
        assert_eq!(error(status, &body).refused, part, "{body}");
    }
}

#[test]
fn a_kind_of_block_that_a_server_does_not_know_is_named() {
    use agentx_types::RequestPart as Part;
    let refused = |place: &str, tag: &str| {
        let message = format!(
            "{place}: Input tag '{tag}' found using 'type' does not match any of the expected tags: 'document', 'image', 'redacted_thinking', 'text', 'thinking', 'tool_result', 'tool_use'"
        );
        let body = serde_json::json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}});
        error(400, &body.to_string()).refused
    };
    for tag in ["future_block", "server_tool_use", "web_search_tool_result"] {
        assert_eq!(refused("messages.1.content.0", tag), Some(Part::Blocks));
    }
    assert_eq!(refused("messages.1.content.0", "thinking"), Some(Part::Thinking));
    assert_eq!(refused("messages.1.content.0", "image"), Some(Part::Media));
    assert_eq!(refused("thinking", "adaptive"), Some(Part::AdaptiveThinking));
    assert_eq!(refused("thinking", "made_up"), Some(Part::Extras));
    assert_eq!(refused("tools.0", "made_up"), Some(Part::Tools));
}

#[test]
fn a_quota_of_a_day_is_not_waited_for() {
    let quota = |id: &str| {
        let body = serde_json::json!([{"error": {"code": 429, "message": "You exceeded your current quota. Please retry in 36s.",
            "status": "RESOURCE_EXHAUSTED", "details": [
                {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": id, "quotaValue": "20"}]},
                {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "36s"}]}}]);
        error(429, &body.to_string())
    };
    let day = quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier");
    assert_eq!((day.code, day.retryable), (C::RateLimited, false));
    assert!(day.message.contains("midnight Pacific time"), "{}", day.message);
    let minute = quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier");
    assert_eq!((minute.retryable, minute.retry_after_ms), (true, Some(36_000)));
}

#[test]
fn what_is_asked_for_the_answer_is_no_part_of_the_prompt() {
    for message in [
        "This model's maximum context length is 8192 tokens. However, you requested 9992 tokens (1800 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.",
        "This model's maximum context length is 8192 tokens. However, you requested 9992 tokens (1500 in the messages, 300 in the functions, and 8192 in the completion). Please reduce the length of the messages, functions, or completion.",
        "'max_tokens' or 'max_completion_tokens' is too large: 8000. This model's maximum context length is 8192 tokens and your request has 1800 input tokens (8000 > 8192 - 1800).",
        "input length and `max_tokens` exceed context limit: 1800 + 8000 > 8192, decrease input length or `max_tokens`",
        "This model's maximum context length is 8192 tokens. However, you requested 8192 output tokens and your prompt contains at least 1800 input tokens, for a total of at least 9992 tokens.",
    ] {
        let body = serde_json::json!({"error": {"message": message, "type": "BadRequestError", "code": 400}});
        let read = error(400, &body.to_string());
        let sizes = Overflow {
            window: Some(8_192),
            asked: Some(1_800),
        };
        assert_eq!(read.overflow, Some(sizes), "{message}");
    }
}

#[test]
fn a_limit_that_holds_for_hours_is_not_waited_for() {
    for body in [
        r#"{"error":{"code":"1308","message":"Usage limit reached for 5 hour. Your limit will reset at 2026-11-28 18:41:50"}}"#,
        r#"{"error":{"code":"1310","message":"made up"}}"#,
        r#"{"error":{"code":1316,"message":"Weekly usage limit reached. Your limit will reset at 2026-12-01 00:00:00"}}"#,
        r#"{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"plus"}}"#,
        r#"{"error":{"type":"rate_limit_reached_error","message":"You've reached your usage limit for this billing cycle."}}"#,
        r#"{"message":"Tokens per day limit exceeded - too many tokens processed.","type":"too_many_tokens_error","param":"quota","code":"token_quota_exceeded"}"#,
    ] {
        let error = error(429, body);
        assert_eq!((error.code, error.retryable), (C::RateLimited, false), "{body}");
    }
    let now = Timestamp(1_777_922_696_000_000);
    let codex = |fields: &str| {
        let body = format!(
            r#"{{"error":{{"type":"usage_limit_reached","message":"The usage limit has been reached",{fields}}}}}"#
        );
        let error = decode_error(429, &[], body.as_bytes(), now);
        (error.retryable, error.retry_after_ms)
    };
    assert_eq!(codex(r#""resets_in_seconds":13872"#), (true, Some(13_872_000)));
    assert_eq!(codex(r#""resets_at":1777936568"#), (true, Some(13_872_000)));
    let day = error(
        429,
        r#"{"error":{"code":"RateLimitReached","message":"Rate limit of 50 per 86400s exceeded for UserByModelByDay. Please wait 62391 seconds before retrying."}}"#,
    );
    assert_eq!((day.code, day.retry_after_ms), (C::RateLimited, Some(62_391_000)));
}

#[test]
fn a_rate_that_one_request_exceeds_is_a_full_window() {
    let body = r#"{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 30,000 input tokens per minute (org: x, model: y)."}}"#;
    let refused = |remaining| {
        let headers = [
            ("retry-after", "5"),
            ("anthropic-ratelimit-input-tokens-limit", "30000"),
            ("anthropic-ratelimit-input-tokens-remaining", remaining),
        ];
        decode_error(429, &headers, body.as_bytes(), Timestamp(0))
    };
    let never = refused("30000");
    let sizes = |window| {
        Some(Overflow {
            window: Some(window),
            asked: None,
        })
    };
    assert_eq!((never.code, never.retryable), (C::ContextWindow, false));
    assert_eq!(never.overflow, sizes(30_000));
    let later = refused("12000");
    assert_eq!(
        (later.code, later.retry_after_ms, later.overflow),
        (C::RateLimited, Some(5_000), None)
    );
    let long = error(
        429,
        r#"{"type":"error","error":{"type":"rate_limit_error","message":"Extra usage is required for long context requests."}}"#,
    );
    assert_eq!(
        (long.code, long.retryable, long.overflow),
        (C::ContextWindow, false, sizes(200_000))
    );
}

#[test]
fn what_a_server_cannot_do_yet_is_asked_for_again() {
    let early = error(425, r#"{"error":{"message":"Too early"}}"#);
    assert_eq!((early.code, early.retryable), (C::Conflict, true));
    let flex = error(
        498,
        r#"{"error":{"message":"Flex tier capacity exceeded","code":"capacity_exceeded"}}"#,
    );
    assert_eq!((flex.code, flex.retryable), (C::Overloaded, true));
    let cancelled = error(
        499,
        r#"[{"error":{"code":499,"message":"The operation was cancelled.","errors":[{"message":"The operation was cancelled.","domain":"global","reason":"backendError"}],"status":"CANCELLED"}}]"#,
    );
    assert_eq!((cancelled.code, cancelled.retryable), (C::ServerError, true));
}

#[test]
fn a_model_that_is_streamed_to_verified_organizations_alone_is_not_asked_in_other_forms() {
    let body = r#"{"error":{"message":"Your organization must be verified to stream this model. Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization.","type":"invalid_request_error","param":"stream","code":"unsupported_value"}}"#;
    let error = error(400, body);
    assert_eq!(
        (error.code, error.retryable, error.refused),
        (C::Forbidden, false, None)
    );
    assert!(error.message.contains("Verify Organization"), "{error}");
}

#[test]
fn settings_of_responses_are_found_by_name_in_the_forms_of_their_servers() {
    use agentx_types::RequestPart as Part;
    let refused = |body: serde_json::Value, status| error(status, &body.to_string()).refused;
    for (name, part) in [
        ("include", Part::Include),
        ("store", Part::Store),
        ("reasoning", Part::Reasoning),
    ] {
        let told = |message: String, param: Option<&str>| serde_json::json!({"error": {"type": "invalid_request_error", "message": message, "param": param}});
        for (body, status) in [
            (
                told(
                    format!("Unsupported parameter: '{name}' is not supported with this model."),
                    Some(name),
                ),
                400,
            ),
            (told(format!("Unknown parameter: '{name}'."), None), 400),
            (
                told(format!("Unrecognized request argument supplied: {name}"), None),
                400,
            ),
            (
                serde_json::json!({"detail": format!("Unsupported parameter: {name}")}),
                400,
            ),
            (
                serde_json::json!({"detail": [{"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted", "input": true}]}),
                422,
            ),
            (told(format!("{name}: Extra inputs are not permitted"), None), 400),
            (
                told(
                    format!(
                        "Failed to deserialize the JSON body: unknown field `{name}` at line 1 column 99"
                    ),
                    None,
                ),
                400,
            ),
            (
                serde_json::json!({"code": "Client specified an invalid argument", "error": format!("Argument not supported on this model: {name}")}),
                400,
            ),
        ] {
            assert_eq!(refused(body.clone(), status), Some(part), "{body}");
        }
    }
}

#[test]
fn strict_of_tools_and_other_places_are_told_from_settings() {
    use agentx_types::RequestPart as Part;
    let message = |message: &str| {
        let body = serde_json::json!({"error": {"message": message}});
        error(400, &body.to_string()).refused
    };
    for (said, part) in [
        ("Unknown parameter: 'tools[0].strict'.", Part::ToolStrict),
        (
            "body.tools.0.strict: Extra inputs are not permitted",
            Part::ToolStrict,
        ),
        (
            "tools.3.function.strict: Extra inputs are not permitted",
            Part::ToolStrict,
        ),
        (
            "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
            Part::ReasoningEffort,
        ),
        (
            "Unsupported parameter: 'reasoning.summary' is not supported with this model.",
            Part::ReasoningSummary,
        ),
        (
            "`messages[3].reasoning`: reasoning is not supported with this model",
            Part::Thinking,
        ),
        (
            "Invalid 'tools[3].name': string does not match pattern, which must not include spaces",
            Part::Tools,
        ),
    ] {
        assert_eq!(message(said), Some(part), "{said}");
    }
}
