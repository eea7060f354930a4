//! The architecture document keeps up with the tree: what it names exists.

use std::collections::BTreeSet;

use agentx_tests::workspace_root;

use crate::edges::{ALLOWED, packages};
use crate::none;
use crate::source::sources;

/// The words that the project is built on; each has its place in the code map.
const WORDS: &[&str] = &[
    "Event",
    "Envelope",
    "EnvironmentEvent",
    "RuntimeEvent",
    "AgentOutput",
    "Action",
    "Observation",
    "Environment",
    "Receptor",
    "Effector",
    "Reactor",
    "Run",
    "Session",
    "AgentState",
    "Mirror",
    "Message",
    "Frame",
    "Fold",
    "Effect",
    "Driver",
    "Batch",
    "Step",
    "Round",
    "Turn",
    "Lane",
    "Log",
    "Segment",
    "Digest",
    "Wheel",
];

/// The number of invariants.
const INVARIANTS: usize = 20;

fn document() -> String {
    std::fs::read_to_string(workspace_root().join("docs/ARCHITECTURE.md")).unwrap()
}

/// The rows of the tables below a heading: the cells of each, without the head of the first.
fn table(document: &str, heading: &str) -> Vec<Vec<String>> {
    let section = document
        .split_once(&format!("\n## {heading}\n"))
        .unwrap_or_default()
        .1;
    let section = section.split("\n## ").next().unwrap_or_default();
    section
        .lines()
        .filter(|line| line.starts_with('|'))
        .skip(2)
        .map(|line| {
            line.trim_matches('|')
                .split('|')
                .map(|cell| cell.trim().to_owned())
                .collect()
        })
        .collect()
}

/// Returns the texts between backticks.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_word_has_its_file() {
    let rows = table(&document(), "Words");
    let mut wrong = Vec::new();
    for word in WORDS {
        let row = rows.iter().find(|row| row[0] == *word);
        if row
            .and_then(|row| row.last())
            .is_none_or(|cell| quoted(cell).is_empty())
        {
            wrong.push(format!("{word} has no file"));
        }
    }
    let mut seen = BTreeSet::new();
    for row in rows
        .iter()
        .filter(|row| !["word", "---"].contains(&row[0].as_str()))
    {
        if !seen.insert(&row[0]) {
            wrong.push(format!("{} stands there twice", row[0]));
        }
    }
    none(
        &wrong,
        "words of the design that docs/ARCHITECTURE.md does not place",
    );
}

#[test]
fn every_path_in_the_document_exists() {
    let root = workspace_root();
    let tops = ["crates/", "apps/", "tests/", "docs/", "issues/", ".ci/"];
    let wrong: Vec<String> = quoted(&document())
        .into_iter()
        .filter(|path| tops.iter().any(|top| path.starts_with(top)) && !path.contains(char::is_whitespace))
        .filter(|path| !path.contains('*') && !root.join(path).exists())
        .collect();
    none(&wrong, "paths in docs/ARCHITECTURE.md that do not exist");
}

/// The type that a line in the first column begins an `impl` or a `trait` of; `None` for any other line.
fn block_type(line: &str) -> Option<&str> {
    let words = line.trim_start_matches("pub(crate) ").trim_start_matches("pub ");
    let named = if let Some(rest) = words.strip_prefix("trait ") {
        rest
    } else {
        let rest = words.strip_prefix("impl")?;
        let last = rest.rsplit_once(" for ").map(|(_, of)| of);
        last.unwrap_or_else(|| rest.strip_prefix('<').map_or(rest, after_generics).trim_start())
    };
    let path = named
        .split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':')
        .next()?;
    let name = path.rsplit("::").next()?.trim_end_matches(':');
    (!name.is_empty()).then_some(name)
}

