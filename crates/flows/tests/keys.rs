//! The values that scripts keep under keys: the tools of each folder have their own values, and so have the
//! person's tools.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use crate::support::{Place, luau};
use agentx_agent_files::definition::ToolDefinition;
use agentx_flows::{forget_values, kept_bytes, kept_values};
use agentx_testing::{FaultyLog, ModelScript};
use agentx_types::{CurrentFolder, FolderId, OwnerId, ToolStatus};
use serde_json::{Value, json};

const KEEPER: &str = "function invoke(ctx, args)
    local before = ctx.kv.list('')
    local found = ctx.kv.get('notes/last')
    ctx.kv.set('notes/last', args.by)
    return {found or 'nothing', #before}
end";

/// Returns the value that a tool of this folder (of the person, if there is none) finds, before it stores its
/// own name.
async fn found(data: &Path, folder: Option<&str>, by: &str) -> Value {
    found_by(data, folder, None, by).await
}

/// The same, with this folder at the path.
async fn found_by(data: &Path, folder: Option<&str>, id: Option<FolderId>, by: &str) -> Value {
    let answers = [
        ModelScript::call("call_1", "keeper", json!({"by": by})),
        ModelScript::text("Done."),
    ];
    let place = Place::with(FaultyLog::new(), answers, |mut parts| {
        parts.data_dir = Some(data.to_owned());
        parts.folder = Some(folder.unwrap_or("/made/up/other").into());
        parts.folder_now = id.map(now);
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
    // A person's tools find the values that they stored before there were keys of folders.
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

/// A folder that does not come from a repository.
fn now(id: FolderId) -> CurrentFolder {
    CurrentFolder {
        id,
        is_checked_out: false,
    }
}

#[tokio::test]
async fn another_folder_at_the_same_path_finds_nothing_and_takes_nothing_away() {
    let data = tempfile::tempdir().unwrap();
    let (data, path) = (data.path(), Path::new("/made/up/a"));
    let found = async |id: Option<FolderId>, by: &str| found_by(data, Some("/made/up/a"), id, by).await;
    let (bare, with_git) = (FolderId::new("a", None), FolderId::new("a", Some("git")));
    let counted = |id: &FolderId| kept_values(data, path, Some(&now(id.clone()))).unwrap();
    assert_eq!(counted(&bare).len(), 0);
    // An older program stored it under the path alone. It belongs to the folder that exists when a newer
    // program reads it.
    assert_eq!(found(None, "old").await, json!(["nothing", 0]));
    assert_eq!(counted(&bare), [("notes".to_owned(), 1)].into());
    assert_eq!(found(Some(bare.clone()), "bare").await, json!(["old", 1]));
    assert_eq!(found(Some(with_git.clone()), "git").await, json!(["bare", 1]));
    assert_eq!(found(Some(with_git.clone()), "again").await, json!(["git", 1]));
    assert_eq!(counted(&bare).len(), 0, "its repository is gone");
    found_by(data, Some("/made/up/b"), Some(FolderId::new("b", None)), "b").await;
    let other = FolderId::new("a", Some("other"));
    assert_eq!(found(Some(other.clone()), "other").await, json!(["nothing", 0]));
    assert_eq!(found(Some(with_git.clone()), "back").await, json!(["again", 1]));
    forget_values(data, path, Some(&now(other.clone()))).unwrap();
    assert_eq!(counted(&other).len(), 0);
    assert_eq!(counted(&with_git), [("notes".to_owned(), 1)].into());
    forget_values(data, path, Some(&now(with_git.clone()))).unwrap();
    assert_eq!(found(Some(with_git), "after").await, json!(["nothing", 0]));
    let b = now(FolderId::new("b", None));
    assert_eq!(
        kept_values(data, Path::new("/made/up/b"), Some(&b))
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn a_folder_that_a_checkout_made_again_finds_what_it_kept() {
    let data = tempfile::tempdir().unwrap();
    let (data, path) = (data.path(), Path::new("/made/up/a/sub"));
    let id = |folder: &str| FolderId::new(folder, Some("git")).at("sub");
    found_by(data, Some("/made/up/a/sub"), Some(id("one")), "one").await;
    let mut again = now(id("two"));
    assert_eq!(kept_values(data, path, Some(&again)).unwrap().len(), 0);
    again.is_checked_out = true;
    assert_eq!(kept_values(data, path, Some(&again)).unwrap().len(), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn nobody_else_reads_what_tools_keep() {
    use std::os::unix::fs::PermissionsExt as _;
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("flows.db");
    let mode = || file.metadata().unwrap().permissions().mode() & 0o777;
    found(data.path(), None, "person").await;
    assert_eq!(mode(), 0o600);
    // An older program made it readable for everyone.
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(found(data.path(), None, "again").await, json!(["person", 1]));
    assert_eq!(mode(), 0o600);
}

#[tokio::test]
async fn what_is_kept_for_a_person_is_counted_and_bounded() {
    const SET: &str = "function invoke(ctx, args)
        local _, why = pcall(ctx.kv.set, 'notes/big', string.rep('x', 1000))
        return why or 'kept'
    end";
    let data = tempfile::tempdir().unwrap();
    let owner = OwnerId::new("own_test");
    assert_eq!(kept_bytes(data.path(), &owner), Ok(0), "there is no database yet");
    let answers = [
        ModelScript::call("call_1", "set", json!({})),
        ModelScript::text("Done."),
    ];
    let place = Place::with(FaultyLog::new(), answers, |mut parts| {
        parts.data_dir = Some(data.path().to_owned());
        parts
    });
    place.tool(luau("set", SET, json!({"kv": ["notes"]})));
    found(data.path(), Some("/made/up/a"), "a").await;
    let before = kept_bytes(data.path(), &owner).unwrap();
    let key_and_value = "last".len() + "\"a\"".len();
    assert_eq!(before, key_and_value as u64, "of folders, too");
    let database = rusqlite::Connection::open(data.path().join("flows.db")).unwrap();
    // As a hexadecimal text, it is twice as long.
    let most = "INSERT INTO kv VALUES ('own_test', 'notes', 'much', hex(zeroblob(67108800)))";
    database.execute(most, []).unwrap();
    let session = place.open().await;
    place.ask(&session, "go").await;
    let refused = place.result("call_1").1;
    assert!(refused.contains("128 MiB"), "{refused}");
    assert!(kept_bytes(data.path(), &owner).unwrap() > 2 * 67_108_800);
    assert_eq!(kept_bytes(data.path(), &OwnerId::new("own_other")), Ok(0));
}

/// A host may set a lower bound, so that a person's values never use up their quota.
#[tokio::test]
async fn a_host_bounds_what_is_kept() {
    const SET: &str = "function invoke(ctx, args)
        for n = 1, 9 do
            local ok, why = pcall(ctx.kv.set, 'notes/' .. n, string.rep('x', 1000))
            if not ok then return n .. ': ' .. tostring(why) end
        end
    end";
    let data = tempfile::tempdir().unwrap();
    let answers = [
        ModelScript::call("call_1", "set", json!({})),
        ModelScript::text("Done."),
    ];
    let place = Place::with(FaultyLog::new(), answers, |mut parts| {
        parts.data_dir = Some(data.path().to_owned());
        parts.kept_bytes = Some(3_500);
        parts
    });
    place.tool(luau("set", SET, json!({"kv": ["notes"]})));
    let session = place.open().await;
    place.ask(&session, "go").await;
    let refused = place.result("call_1").1;
    assert!(
        refused.starts_with("4: ") && refused.contains("3500 bytes"),
        "{refused}"
    );
    assert!(kept_bytes(data.path(), &OwnerId::new("own_test")).unwrap() <= 3_500);
}

const PAYS: &str = "function invoke(ctx, args)
    local paid = (ctx.kv.get('notes/paid') or 0) + 1
    ctx.kv.set('notes/paid', paid)
    return 'paid ' .. tostring(paid)
end";

/// Returns the result of a call of a tool whose key is its argument `order`, in a session of its own.
async fn paid(data: &Path, call: &str, args: Value) -> (ToolStatus, String) {
    let answers = [ModelScript::call(call, "pay", args), ModelScript::text("Done.")];
    let place = Place::with(FaultyLog::new(), answers, |mut parts| {
        parts.data_dir = Some(data.to_owned());
        parts
    });
    let order = json!({"order": {"type": "string"}, "amount": {"type": "integer"}});
    place.tool(ToolDefinition {
        params: Some(json!({"type": "object", "properties": order, "required": ["order"]})),
        idempotency_key: Some("order".into()),
        ..luau("pay", PAYS, json!({"kv": ["notes"]}))
    });
    let session = place.open().await;
    place.ask(&session, "go").await;
    place.result(call)
}

#[tokio::test]
async fn a_key_is_used_for_one_call_in_all_sessions() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    let success = |text: &str| (ToolStatus::Success, text.to_owned());
    let (a, b) = (json!({"order": "a"}), json!({"order": "b"}));
    assert_eq!(paid(data, "call_1", a.clone()).await, success("paid 1"));
    assert_eq!(
        paid(data, "call_2", a).await,
        success("paid 1"),
        "from the first call"
    );
    assert_eq!(paid(data, "call_3", b.clone()).await, success("paid 2"));
    let (first, again) = (
        json!({"order": "c", "amount": 1}),
        json!({"amount": 1, "order": "c"}),
    );
    assert_eq!(paid(data, "call_7", first).await, success("paid 3"));
    assert_eq!(
        paid(data, "call_8", again).await,
        success("paid 3"),
        "in another order"
    );
    let (status, told) = paid(data, "call_4", json!({"order": "a", "amount": 3})).await;
    assert!(
        status == ToolStatus::Invalid && told.contains("other arguments"),
        "{told}"
    );
    let (status, told) = paid(data, "call_5", json!({"order": "two words"})).await;
    assert!(
        status == ToolStatus::Invalid && told.contains("visible ASCII"),
        "{told}"
    );

    // As if the program had died while the call with the key `b` ran.
    let database = rusqlite::Connection::open(data.join("flows.db")).unwrap();
    database
        .execute("UPDATE answered SET outcome = NULL WHERE key = 'b'", [])
        .unwrap();
    let (status, told) = paid(data, "call_6", b.clone()).await;
    assert!(
        status == ToolStatus::Unknown && told.contains("outcome is unknown"),
        "{told}"
    );
    assert_eq!(
        paid(data, "call_3", b).await,
        success("paid 4"),
        "the call itself continues"
    );
}

#[test]
fn a_key_has_to_be_an_argument() {
    let place = Place::new([]);
    let refused = place.flows.tool(&ToolDefinition {
        params: Some(json!({"type": "object", "properties": {"order": {"type": "string"}}})),
        idempotency_key: Some("oder".into()),
        ..luau("pay", PAYS, json!({"kv": ["notes"]}))
    });
    let refused = refused.err().unwrap().to_string();
    assert!(refused.contains("`idempotency_key` names \"oder\""), "{refused}");
}
