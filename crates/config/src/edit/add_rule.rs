//! Adds a rule to the user's file and keeps the person's comments, order and spacing.

use std::path::Path;

use agentx_types::{FolderId, Rule, RuleEffect, TextOrigin};

use crate::edit::set_in_braces;
use crate::edit::text_places::{index_of, insert_line, with_line_ends_of, with_newline};
use crate::folders::folder_id::{folder_id, is_folder_at};
use crate::layers::keys::SettingPath;
use crate::layers::read;
use crate::layers::value::Value;
use crate::locked_file::LockedFile;
use crate::mistake::ConfigError;
use crate::origin::FileLayer;
use crate::yaml::{Yaml, YamlKey, YamlNode, parse};

/// Adds an approval rule to a configuration file, and creates the file if it does not exist. Does not add an
/// existing rule again; returns whether the file changed. A rule that allows something in a directory applies
/// only to the folder that is there now.
///
/// # Errors
/// Returns an error if the file cannot be read or written, or has no safe place for a rule.
pub fn add_rule(file: &Path, rule: &Rule) -> Result<bool, ConfigError> {
    let locked = LockedFile::open(file)?;
    let text = locked.text()?.unwrap_or_default();
    let before = rules_of(file, &text)?;
    let place = rule.workspace.as_deref();
    let folder = place.and_then(|place| folder_id(Path::new(place)));
    let folder = folder.filter(|_| rule.effect == RuleEffect::Allow);
    let lies_here = |id: &FolderId| place.is_some_and(|place| is_folder_at(id, Path::new(place)));
    let holds = |of: &Option<FolderId>| of.as_ref().is_none_or(lies_here);
    if before.iter().any(|(known, of)| known == rule && holds(of)) {
        return Ok(false);
    }
    let line = rule_line(rule, folder.as_ref());
    let by_hand = |what: &str| ConfigError::Edit {
        path: file.to_owned(),
        what: what.into(),
        text: format!("add {line} to the list `rules`"),
    };
    let mut expected = before;
    expected.push((rule.clone(), folder));
    let has_all = |changed: &str| {
        rules_of(file, changed).is_ok_and(|after| {
            after.len() == expected.len() && expected.iter().all(|rule| after.contains(rule))
        })
    };
    let changed = candidates(&text, &line)
        .into_iter()
        .find(|changed| has_all(changed) && without_rules(changed) == without_rules(&text))
        .ok_or_else(|| by_hand("the list of rules is written in a form that cannot be extended"))?;
    let changed = with_line_ends_of(&text, &changed);
    locked.replace(changed.as_bytes()).map(|()| true)
}

/// The rules that a file has, each with the folder that it was kept for.
pub(crate) fn rules_of(file: &Path, text: &str) -> Result<Vec<(Rule, Option<FolderId>)>, ConfigError> {
    let (layer, mistakes, _) = read::file(&FileLayer::User(file.to_owned()), text);
    if !mistakes.is_empty() {
        return Err(ConfigError::Mistakes(mistakes));
    }
    let rules = layer
        .entries
        .into_iter()
        .find_map(|(_, sourced)| match sourced.value {
            Value::Rules(rules) => Some(rules.into_iter().map(|rule| (rule.value, rule.folder)).collect()),
            _ => None,
        });
    Ok(rules.unwrap_or_default())
}

/// The rule as one line of YAML; JSON's strings are YAML's.
fn rule_line(rule: &Rule, folder: Option<&FolderId>) -> String {
    let effect = match rule.effect {
        RuleEffect::Allow => "allow",
        RuleEffect::Ask => "ask",
        RuleEffect::Deny => "deny",
    };
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut line = format!("{{effect: {effect}, tool: {}", quoted(&rule.tool));
    if let Some(argument) = &rule.argument {
        line.push_str(&format!(", argument: {}", quoted(argument)));
    }
    if let Some(path) = &rule.path {
        line.push_str(&format!(", path: {}", quoted(path)));
    }
    if let Some(workspace) = &rule.workspace {
        line.push_str(&format!(", workspace: {}", quoted(workspace)));
    }
    if rule.origin == Some(TextOrigin::Web) {
        line.push_str(", origin: web");
    }
    if let Some(folder) = folder {
        line.push_str(&format!(", folder: {}", quoted(folder.as_str())));
    }
    line.push('}');
    line
}

/// Everything of a file but its rules; `None` if it cannot be read.
fn without_rules(text: &str) -> Option<serde_json::Value> {
    let mut tree = parse(text).ok()?.to_json();
    tree.as_object_mut()?.remove("rules");
    Some(tree)
}

