//! How modules of a crate know each other, and how much is said about the code.

use std::collections::{BTreeMap, BTreeSet};

use agentx_tests::workspace_root;

use crate::none;
use crate::source::{Source, sources};

/// The crates whose modules know each other in one direction.
const LAYERED: &[&str] = &["bus", "runtime", "session"];
/// The crates that others build on, and whose documentation is at least a quarter of their code.
const DOCUMENTED: &[&str] = &["agent", "agentx", "bus", "runtime", "session"];

/// The production files of a crate by the path of their modules; `lib.rs` is the crate itself, and not among them.
fn modules<'s>(sources: &'s [Source], name: &str) -> Vec<(Vec<&'s str>, &'s Source)> {
    let folder = format!("crates/{name}/src/");
    let inside = sources.iter().filter(|source| source.tests_from > 0);
    let inside = inside.filter_map(|source| Some((source.path.strip_prefix(&folder)?, source)));
    let module = |path: &'s str| {
        path.trim_end_matches(".rs")
            .trim_end_matches("/mod")
            .split('/')
            .collect()
    };
    inside
        .filter(|(path, _)| *path != "lib.rs")
        .map(|(path, source)| (module(path), source))
        .collect()
}

/// The modules at the top of the crate that a line of the module at `depth` names.
fn named(line: &str, depth: usize) -> Vec<String> {
    let line = line.replace(&"super::".repeat(depth), "crate::");
    let rest = line.split("crate::").skip(1);
    let word = |rest: &str| {
        rest.chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect()
    };
    rest.map(word).collect()
}

#[test]
fn modules_at_the_top_of_a_crate_know_each_other_in_one_direction() {
    let sources = sources(&workspace_root());
    let mut circles = Vec::new();
    for name in LAYERED {
        let modules = modules(&sources, name);
        let tops: BTreeSet<&str> = modules.iter().map(|(path, _)| path[0]).collect();
        let mut knows: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for (path, source) in &modules {
            let names = source.production().flat_map(|(_, line)| named(line, path.len()));
            let others = names.filter(|top| tops.contains(top.as_str()) && top != path[0]);
            knows.entry(path[0]).or_default().extend(others);
        }
        assert!(knows.values().any(|others| others.len() > 2), "{name}: {knows:?}");
        // Whoever knows nobody that is left is in no circle.
        while let Some(free) = knows
            .iter()
            .find(|(_, others)| others.iter().all(|other| !knows.contains_key(other.as_str())))
            .map(|(top, _)| *top)
        {
            knows.remove(free);
        }
        circles.extend(
            knows
                .iter()
                .map(|(top, others)| format!("{name}: {top} knows {others:?}")),
        );
    }
    none(
        &circles,
        "modules that know each other in a circle, and who knows them",
    );
}

#[test]
fn names_of_modules_are_found_in_lines() {
    for (line, depth, found) in [
        ("use crate::fold::SessionFold;", 1, "fold"),
        ("    super::super::log::open(super::here())", 2, "log"),
        ("fn f(a: super::b::C) {}", 1, "b"),
    ] {
        assert_eq!(named(line, depth), [found], "{line}");
    }
}

#[test]
fn a_quarter_of_the_code_is_documentation_where_others_build_on_it() {
    let sources = sources(&workspace_root());
    let mut sparse = Vec::new();
    for name in DOCUMENTED {
        let folder = format!("crates/{name}/src/");
        let (mut docs, mut code) = (0, 0);
        for source in sources.iter().filter(|source| source.path.starts_with(&folder)) {
            let lines = source.text.lines().take(source.tests_from).map(str::trim_start);
            docs += lines
                .filter(|line| line.starts_with("///") || line.starts_with("//!"))
                .count();
            code += source
                .production()
                .filter(|(_, line)| !line.trim().is_empty())
                .count();
        }
        if 4 * docs < code {
            sparse.push(format!("{name}: {docs} lines of documentation, {code} of code"));
        }
    }
    none(&sparse, "too little is said about the code");
}
