//! A server of a folder runs the files that a person trusted, whenever it starts.

use std::path::Path;

use agentx_config::{ConfigPaths, FolderTrust, LoadRequest, Loaded, load, trust_folder};

use super::*;

/// Reads the settings of a folder whose `.mcp.json` is there, in a home of its own.
fn load_in(base: &Path) -> Loaded {
    let root = std::fs::canonicalize(base.join("ws")).unwrap();
    let request = LoadRequest {
        places: ConfigPaths {
            cwd: root.clone(),
            user_file: base.join("home/config.yaml"),
            user_file_named: false,
            workspace_file: root.join(".agentx/config.yaml"),
            workspace_root: root,
            data_dir: base.join("data"),
        },
        lookup: &|_| None,
        flags: Vec::new(),
    };
    load(request).unwrap()
}

/// The folder's only server, as a person has just trusted it.
fn trusted(base: &Path) -> McpServerSettings {
    let before = load_in(base);
    let named = before.settings.named_files.into_iter();
    let accepted: Vec<_> = named.map(|file| (file.path, file.bytes)).collect();
    let root = std::fs::canonicalize(base.join("ws")).unwrap();
    trust_folder(&before.trust_dir, &root, FolderTrust::Trusted, &accepted).unwrap();
    load_in(base).settings.mcp.remove(0)
}

#[tokio::test]
async fn a_file_that_changed_since_it_was_trusted_is_not_run() {
    let mut server = TestServer::new("plain");
    let base = server.folder.path().to_owned();
    let script = base.join("ws/server.sh");
    std::fs::create_dir(base.join("ws")).unwrap();
    let original = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/servers/server.sh");
    std::fs::copy(original, &script).unwrap();
    let entry = json!({ "command": "sh", "args": ["server.sh", "plain", base.join("ledger")] });
    let file = json!({ "mcpServers": { "made-up": entry } });
    std::fs::write(base.join("ws/.mcp.json"), file.to_string()).unwrap();
    server.settings = trusted(&base);
    let environment = server.environment();
    environment.connect().await.unwrap();
    environment.close().await;
    assert_eq!(server.started(), 1);

    let mut text = std::fs::read_to_string(&script).unwrap();
    text.push_str("\n# pulled meanwhile\n");
    std::fs::write(&script, text).unwrap();
    let outcome = call(&environment, "x").await;
    let said = super::text(&outcome);
    assert!(
        outcome.status != ToolStatus::Success
            && said.contains("server.sh is new or has changed since you trusted this folder")
            && said.contains("`agentx config trust`"),
        "{outcome:?}"
    );
    assert!(matches!(environment.connect().await, Err(McpFailure::Changed(_))));
    assert_eq!(server.started(), 1, "the changed file did not run");

    server.settings = trusted(&base);
    server.environment().connect().await.unwrap();
    assert_eq!(server.started(), 2);
}
