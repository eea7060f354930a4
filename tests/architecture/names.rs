//! One name, one sense: a public type name stands in one crate alone, and any type name in at most two files,
//! so that a reader, a search or an import finds one thing; no function has a preposition or half a sentence
//! as its name; a function that is named like a question answers it; and one that is named like a question or
//! a check changes nothing.

use std::collections::{BTreeMap, BTreeSet};

use agentx_tests::workspace_root;

use crate::none;
use crate::source::{Source, sources};

/// Names that stand in several crates all the same, each with its reason.
const MAY_REPEAT: &[(&str, &str)] = &[];

/// The number of files in which a type name may stand.
const FILES_OF_A_NAME: usize = 2;

/// Type names that stand in more files all the same, each with its reason.
const MAY_STAND_IN_MORE_FILES: &[(&str, &str)] = &[];

/// The name of the type that a line declares for others than its own module.
fn public_type(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub")?;
    let rest = match rest.strip_prefix('(') {
        Some(inside) => inside.split_once(')')?.1,
        None => rest,
    };
    declared_name(rest.strip_prefix(' ')?)
}

/// The name of the type that a line declares, for its own module too. An indented `type` that is not public
/// is an associated type, which has the name that its trait gives.
fn any_type(line: &str) -> Option<&str> {
    let text = line.trim_start();
    let is_associated = text.len() < line.len() && text.starts_with("type ");
    if is_associated {
        return None;
    }
    public_type(line).or_else(|| declared_name(text))
}

