//! Bedrock's signatures and frames, compared with botocore's result for the same made-up input
//! (`fixtures/bedrock_made_up.json`: invented keys and texts).

use agentx_llm::bedrock::{
    AwsCredentials, BedrockDecoder, EventStreamFrame, FrameDecoder, FrameError, FrameKind, SigningRequest,
    body, invoke_path, sign,
};
use agentx_llm::{ErrorCode, Secret, StreamContext, StreamError};
use agentx_types::EnvironmentEvent;
use serde_json::Value;

fn vectors() -> Value {
    serde_json::from_str(include_str!("fixtures/bedrock_made_up.json")).unwrap()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap()
}

fn stream() -> Vec<u8> {
    agentx_llm::base64::decode(text(&vectors(), "stream")).unwrap()
}

#[test]
fn signs_as_botocore_does() {
    let vectors = vectors();
    let cases = vectors["signatures"].as_array().unwrap();
    assert_eq!(cases.len(), 3);
    for case in cases {
        let path = invoke_path(text(case, "model"));
        assert_eq!(path, text(case, "path"));
        let credentials = AwsCredentials {
            access_key_id: text(case, "access_key_id").to_owned(),
            secret_access_key: Secret::new(text(case, "secret_access_key")),
            session_token: case["session_token"].as_str().map(Secret::new),
        };
        let request = SigningRequest {
            host: text(case, "host"),
            path: &path,
            region: text(case, "region"),
            body: text(case, "body").as_bytes(),
            unix_seconds: case["unix_seconds"].as_u64().unwrap(),
        };
        let signed = sign(&request, &credentials);
        assert_eq!(signed.date, text(case, "x_amz_date"));
        assert_eq!(
            signed.authorization.expose(),
            text(case, "authorization"),
            "{}",
            case["name"]
        );
        assert_eq!(signed.security_token, credentials.session_token);
        assert!(!format!("{credentials:?}{signed:?}").contains("made-up"));
    }
}

#[test]
fn reads_frames_as_botocore_does_in_whatever_pieces() {
    let (stream, vectors) = (stream(), vectors());
    for size in 1..=stream.len() {
        let (mut decoder, mut frames) = (FrameDecoder::default(), Vec::new());
        for piece in stream.chunks(size) {
            decoder.push(piece, &mut frames).unwrap();
        }
        assert!(!decoder.is_cut());
        check(&frames, vectors["frames"].as_array().unwrap());
    }
}

fn check(frames: &[EventStreamFrame], expected: &[Value]) {
    assert_eq!(frames.len(), expected.len());
    for (frame, expected) in frames.iter().zip(expected) {
        let headers = &expected["headers"];
        let (kind, name) = match text(headers, ":message-type") {
            "exception" => (FrameKind::Exception, ":exception-type"),
            _ => (FrameKind::Event, ":event-type"),
        };
        assert_eq!((frame.kind, frame.name.as_str()), (kind, text(headers, name)));
        assert_eq!(frame.payload, text(expected, "payload").as_bytes());
    }
}

#[test]
fn a_changed_byte_anywhere_is_refused_and_never_read_as_another_frame() {
    let stream = stream();
    let mut whole = Vec::new();
    FrameDecoder::default().push(&stream, &mut whole).unwrap();
    for at in 0..stream.len() {
        let mut changed = stream.clone();
        changed[at] ^= 0x10;
        let mut frames = Vec::new();
        let result = FrameDecoder::default().push(&changed, &mut frames);
        assert_eq!(result, Err(FrameError::Checksum), "byte {at}");
        assert_eq!(frames, whole[..frames.len()], "byte {at}");
    }
}

#[test]
fn a_cut_is_seen_at_every_byte_between_frames() {
    let stream = stream();
    let mut complete = 0;
    for at in 0..=stream.len() {
        let (mut decoder, mut frames) = (FrameDecoder::default(), Vec::new());
        decoder.push(&stream[..at], &mut frames).unwrap();
        complete += usize::from(!decoder.is_cut());
    }
    // Before the first frame and after each of four.
    assert_eq!(complete, 5);
}

#[test]
fn an_answer_in_frames_starts_and_ends_and_exceptions_have_their_status() {
    let (mut decoder, mut events) = (BedrockDecoder::new(StreamContext::new("msg_1", 1)), Vec::new());
    decoder.push(&stream(), &mut events).unwrap();
    assert!(decoder.is_done());
    assert!(matches!(events.first(), Some(EnvironmentEvent::StreamStart(_))));
    assert!(matches!(events.last(), Some(EnvironmentEvent::StreamEnd(_))));
    // The exception alone is the last frame.
    let at = stream()
        .windows(15)
        .position(|part| part == b":exception-type")
        .unwrap();
    let mut decoder = BedrockDecoder::new(StreamContext::new("msg_1", 1));
    let error = decoder.push(&stream()[at - 13..], &mut Vec::new()).unwrap_err();
    let StreamError::Provider(error) = error else {
        panic!("{error:?}")
    };
    assert_eq!((error.code, error.retryable), (ErrorCode::RateLimited, true));
}

#[test]
fn a_cut_answer_is_truncated() {
    let (mut decoder, mut events) = (BedrockDecoder::new(StreamContext::new("msg_1", 1)), Vec::new());
    decoder.push(&stream()[..40], &mut events).unwrap();
    assert_eq!(decoder.finish(&mut events), Err(StreamError::Truncated));
}

#[test]
fn the_body_names_the_version_and_neither_model_nor_stream() {
    let made = body(br#"{"model":"m","max_tokens":1,"stream":true,"messages":[]}"#).unwrap();
    let expected = br#"{"max_tokens":1,"messages":[],"anthropic_version":"bedrock-2023-05-31"}"#;
    assert_eq!(made, expected);
    assert_eq!(body(b"[]"), None);
}
