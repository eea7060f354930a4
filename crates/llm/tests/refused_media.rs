//! Pictures that are refused: by text, by status, within an answer, and for their number. The data around the
//! servers' texts is made up.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

use agentx_llm::{ErrorCode, ModelError, StreamDecoder, StreamError, decode_body, decode_error};
use agentx_types::{Api, RequestPart, Timestamp};
use serde_json::{Value, json};

use crate::common::context;

fn error(status: u16, body: &Value) -> ModelError {
    decode_error(status, &[], body.to_string().as_bytes(), Timestamp(0))
}

fn is_refusal_of_media(error: &ModelError) {
    assert_eq!(
        (error.code, error.retryable, error.refused),
        (ErrorCode::BadRequest, false, Some(RequestPart::Media)),
        "{error}"
    );
}

/// The error in a stream of these events.
fn in_stream(api: Api, events: &[Value]) -> ModelError {
    let mut decoder = StreamDecoder::new(api, context());
    let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    match decoder.push(stream.as_bytes(), &mut Vec::new()) {
        Err(StreamError::Provider(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// A response that fails with this code.
fn failed(code: &str, message: &str) -> ModelError {
    in_stream(
        Api::OpenaiResponses,
        &[
            json!({"type": "response.created", "response": {"id": "resp_1", "model": "m"}}),
            json!({"type": "response.failed", "response": {
                "id": "resp_1", "status": "failed", "output": [],
                "error": {"code": code, "message": message},
            }}),
        ],
    )
}

#[test]
fn a_picture_is_refused_by_a_code_alone() {
    for code in [
        "invalid_image",
        "invalid_image_format",
        "invalid_base64_image",
        "image_too_large",
        "image_too_small",
        "image_parse_error",
        "image_file_too_large",
        "unsupported_image_media_type",
        "empty_image_file",
        "failed_to_download_image",
    ] {
        is_refusal_of_media(&failed(code, "Please check your input and try again."));
        let body = json!({"error": {"code": code, "message": "Please check your input."}});
        is_refusal_of_media(&error(400, &body));
        is_refusal_of_media(&error(500, &body));
    }
}

#[test]
fn a_picture_against_a_policy_is_filtered_and_not_left_out() {
    for code in [
        "image_content_policy_violation",
        "bio_policy",
        "misalignment_policy_violation",
    ] {
        let error = failed(code, "The image was rejected by the safety system.");
        assert_eq!(
            (error.code, error.retryable, error.refused),
            (ErrorCode::ContentFilter, false, None),
            "{code}"
        );
    }
}

#[test]
fn servers_without_eyes_say_so_within_a_success() {
    let words = "Error in iterating prediction stream: ValueError: Vision add-on is not loaded, but images were provided for processing";
    let whole = json!({"error": {"message": words}, "message": words});
    match decode_body(
        Api::OpenaiChat,
        context(),
        whole.to_string().as_bytes(),
        &mut Vec::new(),
    ) {
        Err(StreamError::Provider(error)) => is_refusal_of_media(&error),
        other => panic!("{other:?}"),
    }
    is_refusal_of_media(&in_stream(
        Api::OpenaiChat,
        &[json!({"error": {"message": words}})],
    ));
}

#[test]
fn a_picture_that_a_server_cannot_read_is_no_outage() {
    for words in [
        "Failed to process inputs: image: unknown format",
        "Failed to load image or audio file",
        "Vision model is not loaded. Cannot process images.",
        "made-up is not a multimodal model",
        "Model does not support images. Please use a model that does.",
    ] {
        is_refusal_of_media(&error(
            500,
            &json!({"error": {"message": words, "type": "api_error"}}),
        ));
    }
    let loading = error(503, &json!({"error": {"message": "The image model is loading"}}));
    assert_eq!((loading.code, loading.refused), (ErrorCode::Overloaded, None));
}

#[test]
fn a_number_of_pictures_that_is_refused_is_named() {
    for (status, words, most) in [
        (400, "At most 1 image(s) may be provided in one request.", Some(1)),
        (400, "At most 0 image(s) may be provided in one request.", Some(0)),
        (
            400,
            "Too many images provided. This model supports up to 5 images",
            Some(5),
        ),
        (400, "Too many images in request. Max is 10.", Some(10)),
        (
            400,
            "Too many images in request: 11 images provided, but the model supports a maximum of 10 images.",
            Some(10),
        ),
        (
            400,
            "messages: too many images and documents: 120 + 0 > 100",
            Some(100),
        ),
        (
            400,
            "Too much media: 0 document pages + 107 images > 100",
            Some(100),
        ),
        (
            400,
            "request contains 52 images, exceeding the maximum of 50 allowed per request",
            Some(50),
        ),
        (
            400,
            "Too many images were provided, we currently limit the number of images per conversation to 60",
            Some(60),
        ),
        (400, "Too many images in request: 11 > 8", Some(8)),
        (400, "Exceeded limit on max data-uri per request: 250", Some(250)),
        (500, "too many images in the message, max allowed is 16", Some(16)),
        (413, "Too many images", Some(1)),
        (
            400,
            "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes",
            None,
        ),
        (
            400,
            "image dimensions exceed max allowed size for many-image requests: 2000 pixels",
            None,
        ),
        (400, "Each image may be at most 20 MB", None),
        (400, "Could not process image", None),
    ] {
        let error = error(
            status,
            &json!({"error": {"message": words, "type": "invalid_request_error"}}),
        );
        assert_eq!(
            (error.refused, error.most_media),
            (Some(RequestPart::Media), most),
            "{words}: {error}"
        );
        assert!(!error.retryable, "{words}");
    }
}

#[test]
fn a_rate_of_pictures_is_waited_for() {
    let later = error(
        429,
        &json!({"error": {"message": "Rate limit reached: too many images per min: Limit 5"}}),
    );
    assert_eq!(
        (later.code, later.refused, later.most_media),
        (ErrorCode::RateLimited, None, None)
    );
}
