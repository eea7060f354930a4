//! Paths that rules exclude from searches. A search names one directory and shows files below it, so the
//! rules apply to each of these files.

use agentx_types::{AgentConfig, ApprovalMode, Rule, RuleEffect, since};

use crate::files::closed_files::{SecretGuard, names_prepared_secret};
use crate::files::home_paths::{known_homes, pattern_forms};
use crate::files::path_pattern::is_named_by;
use crate::files::prepared_guard::PreparedGuard;
use crate::pattern::{fits, is_within};
use crate::permissions::approval::rules_of;
use crate::permissions::rule_origin::holds_after;

/// The rules that ask about or deny files that a search may find.
#[derive(Clone, Debug)]
pub struct PlaceRules {
    /// Rules that deny, or ask and have not been answered.
    rules: Vec<Rule>,
    /// The workspace of the agent, absolute.
    workspace: String,
    /// The home directories of the person.
    homes: Vec<String>,
    /// Files with secrets, and the program's own.
    watch: SecretGuard,
    /// Rules that allow some of them.
    opening: Vec<Rule>,
}

impl PlaceRules {
    /// The rules about files that a search of `tool` below `root` shows: its own, and those about reading
    /// (the tool `read`). `None` if there are none.
    ///
    /// A rule that asked about `root` itself has been answered. Files that may hold secrets, and the
    /// program's own, are excluded from every search that does not begin at one of them.
    pub fn of(config: &AgentConfig, tool: &str, root: &str) -> Option<Self> {
        let homes = known_homes(config.guard.as_deref(), config.rules_version);
        let mut all = rules_of(config).into_owned();
        all.retain(|rule| holds_after(rule, config.rules_version, config.web_text));
        let is_open = |rule: &Rule| match rule.effect {
            RuleEffect::Allow => false,
            RuleEffect::Deny => true,
            RuleEffect::Ask => {
                let answered = fits(&rule.tool, tool) && covers(rule, root, &config.workspace, homes);
                let is_asked =
                    config.rules_version >= since::AUTO_ASKS || config.approval != ApprovalMode::Auto;
                is_asked && !answered
            }
        };
        let is_about = |rule: &&Rule| {
            is_open(rule)
                && rule.path.is_some()
                && rule.argument.is_none()
                && (fits(&rule.tool, tool) || fits(&rule.tool, "read"))
                && rule
                    .workspace
                    .as_deref()
                    .is_none_or(|place| is_within(place, &config.workspace))
        };
        let rules: Vec<Rule> = all.iter().filter(is_about).cloned().collect();
        let guard = config.guard.as_deref();
        let prepared = guard.map(|guard| PreparedGuard::new(guard, &config.workspace));
        let is_unguarded = |prepared: &PreparedGuard<'_>| prepared.reason(root).is_none();
        let watch = guard.filter(|_| prepared.as_ref().is_some_and(is_unguarded));
        if rules.is_empty() && watch.is_none() {
            return None;
        }
        let opens = |rule: &&Rule| {
            let base = rule.workspace.as_deref().unwrap_or(&config.workspace);
            rule.effect == RuleEffect::Allow
                && rule.argument.is_none()
                && (fits(&rule.tool, tool) || fits(&rule.tool, "read"))
                && is_within(base, &config.workspace)
                && (rule.path.as_deref().zip(prepared.as_ref()))
                    .is_some_and(|(path, guard)| names_prepared_secret(guard, path, base))
        };
        Some(Self {
            rules,
            workspace: config.workspace.clone(),
            homes: homes.to_vec(),
            watch: watch
                .map(|guard| SecretGuard::below_root(guard, root))
                .unwrap_or_default(),
            opening: all.iter().filter(opens).cloned().collect(),
        })
    }

    /// Returns whether a rule asks about or denies this path, or the guard of files covers it. The path is
    /// absolute and normal.
    ///
    /// ```
    /// use agentx_agent::{fixtures, search_scopes::PlaceRules};
    /// use agentx_types::{Rule, RuleEffect};
    ///
    /// let mut config = fixtures::config();
    /// let path = Some("secret/**".into());
    /// config.rules = vec![Rule {
    ///     effect: RuleEffect::Deny, tool: "read".into(), argument: None, path, workspace: None, origin: None,
    /// }];
    /// let places = PlaceRules::of(&config, "grep", "/ws").unwrap();
    /// assert!(places.cover("/ws/secret/a") && !places.cover("/ws/src/a"));
    /// ```
    pub fn cover(&self, path: &str) -> bool {
        let is_of = |rule: &Rule| covers(rule, path, &self.workspace, &self.homes);
        let is_guarded = || self.watch.covers(path) && !self.opening.iter().any(is_of);
        self.rules.iter().any(is_of) || is_guarded()
    }
}

/// Returns whether the path pattern of the rule is about this path.
fn covers(rule: &Rule, path: &str, workspace: &str, homes: &[String]) -> bool {
    let base = rule.workspace.as_deref().unwrap_or(workspace);
    let mut patterns = rule.path.iter().flat_map(|pattern| pattern_forms(pattern, homes));
    patterns.any(|pattern| is_named_by(&pattern, path, workspace, base))
}
