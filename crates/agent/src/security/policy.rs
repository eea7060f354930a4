//! The decision about a call after analyzers have assessed it.
//!
//! | rules and mode | verdicts | decision |
//! | --- | --- | --- |
//! | deny | any | deny |
//! | allow | the policy asks about them | ask; deny if the mode is `deny` |
//! | allow | a judge refuses | deny; a person may overrule it |
//! | allow | any others | allow |
//! | ask | a judge may allow here, and does; every risk is known and below the threshold | allow |
//! | ask | a judge may allow here, and refuses | deny; a person may overrule it |
//! | ask | any others | ask, with the risk in the reason |
//!
//! A judge may allow only if the person's settings say so, and only a call that no rule is about, that names
//! no file with secrets or outside of the workspace, that changes no file which programs run or agents read,
//! and that no server asks about. A command line must name no such file at all, and hide none
//! ([`crate::files::special_files`]). With the policy `never`, a verdict is shown and changes nothing.

use agentx_types::{
    Access, AgentConfig, ApprovalMode, ConfirmationPolicy, JudgeDecision, RiskVerdict, SecurityRisk,
    SecuritySettings, ToolSpec, since,
};
use serde_json::Value;

use crate::permissions::approval::{self, ExplainedVerdict, Verdict};
use crate::permissions::call_subject::CallSubject;

/// A decision about an assessed call.
#[derive(Clone, Debug, PartialEq)]
pub struct AssessedDecision {
    /// Whether the call is allowed, refused, or a person is asked.
    pub verdict: Verdict,
    /// Whether it is a refusal by a judge, which a person may overrule.
    pub by_judge: bool,
}

/// Returns whether analyzers assess a call before it is decided: the rules do not deny it, and it does more
/// than read inside the workspace. `false` if the configuration names no analyzer.
pub fn needs_assessment(config: &AgentConfig, tool: &ToolSpec, input: &Value, verdict: &Verdict) -> bool {
    let is_on = config.rules_version >= since::RISK_IS_ASSESSED
        && config
            .security
            .as_ref()
            .is_some_and(|settings| !settings.analyzers.is_empty());
    let is_special = || tool.access > Access::Read || approval::is_outside_workspace(config, tool, input);
    is_on
        && tool.access != Access::Internal
        && match verdict {
            Verdict::Deny { .. } => false,
            Verdict::Ask(_) => true,
            Verdict::Allow { .. } => is_special(),
        }
}

/// The verdicts in words, as a question and a judge read them: `model: HIGH: it deletes a database`.
pub fn verdict_words(verdicts: &[RiskVerdict]) -> String {
    let words = |verdict: &RiskVerdict| {
        format!(
            "{}: {}: {}",
            verdict.analyzer,
            verdict.risk.as_str(),
            verdict.reason
        )
    };
    verdicts.iter().map(words).collect::<Vec<_>>().join("; ")
}

/// Decides about a call by the rules and these verdicts. Without settings, or with the policy `never`, only
/// the rules decide.
pub fn decide_assessed(
    config: &AgentConfig,
    tool: &ToolSpec,
    input: &Value,
    verdicts: &[RiskVerdict],
) -> AssessedDecision {
    decide_after(
        config,
        tool,
        input,
        verdicts,
        approval::explain_decision(config, tool, input),
    )
}

/// Decides about a call that a running tool wants to make, by the rules and these verdicts
/// ([`approval::decide_nested`]).
pub(crate) fn decide_nested_assessed(
    config: &AgentConfig,
    tool: &ToolSpec,
    input: &Value,
    named: bool,
    verdicts: &[RiskVerdict],
) -> Verdict {
    let ruled = ExplainedVerdict {
        verdict: approval::decide_nested(config, tool, input, named),
        ..approval::explain_decision(config, tool, input)
    };
    decide_after(config, tool, input, verdicts, ruled).verdict
}

