//! Removes a rule from a file and keeps the rest of it: comments, order and spacing.

use std::path::Path;

use agentx_types::Rule;

use crate::edit::add_rule::rules_of;
use crate::locked_file::LockedFile;
use crate::mistake::ConfigError;
use crate::origin::{SettingOrigin, SourceLocation, Sourced};
use crate::yaml::{Yaml, YamlNode, parse};

/// Removes the rule at this place of a file. If the file is a folder's, `root` is the folder: no link below
/// it is followed.
///
/// # Errors
/// Returns an error if the file cannot be read or written, now has another rule there, is written in a way
/// from which the rule cannot be removed safely, or is reached through a link of the folder.
pub fn remove_rule(place: &SourceLocation, rule: &Rule, root: Option<&Path>) -> Result<(), ConfigError> {
    let file: &Path = &place.file;
    let locked = match root {
        Some(root) => LockedFile::open_below(root, file)?,
        None => LockedFile::open(file)?,
    };
    let text = locked.text()?.unwrap_or_default();
    let rules = rules_of(file, &text)?;
    let by_hand = |what: &str| ConfigError::Edit {
        path: file.to_owned(),
        what: what.into(),
        text: format!("remove the rule at line {}", place.line),
    };
    let items = items_of(&text).unwrap_or_default();
    let index = items
        .iter()
        .position(|item| item.at.line == place.line && item.at.column == place.column)
        .filter(|index| rules.get(*index).is_some_and(|(there, _)| there == rule))
        .ok_or_else(|| by_hand("the file was changed, and that line now has another rule"))?;
    let mut left = rules;
    left.remove(index);
    let is_right = |changed: &String| rules_of(file, changed).is_ok_and(|rules| rules == left);
    let changed = candidates(&text, &items, index)
        .into_iter()
        .find(is_right)
        .ok_or_else(|| by_hand("the list of rules is written in a form from which no rule can be removed"))?;
    locked.replace(changed.as_bytes())
}

/// Returns a rule as the user's file has it; `None` if it is not there, or the file cannot be read.
pub fn rule_in_file(file: &Path, rule: &Rule) -> Option<Sourced<Rule>> {
    let text = std::fs::read_to_string(file).ok()?;
    let index = rules_of(file, &text)
        .ok()?
        .iter()
        .position(|(other, _)| other == rule)?;
    let at = items_of(&text)?.get(index)?.at;
    let place = SourceLocation {
        file: file.into(),
        line: at.line,
        column: at.column,
    };
    Some(Sourced::new(rule.clone(), SettingOrigin::User(place)))
}

/// The rules of the user's file, in its order; none if it cannot be read. `agentx approvals` numbers them in
/// this order.
pub fn rules_in_file(file: &Path) -> Vec<Rule> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let rules = rules_of(file, &text).unwrap_or_default();
    rules.into_iter().map(|(rule, _)| rule).collect()
}

fn items_of(text: &str) -> Option<Vec<YamlNode>> {
    let Yaml::Map(map) = parse(text).ok()?.value else {
        return None;
    };
    let (_, list) = map.into_iter().find(|(key, _)| key.name == "rules")?;
    match list.value {
        Yaml::List(items) => Some(items),
        _ => None,
    }
}

/// Returns texts that may be the file without the item, the most likely first. The caller parses them to find
/// the right one.
fn candidates(text: &str, items: &[YamlNode], index: usize) -> Vec<String> {
    let (Some(item), next) = (items.get(index), items.get(index + 1)) else {
        return Vec::new();
    };
    let start = offset(text, item);
    let without = |from: usize, to: usize| format!("{}{}", &text[..from], &text[to..]);
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let is_block = text[line_start..start].trim() == "-";
    if is_block {
        // Its own lines: at least up to the start of its last value, at most up to the next rule.
        let first_end = line_end(text, line_of(last_line(item)));
        let last_end = next.map_or(text.len(), |next| {
            let start = offset(text, next);
            text[..start].rfind('\n').map_or(start, |at| at + 1)
        });
        let ends = text[first_end..last_end.max(first_end)]
            .match_indices('\n')
            .map(|(at, _)| first_end + at + 1);
        return std::iter::once(first_end)
            .chain(ends)
            .map(|end| without(line_start, end))
            .collect();
    }
    // `[{…}, {…}]`: to the next item, otherwise from the comma before it.
    if let Some(next) = next {
        return vec![without(start, offset(text, next))];
    }
    let from = match index {
        0 => start,
        _ => text[..start].rfind(',').unwrap_or(start),
    };
    text[start..]
        .match_indices('}')
        .map(|(at, _)| without(from, start + at + 1))
        .collect()
}

