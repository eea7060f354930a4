//! Reads approval rules from a file: each has its own place, and every mistake is reported. A rule may have
//! examples, which are checked each time that the rule is read.

pub(crate) mod claude_names;
pub(crate) mod claude_rules;
pub(crate) mod rule_path;
pub(crate) mod rule_syntax;

use agentx_agent::approval::covers;
use agentx_types::{Access, FolderId, Rule, RuleEffect, TextOrigin, ToolSpec, nearest};
use serde_json::json;
use std::path::Path;

use crate::folders::folder::Folder;
use crate::folders::folder_id::{folder_id, is_folder_at};
use crate::layers::read::SettingsReader;
use crate::layers::scalar::scalar;
use crate::layers::shown_rule::show_rule;
use crate::layers::value::{Value, ValueKind};
use crate::layers::written_rule::WrittenRule;
use crate::paths::root_of;
use crate::rules::rule_path::rule_path;
use crate::yaml::{Yaml, YamlNode};

const KEYS: &[&str] = &[
    "effect",
    "tool",
    "argument",
    "path",
    "workspace",
    "origin",
    "folder",
    "examples",
];

impl WrittenRule {
    /// Returns whether it was kept for a folder that is no longer at its path. Only such rules count that
    /// make things stricter. The folder may have got a `.git` since, if the trust records in `trust_dir` say
    /// so: only they know whether it is still the same `.git`.
    pub fn is_of_another_folder(&self, trust_dir: &Path) -> bool {
        let (Some(folder), Some(place)) = (&self.folder, &self.value.workspace) else {
            return false;
        };
        let place = Path::new(place);
        if self.value.effect != RuleEffect::Allow {
            return false;
        }
        if !is_folder_at(folder, place) {
            return true;
        }
        let has_git = folder_id(place).is_some_and(|now| now.has_git());
        has_git != folder.has_git() && !Folder::of(trust_dir, root_of(place)).became_repository
    }
}

