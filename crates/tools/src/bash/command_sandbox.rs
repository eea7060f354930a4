//! What held a command, in the words of its outcome: a fact with each call, and a note for the model if the
//! sandbox may have refused something.
//!
//! The kernel tells nobody what Landlock or the filter of system calls refused. What is known is what the
//! command itself says, so it is named as what it is: words in the output of a command that failed.

use agentx_sandbox::SandboxStep;
use serde_json::{Value, json};

/// What held a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CommandSandbox {
    pub(super) step: SandboxStep,
    pub(super) network: bool,
}

/// Words of programs to which the kernel said no.
const REFUSALS: &[&str] = &[
    "Permission denied",
    "Operation not permitted",
    "Read-only file system",
    "Network is unreachable",
    "Temporary failure in name resolution",
    "Could not resolve host",
    "EACCES",
    "EPERM",
    "EROFS",
    "ENETUNREACH",
    "EAI_AGAIN",
];

/// Finds words of a refusal in the output of a command.
pub(super) fn refusal(output: &str) -> Option<&'static str> {
    REFUSALS.iter().find(|words| output.contains(**words)).copied()
}

impl CommandSandbox {
    /// The field `sandbox` in the details of an outcome. `refused` has the words of a refusal in the output.
    pub(super) fn details(self, refused: Option<&str>) -> Value {
        let mut details = json!({ "step": self.step.as_str(), "network": self.network });
        if let Some(words) = refused {
            details["may_have_refused"] = json!(words);
        }
        details
    }

    /// The note for the model.
    pub(super) fn sentence(self) -> String {
        let network = if self.network {
            ""
        } else {
            ", and there is no network"
        };
        format!(
            "\n[it ran in the sandbox {}, which may be the cause: only the working directory, caches of toolchains and $TMPDIR can be written{network}]",
            self.step
        )
    }
}
