//! Approval rules for `agentx approvals` and the chat: renders them, tests calls against them, and removes
//! them from their files.

mod arguments;
mod judges;
mod past_sessions;
mod sandbox_trial;
mod trial;

use agentx::config::{SettingOrigin, remove_rule, show_rule};
use agentx::runtime::{Ruling, RulingKind, build_pattern, offered_patterns};
use agentx::types::{AgentConfig, ApprovalMode, ApprovalRequested, Rule, ToolSpec};

use crate::error::ChatError;
use crate::render::clean::visible;
use crate::render::table::whole;
pub use arguments::{AddRuleArgs, ApprovalsCommand, OverruleArgs, ScoreArgs, TrialArgs};
pub(crate) use judges::numbered_refusals;
pub use judges::{overrule, print_score};
pub use past_sessions::{sessions_to_read, trial_table};
pub use sandbox_trial::print_sandbox_trial;
pub use trial::{TestedCall, check_matches};

/// The rules of an agent and the defaults, as a table, each with the number by which it is removed, and where
/// it comes from.
pub fn render(
    config: &AgentConfig,
    number: impl Fn(usize, &Rule) -> Option<usize>,
    origin: impl Fn(&Rule) -> String,
    width: usize,
) -> String {
    let mut rows = vec![["N", "RULE", "FROM"].map(str::to_owned).to_vec()];
    let mut numbered: Vec<(Option<usize>, &Rule)> = config
        .rules
        .iter()
        .enumerate()
        .map(|(index, rule)| (number(index, rule), rule))
        .collect();
    numbered.sort_by_key(|(number, _)| number.unwrap_or(usize::MAX));
    for (number, rule) in numbered {
        rows.push(vec![
            number.map_or("–".into(), |number| number.to_string()),
            visible(&show_rule(rule)),
            visible(&origin(rule)),
        ]);
    }
    let reads = config.guard.as_ref().is_some_and(|guard| guard.reading_commands);
    for [what, from] in defaults(config.approval, reads) {
        rows.push(vec!["–".into(), what.into(), from.into()]);
    }
    whole(&rows, width)
}

/// The rule for all calls of an MCP server's tool, if the pattern is `*` or the tool's name as the rules or
/// the server have it, with or without a star.
pub(crate) fn with_any_arguments(
    asked: &ApprovalRequested,
    pattern: &str,
    config: &AgentConfig,
) -> Option<Rule> {
    let tool = name_at_server(asked, config)?;
    let words = pattern.trim();
    let name = words.strip_suffix('*').unwrap_or(words).trim_end();
    (name.is_empty() || name == tool || name == asked.name).then(|| Rule {
        argument: None,
        ..asked.suggested.clone()
    })
}

/// Another answer to a question about a call, which keeps wider rules than the one that is shown; `None` if
/// there is none.
pub(crate) fn other_answer(asked: &ApprovalRequested, config: &AgentConfig) -> Option<String> {
    if let Some(tool) = name_at_server(asked, config).filter(|_| asked.suggested.argument.is_some()) {
        return Some(format!("`a {tool} *` allows this tool with any arguments"));
    }
    if let Some(pattern) = build_pattern(&asked.suggested, config, &asked.name, &asked.input) {
        return Some(format!(
            "`a {pattern}` also allows its other usual targets and options"
        ));
    }
    let patterns = offered_patterns(&asked.suggested, config, &asked.name, &asked.input)?;
    let what = if patterns.contains(", ") {
        "commands like each of these"
    } else {
        "it also with other pipes that only read"
    };
    Some(format!("`a {patterns}` allows {what}"))
}

/// Returns whether the call of a question would run without it in another approval mode.
pub(crate) fn is_allowed_in(mode: ApprovalMode, asked: &ApprovalRequested, config: &AgentConfig) -> bool {
    let spec = config.tools.iter().find(|spec| spec.name == asked.name);
    let other = AgentConfig {
        approval: mode,
        ..config.clone()
    };
    spec.is_some_and(|spec| Ruling::of(&other, spec, &asked.input).decision == RulingKind::Allow)
}

