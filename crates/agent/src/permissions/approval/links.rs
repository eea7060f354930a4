//! Judges a call by the place to which its path really leads.
//!
//! Rules see the path as it is written, because the machine reads no disk. A link in it may lead to a file
//! that a rule protects under its own name. The tool sees that, and calls this module with the real path
//! before it acts:
//!
//! | the written path | the real path | the call |
//! | --- | --- | --- |
//! | allowed | allowed | runs |
//! | allowed | asked about, or denied | is refused; the reason names the real path |
//! | asked about, and a person agreed | asked about for the same reason | runs |
//! | asked about, and a person agreed | holds secrets, or is run by programs | is refused: the person agreed to another file |

use agentx_types::{AgentConfig, ToolSpec};
use serde_json::Value;

use super::{Verdict, decide, explain_decision};
use crate::permissions::call_subject::CallSubject;

/// The reason against a call whose path leads through a link to `real`, which is absolute and normal: a rule
/// that does not match the written path may match this one.
///
/// Only the tool that acts can see where a path leads, so it asks this before it does anything.
///
/// `None` also if the tool has no path argument.
///
/// ```
/// use agentx_agent::{approval::link_refusal, fixtures};
/// use agentx_types::{ApprovalMode, Rule, RuleEffect};
///
/// let mut config = fixtures::config();
/// config.approval = ApprovalMode::Ask;
/// let path = Some("secret/**".into());
/// config.rules = vec![Rule {
///     effect: RuleEffect::Deny, tool: "look".into(), argument: None, path, workspace: None, origin: None,
/// }];
/// let written = serde_json::json!({"path": "notes"});
/// let refused = |real: &str| link_refusal(&config, &config.tools[0], &written, real);
/// assert_eq!(refused("/ws/docs/notes"), None);
/// assert!(refused("/ws/secret/notes").is_some_and(|why| why.starts_with("it leads to /ws/secret/notes, and ")));
/// ```
pub fn link_refusal(config: &AgentConfig, tool: &ToolSpec, input: &Value, real: &str) -> Option<String> {
    let mut there = input.clone();
    let argument = tool.path_argument.as_ref()?;
    there.as_object_mut()?.insert(argument.clone(), real.into());
    let strictness = |verdict: &Verdict| match verdict {
        Verdict::Allow { .. } => 0,
        Verdict::Ask(_) => 1,
        Verdict::Deny { .. } => 2,
    };
    let written = decide(config, tool, input);
    let judged = explain_decision(config, tool, &there);
    // Approval of the link's name does not cover a more sensitive target.
    let (here, behind) = (
        CallSubject::of_agent(config, tool, input),
        CallSubject::of_agent(config, tool, &there),
    );
    let is_graver = (behind.changes_what_runs() && !here.changes_what_runs())
        || (behind.secret().is_some() && here.secret().is_none());
    let asks = matches!(judged.verdict, Verdict::Ask(_));
    (strictness(&judged.verdict) > strictness(&written) || (asks && is_graver))
        .then(|| format!("it leads to {real}, and {}", judged.reason))
}
