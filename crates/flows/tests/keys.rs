//! What scripts keep under keys: each folder's tools have their own, and so have those of the person.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use crate::support::{Place, luau};
use agentx_agent_files::definition::ToolDefinition;
use agentx_testing::{Answer, MemoryLog};
use serde_json::{Value, json};

const KEEPER: &str = "function invoke(ctx, args)
    local before = ctx.kv.list('')
    local found = ctx.kv.get('notes/last')
    ctx.kv.set('notes/last', args.by)
    return {found or 'nothing', #before}
end";

/// What a tool of this folder (of the person where there is none) finds, before it leaves its own name.
async fn found(data: &Path, folder: Option<&str>, by: &str) -> Value {
    let answers = [
        Answer::call("call_1", "keeper", json!({"by": by})),
        Answer::text("Done."),
    ];
    let place = Place::with(MemoryLog::new(), answers, |mut parts| {
        parts.data_dir = Some(data.to_owned());
        parts.folder = Some(folder.unwrap_or("/made/up/other").into());
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
