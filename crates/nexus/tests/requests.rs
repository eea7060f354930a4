//! The requests with one answer: commands, settings, texts and messages.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use serde_json::{Value, json};

use crate::support::NexusWorld;

#[tokio::test]
async fn commands_are_listed_and_carried_out() {
    let world = NexusWorld::new().await;
    let ann = world.member("ann").await;
    let all = world.get("/api/v1/commands", Some(&ann.token)).await.json();
    let find = |name: &str| -> Value {
        let mut all = all.as_array().unwrap().iter();
        all.find(|command| command["name"] == name).unwrap().clone()
    };
    assert_eq!(find("ping")["handler"], "server");
    assert_eq!(find("theme")["handler"], "client");
    assert_eq!(
        find("config")["restOptions"]["getEndpoint"],
        json!("/api/v1/config")
    );
    for command in all.as_array().unwrap() {
        assert!(
            command["usage"].is_string() && command["examples"].is_array(),
            "{command}"
        );
    }
    let path = "/api/v1/commands/execute";
    let ping = json!({"command": "/ping", "args": [], "auth": {"publicKey": "0x1", "signature": "0x2"}});
    let pong = world.post(path, Some(&ann.token), &ping).await.json();
    assert_eq!(pong, json!({"status": "success", "message": "pong", "data": {}}));
    let unknown = json!({"command": "/nothing"});
    let refused = world.post(path, Some(&ann.token), &unknown).await.json();
    assert_eq!(refused["status"], "error");
    let refused = world.post(path, Some(&ann.token), &json!({"args": []})).await;
    assert_eq!(refused.status, 422);
    assert!(refused.detail().contains("command"), "{refused:?}");
    world.end().await;
}

#[tokio::test]
async fn settings_and_texts_are_read_and_changed() {
    let world = NexusWorld::new().await;
    let (ann, bob) = (world.member("ann").await, world.member("bob").await);
    let before = world.get("/api/v1/config", Some(&ann.token)).await.json();
    let fields = before["editable_fields"].as_array().unwrap();
    assert!(
        fields.contains(&json!("config.temperature")) && fields.contains(&json!("prompts.persona")),
        "{fields:?}"
    );
    assert_eq!(before["field_options"]["config.temperature"]["type"], "slider");
    let wish = json!({"overrides": {"temperature": 0.5, "config.name": "Ann"}, "auth": {}});
    let changed = world.post("/api/v1/config", Some(&ann.token), &wish).await.json();
    assert_eq!(
        changed,
        json!({"status": "success", "message": "Configuration updated"})
    );
    let after = world.get("/api/v1/config", Some(&ann.token)).await.json();
    assert_eq!(after["effective_config"]["temperature"], 0.5);
    assert_eq!(
        after["user_overrides"]["config_overrides"],
        json!({"name": "Ann", "temperature": 0.5})
    );
    let wish = json!({"overrides": {"persona": "You are Ann's."}, "auth": {}});
    world
        .post("/api/v1/prompts", Some(&ann.token), &wish)
        .await
        .json();
    let texts = world.get("/api/v1/prompts", Some(&ann.token)).await.json();
    assert_eq!(
        texts["effective_prompts"]["persona"],
        json!({"content": "You are Ann's.", "editable": true})
    );
    assert_eq!(texts["prompt_overrides"], json!({"persona": "You are Ann's."}));
    let of_bob = world.get("/api/v1/prompts", Some(&bob.token)).await.json();
    assert_eq!(of_bob["prompt_overrides"], json!({}));
    for (path, overrides) in [
        ("/api/v1/config", json!({"temperature": 99})),
        ("/api/v1/config", json!({"no_such_field": 1})),
        ("/api/v1/prompts", json!({"system": "mine"})),
    ] {
        let refused = world
            .post(path, Some(&ann.token), &json!({"overrides": overrides}))
            .await;
        assert_eq!(refused.status, 400, "{refused:?}");
        assert!(!refused.detail().is_empty());
    }
    world.end().await;
}

#[tokio::test]
async fn messages_are_listed_with_the_newest_first() {
    let world = NexusWorld::new().await;
    let ann = world.member("ann").await;
    let empty = world.get("/api/v1/messages", Some(&ann.token)).await.json();
    assert_eq!(empty, json!([]));
    let with_time = json!({"content": "hello", "client_timestamp_utc": "2025-12-11T03:00:00Z"});
    for message in [with_time, json!({"content": "echo two"})] {
        world
            .post("/api/v1/chat", Some(&ann.token), &message)
            .await
            .frames();
    }
    let all = world.get("/api/v1/messages", Some(&ann.token)).await.json();
    let told: Vec<(&str, &str)> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|message| {
            assert_eq!(message["owner_key"], json!(ann.id));
            (
                message["role"].as_str().unwrap(),
                message["content"].as_str().unwrap(),
            )
        })
        .collect();
    let [answer, input, first_answer, first_input] = &told[..] else {
        panic!("{told:?}");
    };
    assert_eq!((answer, input), (&("AI", "two"), &("HUMAN", "echo two")));
    assert_eq!((first_answer.0, first_input), ("AI", &("HUMAN", "hello")));
    assert_eq!(all[0]["run_id"], all[1]["run_id"]);
    assert_ne!(all[1]["run_id"], all[2]["run_id"]);
    let latest = world
        .get("/api/v1/messages?limit=1", Some(&ann.token))
        .await
        .json();
    assert_eq!(latest, json!([all[0]]));
    for limit in ["0", "101", "x"] {
        let path = format!("/api/v1/messages?limit={limit}");
        let refused = world.get(&path, Some(&ann.token)).await;
        assert_eq!(refused.status, 400, "{limit}");
        assert!(!refused.detail().is_empty());
    }
    world.end().await;
}
