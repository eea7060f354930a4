//! Tools that a folder's file describes, in rules.
//!
//! Another file may describe another tool of the same name, so what "always" keeps names the file by its
//! hash: `allow weather@0123456789abcdef0123`. Once the file changes, its hash does, and the rule is about it
//! no more.

use agentx_types::{Rule, RuleEffect, ToolSpec, since};

use crate::call_subject::CallSubject;
use crate::pattern::fits;

impl CallSubject<'_> {
    /// Returns whether the rule names this tool.
    ///
    /// A rule that denies files to the tool `read`, or asks about them, is about command lines too: they may
    /// read the file as well. A tool of the person's own is not replaced behind a rule that allows it: where
    /// a folder's file takes its name, only a rule that names the file allows it.
    pub(crate) fn is_tool_of(&self, rule: &Rule) -> bool {
        let by_file = || rule.tool.contains('@') && fits(&rule.tool, &name_in_rules(self.tool));
        let by_name = || fits(&rule.tool, &self.tool.name);
        let needs_file = rule.effect == RuleEffect::Allow && replaces_another(self.tool);
        let reads_files = || {
            let is_by_path = rule.path.is_some() && rule.argument.is_none();
            let restricts =
                rule.effect != RuleEffect::Allow && self.version >= since::READING_RULES_HOLD_FOR_LINES;
            restricts && is_by_path && self.runs_commands() && fits(&rule.tool, "read")
        };
        by_file() || (!needs_file && by_name()) || reads_files()
    }
}

/// The name of this tool in a rule about it alone: with the hash of its file, if it has one.
pub(crate) fn name_in_rules(tool: &ToolSpec) -> String {
    match tool.reach.as_ref().and_then(|reach| reach.file.as_ref()) {
        Some(file) => format!("{}@{file}", tool.name),
        None => tool.name.clone(),
    }
}

/// Returns whether a folder's file describes the tool instead of one of the person's own.
pub(crate) fn replaces_another(tool: &ToolSpec) -> bool {
    tool.reach.as_ref().is_some_and(|reach| reach.replaces)
}
