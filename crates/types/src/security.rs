//! The risk of calls, as analyzers assess it before the rules decide.
//!
//! An agent whose configuration names analyzers asks each of them about a call, by an action on the topic
//! `security.requests` with the name of the analyzer as its key. An analyzer answers with one fact, and the
//! decision follows from these facts; so a replay, a fork or a mirror needs no analyzer. A verdict is a
//! claim: it makes a decision stricter, and freer only if the person's own settings say so
//! ([`SecuritySettings::judge_allows`]).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::vocabulary::payloads;
use crate::{EffectBill, ModelSpec, ToolCallId, ToolSpec};

/// The name of the built-in analyzer, which reads command lines, paths and the origin of words.
pub const RULES_ANALYZER: &str = "rules";
/// The name of the analyzer that asks a model.
pub const MODEL_ANALYZER: &str = "model";
/// The time limit of an analyzer if none is set, in milliseconds.
pub const ANALYZER_TIMEOUT_MS: u64 = 30_000;
/// Maximum number of characters of a reason; longer ones are cut.
pub const MAX_RISK_REASON: usize = 400;

/// The risk of a call. They are ordered: the highest of several is the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SecurityRisk {
    /// The risk is not known: the analyzer is missing, failed, or gave no verdict in time.
    #[default]
    Unknown,
    /// It changes what is easily restored, or nothing.
    Low,
    /// It may delete something, reach other machines, or run what cannot be read from it.
    Medium,
    /// It may destroy, leak or install something that nobody asked for.
    High,
}

impl SecurityRisk {
    /// The risk as people read it: `UNKNOWN`, `LOW`, `MEDIUM` or `HIGH`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "UNKNOWN",
            Self::Low => "LOW",
            Self::Medium => "MEDIUM",
            Self::High => "HIGH",
        }
    }
}

/// The decision that an analyzer proposes, if it is a judge. They are ordered: the strictest is the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum JudgeDecision {
    /// The call may run.
    Allow,
    /// A person should decide.
    Ask,
    /// The call should not run; a person may overrule that.
    Refuse,
}

/// The calls that need a person's decision because of their risk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ConfirmationPolicy {
    /// Each assessed call.
    Always,
    /// None: the risk is recorded and shown with questions, and changes no decision.
    Never,
    /// Those with at least the risk of the threshold, and those that a judge asks about or refuses.
    #[default]
    Risky,
}

/// The analyzers of an agent, and the decisions that follow from their verdicts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SecuritySettings {
    /// The analyzers, each asked about each call; the highest risk counts. Nothing is assessed without any.
    pub analyzers: Vec<AnalyzerSpec>,
    /// The calls that need a person's decision.
    #[serde(default)]
    pub policy: ConfirmationPolicy,
    /// The lowest risk that needs a decision with the policy `risky`.
    pub threshold: SecurityRisk,
    /// Whether a call whose risk an analyzer does not know needs a decision with the policy `risky`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks_unknown: bool,
    /// Whether a judge may allow a call that no rule is about and that a person would be asked about. Only
    /// the person's own settings set it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub judge_allows: bool,
}

impl Default for SecuritySettings {
    fn default() -> Self {
        Self {
            analyzers: Vec::new(),
            policy: ConfirmationPolicy::Risky,
            threshold: SecurityRisk::High,
            asks_unknown: true,
            judge_allows: false,
        }
    }
}

/// An analyzer of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AnalyzerSpec {
    /// Its name, by which a responder serves it: `rules`, `model`, or one of the person's settings.
    pub name: String,
    /// The maximum time for a verdict, in milliseconds; after it the risk is unknown.
    pub timeout_ms: u64,
    /// The model to ask, for [`MODEL_ANALYZER`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Box<ModelSpec>>,
}

impl AnalyzerSpec {
    /// An analyzer with the usual time limit and no model.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            timeout_ms: ANALYZER_TIMEOUT_MS,
            model: None,
        }
    }
}

