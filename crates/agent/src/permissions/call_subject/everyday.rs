//! Everyday forms of a command that a rule allows: behind wrappers (`timeout 60 …`), without its output (`2>&1`,
//! `>/dev/null`), and with a pipe into programs that only read it (`… | tail -20`). From version 9 of the rules on.

use agentx_types::since;

use super::CallSubject;
use crate::commands::command_split::{forms, is_only_redirections, only_reads_input};

impl CallSubject<'_> {
    /// The forms in which a command is compared with rules that allow; the first is the command itself.
    pub(super) fn forms<'c>(&self, command: &'c str) -> Vec<&'c str> {
        if self.version >= since::EVERYDAY_FORMS {
            forms(command)
        } else {
            vec![command]
        }
    }

    /// Returns whether a part of a line needs no rule of its own: it runs nothing, or reads what the command before it
    /// writes and nothing else.
    pub(super) fn needs_no_rule(&self, command: &str, is_fed: bool) -> bool {
        let reads = || {
            let forms = self.forms(command);
            is_fed && forms.iter().any(|form| only_reads_input(form))
        };
        self.version >= since::EVERYDAY_FORMS
            && self.secret().is_none()
            && (is_only_redirections(command) || reads())
    }
}
