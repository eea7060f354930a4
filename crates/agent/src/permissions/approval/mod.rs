//! Decides about tool calls. The log contains the rules and the calls, so another rule's decision can be
//! computed later.
//!
//! The first that applies decides: calls that no rule can allow (the program's own files, the loss of a
//! system or a home); plan mode; `deny` rules; calls that always need a question; `ask` rules, and calls that
//! may evade a rule; `allow` rules; the defaults; the approval mode. It looks only at text (note 007): the
//! tool finds out where a path leads, and calls [`link_refusal`]. Everything is a function of the logged
//! configuration and the call, under the version of the rules that the session uses.

mod covering;
mod links;
mod mode;
mod oversized;
mod reading;
mod unasked_calls;
mod verdict;

pub use covering::{covered_together, covers, suggested};
pub use links::link_refusal;
pub use reading::unasked_reading;
pub use unasked_calls::is_unasked;
pub use verdict::{ExplainedVerdict, Question, Verdict};

use std::borrow::Cow;
use std::sync::Arc;

use agentx_types::{Access, AgentConfig, ApprovalMode, Rule, RuleEffect, ToolSpec, since};
use serde_json::Value;

use crate::files::prepared_guard::GuardPatterns;
use crate::permissions::call_subject::CallSubject;
use crate::permissions::call_subject::hosts::describe_reach;
pub use crate::permissions::call_subject::member_directory;
pub use crate::permissions::call_subject::uncovered::not_covered_reason;
use crate::permissions::rule_words::in_reason;
pub use crate::permissions::rule_words::{describe, origin_words};
use crate::tools::described_tools::{has_changed, replaces_another};
use crate::tools::plan_mode;
use mode::{asked_by_mode, nobody_asked, unasked};
use verdict::{allowed, asked, by, denied};

/// The rules that decide about an agent's calls: those of the server's settings, then those of the session.
/// In the session of a member the session's own rules can forbid and ask, but allow nothing.
///
/// [`ExplainedVerdict::rules`] has places in this list, from 0.
pub fn rules_of(config: &AgentConfig) -> Cow<'_, [Rule]> {
    let Some(server) = &config.server_rules else {
        return Cow::Borrowed(&config.rules);
    };
    let is_member = server.member_directory.is_some();
    let of_session = config.rules.iter();
    let counts = |rule: &&Rule| !is_member || rule.effect != RuleEffect::Allow;
    server
        .rules
        .iter()
        .chain(of_session.filter(counts))
        .cloned()
        .collect()
}

/// The approval mode that counts: in the session of a member, `auto` and `accept-edits` are `ask`.
fn mode_of(config: &AgentConfig) -> ApprovalMode {
    match config.approval {
        ApprovalMode::Auto | ApprovalMode::AcceptEdits if member_directory(config).is_some() => {
            ApprovalMode::Ask
        }
        mode => mode,
    }
}

/// Returns whether the settings of the server require a question before this call, regardless of the
/// session's own rules and mode. `false` if no server has the session open.
pub fn asked_by_server(config: &AgentConfig, tool: &ToolSpec, input: &Value) -> bool {
    config.server_rules.is_some() && is_asked_by_server(config, &CallSubject::of_agent(config, tool, input))
}

fn is_asked_by_server(config: &AgentConfig, subject: &CallSubject<'_>) -> bool {
    config.server_rules.as_ref().is_some_and(|server| {
        let judged = judge_by(config, &server.rules, ApprovalMode::Ask, subject);
        !matches!(judged.verdict, Verdict::Allow { .. })
    })
}

