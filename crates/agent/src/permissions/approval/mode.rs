//! Applies the approval mode to a call that requires approval.
//!
//! | mode | a rule asks | nothing allows it | it opens a file that may hold secrets |
//! | --- | --- | --- | --- |
//! | `ask` | asked | asked | asked |
//! | `accept-edits` | asked | a change of a file in the workspace is done, all else asked | asked |
//! | `auto` (version 7 of the rules and later) | asked | done | asked |
//! | `auto` (before) | done | done | done |
//! | `deny` | refused | refused | refused |
//!
//! A command that acts on a whole folder around the program's own files leads to a question only in `ask`. A
//! call that *always* needs a question (`always_asked`, such as a change of this program's settings) is
//! refused in `auto` as in `deny`, and so is a tool whose description differs from the one that was accepted
//! from its MCP server.

use agentx_types::{AgentConfig, ApprovalMode, Rule, RuleEffect, since};

use super::verdict::{ExplainedVerdict, allowed, asked, denied};
use crate::permissions::call_subject::CallSubject;
use crate::permissions::rule_words::in_reason;

/// Asks a person if the mode permits a question; otherwise refuses the call with the same reason.
pub(super) fn asked_by_mode(
    config: &AgentConfig,
    subject: &CallSubject<'_>,
    mode: ApprovalMode,
    why: &str,
    rules: Vec<usize>,
) -> ExplainedVerdict {
    match mode {
        ApprovalMode::Ask | ApprovalMode::AcceptEdits => asked(subject, why.to_owned(), rules),
        ApprovalMode::Auto => denied(
            format!("{why}, and in the approval mode `auto` nobody is asked"),
            rules,
        ),
        ApprovalMode::Deny => denied(format!("{why}, {}", nobody_asked(config)), rules),
    }
}

/// Decides, in the mode `auto`, about a call that no rule allows or denies: lets it run, unless a rule asks
/// about it or it opens a file that may hold secrets.
///
/// `asking` is the reason of the rule that asks. Before version 7 of the rules, neither was asked about.
pub(super) fn unasked(
    config: &AgentConfig,
    subject: &CallSubject<'_>,
    rules: &[Rule],
    asking: Option<(String, Vec<usize>)>,
) -> ExplainedVerdict {
    // Typed text that cannot be read as a command line is rarely one, so a person is asked about it.
    if !subject.is_typed()
        && let Some(denied) = hidden_from_denying(config, subject, rules)
    {
        return denied;
    }
    if config.rules_version >= since::OWN_FILES_ARE_NEVER_TAKEN
        && let Some(folder) = subject.folder_around_own()
    {
        let what =
            "has files of AgentX itself (sessions, keys, settings) in it, and the command acts on all of it";
        let reason = format!("{folder} {what}; in the approval mode `auto` nobody is asked about that");
        return denied(reason, Vec::new());
    }
    let secret = || {
        subject
            .secret()
            .map(|_| (subject.default_reason("your"), Vec::new()))
    };
    match asking.or_else(secret) {
        Some((reason, made_by)) if config.rules_version >= since::AUTO_ASKS => {
            asked(subject, reason, made_by)
        }
        _ => allowed(true, "the approval mode is `auto`".into(), Vec::new()),
    }
}

/// The refusal of a mode that asks no person, worded for the version of the rules.
///
/// The mode is also `deny` for a run without a terminal, so the words name both causes: the model cannot
/// change either.
pub(super) fn nobody_asked(config: &AgentConfig) -> &'static str {
    match config.rules_version {
        ..since::REFUSALS_SAY_WHY => "and nobody is there to be asked",
        since::APPROVAL_IS_NAMED.. => {
            "and nobody can be asked: there is no terminal, or the approval mode is `deny`"
        }
        _ => "and in the approval mode `deny` nobody is asked",
    }
}

/// Refuses a call that a deny rule may match if the mode asks no person: a rule applies to unreadable parts
/// too.
fn hidden_from_denying(
    config: &AgentConfig,
    subject: &CallSubject<'_>,
    rules: &[Rule],
) -> Option<ExplainedVerdict> {
    if config.rules_version < since::HIDDEN_IS_REFUSED {
        return None;
    }
    let kept = rules
        .iter()
        .enumerate()
        .filter(|(_, rule)| rule.effect != RuleEffect::Ask);
    let (places, kept): (Vec<usize>, Vec<Rule>) = kept.map(|(place, rule)| (place, rule.clone())).unzip();
    let (index, what) = subject.hidden_from(&kept)?;
    let reason = format!(
        "{what} cannot be known, the rule {} may be about it, and in the approval mode `auto` nobody is asked",
        in_reason(&kept[index], config.rules_version)
    );
    Some(denied(reason, vec![places[index]]))
}
