//! Bedrock's signatures and frames, compared with what botocore made of the same made-up input
//! (`fixtures/bedrock_made_up.json`: invented keys and texts).

use agentx_llm::Secret;
use agentx_llm::bedrock::{
    AwsCredentials, Frame, FrameDecoder, FrameError, FrameKind, SigningRequest, invoke_path, sign,
};
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
        assert_eq!(signed.authorization.expose(), text(case, "authorization"), "{}", case["name"]);
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

fn check(frames: &[Frame], expected: &[Value]) {
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
