//! What scripts keep under keys: each folder's tools have their own, and so have those of the person.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use crate::support::{Place, luau};
use agentx_agent_files::definition::ToolDefinition;
use agentx_flows::{forget_values, kept_values};
use agentx_testing::{Answer, MemoryLog};
use agentx_types::FolderId;
use serde_json::{Value, json};

const KEEPER: &str = "function invoke(ctx, args)
    local before = ctx.kv.list('')
    local found = ctx.kv.get('notes/last')
    ctx.kv.set('notes/last', args.by)
    return {found or 'nothing', #before}
end";

/// What a tool of this folder (of the person where there is none) finds, before it leaves its own name.
async fn found(data: &Path, folder: Option<&str>, by: &str) -> Value {
    found_by(data, folder, None, by).await
}

/// The same, where this folder lies at the path.
async fn found_by(data: &Path, folder: Option<&str>, id: Option<FolderId>, by: &str) -> Value {
    let answers = [
        Answer::call("call_1", "keeper", json!({"by": by})),
        Answer::text("Done."),
    ];
    let place = Place::with(MemoryLog::new(), answers, |mut parts| {
        parts.data_dir = Some(data.to_owned());
        parts.folder = Some(folder.unwrap_or("/made/up/other").into());
        parts.folder_id = id;
        parts
    });
    place.tool(ToolDefinition {
        of_folder: folder.is_some(),
        known: Default::default(),
        ..luau("keeper", KEEPER, json!({"kv": ["notes"]}))
    });
    let session = place.open().await;
    place.ask(&session, "go").await;
    serde_json::from_str(&place.result("call_1").1).unwrap()
}

#[tokio::test]
async fn no_folder_sees_the_keys_of_another_or_of_the_person() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    assert_eq!(found(data, None, "person").await, json!(["nothing", 0]));
    assert_eq!(found(data, Some("/made/up/a"), "a").await, json!(["nothing", 0]));
    assert_eq!(found(data, Some("/made/up/b"), "b").await, json!(["nothing", 0]));
    assert_eq!(found(data, None, "person again").await, json!(["person", 1]));
    assert_eq!(found(data, Some("/made/up/a"), "a again").await, json!(["a", 1]));
    // A person's tools find what they kept before there were keys of folders.
    let database = rusqlite::Connection::open(data.join("flows.db")).unwrap();
    let spaces: Vec<String> = database
        .prepare("SELECT space FROM kv ORDER BY length(space)")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(spaces, ["notes", "10:/made/up/a\nnotes", "10:/made/up/b\nnotes"]);
}

#[tokio::test]
async fn another_folder_at_the_same_path_finds_nothing() {
    let data = tempfile::tempdir().unwrap();
    let (data, path) = (data.path(), Path::new("/made/up/a"));
    let found = async |id: Option<FolderId>, by: &str| found_by(data, Some("/made/up/a"), id, by).await;
    let (bare, with_git) = (FolderId::new("a", None), FolderId::new("a", Some("git")));
    assert_eq!(kept_values(data, path).unwrap().len(), 0);
    // An older program kept it by the path alone; it belongs to the folder that is there when a newer one looks.
    assert_eq!(found(None, "old").await, json!(["nothing", 0]));
    assert_eq!(found(Some(bare), "bare").await, json!(["old", 1]));
    assert_eq!(found(Some(with_git.clone()), "git").await, json!(["bare", 1]));
    assert_eq!(found(Some(with_git.clone()), "again").await, json!(["git", 1]));
    found_by(data, Some("/made/up/b"), Some(FolderId::new("b", None)), "b").await;
    let other = FolderId::new("a", Some("other"));
    assert_eq!(found(Some(other.clone()), "other").await, json!(["nothing", 0]));
    assert_eq!(found(Some(with_git), "back").await, json!(["nothing", 0]));
    assert_eq!(kept_values(data, path).unwrap(), [("notes".to_owned(), 1)].into());
    forget_values(data, path).unwrap();
    assert_eq!(kept_values(data, path).unwrap().len(), 0);
    assert_eq!(kept_values(data, Path::new("/made/up/b")).unwrap().len(), 1);
}
