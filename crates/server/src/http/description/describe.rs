//! The inputs and outputs of an operation, derived from the types of its handler, so the description cannot
//! differ from the code. Used for the OpenAPI document, and by tests that walk every route.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;

use agentx_types::SessionRole;
use axum::response::IntoResponse;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

/// The callers that an operation is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Needs {
    /// Anybody at all.
    #[default]
    Nothing,
    /// A caller with a token, or a visitor if visitors are allowed.
    TokenOrVisitor,
    /// An authenticated caller.
    Member,
    /// The operator of the server.
    Operator,
    /// A caller with this role in the session, or a higher one.
    Role(SessionRole),
    /// A caller with this role, or the operator.
    RoleOrOperator(SessionRole),
}

/// The description of one operation.
#[derive(Debug, Default)]
pub(crate) struct Operation {
    pub(crate) needs: Needs,
    pub(crate) parameters: Vec<Value>,
    pub(crate) body: Option<Value>,
    pub(crate) answers: BTreeMap<u16, Value>,
    /// The statuses of possible errors.
    pub(crate) problems: BTreeSet<u16>,
}

impl Operation {
    /// Adds a path parameter.
    pub(crate) fn path(&mut self, name: &str, what: &str) {
        self.parameters.push(json!({
            "name": name, "in": "path", "required": true, "description": what, "schema": {"type": "string", "minLength": 1},
        }));
    }

    /// Describes an optional request header.
    pub(crate) fn header(&mut self, name: &str, what: &str, schema: Value) {
        self.parameters
            .push(json!({"name": name, "in": "header", "description": what, "schema": schema}));
    }

    /// Adds the query parameters: the fields of `T`.
    pub(crate) fn query<T: JsonSchema>(&mut self, schemas: &mut SchemaGenerator) {
        let mut schema = T::json_schema(schemas).to_value();
        let required = schema["required"].take();
        let is_required = |name: &str| {
            let required = required.as_array();
            required.is_some_and(|names| names.iter().any(|known| known == name))
        };
        let fields = schema["properties"].as_object_mut().map(std::mem::take);
        for (name, mut field) in fields.unwrap_or_default() {
            let what = field["description"].take();
            without_null(&mut field);
            self.parameters.push(json!({
                "name": name, "in": "query", "required": is_required(&name), "description": what, "schema": field,
            }));
        }
    }

    /// Describes a JSON body.
    pub(crate) fn json_body<T: JsonSchema>(&mut self, schemas: &mut SchemaGenerator, required: bool) {
        let schema = schemas.subschema_for::<T>();
        self.body = Some(json!({
            "required": required, "content": {"application/json": {"schema": schema}},
        }));
        self.add_failures(&[400, 408, 413, 415, 422]);
    }

    /// Adds to the description of the body that it has no other fields. Fields of the values in it are
    /// refused in the same way.
    pub(crate) fn refuse_unknown_fields(&mut self) {
        if let Some(body) = &mut self.body {
            body["content"]["application/json"]["schema"]["unevaluatedProperties"] = json!(false);
        }
    }

    /// Describes a JSON response.
    pub(crate) fn json_answer<T: JsonSchema>(&mut self, schemas: &mut SchemaGenerator, status: u16) {
        let schema = schemas.subschema_for::<T>();
        self.answer(status, "Done.", json!({"application/json": {"schema": schema}}));
    }

    /// Describes a response.
    pub(crate) fn answer(&mut self, status: u16, what: &str, content: Value) {
        let mut answer = json!({"description": what});
        if !content.is_null() {
            answer["content"] = content;
        }
        self.answers.insert(status, answer);
    }

    /// Describes a header of a response that was described before.
    pub(crate) fn answer_header(&mut self, status: u16, name: &str, what: &str) {
        if let Some(answer) = self.answers.get_mut(&status) {
            answer["headers"][name] = json!({"description": what, "schema": {"type": "string"}});
        }
    }

    /// Adds the statuses of possible errors.
    pub(crate) fn add_failures(&mut self, statuses: &[u16]) {
        self.problems.extend(statuses);
    }
}

/// Removes `null` from a parameter's schema: a missing parameter is left out, never `null`.
fn without_null(schema: &mut Value) {
    let only = |types: &mut Vec<Value>| {
        types.retain(|kind| kind != "null" && kind.get("type").is_none_or(|kind| kind != "null"));
        (types.len() == 1).then(|| types.remove(0))
    };
    if let Some(kind) = schema["type"].as_array_mut().and_then(only) {
        schema["type"] = kind;
    }
    if let Some(kind) = schema["anyOf"].as_array_mut().and_then(only) {
        *schema = kind;
    }
    if let Some(fields) = schema.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
}

/// Something that a handler takes.
pub(crate) trait HandlerInput {
    /// Describes the input, and the possible errors.
    fn describe(operation: &mut Operation, schemas: &mut SchemaGenerator);
}

/// Something that a handler answers.
pub(crate) trait HandlerResponse: IntoResponse {
    /// Describes the response.
    fn describe(operation: &mut Operation, schemas: &mut SchemaGenerator);
}

impl<A: HandlerResponse, F: HandlerResponse> HandlerResponse for Result<A, F> {
    fn describe(operation: &mut Operation, schemas: &mut SchemaGenerator) {
        A::describe(operation, schemas);
        F::describe(operation, schemas);
    }
}

/// A handler whose types describe it. `T` is the type parameter of axum's `Handler`.
pub(crate) trait DescribedHandler<T> {
    /// Describes the operation.
    fn describe(operation: &mut Operation, schemas: &mut SchemaGenerator);
}

impl<H, Fut> DescribedHandler<((),)> for H
where
    H: FnOnce() -> Fut,
    Fut: Future<Output: HandlerResponse>,
{
    fn describe(operation: &mut Operation, schemas: &mut SchemaGenerator) {
        Fut::Output::describe(operation, schemas);
    }
}

macro_rules! described {
    ($($input:ident),*) => {
        impl<H, Fut, M, $($input),*> DescribedHandler<(M, $($input,)*)> for H
        where
            H: FnOnce($($input),*) -> Fut,
            Fut: Future<Output: HandlerResponse>,
            $($input: HandlerInput,)*
        {
            fn describe(operation: &mut Operation, schemas: &mut SchemaGenerator) {
                $($input::describe(operation, schemas);)*
                Fut::Output::describe(operation, schemas);
            }
        }
    };
}

described!(A);
described!(A, B);
described!(A, B, C);
described!(A, B, C, D);
described!(A, B, C, D, E);
described!(A, B, C, D, E, F);
