//! Answers that have to fit a schema: natively and in words, after tools, after attempts that were refused,
//! and in a process that continues the session.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use agentx::runtime::{Delivery, View};
use agentx::schemars::JsonSchema;
use agentx::serde::Deserialize;
use agentx::testing::StrictServer;
use agentx::testing::vendors::{Anthropic, ChatServer, Dialect, ModelAnswer};
use agentx::types::{AnswerSchema, EnvironmentEvent, RunStatus};
use agentx::{AgentError, AgentHandle, MemoryLog, Reply, json};
use serde_json::Value;

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(crate = "agentx::serde")]
#[schemars(crate = "agentx::schemars")]
struct Place {
    city: String,
    kind: Kind,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(crate = "agentx::serde", rename_all = "snake_case")]
#[schemars(crate = "agentx::schemars")]
enum Kind {
    Capital,
    Other,
}

const ROME: &str = r#"{"city": "Rome", "kind": "capital"}"#;

/// Returns the current city.
#[agentx::tool]
async fn here() -> Result<String, String> {
    Ok("Rome".to_owned())
}

/// Returns the checks in the log: the number of the attempt, and the violations.
async fn checks(agent: &AgentHandle) -> Vec<(u32, Vec<String>)> {
    let last = agent.seq().await.unwrap();
    let mut facts = agent.session().subscribe(0, View::Environment).await.unwrap();
    let mut found = Vec::new();
    while let Some(delivery) = facts.next().await {
        let Delivery::Environment(fact) = delivery else {
            continue;
        };
        if let EnvironmentEvent::AnswerChecked(checked) = &fact.event {
            found.push((checked.attempt, checked.problems.clone()));
        }
        if fact.seq >= last {
            break;
        }
    }
    found
}

