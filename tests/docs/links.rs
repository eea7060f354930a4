//! Links between documents have targets, and documents mention only the project.

use std::path::{Component, Path, PathBuf};

use agentx_tests::workspace_root;

use crate::markdown::{prose, read};
use crate::none;

/// Every document of the project, relative to its top.
fn documents() -> Vec<String> {
    let root = workspace_root();
    let mut found = Vec::new();
    for folder in ["", "docs", "issues", "crates/tools/docs"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "md") {
                let relative = path.strip_prefix(&root).unwrap();
                found.push(relative.to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    assert!(
        found.contains(&"README.md".to_owned()) && found.contains(&"docs/PROTOCOL.md".to_owned()),
        "{found:?}"
    );
    found
}

/// Returns the targets of the links of a text.
fn targets(text: &str) -> Vec<String> {
    let mut targets = Vec::new();
    for piece in text.split("](").skip(1) {
        if let Some((target, _)) = piece.split_once(')') {
            targets.push(target.to_owned());
        }
    }
    targets
}

/// Returns the anchor of a heading.
fn anchors(document: &str) -> Vec<String> {
    let headings = document.lines().filter(|line| line.starts_with('#'));
    let slug = |heading: &str| -> String {
        heading
            .trim_start_matches('#')
            .trim()
            .to_lowercase()
            .chars()
            .filter_map(|c| match c {
                ' ' => Some('-'),
                c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
                _ => None,
            })
            .collect()
    };
    headings.map(slug).collect()
}

/// A path without `..`.
fn tidy(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

#[test]
fn links_lead_somewhere() {
    let root = workspace_root();
    let mut wrong = Vec::new();
    for name in documents() {
        let folder = Path::new(&name).parent().unwrap().to_owned();
        for target in targets(&prose(&read(&name))) {
            if target.contains("://") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let file = match file {
                "" => PathBuf::from(&name),
                file => tidy(&folder.join(file)),
            };
            if !root.join(&file).exists() {
                wrong.push(format!("{name}: {target}"));
            } else if !anchor.is_empty()
                && !anchors(&prose(&read(&file.to_string_lossy()))).contains(&anchor.to_owned())
            {
                wrong.push(format!("{name}: {target} (no such heading)"));
            }
        }
    }
    none(&wrong, "links that lead nowhere");
}

#[test]
fn documents_name_no_place_of_one_machine() {
    let mut wrong = Vec::new();
    for name in documents() {
        for (index, line) in read(&name).lines().enumerate() {
            if ["/work/", "/root/", "/tmp/", "file://"]
                .iter()
                .any(|place| line.contains(place))
            {
                wrong.push(format!("{name}:{} {line}", index + 1));
            }
        }
    }
    none(&wrong, "documents that name a place of one machine");
}
