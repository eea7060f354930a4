//! Approval rules as they are written in a file: each has its own place, and each mistake in one is shown.

use agentx_types::{Rule, RuleEffect};

use crate::read::{Reader, scalar};
use crate::value::Value;
use crate::yaml::{Node, Yaml};
use crate::{Kind, Sourced, nearest};

impl Reader<'_> {
    pub(crate) fn rules(&mut self, node: &Node) -> Option<Value> {
        let items = match &node.value {
            Yaml::List(items) => items.as_slice(),
            Yaml::Null => &[],
            other => {
                let what = format!("expected {}, found {}", Kind::Rules.expects(), other.kind());
                self.wrong(node.at, "rules", what, None);
                return None;
            }
        };
        let rules = items.iter().filter_map(|item| {
            let origin = self.layer.origin(self.place(item.at));
            self.rule(item).map(|rule| Sourced::new(rule, origin))
        });
        Some(Value::Rules(rules.collect()))
    }

    fn rule(&mut self, node: &Node) -> Option<Rule> {
        let Yaml::Map(map) = &node.value else {
            let what = format!(
                "expected a rule such as `{{effect: ask, tool: bash}}`, found {}",
                node.value.kind()
            );
            self.wrong(node.at, "rules", what, None);
            return None;
        };
        let before = self.mistakes.len();
        let (mut effect, mut tool, mut argument, mut path) = (None, None, None, None);
        for (key, value) in map {
            match key.name.as_str() {
                "effect" => effect = self.effect(value),
                "tool" => tool = self.pattern("rules.tool", value),
                "argument" => argument = self.pattern("rules.argument", value),
                "path" => path = self.pattern("rules.path", value),
                other => {
                    let near = nearest(other, ["effect", "tool", "argument", "path"], 1)
                        .first()
                        .map(|w| (*w).to_owned());
                    self.wrong(key.at, "", format!("unknown key `{other}` in a rule"), near);
                }
            }
        }
        if self.mistakes.len() == before && (effect.is_none() || tool.is_none()) {
            self.wrong(node.at, "rules", "a rule needs `effect` and `tool`".into(), None);
        }
        Some(Rule {
            effect: effect?,
            tool: tool?,
            argument,
            path,
        })
    }

    fn effect(&mut self, node: &Node) -> Option<RuleEffect> {
        match scalar(Kind::Choice(&["allow", "ask", "deny"]), &node.value) {
            Ok(Value::Text(word)) if word == "allow" => Some(RuleEffect::Allow),
            Ok(Value::Text(word)) if word == "ask" => Some(RuleEffect::Ask),
            Ok(_) => Some(RuleEffect::Deny),
            Err((what, near)) => {
                self.wrong(node.at, "rules.effect", what, near);
                None
            }
        }
    }

    fn pattern(&mut self, key: &str, node: &Node) -> Option<String> {
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
