//! The schema of an answer in the body of each API: in its own mode if the catalog and the schema allow it,
//! else as text.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use agentx_llm::{Catalog, NoBlobs, build};
use agentx_types::{
    Access, AnswerSchema, Api, ContentPart, Message, ModelParams, ModelRequest, RequestPart, Role, ToolSpec,
};
use serde_json::{Value, json};

fn closed() -> Value {
    json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false})
}

fn sent(model: &str, api: Option<Api>, schema: &Value, tools: &[ToolSpec], plain: bool) -> Value {
    let catalog = Catalog::builtin();
    let mut model = catalog.resolve(model).unwrap();
    model.api = api.unwrap_or(model.api);
    let options = catalog.wire_options(&model);
    let hello = Message {
        message_id: "msg_1".into(),
        role: Role::User,
        content: vec![ContentPart::text("hello")],
        by: None,
    };
    let request = ModelRequest {
        model,
        params: ModelParams {
            thinking_tokens: Some(2_000),
            ..ModelParams::default()
        },
        system: Vec::new(),
        messages: vec![hello.into()],
        tools: tools.into(),
        plain,
        turns: false,
        without: Vec::new(),
        answer_schema: Some(Arc::new(AnswerSchema::new(schema.clone()))),
    };
    serde_json::from_slice(&build(&request, &options, &NoBlobs)).unwrap()
}

fn look() -> ToolSpec {
    ToolSpec::new(
        "look",
        "Looks.",
        json!({"type": "object", "properties": {"at": {"type": "string"}}}),
        Access::Read,
    )
}

#[test]
fn each_api_has_the_schema_in_its_own_place() {
    let schema = closed();
    let responses = sent(
        "openai/gpt-6.2-sol",
        Some(Api::OpenaiResponses),
        &schema,
        &[look()],
        false,
    );
    let format = json!({"type": "json_schema", "name": "answer", "strict": true, "schema": schema});
    assert_eq!(responses["text"]["format"], format);
    assert!(responses["instructions"].is_null());
    let chat = sent("openai/gpt-4.1", Some(Api::OpenaiChat), &schema, &[look()], false);
    let described = json!({"name": "answer", "strict": true, "schema": schema});
    assert_eq!(
        chat["response_format"],
        json!({"type": "json_schema", "json_schema": described})
    );
    let claude = sent("anthropic/claude-opus-4-6", None, &schema, &[look()], false);
    let format = json!({"type": "json_schema", "schema": schema});
    assert_eq!(
        claude["output_config"],
        json!({"format": format, "effort": "low"})
    );
    let gemini = sent(
        "google/gemini-3.8-flash",
        Some(Api::Gemini),
        &schema,
        &[look()],
        false,
    );
    assert_eq!(gemini["generationConfig"]["responseMimeType"], "application/json");
    assert_eq!(gemini["generationConfig"]["responseJsonSchema"], schema);
}

#[test]
fn where_there_is_no_mode_for_it_the_schema_is_said_in_words() {
    let open = json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}});
    let cases = [
        // A model about which the catalog has no data, a schema that Anthropic refuses, Gemini 2.5 with
        // tools, an API without such a mode, and a request whose server has refused an unknown field.
        ("mistral/mistral-large-latest", None, closed(), false),
        ("anthropic/claude-opus-4-6", None, open, false),
        ("google/gemini-2.5-flash", Some(Api::Gemini), closed(), false),
        (
            "google/gemini-3.8-flash",
            Some(Api::GeminiInteractions),
            closed(),
            false,
        ),
        ("openai/gpt-4.1", Some(Api::OpenaiChat), closed(), true),
    ];
    for (model, api, schema, plain) in cases {
        let body = sent(model, api, &schema, &[look()], plain);
        for key in [
            "output_config/format",
            "response_format",
            "text",
            "generationConfig/responseJsonSchema",
        ] {
            assert!(body.pointer(&format!("/{key}")).is_none(), "{model}: {body}");
        }
        assert!(
            body.to_string().contains("It has to fit this JSON Schema"),
            "{model}: {body}"
        );
    }
    let alone = sent(
        "google/gemini-2.5-flash",
        Some(Api::Gemini),
        &closed(),
        &[],
        false,
    );
    assert_eq!(alone["generationConfig"]["responseJsonSchema"], closed());
}

