//! The settings of a person over HTTP, and the list of commands.

use std::collections::BTreeSet;

use agentx_identity::{Keyring, SecretKey, Trusted, TrustedAs};
use agentx_server::http::routes;
use agentx_types::ApprovalMode;
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::http_api::desk::{Desk, Reply, wide};

/// A server whose settings make a personal agent.
async fn personal() -> Desk {
    Desk::set(wide(), |settings| {
        settings.limits.max_iterations = Some(5);
        settings.params.max_output_tokens = Some(4_096);
        settings.approval = ApprovalMode::Ask;
        settings.context.history_context_size = Some(20);
        settings.context.modules = ["persona", "system", "tools", "moment"]
            .map(String::from)
            .to_vec();
    })
    .await
}

async fn config(desk: &Desk, token: &str) -> Value {
    desk.get("/v1/config").by(token).send().await.ok().json()
}

async fn sets(desk: &Desk, token: &str, wish: Value) -> Reply {
    desk.post("/v1/config", &wish).by(token).send().await
}

#[tokio::test]
async fn a_page_gets_fields_bounds_and_origins() {
    let desk = personal().await;
    let shown = config(&desk, &desk.ann).await;
    let fields = shown["editable_fields"].as_array().unwrap();
    for field in fields {
        let name = field.as_str().unwrap();
        assert!(shown["field_options"][name]["type"].is_string(), "{name}");
        assert_eq!(shown["effective_config"][name]["origin"], "operator", "{name}");
    }
    let rounds = &shown["field_options"]["max_iterations"];
    assert_eq!((&rounds["min"], &rounds["max"]), (&json!(1.0), &json!(5.0)));
    assert_eq!(
        shown["field_options"]["approval"]["options"],
        json!(["ask", "deny"])
    );
    assert_eq!(shown["effective_prompts"]["system"]["editable"], false);
    assert!(
        shown["effective_prompts"]["persona"]["content"]
            .as_str()
            .unwrap()
            .contains("assistant")
    );
}

#[tokio::test]
async fn a_persons_settings_are_their_own_and_hold_for_new_sessions() {
    let desk = personal().await;
    let wish = json!({
        "config": {"max_iterations": 2, "temperature": 0.5, "history_context_size": 8, "name": "Ann"},
        "prompts": {"persona": "You are Ann's."},
    });
    let shown = sets(&desk, &desk.ann, wish).await.ok().json();
    assert_eq!(
        shown["effective_config"]["max_iterations"],
        json!({"value": 2, "origin": "person"})
    );
    assert_eq!(shown["effective_prompts"]["persona"]["content"], "You are Ann's.");
    assert_eq!(shown, config(&desk, &desk.ann).await, "it is kept");
    let agent = desk.get("/v1/agent").by(&desk.ann).send().await.ok().json();
    assert_eq!(agent["limits"]["max_iterations"], 2);
    assert_eq!(agent["params"]["temperature"], 0.5);
    assert_eq!(agent["history_messages"], 8);
    let of_bob = desk.get("/v1/agent").by(&desk.bob).send().await.ok().json();
    assert_eq!(
        (&of_bob["limits"]["max_iterations"], &of_bob["history_messages"]),
        (&json!(5), &json!(20))
    );
    assert_eq!(config(&desk, &desk.bob).await["user_overrides"], json!({}));

    let reset = json!({"config": {"max_iterations": null}, "prompts": {"persona": null}});
    let shown = sets(&desk, &desk.ann, reset).await.ok().json();
    assert_eq!(
        shown["effective_config"]["max_iterations"],
        json!({"value": 5, "origin": "operator"})
    );
    assert_eq!(
        shown["effective_config"]["temperature"]["origin"], "person",
        "what is not named stays"
    );
    assert_eq!(shown["effective_prompts"]["persona"]["origin"], "operator");
}

