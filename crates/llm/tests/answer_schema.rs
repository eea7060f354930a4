//! The schema of an answer in the body of each API: in its own mode where the catalog and the schema allow
//! it, else in words.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use agentx_llm::{Catalog, NoBlobs, build};
use agentx_types::{
    Access, AnswerSchema, Api, ContentPart, Message, ModelParams, ModelRequest, Role, ToolSpec,
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
        // A model that the catalog says nothing of, a schema that Anthropic refuses, Gemini 2.5 beside tools,
        // an API without such a mode, and a request whose server has refused what it does not know.
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
