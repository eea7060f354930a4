//! Refusals by status: which are tried again, when, and how often.

use agentx_testing::{ServerReply, TestServer, wire};
use agentx_types::{Api, EnvironmentEvent as E, MessagePlace, RequestPart};
use serde_json::{Value, json};

use crate::{Caller, answered, check, failing, message, story};

fn refusal(status: u16, kind: &str, message: &str) -> ServerReply {
    ServerReply::json(
        status,
        &json!({ "type": "error", "error": { "type": kind, "message": message } }),
    )
}

fn good() -> ServerReply {
    ServerReply::stream().then(wire::anthropic_text(&["hel", "lo"]))
}

#[tokio::test]
async fn what_would_fail_again_is_not_tried_again() {
    for (status, kind, code) in [
        (400, "invalid_request_error", "bad_request"),
        (401, "authentication_error", "unauthorized"),
        (403, "permission_error", "forbidden"),
        (404, "not_found_error", "not_found"),
        (413, "request_too_large", "too_large"),
        (501, "not_supported_error", "not_found"),
        (505, "api_error", "not_found"),
        (506, "", "not_found"),
        (510, "", "not_found"),
    ] {
        let expected = vec![
            format!("attempt_failed 1 {code} {status} last"),
            format!("error {code}"),
        ];
        let said = check(vec![refusal(status, kind, "no, never")], expected).await;
        let told = message(&said);
        assert!(
            told.starts_with("anthropic at 127.0.0.1:") && told.ends_with(" says: no, never"),
            "{told}"
        );
        assert_eq!(said.batches, [2], "what fails together is committed together");
    }
}

#[tokio::test]
async fn the_message_at_a_place_that_a_refusal_names_is_recorded() {
    for (words, is_named) in [
        ("messages.0.content.0: made up, not accepted", true),
        ("messages.7.content.0: made up, not accepted", false),
        ("made up, not accepted", false),
    ] {
        let server = TestServer::start([refusal(400, "invalid_request_error", words)]).await;
        let caller = Caller::at(&server.url());
        let said = caller.call().await;
        let expected = is_named.then(|| MessagePlace {
            message_id: caller.request().messages[0].message_id.clone(),
            part: Some(0),
        });
        let place = said.events.iter().find_map(|event| match event {
            E::AttemptFailed(failed) => Some(failed.refused_place.as_deref().cloned()),
            _ => None,
        });
        assert_eq!(place, Some(expected), "{words}");
    }
}

#[tokio::test]
async fn what_may_pass_is_tried_again() {
    for (status, kind, code) in [
        (429, "rate_limit_error", "rate_limited"),
        (500, "api_error", "server_error"),
        (502, "", "server_error"),
        (503, "", "overloaded"),
        (529, "overloaded_error", "overloaded"),
    ] {
        let mut expected = vec![format!("attempt_failed 1 {code} {status} in 250")];
        expected.extend(answered(2));
        check(vec![refusal(status, kind, "later"), good()], expected).await;
    }
}

#[tokio::test]
async fn a_server_that_stays_overloaded_is_given_up() {
    let server = TestServer::start((0..100).map(|_| refusal(529, "overloaded_error", "Overloaded"))).await;
    let caller = Caller::at(&server.url());
    let said = caller.call().await;
    assert_eq!(story(&said)[..5], failing("overloaded 529"));
    let attempts = server.requests().len();
    let place = server.url().replace("http://", "");
    assert_eq!(
        message(&said),
        format!("anthropic at {place} says: Overloaded (gave up after {attempts} attempts in 10m)")
    );
    let waited: u128 = caller.pause.millis().iter().sum();
    assert!((590_000..=600_000).contains(&waited), "{waited}");
    let bodies: Vec<_> = server
        .requests()
        .into_iter()
        .map(|request| request.body)
        .collect();
    assert!(
        bodies.windows(2).all(|pair| pair[0] == pair[1]),
        "the same request each time"
    );
}

