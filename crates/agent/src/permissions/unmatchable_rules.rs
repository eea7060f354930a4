//! Rules that can match no call of a tool.
//!
//! The author of such a rule relies on a protection, or a permission, that does not exist; so the
//! configuration reports it as an error. Rules with globs for the tool's name may still match other tools.

use agentx_types::{Rule, RuleEffect, ToolSpec};

/// The reason why this rule, which names the tool, can match no call of it; `None` if it may match one.
///
/// A path needs a tool that takes one; an `allow` of command lines uses only `argument`; and arguments as
/// JSON begin with `{`.
///
/// | rule | tool | reason |
/// | --- | --- | --- |
/// | has a `path` | takes neither a path nor a command line | it takes no path |
/// | allows, has a `path` | takes a command line and no path | it is allowed by `argument` alone |
/// | `argument` that begins with neither `*` nor `{` | takes no command line, declares no reach | JSON begins with `{` |
///
/// ```
/// use agentx_agent::{fixtures, unmatchable_rules::never_about};
/// use agentx_types::{Rule, RuleEffect};
///
/// let config = fixtures::config();
/// let path = Some("src/**".into());
/// let rule = Rule {
///     effect: RuleEffect::Deny, tool: "*".into(), argument: None, path, workspace: None, origin: None,
/// };
/// assert_eq!(never_about(&rule, &config.tools[0]), None, "`look` takes a path");
/// assert_eq!(never_about(&rule, &config.tools[2]), Some("it takes no path"), "`finish` takes none");
/// ```
pub fn never_about(rule: &Rule, tool: &ToolSpec) -> Option<&'static str> {
    let runs_commands = tool.command_argument.is_some();
    if rule.path.is_some() && tool.path_argument.is_none() {
        match (runs_commands, rule.effect) {
            (false, _) => return Some("it takes no path"),
            // The paths in a command line are known well enough to refuse it, but not to allow it.
            (true, RuleEffect::Allow) => return Some("it is allowed by `argument` alone"),
            (true, _) => {}
        }
    }
    // All its arguments are one object of JSON; of a tool that sends, the pattern may name a host, and of a
    // server's tool, the server.
    let is_object = |pattern: &String| pattern.starts_with(['*', '{']);
    let reach = tool.reach.as_ref();
    let has_names = reach.is_some_and(|reach| !reach.hosts.is_empty() || reach.mcp.is_some());
    let is_by_object = !runs_commands && !has_names && tool.address_argument.is_none();
    let never = is_by_object && rule.argument.as_ref().is_some_and(|pattern| !is_object(pattern));
    never.then_some("`argument` is matched against its arguments as JSON, which start with `{`")
}
