//! What a call touches, as far as its arguments tell, and what rules say about that.

use std::cell::OnceCell;

use agentx_types::{Access, Rule, RuleEffect, ToolSpec};
use serde_json::Value;

use crate::command::{BLANKS, like, take_apart};
use crate::pattern::{fits, fits_path, is_within, literal, normalize};
use crate::reading::{Reading, read};

/// What a call touches.
pub(crate) struct Subject<'a> {
    tool: &'a ToolSpec,
    workspace: &'a str,
    /// The normal path that it names.
    path: Option<String>,
    /// The command line that it runs, or all its arguments.
    argument: String,
    /// What the command line may run.
    reading: OnceCell<Reading>,
}

impl<'a> Subject<'a> {
    pub(crate) fn of(workspace: &'a str, tool: &'a ToolSpec, input: &Value) -> Self {
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
            reading: OnceCell::new(),
        }
    }

    pub(crate) fn is_outside(&self) -> bool {
        self.path
            .as_ref()
            .is_some_and(|path| !is_within(self.workspace, path))
    }

    fn runs_commands(&self) -> bool {
        self.tool.command_argument.is_some()
    }

    fn reading(&self) -> &Reading {
        self.reading.get_or_init(|| match self.runs_commands() {
            true => read(&self.argument),
            false => Reading::default(),
        })
    }

    /// The first rule with this effect (`deny` or `ask`) that touches any part of the call.
    pub(crate) fn rule_that(&self, effect: RuleEffect, rules: &[Rule]) -> Option<usize> {
        rules
            .iter()
            .position(|rule| rule.effect == effect && self.touched_by(rule))
    }

    fn touched_by(&self, rule: &Rule) -> bool {
        fits(&rule.tool, &self.tool.name)
            && rule.path.as_ref().is_none_or(|pattern| self.may_name(pattern))
            && rule.argument.as_ref().is_none_or(|pattern| {
                fits(pattern, &self.argument)
                    || self.reading().commands.iter().any(|words| fits(pattern, words))
            })
    }

    /// Whether a path that the call names, or that stands in its command line, fits.
    fn may_name(&self, pattern: &str) -> bool {
        let named = self.path.iter().map(String::as_str);
        let in_line = self.reading().paths.iter().map(String::as_str);
        named
            .chain(in_line)
            .any(|path| is_named_by(pattern, path, self.workspace))
    }

    /// The rule that may be about what a command line hides, where what it runs cannot be known and only a rule that allows
    /// everything allows it.
    pub(crate) fn hidden_from(&self, rules: &[Rule]) -> Option<usize> {
        let may_touch = |rule: &Rule| {
            rule.effect != RuleEffect::Allow
                && (rule.argument.is_some() || rule.path.is_some())
                && fits(&rule.tool, &self.tool.name)
        };
        let index = rules
            .iter()
            .position(may_touch)
            .filter(|_| self.runs_commands())?;
        let whole = |rule: &Rule| {
            self.allows_here(rule) && rule.argument.as_deref().is_some_and(|p| self.is_whole(p))
        };
        (self.reading().hides && !rules.iter().any(whole)).then_some(index)
    }

    /// Whether a pattern is this command line, and nothing else.
    fn is_whole(&self, pattern: &str) -> bool {
        pattern == self.argument || pattern == literal(&self.argument)
    }

    /// Whether a rule allows calls of this tool on this path.
    fn allows_here(&self, rule: &Rule) -> bool {
        rule.effect == RuleEffect::Allow
            && fits(&rule.tool, &self.tool.name)
            && rule.path.as_ref().is_none_or(|pattern| {
                self.path
                    .as_ref()
                    .is_some_and(|path| fits_path(pattern, path, self.workspace))
            })
    }

    /// The rules that together allow every part of the call.
    pub(crate) fn allowed_by(&self, rules: &[Rule]) -> Option<Vec<usize>> {
        let rules: Vec<(usize, &Rule)> = rules
            .iter()
            .enumerate()
            .filter(|(_, rule)| self.allows_here(rule))
            .collect();
        let whole = |(_, rule): &&(usize, &Rule)| match &rule.argument {
            None => true,
            Some(pattern) if self.runs_commands() => pattern == "*" || self.is_whole(pattern),
            Some(pattern) => fits(pattern, &self.argument),
        };
        if let Some((index, _)) = rules.iter().find(whole) {
            return Some(vec![*index]);
        }
        let line = self.runs_commands().then(|| take_apart(&self.argument))?;
        if !line.certain || line.commands.is_empty() {
            return None;
        }
        let mut used = Vec::new();
        for command in &line.commands {
            let (index, _) = rules.iter().find(|(_, rule)| {
                rule.argument
                    .as_ref()
                    .is_some_and(|pattern| fits(pattern, command) && stays_below(pattern, command))
            })?;
            if !used.contains(index) {
                used.push(*index);
            }
        }
        Some(used)
    }

    /// Why it is allowed without any rule.
    pub(crate) fn allowed_by_default(&self) -> Option<&'static str> {
        match self.tool.access {
            Access::Internal => Some("it touches nothing"),
            Access::Read if !self.is_outside() => Some("reading inside the workspace is allowed"),
            Access::Read | Access::Change | Access::Run | Access::Network => None,
        }
    }

    pub(crate) fn default_reason(&self) -> String {
        match (&self.path, self.tool.access) {
            (Some(path), _) if self.is_outside() => format!("{path} is outside the workspace"),
            (_, Access::Change) => "changing files is asked for".to_owned(),
            (_, Access::Run) => "running programs is asked for".to_owned(),
            (_, Access::Network) => "reaching the network is asked for".to_owned(),
            (_, Access::Read | Access::Internal) => "it is asked for".to_owned(),
        }
    }

    pub(crate) fn suggested(&self) -> Rule {
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

/// Whether `pattern` is about `path` as it stands in a call or a command line. Homes are known by how they are written.
fn is_named_by(pattern: &str, path: &str, workspace: &str) -> bool {
    let home = |path: &str| {
        let below = |start: &str| path.strip_prefix(start).map(|rest| format!("/~{rest}"));
        let of_person = |start: &str| {
            let rest = path.strip_prefix(start)?;
            let at = rest.find('/').unwrap_or(rest.len());
            Some(format!("/~{}", &rest[at..]))
        };
        ["~", "$HOME", "${HOME}", "/root"]
            .into_iter()
            .find_map(below)
            .or_else(|| ["/home/", "/Users/"].into_iter().find_map(of_person))
    };
    let written = home(path);
    if pattern.starts_with('~') {
        return written
            .is_some_and(|path| fits_path(&format!("/{pattern}"), &normalize("/", &path), workspace));
    }
    // Where `~` is cannot be known, but that it is a place of its own can.
    let absolute = match written {
        Some(written) if !path.starts_with('/') => normalize("/", &written),
        _ => normalize(workspace, path),
    };
    fits_path(pattern, &absolute, workspace)
}

/// A star right behind a `/` stands for what lies below: `rm build/*` does not allow `rm build/../src`.
fn stays_below(pattern: &str, command: &str) -> bool {
    let starred = pattern.contains("/*");
    let climbs = |word: &str| {
        let plain: String = word.chars().filter(|c| !"'\"\\".contains(*c)).collect();
        plain.split('/').any(|part| {
            part.starts_with("..") || (part.starts_with('.') && part[1..].starts_with(['?', '*', '[']))
        }) || plain.contains('$')
    };
    !starred
        || !command
            .split(' ')
            .any(|word| climbs(word) && !pattern.contains(word))
}
