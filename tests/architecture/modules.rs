//! How modules of a crate know each other, and how much is said about the code.

use std::collections::{BTreeMap, BTreeSet};

use agentx_tests::workspace_root;

use crate::none;
use crate::source::{Source, sources};

/// The crates whose modules know each other in one direction, in each folder.
const LAYERED: &[&str] = &["bus", "chat", "runtime", "session"];
/// The crates that others build on, and whose documentation is at least a quarter of their code.
const DOCUMENTED: &[&str] = &["agent", "agentx", "bus", "llm", "runtime", "session"];

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

/// The path of a module inside its crate, as a line of code names it: ready for the name of what is in it.
fn absolute(module: &[&str]) -> String {
    let names = module.iter().map(|name| format!("{name}::"));
    std::iter::once("crate::".to_owned()).chain(names).collect()
}

/// What a line of `module` names in `folder`: modules, and whatever else is there.
fn named(line: &str, module: &[&str], folder: &[&str]) -> Vec<String> {
    let mut line = line.to_owned();
    for up in (1..=module.len()).rev() {
        let above = absolute(&module[..module.len() - up]);
        line = line.replace(&"super::".repeat(up), &above);
    }
    let is_in_name = |c: char| c.is_alphanumeric() || c == '_';
    let word = |text: &str| text.trim_start().chars().take_while(|c| is_in_name(*c)).collect();
    let words = |rest: &str| match rest.strip_prefix('{') {
        Some(list) => list
            .split('}')
            .next()
            .unwrap_or_default()
            .split(',')
            .map(word)
            .collect(),
        None => vec![word(rest)],
    };
    line.split(&absolute(folder)).skip(1).flat_map(words).collect()
}

/// The modules of a folder that know each other in a circle, or are known by such, and whom they know.
fn circles(modules: &[(Vec<&str>, &Source)], folder: &[&str]) -> Vec<String> {
    let depth = folder.len();
    let inside = modules
        .iter()
        .filter(|(path, _)| path.len() > depth && path.starts_with(folder));
    let mut knows: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (path, source) in inside {
        let names = source
            .production()
            .flat_map(|(_, line)| named(line, path, folder));
        let others = names.filter(|name| name != path[depth]);
        knows.entry(path[depth]).or_default().extend(others);
    }
    // Whoever knows nobody that is left is in no circle.
    while let Some(free) = knows
        .iter()
        .find(|(_, others)| others.iter().all(|other| !knows.contains_key(other.as_str())))
        .map(|(top, _)| *top)
    {
        knows.remove(free);
    }
    let left: BTreeSet<&str> = knows.keys().copied().collect();
    let row = |(top, others): (&&str, &BTreeSet<String>)| {
        let others: Vec<_> = others
            .iter()
            .filter(|other| left.contains(other.as_str()))
            .collect();
        format!("{}{top} knows {others:?}", absolute(folder))
    };
    knows.iter().map(row).collect()
}

#[test]
fn modules_of_a_folder_know_each_other_in_one_direction() {
    let sources = sources(&workspace_root());
    let mut found = Vec::new();
    for name in LAYERED {
        let modules = modules(&sources, name);
        let folders: BTreeSet<&[&str]> = modules.iter().map(|(path, _)| &path[..path.len() - 1]).collect();
        assert!(
            modules.len() > 5 && folders.contains(&[][..]),
            "{name}: {folders:?}"
        );
        let circles = folders.iter().flat_map(|folder| circles(&modules, folder));
        found.extend(circles.map(|circle| format!("{name}: {circle}")));
    }
    none(
        &found,
        "modules that know each other in a circle, and who knows them",
    );
}

#[test]
fn names_of_modules_are_found_in_lines() {
    for (line, folder, found) in [
        ("use crate::fold::SessionFold;", &[][..], &["fold"][..]),
        ("    super::super::log::open(super::here())", &[], &["log", "a"]),
        ("    super::super::log::open(super::here())", &["a"], &["here"]),
        ("use super::{c::Chat, d};", &["a"], &["c", "d"]),
        ("fn f(a: crate::b::C) {}", &["a"], &[]),
    ] {
        assert_eq!(named(line, &["a", "b"], folder), found, "{line}");
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
