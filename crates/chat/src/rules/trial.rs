//! `agentx approvals test` and `/approvals test`: the decision about a call, and the rule that makes it.

use std::path::Path;

use agentx::config::show_rule;
use agentx::runtime::{
    PlaceRules, Ruling, RulingKind, argument_error, first_mismatch, refused_by_the_tool, refused_in_line,
    unasked_reading,
};
use agentx::tools::{refused_link, refused_reading, resolve_path};
use agentx::types::{AgentConfig, Rule, ToolSpec};
use serde_json::{Value, json};

use crate::error::ChatError;
use crate::render::clean::visible;
use crate::terminal::console::Console;

/// A call with the decision of the rules about it.
pub struct TestedCall {
    tool: String,
    input: Value,
    ruling: Ruling,
    /// The reason why the tool itself would refuse the call on this machine.
    refused: Option<String>,
    /// The ruling after text from the web, if that is another one.
    after_web: Option<Ruling>,
    /// Rules that name the tool and match its calls never or only by chance, each with the reason.
    mismatched: Vec<(Rule, &'static str)>,
}

impl TestedCall {
    /// Reads a call as a person typed it, and applies the rules of an agent. The path is resolved only if the
    /// tool runs on this machine.
    pub fn new(config: &AgentConfig, words: &str, is_here: bool) -> Result<Self, ChatError> {
        let (tool, input) = call_of(&config.tools, words)?;
        let refused = is_here
            .then(|| refused_at_the_place(config, tool, &input))
            .flatten();
        let ruling = Ruling::of(config, tool, &input);
        let later = AgentConfig {
            web_text: true,
            ..config.clone()
        };
        let after_web = Some(Ruling::of(&later, tool, &input));
        Ok(Self {
            tool: tool.name.clone(),
            after_web: after_web.filter(|after| after.decision != ruling.decision),
            mismatched: mismatched(&config.rules, tool),
            ruling,
            input,
            refused,
        })
    }

    /// Prints the ruling on the tested call, as text or as JSON.
    pub fn print(
        &self,
        from: impl Fn(&Rule) -> String,
        as_json: bool,
        console: &mut Console,
    ) -> Result<(), ChatError> {
        if !as_json {
            return console.out(&self.render(from));
        }
        let ruling = &self.ruling;
        let rules = ruling.rules.iter();
        let rules: Vec<Value> = rules
            .map(|rule| json!({"rule": rule, "from": from(rule)}))
            .collect();
        let mut tested = json!({
            "decision": ruling.decision, "because": ruling.because, "rules": rules, "always": ruling.always,
            "still_asked": ruling.still_asked, "refused_by_the_tool": self.refused, "tool": self.tool,
            "input": self.input,
        });
        if let Some(after) = &self.after_web {
            tested["after_web"] = json!({"decision": after.decision, "because": after.because});
        }
        if !self.mismatched.is_empty() {
            let mismatched = self.mismatched.iter();
            let mismatched: Vec<Value> = mismatched
                .map(|(rule, why)| json!({"rule": rule, "because": why}))
                .collect();
            tested["mismatched"] = json!(mismatched);
        }
        console.out_pretty(&tested)
    }