/// Returns texts that may be the file with the rule in its list, the most likely first. The order of rules
/// has no meaning, so the new one goes to the front, if the position is known exactly. The caller parses them
/// to find the right one.
fn candidates(text: &str, rule: &str) -> Vec<String> {
    let Ok(root) = parse(text) else {
        return Vec::new();
    };
    let Yaml::Map(map) = &root.value else {
        return Vec::new();
    };
    let (in_lines, in_braces) = match map.iter().find(|(key, _)| key.name == "rules") {
        Some((key, list)) => (
            insert_first(text, rule, key, list),
            set_in_braces::insert_item(text, list, rule),
        ),
        None => (
            Some(format!("{}rules:\n  - {rule}\n", with_newline(text))),
            set_in_braces::place(text, &root, &SettingPath::dotted("rules"), &format!("[{rule}]")),
        ),
    };
    in_lines.into_iter().chain(in_braces).collect()
}

/// The text with the rule in front of those that the list has, on a separate line.
fn insert_first(text: &str, rule: &str, key: &YamlKey, list: &YamlNode) -> Option<String> {
    let line_of = |number: usize| text.split_inclusive('\n').nth(number);
    let key_line = index_of(key.at.line)?;
    let first = match &list.value {
        Yaml::List(items) => items.first(),
        Yaml::Null => None,
        _ => return None,
    };
    let after_key = line_of(key_line)?.split_once(':')?.1.split('#').next()?.trim();
    match (after_key, first) {
        ("", Some(item)) => {
            let item_line = index_of(item.at.line)?;
            let indent = line_of(item_line)?.split_once('-')?.0;
            let line = format!("{indent}- {rule}\n");
            let place = above_comments(text, key_line + 1, item_line);
            indent.trim().is_empty().then(|| insert_line(text, place, &line))
        }
        ("", None) => Some(insert_line(
            &with_newline(text),
            key_line + 1,
            &format!("  - {rule}\n"),
        )),
        _ => None,
    }
}

