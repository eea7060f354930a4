//! The OpenAPI 3.1 description: made from the table of routes and the types of their handlers, and nothing else.

use agentx_types::SessionRole;
use agentx_types::wire::ServerNotice;
use axum::response::Response;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::answer::{describe_tag, tagged_json};
use super::describe::{Answer, Needs, Operation};
use super::failure::ProblemBody;
use super::route::Route;
use super::{Shared, table};

const ABOUT: &str = "What is not a stream, and event streams for places where sockets die. Live clients use the WebSocket at \
    `/v1/socket`, which docs/PROTOCOL.md describes.\n\nWho has no role in a session is answered as if it did not exist.";

/// The description, as it is answered.
pub(crate) struct Document(Response);

pub(crate) async fn openapi(front: Shared) -> Document {
    Document(tagged_json(front.openapi()))
}

impl axum::response::IntoResponse for Document {
    fn into_response(self) -> Response {
        self.0
    }
}

impl Answer for Document {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        let content = json!({"application/json": {"schema": {"type": "object"}}});
        operation.answer(200, "This description.", content);
        describe_tag(operation);
    }
}

/// The whole description.
pub(crate) fn document() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    let mut schemas = settings.with_transform(Bounds).into_generator();
    let mut paths = Map::new();
    for route in table() {
        let operation = operation(&route, &mut schemas);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.as_str().to_ascii_lowercase()] = operation;
    }
    // What a stream says beside events, for those who read the description for the socket.
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
                "content": {"application/problem+json": {"schema": problem}},
            }},
        },
    });
    document["components"]["schemas"] = Value::Object(schemas.take_definitions(true));
    document
}

fn operation(route: &Route, schemas: &mut SchemaGenerator) -> Value {
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
        answers.entry(status.to_string()).or_insert(problem);
    }
    let mut described = json!({
        "operationId": route.name,
        "summary": route.summary,
        "description": for_whom(operation.needs),
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
        Needs::Somebody | Needs::Role(SessionRole::Watch) => json!([{"bearer": []}, {}]),
        _ => json!([{"bearer": []}]),
    };
    described
}

fn for_whom(needs: Needs) -> &'static str {
    match needs {
        Needs::Nothing => "For anybody.",
        Needs::Somebody => "For members, and visitors where they are let in.",
        Needs::Member => "For members.",
        Needs::Operator => "For whoever runs the server.",
        Needs::Role(SessionRole::Watch) => "For those who may watch the session.",
        Needs::Role(SessionRole::Approve) => "For those who may approve in the session.",
        Needs::Role(SessionRole::Drive) => "For those who may drive the session.",
        Needs::Role(SessionRole::Own) => "For the owner of the session.",
    }
}

/// Says of each number how large it may be: what is beyond cannot be read.
#[derive(Clone)]
struct Bounds;

impl Transform for Bounds {
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
