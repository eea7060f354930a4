//! The guard of an agent's configuration, prepared once for all calls of the agent.
//!
//! The preparation takes longer than the rest of a decision. While a session is opened, every call of its
//! log is decided again, so an agent keeps the prepared patterns until its configuration has another guard.

use std::sync::Arc;

use agentx_types::{AgentConfig, Guard};

use super::prepared_guard::GuardPatterns;
use crate::cache::CachedValue;

/// The prepared patterns of the guard that the configuration of an agent has.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct KeptGuard(CachedValue<KeptPatterns>);

/// Prepared patterns, and what they were prepared for.
#[derive(Clone, Debug)]
struct KeptPatterns {
    guard: Arc<Guard>,
    workspace: String,
    patterns: Arc<GuardPatterns>,
}

impl KeptPatterns {
    fn new(guard: &Arc<Guard>, workspace: &str) -> Self {
        Self {
            guard: guard.clone(),
            workspace: workspace.to_owned(),
            patterns: Arc::new(GuardPatterns::new(guard, workspace)),
        }
    }

    /// Returns whether they are those of this guard. Another guard with equal patterns is prepared again.
    fn belong_to(&self, guard: &Arc<Guard>, workspace: &str) -> bool {
        Arc::ptr_eq(&self.guard, guard) && self.workspace == workspace
    }
}

impl KeptGuard {
    /// The prepared patterns of the guard of this configuration; `None` if it has none.
    pub(crate) fn patterns_for(&mut self, config: &AgentConfig) -> Option<Arc<GuardPatterns>> {
        let (guard, workspace) = (config.guard.as_ref()?, &config.workspace);
        let prepare = || KeptPatterns::new(guard, workspace);
        if !self.0.get_or(prepare).belong_to(guard, workspace) {
            self.0.clear();
        }
        Some(self.0.get_or(prepare).patterns.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::prepared_guard::{Guarded, PreparedGuard};
    use crate::fixtures;

    /// The reason why the kept patterns guard a file.
    fn reason(kept: &mut KeptGuard, config: &AgentConfig, path: &str) -> Option<Guarded> {
        let patterns = kept.patterns_for(config)?;
        let guard = config.guard.as_deref()?;
        PreparedGuard::of_patterns(guard, patterns).reason(path)
    }

    #[test]
    fn patterns_are_prepared_again_for_another_guard_or_workspace_alone() {
        let with = |secret: &str| {
            let secrets = vec![secret.to_owned()];
            let guard = Guard {
                secrets,
                ..Guard::default()
            };
            AgentConfig {
                guard: Some(Arc::new(guard)),
                ..fixtures::config()
            }
        };
        let (mut kept, mut config) = (KeptGuard::default(), with("sub/key"));
        let first = kept.patterns_for(&config).expect("patterns");
        config.web_text = true;
        assert!(Arc::ptr_eq(
            &first,
            &kept.patterns_for(&config).expect("patterns")
        ));
        assert_eq!(reason(&mut kept, &config, "/ws/sub/key"), Some(Guarded::Secret));
        config.workspace = "/elsewhere".into();
        assert_eq!(reason(&mut kept, &config, "/ws/sub/key"), None);
        assert_eq!(reason(&mut kept, &config, "sub/key"), Some(Guarded::Secret));
        let other = with("/**/.env");
        assert_eq!(reason(&mut kept, &other, "sub/key"), None);
        assert_eq!(reason(&mut kept, &other, "sub/.env"), Some(Guarded::Secret));
        assert_eq!(reason(&mut kept, &fixtures::config(), "sub/.env"), None);
    }
}