#[tokio::test]
async fn two_attempts_are_refused_and_the_third_is_the_answer() {
    let replies = [
        Reply::call("here", json!({})),
        Reply::text("Rome."),
        Reply::text(r#"{"city": 1, "kind": "capital"}"#),
        Reply::text(ROME),
    ];
    let agent = agentx::agent("You know cities.")
        .scripted(replies)
        .tool(here)
        .start()
        .await
        .unwrap();
    let place: Place = agent.ask_as("where am I?").await.unwrap();
    assert_eq!(
        place,
        Place {
            city: "Rome".into(),
            kind: Kind::Capital
        }
    );
    let checks = checks(&agent).await;
    assert_eq!(
        checks.iter().map(|(attempt, _)| *attempt).collect::<Vec<_>>(),
        [1, 2, 3]
    );
    assert!(checks[0].1[0].starts_with("the answer is not JSON"), "{checks:?}");
    assert_eq!(checks[1].1, [r#"at /city: 1 is not of type "string""#]);
    assert_eq!(checks[2].1, Vec::<String>::new());
}

#[tokio::test]
async fn attempts_are_bounded_and_the_run_fails_with_the_words_of_the_validator() {
    let agent = agentx::agent("You know cities.")
        .scripted(["a", "b", "c", ROME])
        .start()
        .await
        .unwrap();
    let ended = agent.ask_as::<Place>("where?").await.unwrap_err();
    let AgentError::Ended { status, reason, .. } = &ended else {
        panic!("{ended}")
    };
    assert_eq!(*status, RunStatus::Failed);
    assert!(
        reason.as_ref().unwrap().contains("3 of at most 3 attempts"),
        "{reason:?}"
    );
    // The session continues, and the schema was that of one question.
    assert_eq!(agent.ask("where?").await.unwrap().text, ROME);
    let never = agentx::agent("You know cities.")
        .scripted(["a", ROME])
        .start()
        .await
        .unwrap();
    assert!(never.ask_as::<Place>("where?").repairs(0).await.is_err());
}

#[tokio::test]
async fn an_invalid_schema_is_refused_before_the_model_is_asked() {
    let agent = agentx::agent("You know cities.")
        .scripted([ROME])
        .start()
        .await
        .unwrap();
    let none = AnswerSchema::new(json!({"type": "nonsense"}));
    let refused = agent.ask("where?").answer_schema(none).await.unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("the schema of the answer is invalid"),
        "{refused}"
    );
    assert_eq!(agent.ask("where?").await.unwrap().text, ROME);
}

#[tokio::test]
async fn a_schema_beyond_the_bounds_is_refused_wherever_it_comes_from() {
    let mut definitions = serde_json::Map::new();
    for level in 0..40 {
        let next = json!({"$ref": format!("#/$defs/a{}", level + 1)});
        definitions.insert(format!("a{level}"), json!({"allOf": [next.clone(), next]}));
    }
    definitions.insert("a40".into(), json!({"type": "string"}));
    let doubling = AnswerSchema::new(json!({"$ref": "#/$defs/a0", "$defs": definitions}));
    let many = AnswerSchema {
        repairs: u32::MAX,
        ..AnswerSchema::new(json!({"type": "object"}))
    };
    let large = AnswerSchema::new(json!({"enum": ["x".repeat(300 << 10)]}));
    let agent = || agentx::agent("You know cities.").scripted([ROME]).start();
    let agent = agent().await.unwrap();
    for schema in [doubling, many, large] {
        let asked = agent
            .ask("where?")
            .answer_schema(schema.clone())
            .await
            .unwrap_err();
        assert!(
            asked.to_string().contains("the schema of the answer is invalid"),
            "{asked}"
        );
        let mut config = agent.session().state().await.unwrap().config;
        config.answer_schema = Some(Arc::new(schema));
        let made = agentx::runtime::check_answer_schemas(&config).unwrap_err();
        assert!(made.contains("the schema of the answers of agent"), "{made}");
    }
    assert_eq!(agent.ask("where?").await.unwrap().text, ROME);
}

#[tokio::test]
async fn a_session_with_refused_attempts_is_resumed_as_it_was() {
    let log = Arc::new(MemoryLog::new());
    let agent = || agentx::agent("You know cities.").log(log.clone());
    let first = agent().scripted(["no", ROME]).start().await.unwrap();
    first.ask_as::<Place>("where?").await.unwrap();
    let (id, before) = (first.id().clone(), checks(&first).await);
    first.close().await;
    let second = agent().scripted([ROME]).resume(&id).await.unwrap();
    assert_eq!(checks(&second).await, before);
    second.ask_as::<Place>("and now?").await.unwrap();
}

/// The body of the only request.
fn body(server: &StrictServer) -> Value {
    server.refused_nothing();
    serde_json::from_slice(&server.requests()[0].body).unwrap()
}

#[tokio::test]
async fn models_with_a_mode_for_schemas_are_sent_it_and_others_read_it() {
    let ask = async |model: &str, url: &str| {
        let agent = agentx::agent("You know cities.")
            .model(model)
            .api_key("key")
            .base_url(url);
        agent
            .start()
            .await
            .unwrap()
            .ask_as::<Place>("where?")
            .await
            .unwrap()
    };
    let server = StrictServer::anthropic(Anthropic::new(), |_| ModelAnswer::text(ROME)).await;
    ask("anthropic/claude-opus-4-6", &server.url()).await;
    let native = body(&server);
    assert_eq!(native["output_config"]["format"]["type"], "json_schema");
    assert_eq!(
        native["output_config"]["format"]["schema"]["additionalProperties"],
        false
    );
    let server = StrictServer::anthropic(Anthropic::new(), |_| ModelAnswer::text(ROME)).await;
    ask("anthropic/claude-opus-5-5", &server.url()).await;
    let in_words = body(&server);
    assert!(in_words["output_config"]["format"].is_null());
    assert!(
        in_words["system"].to_string().contains("JSON Schema"),
        "{in_words}"
    );
    let server = StrictServer::chat(ChatServer::new(Dialect::OpenAi), |_| ModelAnswer::text(ROME)).await;
    ask("openai/gpt-5.6-terra", &format!("{}/v1", server.url())).await;
    let format = &body(&server)["response_format"];
    assert_eq!(format["type"], "json_schema");
    assert_eq!(
        format["json_schema"]["schema"]["required"],
        json!(["city", "kind"])
    );
}
