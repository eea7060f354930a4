//! The dependencies between the modules of a crate, and the amount of comments.

use std::collections::{BTreeMap, BTreeSet};

use agentx_tests::workspace_root;
use rustc_lexer::{FrontmatterAllowed, tokenize};

use crate::none;
use crate::source::{Source, sources};

/// The crates whose modules know each other in one direction, in each folder.
const LAYERED: &[&str] = &[
    "agent",
    "agent-files",
    "agentx",
    "assembly",
    "browser",
    "bus",
    "chat",
    "config",
    "exec-server",
    "flows",
    "identity",
    "llm",
    "luau-tools",
    "mcp",
    "memory",
    "nexus",
    "node-runtime",
    "openhands",
    "remote-runtime",
    "runtime",
    "sandbox",
    "secrets",
    "server",
    "services",
    "session",
    "sqlite-log",
    "terminal",
    "testing",
    "tools",
    "types",
    "web",
];
/// The crates that others build on, and whose documentation is at least a quarter of their code.
const DOCUMENTED: &[&str] = &[
    "agent",
    "agentx",
    "bus",
    "llm",
    "luau-tools",
    "node-runtime",
    "remote-runtime",
    "runtime",
    "session",
];

/// The modules of a crate.
struct Modules<'s> {
    /// The production files by the path of their modules; `lib.rs` is the crate itself, and not among them.
    files: Vec<(Vec<&'s str>, &'s Source)>,
    /// The paths of the names that `lib.rs` imports or exports. Whoever imports such a name from the crate
    /// knows the module that has it.
    in_crate: BTreeMap<&'s str, Vec<&'s str>>,
}

impl<'s> Modules<'s> {
    fn of(sources: &'s [Source], name: &str) -> Self {
        let folder = format!("crates/{name}/src/");
        let inside = sources.iter().filter(|source| source.tests_from > 0);
        let inside = inside.filter_map(|source| Some((source.path.strip_prefix(&folder)?, source)));
        let (lib, others): (Vec<_>, Vec<_>) = inside.partition(|(path, _)| *path == "lib.rs");
        let module = |path: &'s str| {
            path.trim_end_matches(".rs")
                .trim_end_matches("/mod")
                .split('/')
                .collect()
        };
        let files: Vec<(Vec<&str>, &Source)> = others
            .into_iter()
            .map(|(path, source)| (module(path), source))
            .collect();
        let mut in_crate = lib
            .first()
            .map(|(_, source)| in_crate(&source.code))
            .unwrap_or_default();
        let all_of = lib.iter().flat_map(|(_, source)| globs(&source.code));
        for top in all_of {
            for (path, source) in files.iter().filter(|(path, _)| path[0] == top) {
                for item in public_items(&source.code) {
                    let full_path = || path.iter().copied().chain([item]).collect();
                    in_crate.entry(item).or_insert_with(full_path);
                }
            }
        }
        in_crate.retain(|name, _| files.iter().all(|(path, _)| path[0] != *name));
        Self { files, in_crate }
    }
}

/// The paths of the names that the code of `lib.rs` imports or exports.
fn in_crate(lib: &str) -> BTreeMap<&str, Vec<&str>> {
    let words = words(lib);
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        at = if words[at] == "use" {
            paths(&words, at + 1, Vec::new(), &mut found)
        } else {
            at + 1
        };
    }
    let inside = found.into_iter().map(|path| {
        let names = path
            .into_iter()
            .skip_while(|word| ["crate", "self"].contains(word));
        names.collect::<Vec<&str>>()
    });
    let inside = inside.filter(|path| path.len() > 1);
    inside.filter_map(|path| Some((*path.last()?, path))).collect()
}

/// The modules of which the code of `lib.rs` exports all names: `pub use action::*`.
fn globs(lib: &str) -> Vec<&str> {
    let words = words(lib);
    let uses = words
        .windows(5)
        .filter(|words| words[0] == "use" && words[2..] == [":", ":", "*"]);
    uses.map(|words| words[1]).collect()
}

/// The keywords before the name of an item.
const BEFORE_NAMES: &[&str] = &[
    "async", "const", "enum", "fn", "static", "struct", "trait", "type", "unsafe",
];

/// The names of the items that code declares for other modules, also of those that the macro `payloads`
/// declares, each as a name and its fields.
fn public_items(code: &str) -> BTreeSet<&str> {
    let words = words(code);
    let mut items = BTreeSet::new();
    let mut depth_in_macro = 0;
    for (at, word) in words.iter().enumerate() {
        let before = &words[at.saturating_sub(2)..at];
        match *word {
            "{" if depth_in_macro > 0 || before == ["payloads", "!"] => depth_in_macro += 1,
            "}" if depth_in_macro > 0 => depth_in_macro -= 1,
            "pub" => items.extend(declared_item(&words[at + 1..])),
            name if depth_in_macro == 1
                && name.starts_with(char::is_uppercase)
                && words.get(at + 1) == Some(&"{") =>
            {
                items.insert(name);
            }
            _ => {}
        }
    }
    items
}

