//! A file may make an agent stricter than the settings do, never freer: unpacking a project grants nothing.

use agentx_agent_files::definition::{AgentLimits, Approval};
use agentx_types::{AgentConfig, Limits, RuleEffect};

/// Applies a file's approval settings.
pub(crate) fn tighten_approval(config: &mut AgentConfig, approval: &Approval) {
    if let Some(mode) = approval.mode {
        config.approval = config.approval.stricter(mode);
    }
    let strict = approval
        .rules
        .iter()
        .filter(|rule| rule.effect != RuleEffect::Allow);
    config.rules.extend(strict.cloned());
}

/// Applies a file's limits.
pub(crate) fn tighten_limits(limits: Limits, file: &AgentLimits) -> Limits {
    let file = file.of_run();
    Limits {
        max_iterations: least(limits.max_iterations, file.max_iterations),
        max_tokens: least(limits.max_tokens, file.max_tokens),
        max_cost: least(limits.max_cost, file.max_cost),
        max_wall_ms: least(limits.max_wall_ms, file.max_wall_ms),
    }
}

fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use agentx_types::ApprovalMode;

    use super::*;

    #[test]
    fn files_only_tighten() {
        use ApprovalMode::{Ask, Auto, Deny};
        for (settings, file, is) in [
            (Auto, Auto, Auto),
            (Auto, Ask, Ask),
            (Ask, Auto, Ask),
            (Ask, Deny, Deny),
            (Deny, Auto, Deny),
        ] {
            assert_eq!(settings.stricter(file), is);
        }
        let limits = Limits {
            max_iterations: Some(5),
            ..Limits::default()
        };
        let file = AgentLimits {
            max_iterations: Some(9),
            max_tokens: Some(100),
            ..AgentLimits::default()
        };
        let tightened = tighten_limits(limits, &file);
        assert_eq!(
            (tightened.max_iterations, tightened.max_tokens),
            (Some(5), Some(100))
        );
    }
}
