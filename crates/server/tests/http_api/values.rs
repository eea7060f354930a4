//! Configurations that could not be read back and values that make no sense are refused, whoever sends them.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::http_api::desk::{Desk, Reply};

/// An agent that may make an agent that may make one, so many levels deep.
fn nested(agent: &Value, levels: usize) -> Value {
    (1..levels).fold(agent.clone(), |inner, _| {
        let mut outer = agent.clone();
        outer["agents"] = json!([inner]);
        outer
    })
}

async fn create(desk: &Desk, config: &Value) -> Reply {
    let body = json!({ "config": config });
    desk.post("/v1/sessions", &body).by(&desk.operator).send().await
}

fn refused(answer: &Reply, status: u16, code: &str, named: &str) {
    let got = (answer.status.as_u16(), answer.code());
    assert_eq!(got, (status, code.to_owned()), "{}", answer.json());
    let said = answer.json()["detail"].as_str().unwrap().to_owned();
    assert!(said.contains(named), "{said}");
}

#[tokio::test]
async fn agents_nest_as_deep_as_can_be_read_back() {
    let desk = Desk::new().await;
    let agent = desk.agent().await;
    for levels in [9, 30, 55] {
        let answer = create(&desk, &nested(&agent, levels)).await;
        refused(&answer, 413, "too_large", "8 levels");
    }
    let mut deep = agent.clone();
    let schema = (0..70).fold(json!({}), |inner, _| json!({ "a": inner }));
    deep["tools"] = json!([{"name": "t", "description": "", "input_schema": schema, "access": "internal"}]);
    refused(&create(&desk, &deep).await, 413, "too_large", "64 levels");
    let made = create(&desk, &nested(&agent, 8)).await.ok().json();
    let path = format!("/v1/sessions/{}/state", made["session_id"].as_str().unwrap());
    let state = desk.get(&path).by(&desk.operator).send().await;
    assert_eq!(state.status, StatusCode::OK, "{}", state.json());
}

#[tokio::test]
async fn values_that_make_no_sense_are_refused_in_changes_and_new_sessions() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.operator).await;
    let path = format!("/v1/sessions/{session}/changes");
    let change = async |change: Value| {
        let body = json!({ "change": change });
        desk.post(&path, &body).by(&desk.operator).send().await
    };
    let condensing = |at: u64, tail: u64| json!({"at_percent": at, "tail": tail});
    for (part, value, named) in [
        ("params", json!({"temperature": -5}), "`temperature` is -5.0"),
        ("params", json!({"temperature": 1e308}), "`temperature` is 1e308"),
        (
            "params",
            json!({"max_output_tokens": 0}),
            "`max_output_tokens` is 0",
        ),
        (
            "params",
            json!({"max_output_tokens": u64::MAX}),
            "`max_output_tokens`",
        ),
        (
            "params",
            json!({"thinking_tokens": u64::MAX}),
            "`thinking_tokens`",
        ),
        ("condensing", condensing(255, 8), "`at_percent` is 255"),
        ("condensing", condensing(80, u32::MAX.into()), "`tail` is"),
    ] {
        refused(&change(json!({ part: value })).await, 400, "bad_request", named);
        let mut agent = desk.agent().await;
        agent[part] = value;
        refused(&create(&desk, &agent).await, 400, "bad_request", named);
    }
    let sensible = json!({"temperature": 2, "max_output_tokens": 1, "thinking_tokens": 0});
    change(json!({ "params": sensible })).await.ok();
    change(json!({ "condensing": condensing(100, 0) })).await.ok();
}
