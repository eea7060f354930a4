//! The cost of an answer that its server did not count, because it was cut off or because the server never
//! counts: an estimate is recorded and marked as one.

use agentx_testing::{Gate, ServerReply, TestServer, fixture, start, wire};
use agentx_types::{Api, EnvironmentEvent as E, Usage};
use serde_json::json;

use crate::Caller;

/// Two thousand characters: about 500 tokens.
fn words() -> String {
    "some words ".repeat(182)
}

/// A stream of OpenAI's protocol from a server that reports no usage.
fn uncounted(text: &str) -> String {
    let counted = wire::chat_text(&[text]);
    let pieces = counted.split_inclusive("\n\n");
    pieces.filter(|piece| !piece.contains("prompt_tokens")).collect()
}

/// Returns the usage that is recorded for a complete answer of this form.
async fn answered(api: Api, reply: ServerReply) -> Usage {
    let server = TestServer::start([reply]).await;
    let said = Caller::with(&server.url(), api, |_| {}).call().await;
    assert!(matches!(said.events.last(), Some(E::StreamEnd(_))), "{said:?}");
    booked(&said.events)
}

/// The usage that was reported last.
fn booked(events: &[E]) -> Usage {
    let usage = events.iter().rev().find_map(|event| match event {
        E::UsageReport(report) => Some(report.usage),
        _ => None,
    });
    usage.expect("a usage")
}

/// Returns the usage that is recorded for an answer of this API that a person stops in its middle.
async fn stopped(api: Api, begun: String) -> Usage {
    let gate = Gate::closed();
    let server = TestServer::start([ServerReply::stream().then(begun).then_stall(&gate)]).await;
    let caller = Caller::with(&server.url(), api, |_| {});
    let mut call = start(&caller.effector, fixture::call(caller.request()));
    assert!(call.wait_for("text_chunk").await);
    call.cancel();
    booked(&call.finish().await.events)
}

#[tokio::test]
async fn nobody_counts_for_a_server_that_counts_at_the_end() {
    let whole = wire::chat_text(&[&words(), "the end"]);
    let begun = whole[..whole.find("the end").unwrap()].to_owned();
    let usage = stopped(Api::OpenaiChat, begun).await;
    assert!((490..520).contains(&usage.output_tokens), "{usage:?}");
    assert!((2..2_000).contains(&usage.input_tokens), "{usage:?}");
    assert_eq!(usage.estimated_tokens, usage.input_tokens + usage.output_tokens);
}

#[tokio::test]
async fn what_the_provider_has_counted_stays() {
    let begun = wire::anthropic_start() + &wire::anthropic_delta(&words());
    let usage = stopped(Api::Anthropic, begun).await;
    assert_eq!(usage.input_tokens, 12, "counted when the answer began");
    assert!((490..520).contains(&usage.output_tokens), "{usage:?}");
    assert_eq!(usage.estimated_tokens, usage.output_tokens - 1, "one was counted");
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_booked_beside_the_next_one() {
    let part = wire::anthropic_start() + &wire::anthropic_delta(&words());
    let good = ServerReply::stream().then(wire::anthropic_text(&["hel", "lo"]));
    let server = TestServer::start([ServerReply::stream().then(part).then_half_close(), good]).await;
    let said = Caller::at(&server.url()).call().await;
    let ends = said
        .events
        .iter()
        .position(|event| matches!(event, E::StreamEnd(_)));
    let broken = booked(&said.events[..ends.unwrap()]);
    assert!(broken.estimated_tokens > 400, "{broken:?}");
    assert!(!booked(&said.events).is_estimated(), "a whole answer is counted");
}

#[tokio::test]
async fn a_request_that_was_taken_and_lost_before_the_first_byte_is_booked() {
    let good = || ServerReply::stream().then(wire::anthropic_text(&["hel", "lo"]));
    let lost = ServerReply::stream;
    let server = TestServer::start([lost(), good()]).await;
    let said = Caller::at(&server.url()).call().await;
    let ends = said
        .events
        .iter()
        .position(|event| matches!(event, E::StreamEnd(_)));
    let usage = booked(&said.events[..ends.unwrap()]);
    assert!(usage.input_tokens > 0, "{usage:?}");
    assert_eq!(
        (usage.output_tokens, usage.estimated_tokens),
        (0, usage.input_tokens)
    );

    // A beginning without a word would drop those of the attempt before.
    let part = wire::anthropic_start() + &wire::anthropic_delta(&words());
    let replies = [ServerReply::stream().then(part), lost(), good()];
    let server = TestServer::start(replies).await;
    let said = Caller::at(&server.url()).call().await;
    let begun = said.events.iter().filter_map(|event| match event {
        E::StreamStart(start) => Some(start.attempt),
        _ => None,
    });
    assert_eq!(begun.collect::<Vec<u32>>(), [1, 3]);
    let mut attempts = said.events.split(|event| matches!(event, E::AttemptFailed(_)));
    let lost = booked(attempts.nth(1).unwrap());
    assert_eq!(
        (lost.input_tokens > 0, lost.output_tokens, lost.estimated_tokens),
        (true, 0, lost.input_tokens)
    );
}

#[tokio::test]
async fn a_whole_answer_of_a_server_that_counts_nothing_is_estimated() {
    let body = json!({ "choices": [{
        "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": words() },
    }] });
    let whole = ServerReply::json(200, &body);
    for reply in [ServerReply::stream().then(uncounted(&words())), whole] {
        let usage = answered(Api::OpenaiChat, reply).await;
        assert!((490..520).contains(&usage.output_tokens), "{usage:?}");
        assert!((2..2_000).contains(&usage.input_tokens), "{usage:?}");
        assert_eq!(usage.estimated_tokens, usage.input_tokens + usage.output_tokens);
    }
}

