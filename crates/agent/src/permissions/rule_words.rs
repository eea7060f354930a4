//! Describes a rule in words: in full, and shortened for the reason of a decision.

use agentx_types::{Rule, RuleEffect, TextOrigin, since};

/// Maximum number of characters of a rule in a reason.
const MOST: usize = 160;
/// The number of them that are kept at the end, where a rule names its workspace.
const END: usize = 40;

/// A rule in the reason of a decision: one line of a bounded length, cut in its middle.
pub(crate) fn in_reason(rule: &Rule, version: u32) -> String {
    let words = describe(rule);
    if version < since::REASONS_CUT_RULES {
        return words;
    }
    let line: Vec<char> = words
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if line.len() <= MOST {
        return line.into_iter().collect();
    }
    let (begin, end) = (&line[..MOST - END], &line[line.len() - END..]);
    begin.iter().chain(&[' ', '…', ' ']).chain(end).collect()
}

/// A rule on one line, in quotes.
///
/// ```
/// use agentx_types::{Rule, RuleEffect};
/// let argument = Some("rm *".to_owned());
/// let rule = Rule {
///     effect: RuleEffect::Deny, tool: "bash".into(), argument, path: None, workspace: None, origin: None,
/// };
/// assert_eq!(agentx_agent::approval::describe(&rule), "\"deny bash: rm *\"");
/// ```
pub fn describe(rule: &Rule) -> String {
    let effect = match rule.effect {
        RuleEffect::Allow => "allow",
        RuleEffect::Ask => "ask",
        RuleEffect::Deny => "deny",
    };
    let argument = rule
        .argument
        .as_ref()
        .map(|argument| format!(": {argument}"))
        .unwrap_or_default();
    let path = rule
        .path
        .as_ref()
        .map(|path| format!(" in {path}"))
        .unwrap_or_default();
    let origin = origin_words(rule);
    let workspace = rule
        .workspace
        .as_ref()
        .map(|workspace| format!(" (only in {workspace})"))
        .unwrap_or_default();
    format!("\"{effect} {}{argument}{path}{origin}{workspace}\"", rule.tool)
}

/// The origin of a rule behind its words: ` (origin: web)`; empty if it has none.
pub fn origin_words(rule: &Rule) -> &'static str {
    match rule.origin {
        None => "",
        Some(TextOrigin::Web) => " (origin: web)",
        Some(TextOrigin::Unknown) => " (origin: unknown)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_in_a_reason_is_one_short_line() {
        let of = |argument: &str| Rule {
            effect: RuleEffect::Deny,
            tool: "bash".into(),
            argument: Some(argument.to_owned()),
            path: None,
            workspace: Some("/ws".into()),
            origin: None,
        };
        let short = of("rm *");
        assert_eq!(in_reason(&short, 9), describe(&short));
        assert_eq!(in_reason(&of("a\nb"), 9), "\"deny bash: a b (only in /ws)\"");
        let long = of(&"é".repeat(100_000));
        let words = in_reason(&long, 9);
        assert!(
            words.starts_with("\"deny bash: éé") && words.ends_with("é (only in /ws)\""),
            "{words}"
        );
        assert_eq!(words.chars().count(), MOST + 3);
        assert_eq!(
            in_reason(&long, 8),
            describe(&long),
            "an older log is read as it was written"
        );
    }
}
