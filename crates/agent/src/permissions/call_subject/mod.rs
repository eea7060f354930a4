//! The subject of a call: the path, the command line and the hosts that its arguments name, and the rules
//! that apply to them.
//!
//! Rules that deny or ask are compared with every possible reading of a call: they apply if any reading fits.
//! A rule that allows has to cover the whole call as it is written. A parsing error therefore causes an
//! unnecessary question, never an unwanted permission.
//!
//! Nothing here reads the disk: the tool checks links and the values of variables
//! ([`link_refusal`](crate::permissions::approval::link_refusal), decision 007 in `issues/`).
//! `version` is that of the rules (`RULES_VERSION`): a session with an earlier version skips later checks.

mod beside_rules;
mod everyday;
mod gap;
mod guarded;
mod hidden;
pub(crate) mod hosts;
mod named_paths;
mod option_words;
pub(crate) mod oversized;
mod suggested;
mod tools;
pub(crate) mod typed_text;
mod unasked;
pub(crate) mod uncovered;
mod written_files;

use std::cell::OnceCell;
use std::sync::Arc;

use agentx_types::{Access, AgentConfig, Guard, Rule, RuleEffect, ToolReach, ToolSpec, since};
use serde_json::Value;

use crate::commands::command_analysis::{CommandAnalysis, read_as, read_typed};
use crate::commands::command_split::trimmed;
use crate::commands::own_program;
use crate::commands::severity::runs_git;
use crate::files::auto_run_files::{is_guarded_as, is_instructions_as};
use crate::files::prepared_guard::{GuardPatterns, Guarded, PreparedGuard};
use crate::pattern::{fits, is_within, literal, normalize};
use crate::permissions::remembered_rule;
use crate::permissions::rule_options::{fits_anywhere, fits_by_options};
use crate::permissions::rule_origin::holds_after;
use typed_text::{as_read, types_text};

/// The subject of a call, for one judgement. It parses the command line once, on first use.
pub(crate) struct CallSubject<'a> {
    pub(crate) tool: &'a ToolSpec,
    /// The workspace of the agent, absolute and normal.
    workspace: &'a str,
    /// The version of the rules.
    pub(crate) version: u32,
    /// The normal path that it names.
    path: Option<String>,
    /// The command line that it runs, the text that it types, or all its arguments.
    argument: String,
    /// All arguments of a call that types text into a program; `None` for any other call.
    typed: Option<String>,
    /// The reading of the command line.
    reading: OnceCell<CommandAnalysis>,
    /// Whether a folder in which the line finds names of files that it opens has guarded files.
    finds_guarded: OnceCell<bool>,
    /// The first guarded file that it names, with the reason.
    guarded: Option<(Guarded, String)>,
    /// The guarded files, if the configuration has any.
    guard: Option<&'a Guard>,
    /// The same, prepared on first use.
    prepared: OnceCell<PreparedGuard<'a>>,
    /// In the session of a member: the directory that they work in.
    member_directory: Option<&'a str>,
    /// The hosts that the call itself names, if the tool has an argument for addresses.
    named_hosts: Option<ToolReach>,
    /// Whether text from the web has entered the conversation.
    web_text: bool,
}

impl<'a> CallSubject<'a> {
    /// A call without the guard of a configuration, after text from the web. `version` is that of the rules.
    pub(crate) fn of(workspace: &'a str, version: u32, tool: &'a ToolSpec, input: &Value) -> Self {
        let text = |name: &String| input.get(name).and_then(Value::as_str);
        // A tool with an optional path works on the workspace itself if the path is missing.
        let path = tool.path_argument.as_ref().map(|name| {
            let path = text(name).unwrap_or(".");
            // A shell would expand the home directory here. Our tools do not, but a person reads it that way.
            if path.starts_with('~') {
                path.to_owned()
            } else {
                normalize(workspace, path)
            }
        });
        let line = tool.command_argument.as_ref().and_then(text);
        let typed = types_text(tool, version).then(|| input.to_string());
        let argument = match line {
            Some(text) if typed.is_some() => trimmed(&as_read(text), version).to_owned(),
            Some(line) => trimmed(line, version).to_owned(),
            None => input.to_string(),
        };
        Self {
            tool,
            workspace,
            version,
            path,
            argument,
            typed,
            reading: OnceCell::new(),
            finds_guarded: OnceCell::new(),
            guarded: None,
            guard: None,
            prepared: OnceCell::new(),
            member_directory: None,
            named_hosts: hosts::named_by(tool, input),
            web_text: true,
        }
    }

    /// A call of an agent: with the files that its configuration guards, and the directory of a member.
    pub(crate) fn of_agent(config: &'a AgentConfig, tool: &'a ToolSpec, input: &Value) -> Self {
        Self::of_prepared(config, None, tool, input)
    }

