//! Bedrock's signatures and frames, compared with botocore's result for the same made-up input
//! (`fixtures/bedrock_made_up.json`: invented keys and texts).

use agentx_llm::bedrock::{
    AwsCredentials, BedrockDecoder, EventStreamFrame, FrameDecoder, FrameError, FrameKind, SigningRequest,
    invoke_path, sign,
};
use agentx_llm::{
    Catalog, ErrorCode, NoBlobs, Secret, StreamContext, StreamError, WireOptions, build, decode_error, header,
};
use agentx_types::{Api, ContentPart, EnvironmentEvent, Message, ModelParams, ModelRequest, Role, Timestamp};
use serde_json::Value;

use crate::common;

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

/// A frame with one event of the Messages API.
fn chunk(event: &str) -> Vec<u8> {
    let payload = format!(
        r#"{{"bytes":"{}","p":"abc"}}"#,
        agentx_llm::base64::encode(event.as_bytes())
    );
    common::frames::event("chunk", &payload)
}

/// Nobody has published a recording of Anthropic's models at Bedrock, so those of Anthropic itself are put
/// into frames.
#[test]
fn recorded_streams_of_anthropic_in_frames_are_what_their_golden_files_say() {
    let Some(recordings) = common::recordings("streams of Anthropic in frames") else {
        return;
    };
    let mut checked = 0;
    for recording in common::all(&recordings) {
        let (Some(bytes), Some(golden)) = (recording.bytes("response.sse"), recording.json("golden.json"))
        else {
            continue;
        };
        if recording.api != Api::Anthropic {
            continue;
        }
        let name = recording.name();
        let text = String::from_utf8(bytes).unwrap();
        let events = text.lines().filter_map(|line| line.strip_prefix("data:"));
        let frames: Vec<u8> = events.flat_map(|event| chunk(event.trim())).collect();
        let (whole, result) = common::decode(Api::Bedrock, [frames.as_slice()]);
        result.unwrap_or_else(|error| panic!("{name}: {error}"));
        common::golden::check(Api::Anthropic, &name, &common::accumulate(&whole), &golden);
        let pieces = common::random_pieces(&frames, checked);
        assert_eq!(common::decode(Api::Bedrock, pieces).0, whole, "{name}");
        checked += 1;
    }
    assert!(checked >= 16, "{checked}");
}

/// Requests as Anthropic's own clients for clouds make them; see `src/anthropic/cloud.rs`.
#[test]
fn a_body_names_what_its_place_wants() {
    let catalog = Catalog::builtin();
    let request = |name: &str| {
        let model = catalog.resolve(name).unwrap();
        let options = catalog.wire_options(&model);
        let hello = Message {
            message_id: "msg_1".into(),
            role: Role::User,
            content: vec![ContentPart::text("hello")],
            by: None,
        };
        let request = ModelRequest {
            model,
            params: ModelParams::default(),
            system: vec!["Be brief.".into()],
            messages: vec![hello.into()],
            tools: [].into(),
            plain: false,
            turns: false,
            without: Vec::new(),
            answer_schema: None,
        };
        let body: Value = serde_json::from_slice(&build(&request, &options, &NoBlobs)).unwrap();
        (body, header(&request, &options))
    };
    let (home, home_beta) = request("anthropic/claude-opus-5-5");
    let (_, beta) = home_beta.unwrap();
    for model in [
        "bedrock/anthropic.claude-opus-5-5",
        "bedrock/us.anthropic.claude-opus-5-5",
        "bedrock/arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-5-5",
    ] {
        let (mut body, header) = request(model);
        assert_eq!(header, None, "{model}");
        assert_eq!(body["anthropic_version"], "bedrock-2023-05-31");
        assert_eq!(body["anthropic_beta"], serde_json::json!([beta]), "{model}");
        let fields = body.as_object_mut().unwrap();
        fields.retain(|name, _| !name.starts_with("anthropic_"));
        let mut expected = home.clone();
        expected
            .as_object_mut()
            .unwrap()
            .retain(|name, _| !["model", "stream"].contains(&name.as_str()));
        assert_eq!(body, expected, "{model}: the rest is as at home");
    }
    let (vertex, header) = request("vertex-anthropic/claude-opus-5-5");
    assert_eq!(header, home_beta);
    assert_eq!(
        (&vertex["anthropic_version"], &vertex["stream"]),
        (&"vertex-2023-10-16".into(), &true.into())
    );
    assert!(vertex.get("model").is_none() && vertex["thinking"] == home["thinking"]);
}

#[test]
fn models_of_clouds_have_the_window_of_their_vendors_and_no_price() {
    let catalog = Catalog::builtin();
    let home = catalog.resolve("anthropic/claude-sonnet-4-5").unwrap();
    for name in [
        "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "vertex-anthropic/claude-sonnet-4-5@20250929",
    ] {
        let model = catalog.resolve(name).unwrap();
        assert_eq!(model.max_output_tokens, home.max_output_tokens, "{name}");
        assert_eq!(model.context_window, home.context_window, "{name}");
        assert!(!model.assumes_output && model.prices.is_unknown(), "{name}");
        // Whether a cloud knows the mode for schemas of answers is not known.
        let expected = WireOptions {
            answer_schema: false,
            ..catalog.wire_options(&home)
        };
        assert_eq!(catalog.wire_options(&model), expected, "{name}");
    }
    let own = catalog
        .resolve("bedrock/application-inference-profile/abc")
        .unwrap();
    assert_eq!((own.context_window, own.assumes_output), (200_000, true));
}

#[test]
fn errors_of_aws_are_told_apart() {
    let error = |status, kind: &str, body: &str| {
        let kind = format!("{kind}:http://internal.amazon.com/coral/com.amazon.bedrock/");
        let error = decode_error(
            status,
            &[("x-amzn-errortype", &kind)],
            body.as_bytes(),
            Timestamp(0),
        );
        (error.code, error.retryable, error.message)
    };
    let slow = r#"{"message":"Too many requests, please wait before trying again."}"#;
    for (status, kind, body, code, retryable) in [
        (429, "ThrottlingException", slow, ErrorCode::RateLimited, true),
        (400, "ThrottlingException", slow, ErrorCode::RateLimited, true),
        (
            424,
            "ModelErrorException",
            r#"{"message":"made up"}"#,
            ErrorCode::ServerError,
            true,
        ),
        (
            403,
            "AccessDeniedException",
            r#"{"Message":"made up"}"#,
            ErrorCode::Forbidden,
            false,
        ),
        (
            400,
            "ValidationException",
            r#"{"message":"made up"}"#,
            ErrorCode::BadRequest,
            false,
        ),
        (
            503,
            "ServiceUnavailableException",
            r#"{"message":"made up"}"#,
            ErrorCode::Overloaded,
            true,
        ),
    ] {
        let (found, again, message) = error(status, kind, body);
        assert_eq!((found, again), (code, retryable), "{kind}");
        assert!(body.contains(&message), "{kind}: {message}");
    }
}
