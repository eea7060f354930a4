//! The boundary of the workspace at run time. The pure agent judges a path by its text; here it is judged by
//! its real target, symbolic links resolved.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use agentx_runtime::{PlaceRules, ToolContext};
use agentx_types::nearest;

use crate::failure::ToolFailure;

/// The paths that a call may use.
#[derive(Clone)]
pub(crate) struct Scope {
    base: PathBuf,
    outside: bool,
    /// The tool and its caller: rules may depend on the target of a path.
    call: Option<(&'static str, ToolContext)>,
}

impl Scope {
    pub(crate) fn of(tool: &'static str, context: &ToolContext) -> Self {
        Self {
            base: context.workspace.clone(),
            outside: context.outside_workspace,
            call: Some((tool, context.clone())),
        }
    }

    /// Returns the real path that `path` leads to. It need not exist; then its nearest existing parent is
    /// resolved.
    ///
    /// # Errors
    /// Returns `Denied` if the path is outside of the workspace and the call may not go there, or if a rule
    /// denies the place that a link leads to.
    pub(crate) fn resolve(&self, path: &str) -> Result<PathBuf, ToolFailure> {
        if path.is_empty() || path.contains('\0') {
            return Err(ToolFailure::invalid(
                "The path is empty or has a NUL in it; name a file or a directory.",
            ));
        }
        let wanted = self.base.join(path);
        let real = real_path(&wanted, &mut BUDGET.clone())
            .map_err(|error| ToolFailure::failed(format!("{path}: {}", explain(&error))))?;
        if self.outside || self.contains(&real) {
            return match self.refused_by_rules(path, &real) {
                Some(why) => Err(ToolFailure::denied(format!("{path} is not allowed: {why}."))),
                None => Ok(real),
            };
        }
        Err(ToolFailure::denied(format!(
            "{path} is outside the workspace ({} leads to {}); this call may only touch what is inside {}.",
            wanted.display(),
            real.display(),
            self.base.display()
        )))
    }

    fn refused_by_rules(&self, path: &str, real: &Path) -> Option<String> {
        let (tool, context) = self.call.as_ref()?;
        // The workspace may be reached through a link; rules name it by its given path.
        match real.strip_prefix(self.real_root()) {
            Ok(inside) => context.refused_at(tool, path, &self.base.join(inside)),
            Err(_) => context.refused_at(tool, path, real),
        }
    }

    /// Returns the rules about files that the call may meet below `root`, which is the name in rules.
    pub(crate) fn place_rules(&self, root: &Path) -> Option<PlaceRules> {
        let (tool, context) = self.call.as_ref()?;
        context.place_rules(tool, root)
    }

    /// Returns the workspace as rules name it.
    pub(crate) fn named_root(&self) -> &Path {
        &self.base
    }

    /// Resolves a path that has to exist; the error names similar paths.
    pub(crate) fn resolve_existing(&self, path: &str) -> Result<(PathBuf, fs::Metadata), ToolFailure> {
        let real = self.resolve(path)?;
        match fs::metadata(&real) {
            Ok(metadata) => Ok((real, metadata)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(self.not_found(path, &real)),
            Err(error) => Err(ToolFailure::failed(format!("{path}: {}", explain(&error)))),
        }
    }

    /// Returns a path as people and models write it: relative to the workspace if it lies inside.
    pub(crate) fn show(&self, real: &Path) -> String {
        let root = self.real_root();
        match real.strip_prefix(&root) {
            Ok(rest) if rest.as_os_str().is_empty() => ".".into(),
            Ok(rest) => rest.display().to_string(),
            Err(_) => real.display().to_string(),
        }
    }

    /// Returns the workspace itself, symbolic links resolved.
    pub(crate) fn real_root(&self) -> PathBuf {
        fs::canonicalize(&self.base).unwrap_or_else(|_| self.base.clone())
    }

    fn contains(&self, real: &Path) -> bool {
        fs::canonicalize(&self.base).is_ok_and(|root| real.starts_with(root))
    }

    fn not_found(&self, path: &str, real: &Path) -> ToolFailure {
        let Some(parent) = real.ancestors().skip(1).find(|parent| parent.is_dir()) else {
            return ToolFailure::failed(format!("{path}: no such file or directory"));
        };
        let missing = real
            .strip_prefix(parent)
            .ok()
            .and_then(|rest| rest.components().next());
        let missing = missing
            .map(|part| part.as_os_str().to_string_lossy().into_owned())
            .unwrap_or_default();
        let names = names_in(parent);
        let hint = match nearest(&missing, names.iter().map(String::as_str), 1).first() {
            Some(near) => format!("; did you mean {}?", self.show(&parent.join(near))),
            None if path.starts_with('~') => "; ~ is not expanded here, write the whole path".into(),
            None => format!("; {} contains no such name", self.show(parent)),
        };
        ToolFailure::failed(format!("{path}: no such file or directory{hint}"))
    }
}

/// Describes an error of the operating system without its number.
pub(crate) fn explain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or directory".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        io::ErrorKind::StorageFull => "no space left on the disk".into(),
        io::ErrorKind::NotADirectory => "a part of the path is a file, not a directory".into(),
        _ => error.to_string(),
    }
}

