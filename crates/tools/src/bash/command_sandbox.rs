//! The sandbox that held a command, as its outcome describes it: a fact with each call, and a note for the
//! model if the sandbox may have refused something.
//!
//! The kernel does not report what Landlock or the filter of system calls refused. The only evidence is the
//! output of the command, compared with the policy ([`SandboxPolicy::refusal`]).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentx_sandbox::{SandboxPolicy, SandboxRefusal, SandboxStep};
use serde_json::{Value, json};

/// Returns the field `sandbox` in the details of a command that ran without a sandbox, because none works
/// here and the settings allow that.
pub(super) fn unheld() -> Value {
    json!({ "step": SandboxStep::None.as_str() })
}

/// The sandbox that held a command.
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

    /// Finds a refusal in the output of a failed command.
    pub(super) async fn refusal(&self, output: &str) -> Option<SandboxRefusal> {
        let (held, output) = (self.clone(), output.to_owned());
        // Looks up the paths that the output names.
        let found = tokio::task::spawn_blocking(move || held.policy.refusal(&output, &held.workspace));
        found.await.ok().flatten()
    }

    /// Returns the field `sandbox` in the details of an outcome.
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

    /// Returns the note for the model.
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