/// The text behind generics whose `<` has been read.
fn after_generics(text: &str) -> &str {
    let mut depth = 1;
    let end = text.char_indices().find(|(at, c)| {
        match c {
            '<' => depth += 1,
            '>' if !text[..*at].ends_with('-') => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    end.map_or("", |(at, _)| &text[at + 1..])
}

/// Every `Type::method` of the sources, of trait and inherent methods.
fn methods() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for source in sources(&workspace_root()) {
        let mut of = None;
        for line in source.code.lines() {
            if !line.starts_with([' ', '}', ')']) && !line.is_empty() {
                of = block_type(line);
            }
            let name = line.split_once("fn ").map(|(_, rest)| rest);
            let name = name.and_then(|rest| rest.split(['(', '<']).next());
            if let (Some(of), Some(name)) = (of, name) {
                found.insert(format!("{of}::{name}"));
            }
        }
    }
    found
}

/// Returns whether a quotation is a type and one of its methods, as `Agent::step`.
fn is_method(quoted: &str) -> bool {
    let is_name = |name: &str| name.chars().all(|c| c.is_alphanumeric() || c == '_');
    quoted.split_once("::").is_some_and(|(of, method)| {
        is_name(of)
            && is_name(method)
            && of.starts_with(char::is_uppercase)
            && method.starts_with(char::is_lowercase)
    })
}

#[test]
fn every_method_in_the_document_exists() {
    let known = methods();
    let wrong: Vec<String> = quoted(&document())
        .into_iter()
        .map(|name| name.trim_end_matches("()").to_owned())
        .filter(|name| is_method(name) && !known.contains(name))
        .collect();
    none(&wrong, "methods in docs/ARCHITECTURE.md that do not exist");
}

#[test]
fn the_type_of_a_block_is_found() {
    for (line, of) in [
        ("impl Agent {", Some("Agent")),
        ("impl<T: Into<U>, F: Fn() -> T> Queue<T> {", Some("Queue")),
        ("impl<'a> fmt::Display for Shown<'a> {", Some("Shown")),
        ("impl From<A> for crate::B {", Some("B")),
        ("pub trait Runtime: Send {", Some("Runtime")),
        ("pub fn step() {", None),
    ] {
        assert_eq!(block_type(line), of, "{line}");
    }
    assert!(is_method("Agent::step") && !is_method("Agent::React") && !is_method("cmd::show"));
}

#[test]
fn every_crate_is_on_the_code_map() {
    let document = document();
    let wrong: Vec<String> = packages()
        .into_iter()
        .map(|package| package.folder)
        .filter(|folder| !document.contains(&format!("`{folder}`")))
        .collect();
    none(&wrong, "crates that docs/ARCHITECTURE.md does not show");
}

#[test]
fn the_code_map_shows_who_may_use_whom_and_can_be_read_from_the_top_down() {
    let mut above: Vec<String> = Vec::new();
    let mut wrong = Vec::new();
    for row in table(&document(), "Code map") {
        let Some(name) = row[0]
            .trim_matches('`')
            .strip_prefix("crates/")
            .map(str::to_owned)
        else {
            continue;
        };
        let allowed = ALLOWED.iter().find(|(package, _)| *package == name);
        let mut allowed: Vec<&str> = allowed.map(|(_, uses)| uses.to_vec()).unwrap_or_default();
        let told = row.last().map(String::as_str).unwrap_or_default();
        // The facade uses every library, wherever it stands.
        if told != "all libraries" {
            let mut named: Vec<&str> = told.split(", ").filter(|word| *word != "–").collect();
            named.sort_unstable();
            allowed.sort_unstable();
            if named != allowed {
                wrong.push(format!("{name} may use {}", allowed.join(", ")));
            }
            let below = allowed
                .iter()
                .filter(|used| !above.iter().any(|name| name == *used));
            wrong.extend(below.map(|used| format!("{name} stands above {used}, which it uses")));
        }
        above.push(name);
    }
    none(&wrong, "rows of the code map that are not the table of edges");
}

#[test]
fn every_decision_is_in_the_table() {
    let listed: String = table(&document(), "Decisions").concat().concat();
    let notes = std::fs::read_dir(workspace_root().join("issues")).unwrap();
    let wrong: Vec<String> = notes
        .map(|note| note.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| !listed.contains(&format!("(../issues/{name})")))
        .collect();
    none(&wrong, "notes of issues/ that docs/ARCHITECTURE.md does not list");
}

#[test]
fn every_invariant_names_a_test_that_exists() {
    let tests: BTreeSet<String> = sources(&workspace_root())
        .iter()
        .flat_map(|source| test_names(&source.code))
        .collect();
    let rows = table(&document(), "Invariants");
    assert_eq!(rows.len(), INVARIANTS, "rows of docs/ARCHITECTURE.md");
    let mut wrong = Vec::new();
    for number in 1..=INVARIANTS {
        let Some(row) = rows.iter().find(|row| row[0] == number.to_string()) else {
            wrong.push(format!("{number} is not in the table"));
            continue;
        };
        let names = row.last().map(|cell| quoted(cell)).unwrap_or_default();
        if names.is_empty() {
            wrong.push(format!("{number} names no test"));
        }
        wrong.extend(
            names
                .into_iter()
                .filter(|name| !tests.contains(name))
                .map(|name| format!("{number}: no test {name}")),
        );
    }
    none(&wrong, "invariants of docs/ARCHITECTURE.md without their tests");
}

/// Names of functions that follow a `#[test]`, `#[tokio::test]` or stand in a `proptest!` block.
fn test_names(code: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut marked = false;
    for line in code.lines().map(str::trim) {
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            marked = true;
        } else if let Some(rest) = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ") {
            let name: String = rest
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            if std::mem::take(&mut marked) {
                names.push(name);
            }
        }
    }
    names
}