/// The address is not the vendor's, as with a gateway.
#[tokio::test]
async fn a_500_whose_words_mean_an_overload_is_waited_for_and_not_sent_in_plainer_forms() {
    for (kind, words) in [
        ("overloaded_error", "Overloaded"),
        ("api_error", "Internal server error"),
        ("", "overloaded"),
        ("", "made up: the server is busy"),
        ("", "made up: the request to the model timed out"),
    ] {
        let server = TestServer::start((0..100).map(move |_| refusal(500, kind, words))).await;
        let caller = Caller::at(&server.url());
        let said = caller.call().await;
        assert_eq!(story(&said)[..5], failing("overloaded 500"), "{words}");
        let waited: u128 = caller.pause.millis().iter().sum();
        assert!((590_000..=600_000).contains(&waited), "{words}: {waited}");
        let refused = said.events.iter().any(|event| match event {
            E::AttemptFailed(failed) => failed.refused.is_some(),
            _ => false,
        });
        assert!(!refused, "{words}");
    }
}

#[tokio::test]
async fn a_server_that_answers_500_to_a_request_each_time_refuses_it() {
    for (status, refused) in [(500, Some(RequestPart::Unknown)), (503, None)] {
        let server = TestServer::start((0..100).map(move |_| refusal(status, "api_error", "made up"))).await;
        let said = Caller::at(&server.url()).call().await;
        let failed = said.events.iter().filter_map(|event| match event {
            // The conversation has no reasoning, so leaving it out would not change the request.
            E::AttemptFailed(failed) => Some((failed.refused, failed.no_thinking)),
            _ => None,
        });
        let failed: Vec<(Option<RequestPart>, bool)> = failed.collect();
        assert!(
            failed
                .iter()
                .all(|(part, no_thinking)| part.is_some() == *no_thinking)
        );
        let failed: Vec<Option<RequestPart>> = failed.into_iter().map(|(part, _)| part).collect();
        let (last, earlier) = failed.split_last().unwrap();
        assert_eq!(*last, refused, "{status}");
        assert!(
            earlier.len() > 1 && earlier.iter().all(Option::is_none),
            "{status}"
        );
    }
}

/// The server may only be down for a while.
#[tokio::test]
async fn a_plainer_form_is_retried_for_a_minute_and_its_failure_counts_the_attempts_of_both() {
    let server = TestServer::start((0..100).map(|_| refusal(500, "api_error", "made up"))).await;
    let caller = Caller::at(&server.url());
    let first = caller.call().await;
    assert!(
        message(&first).ends_with(" attempts in 15s)"),
        "{}",
        message(&first)
    );
    let waited = |pauses: &[u128]| pauses.iter().sum::<u128>();
    let before = waited(&caller.pause.millis());
    let plainer = caller.call().await;
    let after = waited(&caller.pause.millis()) - before;
    assert!((14_000..=15_000).contains(&before), "{before}");
    assert!((58_000..=60_000).contains(&after), "{after}");
    let attempts = server.requests().len();
    let told = message(&plainer);
    let all = format!("(gave up after {attempts} attempts in 1m15s)");
    assert!(told.ends_with(&all), "{told}");
}

#[tokio::test]
async fn retry_after_is_honoured() {
    for (header, value, wait) in [
        ("retry-after", "2", 2_000),
        ("retry-after", "0", 250),
        ("retry-after-ms", "700", 700),
        // The simulated time is 09:20:00.
        ("retry-after", "Thu, 20 Nov 2025 09:20:09 GMT", 9_000),
        ("retry-after", "soon", 250),
    ] {
        let refused = refusal(429, "rate_limit_error", "slow down").header(header, value);
        let mut expected = vec![format!("attempt_failed 1 rate_limited 429 in {wait}")];
        expected.extend(answered(2));
        check(vec![refused, good()], expected).await;
    }
}

#[tokio::test]
async fn a_wait_that_is_too_long_ends_the_call_and_is_named() {
    let refused = refusal(429, "rate_limit_error", "slow down").header("retry-after", "3600");
    let expected = vec![
        "attempt_failed 1 rate_limited 429 last".to_owned(),
        "error rate_limited".to_owned(),
    ];
    let said = check(vec![refused], expected).await;
    let told = message(&said);
    let end = " says: slow down (it asks to wait 1h, but `model_calls.max_retry_time` allows 10m)";
    assert!(told.ends_with(end), "{told}");
}

#[tokio::test]
async fn refusals_without_sense_still_have_words() {
    for body in ["", "<html><h1>nginx</h1></html>", "{", "null", "\u{0}\u{1}"] {
        let refused = ServerReply::body(404, "text/html", body);
        let expected = vec![
            "attempt_failed 1 not_found 404 last".to_owned(),
            "error not_found".to_owned(),
        ];
        let said = check(vec![refused], expected).await;
        assert!(!message(&said).is_empty());
    }
}

