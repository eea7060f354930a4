//! What held a command, in the words of its outcome: a fact with each call, and a note for the model if the
//! sandbox may have refused something.
//!
//! The kernel tells nobody what Landlock or the filter of system calls refused. What is known is what the
//! command itself says, compared with the policy ([`SandboxPolicy::refusal`]).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentx_sandbox::{SandboxPolicy, SandboxRefusal, SandboxStep};
use serde_json::{Value, json};

/// The field `sandbox` in the details of a command that nothing held, because the settings let it run without a
/// sandbox where none works.
pub(super) fn unheld() -> Value {
    json!({ "step": SandboxStep::None.as_str() })
}

/// What held a command.
#[derive(Clone, Debug)]
pub(super) struct CommandSandbox {
    policy: Arc<SandboxPolicy>,
    workspace: PathBuf,
}

impl CommandSandbox {
    pub(super) fn new(policy: SandboxPolicy, workspace: &Path) -> Self {
        Self {
            policy: Arc::new(policy),
            workspace: workspace.to_owned(),
        }
    }

    /// The step that held the command.
    pub(super) fn step(&self) -> SandboxStep {
        self.policy.step
    }

    /// Finds what was refused in the output of a command that failed.
    pub(super) async fn refusal(&self, output: &str) -> Option<SandboxRefusal> {
        let (held, output) = (self.clone(), output.to_owned());
        // Paths that the output names are looked up.
        let found = tokio::task::spawn_blocking(move || held.policy.refusal(&output, &held.workspace));
        found.await.ok().flatten()
    }

    /// The field `sandbox` in the details of an outcome.
    pub(super) fn details(&self, refused: Option<&SandboxRefusal>) -> Value {
        let mut details = json!({ "step": self.step().as_str(), "network": self.policy.network });
        if let Some(refused) = refused {
            details["may_have_refused"] = json!(refused.words);
            if let Some(reason) = &refused.reason {
                details["refused"] = json!(reason);
            }
        }
        details
    }

    /// The note for the model.
    pub(super) fn sentence(&self, refused: &SandboxRefusal) -> String {
        if let Some(reason) = &refused.reason {
            return format!("\n[the sandbox {} refused it: {reason}]", self.step());
        }
        let network = if self.policy.network {
            ""
        } else {
            ", and there is no network"
        };
        format!(
            "\n[it ran in the sandbox {}, which may be the cause: only the working directory, caches of toolchains and $TMPDIR can be written{network}]",
            self.step()
        )
    }
}
