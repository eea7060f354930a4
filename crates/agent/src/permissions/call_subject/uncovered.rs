//! Explains, for the question, why an allow rule does not cover a call to which it seems to apply: `git *`
//! does not cover `git push`.
//!
//! This module only explains; it decides nothing. It applies the conditions of [`CallSubject::allowed_by`] in
//! another order. That function begins with rules for the whole call and with lines that cannot be split, and
//! then looks for one rule per command. Here each command of the line comes first, with every rule whose
//! pattern fits it; `gap` names the first condition that such a rule does not meet, and a line that cannot be
//! split is named last. A condition that is added to `covers_command` needs its words in `gap`. Without this
//! file, a person who wrote a rule would be asked again and again without knowing why.

use agentx_types::{AgentConfig, ApprovalMode, RULES_VERSION, Rule, RuleEffect, ToolSpec, since};
use serde_json::Value;

use super::gap::RuleGap;
use super::{CallSubject, is_exact};
use crate::commands::command_analysis::is_wrapper;
use crate::commands::command_split::{CommandLine, in_front, take_apart_as};
use crate::commands::question_grade::{Grade, of_listed};
use crate::commands::severity::{is_of_build_tool, may_become_an_option};
use crate::pattern::fits;
use crate::permissions::remembered_rule::relative_to;
use crate::permissions::rule_words::in_reason;

/// The reason for a line that cannot be parsed.
const NOT_APART: &str =
    "a line with $(…), `…`, a redirection or a bracket needs a rule that quotes the whole line";

/// The reason for a line that goes to a folder in which the rule does not apply.
const ELSEWHERE: &str = "the line may go to a folder in which that rule does not hold";

impl CallSubject<'_> {
    /// The reason why a person is asked about a call that no rule allows: the gap of the rule that
    /// comes nearest, otherwise the default. From version 7 of the rules on, rules are checked for this.
    pub(crate) fn not_allowed_reason(&self, rules: &[Rule], mode: ApprovalMode) -> String {
        let whose = match mode {
            mode if mode.asks() && self.member_directory.is_none() => "your",
            _ => "a",
        };
        let has_reason = self.secret().is_some() || self.git_runs().is_some();
        let near = (self.version >= since::GAPS_ARE_NAMED && !has_reason)
            .then(|| self.uncovered(rules))
            .flatten();
        near.unwrap_or_else(|| self.default_reason(whose))
    }

    /// The first command of the line that no rule covers, as a sentence, if a rule covers another one or
    /// looks as if it did. `None` if nothing is near.
    fn uncovered(&self, rules: &[Rule]) -> Option<String> {
        if !self.runs_commands() {
            return None;
        }
        let allowing: Vec<&Rule> = rules.iter().filter(|rule| self.allows_here(rule)).collect();
        if let Some(reason) = self.gap_of_line(&allowing) {
            return Some(reason);
        }
        let line = take_apart_as(&self.argument, self.version);
        let gaps = |at: usize, command: &str| self.gaps(command, line.fed.contains(&at), &allowing);
        let is_covered = |at: usize, command: &str| {
            gaps(at, command).iter().any(|(_, gap)| gap.is_none()) || self.needs_no_rule(&line, at)
        };
        let commands = line.commands.iter().enumerate();
        let left = commands.filter(|(at, command)| !is_covered(*at, command));
        let left = self.needing_rules(&line, left.map(|(at, _)| at).collect());
        let first = left.first().and_then(|at| Some((*at, line.commands.get(*at)?)));
        if let Some((at, command)) = first {
            let near = gaps(at, command)
                .into_iter()
                .find_map(|(rule, gap)| Some((rule, gap?)));
            let front = || self.front(command, &allowing);
            let is_part = || at > 0 || self.allows_another(&line, &allowing);
            return match near {
                Some((rule, gap)) => Some(format!(
                    "the rule {} does not cover this: {gap}",
                    in_reason(rule, self.version)
                )),
                None => front().or_else(|| {
                    is_part().then(|| format!("no rule allows `{command}`, which is part of this line"))
                }),
            };
        }
        let is_near = !line.certain && !line.commands.is_empty();
        is_near.then(|| NOT_APART.to_owned())
    }

    /// The reason why a rule for the whole line, or for every line, does not cover this one.
    fn gap_of_line(&self, allowing: &[&Rule]) -> Option<String> {
        allowing.iter().find_map(|rule| {
            let gap = match rule.argument.as_deref() {
                None | Some("*") => self.written_file().map(run_by_others_reason),
                Some(pattern) if self.is_whole(pattern) => self
                    .unnamed_option_of_line(pattern)
                    .map(|word| option_reason(&word)),
                Some(_) => None,
            }?;
            Some(format!(
                "the rule {} does not cover this: {gap}",
                in_reason(rule, self.version)
            ))
        })
    }

    /// The rules whose patterns fit a form of a command, each with the reason why it does not cover it, if it
    /// does not.
    fn gaps<'r>(
        &self,
        command: &str,
        is_fed: bool,
        allowing: &[&'r Rule],
    ) -> Vec<(&'r Rule, Option<String>)> {
        let gap = |rule: &Rule, form: &str| {
            let pattern = rule.argument.as_deref()?;
            let gap = || match self.gap(pattern, form, is_fed) {
                None if self.leaves_folder_of(rule) => Some(ELSEWHERE.to_owned()),
                gap => gap,
            };
            fits(pattern, form).then(gap)
        };
        let forms = self.forms(command);
        let pairs = allowing
            .iter()
            .flat_map(|rule| forms.iter().map(move |form| (*rule, form)));
        pairs
            .filter_map(|(rule, form)| Some((rule, gap(rule, form)?)))
            .collect()
    }

    /// The reason if a rule fits what stands behind variables and programs that run another one.
    fn front(&self, command: &str, allowing: &[&Rule]) -> Option<String> {
        if self.version < since::FRONTS_ARE_NAMED {
            return None;
        }
        let is_fit = |inner: &str| {
            let mut patterns = allowing.iter().filter_map(|rule| rule.argument.as_deref());
            patterns.any(|pattern| fits(pattern, inner))
        };
        let (front, inner) = in_front(command, is_wrapper, is_fit)?;
        Some(format!("no rule allows `{front}` in front of `{inner}`"))
    }

    /// Returns whether a rule fits another command of the line than the first one.
    fn allows_another(&self, line: &CommandLine, allowing: &[&Rule]) -> bool {
        let others = line.commands.iter().skip(1);
        let mut forms = others.flat_map(|command| self.forms(command));
        let fits_one = |form: &str| {
            let mut patterns = allowing.iter().filter_map(|rule| rule.argument.as_deref());
            patterns.any(|pattern| fits(pattern, form))
        };
        self.version >= since::FRONTS_ARE_NAMED && line.certain && forms.any(fits_one)
    }

    /// The reason why a pattern that fits a command does not cover it; `None` if it does.
    fn gap(&self, pattern: &str, command: &str, is_fed: bool) -> Option<String> {
        if is_fed && is_exact(pattern) {
            return Some(format!("`{command}` reads what the command before it writes"));
        }
        Some(match self.first_gap(pattern, command)? {
            RuleGap::Value => {
                "a star in the value of a variable is one word without quotes and `$`".to_owned()
            }
            RuleGap::Word(word) => self.unnamed_word(&word),
            RuleGap::OptionWord(word) => option_reason(&word),
            RuleGap::Remote(remote) => format!(
                "`{remote}` may reach a repository on this machine, whose hooks Git runs, so its remote has to be named"
            ),
            RuleGap::Variable => "nobody has seen the value of the variable in it".to_owned(),
            RuleGap::Place => "it names a place outside of that folder".to_owned(),
            RuleGap::Secret => "it names a file that may hold secrets".to_owned(),
            RuleGap::WrittenFile(path) => run_by_others_reason(&path),
            RuleGap::Git => "Git runs what this repository names".to_owned(),
        })
    }

    /// The reason why a grave word has to be named.
    fn unnamed_word(&self, word: &str) -> String {
        match of_listed(word) {
            // A tool of the project may reach no network.
            Grade::Network if !word.starts_with("npx ") => format!("`{word}` reaches the network"),
            Grade::Destroys => format!("`{word}` deletes or overwrites"),
            _ if self.version >= since::KEPT_STARS_COVER && word.starts_with("git status ") => {
                format!("`{word}` has to be named, because it shows what is in files")
            }
            _ if self.version >= since::OPTIONS_OF_BUILD_TOOLS
                && is_of_build_tool(word)
                && may_become_an_option(word) =>
            {
                option_reason(word)
            }
            _ if self.version >= since::OPTIONS_OF_BUILD_TOOLS && is_of_build_tool(word) => {
                format!("`{word}` has to be named, because it is not known to be harmless")
            }
            Grade::Runs | Grade::Changes | Grade::Network => {
                format!("`{word}` has to be named, because it can run programs or lose work")
            }
        }
    }
}

