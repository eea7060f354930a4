//! An agent of opencode: `.opencode/agent/NAME.md` (<https://opencode.ai/docs/agents>).
//!
//! ```text
//! ---
//! description: Reviews changes
//! model: anthropic/claude-sonnet-4-5
//! tools: { write: false }
//! permission: { bash: { "git push *": deny } }
//! ---
//! You review changes.
//! ```
//!
//! It has the tools of the settings, without those that its file takes away.

use agentx_config::tool_of_opencode;
use agentx_config::yaml::{TextPosition, Yaml, YamlError, YamlNode};
use agentx_types::{Rule, RuleEffect};

use crate::read::foreign_agent::TranslatedAgent;
use crate::source::FileSource;

/// Translates a file.
///
/// # Errors
/// Returns an error if it cannot be read.
pub(crate) fn translate(source: &FileSource) -> Result<TranslatedAgent<'_>, YamlError> {
    let (mut agent, front) = TranslatedAgent::of(source)?;
    for (key, node) in front {
        match (key.name.as_str(), &node.value) {
            ("description", _) => agent.set("description", node),
            ("model", Yaml::Text(model)) => agent.choices.model = Some(model.clone()),
            ("steps" | "maxSteps", _) => agent.set_rounds(node),
            ("tools", Yaml::Map(tools)) => {
                let off = tools
                    .iter()
                    .filter(|(_, node)| matches!(node.value, Yaml::Bool(false)));
                for (tool, node) in off {
                    restrict(&mut agent, node.at, &tool.name, RuleEffect::Deny, None);
                }
            }
            ("permission", Yaml::Map(tools)) => {
                for (tool, node) in tools {
                    permit(&mut agent, &tool.name, node);
                }
            }
            ("disable", Yaml::Bool(true)) => agent.is_none = true,
            ("mode", Yaml::Text(mode)) => agent.choices.only_by_name |= mode == "primary",
            ("hidden", Yaml::Bool(is_hidden)) => agent.choices.only_by_name |= is_hidden,
            // Of rows and menus there.
            ("mode" | "color" | "hidden" | "disable", _) => {}
            _ => agent.without_effect(&key),
        }
    }
    Ok(agent)
}

/// Applies the permission of a tool: a word, or a word for each pattern.
fn permit(agent: &mut TranslatedAgent<'_>, tool: &str, node: &YamlNode) {
    match &node.value {
        Yaml::Map(patterns) => {
            for (pattern, node) in patterns {
                if let Some(effect) = effect_of(node) {
                    let pattern = Some(pattern.name.as_str()).filter(|pattern| *pattern != "*");
                    restrict(agent, node.at, tool, effect, pattern);
                }
            }
        }
        _ => {
            if let Some(effect) = effect_of(node) {
                restrict(agent, node.at, tool, effect, None);
            }
        }
    }
}

/// Returns whether a word asks or denies; `None` if it allows, which a file cannot.
fn effect_of(node: &YamlNode) -> Option<RuleEffect> {
    match &node.value {
        Yaml::Text(word) if word == "deny" => Some(RuleEffect::Deny),
        Yaml::Text(word) if word == "ask" => Some(RuleEffect::Ask),
        _ => None,
    }
}

/// Takes a tool from the agent, or has its calls asked about or refused. `edit` is about every change of a
/// file. A pattern of something else than a command line is about all calls, because files are matched in
/// another way there.
fn restrict(
    agent: &mut TranslatedAgent<'_>,
    at: TextPosition,
    tool: &str,
    effect: RuleEffect,
    pattern: Option<&str>,
) {
    if tool == "task" {
        return;
    }
    let Some(ours) = tool_of_opencode(tool) else {
        agent.remark(at, format!("`{tool}`: there is no tool of this name here"));
        return;
    };
    let command = pattern.filter(|_| ours == "bash");
    if pattern.is_some() && command.is_none() {
        agent.remark(
            at,
            format!("`{tool}`: the pattern is left out, so this is about all calls"),
        );
    }
    let also = (ours == "edit").then(|| "write".to_owned());
    for tool in std::iter::once(ours).chain(also) {
        if effect == RuleEffect::Deny && command.is_none() {
            agent.take(tool);
            continue;
        }
        let rule = Rule {
            effect,
            tool,
            // A star covers what a question mark does.
            argument: command.map(|pattern| pattern.replace('?', "*")),
            path: None,
            workspace: None,
            origin: None,
        };
        agent.add_rule(at, &rule);
    }
}
