//! Rules of Claude Code as rules of ours (<https://code.claude.com/docs/en/permissions>): `Bash(git push:*)`,
//! `Read(./.env)`, `WebFetch(domain:example.org)`, `mcp__github__search`.
//!
//! A rule is translated only if ours is about the same calls, or more of them: a rule that denies or asks may
//! not lose a call. Files are named there as in a `.gitignore`, so a pattern without a slash is about files
//! anywhere, and a pattern may be about a directory with everything in it.

use std::path::Path;

use agentx_agent::MCP;
use agentx_types::{Rule, RuleEffect};

use crate::rules::claude_names::tool_of_claude;
use crate::rules::rule_path::rule_path;

const NO_TOOL: &str = "there is no tool like it here";
const NO_PATTERN: &str = "a rule about such a part of this tool's calls cannot be written here";
const NO_PATH: &str = "its path has more than names, `*` and `**`";
const NO_ESCAPE: &str = "it has a backslash, which means something else here";
const NO_ROOT: &str = "its path begins at the settings of a project";
const NO_HOST: &str = "only `domain:` and a host in ASCII can be kept";

/// Translates a rule that is not bound to a project.
///
/// # Errors
/// Returns the reason if no rule here is about all the calls that it is about.
///
/// ```
/// use agentx_config::{claude_rules, show_rule};
/// use agentx_types::RuleEffect::Deny;
/// let rules = claude_rules(Deny, "Bash(git push:*)").unwrap();
/// assert_eq!(show_rule(&rules[0]), "deny bash \"git push *\"");
/// assert!(claude_rules(Deny, "NotebookEdit").is_err());
/// ```
pub fn claude_rules(effect: RuleEffect, text: &str) -> Result<Vec<Rule>, &'static str> {
    translated(effect, text, None)
}

/// Translates a rule of the settings of the project `root`.
///
/// # Errors
/// Returns the reason if no rule here is about all the calls that it is about.
pub(crate) fn claude_rules_of(
    root: &Path,
    effect: RuleEffect,
    text: &str,
) -> Result<Vec<Rule>, &'static str> {
    translated(effect, text, Some(root))
}

fn translated(effect: RuleEffect, text: &str, root: Option<&Path>) -> Result<Vec<Rule>, &'static str> {
    let text = text.trim();
    let (name, pattern) = match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        Some((name, pattern)) => (
            name,
            Some(pattern.trim()).filter(|pattern| !["", "*"].contains(pattern)),
        ),
        None => (text, None),
    };
    let tool = tool_of_claude(name).ok_or(NO_TOOL)?;
    let rule = |tool: &str| Rule {
        effect,
        tool: tool.to_owned(),
        argument: None,
        path: None,
        workspace: None,
        origin: None,
    };
    let with_argument = |tool: &str, argument: String| Rule {
        argument: Some(argument),
        ..rule(tool)
    };
    // There, a rule about edits is about every tool that changes files.
    let tools: &[&str] = match name {
        "Edit" | "MultiEdit" => &["edit", "write"],
        _ => &[&tool],
    };
    let Some(pattern) = pattern else {
        if let Some((server, of_server)) = tool.split_once("__").filter(|_| name.starts_with(MCP)) {
            return Ok(vec![with_argument(MCP, format!("{server}/{of_server}"))]);
        }
        return Ok(tools.iter().map(|tool| rule(tool)).collect());
    };
    match name {
        "Bash" => Ok(vec![with_argument(&tool, command(pattern)?)]),
        "WebFetch" => Ok(vec![with_argument(&tool, format!("to {}", host(pattern)?))]),
        "Read" | "Edit" | "MultiEdit" | "Write" => {
            let (paths, workspace) = paths(pattern, root)?;
            let of_tool = |tool: &&str| {
                let rule = rule(tool);
                let with_path = |path: &String| Rule {
                    path: Some(path.clone()),
                    workspace: workspace.clone(),
                    ..rule.clone()
                };
                paths.iter().map(with_path).collect::<Vec<_>>()
            };
            Ok(tools.iter().flat_map(of_tool).collect())
        }
        _ => Err(NO_PATTERN),
    }
}

/// The pattern of a command line: `git push:*` is `git push *`.
fn command(pattern: &str) -> Result<String, &'static str> {
    if pattern.contains('\\') {
        return Err(NO_ESCAPE);
    }
    match pattern.strip_suffix(":*") {
        Some("") => Err(NO_PATTERN),
        Some(start) => Ok(format!("{start} *")),
        None => Ok(pattern.to_owned()),
    }
}