    /// The same, with the patterns of the configuration's guard if they were prepared before.
    pub(crate) fn of_prepared(
        config: &'a AgentConfig,
        patterns: Option<Arc<GuardPatterns>>,
        tool: &'a ToolSpec,
        input: &Value,
    ) -> Self {
        let mut subject = Self::of(&config.workspace, config.rules_version, tool, input);
        subject.guard = config.guard.as_deref();
        if let (Some(guard), Some(patterns)) = (subject.guard, patterns) {
            subject.prepared = PreparedGuard::of_patterns(guard, patterns).into();
        }
        subject.member_directory = member_directory(config);
        subject.web_text = config.web_text;
        if let Some(guard) = subject.guard {
            subject.guarded = subject.first_guarded(guard, input);
        }
        subject
    }

    /// Returns whether the path that it names is outside the workspace. A command line names no path of this
    /// kind.
    pub(crate) fn is_outside(&self) -> bool {
        self.path
            .as_ref()
            .is_some_and(|path| !is_within(self.workspace, path))
    }

    /// Returns whether it names a place outside the directory of the session's member.
    fn is_elsewhere(&self) -> bool {
        let Some(directory) = self.member_directory else {
            return false;
        };
        let place = self.path.as_deref().unwrap_or(self.workspace);
        !is_within(directory, place)
    }

