//! The OpenAPI 3.1 description: made from the table of routes and the types of their handlers, and nothing
//! else.

use std::convert::Infallible;
use std::io::Write as _;

use agentx_types::SessionRole;
use agentx_types::wire::ServerNotice;
use axum::body::Bytes;
use axum::extract::FromRequestParts;
use axum::http::HeaderValue;
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, VARY};
use axum::http::request::Parts;
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::{HandlerState, table};
use crate::http::description::describe::{HandlerInput, HandlerResponse, Needs, Operation};
use crate::http::description::route::HttpRoute;
use crate::http::responses::failure::ProblemBody;
use crate::http::responses::{describe_tag, json_with_tag, tag_of};

const ABOUT: &str = "Requests and event streams over HTTP. Live clients use the WebSocket at `/v1/socket`, \
    which docs/PROTOCOL.md describes.\n\nA caller without a role in a session is answered as if it did not exist.";

/// The media type of errors.
const PROBLEM_JSON: &str = "application/problem+json";

/// The OpenAPI document, ready to send.
pub(crate) struct OpenApiDocument(Response);

/// The description as bytes: made, and compressed, once.
pub(crate) struct OpenApiBytes {
    plain: Bytes,
    /// Empty if that failed.
    gzip: Bytes,
    tag: Option<HeaderValue>,
}

impl OpenApiBytes {
    pub(crate) fn new() -> Self {
        let plain = Bytes::from(document().to_string());
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        // Writing to memory has no way to fail.
        let gzip = gzip.write_all(&plain).and_then(|()| gzip.finish());
        Self {
            tag: tag_of(&plain),
            plain,
            gzip: gzip.unwrap_or_default().into(),
        }
    }
}

/// Whether an answer may come compressed.
pub(crate) struct TakesGzip(bool);

/// Marks a response that must not be compressed.
#[derive(Clone, Copy)]
pub(super) struct NoCompression;

pub(crate) async fn openapi(app: HandlerState, TakesGzip(takes): TakesGzip) -> OpenApiDocument {
    let described = app.openapi();
    let is_gzip = takes && !described.gzip.is_empty();
    let bytes = if is_gzip {
        &described.gzip
    } else {
        &described.plain
    };
    let mut response = json_with_tag(bytes.clone(), described.tag.clone());
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if is_gzip {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response.extensions_mut().insert(NoCompression);
    OpenApiDocument(response)
}

impl FromRequestParts<HandlerState> for TakesGzip {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &HandlerState) -> Result<Self, Infallible> {
        let values = parts.headers.get_all(ACCEPT_ENCODING).iter();
        let mut codings = values
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','));
        Ok(Self(codings.any(|coding| {
            let mut parts = coding.split(';').map(str::trim);
            let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
            let weight = parts.find_map(|part| part.strip_prefix("q="));
            is_gzip && weight.is_none_or(|weight| weight.parse().is_ok_and(|weight: f32| weight > 0.0))
        })))
    }
}

impl HandlerInput for TakesGzip {
    fn describe(_: &mut Operation, _: &mut SchemaGenerator) {}
}

impl axum::response::IntoResponse for OpenApiDocument {
    fn into_response(self) -> Response {
        self.0
    }
}

impl HandlerResponse for OpenApiDocument {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        let content = json!({"application/json": {"schema": {"type": "object"}}});
        operation.answer(200, "This description.", content);
        describe_tag(operation);
    }
}

/// Returns the whole description.
pub(crate) fn document() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    let mut schemas = settings.with_transform(NumberBounds).into_generator();
    let mut paths = Map::new();
    for route in table() {
        let operation = operation(&route, &mut schemas);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.as_str().to_ascii_lowercase()] = operation;
    }
    // The notices of a stream, for readers of the description who use the socket.
    schemas.subschema_for::<ServerNotice>();
    let problem = schemas.subschema_for::<ProblemBody>();
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "AgentX",
            "version": env!("CARGO_PKG_VERSION"),
            "description": ABOUT,
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            "responses": {"Problem": {
                "description": "What went wrong.",
                "content": {PROBLEM_JSON: {"schema": problem}},
            }},
        },
    });
    document["components"]["schemas"] = Value::Object(schemas.take_definitions(true));
    document
}

fn operation(route: &HttpRoute, schemas: &mut SchemaGenerator) -> Value {
    let mut operation = route.operation(schemas);
    for parameter in &mut operation.parameters {
        bound(&mut parameter["schema"]);
    }
    let mut answers = Map::new();
    for (status, answer) in operation.answers {
        answers.insert(status.to_string(), answer);
    }
    for status in &operation.problems {
        let problem = json!({"$ref": "#/components/responses/Problem"});
        let answer: &mut Value = answers.entry(status.to_string()).or_insert(problem);
        // A handler may have its own errors with this status.
        if let Some(kinds) = answer["content"].as_object_mut() {
            let problem = json!({"schema": {"$ref": "#/components/schemas/Problem"}});
            kinds.insert(PROBLEM_JSON.into(), problem);
        }
    }
    let mut described = json!({
        "operationId": route.name,
        "summary": route.summary,
        "description": audience(operation.needs),
        "tags": [route.name.split('_').next()],
        "parameters": operation.parameters,
        "responses": answers,
    });
    if let Some(body) = operation.body {
        described["requestBody"] = body;
    }
    described["security"] = match operation.needs {
        Needs::Nothing => json!([]),
        // A visitor has no token.
        Needs::TokenOrVisitor | Needs::Role(SessionRole::Watch) => json!([{"bearer": []}, {}]),
        _ => json!([{"bearer": []}]),
    };
    described
}

fn audience(needs: Needs) -> &'static str {
    match needs {
        Needs::Nothing => "For anybody.",
        Needs::TokenOrVisitor => "For members, and for visitors if they are allowed.",
        Needs::Member => "For members.",
        Needs::Operator => "For the server's operator.",
        Needs::Role(SessionRole::Watch) => "For those who may watch the session.",
        Needs::Role(SessionRole::Approve) => "For those who may approve in the session.",
        Needs::Role(SessionRole::Drive) => "For those who may drive the session.",
        Needs::Role(SessionRole::Own) => "For the owner of the session.",
        Needs::RoleOrOperator(_) => "For the owner of the session and the server's operator.",
    }
}

/// Adds the bounds of each number, because larger values cannot be read.
#[derive(Clone)]
struct NumberBounds;

impl Transform for NumberBounds {
    fn transform(&mut self, schema: &mut Schema) {
        bound_of(schema.ensure_object());
        transform_subschemas(self, schema);
    }
}

fn bound(schema: &mut Value) {
    if let Some(fields) = schema.as_object_mut() {
        bound_of(fields);
    }
}

fn bound_of(fields: &mut Map<String, Value>) {
    let (least, most) = match fields.get("format").and_then(Value::as_str) {
        Some("uint16") => (json!(0), json!(u16::MAX)),
        Some("uint32") => (json!(0), json!(u32::MAX)),
        Some("uint64") => (json!(0), json!(u64::MAX)),
        Some("int32") => (json!(i32::MIN), json!(i32::MAX)),
        Some("int64") => (json!(i64::MIN), json!(i64::MAX)),
        _ => return,
    };
    fields.entry("minimum").or_insert(least);
    fields.entry("maximum").or_insert(most);
}
