//! Everyday forms of a command that a rule allows: behind wrappers (`timeout 60 …`), without its output
//! (`2>&1`, `>/dev/null`), and with a pipe into programs that only read it (`… | tail -20`); and parts of a
//! line that need no rule (`|| true`, `; echo "exit $?"`). From version 9 of the rules on.

use agentx_types::since;

use super::CallSubject;
use crate::commands::command_split::{
    CommandLine, forms, goes_to, is_only_redirections, only_reads_input, only_says, only_waits_or_asks,
};

impl CallSubject<'_> {
    /// The forms in which a command is compared with rules that allow; the first is the command itself.
    pub(super) fn forms<'c>(&self, command: &'c str) -> Vec<&'c str> {
        if self.version >= since::EVERYDAY_FORMS {
            forms(command)
        } else {
            vec![command]
        }
    }

    /// Returns whether a part of a line needs no separate rule: it is only redirections, it reads only the
    /// output of the command before it, it only prints words, waits or asks for a file, or it is `cd` to the
    /// workspace, where the line begins.
    pub(super) fn needs_no_rule(&self, line: &CommandLine, at: usize) -> bool {
        let Some(command) = line.commands.get(at) else {
            return false;
        };
        let forms = self.forms(command);
        let reads = || line.fed.contains(&at) && forms.iter().any(|form| only_reads_input(form));
        // Text that is printed into a pipe may be commands for the next program.
        let says = || {
            let is_harmless =
                |form: &&str| only_says(form) || only_waits_or_asks(form) || goes_to(form, self.workspace);
            self.version >= since::SAYING_NEEDS_NO_RULE
                && !line.fed.contains(&(at + 1))
                && forms.iter().any(is_harmless)
        };
        self.version >= since::EVERYDAY_FORMS
            && self.secret().is_none()
            && (is_only_redirections(command) || reads() || says())
    }
}