/// The host of `domain:example.org`.
fn host(pattern: &str) -> Result<&str, &'static str> {
    let is_host = |host: &&str| {
        let of_host = |c: char| c.is_ascii_alphanumeric() || "-.*".contains(c);
        !host.is_empty() && host.chars().all(of_host)
    };
    pattern.strip_prefix("domain:").filter(is_host).ok_or(NO_HOST)
}

/// The patterns of a path, and the directory at which they begin if it is not the session's.
fn paths(pattern: &str, root: Option<&Path>) -> Result<(Vec<String>, Option<String>), &'static str> {
    if pattern.contains(['?', '[', ']', '{', '}', '!', '\\']) {
        return Err(NO_PATH);
    }
    let (start, workspace) = if let Some(whole) = pattern.strip_prefix("//") {
        (format!("/{whole}"), None)
    } else if let Some(below) = pattern.strip_prefix('/') {
        let root = root.and_then(Path::to_str).ok_or(NO_ROOT)?;
        (below.to_owned(), Some(root.to_owned()))
    } else if pattern.trim_end_matches('/').contains('/') || pattern == "~" {
        (pattern.to_owned(), None)
    } else {
        (format!("**/{pattern}"), None)
    };
    let path = rule_path(&start, None).map_err(|_| NO_PATH)?;
    let below = (!path.ends_with("**")).then(|| format!("{path}/**"));
    Ok((std::iter::once(path).chain(below).collect(), workspace))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::shown_rule::show_rule;

    /// The rules of a project at `/p`, each as it is shown, or the reason.
    fn shown(text: &str) -> Result<Vec<String>, &'static str> {
        let rules = claude_rules_of(Path::new("/p"), RuleEffect::Deny, text)?;
        Ok(rules.iter().map(show_rule).collect())
    }

    #[test]
    fn rules_of_claude_code_are_rules_here() {
        for (text, expected) in [
            ("Bash", &["deny bash"][..]),
            ("Bash(*)", &["deny bash"]),
            ("Bash(npm run test:*)", &["deny bash \"npm run test *\""]),
            ("Bash(git * main)", &["deny bash \"git * main\""]),
            ("Read(.env)", &["deny read in **/.env", "deny read in **/.env/**"]),
            ("Read(./.env)", &["deny read in .env", "deny read in .env/**"]),
            ("Read(./secrets/**)", &["deny read in secrets/**"]),
            ("Read(secrets/)", &["deny read in **/secrets/**"]),
            ("Read(~/.ssh/**)", &["deny read in ~/.ssh/**"]),
            (
                "Read(//etc/*.d)",
                &["deny read in /etc/*.d", "deny read in /etc/*.d/**"],
            ),
            ("Read(/build/**)", &["deny read in build/** (only in /p)"]),
            (
                "Edit(docs/**)",
                &["deny edit in docs/**", "deny write in docs/**"],
            ),
            (
                "WebFetch(domain:*.example.org)",
                &["deny web_extract \"to *.example.org\""],
            ),
            ("WebSearch", &["deny web_search"]),
            ("mcp__github", &["deny mcp \"github/*\""]),
            ("mcp__github__search", &["deny mcp \"github/search\""]),
            ("Task", &["deny delegate"]),
        ] {
            let shown = shown(text).unwrap_or_else(|why| vec![why.to_owned()]);
            assert_eq!(shown, expected, "{text}");
        }
    }

    #[test]
    fn a_rule_that_would_lose_a_call_is_not_translated() {
        for (text, why) in [
            ("NotebookEdit", NO_TOOL),
            ("Read(a?.txt)", NO_PATH),
            ("Read(../x)", NO_PATH),
            ("Read(!x)", NO_PATH),
            ("Bash(echo \\*)", NO_ESCAPE),
            ("Task(Explore)", NO_PATTERN),
            ("mcp__a__b(x)", NO_PATTERN),
            ("WebFetch(https://example.org)", NO_HOST),
            ("WebFetch(domain:bücher.example)", NO_HOST),
        ] {
            assert_eq!(shown(text), Err(why), "{text}");
        }
        assert_eq!(claude_rules(RuleEffect::Ask, "Read(/x)"), Err(NO_ROOT));
    }
}