/// Assess the risk of a call. It has everything that an analyzer may know: no output of a tool is part of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AssessRisk {
    /// The call.
    pub tool_call_id: ToolCallId,
    /// The analyzer that is asked.
    pub analyzer: AnalyzerSpec,
    /// The tool that the call names.
    pub tool: Box<ToolSpec>,
    /// The arguments.
    pub input: Value,
    /// The directory that the agent works in.
    pub workspace: String,
    /// The task in the person's words, shortened if it is long.
    pub task: String,
    /// Signs that words of the call come from outside, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// Decisions of people about earlier assessed calls, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decided: Vec<DecidedCall>,
}

/// A person's decision about a call that an analyzer had assessed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecidedCall {
    /// The tool and its arguments, shortened if they are long.
    pub call: String,
    /// The verdicts of the analyzers, in words.
    pub verdict: String,
    /// Whether the person allowed it.
    pub allowed: bool,
}

/// The verdict of one analyzer about a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RiskVerdict {
    /// The name of the analyzer.
    pub analyzer: String,
    /// The risk.
    pub risk: SecurityRisk,
    /// The reason, for people.
    pub reason: String,
    /// The proposed decision, if the analyzer is a judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<JudgeDecision>,
}

impl RiskVerdict {
    /// The verdict of an analyzer that gave none.
    pub fn unknown(analyzer: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            analyzer: analyzer.into(),
            risk: SecurityRisk::Unknown,
            reason: reason.into(),
            decision: None,
        }
    }
}

payloads! {
    /// An analyzer has assessed a call. The `cause` is the action that asked for it.
    RiskAssessed {
        /// The call.
        tool_call_id: ToolCallId,
        /// The name of the analyzer.
        analyzer: String,
        /// The risk.
        risk: SecurityRisk,
        /// The reason, for people.
        reason: String,
        /// The proposed decision, if the analyzer is a judge.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decision: Option<JudgeDecision>,
        /// The cost, if a model was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bill: Option<Box<EffectBill>>,
    }
}

impl RiskAssessed {
    /// The fact about a verdict. A long reason is cut.
    pub fn of(tool_call_id: ToolCallId, verdict: RiskVerdict, bill: Option<Box<EffectBill>>) -> Self {
        Self {
            tool_call_id,
            analyzer: verdict.analyzer,
            risk: verdict.risk,
            reason: shortened(&verdict.reason, MAX_RISK_REASON),
            decision: verdict.decision,
            bill,
        }
    }

    /// The verdict in it.
    pub fn verdict(&self) -> RiskVerdict {
        RiskVerdict {
            analyzer: self.analyzer.clone(),
            risk: self.risk,
            reason: shortened(&self.reason, MAX_RISK_REASON),
            decision: self.decision,
        }
    }
}

/// A text in one line of at most this many characters; a longer one ends with `…`.
pub fn shortened(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_are_read_as_they_were_written_and_grow() {
        let settings = SecuritySettings {
            analyzers: vec![AnalyzerSpec::new(RULES_ANALYZER)],
            judge_allows: true,
            ..SecuritySettings::default()
        };
        let written = json!({
            "analyzers": [{"name": "rules", "timeout_ms": 30_000}], "policy": "risky", "threshold": "high",
            "asks_unknown": true, "judge_allows": true,
        });
        assert_eq!(serde_json::to_value(&settings).unwrap(), written);
        assert_eq!(
            serde_json::from_value::<SecuritySettings>(written).unwrap(),
            settings
        );
        let small: SecuritySettings =
            serde_json::from_value(json!({"analyzers": [], "threshold": "low"})).unwrap();
        assert!(
            !small.judge_allows && !small.asks_unknown,
            "what is not said allows nothing"
        );
    }

    #[test]
    fn a_long_reason_is_one_line_and_cut() {
        let verdict = RiskVerdict::unknown("model", format!("a\nb {}", "é".repeat(900)));
        let fact = RiskAssessed::of("call_1".into(), verdict, None);
        assert!(fact.reason.starts_with("a b é") && fact.reason.ends_with('…'));
        assert_eq!(fact.reason.chars().count(), MAX_RISK_REASON + 1);
    }
}
