//! Writes rules in words.

use agentx_agent::approval::origin_words;

/// A rule in words: `allow bash "git status*"`, `allow edit in src/* (only in /home/me/project)`.
pub fn show_rule(rule: &agentx_types::Rule) -> String {
    let effect = match rule.effect {
        agentx_types::RuleEffect::Allow => "allow",
        agentx_types::RuleEffect::Ask => "ask",
        agentx_types::RuleEffect::Deny => "deny",
    };
    let mut words = format!("{effect} {}", rule.tool);
    if let Some(argument) = &rule.argument {
        words.push_str(&format!(" {argument:?}"));
    }
    if let Some(path) = &rule.path {
        words.push_str(&format!(" in {path}"));
    }
    words.push_str(origin_words(rule));
    if let Some(workspace) = &rule.workspace {
        words.push_str(&format!(" (only in {workspace})"));
    }
    words
}
