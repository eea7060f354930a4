//! The store: states, bounds, searches, other persons, other processes.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use agentx_memory::{
    LONGEST_TEXT, MAX_WAITING, Memory, MemoryEdit, MemoryError, MemoryFilter, MemoryOrigin, MemoryState,
    MemoryStore, NewMemory,
};
use agentx_types::{OwnerId, SessionId, Timestamp};
use tempfile::TempDir;

fn open(directory: &TempDir, owner: &str) -> MemoryStore {
    MemoryStore::open(directory.path(), OwnerId::new(owner)).unwrap()
}

fn store() -> (TempDir, MemoryStore) {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory, "own_me");
    (directory, store)
}

fn add(store: &MemoryStore, text: &str) -> Memory {
    store.add(&NewMemory::of_person(text), Timestamp(1)).unwrap().0
}

fn proposal(text: &str, call: &str) -> NewMemory {
    NewMemory {
        state: MemoryState::Proposed,
        origin: Some(MemoryOrigin {
            session: SessionId::new("ses_1"),
            seq: 4,
        }),
        call: Some(call.into()),
        ..NewMemory::of_person(text)
    }
}

fn texts(memories: &[Memory]) -> Vec<&str> {
    memories.iter().map(|memory| memory.text.as_str()).collect()
}

fn recalled(store: &MemoryStore, text: &str) -> Vec<String> {
    let memories = store.recall(text, "/work", 10).unwrap();
    memories.into_iter().map(|memory| memory.text).collect()
}

#[test]
fn only_what_is_accepted_is_recalled() {
    let (_directory, store) = store();
    let (memory, _) = store
        .add(&proposal("deploys go over staging", "call_1"), Timestamp(1))
        .unwrap();
    assert_eq!(memory.origin.as_ref().unwrap().to_string(), "ses_1:4");
    for (state, is_recalled) in [
        (MemoryState::Proposed, false),
        (MemoryState::Accepted, true),
        (MemoryState::Refused, false),
    ] {
        let edit = MemoryEdit {
            state: Some(state),
            ..MemoryEdit::default()
        };
        store.edit(memory.id, &edit, Timestamp(2)).unwrap();
        let found = recalled(&store, "how do deploys work?");
        assert_eq!(!found.is_empty(), is_recalled, "{state:?}");
    }
}

#[test]
fn a_repeated_call_and_equal_words_store_nothing_twice() {
    let (_directory, store) = store();
    let (first, is_new) = store.add(&proposal("likes tea", "call_1"), Timestamp(1)).unwrap();
    assert!(is_new);
    let (again, is_new) = store
        .add(&proposal("likes tea very much", "call_1"), Timestamp(2))
        .unwrap();
    assert_eq!((again.id, is_new), (first.id, false), "the same call");
    let (again, is_new) = store
        .add(&proposal("Likes  TEA", "call_2"), Timestamp(2))
        .unwrap();
    assert_eq!((again.id, is_new), (first.id, false), "the same words");
    let elsewhere = NewMemory {
        folder: Some("/work".into()),
        ..proposal("likes tea", "call_3")
    };
    assert!(store.add(&elsewhere, Timestamp(3)).unwrap().1, "another folder");
}

#[test]
fn pinned_ones_come_first_and_rare_words_before_frequent_ones() {
    let (_directory, store) = store();
    for number in 0..30 {
        add(&store, &format!("the build number {number} is green"));
    }
    add(&store, "the build of the parser needs nightly");
    let pinned = add(&store, "answers in German");
    let edit = MemoryEdit {
        pinned: Some(true),
        ..MemoryEdit::default()
    };
    store.edit(pinned.id, &edit, Timestamp(2)).unwrap();
    let found = recalled(&store, "why does the build of the parser fail?");
    assert_eq!(
        found[..2],
        ["answers in German", "the build of the parser needs nightly"]
    );
    assert_eq!(
        recalled(&store, "the and what"),
        ["answers in German"],
        "empty words find nothing"
    );
}

#[test]
fn a_memory_of_a_folder_is_recalled_there_alone() {
    let (_directory, store) = store();
    let new = NewMemory {
        folder: Some("/work/a".into()),
        ..NewMemory::of_person("tests run with nextest")
    };
    store.add(&new, Timestamp(1)).unwrap();
    for (workspace, count) in [("/work/a", 1), ("/work/a/b", 1), ("/work/b", 0), ("/work/ab", 0)] {
        assert_eq!(
            store.recall("nextest", workspace, 10).unwrap().len(),
            count,
            "{workspace}"
        );
    }
}

#[test]
fn every_script_is_found_and_no_input_is_a_query() {
    let (_directory, store) = store();
    add(&store, "会话日志在数据库里");
    add(&store, "Zürich ist die Stadt");
    assert_eq!(recalled(&store, "日志"), ["会话日志在数据库里"]);
    assert_eq!(recalled(&store, "zurich"), ["Zürich ist die Stadt"]);
    add(&store, "deploys go over staging");
    assert_eq!(
        recalled(&store, "how do I deploy?"),
        ["deploys go over staging"],
        "another form of the word"
    );
    for odd in [
        "\" OR 1",
        "NEAR(",
        "*",
        "text:x",
        "'; DROP TABLE memories",
        "-",
        "\0",
    ] {
        assert!(recalled(&store, odd).is_empty(), "{odd}");
    }
}

