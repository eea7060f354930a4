//! The policy of a command, in the form that the helper receives.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{SandboxError, SandboxStep};

/// The resources that a command may use, and the step that enforces it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxPolicy {
    /// The step that enforces the policy.
    pub step: SandboxStep,
    /// Whether to run the command even if parts of the step do not work on this machine.
    pub best_effort: bool,
    /// Whether the command has the network of this machine.
    pub network: bool,
    /// Whether it reaches other machines through a proxy of the program. The helper then gets a socket to the
    /// program as its standard input (see [`send_input`](crate::send_input)) and sends a listening socket
    /// over it ([`receive_listener`](crate::receive_listener)).
    #[serde(default)]
    pub proxy: bool,
    /// The files.
    pub paths: SandboxPaths,
    /// The resources.
    pub limits: SandboxLimits,
}

/// Files that a command may reach. All paths are absolute and without symbolic links, except where noted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxPaths {
    /// May be read and executed, with all that is below.
    pub read: Vec<PathBuf>,
    /// May also be written.
    pub write: Vec<PathBuf>,
    /// Below a directory that may be written, and read-only all the same. Only `namespace` can.
    pub protected: Vec<PathBuf>,
    /// Those of them that are directories of hooks, which are made if they are missing.
    #[serde(default)]
    pub hooks: Vec<PathBuf>,
    /// May be read, and written into a layer that only the commands of this session have. Only `namespace`
    /// can; elsewhere they may be read.
    #[serde(default)]
    pub private: Vec<PathBuf>,
    /// Files of settings, read without the lines that hold credentials. Only `namespace` can.
    #[serde(default)]
    pub redacted: Vec<PathBuf>,
    /// Never reached, even below the others.
    pub hidden: Vec<PathBuf>,
    /// Symbolic links on the way to the others.
    pub links: Vec<SymbolicLink>,
    /// The command's own directory for temporary files. `namespace` shows it as `/tmp` too, and there as well
    /// as here a command and other programs find it at this path.
    pub temporary: PathBuf,
    /// The home directory of the person, which is there and empty apart from the others.
    pub home: Option<PathBuf>,
}

/// A symbolic link that a command sees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolicLink {
    /// The path of the link.
    pub at: PathBuf,
    /// The absolute target.
    pub to: PathBuf,
}

/// Limits of resources. `None` leaves a limit as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxLimits {
    /// Processes and threads of the command, counted within `namespace` only. The kernel does not hold root
    /// to it.
    pub processes: Option<u64>,
    /// The largest file that it may write, in bytes.
    pub file_bytes: Option<u64>,
    /// The largest memory dump, in bytes: none, because a dump leaves the sandbox.
    pub core_bytes: Option<u64>,
    /// The memory of all its processes together, in bytes, held by a control group.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
    /// Its processes and threads, held by a control group, which holds root as well.
    #[serde(default)]
    pub tasks: Option<u64>,
    /// The file of a folder that asks for these two; `None` if it is the person who does.
    #[serde(default)]
    pub from: Option<PathBuf>,
}

impl SandboxPaths {
    /// The directory with the layers of `private`, beside that for temporary files; no command sees it.
    pub(crate) fn layers(&self) -> PathBuf {
        let mut name = std::ffi::OsString::from("layers-");
        name.push(self.temporary.file_name().unwrap_or_default());
        self.temporary.with_file_name(name)
    }
}

impl SandboxLimits {
    /// Returns whether a limit needs a control group.
    pub fn has_group(&self) -> bool {
        self.memory_bytes.is_some() || self.tasks.is_some()
    }
}

impl Default for SandboxLimits {
    /// 4,096 processes in `namespace`, 64 GiB in one file, no memory dumps, no control group.
    fn default() -> Self {
        Self {
            processes: Some(4096),
            file_bytes: Some(64 << 30),
            core_bytes: Some(0),
            memory_bytes: None,
            tasks: None,
            from: None,
        }
    }
}

impl SandboxPolicy {
    /// Checks that no writable directory contains a hidden path, if the step cannot separate them.
    ///
    /// # Errors
    /// Returns an error if the home directory or the root is writable as a whole, because files there run by
    /// themselves; if a writable directory is below a hidden one; and in the step `landlock` if a hidden path
    /// is below a writable directory.
    pub fn check(&self) -> Result<(), SandboxError> {
        let refuse = |inside: &Path, directory: &Path| {
            Err(SandboxError::Inseparable {
                inside: inside.display().to_string(),
                directory: directory.display().to_string(),
            })
        };
        if self.step == SandboxStep::None {
            return Ok(());
        }
        for directory in &self.paths.write {
            let whole = self
                .paths
                .home
                .as_ref()
                .filter(|home| home.starts_with(directory));
            if let Some(home) = whole {
                return refuse(home, directory);
            }
            if directory == Path::new("/") {
                return refuse(Path::new("/"), directory);
            }
            let hidden = self.paths.hidden.iter().find(|hidden| {
                let is_inside = hidden.starts_with(directory) && self.step == SandboxStep::Landlock;
                is_inside || directory.starts_with(hidden)
            });
            if let Some(hidden) = hidden {
                return refuse(hidden, directory);
            }
        }
        Ok(())
    }

    /// Returns the policy as one argument of the helper.
    ///
    /// # Errors
    /// Returns an error if a path is not UTF-8.
    pub fn to_argument(&self) -> Result<String, SandboxError> {
        serde_json::to_string(self).map_err(|_| SandboxError::Path {
            path: "a path of the sandbox".into(),
            why: "it is not UTF-8; rename the directory".into(),
        })
    }

    /// Reads the argument.
    ///
    /// # Errors
    /// Returns an error if it is not what [`to_argument`](Self::to_argument) writes.
    pub fn from_argument(argument: &str) -> Result<Self, SandboxError> {
        serde_json::from_str(argument).map_err(|error| SandboxError::SetUp {
            what: "reading the policy",
            why: error.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(step: SandboxStep, write: &str) -> SandboxPolicy {
        SandboxPolicy {
            step,
            best_effort: false,
            network: false,
            proxy: false,
            paths: SandboxPaths {
                write: vec![write.into()],
                hidden: vec!["/home/ada/.ssh".into(), "/srv/work/.agentx-data".into()],
                home: Some("/home/ada".into()),
                ..SandboxPaths::default()
            },
            limits: SandboxLimits::default(),
        }
    }

    #[test]
    fn what_may_be_written_holds_nothing_that_may_not_be_reached() {
        use SandboxStep::{Landlock, Namespace, None};
        for (step, write, holds) in [
            (Landlock, "/home/ada/work", true),
            (Landlock, "/home/ada", false),
            (Namespace, "/home/ada", false),
            (Namespace, "/", false),
            (None, "/", true),
            (Landlock, "/srv/work", false),
            (Namespace, "/srv/work", true),
            (Namespace, "/home/ada/.ssh", false),
            (Namespace, "/home/ada/.ssh/work", false),
        ] {
            assert_eq!(policy(step, write).check().is_ok(), holds, "{step} {write}");
        }
    }

    #[test]
    fn a_policy_is_one_argument() {
        let policy = policy(SandboxStep::Landlock, "/srv/a \"b\"\n");
        let argument = policy.to_argument().unwrap();
        assert_eq!(SandboxPolicy::from_argument(&argument).unwrap(), policy);
        assert!(SandboxPolicy::from_argument("{}").is_err());
    }
}