    /// Describes the ruling for a person.
    pub(crate) fn render(&self, from: impl Fn(&Rule) -> String) -> String {
        let ruling = &self.ruling;
        let mut text = format!("{}: {}\n", ruling.decision.as_str(), visible(&ruling.because));
        for rule in &ruling.rules {
            let (words, from) = (visible(&show_rule(rule)), visible(&from(rule)));
            text.push_str(&format!("  {words}  ({from})\n"));
        }
        if let Some(always) = &ruling.always {
            text.push_str(&format!("always would save: {}\n", visible(&show_rule(always))));
        }
        if let Some(why) = &ruling.still_asked {
            text.push_str(&format!(
                "  but it would still be asked about: {}\n",
                visible(why)
            ));
        }
        let refused = self.refused.as_ref();
        if let Some(why) = refused.filter(|_| ruling.decision != RulingKind::Deny) {
            text.push_str(&format!("but the tool refuses it: {}\n", visible(why)));
        }
        if let Some(after) = &self.after_web {
            let (decision, because) = (after.decision.as_str(), visible(&after.because));
            text.push_str(&format!("after text from the web: {decision}: {because}\n"));
        }
        for (rule, why) in &self.mismatched {
            let shown = visible(&show_rule(rule));
            text.push_str(&format!("`{shown}` may not be what you mean: {why}\n"));
        }
        text
    }
}

/// Returns the rules that name a tool and match its calls never or only by chance.
fn mismatched(rules: &[Rule], tool: &ToolSpec) -> Vec<(Rule, &'static str)> {
    let named = rules.iter().filter(|rule| rule.tool_name() == tool.name);
    named
        .filter_map(|rule| {
            let (_, why) = first_mismatch(rule, std::slice::from_ref(tool))?;
            Some((rule.clone(), why))
        })
        .collect()
}

/// Checks that a rule that a person adds may match a call of a tool that it names, and not only by chance.
///
/// # Errors
/// Returns the error for the person who wrote it, with the rule that they may have meant.
pub fn check_matches(rule: &Rule, tools: &[ToolSpec]) -> Result<(), ChatError> {
    let Some((tool, why)) = first_mismatch(rule, tools) else {
        return Ok(());
    };
    let message = format!(
        "{} would not match calls of {}: {why}",
        visible(&show_rule(rule)),
        tool.name
    );
    let hint = match (&rule.argument, &tool.path_argument) {
        (Some(pattern), Some(_)) => format!("`--path '{pattern}'` names files"),
        _ => "see docs/CONFIG.md, Rules".to_owned(),
    };
    Err(ChatError::usage(message, hint))
}

/// Reads a call as typed: the tool, then its command line, its path, an address, or its arguments as JSON.
fn call_of<'a>(tools: &'a [ToolSpec], words: &str) -> Result<(&'a ToolSpec, Value), ChatError> {
    let (name, rest) = words.split_once(':').unwrap_or((words, ""));
    let tool = super::tool_named(tools, name.trim())?;
    // A carriage return belongs to a word: the rules do not remove it either.
    let rest = rest.trim_matches([' ', '\t', '\n']);
    if rest.is_empty() {
        return Ok((tool, json!({})));
    }
    if rest.starts_with('{') {
        // `{ git push; }` is a command line.
        let is_line = tool.command_argument.is_some() && rest.contains('}') && !rest.starts_with("{\"");
        match serde_json::from_str(rest) {
            Ok(input) => return checked(tool, input),
            Err(_) if is_line => {}
            Err(error) => {
                return Err(ChatError::usage(
                    format!("the arguments are not JSON: {error}"),
                    format!("for example '{}: {{\"path\": \"x\"}}'", tool.name),
                ));
            }
        }
    }
    if let Some(argument) = &tool.address_argument {
        let mut input = json!({});
        input[argument] = json!([rest]);
        return Ok((tool, input));
    }
    match tool.command_argument.as_ref().or(tool.path_argument.as_ref()) {
        Some(argument) => {
            let mut input = json!({});
            input[argument] = rest.into();
            Ok((tool, input))
        }
        None => Err(ChatError::usage(
            format!("{} takes neither a command line nor a path", tool.name),
            format!("give its arguments as JSON: '{}: {{…}}'", tool.name),
        )),
    }
}

/// Returns the call unless its arguments contradict the schema of the tool: such a call never reaches a rule.
fn checked(tool: &ToolSpec, input: Value) -> Result<(&ToolSpec, Value), ChatError> {
    match argument_error(tool, &input) {
        None => Ok((tool, input)),
        Some(why) => {
            let why = why.replace("; nothing was done", "");
            let hint = format!("`agentx tools show {}` explains its arguments", tool.name);
            Err(ChatError::usage(why, hint))
        }
    }
}

