//! Calls about which nobody is asked: the approval mode or a judge lets them run, or their command line only
//! reads. A tool that runs programs may put those of such calls into a sandbox, because no person has looked
//! at them: between the look at the files that a line names and its start, another program may put links in
//! their places.

use agentx_types::{AgentConfig, ApprovalMode, Rule, ToolSpec};
use serde_json::Value;

use super::reading::read_unasked;
use super::{ExplainedVerdict, Verdict, explain_decision, mode_of, rules_of};
use crate::permissions::wildcards::names_program;

/// Returns whether a call that runs was let run by the mode `auto`, by a judge, by a rule that names no
/// calls, or because its command line only reads. `approved` says whether somebody decided about this very
/// call.
///
/// | the call | in `auto` | in another mode |
/// | --- | --- | --- |
/// | somebody approved it | yes: `--yes` answers questions too | no |
/// | a rule that names the program allows it | yes | no |
/// | a command line that only reads the workspace, without a rule ([`unasked_reading`](super::unasked_reading)) | yes | yes |
/// | a rule without a pattern, or whose pattern names no program, allows it (`allow bash`, `allow bash "* -v"`) | yes | yes |
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
    let Some(spec) = spec else { return may_judge };
    let judged = explain_decision(config, spec, input);
    match judged.verdict {
        Verdict::Allow { .. } => {
            is_allowed_as_all(config, spec, &judged) || read_unasked(config, spec, input, &judged).is_some()
        }
        _ => may_judge,
    }
}

/// Returns whether a rule that names no calls of the tool is among those that made this verdict.
fn is_allowed_as_all(config: &AgentConfig, tool: &ToolSpec, judged: &ExplainedVerdict) -> bool {
    let rules = rules_of(config);
    let mut made_by = judged.rules.iter().filter_map(|index| rules.get(*index));
    made_by.any(|rule| names_no_calls(rule, tool))
}

/// Returns whether a rule leaves open which calls of the tool it is about. For a tool that runs commands, the
/// pattern has to name the program: a path does not tell which one runs there.
fn names_no_calls(rule: &Rule, tool: &ToolSpec) -> bool {
    let argument = rule.argument.as_deref();
    if tool.command_argument.is_some() {
        return !argument.is_some_and(names_program);
    }
    let is_bare = |pattern: &str| {
        let named = pattern.strip_prefix("to ").unwrap_or(pattern);
        !named.contains(char::is_alphanumeric)
    };
    argument.is_none_or(is_bare) && rule.path.as_deref().is_none_or(is_bare)
}