/// The last line that something in a node begins on.
fn last_line(node: &YamlNode) -> u64 {
    let below = match &node.value {
        Yaml::List(items) => items.iter().map(last_line).max(),
        Yaml::Map(fields) => fields.iter().map(|(_, value)| last_line(value)).max(),
        _ => None,
    };
    below.unwrap_or(0).max(node.at.line)
}

/// Lines count from 1 in positions, from 0 here.
fn line_of(line: u64) -> usize {
    usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1)
}

/// Returns the start of the line after this one.
fn line_end(text: &str, line: usize) -> usize {
    text.split_inclusive('\n').take(line + 1).map(str::len).sum()
}

fn offset(text: &str, node: &YamlNode) -> usize {
    let line = line_of(node.at.line);
    let start = if line == 0 { 0 } else { line_end(text, line - 1) };
    let column = line_of(node.at.column);
    text[start..]
        .char_indices()
        .nth(column)
        .map_or(text.len(), |(at, _)| start + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text without its rule number `index`.
    fn removed(text: &str, index: usize) -> String {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.yaml");
        std::fs::write(&file, text).unwrap();
        let rule = rules_of(&file, text).unwrap()[index].0.clone();
        let Some(SettingOrigin::User(place)) = rule_in_file(&file, &rule).map(|found| found.origin) else {
            panic!("{rule:?} is in the file");
        };
        remove_rule(&place, &rule, None).unwrap();
        assert!(
            remove_rule(
                &place,
                &Rule {
                    tool: "other".into(),
                    ..rule
                },
                None
            )
            .is_err()
        );
        std::fs::read_to_string(&file).unwrap()
    }

    #[test]
    fn the_rest_stays_as_it_was_written() {
        let text = "model: x # why\nrules: # these\n  # first\n  - {effect: deny, tool: a} # a\n\n  # second\n  - effect: ask\n    tool: b\n    examples:\n      matches: [x,\n        y]\n  # third\n  - {effect: allow,\n     tool: c}\n# end\nlog: warn\n";
        assert_eq!(
            removed(text, 0),
            text.replace("  - {effect: deny, tool: a} # a\n", "")
        );
        assert_eq!(
            removed(text, 1),
            text.replace(
                "  - effect: ask\n    tool: b\n    examples:\n      matches: [x,\n        y]\n",
                ""
            )
        );
        assert_eq!(
            removed(text, 2),
            text.replace("  - {effect: allow,\n     tool: c}\n", "")
        );
        assert_eq!(
            removed("rules:\n  - {effect: ask, tool: a}\nlog: warn\n", 0),
            "rules:\nlog: warn\n"
        );
        assert_eq!(removed("rules:\n- effect: ask\n  tool: a", 0), "rules:\n");
        let flow = "rules: [{effect: ask, tool: \"}\"}, {effect: deny, tool: \"}]\"}]\n";
        assert_eq!(removed(flow, 0), "rules: [{effect: deny, tool: \"}]\"}]\n");
        assert_eq!(removed(flow, 1), "rules: [{effect: ask, tool: \"}\"}]\n");
        assert_eq!(removed("rules: [{effect: ask, tool: 中}]\n", 0), "rules: []\n");
        assert_eq!(
            removed("{rules: [{effect: ask, tool: a}], log: warn}\n", 0),
            "{rules: [], log: warn}\n"
        );
    }

    #[cfg(unix)]
    #[test]
    fn no_rule_is_taken_out_behind_a_link_of_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        let (real, root) = (dir.path().join("config.yaml"), dir.path().join("ws"));
        let text = "rules:\n  - {effect: deny, tool: a}\n";
        std::fs::write(&real, text).unwrap();
        std::fs::create_dir_all(root.join(".agentx")).unwrap();
        let link = root.join(".agentx/config.yaml");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let rule = rules_of(&link, text).unwrap()[0].0.clone();
        let Some(SettingOrigin::User(place)) = rule_in_file(&link, &rule).map(|found| found.origin) else {
            panic!("{rule:?} is in the file");
        };
        let refused = remove_rule(&place, &rule, Some(&root)).unwrap_err();
        assert!(refused.to_string().contains("it is a symbolic link"), "{refused}");
        assert_eq!(std::fs::read_to_string(&real).unwrap(), text);
        remove_rule(&place, &rule, None).unwrap();
    }
}