#[tokio::test]
async fn calls_without_usage_are_estimated_by_their_arguments() {
    let arguments = json!({ "text": words() }).to_string();
    let call = json!({ "id": "call_1", "type": "function", "function": { "name": "write", "arguments": arguments } });
    let body = json!({ "choices": [{
        "index": 0, "finish_reason": "tool_calls", "message": { "role": "assistant", "content": null, "tool_calls": [call] },
    }] });
    let usage = answered(Api::OpenaiChat, ServerReply::json(200, &body)).await;
    assert!((490..540).contains(&usage.output_tokens), "{usage:?}");
}

#[tokio::test]
async fn counts_of_the_server_hold_for_a_whole_answer() {
    let usage = answered(
        Api::OpenaiChat,
        ServerReply::stream().then(wire::chat_text(&[&words()])),
    )
    .await;
    assert_eq!(
        (usage.input_tokens, usage.output_tokens, usage.estimated_tokens),
        (12, 7, 0)
    );
}

#[tokio::test]
async fn a_gateway_that_counts_no_more_after_the_beginning_is_estimated() {
    let text = wire::anthropic_text(&[&words()]).replace(r#""usage":{"output_tokens":7}"#, r#""usage":{}"#);
    let usage = answered(Api::Anthropic, ServerReply::stream().then(text)).await;
    assert_eq!(usage.input_tokens, 12, "counted when the answer began");
    assert!((490..520).contains(&usage.output_tokens), "{usage:?}");
}

#[tokio::test]
async fn counts_that_cannot_be_are_estimated() {
    for wrong in [
        "1e30",
        "-5",
        "18446744073709551615",
        "100000001",
        "\"NaN\"",
        "\"1e30\"",
        "-1e-3",
    ] {
        let chat = wire::chat_text(&[&words()])
            .replace(
                r#""prompt_tokens":12"#,
                &format!(r#""prompt_tokens":{wrong},"cached_tokens":3"#),
            )
            .replace(
                r#""completion_tokens":7"#,
                &format!(r#""completion_tokens":{wrong}"#),
            );
        let claude = wire::anthropic_text(&[&words()])
            .replace(
                r#""input_tokens":12"#,
                &format!(r#""input_tokens":{wrong},"cache_read_input_tokens":3"#),
            )
            .replace(r#""output_tokens":7"#, &format!(r#""output_tokens":{wrong}"#));
        for (api, text) in [(Api::OpenaiChat, chat), (Api::Anthropic, claude)] {
            assert_eq!(text.matches(wrong).count(), 2, "{text}");
            let usage = answered(api, ServerReply::stream().then(text)).await;
            assert!((490..520).contains(&usage.output_tokens), "{wrong}: {usage:?}");
            assert!((2..2_000).contains(&usage.input_tokens), "{wrong}: {usage:?}");
            assert_eq!(usage.cache_read_tokens, 0, "{wrong}");
            assert!(
                usage.estimated_tokens >= usage.input_tokens + usage.output_tokens - 1,
                "{wrong}: {usage:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_count_that_cannot_be_leaves_the_other_side_as_it_was_counted() {
    let text = wire::chat_text(&[&words()]).replace(r#""prompt_tokens":12"#, r#""prompt_tokens":1e30"#);
    let usage = answered(Api::OpenaiChat, ServerReply::stream().then(text)).await;
    assert_eq!(
        (usage.output_tokens, usage.estimated_tokens),
        (7, usage.input_tokens),
        "{usage:?}"
    );
    let text = wire::anthropic_text(&[&words()]).replace(r#""output_tokens":7"#, r#""output_tokens":-5"#);
    let usage = answered(Api::Anthropic, ServerReply::stream().then(text)).await;
    assert_eq!(usage.input_tokens, 12, "{usage:?}");
    assert!((490..520).contains(&usage.output_tokens), "{usage:?}");
}