#[tokio::test]
async fn nobody_loosens_what_the_operator_set() {
    let desk = personal().await;
    for wrong in [
        json!({"config": {"max_iterations": 6}}),
        json!({"config": {"max_tokens": 5_000}}),
        json!({"config": {"approval": "auto"}}),
        json!({"config": {"model": "no such model"}}),
        json!({"config": {"name": "Ann", "data_dir": "/"}}),
        json!({"prompts": {"system": "You are all-powerful."}}),
        json!({"prompts": {"persona": "a".repeat(16_001)}}),
        json!({"prompt": {}}),
    ] {
        let reply = sets(&desk, &desk.ann, wrong.clone()).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{wrong}");
        assert_eq!(reply.code(), "bad_request", "{wrong}");
    }
    let shown = config(&desk, &desk.ann).await;
    assert_eq!(
        shown["user_overrides"],
        json!({}),
        "all changes are made, or none"
    );
}

#[tokio::test]
async fn each_command_names_a_request_or_a_frame_that_exists() {
    let desk = personal().await;
    let paths: BTreeSet<&str> = routes().iter().map(|route| route.path).collect();
    let commands = desk.get("/v1/commands").by(&desk.ann).send().await.ok().json();
    for command in commands.as_array().unwrap() {
        for method in ["get", "post"] {
            if let Some(path) = command["rest"][method].as_str() {
                assert!(paths.contains(path), "{command}");
            }
        }
        if command["handler"] == "server" {
            let frame = command["system_command"].as_str().unwrap();
            let known = ["change", "context", "ping", "rename", "retry", "revise"];
            assert!(known.contains(&frame), "{command}");
        }
    }
}

#[tokio::test]
async fn commands_of_files_are_for_the_operator_and_become_inputs() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("commands/review.md");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(
        &file,
        "---\ndescription: Reviews\n---\nReview $ARGUMENTS, please.\n",
    )
    .unwrap();
    let user_file = directory.path().join("config.yaml");
    let desk = Desk::set(wide(), |settings| settings.user_file = user_file).await;
    let names = async |token: &str| {
        let commands = desk.get("/v1/commands").by(token).send().await.ok().json();
        let of_files: Vec<Value> = commands.as_array().unwrap().clone();
        let of_files = of_files.into_iter().filter(|command| command["origin"] == "file");
        of_files
            .map(|command| command["name"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&desk.operator).await, [json!("review")]);
    assert_eq!(names(&desk.ann).await, Vec::<Value>::new());

    let session = desk.session(&desk.operator).await;
    let frame = |args: Value| agentx_types::wire::CommandFrame {
        session_id: session.as_str().into(),
        command: "review".into(),
        args,
        wheel_epoch: None,
        idempotency_key: None,
    };
    let caller = desk.caller(&desk.operator, "page");
    let (seq, _) = desk
        .state
        .command(&caller, frame(json!({"words": "the tests"})))
        .await
        .unwrap();
    desk.until_finished(&session, seq.unwrap()).await;
    let path = format!("/v1/sessions/{session}/messages");
    let messages = desk.get(&path).by(&desk.operator).send().await.ok().json();
    assert!(
        messages.to_string().contains("Review the tests, please."),
        "{messages}"
    );
}

#[tokio::test]
async fn nexus_8_a_captured_signature_counts_once() {
    let desk = Desk::new().await;
    let key = SecretKey::generate().unwrap();
    let keyring = Keyring::open(&desk.state.settings().data_dir).unwrap();
    let trusted = Trusted {
        public_key: *key.public_key(),
        name: Some("Eve's victim".to_owned()),
        role: TrustedAs::Member,
    };
    keyring.trust(trusted).unwrap();
    let captured = desk.answer(&key).await;
    desk.post("/v1/auth/token", &captured).send().await.ok();
    let again = desk.post("/v1/auth/token", &captured).send().await;
    assert_eq!(again.status, StatusCode::UNAUTHORIZED);
    assert_eq!(again.code(), "stale_challenge");
}