fn names_in(directory: &Path) -> Vec<String> {
    const ENOUGH: usize = 1000;
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    entries
        .take(ENOUGH)
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

/// Resolves a path that is absolute or relative to the workspace: symbolic links are followed, also of paths
/// that do not exist yet.
///
/// # Errors
/// Returns an error if links lead in a circle, or a part of the path is not a directory.
pub fn resolve_path(workspace: &Path, path: &str) -> io::Result<PathBuf> {
    real_path(&workspace.join(path), &mut BUDGET.clone())
}

/// The maximum number of symbolic links and missing directories that are followed for one path. A path with
/// more of them counts as endless.
const BUDGET: u32 = 256;

/// Resolves `path`, following symbolic links, also to targets that do not exist yet.
fn real_path(path: &Path, budget: &mut u32) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        done => return done,
    }
    *budget = budget
        .checked_sub(1)
        .ok_or_else(|| io::Error::other("too many links or missing directories"))?;
    let (parent, name) = split(path)?;
    let parent = real_path(&parent, budget)?;
    let place = parent.join(name);
    match fs::read_link(&place) {
        Ok(target) => real_path(&parent.join(target), budget),
        Err(_) => Ok(place),
    }
}

fn split(path: &Path) -> io::Result<(PathBuf, OsString)> {
    let mut parts = path.components();
    match parts.next_back() {
        Some(Component::Normal(name)) => Ok((parts.as_path().to_owned(), name.to_owned())),
        _ => Err(io::Error::new(
            io::ErrorKind::NotFound,
            "`..` after a directory that does not exist",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentx_types::ToolStatus;
    use std::os::unix::fs::symlink;

    struct Tree {
        _home: tempfile::TempDir,
        root: PathBuf,
        other: PathBuf,
    }

    fn tree() -> Tree {
        let home = tempfile::tempdir().unwrap();
        let base = home.path().canonicalize().unwrap();
        let (root, other) = (base.join("work"), base.join("other"));
        fs::create_dir_all(root.join("src")).unwrap();
        fs::create_dir_all(&other).unwrap();
        fs::write(root.join("src/main.rs"), "x").unwrap();
        fs::write(other.join("secret"), "x").unwrap();
        symlink(&other, root.join("out")).unwrap();
        symlink("../other/new", root.join("dangling")).unwrap();
        symlink("src/main.rs", root.join("inner")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        Tree {
            _home: home,
            root,
            other,
        }
    }

    /// Resolves in a workspace; a leading `=` in `leads` is replaced by the workspace.
    #[track_caller]
    fn check(outside: bool, path: &str, leads: Result<&str, ToolStatus>) {
        let tree = tree();
        let scope = Scope {
            base: tree.root.clone(),
            outside,
            call: None,
        };
        let expected = leads.map(|leads| match leads.strip_prefix('=') {
            Some(rest) => tree.root.join(rest.trim_start_matches('/')),
            None => tree.other.join(leads),
        });
        assert_eq!(
            scope.resolve(path).map_err(|failure| failure.status),
            expected,
            "{path}"
        );
    }

    #[test]
    fn inside_is_inside() {
        check(false, "src/main.rs", Ok("=/src/main.rs"));
        check(false, "./src/../src/main.rs", Ok("=/src/main.rs"));
        check(false, "inner", Ok("=/src/main.rs"));
        check(false, "new/deep/file", Ok("=/new/deep/file"));
        check(false, "../work/src", Ok("=/src"));
        check(false, ".", Ok("=/"));
    }

    #[test]
    fn outside_is_denied_however_it_is_written() {
        for path in [
            "..",
            "../other/secret",
            "out/secret",
            "out/new/file",
            "dangling",
            "/etc/passwd",
            "out",
            "src/../../x",
        ] {
            check(false, path, Err(ToolStatus::Denied));
        }
    }

    #[test]
    fn outside_is_open_to_calls_that_were_approved() {
        check(true, "out/secret", Ok("secret"));
        check(true, "dangling", Ok("new"));
    }

    #[test]
    fn nonsense_is_answered() {
        check(false, "", Err(ToolStatus::Invalid));
        check(false, "a\0b", Err(ToolStatus::Invalid));
        check(false, "missing/../src", Err(ToolStatus::Failed));
        check(false, "src/main.rs/deeper", Err(ToolStatus::Failed));
        check(false, "loop", Err(ToolStatus::Failed));
        check(false, &"a/".repeat(1000), Err(ToolStatus::Failed));
        check(false, &"x".repeat(100_000), Err(ToolStatus::Failed));
    }

    #[test]
    fn what_is_missing_names_what_is_near() {
        let tree = tree();
        let scope = Scope {
            base: tree.root.clone(),
            outside: false,
            call: None,
        };
        let failure = scope.resolve_existing("src/mian.rs").unwrap_err();
        assert!(
            failure.text.contains("did you mean src/main.rs?"),
            "{}",
            failure.text
        );
    }
}
