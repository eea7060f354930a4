//! The ways to reach a path, and what a policy says about one without a look at the disk.

use std::path::{Path, PathBuf};

use crate::{SandboxPolicy, SandboxStep};

/// A way to reach a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathAccess {
    /// Reading or executing it.
    Read,
    /// Changing, making or removing it.
    Write,
}

impl PathAccess {
    /// The word in the details of a call.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Read, Self::Write]
            .into_iter()
            .find(|access| access.as_str() == word)
    }
}

/// A path that a command did not reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedPath {
    /// The absolute path, without symbolic links.
    pub path: PathBuf,
    /// The way to reach it.
    pub access: PathAccess,
}

impl SandboxPolicy {
    /// Returns whether a command reaches an absolute path without symbolic links. Looks at the policy alone,
    /// so it answers about paths that are not there, too. `None` if a command has files of its own there.
    pub fn lets_in(&self, path: &Path, access: PathAccess) -> Option<bool> {
        if self.step == SandboxStep::None {
            return Some(true);
        }
        let is_below = |paths: &[PathBuf]| paths.iter().any(|above| path.starts_with(above));
        if is_below(&self.paths.hidden) {
            return Some(false);
        }
        let is_namespace = self.step == SandboxStep::Namespace;
        let is_own = is_below(&self.paths.write) || path.starts_with(&self.paths.temporary);
        let is_protected = is_namespace && is_below(&self.paths.protected);
        let is_private = is_below(&self.paths.private);
        if (is_own && !is_protected) || (is_private && is_namespace) {
            return Some(true);
        }
        if access == PathAccess::Read && (is_own || is_private || is_below(&self.paths.read)) {
            return Some(true);
        }
        let has_own = path.starts_with("/dev") || (is_namespace && path.starts_with("/tmp"));
        (is_own || !has_own).then_some(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SandboxLimits, SandboxPaths};

    fn policy(step: SandboxStep) -> SandboxPolicy {
        SandboxPolicy {
            step,
            best_effort: false,
            network: false,
            proxy: false,
            paths: SandboxPaths {
                read: vec!["/usr".into()],
                write: vec!["/home/ada/work".into()],
                protected: vec!["/home/ada/work/.git/hooks".into()],
                hidden: vec!["/home/ada/.ssh".into(), "/usr/secret".into()],
                temporary: "/tmp/agentx-1".into(),
                ..SandboxPaths::default()
            },
            limits: SandboxLimits::default(),
        }
    }

    #[test]
    fn a_policy_answers_about_paths_that_are_not_there() {
        use PathAccess::{Read, Write};
        use SandboxStep::{Landlock, Namespace};
        for (step, path, access, expected) in [
            (SandboxStep::None, "/home/ada/.ssh/key", Write, Some(true)),
            (Landlock, "/home/ada/.ssh/key", Read, Some(false)),
            (Namespace, "/usr/secret/key", Read, Some(false)),
            (Namespace, "/usr/bin/env", Read, Some(true)),
            (Namespace, "/usr/bin/env", Write, Some(false)),
            (Namespace, "/home/ada/work/made/up", Write, Some(true)),
            (Namespace, "/home/ada/work/.git/hooks/x", Write, Some(false)),
            (Namespace, "/home/ada/work/.git/hooks/x", Read, Some(true)),
            (Landlock, "/home/ada/work/.git/hooks/x", Write, Some(true)),
            (Landlock, "/home/ada/other", Read, Some(false)),
            (Namespace, "/tmp/x", Write, None),
            (Landlock, "/tmp/x", Write, Some(false)),
            (Landlock, "/tmp/agentx-1/x", Write, Some(true)),
            (Landlock, "/dev/null", Write, None),
        ] {
            let found = policy(step).lets_in(Path::new(path), access);
            assert_eq!(found, expected, "{step} {path} {access:?}");
        }
    }

    #[test]
    fn words_and_values_agree() {
        for access in [PathAccess::Read, PathAccess::Write] {
            assert_eq!(PathAccess::parse(access.as_str()), Some(access));
        }
        assert_eq!(PathAccess::parse("made up"), None);
    }
}
