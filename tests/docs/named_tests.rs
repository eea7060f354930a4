//! What a document says is tried names its tests as `path/of/the/file::name_of_the_test`. Each of them
//! exists.

use std::collections::HashMap;
use std::path::Path;

use agentx_tests::workspace_root;

use crate::markdown::read;
use crate::none;

/// The names that look like tests, in backticks or not: a path with a folder, `::`, and the name of a
/// function of at least two words. One word names a module of tests.
fn named(document: &str) -> Vec<(String, String)> {
    let words = document.split(|c: char| c.is_whitespace() || "`|,;()".contains(c));
    let tests = words.filter_map(|word| {
        let (file, name) = word.rsplit_once("::")?;
        let is_path = ["crates/", "apps/", "tests/"]
            .iter()
            .any(|folder| file.starts_with(folder));
        let is_name = name.contains('_')
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        (is_path && is_name).then(|| (file.to_owned(), name.to_owned()))
    });
    tests.collect()
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
        for (file, name) in tests {
            let source = sources
                .entry(file.clone())
                .or_insert_with_key(|file| source(&workspace_root().join(file)));
            if !has_test(source, &name) {
                wrong.push(format!("{document}: {file}::{name}"));
            }
        }
    }
    none(&wrong, "tests that are named and not there");
}
