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
    limits.stricter_limits(file.of_run())
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