/// Returns the refused part of a request with this schema, or without one, from a provider's error text.
fn refused(
    model: &str,
    api: Option<Api>,
    schema: Option<Value>,
    without: &[RequestPart],
    said: &str,
) -> Option<RequestPart> {
    let catalog = Catalog::builtin();
    let mut model = catalog.resolve(model).unwrap();
    model.api = api.unwrap_or(model.api);
    let options = catalog.wire_options(&model);
    let request = ModelRequest {
        model,
        params: ModelParams::default(),
        system: Vec::new(),
        messages: Vec::new(),
        tools: [].into(),
        plain: false,
        turns: false,
        without: without.into(),
        answer_schema: schema.map(|schema| Arc::new(AnswerSchema::new(schema))),
    };
    let body = json!({"error": {"message": said, "type": "invalid_request_error"}}).to_string();
    let error = agentx_llm::decode_error(400, &[], body.as_bytes(), agentx_types::Timestamp(0));
    error.refine_schema_refusal(&request, &options).refused
}

const GRAMMAR: &str = "The compiled grammar is too large, which would cause performance issues. Simplify your tool schemas or \
    reduce the number of strict tools.";
const REF: &str = "Invalid schema for response_format 'answer': context=('properties', 'a'), $ref cannot have keywords {'description'}.";
const STATES: &str = "The specified schema produces a constraint that has too many states for serving.";
const DEPTH: &str = "A schema in GenerationConfig in the request exceeds the maximum allowed nesting depth.";

#[test]
fn a_refusal_of_the_schema_names_the_next_weaker_form() {
    let responses = ("openai/gpt-6.2-sol", Some(Api::OpenaiResponses));
    let claude = ("anthropic/claude-opus-4-6", None);
    let gemini = ("google/gemini-3.8-flash", Some(Api::Gemini));
    let strict = [RequestPart::StrictSchema];
    let words = [RequestPart::StrictSchema, RequestPart::AnswerSchema];
    let open = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let cases = [
        (
            responses,
            Some(closed()),
            &[][..],
            REF,
            Some(RequestPart::StrictSchema),
        ),
        (
            responses,
            Some(closed()),
            &strict[..],
            REF,
            Some(RequestPart::AnswerSchema),
        ),
        (responses, Some(open), &[], REF, Some(RequestPart::AnswerSchema)),
        (
            claude,
            Some(closed()),
            &[],
            GRAMMAR,
            Some(RequestPart::AnswerSchema),
        ),
        (
            gemini,
            Some(closed()),
            &[],
            STATES,
            Some(RequestPart::AnswerSchema),
        ),
        (
            gemini,
            Some(closed()),
            &[],
            DEPTH,
            Some(RequestPart::AnswerSchema),
        ),
        // The request has no schema in that form: the refused part is the tools if the error names them,
        // otherwise no weaker form is left.
        (claude, None, &[], GRAMMAR, Some(RequestPart::Tools)),
        (gemini, Some(closed()), &words[..], STATES, None),
        // The schema of a tool is not that of the answer.
        (
            responses,
            Some(closed()),
            &[],
            "Invalid schema for function 'now': object schema missing properties",
            Some(RequestPart::Tools),
        ),
    ];
    for ((model, api), schema, without, said, part) in cases {
        let found = refused(model, api, schema, without, said);
        assert_eq!(found, part, "{model}: {said}");
    }
}

#[test]
fn a_weaker_form_is_sent_where_a_stronger_one_was_refused() {
    let catalog = Catalog::builtin();
    let mut model = catalog.resolve("openai/gpt-6.2-sol").unwrap();
    model.api = Api::OpenaiResponses;
    let options = catalog.wire_options(&model);
    let body = |without: &[RequestPart]| -> Value {
        let request = ModelRequest {
            model: model.clone(),
            params: ModelParams::default(),
            system: Vec::new(),
            messages: Vec::new(),
            tools: [].into(),
            plain: false,
            turns: false,
            without: without.into(),
            answer_schema: Some(Arc::new(AnswerSchema::new(closed()))),
        };
        serde_json::from_slice(&build(&request, &options, &NoBlobs)).unwrap()
    };
    assert_eq!(body(&[])["text"]["format"]["strict"], true);
    assert_eq!(
        body(&[RequestPart::StrictSchema])["text"]["format"]["strict"],
        false
    );
    let words = body(&[RequestPart::StrictSchema, RequestPart::AnswerSchema]);
    assert!(
        words["text"].is_null() && words["instructions"].to_string().contains("JSON Schema"),
        "{words}"
    );
}
