//! The table of old and new names leads readers of older notes into the code, so each new name has to be
//! there.

use std::collections::BTreeSet;

use agentx_tests::workspace_root;

use crate::none;
use crate::source::sources;

/// Returns the texts between backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
}

/// Returns the new names in a row of a table. With an arrow they are behind it: one, or a list if no further
/// arrow follows. Without one they are the second cell.
fn new_names(row: &str) -> Vec<&str> {
    let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
    if !row.contains('→') {
        return cells.get(1).map_or_else(Vec::new, |cell| quoted(cell));
    }
    let mut found = Vec::new();
    for part in cells.iter().flat_map(|cell| cell.split(';')) {
        let mut behind = part.split('→').skip(1).peekable();
        while let Some(segment) = behind.next() {
            let names = quoted(segment);
            let is_last = behind.peek().is_none();
            let count = if is_last { names.len() } else { 1 };
            found.extend(names.into_iter().take(count));
        }
    }
    found
}

/// Returns whether a name is of a setting or a flag, which are not identifiers of Rust.
fn is_setting(name: &str) -> bool {
    name.starts_with('-') || name.contains("--") || name.contains('.') && !name.ends_with(".rs")
}

#[test]
fn every_new_name_of_the_note_exists() {
    let root = workspace_root();
    let mut known = BTreeSet::new();
    for source in sources(&root) {
        let names = identifiers(&source.code).chain(identifiers(&source.path));
        known.extend(names.map(str::to_owned));
    }
    let note = std::fs::read_to_string(root.join("issues/040-names-old-and-new.md")).unwrap();
    let rows: Vec<&str> = note.lines().filter(|line| line.starts_with("| ")).collect();
    let names: Vec<&str> = rows.iter().flat_map(|row| new_names(row)).collect();
    assert!(names.len() > 1_000, "only {} names were found", names.len());
    let wrong: Vec<String> = names
        .into_iter()
        .filter(|name| !is_setting(name) && !identifiers(name).all(|word| known.contains(word)))
        .map(str::to_owned)
        .collect();
    none(
        &wrong,
        "new names in issues/040 that are in no source: write today's name, or that it was removed",
    );
}

#[test]
fn new_names_are_told_from_old_ones() {
    for (row, names) in [
        ("| `told` | `message` |", &["message"][..]),
        ("| `a`, `b` | `C`, `D` | server |", &["C", "D"][..]),
        ("| agent | `told` | `A` → `B`, `C` → `D` |", &["B", "D"][..]),
        ("| agent | `a`, `b` → `c`, `d`; `e` → `f` |", &["c", "d", "f"][..]),
        ("| agent | `a` → removed |", &[][..]),
    ] {
        assert_eq!(new_names(row), names, "{row}");
    }
    assert!(
        is_setting("model_calls.*")
            && is_setting("--approval")
            && is_setting("approvals replay --sessions N")
    );
    assert!(!is_setting("page_cache") && !is_setting("page_cache.rs") && !is_setting("A::b"));
}