/// Decides about a call. Deny beats ask, and ask beats allow, regardless of the source of the rules. Without
/// a rule, a call that touches nothing or reads inside the workspace is allowed, and the approval mode
/// decides about the rest. Rules of a server's settings count together with those of the session: see
/// [`rules_of`].
///
/// ```
/// use agentx_agent::approval::{Verdict, decide};
/// use agentx_agent::fixtures;
/// use agentx_types::{ApprovalMode, Rule, RuleEffect};
///
/// let mut config = fixtures::config();
/// config.approval = ApprovalMode::Ask;
/// let path = Some("src/**".into());
/// config.rules = vec![Rule {
///     effect: RuleEffect::Allow, tool: "change".into(), argument: None, path, workspace: None, origin: None,
/// }];
/// let change = config.tools[1].clone();
/// let of = |path: &str| decide(&config, &change, &serde_json::json!({ "path": path }));
/// assert!(matches!(of("src/main.rs"), Verdict::Allow { outside_workspace: false }));
/// assert!(matches!(of("Cargo.toml"), Verdict::Ask(_)));
/// ```
///
/// The table has the verdicts about a call that names no guarded file, from version 7 of the rules on, if
/// nothing else decides before the rules do. Plan mode, and what no rule can allow, refuse a call whatever
/// `allow` rules say. A call that always needs a question, and a command that may evade a `deny` or `ask`
/// rule, count as in the row for `ask`; but `auto` refuses a call that always needs a question, and a command
/// that may evade a `deny` rule. A line that is too large gets the strictest verdict. In the mode
/// `accept-edits` a call counts as in `ask`, except a change of an ordinary file of the workspace, which is
/// allowed. A command line that certainly only reads counts as reading, if the guard says so
/// ([`agentx_types::Guard::reading_commands`]).
///
/// | rules that match | the call | `ask` | `auto` | `deny` |
/// | --- | --- | --- | --- | --- |
/// | none | touches nothing, or reads inside the workspace | allow | allow | allow |
/// | none | reads outside of the workspace | ask | allow | deny |
/// | none | changes, runs or sends something | ask | allow | deny |
/// | `allow`, for the whole call | any | allow | allow | allow |
/// | `ask`, perhaps `allow` too | any | ask | ask | deny |
/// | `deny`, perhaps others too | any | deny | deny | deny |
pub fn decide(config: &AgentConfig, tool: &ToolSpec, input: &Value) -> Verdict {
    explain_decision(config, tool, input).verdict
}

/// Decides about a call as [`decide`] does, by a guard whose patterns were prepared before.
pub(crate) fn decide_prepared(
    config: &AgentConfig,
    patterns: Option<Arc<GuardPatterns>>,
    tool: &ToolSpec,
    input: &Value,
) -> Verdict {
    let subject = CallSubject::of_prepared(config, patterns, tool, input);
    explain(config, &subject).verdict
}

/// Decides about a call as [`decide`] does, and returns the rules and the words that led to the verdict.
///
/// In the session of a member, a question that the server's rules ask is marked for the operator.
///
/// ```
/// use agentx_agent::approval::{Verdict, explain_decision};
/// use agentx_agent::fixtures;
/// use agentx_types::{Rule, RuleEffect};
/// use serde_json::json;
///
/// let mut config = fixtures::config();
/// let path = Some("src/**".into());
/// config.rules = vec![Rule {
///     effect: RuleEffect::Deny, tool: "change".into(), argument: None, path, workspace: None, origin: None,
/// }];
/// let judged = explain_decision(&config, &config.tools[1], &json!({"path": "src/a.rs"}));
/// assert!(matches!(judged.verdict, Verdict::Deny { .. }));
/// assert_eq!(judged.rules, [0]);
/// assert_eq!(judged.reason, "the rule \"deny change in src/**\" denies it");
/// ```
pub fn explain_decision(config: &AgentConfig, tool: &ToolSpec, input: &Value) -> ExplainedVerdict {
    explain(config, &CallSubject::of_agent(config, tool, input))
}

fn explain(config: &AgentConfig, subject: &CallSubject<'_>) -> ExplainedVerdict {
    let mut judged = judge_by(config, &rules_of(config), mode_of(config), subject);
    if let Verdict::Ask(question) = &mut judged.verdict {
        question.by_server = is_asked_by_server(config, subject);
        if question.by_server && member_directory(config).is_some() {
            judged.reason.push_str(who_may_allow(config.rules_version));
            question.reason.clone_from(&judged.reason);
        }
    }
    judged
}

