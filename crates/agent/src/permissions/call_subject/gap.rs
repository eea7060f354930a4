//! The checks whether a rule's pattern covers a command, in one list: the decision asks whether there is a
//! gap, and the explanation names the first one.

use agentx_types::since;

use super::CallSubject;
use crate::commands::severity::{runs_git, unnamed, unnamed_remote};
use crate::permissions::wildcards::{fits_command, names_all_places, names_all_variables, stays_below};

/// The part that a pattern would have to name to cover a command.
pub(super) enum RuleGap {
    /// The pattern does not fit, or a star in the value of a variable stands for more than one word.
    Value,
    /// This grave word.
    Word(String),
    /// This word, which may become an option by the name of a file.
    OptionWord(String),
    /// The remote of a command of Git, because it may be a repository on this machine.
    Remote(String),
    /// A variable, whose value nobody has seen.
    Variable,
    /// A place outside of the folder before the star.
    Place,
    /// A file that may hold secrets.
    Secret,
    /// This file, which programs run by themselves and the command writes.
    WrittenFile(String),
    /// The whole command: Git would run what the repository names.
    Git,
}

impl CallSubject<'_> {
    /// The first reason why a rule's pattern does not cover one command; `None` if it does. Earlier versions
    /// of the rules lack some of the checks.
    pub(super) fn first_gap(&self, pattern: &str, command: &str) -> Option<RuleGap> {
        let version = self.version;
        if !fits_command(pattern, command, version) {
            return Some(RuleGap::Value);
        }
        if version >= since::GRAVE_WORDS_ARE_NAMED
            && let Some(word) = unnamed(pattern, command, self.workspace, version)
        {
            return Some(RuleGap::Word(word));
        }
        if let Some(word) = self.unnamed_option(pattern, command) {
            return Some(RuleGap::OptionWord(word));
        }
        let remotes = self.guard.and_then(|guard| guard.git_remotes.as_ref());
        if let Some(remote) = unnamed_remote(pattern, command, remotes, version) {
            return Some(RuleGap::Remote(remote));
        }
        if version >= since::VARIABLES_ARE_NAMED && !names_all_variables(pattern, command) {
            return Some(RuleGap::Variable);
        }
        let is_in_places = version < since::PLACES_ARE_NAMED || names_all_places(pattern, command);
        if !stays_below(pattern, command) || !is_in_places {
            return Some(RuleGap::Place);
        }
        if !self.may_open_in(pattern, command) {
            return Some(RuleGap::Secret);
        }
        if let Some(path) = self.unnamed_written_file(pattern, command) {
            return Some(RuleGap::WrittenFile(path));
        }
        let is_in_git = self.git_runs().is_some() && runs_git(command, version);
        is_in_git.then_some(RuleGap::Git)
    }
}
