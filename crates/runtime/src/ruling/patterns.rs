//! Rules with patterns that a person writes in place of the one that was shown: one for a call, or one for
//! each part of a command line.

use agentx_agent::approval::{covered_together, covers, describe, not_covered_reason, suggested};
use agentx_agent::build_patterns::pattern_of_tool;
use agentx_agent::command_split::{only_reads_input, take_apart};
use agentx_agent::pattern::fits;
use agentx_types::{AgentConfig, Rule, ToolSpec};
use serde_json::{Value, json};

/// The separators of several patterns in one answer.
const BETWEEN: [&str; 2] = [",", " | "];

/// The words of a shell that begin, join and end loops, conditions and functions.
const KEYWORDS: [&str; 15] = [
    "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "select", "then",
    "until", "while",
];

/// A rule with another pattern, which has to fit the call: for the path if the rule has only a path,
/// otherwise for the arguments.
///
/// # Errors
/// Returns an error if it does not fit: a sentence with the reason why the rule would not allow the call.
pub fn with_pattern(
    shown: &Rule,
    pattern: &str,
    config: &AgentConfig,
    tool: &str,
    input: &Value,
) -> Result<Rule, String> {
    let mut rule = shown.clone();
    match (&rule.argument, &rule.path) {
        (None, Some(_)) => rule.path = Some(pattern.to_owned()),
        _ => rule.argument = Some(pattern.to_owned()),
    }
    let spec = config.tools.iter().find(|spec| spec.name == tool);
    let allows = |spec: &ToolSpec| {
        let together = || covered_together(std::slice::from_ref(&rule), config, spec, input);
        covers(&rule, &config.workspace, spec, input) || together().is_some()
    };
    if spec.is_some_and(allows) {
        return Ok(rule);
    }
    let why = spec.and_then(|spec| not_covered_reason(&rule, config, spec, input));
    let because = why.map(|why| format!(": {why}")).unwrap_or_default();
    Err(format!(
        "the rule {} would not allow this call{because}",
        describe(&rule)
    ))
}

/// The rules that an answer keeps: one where the pattern fits the whole call, otherwise one for each pattern
/// between commas or ` | `. Together they have to allow the call, and each has to cover a part of it.
///
/// # Errors
/// Returns an error if they do not: that nothing would be allowed, and why, as a sentence.
pub fn with_patterns(
    shown: &Rule,
    patterns: &str,
    config: &AgentConfig,
    tool: &str,
    input: &Value,
) -> Result<Vec<Rule>, String> {
    let whole = with_pattern(shown, patterns, config, tool, input);
    let spec = config.tools.iter().find(|spec| spec.name == tool);
    let parts = split(patterns);
    let (Some(spec), true, Err(_)) = (spec, shown.argument.is_some() && parts.len() > 1, &whole) else {
        return whole.map(|rule| vec![rule]);
    };
    let rules: Vec<Rule> = parts.iter().map(|part| pattern_rule(shown, part)).collect();
    match covered_together(&rules, config, spec, input) {
        Some(used) if used.len() == rules.len() => Ok(rules),
        Some(used) => {
            let idle = (0..parts.len()).find(|index| !used.contains(index));
            let idle = idle
                .and_then(|index| parts.get(index))
                .copied()
                .unwrap_or_default();
            Err(format!("`{idle}` covers no part of this call"))
        }
        None => Err(uncovered(&parts, spec, input)),
    }
}

