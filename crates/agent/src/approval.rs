//! Who decides about a tool call. Rules are in the log, calls are in the log, so this is a pure function: an old log can
//! be asked what another rule would have done.

use agentx_types::{Access, AgentConfig, ApprovalMode, Rule, RuleEffect, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::command::{BLANKS, like, readings, take_apart};
use crate::pattern::{fits, fits_path, is_within, literal, normalize};

/// What is to be done with a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Verdict {
    /// Do it.
    Allow {
        /// Also where it touches what lies outside the workspace.
        outside_workspace: bool,
    },
    /// Ask a person.
    Ask(Question),
    /// Refuse it.
    Deny {
        /// Which rule or default says so.
        reason: String,
    },
}

/// What a person is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Which rule or default asks.
    pub reason: String,
    /// The rule that "the like" would keep.
    pub suggested: Rule,
}

/// What a call touches, as far as its arguments tell.
struct Subject<'a> {
    tool: &'a ToolSpec,
    workspace: &'a str,
    /// The normal path that it names.
    path: Option<String>,
    /// The command line that it runs, or all its arguments.
    argument: String,
}

/// Decides about a call. A `deny` rule beats an `ask` rule beats an `allow` rule, wherever they come from. Without a rule,
/// what touches nothing and what reads inside the workspace is allowed, and the approval mode decides about the rest.
pub fn decide(config: &AgentConfig, tool: &ToolSpec, input: &Value) -> Verdict {
    let subject = Subject::of(&config.workspace, tool, input);
    let outside = subject.is_outside();
    if let Some(rule) = subject.rule_that(RuleEffect::Deny, &config.rules) {
        let reason = format!("the rule {} denies it", describe(rule));
        return Verdict::Deny { reason };
    }
    let asking = subject.rule_that(RuleEffect::Ask, &config.rules);
    if asking.is_none() && subject.is_allowed_by(&config.rules) {
        return Verdict::Allow {
            outside_workspace: outside,
        };
    }
    let auto = config.approval == ApprovalMode::Auto;
    if auto || (asking.is_none() && subject.is_allowed_by_default()) {
        return Verdict::Allow {
            outside_workspace: auto,
        };
    }
    let reason = match asking {
        Some(rule) => format!("the rule {} asks", describe(rule)),
        None => subject.default_reason(outside),
    };
    if config.approval == ApprovalMode::Deny {
        let reason = format!("{reason}, and nobody is there to be asked");
        return Verdict::Deny { reason };
    }
    Verdict::Ask(Question {
        reason,
        suggested: subject.suggested(),
    })
}

/// Whether the call names a path outside the workspace.
pub fn is_outside_workspace(config: &AgentConfig, tool: &ToolSpec, input: &Value) -> bool {
    Subject::of(&config.workspace, tool, input).is_outside()
}

impl<'a> Subject<'a> {
    fn of(workspace: &'a str, tool: &'a ToolSpec, input: &Value) -> Self {
        let text = |name: &String| input.get(name).and_then(Value::as_str);
        // A tool that takes a path and is given none works on the workspace itself.
        let path = tool.path_argument.as_ref().map(|name| {
            let path = text(name).unwrap_or(".");
            // A shell would put the home directory here; no tool of ours does, but a person reads it so.
            if path.starts_with('~') {
                path.to_owned()
            } else {
                normalize(workspace, path)
            }
        });
        let line = tool.command_argument.as_ref().and_then(text);
        let argument = line.map_or_else(|| input.to_string(), |line| line.trim_matches(BLANKS).to_owned());
        Self {
            tool,
            workspace,
            path,
            argument,
        }
    }

    fn is_outside(&self) -> bool {
        self.path
            .as_ref()
            .is_some_and(|path| !is_within(self.workspace, path))
    }

    fn runs_commands(&self) -> bool {
        self.tool.command_argument.is_some()
    }

    fn names_fit(&self, rule: &Rule) -> bool {
        fits(&rule.tool, &self.tool.name)
            && rule.path.as_ref().is_none_or(|pattern| {
                self.path
                    .as_ref()
                    .is_some_and(|path| fits_path(pattern, path, self.workspace))
            })
    }

    /// The first rule with this effect that touches the call.
    fn rule_that<'r>(&self, effect: RuleEffect, rules: &'r [Rule]) -> Option<&'r Rule> {
        rules
            .iter()
            .find(|rule| rule.effect == effect && self.touched_by(rule))
    }

    /// For `deny` and `ask`: whether any part of the call fits.
    fn touched_by(&self, rule: &Rule) -> bool {
        let Some(pattern) = rule.argument.as_ref().filter(|_| self.names_fit(rule)) else {
            return self.names_fit(rule);
        };
        fits(pattern, &self.argument)
            || (self.runs_commands() && readings(&self.argument).iter().any(|words| fits(pattern, words)))
    }

    /// For `allow`: whether every part of the call fits some rule.
    fn is_allowed_by(&self, rules: &[Rule]) -> bool {
        let rules: Vec<&Rule> = rules
            .iter()
            .filter(|rule| rule.effect == RuleEffect::Allow && self.names_fit(rule))
            .collect();
        let whole = |rule: &&Rule| match &rule.argument {
            None => true,
            Some(pattern) if self.runs_commands() => {
                pattern == "*" || *pattern == self.argument || *pattern == literal(&self.argument)
            }
            Some(pattern) => fits(pattern, &self.argument),
        };
        if rules.iter().any(whole) {
            return true;
        }
        let line = take_apart(&self.argument);
        let covered = |command: &String| {
            rules.iter().any(|rule| {
                rule.argument
                    .as_ref()
                    .is_some_and(|pattern| fits(pattern, command))
            })
        };
        self.runs_commands() && line.certain && !line.commands.is_empty() && line.commands.iter().all(covered)
    }

    /// Without any rule.
    fn is_allowed_by_default(&self) -> bool {
        match self.tool.access {
            Access::Internal => true,
            Access::Read => !self.is_outside(),
            Access::Change | Access::Run => false,
        }
    }

    fn default_reason(&self, outside: bool) -> String {
        if outside {
            return format!(
                "{} is outside the workspace",
                self.path.as_deref().unwrap_or("the path")
            );
        }
        match self.tool.access {
            Access::Change => "changing files is asked for".to_owned(),
            Access::Run => "running programs is asked for".to_owned(),
            Access::Read | Access::Internal => "it is asked for".to_owned(),
        }
    }

    fn suggested(&self) -> Rule {
        let path = match &self.path {
            Some(path) if self.is_outside() => Some(literal(path)),
            Some(_) => Some("**".to_owned()),
            None => None,
        };
        let argument = self.runs_commands().then(|| like(&self.argument));
        Rule {
            effect: RuleEffect::Allow,
            tool: self.tool.name.clone(),
            argument,
            path,
        }
    }
}

/// A rule on one line: `deny bash: rm *`.
pub fn describe(rule: &Rule) -> String {
    let effect = match rule.effect {
        RuleEffect::Allow => "allow",
        RuleEffect::Ask => "ask",
        RuleEffect::Deny => "deny",
    };
    let argument = rule
        .argument
        .as_ref()
        .map(|argument| format!(": {argument}"))
        .unwrap_or_default();
    let path = rule
        .path
        .as_ref()
        .map(|path| format!(" in {path}"))
        .unwrap_or_default();
    format!("\"{effect} {}{argument}{path}\"", rule.tool)
}
