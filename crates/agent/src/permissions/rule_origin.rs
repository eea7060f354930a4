//! Rules that apply only after text from outside has entered the conversation (`origin: web`).
//!
//! The agent notes in its configuration that it got such text, so the decision follows from the log. Text
//! from an agent below counts, and an agent begins with the mark of the one that makes it.

use std::sync::Arc;

use agentx_types::{Access, AgentConfig, Rule, RuleEffect, TextOrigin, ToolSpec, since};

/// Returns whether a rule applies at this point of the conversation. If that is not known, a rule that denies
/// or asks applies, and one that allows does not.
pub(crate) fn holds_after(rule: &Rule, version: u32, web_text: bool) -> bool {
    match rule.origin {
        None => true,
        Some(TextOrigin::Web) if version >= since::WEB_TEXT_IS_SEEN => web_text,
        Some(TextOrigin::Web | TextOrigin::Unknown) => rule.effect != RuleEffect::Allow,
    }
}

/// Returns whether the results of a tool are text from the web.
pub(crate) fn brings_web_text(tool: &ToolSpec) -> bool {
    tool.access == Access::Network
}

/// Notes that text from the web has entered the conversation. From version 9 of the rules on.
pub(crate) fn note_web_text(config: &mut Arc<AgentConfig>) {
    if config.rules_version >= since::WEB_TEXT_IS_SEEN && !config.web_text {
        Arc::make_mut(config).web_text = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_with_an_origin_applies_after_such_text_and_is_strict_where_that_is_unknown() {
        let rule = |effect, origin| Rule {
            effect,
            tool: "*".into(),
            argument: None,
            path: None,
            workspace: None,
            origin,
        };
        let web = Some(TextOrigin::Web);
        for effect in [RuleEffect::Allow, RuleEffect::Ask, RuleEffect::Deny] {
            let strict = effect != RuleEffect::Allow;
            assert!(holds_after(&rule(effect, None), 9, false));
            assert!(holds_after(&rule(effect, web), 9, true) && !holds_after(&rule(effect, web), 9, false));
            assert_eq!(
                holds_after(&rule(effect, web), 8, false),
                strict,
                "the version notes nothing"
            );
            let newer = rule(effect, Some(TextOrigin::Unknown));
            assert_eq!(
                (holds_after(&newer, 9, false), holds_after(&newer, 9, true)),
                (strict, strict)
            );
        }
    }
}
