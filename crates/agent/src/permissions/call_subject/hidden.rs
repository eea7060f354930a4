//! Commands that a line hides, and the rules that may be about them.
//!
//! `x=push; git $x` may be a command that a rule forbids. Then the call leads to a question, unless somebody
//! allowed exactly this line. If no rule may apply, there is no question for this reason: most lines with a
//! variable are harmless.

use agentx_types::{Rule, RuleEffect, since};

use super::CallSubject;
use crate::commands::command_analysis::{PathOverlap, may_fit};
use crate::files::home_paths::{path_forms, pattern_forms};
use crate::files::path_pattern::{glob_meets, may_lie_in};
use crate::permissions::rule_options::{may_fit_anywhere, may_fit_by_options};

impl CallSubject<'_> {
    /// Returns whether a word of the command line may become a path that fits the pattern.
    fn may_become(&self, pattern: &str, base: &str) -> bool {
        let (homes, reading) = (self.homes(), self.reading());
        // A pattern for a name in any folder does not apply to a folder.
        let is_placed = !pattern.starts_with("**/") && !pattern.starts_with("/**/");
        let may_be = |pattern: &str| {
            let meets = |name: &str| glob_meets(pattern, name, self.workspace, base) != PathOverlap::Never;
            let lies_in = |folder: &str| may_lie_in(pattern, folder, self.workspace, base);
            let mut globs = reading.globs.iter().flat_map(|name| path_forms(name, homes));
            let folders = reading.folders_taken.iter();
            let mut folders = folders.flat_map(|folder| path_forms(folder, homes));
            globs.any(|name| meets(&name)) || (is_placed && folders.any(|folder| lies_in(&folder)))
        };
        reading.unnamed || pattern_forms(pattern, homes).any(|pattern| may_be(&pattern))
    }

    /// The first rule that denies or asks and may apply to a hidden command, with the part of the line that
    /// is unknown. `None` if the line hides nothing from the rules, or a rule allows exactly this line.
    pub(crate) fn hidden_from(&self, rules: &[Rule]) -> Option<(usize, &'static str)> {
        let may_touch = |rule: &Rule| {
            rule.effect != RuleEffect::Allow
                && self.is_where(rule)
                && (rule.argument.is_some() || rule.path.is_some())
                && self.is_tool_of(rule)
        };
        let reading = self.reading();
        let what = |rule: &Rule| {
            let before = rule.argument.is_none() && self.version < since::PATH_RULES_SEE_COMMAND_LINES;
            let pattern = rule.argument.as_deref().or(before.then_some(""));
            let may_run = |pattern: &str| {
                let may_be = |open: &String| {
                    may_fit(pattern, open)
                        || (self.version >= since::OPTIONS_IN_ANY_ORDER
                            && may_fit_by_options(pattern, open, self.version))
                        || (self.version >= since::SHORTENED_OPTIONS
                            && may_fit_anywhere(pattern, open, self.version))
                };
                reading.open.iter().any(may_be) || reading.mentions(pattern)
            };
            let path = rule.path.as_deref();
            if reading.hides || pattern.is_some_and(may_run) {
                Some("what it runs")
            } else {
                path.filter(|path| self.may_become(path, self.base(rule)))
                    .map(|_| "which files it opens")
            }
        };
        let mut asking = rules.iter().enumerate().filter(|(_, rule)| may_touch(rule));
        let found = asking
            .find_map(|(index, rule)| Some((index, what(rule)?)))
            .filter(|_| self.runs_commands())?;
        let whole = |rule: &Rule| {
            self.allows_here(rule) && rule.argument.as_deref().is_some_and(|p| self.is_whole(p))
        };
        (!rules.iter().any(whole)).then_some(found)
    }
}
