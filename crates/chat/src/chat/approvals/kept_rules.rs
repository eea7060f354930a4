//! Remembers the rules that a person kept or removed since this chat began. The chat read its settings before
//! that, so its other sessions get these changes from here. Also assigns the numbers by which rules are
//! removed.

use agentx::types::{AgentConfig, Rule};

/// The changes of the person's rules in this chat.
#[derive(Debug, Default)]
pub(in crate::chat) struct KeptRules {
    kept: Vec<Rule>,
    removed: Vec<Rule>,
}

impl KeptRules {
    /// Notes a rule that holds from now on.
    pub(in crate::chat) fn keep(&mut self, rule: &Rule) {
        self.removed.retain(|removed| removed != rule);
        if !self.kept.contains(rule) {
            self.kept.push(rule.clone());
        }
    }

    /// Notes a rule that no longer holds.
    pub(in crate::chat) fn remove(&mut self, rule: &Rule) {
        self.kept.retain(|kept| kept != rule);
        self.removed.push(rule.clone());
    }

    /// Returns the rules of an agent with these changes; `None` if it has them already.
    pub(in crate::chat) fn applied_to(&self, config: &AgentConfig) -> Option<Vec<Rule>> {
        let mut rules = config.rules.clone();
        rules.retain(|rule| !self.removed.contains(rule));
        let lacking = self.kept.iter().filter(|rule| !config.rules.contains(rule));
        rules.extend(lacking.cloned());
        (rules != config.rules).then_some(rules)
    }
}

/// Returns the number of each rule of an agent: those of the person's file by their places there, as
/// `agentx approvals` numbers them, then those of other settings, then those of the session.
pub(in crate::chat) fn numbers(config: &AgentConfig, in_file: &[Rule], in_settings: &[Rule]) -> Vec<usize> {
    let others = in_settings.iter().chain(&config.rules);
    let mut order: Vec<&Rule> = in_file.iter().collect();
    for rule in others {
        if !order.contains(&rule) {
            order.push(rule);
        }
    }
    let number = |rule: &Rule| order.iter().position(|other| *other == rule);
    config
        .rules
        .iter()
        .map(|rule| number(rule).map_or(0, |at| at + 1))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(pattern: &str) -> Rule {
        agentx::config::parse_rule(&format!("allow bash: {pattern}")).unwrap()
    }

    fn config(rules: &[&str]) -> AgentConfig {
        let model = serde_json::json!({"id": "m", "provider": "p", "api": "scripted",
            "context_window": 1000, "max_output_tokens": 10, "prices": {}});
        AgentConfig {
            rules: rules.iter().map(|pattern| rule(pattern)).collect(),
            ..AgentConfig::react(serde_json::from_value(model).unwrap())
        }
    }

    #[test]
    fn what_was_kept_or_removed_in_this_chat_holds_in_its_other_sessions() {
        let mut changes = KeptRules::default();
        assert_eq!(changes.applied_to(&config(&["a"])), None);
        changes.keep(&rule("b"));
        changes.remove(&rule("a"));
        assert_eq!(changes.applied_to(&config(&["a"])), Some(vec![rule("b")]));
        assert_eq!(changes.applied_to(&config(&["b"])), None);
        changes.keep(&rule("a"));
        assert_eq!(
            changes.applied_to(&config(&["c"])),
            Some(vec![rule("c"), rule("b"), rule("a")])
        );
    }

    #[test]
    fn a_rule_of_the_file_has_the_number_of_its_place_there() {
        let file = [rule("new"), rule("elsewhere"), rule("old")];
        let settings = [rule("old"), rule("project")];
        let of_agent = config(&["old", "project", "session", "new"]);
        assert_eq!(numbers(&of_agent, &file, &settings), [3, 4, 5, 1]);
    }
}
