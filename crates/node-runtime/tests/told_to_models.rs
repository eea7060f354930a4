//! The text that a runtime made from settings gives to models besides the results of tools: instructions of
//! folders, and facts that agree with its tools.
#![cfg(feature = "settings")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::PathBuf;
use std::sync::Arc;

use agentx_config::{ConfigPaths, FolderTrust, LoadRequest, Settings, load, trust_folder};
use agentx_node_runtime::{NodeParts, ToolEffector};
use agentx_testing::{FaultyLog, fixture, perform};
use agentx_types::{Action, ActionBody, AgentStateId, ContentPart, EnvironmentEvent};
use serde_json::json;

/// A folder that the person trusts, and the tools of a runtime that works in it.
struct Desk {
    dir: tempfile::TempDir,
    effector: ToolEffector,
}

impl Desk {
    fn new(files: &[(&str, String)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["ws/sub/deep", "ws/.git", "home"] {
            std::fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        for (file, text) in files {
            std::fs::write(dir.path().join("ws").join(file), text).unwrap();
        }
        let effector = effector(&settings(&dir));
        Self { dir, effector }
    }

    /// Returns all text of the result when an agent calls `read` for a file.
    async fn read(&self, agent: &str, file: &str) -> String {
        let mut action: Action = (*fixture::call_tool("call_1", "read", json!({ "path": file }))).clone();
        action.agent_state_id = AgentStateId::new(agent);
        let ActionBody::CallTool(call) = &mut action.body else {
            panic!("it is a call");
        };
        call.workspace = workspace(&self.dir).to_string_lossy().into_owned();
        let said = perform(&self.effector, Arc::new(action)).await;
        let results = said.events.iter().filter_map(|event| match event {
            EnvironmentEvent::ToolResult(result) => Some(result),
            _ => None,
        });
        let parts = results.flat_map(|result| result.result.iter());
        parts
            .map(|part| match part {
                ContentPart::Text(text) => text.text.to_string(),
                _ => String::new(),
            })
            .collect()
    }
}

fn workspace(dir: &tempfile::TempDir) -> PathBuf {
    std::fs::canonicalize(dir.path()).unwrap().join("ws")
}

fn settings(dir: &tempfile::TempDir) -> Settings {
    let root = workspace(dir);
    let places = || ConfigPaths {
        cwd: root.clone(),
        user_file: dir.path().join("home/config.yaml"),
        user_file_named: false,
        workspace_file: root.join(".agentx/config.yaml"),
        workspace_root: root.clone(),
        data_dir: dir.path().join("data"),
    };
    let loaded = || {
        let request = LoadRequest {
            places: places(),
            lookup: &|_| None,
            flags: Vec::new(),
        };
        load(request).unwrap()
    };
    trust_folder(&loaded().trust_dir, &root, FolderTrust::Trusted, &[]).unwrap();
    loaded().settings
}

fn effector(settings: &Settings) -> ToolEffector {
    let log = Arc::new(FaultyLog::new());
    let parts = NodeParts::on_log(settings, "test", log.clone());
    ToolEffector::new(parts.tools, log)
}

#[tokio::test]
async fn each_agent_is_told_a_file_once() {
    let desk = Desk::new(&[
        ("sub/AGENTS.md", "Write tests first.".into()),
        ("sub/a.txt", "words".into()),
        ("sub/deep/b.txt", "words".into()),
    ]);
    let first = desk.read("agt_1", "sub/a.txt").await;
    assert!(first.contains("Write tests first."), "{first}");
    for file in ["sub/a.txt", "sub/deep/b.txt"] {
        let again = desk.read("agt_1", file).await;
        assert!(
            again.contains("words") && !again.contains("Write tests first."),
            "{again}"
        );
    }
    let other = desk.read("agt_2", "sub/deep/b.txt").await;
    assert!(
        other.contains("Write tests first."),
        "another agent of the session did not read it: {other}"
    );
}

#[tokio::test]
async fn a_folder_that_was_looked_at_is_not_looked_at_again() {
    let desk = Desk::new(&[("sub/a.txt", "words".into())]);
    assert!(desk.read("agt_1", "sub/a.txt").await.contains("words"));
    std::fs::write(workspace(&desk.dir).join("sub/AGENTS.md"), "Later.").unwrap();
    assert!(!desk.read("agt_1", "sub/a.txt").await.contains("Later."));
    assert!(desk.read("agt_2", "sub/a.txt").await.contains("Later."));
}

#[tokio::test]
async fn all_files_of_a_result_share_one_budget_and_one_mark() {
    let desk = Desk::new(&[
        ("sub/AGENTS.md", "x".repeat(12_000)),
        ("sub/deep/AGENTS.md", "y".repeat(12_000)),
        ("sub/deep/b.txt", "words".into()),
    ]);
    let told = desk.read("agt_1", "sub/deep/b.txt").await;
    let count = |sign: char| told.chars().filter(|c| *c == sign).count();
    assert!((12_000..12_100).contains(&count('x')), "{}", count('x'));
    assert!((4_384..4_500).contains(&count('y')), "{}", count('y'));
    assert_eq!(
        told.matches("[Instructions of the folders of this file.").count(),
        1
    );
    assert!(told.ends_with("[End of the instructions of folders.]"), "{told}");
    assert_eq!(told.matches("read it for the rest").count(), 1, "{told}");
}

#[tokio::test]
async fn instructions_that_are_read_themselves_do_not_follow_their_own_text() {
    let desk = Desk::new(&[("sub/AGENTS.md", "Write tests first.".into())]);
    let read = desk.read("agt_1", "sub/AGENTS.md").await;
    assert_eq!(read.matches("Write tests first.").count(), 1, "{read}");
}

/// `agentx-config` looks for the shell itself, because it may not know the tools.
#[tokio::test]
async fn the_shell_of_the_facts_is_the_one_that_runs_commands() {
    let desk = Desk::new(&[]);
    let settings = settings(&desk.dir);
    let facts = settings.environment_context(&workspace(&desk.dir)).unwrap();
    let shell = facts.text.lines().find_map(|line| line.strip_prefix("- Shell: "));
    let tools = NodeParts::on_log(&settings, "test", Arc::new(FaultyLog::new())).tools;
    let about = tools.get("bash").unwrap().spec().description;
    let wanted = format!("Runs a command line with {} in ", shell.unwrap());
    assert!(about.starts_with(&wanted), "{wanted}: {about}");
}