/// The patterns that a person may keep for a command line of several commands, one for each command, in the
/// form in which [`with_patterns`] takes them. A command that only reads what the one before it writes needs
/// none. `None` if it is one command, a loop or a condition, or no patterns allow it.
pub fn offered_patterns(shown: &Rule, config: &AgentConfig, tool: &str, input: &Value) -> Option<String> {
    let spec = config.tools.iter().find(|spec| spec.name == tool)?;
    let argument = spec.command_argument.as_deref()?;
    let line = take_apart(input.get(argument)?.as_str()?);
    if line.commands.iter().any(|command| begins_with_keyword(command)) {
        return None;
    }
    let mut patterns: Vec<String> = Vec::new();
    let mut is_read = false;
    for (at, command) in line.commands.iter().enumerate() {
        if line.fed.contains(&at) && only_reads_input(command) {
            is_read = true;
            continue;
        }
        let mut pattern = suggested(config, spec, &json!({ argument: command })).argument?;
        // Input from a pipe may be commands, so a pattern without a star does not cover it.
        if line.fed.contains(&at) && !pattern.ends_with('*') {
            pattern = format!("{} *", command.split(' ').next()?);
        }
        if !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    let joined = patterns.join(", ");
    let is_several = (is_read || patterns.len() > 1) && !patterns.iter().any(|pattern| pattern.contains(','));
    (is_several && with_patterns(shown, &joined, config, tool, input).is_ok()).then_some(joined)
}

/// The pattern that a person may keep for a command of a build or test tool in place of the one that is
/// shown: with a star, which stands only for its usual targets and harmless options. `None` for any other
/// command, or if that pattern does not allow the call.
pub fn build_pattern(shown: &Rule, config: &AgentConfig, tool: &str, input: &Value) -> Option<String> {
    let spec = config.tools.iter().find(|spec| spec.name == tool)?;
    let line = input.get(spec.command_argument.as_deref()?)?.as_str()?;
    let pattern = pattern_of_tool(line)?;
    let is_other = shown.argument.as_deref() != Some(pattern.as_str());
    (is_other && with_pattern(shown, &pattern, config, tool, input).is_ok()).then_some(pattern)
}

/// Returns whether a shell reads the first word as a part of a loop or condition, not as a program: `done`
/// runs nothing, and what `do rm "$f"` removes is not in its own words.
fn begins_with_keyword(command: &str) -> bool {
    command
        .split(' ')
        .next()
        .is_some_and(|word| KEYWORDS.contains(&word))
}

/// Returns whether a pattern allows everything that a tool can be given.
pub fn allows_everything(pattern: &str) -> bool {
    pattern.contains('*') && pattern.chars().all(|c| c == '*' || c == ' ')
}

fn split(patterns: &str) -> Vec<&str> {
    let mut parts = vec![patterns];
    for between in BETWEEN {
        parts = parts.into_iter().flat_map(|part| part.split(between)).collect();
    }
    parts
        .into_iter()
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect()
}

fn pattern_rule(shown: &Rule, pattern: &str) -> Rule {
    Rule {
        argument: Some(pattern.to_owned()),
        path: None,
        ..shown.clone()
    }
}

/// Names a command that none of the patterns covers.
fn uncovered(patterns: &[&str], spec: &ToolSpec, input: &Value) -> String {
    let argument = spec.command_argument.as_deref();
    let line = argument.and_then(|name| input.get(name)).and_then(Value::as_str);
    let commands = line.map(|line| take_apart(line).commands).unwrap_or_default();
    let is_left = |command: &&String| !patterns.iter().any(|pattern| fits(pattern, command));
    match commands.iter().find(is_left) {
        Some(command) => format!("none of the patterns covers `{command}`"),
        None => "the patterns would not allow this call together".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use agentx_types::{Access, RuleEffect};

    use super::super::{Ruling, RulingKind};
    use super::*;

    fn config() -> AgentConfig {
        let schema = json!({"type": "object", "properties": {"command": {"type": "string"}}});
        let bash = ToolSpec::new("bash", "", schema, Access::Run).with_command_argument("command");
        let model = serde_json::from_value(json!({"id": "m", "provider": "p", "api": "scripted",
            "context_window": 1000, "max_output_tokens": 10, "prices": {}}));
        AgentConfig {
            workspace: "/ws".into(),
            tools: vec![bash].into(),
            ..AgentConfig::react(model.unwrap())
        }
    }

    fn kept(command: &str, patterns: &str) -> Result<Vec<String>, String> {
        let (config, input) = (config(), json!({ "command": command }));
        let shown = suggested(&config, &config.tools[0], &input);
        assert_eq!(shown.effect, RuleEffect::Allow);
        let rules = with_patterns(&shown, patterns, &config, "bash", &input)?;
        Ok(rules.into_iter().filter_map(|rule| rule.argument).collect())
    }

    #[test]
    fn a_pipe_is_allowed_by_one_pattern_for_each_command() {
        let line = "npm test -- --ci 2>&1 | sed 20q";
        for patterns in ["npm test *, sed *", "npm test * | sed *"] {
            assert_eq!(
                kept(line, patterns).unwrap(),
                ["npm test *", "sed *"],
                "{patterns}"
            );
        }
        let left = kept(line, "npm test *").unwrap_err();
        assert!(left.contains("does not cover `sed 20q`"), "{left}");
        let left = kept(line, "npm test *, head *").unwrap_err();
        assert_eq!(left, "none of the patterns covers `sed 20q`");
        let idle = kept(line, "npm test *, sed *, rm *").unwrap_err();
        assert_eq!(idle, "`rm *` covers no part of this call");
        assert_eq!(kept("echo a, b", "echo a, *").unwrap(), ["echo a, *"]);
        // A program that only reads the pipe needs no pattern, and may have one.
        let line = "npm test -- --ci 2>&1 | tail -20";
        assert_eq!(kept(line, "npm test *").unwrap(), ["npm test *"]);
        assert_eq!(
            kept(line, "npm test *, tail *").unwrap(),
            ["npm test *", "tail *"]
        );
    }

    #[test]
    fn patterns_are_offered_for_a_line_of_several_commands() {
        let config = config();
        let offered = |command: &str| {
            let input = json!({ "command": command });
            let shown = suggested(&config, &config.tools[0], &input);
            offered_patterns(&shown, &config, "bash", &input)
        };
        let line = offered("npm test -- --ci 2>&1 | sed 20q").unwrap();
        assert!(line.ends_with(", sed *"), "{line}");
        // `tail *` would show any file.
        let line = offered("npm test -- --ci 2>&1 | tail -20");
        assert_eq!(line.as_deref(), Some("npm test -- --ci 2>&1"));
        assert_eq!(offered("ls; ls -l"), None);
        assert_eq!(offered("npm test"), None);
        assert_eq!(offered("npm test > out.txt | sed 20q"), None);
        for line in [
            "for f in *; do rm \"$f\"; done",
            "for f in a b; do ls; done",
            "while true\ndo\n  ls\ndone",
            "if ls; then npm test; else ls -l; fi",
            "npm test; until ls; do sleep 1; done",
        ] {
            assert_eq!(offered(line), None, "{line}");
        }
    }

    #[test]
    fn a_tested_call_is_decided_about_as_a_call_in_its_everyday_forms() {
        let mut config = config();
        let shown = suggested(&config, &config.tools[0], &json!({ "command": "npm test" }));
        assert_eq!(shown.argument.as_deref(), Some("npm test"));
        config.rules.push(shown);
        let ruling = |line: &str| Ruling::of(&config, &config.tools[0], &json!({ "command": line }));
        for line in [
            "time npm test",
            "NO_COLOR=1 npm test < /dev/null",
            "npm test 2>&1 | tail -20",
        ] {
            let ruling = ruling(line);
            assert_eq!(ruling.decision, RulingKind::Allow, "{line}: {}", ruling.because);
            assert_eq!(ruling.rules, config.rules, "{line}");
        }
        for line in ["PATH=. npm test", "npm test < x", "npm test | tail -f"] {
            let ruling = ruling(line);
            assert_eq!(ruling.decision, RulingKind::Ask, "{line}");
            let kept = ruling.always.and_then(|rule| rule.argument);
            assert_eq!(kept.as_deref(), Some(line));
        }
    }

    #[test]
    fn a_wider_pattern_is_offered_for_build_tools_whose_targets_are_known() {
        let config = config();
        let offered = |command: &str| {
            let input = json!({ "command": command });
            let shown = suggested(&config, &config.tools[0], &input);
            build_pattern(&shown, &config, "bash", &input)
        };
        for (command, pattern) in [
            ("make all", "make *"),
            ("make", "make *"),
            ("cargo test -p a", "cargo test *"),
            ("npm run build", "npm run *"),
            ("npm test", "npm test *"),
            ("go test ./...", "go test *"),
            ("pytest tests/a.py", "pytest *"),
        ] {
            assert_eq!(offered(command).as_deref(), Some(pattern), "{command}");
        }
        for command in [
            "make deploy",
            "make CC=x",
            "npm run deploy",
            "npm publish",
            "cargo run",
            "uname -a",
            "ls",
            "make all && make test",
            "make > x",
        ] {
            assert_eq!(offered(command), None, "{command}");
        }
    }

    #[test]
    fn a_pattern_of_stars_allows_everything() {
        assert!(["*", "**", " * * "].into_iter().all(allows_everything));
        assert!(!["", "ls *", "*.rs"].into_iter().any(allows_everything));
    }
}