/// Applies the verdicts to the decision of the rules.
fn decide_after(
    config: &AgentConfig,
    tool: &ToolSpec,
    input: &Value,
    verdicts: &[RiskVerdict],
    ruled: ExplainedVerdict,
) -> AssessedDecision {
    let by_rules = |verdict| AssessedDecision {
        verdict,
        by_judge: false,
    };
    let Some(settings) = config.security.as_deref().filter(|_| !verdicts.is_empty()) else {
        return by_rules(ruled.verdict);
    };
    let judged = Judgement::of(settings, verdicts);
    match ruled.verdict {
        Verdict::Deny { reason } => by_rules(Verdict::Deny { reason }),
        Verdict::Allow { .. } if judged.refuses => judged.refusal(),
        Verdict::Allow { .. } if judged.asks && config.approval == ApprovalMode::Deny => {
            by_rules(Verdict::Deny {
                reason: format!("{}, and nobody can be asked", judged.reason),
            })
        }
        Verdict::Allow { .. } if judged.asks => by_rules(Verdict::Ask(approval::risk_question(
            config,
            tool,
            input,
            &judged.reason,
        ))),
        Verdict::Allow { outside_workspace } => by_rules(Verdict::Allow { outside_workspace }),
        Verdict::Ask(mut question) => {
            let special = CallSubject::of_agent(config, tool, input).special_files();
            let may_allow = settings.judge_allows
                && ruled.rules.is_empty()
                && !question.by_server
                && special.is_none()
                && is_plain(config, tool, input);
            if may_allow && judged.allows {
                return by_rules(Verdict::Allow {
                    outside_workspace: false,
                });
            }
            if settings.judge_allows && judged.refuses {
                return judged.refusal();
            }
            let bound = special.filter(|_| settings.judge_allows && judged.allows);
            let bound = bound.map_or_else(String::new, |why| format!("; no judge decides about it: {why}"));
            question.reason = format!("{}; {}{bound}", question.reason, judged.reason);
            by_rules(Verdict::Ask(question))
        }
    }
}

/// Returns whether nothing about a call is special, so that a judge may allow it.
fn is_plain(config: &AgentConfig, tool: &ToolSpec, input: &Value) -> bool {
    let subject = CallSubject::of_agent(config, tool, input);
    let rules = approval::rules_of(config);
    !subject.is_outside()
        && subject.secret().is_none()
        && subject.folder_around_own().is_none()
        && !subject.changes_what_runs()
        && !subject.is_too_much_for(&rules)
        && subject.asked_whatever_rules_say(&rules).is_none()
}

/// The verdicts of all analyzers together, under the policy of the settings.
struct Judgement {
    /// The verdicts in words.
    reason: String,
    /// Whether a judge refuses the call.
    refuses: bool,
    /// Whether a person has to decide.
    asks: bool,
    /// Whether a judge allows the call, and nothing speaks against it.
    allows: bool,
}

impl Judgement {
    fn of(settings: &SecuritySettings, verdicts: &[RiskVerdict]) -> Self {
        let highest = verdicts
            .iter()
            .map(|verdict| verdict.risk)
            .max()
            .unwrap_or_default();
        let is_unknown = verdicts
            .iter()
            .any(|verdict| verdict.risk == SecurityRisk::Unknown);
        let decision = verdicts.iter().filter_map(|verdict| verdict.decision).max();
        let is_risky = highest >= settings.threshold && highest != SecurityRisk::Unknown;
        let is_judged = settings.policy != ConfirmationPolicy::Never;
        let asks = match settings.policy {
            ConfirmationPolicy::Never => false,
            ConfirmationPolicy::Always => true,
            ConfirmationPolicy::Risky => {
                is_risky || (is_unknown && settings.asks_unknown) || decision == Some(JudgeDecision::Ask)
            }
        };
        Self {
            reason: format!("risk {}", verdict_words(verdicts)),
            refuses: is_judged && decision == Some(JudgeDecision::Refuse),
            asks,
            allows: is_judged && !asks && !is_risky && !is_unknown && decision == Some(JudgeDecision::Allow),
        }
    }