/// The name of the item whose declaration these words are, after `pub`.
fn declared_item<'c>(words: &[&'c str]) -> Option<&'c str> {
    let skipped = match words.first() {
        Some(&"(") => words.iter().position(|word| *word == ")")? + 1,
        _ => 0,
    };
    let words = words.get(skipped..)?;
    let keywords = words
        .iter()
        .take_while(|word| BEFORE_NAMES.contains(word))
        .count();
    (keywords > 0).then(|| words.get(keywords).copied()).flatten()
}

/// The path of a module inside its crate, as a line of code names it: ready for the name of what is in it.
fn absolute(module: &[&str]) -> String {
    let names = module.iter().map(|name| format!("{name}::"));
    std::iter::once("crate::".to_owned()).chain(names).collect()
}

/// The words and signs of code, which has no comments and literals any more.
fn words(code: &str) -> Vec<&str> {
    let mut rest = code;
    let mut words = Vec::new();
    for token in tokenize(code, FrontmatterAllowed::No) {
        let (word, after) = rest.split_at(token.len as usize);
        rest = after;
        if !word.trim().is_empty() {
            words.push(word);
        }
    }
    words
}

/// Reads a path that begins at `at`, or a list of such in braces, and notes all of them behind `prefix`.
/// Returns what follows.
fn paths<'c>(
    words: &[&'c str],
    mut at: usize,
    mut prefix: Vec<&'c str>,
    found: &mut Vec<Vec<&'c str>>,
) -> usize {
    loop {
        match words.get(at) {
            Some(&"{") => {
                at += 1;
                while at < words.len() && words[at] != "}" {
                    at = paths(words, at, prefix.clone(), found);
                    // Another name (`as`) may stand behind the path.
                    while at < words.len() && ![",", "}"].contains(&words[at]) {
                        at += 1;
                    }
                    at += usize::from(words.get(at) == Some(&","));
                }
                return at + 1;
            }
            Some(word) => prefix.push(word),
            None => return at,
        }
        at += 1;
        let goes_on = |next: &&str| *next == "{" || next.starts_with(|c: char| c.is_alphabetic() || c == '_');
        if words.get(at..at + 2) != Some(&[":", ":"]) || !words.get(at + 2).is_some_and(goes_on) {
            found.push(prefix);
            return at;
        }
        at += 2;
    }
}

/// The names in `folder` that the code of `module` uses, in `use` and elsewhere: modules and other items. A
/// name in the crate itself counts as its path in `in_crate`.
fn named(
    code: &str,
    module: &[&str],
    folder: &[&str],
    in_crate: &BTreeMap<&str, Vec<&str>>,
) -> BTreeSet<String> {
    let words = words(code);
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let is_inside = at > 0 && words[at - 1] == ":";
        at = if ["crate", "self", "super"].contains(&words[at]) && !is_inside {
            paths(&words, at, Vec::new(), &mut found)
        } else {
            at + 1
        };
    }
    let in_folder = found.into_iter().filter_map(|path| {
        let up = path.iter().take_while(|word| **word == "super").count();
        let above = match path[0] {
            "crate" => &[][..],
            _ => &module[..module.len().saturating_sub(up)],
        };
        let names = path
            .iter()
            .skip_while(|word| ["crate", "self", "super"].contains(word));
        let path: Vec<&str> = above.iter().chain(names).copied().collect();
        let path: Vec<&str> = match path.first().and_then(|first| in_crate.get(first)) {
            Some(from) => from.iter().chain(&path[1..]).copied().collect(),
            None => path,
        };
        let name = path.strip_prefix(folder)?.first()?;
        Some((*name).to_owned())
    });
    in_folder.filter(|name| name != "self").collect()
}

/// Whom of its neighbours, and whatever else is in the folder, each module of a folder names.
fn knowledge<'s>(modules: &Modules<'s>, folder: &[&str]) -> BTreeMap<&'s str, BTreeSet<String>> {
    let depth = folder.len();
    let inside = modules
        .files
        .iter()
        .filter(|(path, _)| path.len() > depth && path.starts_with(folder));
    let mut knows: BTreeMap<&'s str, BTreeSet<String>> = BTreeMap::new();
    for (path, source) in inside {
        let code: Vec<&str> = source.production().map(|(_, line)| line).collect();
        let names = named(&code.join("\n"), path, folder, &modules.in_crate).into_iter();
        let others = names.filter(|name| name != path[depth]);
        knows.entry(path[depth]).or_default().extend(others);
    }
    knows
}

