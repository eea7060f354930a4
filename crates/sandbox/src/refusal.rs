//! Guesses what a sandbox refused to a command. The kernel reports nothing, so this module searches the
//! output of a failed command for the usual error messages, and compares a path or a missing network in such
//! a line with the policy. The output is a claim: it decides nothing, and a person reads it.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::{PathAccess, RefusedPath, SandboxPolicy, SandboxStep};

/// A refusal that the output of a command names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxRefusal {
    /// The words of the program.
    pub words: &'static str,
    /// The reason to attribute the refusal to the sandbox; `None` if only the output says so.
    pub reason: Option<String>,
    /// The path, if the reason is one.
    pub path: Option<RefusedPath>,
}

/// The kind of a refusal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RefusalKind {
    /// A file, or something that no path names.
    Refused,
    /// A file that cannot be written.
    Unwritable,
    /// A file that is not there: so looks what `namespace` does not let in.
    Missing,
    /// There is no way to another machine.
    Network,
}

/// Words of programs that were refused something.
const WORDS: &[(&str, RefusalKind)] = &[
    ("Permission denied", RefusalKind::Refused),
    ("permission denied", RefusalKind::Refused),
    ("Operation not permitted", RefusalKind::Refused),
    ("no new privileges", RefusalKind::Refused),
    ("Host key verification failed", RefusalKind::Refused),
    ("authentication agent", RefusalKind::Refused),
    ("Read-only file system", RefusalKind::Unwritable),
    ("read-only file system", RefusalKind::Unwritable),
    ("Device or resource busy", RefusalKind::Unwritable),
    ("Network is unreachable", RefusalKind::Network),
    ("network is unreachable", RefusalKind::Network),
    ("Temporary failure in name resolution", RefusalKind::Network),
    ("Could not resolve host", RefusalKind::Network),
    ("EACCES", RefusalKind::Refused),
    ("EPERM", RefusalKind::Refused),
    ("EROFS", RefusalKind::Unwritable),
    ("EBUSY", RefusalKind::Unwritable),
    ("ENETUNREACH", RefusalKind::Network),
    ("EAI_AGAIN", RefusalKind::Network),
    ("No such file or directory", RefusalKind::Missing),
    ("no such file or directory", RefusalKind::Missing),
    ("ENOENT", RefusalKind::Missing),
    ("Cannot connect to", RefusalKind::Missing),
    ("does not appear to be a git repository", RefusalKind::Missing),
    ("not a git repository: ", RefusalKind::Missing),
    ("; check .git/objects/info/alternates", RefusalKind::Missing),
];

/// The most of an output that is searched: its end.
const SEARCHED: usize = 64 << 10;

/// The most paths that are looked up.
const MOST_PATHS: usize = 32;

/// Characters around a path in error messages.
const AROUND: &[char] = &[
    ' ', '\t', '\'', '"', '`', ',', ';', '(', ')', '[', ']', '<', '>', '=', ':',
];

impl SandboxRefusal {
    /// A refusal of which only the output speaks.
    fn of_words(words: &'static str) -> Self {
        Self {
            words,
            reason: None,
            path: None,
        }
    }
}

impl SandboxPolicy {
    /// Finds what the sandbox refused a command that ran in `workspace`, failed, and said `output`. Looks up
    /// files that the output names, so it may block.
    ///
    /// Without a reason, the words alone are returned; words that many commands say without a sandbox ("No
    /// such file") count only with one.
    pub fn refusal(&self, output: &str, workspace: &Path) -> Option<SandboxRefusal> {
        if self.step == SandboxStep::None {
            return None;
        }
        let mut paths = 0;
        let mut bare = None;
        for line in end_of(output).lines() {
            for (words, kind) in WORDS.iter().filter(|(words, _)| line.contains(*words)) {
                let words = *words;
                let found = match kind {
                    RefusalKind::Network => self.why_no_network().map(|why| (why.to_owned(), None)),
                    kind => paths_in(line, self.paths.home.as_deref(), workspace)
                        .take_while(|_| {
                            paths += 1;
                            paths <= MOST_PATHS
                        })
                        .find_map(|path| self.refuses(&path, *kind))
                        .map(|(why, path)| (why, Some(path))),
                };
                if let Some((why, path)) = found {
                    let reason = Some(why);
                    return Some(SandboxRefusal { words, reason, path });
                }
                let alone = *kind != RefusalKind::Missing && !(*kind == RefusalKind::Network && self.network);
                if alone && bare.is_none() {
                    bare = Some(SandboxRefusal::of_words(words));
                }
            }
        }
        bare
    }

