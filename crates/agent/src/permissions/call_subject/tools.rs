//! Whether a rule names the tool of a call: by its name, by the hash of its file, or by its MCP server.

use agentx_types::{Access, Rule, RuleEffect, since};

use super::CallSubject;
use crate::pattern::fits;
use crate::tools::described_tools::{MCP, has_changed, is_of_folder_server, name_in_rules, needs_own_rule};

/// The tool that changes a database, and shows what is in it too: a rule by path about `read`, `write` or
/// `edit` applies to it.
const QUERY_WRITE: &str = "query_write";

/// The tool that runs command lines, and the one that does so in a shell that stays: rules about the first
/// apply to the lines of the second.
const BASH: &str = "bash";
const SHELL: &str = "shell";

impl CallSubject<'_> {
    /// Returns whether the rule names this tool.
    ///
    /// A rule that denies files to the tool `read`, or asks about them, also applies to command lines and to
    /// other tools that read a file, because they may read the same one; one about `write` or `edit` applies
    /// to `query_write`, any about `bash` to `shell`, and those about both that deny or ask to `shell_input`.
    /// A rule that allows a person's own tool does not allow a replacement: if a folder's file takes its
    /// name, only a rule that names the file allows it. If a folder's MCP server takes a name, only a rule
    /// for a workspace, or for exactly this description, allows its tools.
    pub(crate) fn is_tool_of(&self, rule: &Rule) -> bool {
        let of_other_folders = rule.workspace.is_none() && is_of_folder_server(self.tool);
        let needs_file = rule.effect == RuleEffect::Allow && (needs_own_rule(self.tool) || of_other_folders);
        if rule.tool == MCP && self.server_tool().is_some() {
            return !needs_file;
        }
        let by_file = || rule.tool.contains('@') && fits(&rule.tool, &name_in_rules(self.tool));
        let is_of_shell = self.version >= since::SHELL_TAKES_RULES_OF_BASH
            && self.tool.name == SHELL
            && self.runs_commands();
        let by_name = || {
            fits(&rule.tool, &self.tool.name)
                || (is_of_shell && fits(&rule.tool, BASH))
                || [BASH, SHELL].iter().any(|tool| self.takes_rule_of(tool, rule))
        };
        let reads_files = || {
            let is_by_path = rule.path.is_some() && rule.argument.is_none();
            let restricts = rule.effect != RuleEffect::Allow;
            let holds = (self.runs_commands() && self.version >= since::READING_RULES_HOLD_FOR_LINES)
                || (self.reads_a_file() && self.version >= since::READING_RULES_HOLD_FOR_READERS);
            let is_about_reading = holds && fits(&rule.tool, "read");
            let is_about_changes = self.tool.name == QUERY_WRITE
                && self.version >= since::READING_RULES_HOLD_FOR_READERS
                && ["write", "edit"].iter().any(|tool| fits(&rule.tool, tool));
            restricts && is_by_path && (is_about_reading || is_about_changes)
        };
        by_file() || (!needs_file && by_name()) || reads_files()
    }

    /// Returns whether the tool shows what is in the file that its call names: tools that read a file, and
    /// the one that changes a database and returns rows of it.
    fn reads_a_file(&self) -> bool {
        let shows = self.tool.access == Access::Read || self.tool.name == QUERY_WRITE;
        shows && self.tool.path_argument.is_some()
    }

    /// The reason why a person must decide about it although a rule may allow it: it is always asked about,
    /// or its server changed it and no rule allows it as it is now.
    pub(crate) fn asked_whatever_rules_say(&self, rules: &[Rule]) -> Option<String> {
        let is_news = || has_changed(self.tool) && self.allowed_by(rules).is_none();
        let always = self.always_asked().map(str::to_owned);
        always.or_else(|| is_news().then(|| self.default_reason("your")))
    }

    /// The server and the tool as `SERVER/TOOL`, if an MCP server has the tool.
    pub(crate) fn server_tool(&self) -> Option<&str> {
        self.tool.reach.as_ref()?.mcp.as_deref()
    }

    /// Returns whether the argument of a rule about servers (`mcp: github/*`) names this tool; `None` for any
    /// other rule or tool, because then it is a pattern for the arguments of the call.
    pub(crate) fn is_named_by_server(&self, rule: &Rule) -> Option<bool> {
        let name = self.server_tool().filter(|_| rule.tool == MCP)?;
        Some(rule.argument.as_ref().is_none_or(|pattern| fits(pattern, name)))
    }
}