/// The modules of a folder that know each other in a circle, or are known by such, and whom they know.
fn circles(modules: &Modules<'_>, folder: &[&str]) -> Vec<String> {
    let mut knows = knowledge(modules, folder);
    // A module that uses none of the remaining ones is in no cycle.
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
        let modules = Modules::of(&sources, name);
        let paths = modules.files.iter().map(|(path, _)| path);
        let folders: BTreeSet<&[&str]> = paths.map(|path| &path[..path.len() - 1]).collect();
        assert!(
            modules.files.len() > 5 && folders.contains(&[][..]),
            "{name}: {folders:?}"
        );
        let mut knows = knowledge(&modules, &[]);
        let tops: BTreeSet<String> = knows.keys().map(|top| (*top).to_owned()).collect();
        knows
            .values_mut()
            .for_each(|others| others.retain(|other| tops.contains(other)));
        assert!(
            knows.values().any(|others| !others.is_empty()),
            "{name}: {knows:?}"
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
fn a_module_with_files_of_its_own_is_the_mod_rs_of_their_folder() {
    let sources = sources(&workspace_root());
    let inside = || {
        let paths = sources.iter().map(|source| source.path.as_str());
        paths.filter(|path| path.contains("/src/"))
    };
    let has_files = |path: &&str| {
        let folder = path.trim_end_matches(".rs").to_owned() + "/";
        inside().any(|other| other.starts_with(&folder))
    };
    let wrong: Vec<String> = inside().filter(has_files).map(str::to_owned).collect();
    assert!(inside().filter(|path| path.ends_with("/mod.rs")).count() > 50);
    none(
        &wrong,
        "modules beside their folder: such a file is the `mod.rs` in it",
    );
}

#[test]
fn names_of_modules_are_found_in_code() {
    for (code, folder, found) in [
        ("use crate::fold::SessionFold;", &[][..], &["fold"][..]),
        ("    super::super::log::open(super::here())", &[], &["a", "log"]),
        ("    super::super::log::open(super::here())", &["a"], &["here"]),
        ("use super::{c::Chat, d};", &["a"], &["c", "d"]),
        ("fn f(a: crate::b::C) {}", &["a"], &[]),
        ("use crate::{c::{D, e::{F, G}}, h};", &[], &["c", "h"]),
        ("use crate::{c::{D, e::{F, G}}, h};", &["c"], &["D", "e"]),
        (
            "use crate::{\n    c::{self, D as E},\n    h::*,\n    i,\n};",
            &[],
            &["c", "h", "i"],
        ),
        ("use crate::{\n    c::{self, D as E},\n};", &["c"], &["D"]),
        ("use super::{\n    super::c,\n    d,\n};", &[], &["a", "c"]),
        (
            "use self::d::E; pub(crate) fn f() {} pub(super) use g;",
            &["a", "b"],
            &["d"],
        ),
        (
            "crate::c::<u8>(self.d, &mut crate::e::F { g: super::h })",
            &[],
            &["a", "c", "e"],
        ),
        ("other::crate_name::x(crate)", &[], &[]),
    ] {
        let found: BTreeSet<String> = found.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(
            named(code, &["a", "b"], folder, &BTreeMap::new()),
            found,
            "{code}"
        );
    }
}

#[test]
fn a_name_in_the_crate_itself_counts_as_one_of_its_module() {
    let in_crate = in_crate("mod c;\npub use c::{D, e::F};\nuse crate::g::H;");
    for (code, folder, found) in [
        ("use crate::D;", &[][..], &["c"][..]),
        ("use crate::{F, d::D};", &[], &["c", "d"]),
        ("use super::super::F;", &["c"], &["e"]),
        ("crate::F::new(super::D)", &["a"], &["D"]),
    ] {
        let found: BTreeSet<String> = found.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(named(code, &["a", "b"], folder, &in_crate), found, "{code}");
    }
    assert_eq!(in_crate["H"], ["g", "H"]);
}

#[test]
fn all_names_of_an_exported_module_count_as_its_own() {
    assert_eq!(
        globs("mod c;\npub use c::*;\npub use d::E;\npub use f::{G, H};"),
        ["c"]
    );
    let code = "pub struct A;\npub(crate) const fn b() {}\nstruct C { pub d: u8 }\n\
                payloads! {\n E { f: u8, }\n G {}\n}\nfn h() -> I { I {} }\npub const J: u8 = 1;";
    let items: Vec<&str> = public_items(code).into_iter().collect();
    assert_eq!(items, ["A", "E", "G", "J", "b"]);
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