#[test]
fn an_edit_makes_another_version_and_is_found_by_its_new_words() {
    let (_directory, store) = store();
    let memory = add(&store, "uses tabs");
    let edit = MemoryEdit {
        text: Some("uses spaces".into()),
        ..MemoryEdit::default()
    };
    let edited = store.edit(memory.id, &edit, Timestamp(5)).unwrap();
    assert_eq!(
        (edited.revision, edited.item_id()),
        (2, format!("{}.2", memory.id))
    );
    assert_eq!(
        (edited.created_at, edited.changed_at),
        (Timestamp(1), Timestamp(5))
    );
    assert!(recalled(&store, "tabs").is_empty());
    assert_eq!(recalled(&store, "spaces"), ["uses spaces"]);
    let same = store
        .edit(memory.id, &MemoryEdit::default(), Timestamp(6))
        .unwrap();
    assert_eq!(same.revision, 2);
}

#[test]
fn persons_do_not_see_each_other() {
    let (directory, store) = store();
    let memory = add(&store, "likes tea");
    let other = open(&directory, "own_other");
    assert!(other.list(&MemoryFilter::default(), 10).unwrap().is_empty());
    assert!(recalled(&other, "tea").is_empty());
    assert!(matches!(other.get(memory.id), Err(MemoryError::NotFound(_))));
    assert!(matches!(other.delete(memory.id), Err(MemoryError::NotFound(_))));
    assert!(matches!(
        other.edit(memory.id, &MemoryEdit::default(), Timestamp(2)),
        Err(MemoryError::NotFound(_))
    ));
    assert_eq!(other.erase().unwrap(), 0);
    assert_eq!(recalled(&store, "tea"), ["likes tea"]);
}

#[test]
fn the_inbox_has_a_bound() {
    let (_directory, store) = store();
    for number in 0..MAX_WAITING {
        let new = proposal(&format!("fact {number}"), &format!("call_{number}"));
        store.add(&new, Timestamp(1)).unwrap();
    }
    let more = store.add(&proposal("one more", "call_x"), Timestamp(1));
    assert!(matches!(more, Err(MemoryError::Full(_))), "{more:?}");
    add(&store, "the person may still add one");
    let long = NewMemory::of_person("x".repeat(LONGEST_TEXT + 1));
    assert!(matches!(
        store.add(&long, Timestamp(1)),
        Err(MemoryError::InvalidText(_))
    ));
}

#[test]
fn erased_memories_leave_no_trace_in_the_file() {
    let (directory, store) = store();
    let memory = add(&store, "kept-in-the-file-quokka");
    add(&store, "another");
    store.delete(memory.id).unwrap();
    assert_eq!(store.erase().unwrap(), 1);
    assert_eq!(store.list(&MemoryFilter::default(), 10).unwrap(), []);
    drop(store);
    for entry in std::fs::read_dir(directory.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let has = |words: &[u8]| bytes.windows(words.len()).any(|window| window == words);
        assert!(!has(b"quokka"), "the text is still in the file");
    }
}

#[test]
fn numbers_are_never_used_again() {
    let (_directory, store) = store();
    let first = add(&store, "one").id;
    store.delete(first).unwrap();
    assert!(add(&store, "two").id > first);
}

#[test]
fn two_processes_share_the_file() {
    let (directory, store) = store();
    let other = open(&directory, "own_me");
    std::thread::scope(|scope| {
        for (name, store) in [("a", &store), ("b", &other)] {
            scope.spawn(move || {
                for number in 0..50 {
                    add(store, &format!("{name} {number}"));
                }
            });
        }
    });
    assert_eq!(store.list(&MemoryFilter::default(), 1_000).unwrap().len(), 100);
}

#[test]
fn a_file_that_is_no_database_is_named() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(
        directory.path().join("memory.db"),
        "not a database, but long enough to be read",
    )
    .unwrap();
    let error = MemoryStore::open(directory.path(), OwnerId::new("own_me"))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("memory.db") && error.contains("not a database"),
        "{error}"
    );
}

#[cfg(unix)]
#[test]
fn other_users_cannot_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let (directory, store) = store();
    let file = directory.path().join("memory.db");
    let mode = || std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    // Something else made it readable for everybody.
    drop(store);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let _store = open(&directory, "own_me");
    assert_eq!(mode(), 0o600);
}

#[test]
fn a_list_is_filtered_and_the_latest_come_first() {
    let (_directory, store) = store();
    add(&store, "one");
    store.add(&proposal("two", "call_2"), Timestamp(1)).unwrap();
    add(&store, "three");
    let list = |state| {
        let filter = MemoryFilter {
            state,
            workspace: None,
        };
        store.list(&filter, 2).unwrap()
    };
    assert_eq!(texts(&list(None)), ["three", "two"]);
    assert_eq!(texts(&list(Some(MemoryState::Accepted))), ["three", "one"]);
    assert_eq!(store.count(MemoryState::Proposed).unwrap(), 1);
}