/// The name in a declaration of a type without its visibility.
fn declared_name(declaration: &str) -> Option<&str> {
    let mut words = declaration.split_whitespace();
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

/// The places, such as packages, that declare each type name.
fn declared(
    type_in: impl Fn(&str) -> Option<&str>,
    place: impl Fn(&Source) -> String,
) -> BTreeMap<String, BTreeSet<String>> {
    let mut declared: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in sources(&workspace_root()) {
        for name in source.production().filter_map(|(_, line)| type_in(line)) {
            let places = declared.entry(name.to_owned()).or_default();
            places.insert(place(&source));
        }
    }
    declared
}

/// The names that stand in more than `most` places and are not listed, and the listed ones that do not.
fn repeated(
    declared: &BTreeMap<String, BTreeSet<String>>,
    most: usize,
    listed: &[(&str, &str)],
) -> Vec<String> {
    let repeated: BTreeMap<&str, &BTreeSet<String>> = declared
        .iter()
        .filter(|(_, places)| places.len() > most)
        .map(|(name, places)| (name.as_str(), places))
        .collect();
    let may = |name: &str| listed.iter().any(|(listed, _)| *listed == name);
    let mut wrong: Vec<String> = repeated
        .iter()
        .filter(|(name, _)| !may(name))
        .map(|(name, places)| {
            let places: Vec<&str> = places.iter().map(String::as_str).collect();
            format!("{name} in {}", places.join(", "))
        })
        .collect();
    let rare = listed.iter().filter(|(name, _)| !repeated.contains_key(name));
    wrong.extend(
        rare.map(|(name, _)| {
            format!("{name} does not stand in more than {most} places: take it off the list")
        }),
    );
    wrong
}

#[test]
fn a_public_type_name_stands_in_one_crate_alone() {
    let declared = declared(public_type, package);
    assert!(declared.len() > 500, "only {} types were found", declared.len());
    none(
        &repeated(&declared, 1, MAY_REPEAT),
        "public type names in several crates: give each sense a name of its own, or list why it repeats",
    );
}

#[test]
fn a_type_name_stands_in_few_files() {
    let declared = declared(any_type, |source| source.path.clone());
    assert!(declared.len() > 2_000, "only {} types were found", declared.len());
    none(
        &repeated(&declared, FILES_OF_A_NAME, MAY_STAND_IN_MORE_FILES),
        "type names in more than two files: give each sense a name of its own, or list why it repeats",
    );
}

#[test]
fn repeated_names_are_found_and_stale_exceptions_too() {
    let places =
        |places: &[&str]| -> BTreeSet<String> { places.iter().map(|place| (*place).to_owned()).collect() };
    let declared = BTreeMap::from([
        ("Kind".to_owned(), places(&["a.rs", "b.rs", "c.rs"])),
        ("Head".to_owned(), places(&["a.rs", "b.rs"])),
    ]);
    assert_eq!(repeated(&declared, 2, &[]), ["Kind in a.rs, b.rs, c.rs"]);
    assert!(repeated(&declared, 2, &[("Kind", "why")]).is_empty());
    assert_eq!(
        repeated(&declared, 2, &[("Kind", "why"), ("Head", "why")]).len(),
        1
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

/// The beginnings of names that promise to look and to leave everything as it is, besides `check` itself.
const LOOKS: &[&str] = &["is_", "has_", "may_", "check_"];

const FINDINGS: &str = "adds what it finds to the list of findings";
const OUTPUT: &str = "prints what it finds";
const STRICT_SERVER: &str = "a strict server, which remembers its requests";

/// Functions with such a name that are given something to change all the same: the path, or the folder, the
/// name, and the reason.
const MAY_CHANGE: &[(&str, &str, &str)] = &[
    ("apps/agentx/src/cmd/agents.rs", "check", OUTPUT),
    ("apps/agentx/src/cmd/config/mod.rs", "check", OUTPUT),
    (
        "crates/agent-files/src/library/cross_checks.rs",
        "check",
        FINDINGS,
    ),
    ("crates/agent-files/src/library/libs.rs", "check", FINDINGS),
    (
        "crates/agent-files/src/library/loading.rs",
        "check_script",
        FINDINGS,
    ),
    (
        "crates/agent/src/conversation/condense.rs",
        "is_full",
        "keeps the sizes that it measures",
    ),
    (
        "crates/agent/src/conversation/mod.rs",
        "has_call",
        "keeps the set of ids that it builds",
    ),
    ("crates/agent/src/tools/arguments.rs", "check", FINDINGS),
    (
        "crates/chat/src/chat/approvals/rules.rs",
        "is_asked_each_time",
        "keeps the configuration that it reads",
    ),
    (
        "crates/chat/src/place/connection_watch.rs",
        "is_away",
        "reads the state of the connection first",
    ),
    ("crates/chat/src/waits/schedule_checks.rs", "check_names", OUTPUT),
    ("crates/config/src/layers/read.rs", "check_target", FINDINGS),
    ("crates/config/src/rules/mod.rs", "check_host", FINDINGS),
    ("crates/config/src/settings/addresses.rs", "check", FINDINGS),
    ("crates/config/src/settings/addresses.rs", "check_login", FINDINGS),
    ("crates/config/src/settings/addresses.rs", "check_names", FINDINGS),
    ("crates/config/src/settings/bounds.rs", "check_keys", FINDINGS),
    (
        "crates/luau-tools/src/stack.rs",
        "is_marked",
        "pushes a value and pops it again",
    ),
    (
        "crates/runtime/src/schema_bounds/schema.rs",
        "check_keywords",
        "counts the patterns of all schemas",
    ),
    (
        "crates/server/src/ws/write_half.rs",
        "check_trust",
        "remembers which state of the keyring it has checked",
    ),
    ("crates/sqlite-log/src/read/verify.rs", "check_part", FINDINGS),
    (
        "crates/sqlite-log/src/read/verify.rs",
        "check_read_models",
        FINDINGS,
    ),
    (
        "crates/sqlite-log/src/read/verify.rs",
        "check_references",
        FINDINGS,
    ),
    ("crates/testing/src/vendors/", "check", STRICT_SERVER),
];

/// Returns the name of the function that a line declares, for its own module too.
fn declared_function(line: &str) -> Option<&str> {
    let (before, rest) = line.trim_start().split_once("fn ")?;
    let is_keyword =
        |word: &str| ["pub", "const", "async", "unsafe"].contains(&word) || word.starts_with("pub(");
    let mut words = before.split_whitespace().filter(|word| !word.ends_with(')'));
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    words.all(is_keyword).then_some(&rest[..end])
}

/// Returns the name of the function that a line declares, for its own module too, if the name promises to
/// look.
fn looking_function(line: &str) -> Option<&str> {
    declared_function(line)
        .filter(|name| *name == "check" || LOOKS.iter().any(|start| name.starts_with(start)))
}

/// Words that say nothing as the whole name of a function: prepositions, question words, and verbs without
/// their object.
const NO_NAMES: &[&str] = &[
    "after", "again", "along", "among", "apart", "around", "before", "behind", "below", "beside", "beyond",
    "come", "comes", "does", "during", "go_on", "goes", "gone", "heard", "here", "inside", "like", "near",
    "over", "said", "says", "that_end", "there", "told", "towards", "until", "up_to", "what", "when", "who",
    "within", "without",
];

/// Functions that have such a name all the same: the path, the name, and the reason.
const MAY_BE_CALLED: &[(&str, &str, &str)] = &[(
    "crates/session/src/session_reader/event_cursor.rs",
    "after",
    "a constructor, which is read with its type: `EventCursor::after(7)`",
)];

#[test]
fn no_function_is_named_by_a_preposition_alone() {
    let (mut functions, mut wrong) = (0, Vec::new());
    let mut used = BTreeSet::new();
    for source in sources(&workspace_root()) {
        for (at, line) in source.production() {
            let Some(name) = declared_function(line) else {
                continue;
            };
            functions += 1;
            if !NO_NAMES.contains(&name) {
                continue;
            }
            let listed = MAY_BE_CALLED
                .iter()
                .position(|(path, listed, _)| source.path == *path && *listed == name);
            match listed {
                Some(listed) => {
                    used.insert(listed);
                }
                None => wrong.push(format!("{}:{}: {name}", source.path, at + 1)),
            }
        }
    }
    assert!(functions > 10_000, "only {functions} were found");
    let unused = MAY_BE_CALLED
        .iter()
        .enumerate()
        .filter(|(listed, _)| !used.contains(listed));
    wrong.extend(unused.map(|(_, (path, name, _))| format!("{path}: take {name} off the list")));
    none(
        &wrong,
        "functions whose name does not tell what they do: name them by a verb, or by what they return",
    );
}

#[test]
fn declared_functions_are_told_from_other_lines() {
    for (line, name) in [
        ("    fn after(&self) -> usize {", Some("after")),
        ("    pub(in crate::chat) async fn over(&mut self) {", Some("over")),
        ("pub const unsafe fn said(", Some("said")),
        ("fn after_prefix<'a>(text: &'a str) {", Some("after_prefix")),
        ("    let next = self.after();", None),
        ("    after: fn (u8) -> u8,", None),
    ] {
        assert_eq!(declared_function(line), name, "{line}");
    }
}

/// Returns the parameters of the function whose declaration begins `lines`.
fn parameters(lines: &[&str]) -> String {
    let signature: String = lines.iter().take(20).copied().collect::<Vec<_>>().join(" ");
    let behind = signature.split_once("fn ").map_or("", |(_, behind)| behind);
    let (mut generics, mut depth, mut before) = (0, 0, ' ');
    let mut found = String::new();
    for c in behind.chars() {
        match c {
            '<' if depth == 0 => generics += 1,
            '>' if depth == 0 && before != '-' => generics -= 1,
            '(' if generics == 0 => depth += 1,
            ')' if generics == 0 && depth == 1 => return found,
            ')' if generics == 0 => depth -= 1,
            _ => {}
        }
        if depth > 0 {
            found.push(c);
        }
        before = c;
    }
    found
}

/// Returns whether a parameter of the function whose declaration begins `lines` can be changed.
fn takes_something_to_change(lines: &[&str]) -> bool {
    let parameters = parameters(lines);
    let mut before = "";
    parameters
        .split(|c: char| c.is_whitespace() || c == '(' || c == ',')
        .any(|word| {
            let changes = word == "&mut" || (word == "mut" && before.starts_with("&'"));
            before = word;
            changes
        })
}

#[test]
fn a_function_that_is_named_like_a_look_changes_nothing() {
    let (mut looks, mut wrong) = (0, Vec::new());
    let mut used = BTreeSet::new();
    for source in sources(&workspace_root()) {
        let lines: Vec<&str> = source.production().map(|(_, line)| line).collect();
        for (at, line) in lines.iter().enumerate() {
            let Some(name) = looking_function(line) else {
                continue;
            };
            looks += 1;
            if !takes_something_to_change(&lines[at..]) {
                continue;
            }
            let listed = MAY_CHANGE
                .iter()
                .position(|(path, listed, _)| source.path.starts_with(path) && *listed == name);
            match listed {
                Some(listed) => {
                    used.insert(listed);
                }
                None => wrong.push(format!("{}:{}: {name}", source.path, at + 1)),
            }
        }
    }
    assert!(looks > 500, "only {looks} were found");
    let unused = MAY_CHANGE
        .iter()
        .enumerate()
        .filter(|(listed, _)| !used.contains(listed));
    wrong.extend(unused.map(|(_, (path, name, _))| format!("{path}: take {name} off the list")));
    none(
        &wrong,
        "functions that are named like a question or a check and take `&mut`: name them for what they change, or list why they need it",
    );
}

#[test]
fn looks_that_change_something_are_found() {
    for (line, name) in [
        ("    fn is_free(&mut self) -> bool {", Some("is_free")),
        ("    pub(in crate::chat) async fn has_a(&self) {", Some("has_a")),
        ("fn check(", Some("check")),
        ("fn check_names(", Some("check_names")),
        ("fn checked(", None),
        ("fn issue(", None),
        ("    is_one: fn (bool) -> bool,", None),
    ] {
        assert_eq!(looking_function(line), name, "{line}");
    }
    for (text, changes) in [
        ("fn is_a(&mut self) -> bool {", true),
        ("pub(crate) fn is_a(&mut self) -> bool {", true),
        ("fn check(\n    a: &str,\n    found: &mut Vec<String>,\n) {", true),
        ("fn check(found: &'a mut Vec<String>) {", true),
        ("fn check<F: Fn(u8) -> bool>(f: F, found: &mut u8) {", true),
        ("fn is_a<F: Fn(&mut u8)>(&self, f: F) -> bool {", false),
        (
            "fn is_a(&self, f: fn(u8) -> bool) -> bool {\n    let b = &mut c;",
            false,
        ),
        ("pub(super) fn is_a(mut self) -> bool {\n    f(&mut c)", false),
    ] {
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(takes_something_to_change(&lines), changes, "{text}");
    }
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
    for (line, name) in [
        ("pub(super) enum Kind<'a> {", Some("Kind")),
        ("struct Draft {", Some("Draft")),
        ("    struct ContentVisitor;", Some("ContentVisitor")),
        ("type Page<T> = Vec<T>;", Some("Page")),
        ("    type Item = Draft;", None),
        ("    structure.kind", None),
        ("struct $name(String);", None),
    ] {
        assert_eq!(any_type(line), name, "{line}");
    }
}