/// The reason for a word that may become an option.
fn option_reason(word: &str) -> String {
    format!("`{word}` may become an option by the name of a file; with `./` in front it does not")
}

/// The reason for a file that other programs run.
fn run_by_others_reason(path: &str) -> String {
    format!("other programs run {path} or read it as instructions, so it has to be named")
}

/// Returns why an allow rule would not let this call run, for the person who chose its pattern; `None` if
/// there is nothing specific to say.
///
/// It uses the latest version of the rules, because the rule is for the future.
pub fn not_covered_reason(
    rule: &Rule,
    config: &AgentConfig,
    tool: &ToolSpec,
    input: &Value,
) -> Option<String> {
    let subject = CallSubject::of(&config.workspace, RULES_VERSION, tool, input);
    if rule.effect != RuleEffect::Allow {
        return None;
    }
    if let Some(pattern) = &rule.path {
        let path = relative_to(&config.workspace, subject.path.as_deref()?);
        return Some(if subject.changes_what_runs() {
            format!("only a rule for exactly {path} does")
        } else {
            format!("`{pattern}` does not fit {path}")
        });
    }
    let pattern = rule.argument.as_deref()?;
    let line = take_apart_as(&subject.argument, subject.version);
    let is_other = |(at, command): &(usize, &String)| {
        let forms = subject.forms(command);
        !forms.iter().any(|form| fits(pattern, form)) && !subject.needs_no_rule(&line, *at)
    };
    let commands = line.commands.iter().enumerate();
    let others = commands.filter(is_other).map(|(at, _)| at).collect();
    let newest = AgentConfig {
        rules_version: RULES_VERSION,
        ..config.clone()
    };
    let others = CallSubject::of_agent(&newest, tool, input).needing_rules(&line, others);
    let other = others.first().and_then(|at| line.commands.get(*at));
    if !subject.runs_commands() {
        return Some(format!("`{pattern}` does not fit {}", subject.argument));
    }
    match other {
        Some(command) => Some(format!("`{pattern}` does not cover `{command}`")),
        None => subject.uncovered(std::slice::from_ref(rule)),
    }
}
