//! Explains to front ends how the approval rules decide about a call: the decision and its rule, the rule
//! that "always" would keep, and whether another rule would allow the call.

mod patterns;

use std::path::Path;

use agentx_agent::approval::{
    ExplainedVerdict, Verdict, explain_decision, is_outside_workspace, link_refusal, rules_of, suggested,
};
use agentx_agent::link_targets;
use agentx_agent::pattern::{fits, normalize};
use agentx_types::{AgentConfig, Rule, ToolSpec};
use serde::Serialize;
use serde_json::Value;

pub use patterns::{allows_everything, build_pattern, offered_patterns, with_pattern, with_patterns};

/// The decision about a call, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RulingKind {
    /// The call runs.
    Allow,
    /// A person is asked.
    Ask,
    /// The call is refused.
    Deny,
}

impl From<&Verdict> for RulingKind {
    fn from(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Allow { .. } => Self::Allow,
            Verdict::Ask(_) => Self::Ask,
            Verdict::Deny { .. } => Self::Deny,
        }
    }
}

impl RulingKind {
    /// Returns `allow`, `ask` or `deny`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// The ruling of an agent's rules on a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ruling {
    /// Whether the rules allow the call, ask about it, or refuse it.
    pub decision: RulingKind,
    /// The rule or default that decided, as text.
    pub because: String,
    /// The rules that make it so; none if a default or the mode does.
    pub rules: Vec<Rule>,
    /// The rule that "always" would keep, if a person is asked and not each time, and the rule would allow
    /// the call.
    pub always: Option<Rule>,
    /// The reason why a similar call would still be asked about: an `ask` rule beats the kept `allow` rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub still_asked: Option<String>,
}

impl Ruling {
    /// The ruling about a call of one of an agent's tools.
    pub fn of(config: &AgentConfig, tool: &ToolSpec, input: &Value) -> Self {
        let judgement = explain_decision(config, tool, input);
        let decision = RulingKind::from(&judgement.verdict);
        let keeps = decision == RulingKind::Ask
            && agentx_agent::approval::always_asked(config, tool, input).is_none();
        let always = keeps
            .then(|| suggested(config, tool, input))
            .filter(|kept| !is_useless_rule(config, kept, &tool.name, input));
        let all = rules_of(config);
        let rules = judgement.rules.iter().filter_map(|index| all.get(*index));
        Self {
            decision,
            because: judgement.reason,
            rules: rules.cloned().collect(),
            still_asked: always
                .as_ref()
                .and_then(|kept| still_asked(config, kept, &tool.name, input)),
            always,
        }
    }
}

/// The reason why a tool would refuse a call that the rules or a person allowed: its path leads to `real`
/// through a link, and that is outside the workspace, or a rule applies to that place. `root` is the real
/// path of the workspace. Nobody can be asked any more at that point.
pub fn refused_by_the_tool(
    config: &AgentConfig,
    tool: &ToolSpec,
    input: &Value,
    root: &Path,
    real: &Path,
) -> Option<String> {
    let written = input.get(tool.path_argument.as_ref()?)?.as_str()?;
    let place = match real.strip_prefix(root) {
        // The workspace itself may be reached through a link; rules name it by its unresolved path.
        Ok(inside) => Path::new(&config.workspace).join(inside),
        Err(_) => real.to_owned(),
    };
    let place = normalize("/", &place.to_string_lossy());
    if normalize(&config.workspace, written) == place {
        return None;
    }
    if !real.starts_with(root) && !is_outside_workspace(config, tool, input) {
        return Some(format!("it leads to {place}, outside the workspace"));
    }
    link_refusal(config, tool, input, &place)
}

/// The reason why a tool would refuse to run a command line: `word` in it leads to `real` through a link.
/// `real` is absolute and begins with the workspace's own path if it is inside.
pub fn refused_in_line(
    config: &AgentConfig,
    tool: &ToolSpec,
    input: &Value,
    word: &str,
    real: &Path,
    may_leave: bool,
) -> Option<String> {
    let real = normalize("/", &real.to_string_lossy());
    link_targets::refused_in_line(config, tool, input, word, &real, may_leave)
}

/// The reason why a call would be asked about even with this rule; `None` if it would not, or there
/// is no such tool.
pub fn still_asked(config: &AgentConfig, kept: &Rule, tool: &str, input: &Value) -> Option<String> {
    let judgement = judgement_with(config, kept, tool, input)?;
    matches!(judgement.verdict, Verdict::Ask(_)).then_some(judgement.reason)
}