#[tokio::test]
async fn the_body_of_a_refusal_is_not_waited_for_without_end() {
    let endless = ServerReply::status(400).until_close().then_flood(b'x', 4 << 20);
    check(
        vec![endless],
        vec![
            "attempt_failed 1 bad_request 400 last".into(),
            "error bad_request".into(),
        ],
    )
    .await;
    let broken = ServerReply::status(400)
        .claiming_length(100)
        .then("{\"error\"")
        .then_close();
    check(
        vec![broken],
        vec![
            "attempt_failed 1 bad_request 400 last".into(),
            "error bad_request".into(),
        ],
    )
    .await;
}

/// A stream of these events.
fn stream_of(events: &[Value]) -> ServerReply {
    ServerReply::stream().then(
        events
            .iter()
            .map(|event| format!("data: {event}\n\n"))
            .collect::<String>(),
    )
}

/// Refusals within a 200: the answer is announced, or not even that, and then refused. The text around the
/// codes is made up.
fn refusals_within_a_stream() -> Vec<(Api, Vec<Value>, &'static str)> {
    let created = json!({"type": "response.created", "response": {"id": "resp_1", "model": "m"}});
    let failed = |code: &str, words: &str| {
        json!({"type": "response.failed", "response": {"id": "resp_1", "status": "failed", "output": [],
            "error": {"code": code, "message": words}}})
    };
    let started = json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
        "model": "m", "content": [], "usage": {"input_tokens": 7, "output_tokens": 1}}});
    let busy = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let words = "Our servers are busy. Please try again later.";
    vec![
        (
            Api::OpenaiResponses,
            vec![created.clone(), failed("server_is_overloaded", words)],
            "overloaded",
        ),
        (
            Api::OpenaiResponses,
            vec![
                created.clone(),
                failed("rate_limit_exceeded", "Rate limit reached"),
            ],
            "rate_limited",
        ),
        (
            Api::OpenaiResponses,
            vec![
                created.clone(),
                json!({"type": "error", "code": "server_is_overloaded", "message": words, "param": null}),
            ],
            "overloaded",
        ),
        (
            Api::OpenaiResponses,
            vec![
                json!({"type": "error", "error": {"type": "service_unavailable_error", "code": "server_is_overloaded", "message": words}}),
            ],
            "overloaded",
        ),
        (Api::Anthropic, vec![started, busy.clone()], "overloaded"),
        (Api::Anthropic, vec![busy], "overloaded"),
    ]
}

#[tokio::test]
async fn a_refusal_within_a_stream_is_waited_for_like_one_by_status() {
    for (api, events, code) in refusals_within_a_stream() {
        let server = TestServer::start((0..100).map(|_| stream_of(&events))).await;
        let caller = Caller::with(&server.url(), api, |_| {});
        let said = caller.call().await;
        let waited: u128 = caller.pause.millis().iter().sum();
        assert!((590_000..=600_000).contains(&waited), "{waited}: {events:?}");
        let is_failure = |line: &String| line.starts_with(&format!("attempt_failed 1 {code} in 250"));
        assert!(story(&said).iter().any(is_failure), "{:?}", story(&said));
        let estimated = said.events.iter().any(|event| match event {
            E::UsageReport(report) => report.usage.is_estimated(),
            _ => false,
        });
        assert!(!estimated, "it costs what the vendor says: {events:?}");
    }
}

#[tokio::test]
async fn a_wait_within_a_stream_is_kept() {
    let refused = stream_of(&[
        json!({"type": "response.created", "response": {"id": "resp_1", "model": "m"}}),
        json!({"type": "response.failed", "response": {"id": "resp_1", "status": "failed", "output": [],
            "error": {"code": "rate_limit_exceeded", "message": "Rate limit reached. Please try again in 2.5s."}}}),
    ]);
    let whole = stream_of(&[
        json!({"type": "response.completed", "response": {"id": "resp_2", "model": "m", "status": "completed",
            "output": [{"type": "message", "content": [{"type": "output_text", "text": "hello"}]}]}}),
    ]);
    let server = TestServer::start([refused, whole]).await;
    let caller = Caller::with(&server.url(), Api::OpenaiResponses, |_| {});
    let said = caller.call().await;
    assert_eq!(caller.pause.millis(), [2_500]);
    assert!(
        story(&said).contains(&"text hello".to_owned()),
        "{:?}",
        story(&said)
    );
}
