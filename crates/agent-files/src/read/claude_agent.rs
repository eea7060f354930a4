//! An agent of Claude Code: `.claude/agents/NAME.md` (<https://code.claude.com/docs/en/sub-agents>).
//!
//! ```text
//! ---
//! name: reviewer
//! description: Reviews changes
//! tools: Read, Grep, Bash
//! model: sonnet
//! ---
//! You review changes.
//! ```
//!
//! Without `tools` it has the tools of the settings. A model that there is not here (or `inherit`) is that of
//! the settings.

use agentx_config::yaml::{TextPosition, Yaml, YamlError, YamlNode};
use agentx_config::{claude_rules, tool_of_claude};
use agentx_types::RuleEffect;

use crate::read::foreign_agent::TranslatedAgent;
use crate::source::FileSource;

/// The tools with which an agent of Claude Code has others work.
const DELEGATING: [&str; 2] = ["Task", "Agent"];

/// Built-in agents of Claude Code, and those that are like them here.
const BUILT_IN: &[(&str, &str)] = &[("general-purpose", "general"), ("Explore", "explore")];

/// Translates a file.
///
/// # Errors
/// Returns an error if it cannot be read.
pub(crate) fn translate(source: &FileSource) -> Result<TranslatedAgent<'_>, YamlError> {
    let (mut agent, front) = TranslatedAgent::of(source)?;
    let mut disallowed = Vec::new();
    for (key, node) in front {
        match key.name.as_str() {
            "name" | "description" => agent.set(&key.name, node),
            "tools" => {
                check_list(&key.name, &node)?;
                give_tools(&mut agent, &node);
            }
            "disallowedTools" => {
                check_list(&key.name, &node)?;
                disallowed = words(&node);
            }
            "model" => agent.choices.model = named_model(&node),
            "maxTurns" => agent.set_rounds(node),
            // The color of a row there.
            "color" => {}
            _ => agent.without_effect(&key),
        }
    }
    for (at, word) in disallowed {
        take_tool(&mut agent, at, &word);
    }
    Ok(agent)
}

/// Returns the model; `None` for that of the settings.
fn named_model(node: &YamlNode) -> Option<String> {
    match &node.value {
        Yaml::Text(model) if model != "inherit" && !model.is_empty() => Some(model.clone()),
        _ => None,
    }
}

/// Checks that a list in brackets is one. The front matter takes a value that is not YAML as text, so one
/// without its last bracket would name tools that there are not.
///
/// # Errors
/// Returns the mistake, with its place.
fn check_list(key: &str, node: &YamlNode) -> Result<(), YamlError> {
    match &node.value {
        Yaml::Text(text) if text.starts_with('[') => Err(YamlError {
            at: node.at,
            what: format!("`{key}` begins with `[` and is not a list that ends with `]`: write [Read, Grep]"),
        }),
        _ => Ok(()),
    }
}

/// Gives the agent the tools of a list.
fn give_tools(agent: &mut TranslatedAgent<'_>, node: &YamlNode) {
    let words = words(node);
    // An empty key is one that was not filled in.
    if matches!(node.value, Yaml::Null) || words.iter().any(|(_, word)| word == "*") {
        return;
    }
    agent.choices.only = Some(Vec::new());
    for (at, word) in words {
        let (name, pattern) = parts(&word);
        match (tool_of_claude(name), pattern) {
            (_, pattern) if DELEGATING.contains(&name) => delegate(agent, at, pattern),
            (Some(tool), None) => agent.give(at, tool),
            (Some(_), Some(_)) => {
                let what = "keeps a tool to some calls, which only rules do here; the agent goes without it";
                agent.remark(at, format!("`{word}` {what}"));
            }
            (None, _) => {
                let what = "there is no tool like it here; the agent goes without it";
                agent.remark(at, format!("`{word}`: {what}"));
            }
        }
    }
}

/// Lets the agent delegate to all built-in agents, or to these agents.
fn delegate(agent: &mut TranslatedAgent<'_>, at: TextPosition, names: Option<&str>) {
    let Some(names) = names else {
        agent.choices.delegates = BUILT_IN.iter().map(|(_, ours)| (*ours).to_owned()).collect();
        return;
    };
    for name in names.split(',').map(str::trim) {
        let built_in = BUILT_IN.iter().find(|(theirs, _)| *theirs == name);
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_".contains(c));
        match built_in {
            Some((_, ours)) => agent.choices.delegates.push((*ours).to_owned()),
            None if is_name => agent.delegate_to(at, name),
            None => agent.remark(at, format!("`{name}` is not the name of an agent")),
        }
    }
}

/// Takes a tool, or some of its calls, from the agent.
fn take_tool(agent: &mut TranslatedAgent<'_>, at: TextPosition, word: &str) {
    let (name, pattern) = parts(word);
    if DELEGATING.contains(&name) {
        return agent.delegate_to_none();
    }
    // A tool that there is not here needs no taking.
    let Some(tool) = tool_of_claude(name) else { return };
    if pattern.is_none() {
        return agent.take(tool);
    }
    match claude_rules(RuleEffect::Deny, word) {
        Ok(rules) => rules.iter().for_each(|rule| agent.add_rule(at, rule)),
        Err(why) => {
            agent.remark(at, format!("`{word}`: {why}; the agent goes without the tool"));
            agent.take(tool);
        }
    }
}

/// Splits `Bash(git push:*)` into the tool and the pattern. A star alone does not count as a pattern.
fn parts(word: &str) -> (&str, Option<&str>) {
    match word.strip_suffix(')').and_then(|word| word.split_once('(')) {
        Some((name, pattern)) => (name, Some(pattern).filter(|pattern| !["", "*"].contains(pattern))),
        None => (word, None),
    }
}

/// The words of a list, which is written as one or with commas between.
fn words(node: &YamlNode) -> Vec<(TextPosition, String)> {
    let texts: Vec<&YamlNode> = match &node.value {
        Yaml::List(items) => items.iter().collect(),
        _ => vec![node],
    };
    let words = texts.into_iter().flat_map(|node| {
        let Yaml::Text(text) = &node.value else {
            return Vec::new();
        };
        let words = split_outside_brackets(text).into_iter();
        words.map(|word| (node.at, word.to_owned())).collect()
    });
    words.collect()
}

/// Splits at the commas that are outside of brackets: `Read, Task(a, b)` has two words.
fn split_outside_brackets(text: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    let pieces = text.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    let words = pieces.map(str::trim);
    words.filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_split_at_commas_outside_of_brackets() {
        assert_eq!(
            split_outside_brackets("Read,Bash(a, b) , , Task(x,y)"),
            ["Read", "Bash(a, b)", "Task(x,y)"]
        );
        assert_eq!(parts("Bash(git push:*)"), ("Bash", Some("git push:*")));
        assert_eq!(parts("Bash(*)"), ("Bash", None));
        assert_eq!(parts("Bash"), ("Bash", None));
    }
}
