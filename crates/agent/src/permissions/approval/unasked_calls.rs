//! Calls about which nobody is asked: the approval mode or a judge lets them run. A tool that runs programs
//! may put those of such calls into a sandbox, because no person has looked at them.

use agentx_types::{AgentConfig, ApprovalMode, Rule};
use serde_json::Value;

use super::{ExplainedVerdict, Verdict, explain_decision, mode_of, rules_of};

/// Returns whether a call that runs was let run by the mode `auto`, by a judge, or by a rule that names no
/// calls. `approved` says whether somebody decided about this very call.
///
/// | the call | in `auto` | in another mode |
/// | --- | --- | --- |
/// | somebody approved it | yes: `--yes` answers questions too | no |
/// | a rule with a pattern allows it, or it only reads | yes | no |
/// | a rule without a pattern allows it (`allow bash`, `allow *`) | yes | yes |
/// | a judge allowed it, or the tool that makes it was approved while judges may allow calls | yes | yes |
///
/// In the session of a member of a server, `auto` is `ask` ([`decide`](super::decide)).
///
/// ```
/// use agentx_agent::approval::is_unasked;
/// use agentx_agent::fixtures;
/// use agentx_types::ApprovalMode;
/// use serde_json::json;
///
/// let mut config = fixtures::config();
/// let tool = config.tools[1].name.clone();
/// let input = json!({"path": "src/a.rs"});
/// config.approval = ApprovalMode::Ask;
/// assert!(!is_unasked(&config, &tool, &input, true) && !is_unasked(&config, &tool, &input, false));
/// config.approval = ApprovalMode::Auto;
/// assert!(is_unasked(&config, &tool, &input, true));
/// ```
pub fn is_unasked(config: &AgentConfig, tool: &str, input: &Value, approved: bool) -> bool {
    if mode_of(config) == ApprovalMode::Auto {
        return true;
    }
    if approved {
        return false;
    }
    let may_judge = config
        .security
        .as_ref()
        .is_some_and(|settings| settings.judge_allows);
    let spec = config.tools.iter().find(|spec| spec.name == tool);
    let Some(judged) = spec.map(|spec| explain_decision(config, spec, input)) else {
        return may_judge;
    };
    match judged.verdict {
        Verdict::Allow { .. } => is_allowed_as_all(config, &judged),
        _ => may_judge,
    }
}

/// Returns whether rules that name no calls made this verdict.
fn is_allowed_as_all(config: &AgentConfig, judged: &ExplainedVerdict) -> bool {
    let rules = rules_of(config);
    let mut made_by = judged.rules.iter().filter_map(|index| rules.get(*index));
    made_by.any(names_no_calls)
}

fn names_no_calls(rule: &Rule) -> bool {
    let is_open = |pattern: &Option<String>| {
        pattern
            .as_ref()
            .is_none_or(|pattern| pattern.chars().all(|sign| sign == '*'))
    };
    is_open(&rule.argument) && is_open(&rule.path)
}