/// Returns who may allow a member's call that the server's settings ask about.
fn who_may_allow(version: u32) -> &'static str {
    match version {
        since::APPROVERS_ARE_NAMED.. => "; only the operator or an approver of the server may allow it",
        _ => "; only the operator of the server may allow it",
    }
}

/// Decides only by these rules and this mode, in the order given at the top of this file.
fn judge_by(
    config: &AgentConfig,
    rules: &[Rule],
    mode: ApprovalMode,
    subject: &CallSubject<'_>,
) -> ExplainedVerdict {
    let tool = subject.tool;
    let (outside, version) = (subject.is_outside(), config.rules_version);
    if let Some(reason) = subject.never_allowed() {
        return denied(reason, Vec::new());
    }
    if let Some(reason) = plan_mode::refusal(config, tool) {
        return denied(reason.to_owned(), Vec::new());
    }
    if subject.is_too_much_for(rules) {
        return oversized::judge(config, subject, rules, mode);
    }
    if let Some(index) = subject.first_rule_with(RuleEffect::Deny, rules) {
        let reason = if is_read_only(config, tool, &rules[index]) {
            READ_ONLY.to_owned()
        } else {
            format!("the rule {} denies it", in_reason(&rules[index], version))
        };
        return denied(reason, vec![index]);
    }
    if let Some(why) = subject.asked_whatever_rules_say(rules) {
        return asked_by_mode(config, subject, mode, &why, Vec::new());
    }
    let asking = match subject.first_rule_with(RuleEffect::Ask, rules) {
        Some(index) => Some((
            format!("the rule {} asks", in_reason(&rules[index], version)),
            vec![index],
        )),
        None => subject.hidden_from(rules).map(|(index, what)| {
            let rule = in_reason(&rules[index], version);
            (
                format!("{what} cannot be known, and the rule {rule} may be about it"),
                vec![index],
            )
        }),
    };
    // The question includes the hosts that the call names, or the reach that the tool's file grants.
    let told = subject.named_hosts().or(tool.reach.as_deref());
    let told = told.filter(|_| version >= since::REACH_IS_SAID);
    let told = told.and_then(|reach| describe_reach(reach, version));
    let asking = asking.map(|(reason, rules)| match told {
        Some(told) => (format!("{reason}; {told}"), rules),
        None => (reason, rules),
    });
    if asking.is_none()
        && let Some(allowing) = subject.allowed_by(rules)
    {
        return allowed(outside, by(rules, &allowing, version), allowing);
    }
    if mode == ApprovalMode::Auto {
        return unasked(config, subject, rules, asking);
    }
    let (reason, made_by) = match (asking, subject.allowed_by_default(mode)) {
        (None, Some(reason)) => return allowed(false, reason.into(), Vec::new()),
        (Some(asking), _) => asking,
        (None, None) => (subject.not_allowed_reason(rules, mode), Vec::new()),
    };
    if mode == ApprovalMode::Deny {
        return denied(format!("{reason}, {}", nobody_asked(config)), made_by);
    }
    asked(subject, reason, made_by)
}

/// The question about a call that no rule asks about, for this reason.
pub(crate) fn risk_question(config: &AgentConfig, tool: &ToolSpec, input: &Value, reason: &str) -> Question {
    Question {
        by_server: asked_by_server(config, tool, input),
        ..Question::new(reason.to_owned(), suggested(config, tool, input))
    }
}

/// The reason why a folder that the person made read-only refuses a call, and the way to change that.
const READ_ONLY: &str =
    "this folder is read only, so nothing is changed or run here; `agentx config trust` changes that";

