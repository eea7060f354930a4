//! Places that rules keep from searches. A search names one directory and shows what lies below it, so each file there is held
//! against the rules by itself.

use agentx_types::{AgentConfig, ApprovalMode, Rule, RuleEffect};

use crate::pattern::{fits, is_within};
use crate::subject::is_named_by;

/// The rules that ask about, or deny, what a search may come upon.
#[derive(Clone, Debug)]
pub struct PlaceRules {
    rules: Vec<Rule>,
    workspace: String,
}

impl PlaceRules {
    /// Those about files that a search of `tool` below `root` shows: its own, and those about reading (the tool `read`). A rule that
    /// asked about `root` itself has been answered, and none asks where nobody is to be asked. `None` where there are none.
    pub fn of(config: &AgentConfig, tool: &str, root: &str) -> Option<Self> {
        let is_open = |rule: &Rule| match rule.effect {
            RuleEffect::Allow => false,
            RuleEffect::Deny => true,
            RuleEffect::Ask => {
                let answered = fits(&rule.tool, tool) && covers(rule, root, &config.workspace);
                config.approval != ApprovalMode::Auto && !answered
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
        let rules: Vec<Rule> = config.rules.iter().filter(is_about).cloned().collect();
        (!rules.is_empty()).then(|| Self {
            rules,
            workspace: config.workspace.clone(),
        })
    }

    /// Whether a rule asks about or denies this path, which is absolute and normal.
    pub fn cover(&self, path: &str) -> bool {
        self.rules.iter().any(|rule| covers(rule, path, &self.workspace))
    }
}

fn covers(rule: &Rule, path: &str, workspace: &str) -> bool {
    let base = rule.workspace.as_deref().unwrap_or(workspace);
    let pattern = rule.path.as_deref();
    pattern.is_some_and(|pattern| is_named_by(pattern, path, workspace, base))
}