/// Returns whether a call would be asked about even with this rule, although no other rule asks: it can allow
/// no such call, so nothing should offer to keep it. `false` if the tool does not exist.
pub fn is_useless_rule(config: &AgentConfig, kept: &Rule, tool: &str, input: &Value) -> bool {
    judgement_with(config, kept, tool, input)
        .is_some_and(|judged| matches!(judged.verdict, Verdict::Ask(_)) && judged.rules.is_empty())
}

/// The decision about a call with one more rule; `None` if the tool does not exist.
fn judgement_with(config: &AgentConfig, kept: &Rule, tool: &str, input: &Value) -> Option<ExplainedVerdict> {
    let tool = config.tools.iter().find(|spec| spec.name == tool)?;
    let mut with = config.clone();
    with.rules.push(kept.clone());
    Some(explain_decision(&with, tool, input))
}

/// The reason why a person is asked about every such call, and "always" keeps no rule for it. `None` if
/// rules decide, or if the tool is unknown.
pub fn always_asked(config: &AgentConfig, tool: &str, input: &Value) -> Option<&'static str> {
    let tool = config.tools.iter().find(|spec| spec.name == tool)?;
    agentx_agent::approval::always_asked(config, tool, input)
}

/// Returns whether a rule for tools of this name is about any of these, or about MCP servers, whose tools may
/// become known later.
pub fn names_a_tool(pattern: &str, tools: &[ToolSpec]) -> bool {
    pattern == agentx_agent::MCP || tools.iter().any(|tool| fits(pattern, &tool.name))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use agentx_types::{Access, Guard, RuleEffect};
    use serde_json::json;

    use super::*;

    fn config() -> AgentConfig {
        let read =
            ToolSpec::new("read", "", json!({"type": "object"}), Access::Read).with_path_argument("path");
        let model = serde_json::from_value(json!({"id": "m", "provider": "p", "api": "scripted",
            "context_window": 1000, "max_output_tokens": 10, "prices": {}}));
        AgentConfig {
            workspace: "/ws".into(),
            tools: vec![read].into(),
            guard: Some(Arc::new(Guard {
                secrets: vec!["/**/.ssh/**".into()],
                ..Guard::default()
            })),
            ..AgentConfig::react(model.unwrap())
        }
    }

    fn rule(effect: RuleEffect, path: &str) -> Rule {
        Rule {
            effect,
            tool: "read".into(),
            argument: None,
            path: Some(path.into()),
            workspace: None,
            origin: None,
        }
    }

    #[test]
    fn a_rule_that_allows_no_such_call_is_not_offered() {
        let mut config = config();
        let input = json!({"path": "~/.ssh/id_rsa"});
        let is_useless = |config: &AgentConfig, rule: &Rule| is_useless_rule(config, rule, "read", &input);
        let of_folder = rule(RuleEffect::Allow, "~/**");
        assert!(is_useless(&config, &of_folder));
        assert!(!is_useless(&config, &rule(RuleEffect::Allow, "~/.ssh/id_rsa")));
        assert!(!is_useless_rule(&config, &of_folder, "other", &input));
        let ruling = Ruling::of(&config, &config.tools[0], &input);
        assert_eq!((ruling.decision, ruling.still_asked), (RulingKind::Ask, None));
        assert_eq!(
            ruling.always.and_then(|rule| rule.path).as_deref(),
            Some("~/.ssh/id_rsa")
        );
        // Before version 9 of the rules no rule with `~` allowed such a call.
        config.rules_version = agentx_types::since::HOMES_ARE_KNOWN - 1;
        let ruling = Ruling::of(&config, &config.tools[0], &input);
        assert_eq!((ruling.always, ruling.still_asked), (None, None));
        // A rule that asks is named with the offer.
        config.rules_version = agentx_types::since::HOMES_ARE_KNOWN;
        config.rules.push(rule(RuleEffect::Ask, "**/.ssh/**"));
        config.rules.push(rule(RuleEffect::Ask, "~/.ssh/**"));
        let ruling = Ruling::of(&config, &config.tools[0], &input);
        assert!(ruling.always.is_some() && ruling.still_asked.is_some());
    }
}
