//! One name, one sense: a public type name stands in one crate alone, so that a reader, a search or an import
//! finds one thing.

use std::collections::{BTreeMap, BTreeSet};

use agentx_tests::workspace_root;

use crate::none;
use crate::source::{Source, sources};

/// Names that stand in several crates all the same, each with its reason.
const MAY_REPEAT: &[(&str, &str)] = &[];

/// The name of the type that a line declares for others than its own module.
fn public_type(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub")?;
    let rest = match rest.strip_prefix('(') {
        Some(inside) => inside.split_once(')')?.1,
        None => rest,
    };
    let mut words = rest.strip_prefix(' ')?.split_whitespace();
    let keyword = words.find(|word| *word != "unsafe")?;
    if !["struct", "enum", "trait", "type", "union"].contains(&keyword) {
        return None;
    }
    let name = words.next()?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
    let name = &name[..end.unwrap_or(name.len())];
    (!name.is_empty()).then_some(name)
}

/// The folder of the package that a file belongs to, such as `crates/types`.
fn package(source: &Source) -> String {
    let parts: Vec<&str> = source.path.split('/').take(2).collect();
    parts.join("/")
}

/// The packages that declare each public type name.
fn declared() -> BTreeMap<String, BTreeSet<String>> {
    let mut declared: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in sources(&workspace_root()) {
        for name in source.production().filter_map(|(_, line)| public_type(line)) {
            let packages = declared.entry(name.to_owned()).or_default();
            packages.insert(package(&source));
        }
    }
    declared
}

#[test]
fn a_public_type_name_stands_in_one_crate_alone() {
    let declared = declared();
    assert!(declared.len() > 500, "only {} types were found", declared.len());
    let repeated: BTreeMap<_, _> = declared
        .iter()
        .filter(|(_, packages)| packages.len() > 1)
        .collect();
    let may = |name: &str| MAY_REPEAT.iter().any(|(listed, _)| *listed == name);
    let mut wrong: Vec<String> = repeated
        .iter()
        .filter(|(name, _)| !may(name))
        .map(|(name, packages)| {
            let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
            format!("{name} in {}", packages.join(", "))
        })
        .collect();
    let alone = MAY_REPEAT
        .iter()
        .filter(|(name, _)| !repeated.contains_key(&(*name).to_owned()));
    wrong.extend(alone.map(|(name, _)| format!("{name} stands in one crate alone: take it off the list")));
    none(
        &wrong,
        "public type names in several crates: give each sense a name of its own, or list why it repeats",
    );
}

#[test]
fn public_types_are_told_from_other_lines() {
    for (line, name) in [
        ("pub struct Draft {", Some("Draft")),
        ("    pub(super) enum Kind<'a> {", Some("Kind")),
        ("pub(in crate::http) type Page<T> = Vec<T>;", Some("Page")),
        ("pub unsafe trait Claim: Send {", Some("Claim")),
        ("pub struct Marker;", Some("Marker")),
        ("struct Draft {", None),
        ("type Item = Draft;", None),
        ("pub fn draft() {}", None),
        ("pub type_name: String,", None),
        ("public struct Draft", None),
        ("pub struct $name(String);", None),
    ] {
        assert_eq!(public_type(line), name, "{line}");
    }
}