    /// Says why a command does not reach another machine by itself; `None` if it does.
    fn why_no_network(&self) -> Option<&'static str> {
        match (self.network, self.proxy) {
            (true, _) => None,
            (false, false) => Some("there is no network"),
            (false, true) => Some("other machines are reached only through the proxy that HTTPS_PROXY names"),
        }
    }

    /// Says why a command cannot do at a path what this process can; `None` if it can, or if this process
    /// cannot either.
    fn refuses(&self, path: &Path, kind: RefusalKind) -> Option<(String, RefusedPath)> {
        let path = real(path)?;
        let (why, access) = self.refuses_real(&path, kind)?;
        Some((format!("{} {why}", path.display()), RefusedPath { path, access }))
    }

    fn refuses_real(&self, path: &Path, kind: RefusalKind) -> Option<(&'static str, PathAccess)> {
        if self.paths.hidden.iter().any(|hidden| path.starts_with(hidden)) {
            return Some(("is never let in", PathAccess::Read));
        }
        let holds = |paths: &[PathBuf]| paths.iter().any(|above| path.starts_with(above));
        let is_protected = self.step == SandboxStep::Namespace && holds(&self.paths.protected);
        let is_own = holds(&self.paths.write) || path.starts_with(&self.paths.temporary);
        if is_own && !is_protected {
            return None;
        }
        let is_readable = is_own || holds(&self.paths.read);
        // A command in a namespace has its own directories there.
        let has_another =
            self.step == SandboxStep::Namespace && ["/dev", "/tmp"].iter().any(|own| path.starts_with(own));
        let counts = kind == RefusalKind::Missing || !has_another;
        if !is_readable && counts && fs::symlink_metadata(path).is_ok() {
            return Some(("is not let in", PathAccess::Read));
        }
        if !is_readable && has_another {
            return None;
        }
        (kind != RefusalKind::Missing && can_write(path)).then_some(("cannot be written", PathAccess::Write))
    }
}

/// The last part of an output.
fn end_of(output: &str) -> &str {
    let mut from = output.len().saturating_sub(SEARCHED);
    while !output.is_char_boundary(from) {
        from += 1;
    }
    &output[from..]
}

/// Returns what may be paths in a line, absolute.
fn paths_in<'a>(
    line: &'a str,
    home: Option<&'a Path>,
    workspace: &'a Path,
) -> impl Iterator<Item = PathBuf> + 'a {
    let words = line.split(AROUND).map(|word| word.trim_end_matches('.'));
    words.filter(|word| word.contains('/')).filter_map(move |word| {
        let path = match word.strip_prefix("~/") {
            Some(below) => home?.join(below),
            None => workspace.join(word),
        };
        (path != Path::new("/")).then_some(path)
    })
}

/// Returns where a path leads: that of its deepest directory that is there, and the rest. `None` if it goes
/// up behind that.
fn real(path: &Path) -> Option<PathBuf> {
    let there = path
        .ancestors()
        .find(|above| fs::symlink_metadata(above).is_ok())?;
    let rest = path.strip_prefix(there).ok()?;
    if rest.components().any(|part| matches!(part, Component::ParentDir)) {
        return None;
    }
    let there = fs::canonicalize(there).ok()?;
    Some(if rest.as_os_str().is_empty() {
        there
    } else {
        there.join(rest)
    })
}

/// Returns whether this process could write a file, or make it in its directory.
#[cfg(target_os = "linux")]
fn can_write(path: &Path) -> bool {
    use nix::unistd::{AccessFlags, access};
    let place = if path.exists() { Some(path) } else { path.parent() };
    place.is_some_and(|place| access(place, AccessFlags::W_OK).is_ok())
}

