//! Decides about a command line that is too large to match against the rules.
//!
//! `approval::explain_decision` calls it if `CallSubject::is_too_much_for` returns true. Such a line is not
//! parsed, so each rule about a part of it may apply; the decision is the strictest possible one.

use agentx_types::{AgentConfig, ApprovalMode, Rule, RuleEffect};

use super::mode::asked_by_mode;
use super::verdict::{ExplainedVerdict, allowed, asked, by, denied};
use crate::permissions::call_subject::CallSubject;
use crate::permissions::call_subject::oversized::TOO_MUCH;
use crate::permissions::rule_words::in_reason;

/// Decides about such a line, in this order:
///
/// 1. a rule that denies every call of the tool denies it;
/// 2. if any other rule may deny or ask about a part of it, a person is asked, or the call is refused if
///    nobody can be;
/// 3. otherwise a rule that allows the whole line, or the mode, decides.
pub(super) fn judge(
    config: &AgentConfig,
    subject: &CallSubject<'_>,
    rules: &[Rule],
    mode: ApprovalMode,
) -> ExplainedVerdict {
    let outside = subject.is_outside();
    let about = subject.rule_about_unread(rules);
    if let Some(index) = subject.whole_denied_by(rules) {
        return denied(
            format!(
                "the rule {} denies it",
                in_reason(&rules[index], config.rules_version)
            ),
            vec![index],
        );
    }
    if let Some(why) = subject.always_asked() {
        return asked_by_mode(config, subject, mode, why, Vec::new());
    }
    if let Some(index) = about {
        let why = format!(
            "{TOO_MUCH} (the rule {} may be about it)",
            in_reason(&rules[index], config.rules_version)
        );
        // A rule that asks is put to a person in the mode `auto` as well.
        return match (rules[index].effect, mode) {
            (RuleEffect::Ask, ApprovalMode::Auto) => asked(subject, why, vec![index]),
            _ => asked_by_mode(config, subject, mode, &why, vec![index]),
        };
    }
    if let Some(index) = subject.whole_allowed_by(rules) {
        return allowed(outside, by(rules, &[index], config.rules_version), vec![index]);
    }
    match mode {
        ApprovalMode::Auto if subject.secret().is_none() => {
            allowed(true, "the approval mode is `auto`".into(), Vec::new())
        }
        ApprovalMode::Auto => asked(subject, subject.default_reason("your"), Vec::new()),
        _ => asked_by_mode(config, subject, mode, TOO_MUCH, Vec::new()),
    }
}