/// Returns whether this rule denies a call because the person made the folder read-only: such a rule is about
/// all of a tool.
fn is_read_only(config: &AgentConfig, tool: &ToolSpec, rule: &Rule) -> bool {
    let is_whole = rule.argument.is_none() && rule.path.is_none();
    let is_read_only = config.guard.as_ref().is_some_and(|guard| guard.read_only);
    config.rules_version >= since::REFUSALS_SAY_WHY && is_read_only && is_whole && tool.access > Access::Read
}

/// The reason why a person must decide about a call each time, without keeping a rule; `None` if rules
/// decide.
///
/// It looks only at tools that run command lines: for a line that changes this program's own settings, for
/// example. A rule that allows does not answer the question, and the modes `auto` and `deny` refuse the call.
pub fn always_asked(config: &AgentConfig, tool: &ToolSpec, input: &Value) -> Option<&'static str> {
    CallSubject::of(&config.workspace, config.rules_version, tool, input).always_asked()
}

/// Returns whether the call names a path outside the workspace.
///
/// The path is compared as text. A call without a path is about the workspace itself, and `~` is always
/// outside.
///
/// ```
/// use agentx_agent::{approval::is_outside_workspace, fixtures};
/// use serde_json::json;
///
/// let config = fixtures::config();
/// let of = |input| is_outside_workspace(&config, &config.tools[0], &input);
/// assert!(!of(json!({})) && !of(json!({"path": "a/../b"})) && !of(json!({"path": "/ws/a"})));
/// assert!(of(json!({"path": "a/../../b"})) && of(json!({"path": "/ws2/a"})) && of(json!({"path": "~/.ssh/id"})));
/// ```
pub fn is_outside_workspace(config: &AgentConfig, tool: &ToolSpec, input: &Value) -> bool {
    CallSubject::of(&config.workspace, config.rules_version, tool, input).is_outside()
}

/// Returns whether a tool, such as a script with `invoke`, may make this call of `tool`. A refusal says what
/// to do.
///
/// The rules apply as they do to a model's call: they deny it, or lead to a question. If no rule applies, a
/// person who allowed the calling tool has also allowed the tools that its file lists (`named`), so there is
/// no second question. A second question is asked only about files that programs run by themselves or that
/// may hold secrets, and about a tool that took the name of another one.
///
/// | decision about the same call of a model | `named` | result |
/// | --- | --- | --- |
/// | allowed | any | allowed |
/// | a rule asks, or the call always needs a question | any | ask |
/// | the mode asks | yes | allowed, inside the workspace |
/// | the mode asks | no | ask |
/// | a rule or plan mode denies | any | denied |
/// | the mode denies | yes | allowed, inside the workspace |
/// | the mode denies | no | denied; the reason says how to allow it |
pub fn decide_nested(config: &AgentConfig, tool: &ToolSpec, input: &Value, named: bool) -> Verdict {
    let ExplainedVerdict {
        verdict,
        rules,
        reason,
    } = explain_decision(config, tool, input);
    if matches!(verdict, Verdict::Allow { .. }) || plan_mode::refusal(config, tool).is_some() {
        return verdict;
    }
    let (name, named) = (&tool.name, named && !replaces_another(tool) && !has_changed(tool));
    let subject = CallSubject::of_agent(config, tool, input);
    let is_grave = subject.changes_what_runs() || subject.secret().is_some();
    let is_asked = !rules.is_empty() || subject.always_asked().is_some() || is_grave || !named;
    let helps = match verdict {
        Verdict::Ask(_) if is_asked => return verdict,
        Verdict::Deny { .. }
            if !rules.is_empty() || subject.never_allowed().is_some() || subject.always_asked().is_some() =>
        {
            String::new()
        }
        Verdict::Deny { .. } if is_grave => "; a rule that allows exactly this path lets it".to_owned(),
        Verdict::Deny { .. } if !named => {
            format!("; name {name} under `capabilities: tools` in place of `*`, or allow it with a rule")
        }
        _ => {
            return Verdict::Allow {
                outside_workspace: false,
            };
        }
    };
    Verdict::Deny {
        reason: format!("{name} is refused: {reason}{helps}"),
    }
}
