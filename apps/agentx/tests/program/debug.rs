//! `agentx debug decode`: a response body as events.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use crate::common::Sandbox;

const STREAM: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"你好"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}

event: message_stop
data: {"type":"message_stop"}

"#;

#[test]
fn a_stream_is_its_events_and_then_the_message() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run_with_input(&["debug", "decode", "--api", "anthropic", "-"], STREAM);
    insta::assert_snapshot!("decode", ran);
}

#[test]
fn a_broken_stream_shows_what_came_of_it() {
    let sandbox = Sandbox::new();
    let cut = STREAM.find("event: content_block_stop").unwrap();
    sandbox.write("ws/body", &STREAM[..cut]);
    let ran = sandbox.run(&["debug", "decode", "--api", "anthropic", "body"]);
    assert_eq!(ran.code, Some(5), "{ran}");
    assert_eq!(ran.result()["message"]["content"][0]["text"], "你好", "{ran}");
    assert_eq!(ran.result()["stop_reason"], "broken", "{ran}");
    assert!(
        !ran.stderr.contains("resume"),
        "there is no session to continue with: {ran}"
    );
}

#[test]
fn a_body_in_which_no_answer_began_shows_no_message() {
    let sandbox = Sandbox::new();
    sandbox.write("ws/body", ": nothing yet\n\n");
    let ran = sandbox.run(&["debug", "decode", "--api", "anthropic", "body"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(5), ""), "{ran}");
}
