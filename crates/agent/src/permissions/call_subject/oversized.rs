//! Detects command lines that are too large to match against the rules. Such a line gets the strictest
//! possible decision.
//!
//! Each pattern is matched against each reading of each command, so the work grows with the product: a very
//! long line would block a server for seconds. From version 9 of the rules on.

use agentx_types::{Rule, RuleEffect, since};

use super::CallSubject;

/// The maximum size, in bytes, of a line to match.
const MOST_BYTES: usize = 64 * 1024;
/// The maximum number of readings of all commands of a line: a plain command has two or three.
const MOST_FORMS: usize = 768;
/// The maximum number of comparisons: readings of the line times rules.
const MOST_WORK: usize = 1 << 22;

/// The reason for such a line.
pub(crate) const TOO_MUCH: &str = "the command line is too long or has too many commands to be matched against the rules; split it into shorter ones";

impl CallSubject<'_> {
    /// Returns whether a command line is too large to be compared with these rules, by any of the three
    /// bounds.
    pub(crate) fn is_too_much_for(&self, rules: &[Rule]) -> bool {
        if self.version < since::LINES_ARE_BOUNDED || !self.runs_commands() {
            return false;
        }
        if self.argument.len() > MOST_BYTES {
            return true;
        }
        let reading = self.reading();
        let forms = reading.commands.len() + reading.open.len();
        forms > MOST_FORMS || forms.saturating_mul(rules.len()) > MOST_WORK
    }

    /// The first rule that denies, otherwise the first that asks, and that is or may be about such a line.
    pub(crate) fn rule_about_unread(&self, rules: &[Rule]) -> Option<usize> {
        let with = |effect: RuleEffect| {
            rules
                .iter()
                .position(|rule| rule.effect == effect && self.is_where(rule) && self.is_tool_of(rule))
        };
        with(RuleEffect::Deny).or_else(|| with(RuleEffect::Ask))
    }

    /// The rule that denies all uses of the tool.
    pub(crate) fn whole_denied_by(&self, rules: &[Rule]) -> Option<usize> {
        rules.iter().position(|rule| {
            let is_whole =
                rule.argument.as_deref().is_none_or(|pattern| pattern == "*") && rule.path.is_none();
            rule.effect == RuleEffect::Deny && is_whole && self.is_where(rule) && self.is_tool_of(rule)
        })
    }

    /// The rule that allows all uses of the tool, or this line as a whole.
    pub(crate) fn whole_allowed_by(&self, rules: &[Rule]) -> Option<usize> {
        rules.iter().position(|rule| {
            self.allows_here(rule)
                && match rule.argument.as_deref() {
                    None => true,
                    Some("*") => self.secret().is_none(),
                    Some(pattern) => self.is_whole(pattern) && self.git_runs().is_none(),
                }
        })
    }
}