/// Returns the first of the comment lines directly above a line, which belong to it, but nothing above `top`.
fn above_comments(text: &str, top: usize, line: usize) -> usize {
    let lines: Vec<&str> = text.lines().take(line).collect();
    let above = lines.get(top..).unwrap_or_default().iter().rev();
    line - above
        .take_while(|line| line.trim_start().starts_with('#'))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule() -> Rule {
        Rule {
            workspace: None,
            effect: RuleEffect::Allow,
            tool: "bash".into(),
            argument: Some("git status*".into()),
            path: None,
            origin: None,
        }
    }

    fn added(text: &str) -> String {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.yaml");
        std::fs::write(&file, text).unwrap();
        assert!(add_rule(&file, &rule()).unwrap(), "{text}");
        assert!(!add_rule(&file, &rule()).unwrap(), "twice: {text}");
        std::fs::read_to_string(&file).unwrap()
    }

    #[test]
    fn a_rule_keeps_its_origin() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.yaml");
        let rule = Rule {
            effect: RuleEffect::Ask,
            origin: Some(TextOrigin::Web),
            ..rule()
        };
        assert!(add_rule(&file, &rule).unwrap() && !add_rule(&file, &rule).unwrap());
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(rules_of(&file, &text).unwrap(), [(rule, None)], "{text}");
    }

    const LINE: &str = r#"{effect: allow, tool: "bash", argument: "git status*"}"#;

    #[test]
    fn what_was_written_stays() {
        let text = "# mine\nmodel: x # why\n";
        assert_eq!(added(text), format!("{text}rules:\n  - {LINE}\n"));
        let text = "rules: # these\n    # first\n    - effect: deny\n      tool: write\nmodel: x\n";
        let want = format!(
            "rules: # these\n    - {LINE}\n    # first\n    - effect: deny\n      tool: write\nmodel: x\n"
        );
        assert_eq!(added(text), want);
        let text = "rules:\n  # all of them\n\n# why\n  # so\n  - {effect: ask, tool: a}\n  # b\n  - {effect: ask, tool: b}\n";
        let want = text.replace("# why", &format!("  - {LINE}\n# why"));
        assert_eq!(added(text), want, "a comment stays with what it is about");
        let text = "# mine\nrules:\n- {effect: ask, tool: a}\n";
        let want = text.replace("rules:\n", &format!("rules:\n- {LINE}\n"));
        assert_eq!(added(text), want);
        assert_eq!(
            added("rules:\nmodel: x\n"),
            format!("rules:\n  - {LINE}\nmodel: x\n")
        );
        assert_eq!(added("rules: []\n"), format!("rules: [{LINE}]\n"));
        assert_eq!(
            added("rules: [{effect: ask, tool: a}]\n"),
            format!("rules: [{LINE}, {{effect: ask, tool: a}}]\n")
        );
        assert_eq!(added("rules:"), format!("rules:\n  - {LINE}\n"));
        assert_eq!(
            added("rules:\n- effect: deny\n  tool: a"),
            format!("rules:\n- {LINE}\n- effect: deny\n  tool: a")
        );
    }

    #[test]
    fn a_file_in_braces_gets_a_rule() {
        assert_eq!(added("{}\n"), format!("{{rules: [{LINE}]}}\n"));
        assert_eq!(
            added("# mine\n{ } # none\n"),
            format!("# mine\n{{rules: [{LINE}] }} # none\n")
        );
        assert_eq!(added("{model: x}"), format!("{{rules: [{LINE}], model: x}}"));
        assert_eq!(
            added("{\n  \"model\": \"x\"\n}\n"),
            format!("{{\n  rules: [{LINE}], \"model\": \"x\"\n}}\n")
        );
        assert_eq!(
            added("{tools: {disabled: [glob]}, rules: [{effect: ask, tool: a}]}\n"),
            format!("{{tools: {{disabled: [glob]}}, rules: [{LINE}, {{effect: ask, tool: a}}]}}\n")
        );
        assert_eq!(added("rules:\n  []\n"), format!("rules:\n  [{LINE}]\n"));
    }

    #[test]
    fn a_form_without_a_place_for_a_rule_is_refused_with_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.yaml");
        let text = "---\nmodel: x\n...\n";
        std::fs::write(&file, text).unwrap();
        let Err(ConfigError::Edit { text: by_hand, .. }) = add_rule(&file, &rule()) else {
            panic!("there is no place for it");
        };
        assert_eq!(by_hand, format!("add {LINE} to the list `rules`"));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    }

    #[test]
    fn rules_that_are_kept_at_the_same_time_are_all_kept() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.yaml");
        let of = |thread: usize, number: usize| Rule {
            argument: Some(format!("echo {thread} {number}")),
            ..rule()
        };
        std::thread::scope(|scope| {
            for thread in 0..6 {
                let file = &file;
                scope.spawn(move || {
                    for number in 0..10 {
                        assert!(add_rule(file, &of(thread, number)).unwrap());
                    }
                });
            }
        });
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(rules_of(&file, &text).unwrap().len(), 60);
    }

    #[cfg(unix)]
    #[test]
    fn a_rule_that_is_kept_for_a_directory_holds_for_the_folder_that_lies_there() {
        let dir = tempfile::tempdir().unwrap();
        let (file, place) = (dir.path().join("config.yaml"), dir.path().join("place"));
        let (other, moved) = (dir.path().join("other"), dir.path().join("moved"));
        std::fs::create_dir(&place).unwrap();
        std::fs::create_dir(&other).unwrap();
        let rule = Rule {
            workspace: Some(place.to_string_lossy().into_owned()),
            ..rule()
        };
        assert!(add_rule(&file, &rule).unwrap() && !add_rule(&file, &rule).unwrap());
        let holds = || {
            let text = std::fs::read_to_string(&file).unwrap();
            let (layer, mistakes, _) = read::file(&FileLayer::User(file.clone()), &text);
            assert!(mistakes.is_empty(), "{mistakes:?}");
            let Some(Value::Rules(rules)) = layer.entries.into_iter().next().map(|entry| entry.1.value)
            else {
                panic!("it has rules");
            };
            let holds = rules.iter().map(|rule| !rule.is_of_another_folder(dir.path()));
            holds.collect::<Vec<bool>>()
        };
        assert_eq!(holds(), [true]);
        std::fs::rename(&place, moved).unwrap();
        assert_eq!(holds(), [false], "nothing lies there");
        std::fs::rename(other, &place).unwrap();
        assert_eq!(holds(), [false], "another folder lies there");
        assert!(add_rule(&file, &rule).unwrap());
        assert_eq!(holds(), [true, false]);
        // A rule that denies holds for everything there.
        let deny = Rule {
            effect: RuleEffect::Deny,
            ..rule
        };
        assert!(add_rule(&file, &deny).unwrap());
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text.matches("folder:").count(), 2, "{text}");
    }

    #[test]
    fn a_new_file_is_made_and_a_broken_one_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("new/config.yaml");
        assert!(add_rule(&file, &rule()).unwrap());
        assert_eq!(
            std::fs::read_to_string(&file).unwrap(),
            format!("rules:\n  - {LINE}\n")
        );
        std::fs::write(&file, "modle: x\n").unwrap();
        assert!(matches!(add_rule(&file, &rule()), Err(ConfigError::Mistakes(_))));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "modle: x\n");
    }
}
