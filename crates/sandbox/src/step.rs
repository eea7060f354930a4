//! The steps of the ladder, the setting that chooses one, and why one does not work.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The kind of sandbox for a command. Later steps promise more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxStep {
    /// Nothing: it can do what the person can.
    #[default]
    None,
    /// Landlock, a filter of system calls, no new privileges, resource limits.
    Landlock,
    /// New namespaces (user, mount, pid, ipc, uts, and net without a network), and everything in `Landlock`.
    Namespace,
}

impl SandboxStep {
    /// All steps, weakest first.
    pub const ALL: [Self; 3] = [Self::None, Self::Landlock, Self::Namespace];

    /// The word in settings, events and texts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Landlock => "landlock",
            Self::Namespace => "namespace",
        }
    }
}

impl std::fmt::Display for SandboxStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The setting `sandbox.mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SandboxMode {
    /// No sandbox.
    #[default]
    None,
    /// Namespaces if they work on this machine, else no sandbox: for everyday work without a chosen sandbox.
    /// Commands keep the network unless a person turns it off.
    Everyday,
    /// This step.
    Step(SandboxStep),
    /// The strongest step that works on this machine; if none does, commands do not run.
    Auto,
}

impl SandboxMode {
    /// The words of the setting, loosest first; `everyday` and `landlock` cannot be compared, because the
    /// first is stronger on some machines and the second on others.
    pub const WORDS: &'static [&'static str] = &["none", "everyday", "landlock", "auto", "namespace"];

    /// Reads a word of the setting.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "none" => Some(Self::None),
            "auto" => Some(Self::Auto),
            "everyday" => Some(Self::Everyday),
            word => {
                let step = SandboxStep::ALL.into_iter().find(|step| step.as_str() == word)?;
                Some(Self::Step(step))
            }
        }
    }
}

/// The reason why a command cannot be sandboxed. The text says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SandboxError {
    /// The step does not work on this machine.
    #[error(
        "the sandbox step `{step}` does not work here: {why}. Set `sandbox.mode` to a step that works (`agentx sandbox show`), or `sandbox.best_effort: true` to run with what works"
    )]
    Unsupported {
        /// The wanted step.
        step: SandboxStep,
        /// The missing part.
        why: String,
    },
    /// A limit that the settings ask for cannot be held.
    #[error("commands cannot be held to `sandbox.memory` or `sandbox.processes` here: {why}. {}", way_without_limits(.from.as_deref()))]
    Limits {
        /// The cause.
        why: String,
        /// The file of a folder that asks for the limits, if it is not the person who does.
        from: Option<PathBuf>,
    },
    /// The directory that may be written holds something that may not be reached, and the step cannot part
    /// them.
    #[error(
        "the sandbox cannot protect {inside}, because commands may write {directory} around it; work in a directory that does not contain it"
    )]
    Inseparable {
        /// The path that commands may not reach.
        inside: String,
        /// The directory.
        directory: String,
    },
    /// Namespaces could not be made at this moment.
    #[error(
        "the sandbox cannot be made at this moment: {why}; the command was not run, because it would have run \
         without one"
    )]
    NotNow {
        /// The cause.
        why: String,
    },
    /// A path cannot be written down, opened or made.
    #[error("the sandbox cannot use {path}: {why}")]
    Path {
        /// The path.
        path: String,
        /// The cause.
        why: String,
    },
    /// The template ended or was ended before it said whether it has started the command.
    #[error("it is not known whether the command was started, because the sandbox gave no answer: {why}")]
    NoAnswer {
        /// The cause.
        why: String,
    },
    /// A step of setting it up failed.
    #[error("the sandbox could not be set up: {what}: {why}")]
    SetUp {
        /// The attempted operation.
        what: &'static str,
        /// The cause.
        why: String,
    },
}

/// Says how commands run without limits that cannot be held. For those of a folder nobody has to weaken their
/// own settings.
fn way_without_limits(from: Option<&Path>) -> String {
    match from {
        Some(file) => format!(
            "This folder asks for them, in {}: remove `sandbox.memory` and `sandbox.processes` there to run its commands without these limits",
            file.display()
        ),
        None => {
            "Remove these settings, or set `sandbox.best_effort: true` to run without these limits".into()
        }
    }
}

impl SandboxError {
    /// The failure of an attempt.
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub(crate) fn set_up(what: &'static str, why: impl std::fmt::Display) -> Self {
        Self::SetUp {
            what,
            why: why.to_string(),
        }
    }

    /// The failure of a path.
    pub(crate) fn path(path: &Path, why: impl std::fmt::Display) -> Self {
        Self::Path {
            path: path.display().to_string(),
            why: why.to_string(),
        }
    }
}
