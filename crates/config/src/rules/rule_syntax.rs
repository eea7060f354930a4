//! A rule as a person types it on one line: `deny bash: git push*`, `allow edit in src/**`.

use agentx_types::{Rule, RuleEffect, TextOrigin, nearest};

use crate::rules::rule_path::rule_path;

/// Reads a rule: the effect, the tool, then `: ARGUMENT` or ` in PATH`, ` (origin: web)` and
/// ` (only in DIRECTORY)`; or as [`show_rule`](crate::show_rule) shows it, to be pasted.
///
/// # Errors
/// Returns the problem, with the nearest valid word.
///
/// ```
/// use agentx_config::{parse_rule, show_rule};
/// let rule = parse_rule("deny bash: git push*").unwrap();
/// assert_eq!(show_rule(&rule), "deny bash \"git push*\"");
/// assert!(parse_rule("dney bash").unwrap_err().contains("did you mean `deny`?"));
/// ```
pub fn parse_rule(words: &str) -> Result<Rule, String> {
    let words = words.trim();
    let (words, workspace) = match words
        .strip_suffix(')')
        .and_then(|words| words.rsplit_once(" (only in "))
    {
        Some((words, workspace)) => (words, Some(workspace.to_owned())),
        None => (words, None),
    };
    let (words, origin) = match words.strip_suffix(" (origin: web)") {
        Some(words) => (words, Some(TextOrigin::Web)),
        None => (words, None),
    };
    let (effect, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let effect = parse_effect(effect)?;
    let rest = rest.trim();
    if let Some((tool, argument, path)) = as_shown(rest) {
        return Ok(Rule {
            effect,
            tool: tool.to_owned(),
            argument: Some(argument),
            path: path.map(str::to_owned),
            workspace,
            origin,
        });
    }
    let (tool, argument, path) = if let Some((tool, argument)) = rest.split_once(':') {
        (tool, Some(argument.trim()), None)
    } else if let Some((tool, path)) = rest.split_once(" in ") {
        (tool, None, Some(path.trim()))
    } else {
        (rest, None, None)
    };
    let tool = tool.trim();
    if tool.is_empty() || tool.contains(char::is_whitespace) {
        return Err(format!(
            "expected one tool after the effect, as in `deny bash: git push*` or `allow edit in src/**`, found `{tool}`"
        ));
    }
    if argument == Some("") || path == Some("") {
        return Err(format!(
            "the pattern after `{tool}` is empty; omit it, or write `*`"
        ));
    }
    Ok(Rule {
        effect,
        tool: tool.to_owned(),
        argument: argument.map(str::to_owned),
        path: path.map(|path| rule_path(path, None)).transpose()?,
        workspace,
        origin,
    })
}

/// A tool, its argument in quotes, and where: the form in which rules are shown.
fn as_shown(words: &str) -> Option<(&str, String, Option<&str>)> {
    let (tool, quoted) = words.split_once(char::is_whitespace)?;
    let mut letters = quoted.trim_start().strip_prefix('"')?.chars();
    let mut argument = String::new();
    loop {
        match letters.next()? {
            '"' => break,
            '\\' => argument.push(match letters.next()? {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                other => other,
            }),
            other => argument.push(other),
        }
    }
    let path = match letters.as_str().trim() {
        "" => None,
        rest => Some(rest.strip_prefix("in ")?.trim()),
    };
    let is_one = !tool.ends_with(':') && !argument.is_empty();
    is_one.then_some((tool, argument, path))
}

/// Reads an effect.
///
/// # Errors
/// Returns the problem, with the nearest valid word.
pub fn parse_effect(word: &str) -> Result<RuleEffect, String> {
    match word {
        "allow" => Ok(RuleEffect::Allow),
        "ask" => Ok(RuleEffect::Ask),
        "deny" => Ok(RuleEffect::Deny),
        other => {
            let near = nearest(other, ["allow", "ask", "deny"], 1);
            let near = near
                .first()
                .map(|near| format!("; did you mean `{near}`?"))
                .unwrap_or_default();
            Err(format!(
                "a rule begins with `allow`, `ask` or `deny`, not with `{other}`{near}"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_as_they_are_shown() {
        let read = |words: &str| parse_rule(words).map(|rule| (rule.tool, rule.argument, rule.path));
        let is = |tool: &str, argument: Option<&str>, path: Option<&str>| {
            Ok((
                tool.to_owned(),
                argument.map(str::to_owned),
                path.map(str::to_owned),
            ))
        };
        assert_eq!(read("allow *"), is("*", None, None));
        assert_eq!(read("ask  bash: ls in x"), is("bash", Some("ls in x"), None));
        assert_eq!(read("deny edit in src/**"), is("edit", None, Some("src/**")));
        assert_eq!(
            read("ask bash: echo \"a: b\""),
            is("bash", Some("echo \"a: b\""), None)
        );
        for (argument, path, workspace) in [
            ("sleep *", None, None),
            ("echo \"a: b\" \\ in x\n*", None, None),
            ("x", Some("src/**"), Some("/home/me/a b")),
            ("x (only in y)", None, Some("/z")),
        ] {
            let rule = Rule {
                workspace: workspace.map(str::to_owned),
                effect: RuleEffect::Allow,
                tool: "bash".into(),
                argument: Some(argument.into()),
                path: path.map(str::to_owned),
                origin: None,
            };
            for origin in [None, Some(TextOrigin::Web)] {
                let rule = Rule {
                    origin,
                    ..rule.clone()
                };
                assert_eq!(parse_rule(&crate::layers::shown_rule::show_rule(&rule)), Ok(rule));
            }
        }
        for wrong in ["", "deny", "deny a b", "deny bash:", "deny : x", "dent bash"] {
            assert!(parse_rule(wrong).is_err(), "{wrong}");
        }
    }
}
