//! Command lines whose words are links.
//!
//! The pure machine judges a name as it is written. Only the tool that runs the command can see where a name
//! leads; it takes the names of a line from [`LineNames`], follows them on the disk, and calls
//! [`refused_in_line`] for each that leads elsewhere. So a link cannot evade a rule about a file.

use std::collections::BTreeMap;

use agentx_types::{AgentConfig, ApprovalMode, Rule, RuleEffect, ToolSpec};
use serde_json::Value;

use crate::commands::command_analysis::{PathOverlap, read};
use crate::commands::recursive_programs::{FolderWalk, walk_of};
use crate::files::closed_files::{Guarded, guarded};
use crate::files::home_paths::{known_homes, pattern_forms};
use crate::files::path_pattern::{glob_meets, is_named_by};
use crate::pattern::{is_within, literal, normalize};
use crate::permissions::approval::{covers, rules_of};
use crate::permissions::call_subject::CallSubject;
use crate::permissions::rule_words::in_reason;

/// Maximum number of names in a piece of code to check; the rest is skipped.
const MOST_NAMES: usize = 1024;

/// The files that a command line may name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineNames {
    /// Names that are known to the letter, unchanged.
    pub paths: Vec<String>,
    /// Names with globs and variables in them, as [`crate::commands::command_analysis`] notes them.
    globs: Vec<String>,
    /// The way in which its programs find files below the folders that it names; `None` if they do not follow
    /// links.
    pub walk: Option<FolderWalk>,
}

impl LineNames {
    /// The names in a command line, those in pieces of code that it gives to interpreters included, without
    /// doubles.
    pub fn of(line: &str) -> Self {
        let mut reading = read(line);
        let in_code = reading.texts.iter().flat_map(|text| names_in(text));
        reading.paths.extend(in_code);
        reading.paths.sort();
        reading.paths.dedup();
        let walks = reading.commands.iter().filter_map(|command| walk_of(command));
        Self {
            walk: walks.reduce(FolderWalk::and),
            paths: reading.paths,
            globs: reading.globs,
        }
    }

    /// The directories in which globs begin, as they are written, and how many levels below those their names
    /// may be: `a/b*` begins in `a` and names files one level below, `*/c` begins in `.` and names files two
    /// levels below. A variable counts as one level.
    pub fn glob_folders(&self) -> BTreeMap<String, usize> {
        let mut folders = BTreeMap::new();
        for glob in &self.globs {
            let fixed = glob.split(|c: char| c.is_control()).next().unwrap_or_default();
            let folder = match fixed.rsplit_once('/') {
                None => ".",
                Some(("", _)) => "/",
                Some((folder, _)) => folder,
            };
            let below = glob.matches('/').count() - fixed.matches('/').count() + 1;
            let levels = folders.entry(folder.to_owned()).or_insert(below);
            *levels = below.max(*levels);
        }
        folders
    }

    /// Returns whether a glob may stand for this path.
    pub fn may_name(&self, path: &str, workspace: &str) -> bool {
        let pattern = literal(&normalize(workspace, path));
        let meets = |glob: &String| glob_meets(&pattern, glob, workspace, workspace) != PathOverlap::Never;
        self.globs.iter().any(meets)
    }
}

/// Possible names of files in a piece of code: runs of letters, digits and `-_.+/~`.
fn names_in(code: &str) -> impl Iterator<Item = String> {
    let separates = |c: char| !(c.is_alphanumeric() || "-_.+/~".contains(c));
    let names = code.split(separates).filter(|name| !name.is_empty());
    names.take(MOST_NAMES).map(str::to_owned)
}

/// The reason against a command in which `word` leads to `real` through a link, although the rules or a
/// person allowed it. `None` if there is none.
///
/// They judged the name. The command is refused if `real`, which is absolute and normalized,
///
/// - is one of the program's own files,
/// - may hold secrets, but the name did not look like it,
/// - is denied by a rule, or
/// - is outside the workspace and that needs a question, unless it `may_leave`, like the program
///   `.venv/bin/python`.
pub fn refused_in_line(
    config: &AgentConfig,
    tool: &ToolSpec,
    input: &Value,
    word: &str,
    real: &str,
    may_leave: bool,
) -> Option<String> {
    const NAME_IT: &str = "name that path itself, so that it can be decided about";
    let workspace = config.workspace.as_str();
    if normalize(workspace, word) == real {
        return None;
    }
    let guard = config.guard.as_deref();
    let behind = guard.and_then(|guard| guarded(guard, real, workspace));
    let here = guard.and_then(|guard| guarded(guard, word, workspace));
    let why = match behind {
        Some(Guarded::Own) => {
            Some("which belongs to AgentX itself (sessions, keys, settings); no tool opens it".to_owned())
        }
        Some(Guarded::Secret) if here.is_none() => Some(format!("which may hold secrets; {NAME_IT}")),
        _ => None,
    };
    let denied = || {
        let rules = rules_of(config);
        let homes = known_homes(guard, config.rules_version);
        let subject = CallSubject::of_agent(config, tool, input);
        let denies = |rule: &&Rule| {
            let base = rule.workspace.as_deref().unwrap_or(workspace);
            // A rule about reading holds for lines, whichever tool it names.
            let on_line = Rule {
                path: None,
                tool: tool.name.clone(),
                ..(*rule).clone()
            };
            rule.effect == RuleEffect::Deny
                && subject.is_where(rule)
                && subject.is_tool_of(rule)
                && rule.path.as_deref().is_some_and(|pattern| {
                    pattern_forms(pattern, homes).any(|pattern| is_named_by(&pattern, real, workspace, base))
                })
                && covers(&on_line, workspace, tool, input)
        };
        let rule = rules.iter().find(denies)?;
        Some(format!(
            "and the rule {} denies it",
            in_reason(rule, config.rules_version)
        ))
    };
    let leaves = || {
        let is_out = !may_leave
            && config.approval != ApprovalMode::Auto
            && !is_within(workspace, real)
            && is_within(workspace, &normalize(workspace, word));
        is_out.then(|| format!("outside of the workspace; {NAME_IT}"))
    };
    let why = why.or_else(denied).or_else(leaves)?;
    Some(format!("{word} leads to {real}, {why}"))
}
