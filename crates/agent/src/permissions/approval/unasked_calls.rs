//! Calls about which nobody is asked: the approval mode or a judge lets them run. A tool that runs programs
//! may put those of such calls into a sandbox, because no person has looked at them.

use agentx_types::{AgentConfig, ApprovalMode};
use serde_json::Value;

use super::{Verdict, explain_decision, mode_of};

/// Returns whether a call that runs was let run by the mode `auto` or by a judge. `approved` says whether
/// somebody decided about this very call.
///
/// | the call | in `auto` | in another mode |
/// | --- | --- | --- |
/// | somebody approved it | yes: `--yes` answers questions too | no |
/// | a rule allows it, or it only reads | yes | no |
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
    let may_judge = config
        .security
        .as_ref()
        .is_some_and(|settings| settings.judge_allows);
    if approved || !may_judge {
        return false;
    }
    let spec = config.tools.iter().find(|spec| spec.name == tool);
    spec.is_none_or(|spec| {
        !matches!(
            explain_decision(config, spec, input).verdict,
            Verdict::Allow { .. }
        )
    })
}
