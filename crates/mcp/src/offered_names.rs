//! The names under which the tools of a server are offered: `SERVER__TOOL`, in the form that vendors take
//! (`^[a-zA-Z0-9_-]{1,64}$`), each once, and none that another tool has.

use std::collections::{BTreeMap, BTreeSet};

/// The longest name that vendors take.
const LONGEST: usize = 64;
/// The number of hexadecimal digits that tell two names apart.
const DIGITS: usize = 8;

/// Returns the offered name of each tool, by the server's name for it. `taken` are names of other tools,
/// which stay theirs. The same tools get the same names in any order.
pub(crate) fn offered_names<'t>(
    server: &str,
    tools: impl IntoIterator<Item = &'t str>,
    taken: &BTreeSet<String>,
) -> BTreeMap<String, String> {
    let tools: BTreeSet<&str> = tools.into_iter().collect();
    let mut names = BTreeMap::new();
    let mut used = taken.clone();
    // Valid names come first, so that no other tool can take them.
    let (plain, others): (Vec<&str>, Vec<&str>) = tools.into_iter().partition(|tool| {
        let name = joined(server, tool);
        name.len() <= LONGEST && fitted(tool) == *tool
    });
    for tool in plain.into_iter().chain(others) {
        let name = joined(server, &fitted(tool));
        let is_free = name.len() <= LONGEST && !used.contains(&name);
        let name = if is_free { name } else { marked(&name, tool) };
        if used.insert(name.clone()) {
            names.insert(tool.to_owned(), name);
        }
    }
    names
}

fn joined(server: &str, tool: &str) -> String {
    format!("{server}__{tool}")
}

/// The name with `_` in place of what vendors do not take.
fn fitted(tool: &str) -> String {
    let fit = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' || c == '_' {
            c
        } else {
            '_'
        }
    };
    tool.chars().map(fit).collect()
}

/// The name with the beginning of a hash of what the server calls the tool, short enough.
fn marked(name: &str, tool: &str) -> String {
    let hash = blake3::hash(tool.as_bytes()).to_hex();
    let room = LONGEST - DIGITS - 1;
    let kept: String = name.chars().take(room).collect();
    format!("{kept}_{}", &hash[..DIGITS])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(tools: &[&str], taken: &[&str]) -> BTreeMap<String, String> {
        let taken = taken.iter().map(|name| (*name).to_owned()).collect();
        offered_names("git", tools.iter().copied(), &taken)
    }

    #[test]
    fn names_fit_and_are_unique_in_whatever_order_they_come() {
        let long = "x".repeat(100);
        let tools = ["read.file", "read_file", "read/file", "größe", &long, "a-B_9"];
        let named = names(&tools, &["git__a-B_9"]);
        assert_eq!(named.len(), tools.len());
        let unique: BTreeSet<&String> = named.values().collect();
        assert_eq!(unique.len(), tools.len());
        for name in named.values() {
            let fits = name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
            assert!(
                fits && name.len() <= LONGEST && name.starts_with("git__"),
                "{name}"
            );
        }
        assert_eq!(named["read_file"], "git__read_file");
        assert_ne!(named["a-B_9"], "git__a-B_9", "that is another tool's");
        let mut turned = tools;
        turned.reverse();
        assert_eq!(names(&turned, &["git__a-B_9"]), named);
    }
}
