//! Refusals in every shape. The bodies here are made up, after the shapes that providers document; recorded ones are
//! held in `recordings.rs`.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

use agentx_llm::{ErrorCode, ModelError, decode_error};
use agentx_types::Timestamp;

fn error(status: u16, body: &str) -> ModelError {
    decode_error(status, &[], body.as_bytes(), Timestamp(0))
}

use ErrorCode as C;

/// Status, body, our code, how our message begins.
const CASES: [(u16, &str, C, &str); 24] = [
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
    assert_eq!(
        after(&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")]),
        Some(30_000)
    );
    assert_eq!(
        after(&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")]),
        Some(0),
        "it is over"
    );
    for nonsense in ["soon", "-1", "NaN", "inf", ""] {
        assert_eq!(after(&[("retry-after", nonsense)]), None, "{nonsense}");
    }
    assert_eq!(after(&[("retry-after", "1e300")]), Some(u64::MAX));
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
