//! Schemas of answers in requests: their bounds, and what they weigh in the queue.

use serde_json::{Value, json};

use crate::http_api::desk::Desk;

/// Schemas that nobody may give, each with a word of the refusal.
fn refused() -> [(Value, &'static str); 4] {
    let next = json!({"$ref": "#/$defs/b"});
    let twice = json!({"allOf": [next, {"$ref": "#/$defs/a"}]});
    let large = json!({"enum": ["x".repeat(300 << 10)]});
    [
        (json!({"schema": {"type": "nonsense"}}), "nonsense"),
        (
            json!({"schema": {"$ref": "https://example.com/schema.json"}}),
            "may only lead to a place in this schema",
        ),
        (
            json!({"schema": {"type": "object"}, "repairs": u32::MAX}),
            "at most 10",
        ),
        (
            json!({"schema": {"$ref": "#/$defs/a", "$defs": {"a": twice, "b": large}}}),
            "256 KiB",
        ),
    ]
}

#[tokio::test]
async fn a_schema_that_cannot_be_used_makes_no_session_and_no_message() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.ann).await;
    for (schema, words) in refused() {
        let body = json!({"content": "hello", "answer_schema": schema});
        let path = format!("/v1/sessions/{session}/messages");
        let said = desk.post(&path, &body).by(&desk.ann).send().await;
        assert_eq!(
            (said.status.as_u16(), &*said.code()),
            (409, "refused"),
            "{}",
            said.json()
        );
        assert!(
            said.json()["detail"].to_string().contains(words),
            "{}",
            said.json()
        );
        let mut config = desk.agent().await;
        config["answer_schema"] = schema;
        let made = desk
            .post("/v1/sessions", &json!({"config": config}))
            .by(&desk.ann)
            .send()
            .await;
        assert_eq!(
            (made.status.as_u16(), &*made.code()),
            (409, "refused"),
            "{}",
            made.json()
        );
        assert!(
            made.json()["detail"].to_string().contains(words),
            "{}",
            made.json()
        );
    }
}