/// The name of a server's tool, as `demo/shout`.
fn name_at_server(asked: &ApprovalRequested, config: &AgentConfig) -> Option<String> {
    let spec = config.tools.iter().find(|spec| spec.name == asked.name)?;
    spec.reach.as_ref()?.mcp.clone()
}

/// Describes the origin of a rule of the configuration: the file and the line.
pub fn origin_in_words(origin: &SettingOrigin) -> String {
    match origin {
        SettingOrigin::User(place) => format!("your file, {place}"),
        SettingOrigin::Workspace(place) => format!("the workspace's file, {place}"),
        other => other.to_string(),
    }
}

/// Removes a rule of the configuration from its file.
pub fn remove_from_file(rule: &Rule, origin: &SettingOrigin) -> Result<String, ChatError> {
    let (place, root, again) = match origin {
        SettingOrigin::Workspace(place) if origin.is_of_other_program() => {
            return Err(ChatError::usage(
                format!("the rule comes from {place}, a file of another program"),
                "remove it there, or ignore the folder's settings: `agentx config trust --restricted`",
            ));
        }
        SettingOrigin::User(place) => (place, None, ""),
        SettingOrigin::Workspace(place) => (
            place,
            // The file is FOLDER/.agentx/config.yaml.
            place.file.ancestors().nth(2),
            "\nthat file has changed; if you trusted it, `agentx config trust` trusts it again",
        ),
        other => {
            return Err(ChatError::usage(
                format!("the rule comes from {other}, not from a file"),
                "remove it where it is set",
            ));
        }
    };
    remove_rule(place, rule, root)?;
    Ok(format!(
        "removed from {}: {}{again}\n",
        place.file.display(),
        visible(&show_rule(rule))
    ))
}

/// Returns the error about a number that no rule has.
pub fn no_rule(number: usize, rules: usize) -> ChatError {
    let message = match rules {
        0 => format!("there is no rule {number}; there are no rules"),
        1 => format!("there is no rule {number}, only rule 1"),
        _ => format!("there is no rule {number}; the rules are 1 to {rules}"),
    };
    ChatError::usage(message, "`agentx approvals list` shows them")
}

/// Returns the tool of this name.
pub fn tool_named<'a>(tools: &'a [ToolSpec], name: &str) -> Result<&'a ToolSpec, ChatError> {
    tools.iter().find(|tool| tool.name == name).ok_or_else(|| {
        let names = tools.iter().map(|tool| tool.name.as_str());
        let near = agentx::config::nearest(name, names, 3);
        let hint = if near.is_empty() {
            "`agentx tools` lists them".to_owned()
        } else {
            format!("did you mean {}?", near.join(" or "))
        };
        ChatError::usage(format!("there is no tool {name:?}"), hint)
    })
}

/// Returns the defaults for calls that no rule covers. `reads` says whether commands that only read run
/// without a question.
fn defaults(mode: ApprovalMode, reads: bool) -> Vec<[&'static str; 2]> {
    let rest = match mode {
        ApprovalMode::Ask => "ask about everything else",
        ApprovalMode::AcceptEdits => {
            "allow changes of ordinary files of the workspace; ask about everything else"
        }
        ApprovalMode::Auto => "allow everything else except files that may hold secrets",
        ApprovalMode::Deny => "deny everything else",
    };
    let from = match mode {
        ApprovalMode::Ask => "default",
        ApprovalMode::AcceptEdits => "`approval: accept-edits`",
        ApprovalMode::Auto => "`approval: auto`",
        ApprovalMode::Deny => "`approval: deny`",
    };
    let quiet = [
        "allow calls without side effects, and reading inside the workspace",
        "default",
    ];
    let reading = [
        "allow commands of bash that only read the workspace",
        "`tools.reading_commands`",
    ];
    let mut rows = vec![quiet];
    rows.extend(reads.then_some(reading));
    rows.push([rest, from]);
    rows
}