    /// The refusal by a judge.
    fn refusal(self) -> AssessedDecision {
        AssessedDecision {
            verdict: Verdict::Deny {
                reason: format!("{}; a person may overrule this", self.reason),
            },
            by_judge: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use agentx_types::{AnalyzerSpec, RULES_VERSION, Rule, RuleEffect};
    use serde_json::json;

    use super::*;
    use crate::fixtures;

    use ConfirmationPolicy::{Always, Never, Risky};
    use JudgeDecision::{Allow, Ask, Refuse};
    use SecurityRisk::{High, Low, Medium, Unknown};

    fn config(policy: ConfirmationPolicy, judge_allows: bool) -> AgentConfig {
        AgentConfig {
            rules_version: RULES_VERSION,
            approval: ApprovalMode::Ask,
            security: Some(Box::new(SecuritySettings {
                analyzers: vec![AnalyzerSpec::new("model")],
                policy,
                judge_allows,
                ..SecuritySettings::default()
            })),
            ..fixtures::config()
        }
    }

    /// The decision in one word about a call of `change` on `path`, after one verdict.
    fn decided(
        config: &AgentConfig,
        path: &str,
        risk: SecurityRisk,
        said: Option<JudgeDecision>,
    ) -> &'static str {
        let verdict = RiskVerdict {
            analyzer: "model".into(),
            risk,
            reason: "made up".into(),
            decision: said,
        };
        let made = decide_assessed(config, &config.tools[1], &json!({ "path": path }), &[verdict]);
        match made.verdict {
            Verdict::Allow { .. } => "allow",
            Verdict::Ask(_) => "ask",
            Verdict::Deny { .. } if made.by_judge => "refuse",
            Verdict::Deny { .. } => "deny",
        }
    }

    fn rule(effect: RuleEffect) -> Rule {
        Rule {
            effect,
            tool: "change".into(),
            argument: None,
            path: None,
            workspace: None,
            origin: None,
        }
    }

    #[test]
    fn a_verdict_makes_an_allowed_call_only_stricter() {
        for (policy, risk, said, expected) in [
            (Risky, Low, None, "allow"),
            (Risky, Medium, Some(Allow), "allow"),
            (Risky, High, Some(Allow), "ask"),
            (Risky, Unknown, None, "ask"),
            (Risky, Low, Some(Ask), "ask"),
            (Risky, Low, Some(Refuse), "refuse"),
            (Always, Low, Some(Allow), "ask"),
            (Never, High, Some(Refuse), "allow"),
        ] {
            let mut config = config(policy, false);
            config.rules = vec![rule(RuleEffect::Allow)];
            assert_eq!(
                decided(&config, "a", risk, said),
                expected,
                "{policy:?} {risk:?} {said:?}"
            );
        }
    }

    #[test]
    fn only_the_settings_of_the_person_let_a_judge_allow() {
        for (judge_allows, risk, said, expected) in [
            (false, Low, Some(Allow), "ask"),
            (true, Low, Some(Allow), "allow"),
            (true, Low, None, "ask"),
            (true, High, Some(Allow), "ask"),
            (true, Unknown, Some(Allow), "ask"),
            (true, Low, Some(Ask), "ask"),
            (true, Low, Some(Refuse), "refuse"),
            (false, Low, Some(Refuse), "ask"),
        ] {
            let config = config(Risky, judge_allows);
            assert_eq!(
                decided(&config, "a", risk, said),
                expected,
                "{judge_allows} {risk:?} {said:?}"
            );
        }
    }

    #[test]
    fn a_judge_allows_nothing_that_a_rule_is_about_or_that_is_special() {
        let config = config(Risky, true);
        for path in ["../a", "/srv/a", ".git/hooks/pre-commit", "AGENTS.md"] {
            assert_eq!(decided(&config, path, Low, Some(Allow)), "ask", "{path}");
        }
        for (effect, expected) in [(RuleEffect::Ask, "ask"), (RuleEffect::Deny, "deny")] {
            let mut config = config.clone();
            config.rules = vec![rule(effect)];
            assert_eq!(decided(&config, "a", Low, Some(Allow)), expected);
        }
        let mut config = config.clone();
        config.server_rules = Some(std::sync::Arc::default());
        assert_eq!(decided(&config, "a", Low, Some(Allow)), "ask", "its server asks");
    }

    #[test]
    fn nobody_is_asked_in_the_mode_deny() {
        let mut config = config(Risky, false);
        config.approval = ApprovalMode::Deny;
        config.rules = vec![rule(RuleEffect::Allow)];
        assert_eq!(decided(&config, "a", High, None), "deny");
        config.approval = ApprovalMode::Auto;
        config.rules.clear();
        assert_eq!(
            decided(&config, "a", High, None),
            "ask",
            "`auto` asks about a risk"
        );
    }

    #[test]
    fn the_highest_risk_of_several_counts_and_one_unknown_is_not_forgotten() {
        let settings = SecuritySettings::default();
        let verdict = |risk| RiskVerdict {
            risk,
            ..RiskVerdict::unknown("a", "made up")
        };
        assert!(Judgement::of(&settings, &[verdict(Low), verdict(High)]).asks);
        assert!(Judgement::of(&settings, &[verdict(Low), verdict(Unknown)]).asks);
        assert!(!Judgement::of(&settings, &[verdict(Low), verdict(Medium)]).asks);
    }
}
