//! Tests the commands about memories, and what they print.

use agentx::config::{ConfigPaths, LoadRequest, load};

use super::*;

/// Settings with a data directory of their own.
fn settings(home: &std::path::Path) -> Settings {
    let lookup = |_: &str| None;
    let loaded = load(LoadRequest {
        places: ConfigPaths {
            cwd: home.to_owned(),
            user_file: home.join("config.yaml"),
            user_file_named: false,
            workspace_root: home.to_owned(),
            workspace_file: home.join(".agentx/config.yaml"),
            data_dir: home.join("data"),
        },
        lookup: &lookup,
        flags: Vec::new(),
    });
    loaded.unwrap().settings
}

fn typed(settings: &Settings, line: &str) -> Result<String, String> {
    in_chat(line, settings, 100).map_err(|error| error.to_string())
}

#[test]
fn a_full_disk_ends_a_command_as_it_ends_others() {
    let path = "/d/memory.db".to_owned();
    let error = failed(MemoryError::NoSpace { path });
    assert_eq!(error.exit(), Exit::Storage);
    assert!(
        error.to_string().starts_with("no space left for /d/memory.db"),
        "{error}"
    );
}

#[test]
fn a_memory_is_added_listed_changed_and_deleted() {
    let home = tempfile::tempdir().unwrap();
    let settings = settings(home.path());
    let say = |line: &str| typed(&settings, line).unwrap();
    assert!(say("").contains("no proposal waits for you; 0 accepted memories"));
    assert!(say("add answers in German").contains("added: 1 answers in German"));
    assert!(say("add Answers in German").contains("known already as: 1"));
    assert!(say("edit 1 answers in English --pin").contains("changed: 1 answers in English"));
    let list = say("list");
    assert!(list.contains("pinned") && list.contains("everywhere"), "{list}");
    assert!(say("search english").contains("answers in English"));
    assert!(say("show 1").contains("version 2"));
    assert!(say("refuse 1").contains("refused: 1"));
    assert!(say("list --state accepted").contains("there are no memories"));
    assert!(say("delete 1").contains("deleted: 1"));
}

#[test]
fn mistakes_are_named_and_change_nothing() {
    let home = tempfile::tempdir().unwrap();
    let settings = settings(home.path());
    typed(&settings, "add likes tea").unwrap();
    for (line, said) in [
        ("show 7", "there is no memory 7"),
        ("accept", "required"),
        ("accept x", "invalid value"),
        ("refuse 1 7", "there is no memory 7"),
        ("edit 1", "nothing to change"),
        ("erase", "this deletes 1 memory for good"),
        ("frobnicate", "unrecognized subcommand"),
        ("list --state maybe", "invalid value"),
    ] {
        let error = typed(&settings, line).unwrap_err();
        assert!(error.contains(said), "{line}: {error}");
    }
    assert!(typed(&settings, "list").unwrap().contains("accepted"));
    assert!(typed(&settings, "erase --yes").unwrap().contains("erased 1"));
}
