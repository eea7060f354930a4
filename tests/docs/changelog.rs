//! The list of changes stays short enough to be read, and has the form of Keep a Changelog.

use crate::markdown::read;
use crate::none;

/// The longest part about one version, in lines.
const LONGEST: usize = 300;
/// The parts of a version.
const PARTS: [&str; 6] = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];

#[test]
fn the_changes_of_a_version_are_short_and_in_their_parts() {
    let changelog = read("CHANGELOG.md");
    let mut wrong = Vec::new();
    let versions: Vec<&str> = changelog.split("\n## ").skip(1).collect();
    for version in &versions {
        let name = version.lines().next().unwrap_or_default();
        let lines = version.lines().count();
        if lines > LONGEST {
            wrong.push(format!("{name}: {lines} lines; at most {LONGEST}"));
        }
        let parts: Vec<&str> = version.split("\n### ").skip(1).collect();
        for part in &parts {
            let part = part.lines().next().unwrap_or_default();
            if !PARTS.contains(&part) {
                wrong.push(format!("{name}: the part {part}; there are {}", PARTS.join(", ")));
            }
        }
        let before = version.split("\n### ").next().unwrap_or_default();
        if before.lines().any(|line| line.starts_with("- ")) {
            wrong.push(format!("{name}: entries that are in no part"));
        }
    }
    assert!(!versions.is_empty());
    none(&wrong, "CHANGELOG.md");
}
