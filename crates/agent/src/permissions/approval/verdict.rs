//! The verdict about a call, with its reasons, and how each kind of verdict is made.

use agentx_types::{AskedQuestion, RiskVerdict, Rule, RuleEffect};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::permissions::call_subject::CallSubject;
use crate::permissions::rule_words::in_reason;

/// The decision about a call.
///
/// | verdict | the call |
/// | --- | --- |
/// | `Allow` | runs; a tool that opens files keeps to the workspace unless `outside_workspace` is true |
/// | `Ask` | waits until an `approval` names it, a changed rule or mode decides, or the run is stopped |
/// | `Deny` | is not run; the model reads `Not allowed: REASON.` |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Verdict {
    /// Allow the call.
    Allow {
        /// Whether it may also touch files outside the workspace.
        outside_workspace: bool,
    },
    /// Ask a person about the call.
    Ask(Question),
    /// Refuse the call.
    Deny {
        /// The rule or default that decided.
        reason: String,
    },
}

/// The question to a person, and the rule that an answer of "always" would keep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The rule or default that asks.
    pub reason: String,
    /// The rule that "always" would keep.
    pub suggested: Rule,
    /// Whether the settings of the session's server would ask too, so that it takes more than a role in the
    /// session to allow the call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_server: bool,
    /// For a question to a person: the JSON Schema of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Box<Value>>,
    /// Set if the person answers in words: the call is the model's own question (`ask_user`),
    /// continues a loop, waits at a limit, or has an unknown outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Box<AskedQuestion>>,
    /// Whether it asks whether a loop may go on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_about_loop: bool,
    /// Whether it asks whether a run that reached a limit may continue.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_about_limit: bool,
    /// The verdicts of analyzers about the call; none if it was not assessed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub risk: Vec<RiskVerdict>,
    /// For a question about what became of a call that a crash interrupted: the result of the call if nobody
    /// answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Box<str>>,
}

impl Question {
    /// A question about a call, with its reason and the rule that "always" would keep.
    pub(crate) fn new(reason: String, suggested: Rule) -> Self {
        Self {
            reason,
            suggested,
            by_server: false,
            form: None,
            asked: None,
            is_about_loop: false,
            is_about_limit: false,
            risk: Vec::new(),
            outcome: None,
        }
    }

    /// A question of the machine itself, which no rule asks: "always" would allow the tool.
    pub(crate) fn of_machine(reason: &str, tool: &str) -> Self {
        let suggested = Rule {
            effect: RuleEffect::Allow,
            tool: tool.to_owned(),
            argument: None,
            path: None,
            workspace: None,
            origin: None,
        };
        Self::new(reason.to_owned(), suggested)
    }
}

/// A verdict, and its reasons.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedVerdict {
    /// Whether the call is allowed, refused, or a person is asked.
    pub verdict: Verdict,
    /// The rules that made it, by their place in [`rules_of`](super::rules_of); none if a default or the mode
    /// did.
    pub rules: Vec<usize>,
    /// The rule or default that decided, as text.
    pub reason: String,
}

/// A question, with the rule that "always" would keep.
pub(super) fn asked(subject: &CallSubject<'_>, reason: String, rules: Vec<usize>) -> ExplainedVerdict {
    ExplainedVerdict {
        verdict: Verdict::Ask(Question::new(reason.clone(), subject.suggested())),
        rules,
        reason,
    }
}

/// A judgement that allows the call.
pub(super) fn allowed(outside_workspace: bool, reason: String, rules: Vec<usize>) -> ExplainedVerdict {
    ExplainedVerdict {
        verdict: Verdict::Allow { outside_workspace },
        rules,
        reason,
    }
}

/// A judgement that refuses the call.
pub(super) fn denied(reason: String, rules: Vec<usize>) -> ExplainedVerdict {
    ExplainedVerdict {
        verdict: Verdict::Deny {
            reason: reason.clone(),
        },
        rules,
        reason,
    }
}

/// The words for rules that allow a call together.
pub(super) fn by(rules: &[Rule], which: &[usize], version: u32) -> String {
    let words = which.iter().map(|index| in_reason(&rules[*index], version));
    let words: Vec<String> = words.collect();
    match words.len() {
        1 => format!("the rule {} allows it", words.concat()),
        _ => format!("the rules {} allow it", words.join(" and ")),
    }
}