/// Returns the reason why the tool itself would refuse the call, because of the target of its path on this
/// machine, or of a path in the command line of `bash` or `shell`.
fn refused_at_the_place(config: &AgentConfig, tool: &ToolSpec, input: &Value) -> Option<String> {
    let workspace = Path::new(&config.workspace);
    let line = tool
        .command_argument
        .as_ref()
        .filter(|_| ["bash", "shell"].contains(&tool.name.as_str()));
    if let Some(line) = line {
        let judge = |word: &str, real: &Path, may_leave: bool| {
            refused_in_line(config, tool, input, word, real, may_leave)
        };
        let by_link = refused_link(input.get(line)?.as_str()?, workspace, &judge);
        return by_link.or_else(|| refused_as_reading(config, tool, input));
    }
    let path = input.get(tool.path_argument.as_ref()?)?.as_str()?;
    let root = workspace.canonicalize().ok()?;
    match resolve_path(workspace, path) {
        Ok(real) => refused_by_the_tool(config, tool, input, &root, &real),
        Err(error) => Some(error.to_string()),
    }
}

/// Returns the reason why `bash` would refuse a line that needs no question because it only reads: a program
/// of the folder, or a file with secrets that a search would show.
fn refused_as_reading(config: &AgentConfig, tool: &ToolSpec, input: &Value) -> Option<String> {
    let reading = unasked_reading(config, tool, input)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has_settings = std::env::var_os("RIPGREP_CONFIG_PATH").is_some_and(|file| !file.is_empty());
    let rules = |root: &Path| PlaceRules::of(config, "read", &root.to_string_lossy());
    refused_reading(
        &reading,
        Path::new(&config.workspace),
        &path,
        has_settings,
        &rules,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_the_tool_does_not_take_are_an_error() {
        let schema = json!({"type": "object", "properties": {"path": {"type": "string"}},
            "required": ["path"], "additionalProperties": false});
        let mut read = ToolSpec::new("read", "", schema, agentx::types::Access::Read);
        read.checked = true;
        let tools = [read.with_path_argument("path")];
        assert!(call_of(&tools, "read: {\"path\": \"x\"}").is_ok());
        assert!(call_of(&tools, "read: x").is_ok());
        let error = call_of(&tools, "read: {\"pat\": \"x\"}").unwrap_err();
        assert!(
            error
                .render_at(None)
                .contains("unknown argument \"pat\": did you mean \"path\"?"),
            "{}",
            error.render_at(None)
        );
    }

    #[test]
    fn braces_around_no_json_are_a_command_line() {
        let tools = [
            ToolSpec::new("bash", "", json!({"type": "object"}), agentx::types::Access::Run)
                .with_command_argument("command"),
        ];
        for (words, line) in [
            ("bash: { git push; }", "{ git push; }"),
            ("bash: {git,push}", "{git,push}"),
            ("bash: {\"command\": \"ls\"}", "ls"),
        ] {
            let (_, input) = call_of(&tools, words).unwrap();
            assert_eq!(input, json!({ "command": line }), "{words}");
        }
        for words in ["bash: {oops", "bash: {\"command\": ls}"] {
            assert!(call_of(&tools, words).is_err(), "{words}");
        }
    }

    #[test]
    fn a_command_line_is_judged_with_the_white_space_that_a_shell_takes_for_a_word() {
        let tools = [
            ToolSpec::new("bash", "", json!({"type": "object"}), agentx::types::Access::Run)
                .with_command_argument("command"),
        ];
        for (words, line) in [
            ("bash:  ./run.sh\t\n", "./run.sh"),
            ("bash: ./run.sh\r", "./run.sh\r"),
            ("bash: ./run.sh\u{a0}", "./run.sh\u{a0}"),
        ] {
            let (_, input) = call_of(&tools, words).unwrap();
            assert_eq!(input, json!({ "command": line }), "{words:?}");
        }
    }
}
