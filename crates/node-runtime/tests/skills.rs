//! The tool `skill` of a runtime made from settings: who gets it, and whose session it reads for.
#![cfg(feature = "settings")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use agentx_config::{ConfigPaths, LoadRequest, Settings, load};
use agentx_node_runtime::{NodeParts, ToolEffector};
use agentx_runtime::{NewLog, SessionLog as _};
use agentx_testing::{FaultyLog, fixture, perform, perform_in_session};
use agentx_types::{ContentPart, EnvironmentEvent, Timestamp};
use serde_json::{Value, json};

/// The text of the skill of these tests.
const TEXT: &str = "Look at the moon first.";

/// The settings of a person with one skill, if they have any.
fn settings(dir: &tempfile::TempDir, has_skill: bool) -> Settings {
    let root = std::fs::canonicalize(dir.path()).unwrap().join("ws");
    let home = dir.path().join("home/agentx");
    let skill = home.join("skills/tides");
    std::fs::create_dir_all(&root).unwrap();
    std::fs::create_dir_all(&skill).unwrap();
    if has_skill {
        let text = format!("---\nname: tides\ndescription: Predicts tides.\n---\n{TEXT}\n");
        std::fs::write(skill.join("SKILL.md"), text).unwrap();
        std::fs::write(skill.join(".env"), "X=made-up-51d0be").unwrap();
    }
    let request = LoadRequest {
        places: ConfigPaths {
            cwd: root.clone(),
            user_file: home.join("config.yaml"),
            user_file_named: false,
            workspace_file: root.join(".agentx/config.yaml"),
            workspace_root: root,
            data_dir: dir.path().join("data"),
        },
        lookup: &|_| None,
        flags: Vec::new(),
    };
    load(request).unwrap().settings
}

/// All text of the result of a call, in a session of `owner` if there is one.
async fn read(settings: &Settings, owner: Option<&str>, input: Value) -> String {
    let log = Arc::new(FaultyLog::new());
    if let Some(owner) = owner {
        let new = NewLog::new(fixture::session_id(), owner, Timestamp(1), "/ws");
        log.create(new).await.unwrap();
    }
    let parts = NodeParts::on_log(settings, "test", log.clone());
    let effector = ToolEffector::new(parts.tools, log);
    let call = fixture::call_tool("call_1", "skill", input);
    let said = match owner {
        Some(_) => perform_in_session(&effector, call).await,
        None => perform(&effector, call).await,
    };
    let results = said.events.iter().filter_map(|event| match event {
        EnvironmentEvent::ToolResult(result) => Some(result),
        _ => None,
    });
    let parts = results.flat_map(|result| result.result.iter());
    parts.filter_map(ContentPart::as_text).collect()
}

#[tokio::test]
async fn the_tool_is_there_only_with_a_skill() {
    for has_skill in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let settings = settings(&dir, has_skill);
        let parts = NodeParts::on_log(&settings, "test", Arc::new(FaultyLog::new()));
        assert_eq!(parts.tools.get("skill").is_some(), has_skill);
        let model = agentx_node_runtime::scripted_model().spec;
        let agent = settings.agent(model, parts.tools.specs().to_vec());
        let is_told = agent
            .instructions
            .iter()
            .any(|told| told.text.contains("- tides: Predicts"));
        assert_eq!(is_told, has_skill);
    }
}

#[tokio::test]
async fn members_of_a_server_get_no_skills_of_its_operator() {
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(&dir, true);
    let input = || json!({"name": "tides"});
    assert!(read(&settings, Some("own_local"), input()).await.contains(TEXT));
    assert!(read(&settings, None, input()).await.contains(TEXT));
    let refused = read(&settings, Some("own_other"), input()).await;
    assert!(
        refused.contains("belongs to another person") && !refused.contains(TEXT),
        "{refused}"
    );
}

#[tokio::test]
async fn a_file_that_may_hold_secrets_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(&dir, true);
    let refused = read(&settings, None, json!({"name": "tides", "file": ".env"})).await;
    assert!(
        refused.contains("may hold secrets") && !refused.contains("made-up-51d0be"),
        "{refused}"
    );
    let refused = read(&settings, None, json!({"nam": "tides"})).await;
    assert!(refused.contains("did you mean \"name\"?"), "{refused}");
}
