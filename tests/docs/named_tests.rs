//! Documents name the tests of their claims as `path/of/the/file::name_of_the_test`. Each of these tests
//! exists.

use std::collections::HashMap;
use std::path::Path;

use agentx_tests::workspace_root;

use crate::markdown::read;
use crate::none;

/// The names that look like tests, in backticks or not: a path with a folder, `::`, and the name of a
/// function of at least two words. One word names a module of tests.
///
/// `::name` and `…::name` are tests of the file that was named last.
fn named(document: &str) -> Vec<(String, String)> {
    let mut last = "";
    let tests = words(document).filter_map(|word| {
        let (file, name) = word.rsplit_once("::")?;
        if !matches!(file, "" | "…") {
            last = file;
        }
        let file = last;
        let is_path = FOLDERS.iter().any(|folder| file.starts_with(folder));
        let is_name = name.contains('_')
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        (is_path && is_name).then(|| (file.to_owned(), name.to_owned()))
    });
    tests.collect()
}

/// The names of tests behind a path that begins in no folder: `approvals::what_a_test_says`. A test's name
/// has at least four words, so a function of the library is not taken for one.
fn named_without_a_folder(document: &str) -> Vec<String> {
    let is_test = |name: &str| {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        name.split('_').count() >= 4 && name.bytes().all(is_plain)
    };
    let tests = words(document).filter_map(|word| {
        let (file, name) = word.rsplit_once("::")?;
        let is_whole = matches!(file, "" | "…") || FOLDERS.iter().any(|folder| file.starts_with(folder));
        (!is_whole && is_test(name)).then(|| name.to_owned())
    });
    tests.collect()
}

/// The folders with code.
const FOLDERS: [&str; 3] = ["crates/", "apps/", "tests/"];

/// The words of a document, without the signs around them.
fn words(document: &str) -> impl Iterator<Item = &str> {
    document.split(|c: char| c.is_whitespace() || "`|,;()".contains(c))
}

/// The source of a module: its file, and the files below it.
fn source(module: &Path) -> String {
    let mut text = std::fs::read_to_string(module.with_extension("rs")).unwrap_or_default();
    for entry in std::fs::read_dir(module).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text.push_str(&source(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
    text
}

/// Whether a source has a test of this name: a function with an attribute of a test above it.
fn has_test(source: &str, name: &str) -> bool {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let begins = |line: &str| line.contains(&format!("fn {name}("));
    let places = (0..lines.len()).filter(|&at| begins(lines[at]));
    places.into_iter().any(|at| {
        let above = lines[..at].iter().rev();
        let mut attributes = above.take_while(|line| line.starts_with('#') || line.starts_with("//"));
        attributes.any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"))
    })
}

#[test]
fn tests_that_documents_name_exist() {
    let notes = std::fs::read_dir(workspace_root().join("issues")).unwrap();
    let notes = notes.map(|entry| format!("issues/{}", entry.unwrap().file_name().to_string_lossy()));
    let mut wrong = Vec::new();
    let mut sources = HashMap::new();
    let (mut everything, mut loose) = (None, 0);
    for document in notes.chain(["SECURITY.md".to_owned()]) {
        let tests = named(&read(&document));
        let names_many = ["SECURITY", "issues/031", "issues/032"]
            .iter()
            .any(|start| document.starts_with(start));
        assert!(
            !names_many || tests.len() > 20,
            "{document} names {} tests",
            tests.len()
        );
        if names_many {
            let everything = everything.get_or_insert_with(all_sources);
            let found = named_without_a_folder(&read(&document));
            loose += found.len();
            let missing = found.into_iter().filter(|name| !has_test(everything, name));
            wrong.extend(missing.map(|name| format!("{document}: {name}")));
        }
        for (file, name) in tests {
            let source = sources
                .entry(file.clone())
                .or_insert_with_key(|file| source(&workspace_root().join(file)));
            if !has_test(source, &name) {
                wrong.push(format!("{document}: {file}::{name}"));
            }
        }
    }
    assert!(loose > 20, "{loose} names without a folder");
    none(&wrong, "tests that are named and not there");
}

/// The source of all code and tests.
fn all_sources() -> String {
    let mut text = String::new();
    for folder in ["crates", "apps"] {
        for entry in std::fs::read_dir(workspace_root().join(folder)).unwrap() {
            let package = entry.unwrap().path();
            text.push_str(&source(&package.join("src")));
            text.push_str(&source(&package.join("tests")));
        }
    }
    text + &source(&workspace_root().join("tests"))
}

/// Notes on defects name files of today; older notes tell what was decided when files had other names.
#[test]
fn files_that_notes_on_defects_name_exist() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for entry in std::fs::read_dir(workspace_root().join("issues")).unwrap() {
        let note = entry.unwrap().file_name().to_string_lossy().into_owned();
        if !note.starts_with("03") {
            continue;
        }
        let text = read(&format!("issues/{note}"));
        let paths = words(&text).map(|word| word.split(':').next().unwrap_or(word).trim_end_matches('.'));
        for path in paths.filter(|path| path.ends_with(".rs")) {
            let is_whole = !path.contains(['*', '…', '<', '{', ']', '[']);
            if is_whole && FOLDERS.iter().any(|folder| path.starts_with(folder)) {
                seen += 1;
                if !workspace_root().join(path).exists() {
                    wrong.push(format!("issues/{note}: {path}"));
                }
            }
        }
    }
    assert!(seen > 20, "{seen} files");
    none(&wrong, "files that are named and not there");
}
