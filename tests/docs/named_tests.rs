//! What a document says is tried names its tests as `path/of/the/file::name_of_the_test`. Each of them exists.

use std::path::Path;

use agentx_tests::workspace_root;

use crate::markdown::read;
use crate::none;

/// The names in backticks that look like tests: a path with a folder, `::`, and the name of a function.
fn named(document: &str) -> Vec<(String, String)> {
    let in_ticks = document.split('`').skip(1).step_by(2);
    let tests = in_ticks.filter_map(|word| {
        let (file, name) = word.rsplit_once("::")?;
        let is_path = file.contains('/') && file.bytes().all(|byte| byte.is_ascii_graphic());
        let is_name = !name.is_empty()
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
    let mut wrong = Vec::new();
    for document in ["SECURITY.md", "issues/032-attacks-on-scripts-members-and-load.md"] {
        let tests = named(&read(document));
        assert!(tests.len() > 20, "{document} names {} tests", tests.len());
        for (file, name) in tests {
            if !has_test(&source(&workspace_root().join(&file)), &name) {
                wrong.push(format!("{document}: {file}::{name}"));
            }
        }
    }
    none(&wrong, "tests that are named and not there");
}
