//! Sets a key in a mapping in braces (`memory: {enabled: false}`), which has no line for each key, and adds
//! an item to a list in brackets. The caller reads the changed text again, so a place that was guessed wrong
//! changes no file.

use crate::edit::key_text::key_text;
use crate::edit::text_places::{closing, offset};
use crate::layers::keys::SettingPath;
use crate::yaml::{Yaml, YamlNode};

/// Returns the text with the key set, or `None` if the mapping is not in braces or its value has another
/// form.
pub(crate) fn place(text: &str, root: &YamlNode, path: &SettingPath, literal: &str) -> Option<String> {
    let mut node = root;
    for (depth, name) in path.0.iter().enumerate() {
        let Yaml::Map(map) = &node.value else { return None };
        node = match map.iter().find(|(key, _)| key.name == *name) {
            Some((_, below)) => below,
            None => {
                let at = match map.first() {
                    Some((first, _)) => offset(text, first.at)?,
                    None => offset(text, node.at)?.checked_add(1)?,
                };
                let comma = if map.is_empty() { "" } else { ", " };
                let entry = entry(path.0.get(depth..)?, literal);
                let (before, after) = text.split_at_checked(at)?;
                return before
                    .trim_end()
                    .ends_with('{')
                    .then(|| format!("{before}{entry}{comma}{after}"));
            }
        };
    }
    let from = offset(text, node.at)?;
    let rest = &text[from..];
    let length = match rest.chars().next()? {
        quote @ ('"' | '\'') => closing(rest, quote)? + 1,
        '[' => rest.find(']')? + 1,
        '|' | '>' | '&' | '*' | '!' | '{' => return None,
        _ => rest.find([',', '}', '\n'])?,
    };
    let value = rest.get(..length)?.trim_end();
    Some(format!("{}{literal}{}", &text[..from], &rest[value.len()..]))
}

/// Returns the text with an item at the front of a list, or `None` if the list is not in brackets.
pub(crate) fn insert_item(text: &str, list: &YamlNode, item: &str) -> Option<String> {
    let Yaml::List(items) = &list.value else {
        return None;
    };
    let (before, after) = text.split_at_checked(offset(text, list.at)?)?;
    let after = after.strip_prefix('[')?;
    let comma = if items.is_empty() { "" } else { ", " };
    Some(format!("{before}[{item}{comma}{after}"))
}

/// A key with the levels above it, in braces.
fn entry(names: &[String], literal: &str) -> String {
    let depth = names.len().saturating_sub(1);
    let keys: Vec<String> = names.iter().map(|name| key_text(name)).collect();
    format!("{}: {literal}{}", keys.join(": {"), "}".repeat(depth))
}