impl SettingsReader<'_> {
    pub(crate) fn rules(&mut self, node: &YamlNode) -> Option<Value> {
        let items = match &node.value {
            Yaml::List(items) => items.as_slice(),
            Yaml::Null => &[],
            other => {
                let what = format!("expected {}, found {}", ValueKind::Rules.expects(), other.kind());
                self.wrong(node.at, "rules", what, None);
                return None;
            }
        };
        let rules = items.iter().filter_map(|item| {
            let origin = self.layer.origin(self.place(item.at));
            self.rule(item).map(|(value, folder)| WrittenRule {
                value,
                origin,
                folder,
            })
        });
        Some(Value::Rules(rules.collect()))
    }

    fn rule(&mut self, node: &YamlNode) -> Option<(Rule, Option<FolderId>)> {
        let Yaml::Map(map) = &node.value else {
            let what = format!(
                "expected a rule such as `{{effect: ask, tool: bash}}`, found {}",
                node.value.kind()
            );
            self.wrong(node.at, "rules", what, None);
            return None;
        };
        let before = self.mistakes.len();
        let (mut effect, mut tool, mut argument, mut path, mut workspace) = (None, None, None, None, None);
        let (mut origin, mut folder, mut examples) = (None, None, Vec::new());
        for (key, value) in map {
            match key.name.as_str() {
                "effect" => effect = self.effect(value),
                "tool" => tool = self.pattern("rules.tool", value),
                "argument" => {
                    argument = self.pattern("rules.argument", value);
                    self.check_host(argument.as_deref(), value);
                }
                "path" => path = self.path(value),
                "workspace" => workspace = self.workspace(value),
                "origin" => origin = self.text_origin(value),
                "folder" => folder = self.pattern("rules.folder", value).map(FolderId::from_recorded),
                "examples" => examples = self.examples(value),
                other => {
                    let near = nearest(other, KEYS.iter().copied(), 1)
                        .first()
                        .map(|w| (*w).to_owned());
                    self.wrong(key.at, "", format!("unknown key `{other}` in a rule"), near);
                }
            }
        }
        if self.mistakes.len() == before && (effect.is_none() || tool.is_none()) {
            self.wrong(node.at, "rules", "a rule needs `effect` and `tool`".into(), None);
        }
        if folder.is_some() && workspace.is_none() {
            let what = "`folder` needs `workspace`, which is missing".into();
            self.wrong(node.at, "rules.folder", what, None);
        }
        let rule = Rule {
            effect: effect?,
            tool: tool?,
            argument,
            path,
            workspace,
            origin,
        };
        for (wanted, example) in examples {
            self.hold(&rule, wanted, example);
        }
        Some((rule, folder))
    }

    /// Checks the host that a rule is about: a name in another script is compared in Punycode alone.
    fn check_host(&mut self, argument: Option<&str>, node: &YamlNode) {
        let host = argument.and_then(|argument| argument.strip_prefix("to "));
        if let Some(host) = host.filter(|host| !host.is_ascii()) {
            let what =
                format!("write the host {host:?} in ASCII (Punycode), as in `to xn--bcher-kva.example`");
            self.wrong(node.at, "rules.argument", what, None);
        }
    }

    /// Returns the examples, each with whether it should match.
    fn examples<'n>(&mut self, node: &'n YamlNode) -> Vec<(bool, &'n YamlNode)> {
        let Yaml::Map(lists) = &node.value else {
            let what = format!(
                "expected `{{matches: [...], not: [...]}}`, found {}",
                node.value.kind()
            );
            self.wrong(node.at, "rules.examples", what, None);
            return Vec::new();
        };
        let mut examples = Vec::new();
        for (key, list) in lists {
            let wanted = match key.name.as_str() {
                "matches" => true,
                "not" => false,
                other => {
                    let near = nearest(other, ["matches", "not"], 1)
                        .first()
                        .map(|w| (*w).to_owned());
                    self.wrong(key.at, "", format!("unknown key `{other}` in examples"), near);
                    continue;
                }
            };
            match &list.value {
                Yaml::List(items) => examples.extend(items.iter().map(|item| (wanted, item))),
                other => {
                    let what = format!("expected a list of examples, found {}", other.kind());
                    self.wrong(list.at, "rules.examples", what, None);
                }
            }
        }
        examples
    }

    /// Checks an example against its rule.
    fn hold(&mut self, rule: &Rule, wanted: bool, example: &YamlNode) {
        let Some((fits, shown)) = fits(rule, example) else {
            let what = format!(
                "expected a command line, a path or the arguments of a call, found {}",
                example.value.kind()
            );
            self.wrong(example.at, "rules.examples", what, None);
            return;
        };
        if fits != wanted {
            let (is, meant) = if fits {
                ("matches", "should not")
            } else {
                ("does not match", "should")
            };
            let what = format!(
                "the example `{shown}` {is} the rule `{}`, but {meant} match",
                show_rule(rule)
            );
            self.wrong(example.at, "rules.examples", what, None);
        }
    }

    fn effect(&mut self, node: &YamlNode) -> Option<RuleEffect> {
        match scalar(ValueKind::Choice(&["allow", "ask", "deny"]), &node.value) {
            Ok(Value::Text(word)) if word == "allow" => Some(RuleEffect::Allow),
            Ok(Value::Text(word)) if word == "ask" => Some(RuleEffect::Ask),
            Ok(_) => Some(RuleEffect::Deny),
            Err((what, near)) => {
                self.wrong(node.at, "rules.effect", what, near);
                None
            }
        }
    }

    fn text_origin(&mut self, node: &YamlNode) -> Option<TextOrigin> {
        scalar(ValueKind::Choice(&["web"]), &node.value)
            .map_err(|(what, near)| self.wrong(node.at, "rules.origin", what, near))
            .ok()
            .map(|_| TextOrigin::Web)
    }

    /// Reads the path of a rule, in its normal form.
    fn path(&mut self, node: &YamlNode) -> Option<String> {
        let pattern = self.pattern("rules.path", node)?;
        rule_path(&pattern, None)
            .map_err(|what| self.wrong(node.at, "rules.path", what, None))
            .ok()
    }

    /// Reads the directory in which a rule applies, which is not a pattern.
    fn workspace(&mut self, node: &YamlNode) -> Option<String> {
        let path = self.pattern("rules.workspace", node)?;
        if !path.starts_with('/') {
            let what = format!("expected an absolute path such as `/home/me/project`, found `{path}`");
            self.wrong(node.at, "rules.workspace", what, None);
        }
        Some(path)
    }

    fn pattern(&mut self, key: &str, node: &YamlNode) -> Option<String> {
        match &node.value {
            Yaml::Text(pattern) if !pattern.is_empty() => Some(pattern.clone()),
            other => {
                self.wrong(
                    node.at,
                    key,
                    format!("expected a pattern, found {}", other.kind()),
                    None,
                );
                None
            }
        }
    }
}

/// The workspace that paths of examples are relative to.
const WORKSPACE: &str = "/workspace";