#[cfg(not(target_os = "linux"))]
fn can_write(_: &Path) -> bool {
    false
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::{SandboxLimits, SandboxPaths};

    fn policy(root: &Path, step: SandboxStep) -> SandboxPolicy {
        for name in ["work/.git/hooks", "lib", "home/.ssh", "outside"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        for name in ["outside/file", "lib/file", "home/.ssh/key", "work/file"] {
            fs::write(root.join(name), "").unwrap();
        }
        SandboxPolicy {
            step,
            best_effort: false,
            network: false,
            proxy: false,
            paths: SandboxPaths {
                read: vec![root.join("lib")],
                write: vec![root.join("work")],
                protected: vec![root.join("work/.git/hooks")],
                hidden: vec![root.join("home/.ssh")],
                temporary: root.join("temporary"),
                home: Some(root.join("home")),
                ..SandboxPaths::default()
            },
            limits: SandboxLimits::default(),
        }
    }

    #[test]
    fn a_path_that_a_line_names_is_compared_with_the_policy() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        let at = |name: &str| root.join(name).display().to_string();
        use SandboxStep::{Landlock, Namespace};
        for (step, line, expected) in [
            (
                Landlock,
                format!("touch: cannot touch '{}': Permission denied", at("outside/new")),
                Some(format!("{} cannot be written", at("outside/new"))),
            ),
            (
                Namespace,
                format!("cat: {}: No such file or directory", at("outside/file")),
                Some(format!("{} is not let in", at("outside/file"))),
            ),
            (
                Landlock,
                "cat: ~/.ssh/key: Permission denied".to_owned(),
                Some(format!("{} is never let in", at("home/.ssh/key"))),
            ),
            (
                Namespace,
                "sh: 1: cannot create .git/hooks/pre-commit: Read-only file system".to_owned(),
                Some(format!("{} cannot be written", at("work/.git/hooks/pre-commit"))),
            ),
            (
                Namespace,
                format!("open {}: read-only file system", at("lib/file")),
                Some(format!("{} cannot be written", at("lib/file"))),
            ),
            (
                Namespace,
                format!("fatal: not a git repository: {}", at("outside")),
                Some(format!("{} is not let in", at("outside"))),
            ),
            (
                Namespace,
                format!(
                    "error: object directory {} does not exist; check .git/objects/info/alternates",
                    at("outside")
                ),
                Some(format!("{} is not let in", at("outside"))),
            ),
            (
                Landlock,
                "ping: Network is unreachable".to_owned(),
                Some("there is no network".to_owned()),
            ),
        ] {
            let found = policy(&root, step).refusal(&line, &root.join("work"));
            let path = found.as_ref().and_then(|found| found.path.clone());
            assert_eq!(found.and_then(|found| found.reason), expected, "{line}");
            if let Some(RefusedPath { path, access }) = path {
                assert!(expected.is_some_and(|why| why.starts_with(&*path.to_string_lossy())));
                assert_ne!(policy(&root, step).lets_in(&path, access), Some(true), "{line}");
            }
        }
    }

    #[test]
    fn what_a_sandbox_does_not_refuse_has_no_reason() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        let outside = root.join("outside/gone").display().to_string();
        for (line, words) in [
            ("cat: ./file: Permission denied", Some("Permission denied")),
            ("strace: Operation not permitted", Some("Operation not permitted")),
            (&format!("cat: {outside}: No such file or directory"), None),
            ("cat: ./gone: No such file or directory", None),
            ("error: it does not compile", None),
            (
                "fatal: not a git repository (or any of the parent directories): .git",
                None,
            ),
        ] {
            let found = policy(&root, SandboxStep::Namespace).refusal(line, &root.join("work"));
            let expected = words.map(SandboxRefusal::of_words);
            assert_eq!(found, expected, "{line}");
        }
        let none = policy(&root, SandboxStep::None);
        assert_eq!(none.refusal("Permission denied", &root.join("work")), None);
        let open = SandboxPolicy {
            network: true,
            ..policy(&root, SandboxStep::Landlock)
        };
        assert_eq!(open.refusal("Network is unreachable", &root.join("work")), None);
    }

    #[test]
    fn only_the_end_of_a_long_output_is_searched() {
        let long = format!("Permission denied\n{}", "é".repeat(SEARCHED));
        assert!(!end_of(&long).contains("denied") && end_of(&long).len() <= SEARCHED);
    }
}
