//! Rules that can match no call of a tool, or match it only by chance.
//!
//! The author of such a rule relies on a protection, or a permission, that does not exist; so the
//! configuration reports it. Rules with globs for the tool's name may still match other tools.

use agentx_types::{Rule, RuleEffect, ToolSpec};

use crate::pattern::fits;

/// The reason why this rule, which names the tool, can match no call of it; `None` if it may match one.
///
/// A path needs a tool that takes one; an `allow` of command lines uses only `argument`; and arguments as
/// JSON begin with `{` and end with `}`.
///
/// | rule | tool | reason |
/// | --- | --- | --- |
/// | has a `path` | takes neither a path nor a command line | it takes no path |
/// | allows, has a `path` | takes a command line and no path | it is allowed by `argument` alone |
/// | `argument` that begins with neither `*` nor `{`, or ends with neither `*` nor `}` | takes no command line, declares no reach | JSON begins with `{` and ends with `}` |
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
    let pattern = rule.argument.as_ref().filter(|_| is_compared_as_json(tool))?;
    (!may_be_object(pattern)).then_some(match tool.path_argument {
        Some(_) => {
            "`argument` is matched against its arguments as JSON, which start with `{` and end with `}`; \
             `path` is the pattern of a file"
        }
        None => "`argument` is matched against its arguments as JSON, which start with `{` and end with `}`",
    })
}

/// The reason why a rule matches a call of this tool only by chance, although its `argument` looks like the
/// pattern of a file: it is compared with all arguments as JSON. `None` if `argument` does not look like
/// that, or if it can match no JSON ([`never_about`]).
///
/// ```
/// use agentx_agent::{fixtures, unmatchable_rules::accidental_match};
/// use agentx_types::{Rule, RuleEffect};
///
/// let config = fixtures::config();
/// let argument = Some("**/secret*".into());
/// let rule = Rule {
///     effect: RuleEffect::Deny, tool: "look".into(), argument, path: None, workspace: None, origin: None,
/// };
/// // `{"path":"secret.txt"}` has no slash before the name.
/// assert!(accidental_match(&rule, &config.tools[0]).is_some(), "`look` takes a path");
/// assert_eq!(accidental_match(&rule, &config.tools[2]), None, "`finish` takes none");
/// ```
pub fn accidental_match(rule: &Rule, tool: &ToolSpec) -> Option<&'static str> {
    let pattern = rule.argument.as_ref()?;
    let is_about = rule.path.is_none() && tool.path_argument.is_some() && is_compared_as_json(tool);
    (is_about && may_be_object(pattern) && looks_like_files(pattern)).then_some(
        "`argument` is matched against its arguments as JSON (`{\"path\":\"…\"}`), not against the path; \
         `path` is the pattern of a file",
    )
}

/// Returns the first of the tools that the rule names, with the reason why the rule matches no call of it, or
/// only by chance; `None` if the rule names none of them, or may match a call of one.
pub fn first_mismatch<'a>(rule: &Rule, tools: &'a [ToolSpec]) -> Option<(&'a ToolSpec, &'static str)> {
    let named = tools.iter().filter(|tool| fits(rule.tool_name(), &tool.name));
    let mismatch = |tool: &'a ToolSpec| {
        let why = never_about(rule, tool).or_else(|| accidental_match(rule, tool))?;
        Some((tool, why))
    };
    let mismatched: Vec<_> = named.map(mismatch).collect::<Option<_>>()?;
    mismatched.into_iter().next()
}

/// Returns whether `argument` is compared with all arguments of a call, as one object of JSON. Of a tool that
/// runs programs, it is the command line; of one that sends, it may name a host, and of a server's tool, the
/// server.
fn is_compared_as_json(tool: &ToolSpec) -> bool {
    let reach = tool.reach.as_ref();
    let has_names = reach.is_some_and(|reach| !reach.hosts.is_empty() || reach.mcp.is_some());
    tool.command_argument.is_none() && !has_names && tool.address_argument.is_none()
}

/// Returns whether a pattern may match an object of JSON.
fn may_be_object(pattern: &str) -> bool {
    let has_open_end = pattern.ends_with('*') && !pattern.ends_with("\\*");
    pattern.starts_with(['*', '{']) && (has_open_end || pattern.ends_with('}'))
}

/// Returns whether a pattern looks like one of files: `**/secret*`, `*/.ssh/*`. A quote is one of JSON.
fn looks_like_files(pattern: &str) -> bool {
    let is_plain = !pattern.contains(['"', '{', ' ']);
    is_plain && (pattern.starts_with("**/") || pattern.starts_with("*/") || pattern.contains("/**"))
}