/// Returns whether an example matches a rule, and its description; `None` if it is not an example. Text is a
/// path for a rule that has only a path, otherwise a command line; a mapping is the arguments of a call.
fn fits(rule: &Rule, example: &YamlNode) -> Option<(bool, String)> {
    let (input, shown, names) = match &example.value {
        Yaml::Text(path) if rule.argument.is_none() && rule.path.is_some() => {
            (json!({ "path": path }), path.clone(), (Some("path"), None))
        }
        Yaml::Text(line) => (json!({ "command": line }), line.clone(), (None, Some("command"))),
        Yaml::Map(_) => {
            let input = example.to_json();
            let shown = input.to_string();
            let path = rule.path.as_ref().map(|_| "path");
            (input, shown, (path, None))
        }
        _ => return None,
    };
    let mut tool = ToolSpec::new(rule.tool.clone(), "", json!({}), Access::Run);
    tool.path_argument = names.0.map(str::to_owned);
    tool.command_argument = names.1.map(str::to_owned);
    let workspace = rule.workspace.as_deref().unwrap_or(WORKSPACE);
    Some((covers(rule, workspace, &tool, &input), shown))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use crate::layers::read;
    use crate::origin::FileLayer;

    fn mistakes(rule: &str) -> Vec<String> {
        let layer = FileLayer::User(PathBuf::from("/c.yaml"));
        let (_, mistakes, _) = read::file(&layer, &format!("rules:\n  - {rule}\n"));
        mistakes.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_host_in_another_script_is_written_in_punycode() {
        let rule = |host: &str| mistakes(&format!("{{effect: deny, tool: '*', argument: 'to {host}'}}"));
        for wrong in ["bücher.example", "ｌｏｃａｌｈｏｓｔ", "①②⑦.0.0.1"] {
            let told = rule(wrong).join("; ");
            assert!(told.contains("Punycode"), "{wrong}: {told}");
        }
        assert!(rule("xn--bcher-kva.example").is_empty() && rule("*.example").is_empty());
    }

    #[test]
    fn examples_are_held_against_their_rule() {
        for right in [
            "{effect: deny, tool: bash, argument: 'rm *', examples: {matches: [rm x, 'cd y && sudo rm x'], not: [ls, git rm x]}}",
            "{effect: allow, tool: bash, argument: 'git *', examples: {matches: [git log], not: ['git log; ls', 'git log > x']}}",
            "{effect: allow, tool: edit, path: 'src/**', examples: {matches: [src/a.rs], not: [src/../a.rs, /etc/x]}}",
            "{effect: deny, tool: web, argument: '*evil.com*', examples: {matches: [{url: evil.com}], not: [{url: x.org}]}}",
            "{effect: deny, tool: '*', path: '~/.ssh/**', examples: {matches: [~/.ssh/id]}}",
            "{effect: allow, tool: edit, path: 'src/*', workspace: /home/me/x, examples: {matches: [src/a, /home/me/x/src/a], not: [/workspace/src/a]}}",
            "{effect: ask, tool: bash, examples: {}}",
        ] {
            assert_eq!(mistakes(right), Vec::<String>::new(), "{right}");
        }
    }

    #[test]
    fn a_wrong_example_is_a_mistake_with_its_place() {
        let cases = [
            (
                "{effect: deny, tool: bash, argument: 'rm *', examples: {matches: [ls]}}",
                "/c.yaml:2:71: `rules.examples`: the example `ls` does not match the rule `deny bash \"rm *\"`, but should match",
            ),
            (
                "{effect: deny, tool: bash, argument: 'rm *', examples: {not: ['ls; rm x']}}",
                "/c.yaml:2:67: `rules.examples`: the example `ls; rm x` matches the rule `deny bash \"rm *\"`, but should not match",
            ),
            (
                "{effect: deny, tool: bash, examples: {match: [ls]}}",
                "/c.yaml:2:43: unknown key `match` in examples; did you mean `matches`?",
            ),
            (
                "{effect: allow, tool: bash, workspace: here}",
                "/c.yaml:2:44: `rules.workspace`: expected an absolute path such as `/home/me/project`, found `here`",
            ),
            (
                "{effect: allow, tool: bash, folder: here}",
                "/c.yaml:2:5: `rules.folder`: `folder` needs `workspace`, which is missing",
            ),
            (
                "{effect: ask, tool: bash, origin: webb}",
                "/c.yaml:2:39: `rules.origin`: expected one of web, found \"webb\"; did you mean `web`?",
            ),
            (
                "{effect: deny, tool: bash, examples: [ls]}",
                "/c.yaml:2:42: `rules.examples`: expected `{matches: [...], not: [...]}`, found a list",
            ),
            (
                "{effect: deny, tool: bash, examples: {not: [3]}}",
                "/c.yaml:2:49: `rules.examples`: expected a command line, a path or the arguments of a call, found a number",
            ),
        ];
        for (rule, said) in cases {
            assert_eq!(mistakes(rule), [said], "{rule}");
        }
    }
}