    /// The reason why a person must decide about it each time, regardless of the rules.
    pub(crate) fn always_asked(&self) -> Option<&'static str> {
        let counts = self.version >= since::OWN_SETTINGS_ARE_ASKED_ABOUT && self.runs_commands();
        counts
            .then(|| own_program::ask_reason(&self.argument, self.reading(), self.version))
            .flatten()
    }

    /// Returns whether it is a call of a tool that runs command lines.
    pub(crate) fn runs_commands(&self) -> bool {
        self.tool.command_argument.is_some()
    }

    /// The commands that the command line may run; empty for other tools.
    fn reading(&self) -> &CommandAnalysis {
        self.reading.get_or_init(|| {
            if self.is_typed() {
                read_typed(&self.argument, self.version)
            } else if self.runs_commands() {
                read_as(&self.argument, self.version)
            } else {
                CommandAnalysis::default()
            }
        })
    }

    /// The first rule with this effect (`deny` or `ask`) that touches any part of the call.
    pub(crate) fn first_rule_with(&self, effect: RuleEffect, rules: &[Rule]) -> Option<usize> {
        rules
            .iter()
            .position(|rule| rule.effect == effect && self.touched_by(rule))
    }

    /// Returns whether a rule that denies or asks is about any part of the call: tool, place, path and
    /// argument all fit.
    fn touched_by(&self, rule: &Rule) -> bool {
        self.is_where(rule)
            && self.is_tool_of(rule)
            && rule
                .path
                .as_ref()
                .is_none_or(|pattern| self.may_name(pattern, self.base(rule)))
            && self
                .is_named_by_server(rule)
                .unwrap_or_else(|| self.has_argument(rule))
    }

    /// Returns whether the argument of a rule that denies or asks is about any part of the call.
    fn has_argument(&self, rule: &Rule) -> bool {
        rule.argument.as_ref().is_none_or(|pattern| {
            let as_set = |words: &String| {
                self.version >= since::OPTIONS_IN_ANY_ORDER && fits_by_options(pattern, words, self.version)
            };
            let is_it = |words: &String| fits(pattern, words) || as_set(words);
            let is_anywhere = |words: &String| {
                self.version >= since::SHORTENED_OPTIONS && fits_anywhere(pattern, words, self.version)
            };
            fits(pattern, &self.argument)
                || self.typed_fits(pattern)
                || self.may_reach(pattern)
                || self.reading().commands.iter().any(is_it)
                || self.reading().in_words.iter().any(is_anywhere)
        })
    }

    /// Returns whether the rule holds in this workspace, and at this point of the conversation.
    pub(crate) fn is_where(&self, rule: &Rule) -> bool {
        let place = rule.workspace.as_deref();
        place.is_none_or(|place| is_within(place, self.workspace))
            && holds_after(rule, self.version, self.web_text)
    }

    /// The folder in which a relative path of the rule begins.
    fn base<'r>(&'r self, rule: &'r Rule) -> &'r str {
        rule.workspace.as_deref().unwrap_or(self.workspace)
    }

    /// Returns whether a pattern is this command line, and nothing else.
    fn is_whole(&self, pattern: &str) -> bool {
        pattern == self.argument || pattern == literal(&self.argument) || self.is_typed_call(pattern)
    }

    /// Returns whether a rule allows calls of this tool on this path.
    fn allows_here(&self, rule: &Rule) -> bool {
        rule.effect == RuleEffect::Allow
            && self.is_where(rule)
            && self.is_tool_of(rule)
            && self.may_allow_typed(rule)
            && rule
                .path
                .as_ref()
                .is_none_or(|pattern| self.has_path(pattern, self.base(rule)))
            && (!self.changes_what_runs() || rule.path.as_deref().is_some_and(is_exact))
            && self.may_open(rule)
    }

    /// Returns whether it changes a file that programs run by themselves.
    pub(crate) fn changes_what_runs(&self) -> bool {
        let only_looks = matches!(self.tool.access, Access::Internal | Access::Read);
        let runs = |path: &str| is_guarded_as(path, self.version) || is_instructions_as(path, self.version);
        !only_looks && self.path.as_deref().is_some_and(runs)
    }

    /// Returns whether a rule's pattern covers one command: it fits, and its stars stand for nothing that a
    /// rule has to name explicitly (other places, secrets, variables, options that run or destroy something).
    fn covers_command(&self, pattern: &str, command: &str) -> bool {
        self.first_gap(pattern, command).is_none()
    }

    /// Returns whether the line may go to a folder in which the rule does not apply: with `cd`, out of the
    /// rule's workspace. Without the disk, one cannot know which folders below it are separate projects.
    fn leaves_folder_of(&self, rule: &Rule) -> bool {
        let place = rule.workspace.as_deref();
        self.version >= since::LEFT_FOLDERS
            && place.is_some_and(|place| self.reading().may_leave_directory(place, self.workspace))
    }

    /// The program that Git would run without anybody having accepted it, if the command line runs Git in
    /// such a repository.
    fn git_runs(&self) -> Option<&str> {
        let named = self.guard?.git.first()?;
        (self.runs_commands() && runs_git(&self.argument, self.version)).then_some(named)
    }

    /// The reason against a call that no rule matches. `whose` names the approval that it needs: `your` if
    /// the reader decides, otherwise `a`.
    pub(crate) fn default_reason(&self, whose: &str) -> String {
        if let Some(folder) = self.folder_around() {
            return format!(
                "{folder} has files of AgentX itself or files with secrets in it, and the command acts on all of it; only a rule with the whole line allows it"
            );
        }
        if let Some(path) = self.secret() {
            let path = remembered_rule::relative_to(self.workspace, path);
            return format!("{path} may hold secrets, and only a rule that names it allows it");
        }
        if let Some(named) = self.git_runs() {
            if self.version >= since::SETTINGS_OF_REPOSITORIES_ARE_FOLLOWED {
                return format!(
                    "Git follows this repository ({named}), which nobody has accepted; `agentx config trust` shows what it does and accepts it"
                );
            }
            return format!(
                "Git runs what this repository names ({named}), which nobody has accepted; `agentx config trust` shows and accepts it"
            );
        }
        match (&self.path, self.tool.access) {
            (Some(path), _) if self.is_outside() => format!("{path} is outside the workspace"),
            (_, Access::Read) if self.is_elsewhere() => {
                format!("{} is not this member's directory", self.workspace)
            }
            (Some(path), _) if self.changes_what_runs() && !is_guarded_as(path, self.version) => {
                format!("agents take {path} for instructions, so no pattern allows it")
            }
            (Some(path), _) if self.changes_what_runs() => {
                format!("{path} can make other programs run something, so no pattern allows it")
            }
            _ if self.reach_description().is_some() => self.reach_description().unwrap_or_default(),
            (_, access) if self.version >= since::REFUSALS_SAY_WHY => {
                let what = match access {
                    Access::Change => "changing a file",
                    Access::Run => "running a program",
                    Access::Network => "reaching the network",
                    Access::Read | Access::Internal => "this call",
                };
                match whose {
                    _ if self.version < since::APPROVAL_IS_NAMED => format!("{what} needs {whose} yes"),
                    "your" => format!("{what} needs your approval"),
                    _ => format!("{what} needs approval"),
                }
            }
            (_, Access::Change) => "changing files is asked for".to_owned(),
            (_, Access::Run) => "running programs is asked for".to_owned(),
            (_, Access::Network) => "reaching the network is asked for".to_owned(),
            (_, Access::Read | Access::Internal) => "it is asked for".to_owned(),
        }
    }
}

/// Returns whether a pattern is one path, or one command line.
fn is_exact(pattern: &str) -> bool {
    !pattern.replace("\\*", "").contains('*')
}

/// The directory that a member works in, if this is the session of one.
pub fn member_directory(config: &AgentConfig) -> Option<&str> {
    config.server_rules.as_ref()?.member_directory.as_deref()
}
