//! One name, one sense: a public type name stands in one crate alone, so that a reader, a search or an import
//! finds one thing; and a function that is named like a question answers it.

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

/// The beginnings of names that promise an answer of yes or no.
const PREDICATES: &[&str] = &["is_", "has_", "was_", "can_", "may_", "should_", "does_"];

/// Returns the name of the function that a line declares for others, if the name promises yes or no.
fn public_predicate(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub")?;
    let (before, rest) = rest.split_once("fn ")?;
    let is_keyword = |word: &str| ["const", "async", "unsafe"].contains(&word) || word.starts_with('(');
    if !before
        .split_whitespace()
        .all(|word| is_keyword(word) || word.ends_with(')'))
    {
        return None;
    }
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
    let name = &rest[..end?];
    PREDICATES
        .iter()
        .any(|start| name.starts_with(start))
        .then_some(name)
}

/// Returns whether the function whose declaration begins `lines` answers yes or no.
fn answers_yes_or_no(lines: &[&str]) -> bool {
    let signature: String = lines.join(" ");
    let end = signature.find(['{', ';']).unwrap_or(signature.len());
    let returns = signature[..end]
        .rsplit_once("->")
        .map_or("", |(_, returns)| returns);
    returns.contains("bool")
}

#[test]
fn a_function_that_is_named_like_a_question_answers_yes_or_no() {
    let (mut questions, mut wrong) = (0, Vec::new());
    for source in sources(&workspace_root()) {
        let lines: Vec<&str> = source.production().map(|(_, line)| line).collect();
        for (at, line) in lines.iter().enumerate() {
            let Some(name) = public_predicate(line) else {
                continue;
            };
            questions += 1;
            if !answers_yes_or_no(&lines[at..]) {
                wrong.push(format!("{}:{}: {name}", source.path, at + 1));
            }
        }
    }
    assert!(questions > 100, "only {questions} were found");
    none(
        &wrong,
        "functions that are named like a question and do not return a bool: name them for what they do",
    );
}

#[test]
fn questions_are_told_from_other_functions() {
    for (line, name) in [
        ("    pub fn is_live(&mut self) {", Some("is_live")),
        ("pub(crate) async fn has_room(&self) -> bool {", Some("has_room")),
        (
            "    pub(in crate::a) const fn may_wait() -> bool {",
            Some("may_wait"),
        ),
        ("    fn is_private(&self) {", None),
        ("    pub fn issue(&self) {", None),
        ("    pub is_open: fn (bool) -> bool,", None),
    ] {
        assert_eq!(public_predicate(line), name, "{line}");
    }
    assert!(answers_yes_or_no(&[
        "pub fn is_a(",
        "    &self,",
        ") -> Result<bool, E> {",
        "x()"
    ]));
    assert!(!answers_yes_or_no(&[
        "pub fn is_a(&mut self) {",
        "    fn f() -> bool {}"
    ]));
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
