//! The calls that rules cover, alone or together, and the rule that covers a call from now on.

use agentx_types::{AgentConfig, RULES_VERSION, Rule, RuleEffect, ToolSpec};
use serde_json::Value;

use crate::permissions::call_subject::CallSubject;

/// Returns whether this rule alone applies to a call: an `allow` rule has to cover all of it, other rules any
/// part.
///
/// It uses the latest version of the rules, and neither the guard nor the mode of a configuration. A rule
/// with an `origin` counts as after such text.
///
/// ```
/// use agentx_agent::approval::covers;
/// use agentx_types::{Access, Rule, RuleEffect, ToolSpec};
/// use serde_json::json;
///
/// let bash = ToolSpec::new("bash", "", json!({"type": "object"}), Access::Run).with_command_argument("command");
/// let ls = |effect| Rule {
///     effect, tool: "bash".into(), argument: Some("ls *".into()), path: None, workspace: None, origin: None,
/// };
/// let line = json!({"command": "ls -l; make"});
/// assert!(!covers(&ls(RuleEffect::Allow), "/ws", &bash, &line), "no rule allows `make`");
/// assert!(covers(&ls(RuleEffect::Deny), "/ws", &bash, &line), "`ls` is a part of the line");
/// ```
pub fn covers(rule: &Rule, workspace: &str, tool: &ToolSpec, input: &Value) -> bool {
    let subject = CallSubject::of(workspace, RULES_VERSION, tool, input);
    let rules = std::slice::from_ref(rule);
    match rule.effect {
        RuleEffect::Allow => subject.allowed_by(rules).is_some(),
        effect => subject.first_rule_with(effect, rules).is_some(),
    }
}

/// The rules, by their places, that allow a call together; `None` if they do not.
///
/// A rule for the whole call is returned alone. Otherwise there is one rule for each command of the line, in
/// the order of the commands and without doubles: `git status; ls` is covered by `allow bash: git *` and
/// `allow bash: ls *` together. A part that the configuration lets run because it only reads needs none. The
/// latest version of the rules counts.
pub fn covered_together(
    rules: &[Rule],
    config: &AgentConfig,
    tool: &ToolSpec,
    input: &Value,
) -> Option<Vec<usize>> {
    let newest = AgentConfig {
        rules_version: RULES_VERSION,
        ..config.clone()
    };
    let alone = CallSubject::of(&config.workspace, RULES_VERSION, tool, input).allowed_by(rules);
    alone.or_else(|| CallSubject::of_agent(&newest, tool, input).allowed_by(rules))
}

/// The rule that an answer of "always" would keep for a call, whatever is decided about the call.
///
/// ```
/// use agentx_agent::approval::{describe, suggested};
/// use agentx_agent::fixtures;
/// use agentx_types::RULES_VERSION;
///
/// let mut config = fixtures::config();
/// config.rules_version = RULES_VERSION;
/// let kept = suggested(&config, &config.tools[1], &serde_json::json!({"path": "src/a.rs"}));
/// assert_eq!(describe(&kept), "\"allow change in src/* (only in /ws)\"");
/// ```
pub fn suggested(config: &AgentConfig, tool: &ToolSpec, input: &Value) -> Rule {
    CallSubject::of_agent(config, tool, input).suggested()
}
