//! The keys and values of a mapping in a file, and how one of them is found by its name.

use agentx_config::yaml::{Yaml, YamlKey, YamlNode};

/// The keys and values of a mapping, in the order of the file.
pub(crate) type Entries = [(YamlKey, YamlNode)];

/// Returns the value of a key.
pub(crate) fn find<'n>(entries: &'n Entries, name: &str) -> Option<&'n YamlNode> {
    entries
        .iter()
        .find(|(key, _)| key.name == name)
        .map(|(_, node)| node)
}

/// Returns the list at a key, or an empty one.
pub(crate) fn items<'n>(entries: &'n Entries, name: &str) -> &'n [YamlNode] {
    match find(entries, name).map(|node| &node.value) {
        Some(Yaml::List(items)) => items,
        _ => &[],
    }
}

/// Returns the text at a key, or none.
pub(crate) fn text_of(entries: &Entries, name: &str) -> String {
    match find(entries, name).map(|node| &node.value) {
        Some(Yaml::Text(text)) => text.clone(),
        _ => String::new(),
    }
}
