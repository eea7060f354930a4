//! Responses of handlers: JSON, with the location of a created resource, with an ETag, or empty.

pub(crate) mod failure;
pub(crate) mod permit_body;

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, LOCATION};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Value, json};

use crate::http::ApiError;
use crate::http::description::describe::{HandlerResponse, Operation};

pub(crate) struct JsonResponse<T>(pub(crate) T);

/// JSON about a created resource, with its location.
pub(crate) struct CreatedResponse<T> {
    pub(crate) location: String,
    pub(crate) body: T,
}

/// JSON with an ETag; a client that has it already gets `304 Not Modified`.
pub(crate) struct Tagged<T>(pub(crate) T);

/// An empty answer: the request was done.
pub(crate) struct DoneResponse;

fn json_response<T: Serialize>(status: StatusCode, value: &T) -> Response {
    match serde_json::to_vec(value) {
        Ok(bytes) => {
            let mut response = (status, bytes).into_response();
            let kind = HeaderValue::from_static("application/json");
            response.headers_mut().insert(CONTENT_TYPE, kind);
            response
        }
        Err(error) => {
            ApiError::new("internal", format!("cannot serialize the answer: {error}")).into_response()
        }
    }
}

impl<T: Serialize> IntoResponse for JsonResponse<T> {
    fn into_response(self) -> Response {
        json_response(StatusCode::OK, &self.0)
    }
}

impl<T: Serialize + JsonSchema> HandlerResponse for JsonResponse<T> {
    fn describe(operation: &mut Operation, schemas: &mut SchemaGenerator) {
        operation.json_answer::<T>(schemas, 200);
    }
}

impl<T: Serialize> IntoResponse for CreatedResponse<T> {
    fn into_response(self) -> Response {
        let mut response = json_response(StatusCode::CREATED, &self.body);
        if let Ok(location) = HeaderValue::try_from(self.location) {
            response.headers_mut().insert(LOCATION, location);
        }
        response
    }
}

impl<T: Serialize + JsonSchema> HandlerResponse for CreatedResponse<T> {
    fn describe(operation: &mut Operation, schemas: &mut SchemaGenerator) {
        operation.json_answer::<T>(schemas, 201);
        operation.answer_header(201, "Location", "Where it is.");
    }
}

impl<T: Serialize> IntoResponse for Tagged<T> {
    fn into_response(self) -> Response {
        let bytes = match serde_json::to_vec(&self.0) {
            Ok(bytes) => bytes,
            Err(_) => return JsonResponse(self.0).into_response(),
        };
        tagged_json(bytes)
    }
}

/// JSON that was serialized before, with its ETag. The tag is weak: the response may be compressed.
pub(crate) fn tagged_json(bytes: impl Into<axum::body::Bytes>) -> Response {
    let bytes = bytes.into();
    let tag = tag_of(&bytes);
    json_with_tag(bytes, tag)
}

/// Returns the tag of JSON.
pub(crate) fn tag_of(bytes: &[u8]) -> Option<HeaderValue> {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    let tag = format!("W/\"{}\"", URL_SAFE_NO_PAD.encode(&digest.as_ref()[..16]));
    HeaderValue::try_from(tag).ok()
}

/// JSON that was written before, with a tag that is known.
pub(crate) fn json_with_tag(bytes: axum::body::Bytes, tag: Option<HeaderValue>) -> Response {
    let mut response = bytes.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if let Some(tag) = tag {
        headers.insert(ETAG, tag);
    }
    response
}

/// Describes the ETag of an answer, and the answer to a client that has it.
pub(crate) fn describe_tag(operation: &mut Operation) {
    operation.answer_header(200, "ETag", "The ETag of this representation.");
    operation.answer(304, "Not modified.", Value::Null);
    let what = "The ETag that the client has.";
    operation.header("if-none-match", what, json!({"type": "string"}));
}

impl<T: Serialize + JsonSchema> HandlerResponse for Tagged<T> {
    fn describe(operation: &mut Operation, schemas: &mut SchemaGenerator) {
        operation.json_answer::<T>(schemas, 200);
        describe_tag(operation);
    }
}

impl IntoResponse for DoneResponse {
    fn into_response(self) -> Response {
        StatusCode::NO_CONTENT.into_response()
    }
}

impl HandlerResponse for DoneResponse {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        operation.answer(204, "Done.", Value::Null);
    }
}
