//! The rule that a person keeps with "always".
//!
//! It is shown with the question, so it covers exactly what the person saw (decision 030 in `issues/`), and
//! it applies only in this workspace:
//!
//! | call | rule |
//! | --- | --- |
//! | changes a file of the workspace | the files right beside it |
//! | changes a guarded file, one outside, or one with secrets | that file |
//! | runs a command line | the command with any words if these do no harm, otherwise word for word |
//! | types text into a program of a shell | word for word |
//! | runs one with a secret, a variable or a program that Git runs | word for word |
//! | reaches one host and nothing else | that host |
//! | calls a tool of an MCP server, and names no secret | the tool, as its server describes it now |
//! | any other with arguments | these arguments |

use agentx_types::{Access, Rule, RuleEffect, since};

use super::CallSubject;
use crate::commands::command_split::similar_commands;
use crate::pattern::literal;
use crate::permissions::remembered_rule;
use crate::permissions::wildcards::names_all_variables;
use crate::tools::described_tools::name_in_rules;

impl CallSubject<'_> {
    /// The rule that "always" keeps.
    pub(crate) fn suggested(&self) -> Rule {
        if self.version < since::KEPT_AS_SEEN {
            return self.suggested_before();
        }
        let path = self.path.as_ref().map(|path| match self.tool.access {
            Access::Change if !self.is_outside() && self.secret().is_none() && !self.changes_what_runs() => {
                remembered_rule::folder_as(self.workspace, path, self.version)
            }
            _ => literal(remembered_rule::relative_to(self.workspace, path)),
        });
        let argument = match (self.runs_commands(), self.tool.access) {
            (true, _)
                if self.is_typed()
                    || self.secret().is_some()
                    || self.has_variables()
                    || self.git_runs().is_some() =>
            {
                Some(literal(&self.argument))
            }
            (true, _) => Some(remembered_rule::command_as(&self.argument, self.version)),
            (false, Access::Internal | Access::Read) => None,
            (false, _) if path.is_some() || self.keeps_server_tool() => None,
            (false, _) => Some(match self.only_host() {
                Some(host) => format!("to {host}"),
                None => literal(&self.argument),
            }),
        };
        Rule {
            effect: RuleEffect::Allow,
            tool: name_in_rules(self.tool),
            argument,
            path,
            workspace: Some(self.workspace.to_owned()),
            origin: None,
        }
    }

    /// Returns whether the kept rule is about all calls of an MCP server's tool. The rule names the tool with
    /// the hash of its description, so it ends when the server changes that.
    fn keeps_server_tool(&self) -> bool {
        let reach = self.tool.reach.as_deref();
        let is_described = reach.is_some_and(|reach| reach.mcp.is_some() && reach.file.is_some());
        self.version >= since::SERVER_TOOLS_ARE_KEPT_WHOLE
            && is_described
            && self.secret().is_none()
            && self.only_host().is_none()
    }

    /// Returns whether a shell expands something in the command line that nobody saw.
    fn has_variables(&self) -> bool {
        self.version >= since::VARIABLES_ARE_NAMED && !names_all_variables("", &self.argument)
    }

    /// The suggestion from before rules had versions: wider, and for every workspace. Old logs need it.
    fn suggested_before(&self) -> Rule {
        let path = match &self.path {
            Some(path) if self.is_outside() => Some(literal(path)),
            Some(_) => Some("**".to_owned()),
            None => None,
        };
        Rule {
            effect: RuleEffect::Allow,
            tool: self.tool.name.clone(),
            argument: self.runs_commands().then(|| similar_commands(&self.argument)),
            path,
            workspace: None,
            origin: None,
        }
    }
}
