//! Command lines that run without a question because they, or the parts that no rule covers, only read the
//! workspace. The machine judges their text; the tool that runs one looks at the disk for the rest of the
//! proof: programs of the workspace in `PATH`, and files with secrets among those whose content the line
//! would show.

use agentx_types::{AgentConfig, ApprovalMode, ToolSpec};
use serde_json::Value;

use super::{ExplainedVerdict, Verdict, explain_decision, mode_of, rules_of};
use crate::commands::reading_commands::ReadingLine;
use crate::permissions::call_subject::CallSubject;

/// The effects of a command line that runs only because it reads the workspace and does nothing else, or of
/// the parts of a line that run for this reason beside commands of rules; `None` if rules, a person or the
/// mode let all of it run.
///
/// ```
/// use agentx_agent::{approval::unasked_reading, fixtures};
/// use agentx_types::{Access, ApprovalMode, Guard, RULES_VERSION, ToolSpec};
/// use serde_json::json;
///
/// let mut config = fixtures::config();
/// (config.approval, config.rules_version) = (ApprovalMode::Ask, RULES_VERSION);
/// config.guard = Some(Guard { reading_commands: true, ..Guard::default() }.into());
/// let bash = ToolSpec::new("bash", "", json!({"type": "object"}), Access::Run);
/// let bash = bash.with_command_argument("command");
/// let of = |line: &str| unasked_reading(&config, &bash, &json!({ "command": line }));
/// assert!(of("ls -la").is_some_and(|reading| reading.programs == ["ls"]));
/// assert!(of("rm a").is_none());
/// ```
pub fn unasked_reading(config: &AgentConfig, tool: &ToolSpec, input: &Value) -> Option<ReadingLine> {
    if mode_of(config) == ApprovalMode::Auto {
        return None;
    }
    let judged = explain_decision(config, tool, input);
    if !judged.rules.is_empty() && matches!(judged.verdict, Verdict::Allow { .. }) {
        return CallSubject::of_agent(config, tool, input).read_beside_rules(&rules_of(config));
    }
    read_unasked(config, tool, input, &judged)
}

/// The effects of a command line that this verdict lets run only because of them.
pub(super) fn read_unasked(
    config: &AgentConfig,
    tool: &ToolSpec,
    input: &Value,
    judged: &ExplainedVerdict,
) -> Option<ReadingLine> {
    let is_unasked = matches!(judged.verdict, Verdict::Allow { .. }) && judged.rules.is_empty();
    is_unasked
        .then(|| CallSubject::of_agent(config, tool, input).reads_workspace())
        .flatten()
}
